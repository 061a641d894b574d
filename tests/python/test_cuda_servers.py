# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Trainers on CUDA devices and parameter servers on the host, through the doors that users have (test_cuda_machine.py): losses and
parameters are JAX's, bits do not depend on the order, a job that was killed goes on to the same bits, a server that is lost is one line."""
import json
import os
import re
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

if "COMMSCHED_BIN" not in os.environ:
    pytest.skip("COMMSCHED_BIN is not set", allow_module_level=True)
import commsched  # noqa: E402
import dense_net  # noqa: E402
from cuda_dense import BOUND, arguments, goes_on, is_jax, machine_with, runs_in_python  # noqa: E402
from cuda_machine import SAYS, TIME_LIMIT, finish, rows_of, tool  # noqa: E402
from rank_job import free_port, token_file  # noqa: E402
from safetensors.numpy import load_file  # noqa: E402

STEPS = 30
TRAINERS, SERVERS = 2, 2
SYNC = "commsched.ParameterServers(servers=2, min_block_elements=64)"


@pytest.fixture(scope="module")
def machine(tmp_path_factory):
    """`plans`: with a message for each block, and with messages that blocks share."""
    machine = machine_with(tmp_path_factory.mktemp("machine"), {fused: dense_net.program(
        TRAINERS, strategy=commsched.ParameterServers(servers=SERVERS, min_block_elements=64, fuse_blocks=fused), device="cuda")
        for fused in (False, True)})
    machine.plan = machine.plans[False]
    return machine


@pytest.fixture(scope="module")
def wanted():
    return dense_net.jax_steps(STEPS)


def test_what_the_plan_is(machine):
    for fused, plan in machine.plans.items():
        text = subprocess.run([tool("cs-translate"), "--plan-to-text", plan], capture_output=True, text=True, check=True).stdout
        assert "push {" in text and "pull {" in text and "direction: TO_HOST" in text and "direction: TO_DEVICE" in text
        keys = set(re.findall(r' key: "([\w.+]+)"', text))
        assert {f"{layer}.w.block{b}" for layer in ("hidden", "out") for b in (0, 1)} <= keys or fused
        assert any("+" in key for key in keys) == fused, keys


@pytest.mark.parametrize("fused", [False, True])
def test_cs_run(machine, wanted, tmp_path, fused):
    plan, params, metrics = machine.plans[fused], tmp_path / "params", tmp_path / "metrics.json"
    out = machine.cs_run(plan, *arguments(machine, "--steps", STEPS, "--save-params", params, "--metrics-json", metrics, "--eval",
                                                  "eval", "--eval-batch", machine.data))
    is_jax([each["loss"] for each in json.loads(metrics.read_text())["steps"]], load_file(params), wanted)
    assert "@eval after step 30: loss" in out
    # In other orders, with launches one by one, and as processes: the same bits.
    for number, (more, environment) in enumerate([([], {"COMMSCHED_FAKE_CUDA_SEED": "7"}), ([], {"COMMSCHED_CUDA_GRAPHS": "0"}),
                                                  (["--spawn", TRAINERS + SERVERS], {}),
                                                  (["--spawn", TRAINERS + SERVERS], {"COMMSCHED_FAKE_CUDA_SEED": "5"})]):
        other = tmp_path / f"other{number}"
        machine.cs_run(plan, *more, *arguments(machine, "--steps", STEPS, "--save-params", other), **environment)
        assert params.read_bytes() == other.read_bytes(), (more, environment)


def test_memory_and_processes_by_hand(machine, tmp_path):
    """Servers and trainers, each started alone, in any order; a server needs nothing of CUDA."""
    info = machine.cs_run(machine.plan, "--arena-info")
    assert "device memory of a rank: " in info and "staging " in info
    machine.cs_run(machine.plan, *arguments(machine, "--steps", 6, "--save-params", tmp_path / "through"))
    token = token_file(tmp_path)
    listen = [f"127.0.0.1:{free_port()}" for _ in range(SERVERS)]
    common = ["--init", machine.initial, "--token-file", token, "--deadline", 250]
    processes = [machine.start(tool("cs-run"), machine.plan, "--role", "trainer", "--rank", rank, "--servers", ",".join(listen), *common,
                               "--batch", machine.data, "--steps", 6, "--save-params", tmp_path / "params", LOCAL_RANK=str(rank))
                 for rank in range(TRAINERS)]
    processes += [machine.start(tool("cs-run"), machine.plan, "--role", "server", "--index", index, "--listen", address, *common,
                                LD_LIBRARY_PATH="") for index, address in enumerate(listen)]
    for status, out, errors in map(finish, processes):
        assert status == 0 and SAYS not in errors, (out, errors)
    assert (tmp_path / "params").read_bytes() == (tmp_path / "through").read_bytes()


def test_python(machine, wanted):
    runs_in_python(machine, f"{TRAINERS}, strategy={SYNC}", STEPS, wanted)


def test_the_interpreter_agrees(machine):
    out = machine.python(f"""
import commsched, dense_net
table = dense_net.program({TRAINERS}, strategy={SYNC}, device="cuda").check(dense_net.BATCHES[:2])
print(len(table), all(row.determined for row in table))
""")
    assert out.split()[1] == "True" and int(out.split()[0]) > 4


def test_ranks_of_a_job_in_python(machine, tmp_path):
    """Processes of commsched.init, of which the last ones have a server each: the bits of threads."""
    run = """
print([m["loss"].hex() for m in program.run(batches)])
print(sorted((name, value.tobytes().hex()) for name, value in program.slots().items()))
program.close()
"""
    script = tmp_path / "rank.py"
    script.write_text(f"""
import commsched, dense_net
job = commsched.init(deadline=250)
program = dense_net.program(None, strategy={SYNC}, device="cuda")
rows = dense_net.GLOBAL_BATCH // job.size
batches = [tuple(a[job.rank * rows:(job.rank + 1) * rows] for a in batch) for batch in dense_net.BATCHES[:6]]
{run}""")
    token, port = token_file(tmp_path), free_port()
    ranks = [machine.start(sys.executable, script, RANK=str(rank), WORLD_SIZE=str(TRAINERS), LOCAL_RANK=str(rank),
                           LOCAL_WORLD_SIZE=str(TRAINERS), MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), COMMSCHED_TOKEN_FILE=token)
             for rank in range(TRAINERS)]
    results = [finish(rank) for rank in ranks]
    assert all(status == 0 and SAYS not in errors for status, _, errors in results), results
    assert results[0][1] == results[1][1] == machine.python(f"""
import commsched, dense_net
program = dense_net.program({TRAINERS}, strategy={SYNC}, device="cuda")
batches = dense_net.BATCHES[:6]
{run}""")


@pytest.mark.parametrize("mode", ['mode="async"', 'mode="half-async", merge=2'])
def test_asynchronous(machine, mode):
    """Bits depend on the order of arrival; it trains, at half the rate, as docs/parameter-server.md has it."""
    out = machine.python(f"""
import json, commsched, dense_net
dense_net.LEARNING_RATE /= 2
program = dense_net.program({TRAINERS}, strategy=commsched.ParameterServers(servers=2, {mode}), device="cuda")
losses = [m["loss"] for m in program.run([dense_net.BATCHES[i % len(dense_net.BATCHES)] for i in range(80)])]
print(json.dumps(losses))
program.close()
""")
    losses = json.loads(out)
    assert len(losses) == 80 and np.isfinite(losses).all() and np.mean(losses[-10:]) < np.mean(losses[:10]) / 3


def run_here_and_there(machine, script, wanted):
    """A script that makes `programs`, here, where their kernels are written, and then runs them on the machine by `wanted`."""
    made = {}
    exec(script, made)
    for number, program in enumerate(made["programs"]):
        machine.add(program, f"script{number}")
    return machine.python(script + wanted).splitlines()


def test_every_push_counts_once(machine):
    """A gradient of ones at a rate of one eighth: parameters count the pushes. Of two gradients in a row, the mean is pushed."""
    out = run_here_and_there(machine, """
import commsched, jax, jax.numpy as jnp, numpy as np
def step(p, x):
    loss, grads = jax.value_and_grad(lambda p: jnp.mean(x) * sum(jnp.sum(v) for v in p.values()))(p)
    return jax.tree.map(lambda p, g: p - 0.125 * g, p, grads), loss
p = {"a": np.zeros(3, np.float32), "b": np.zeros((40, 5), np.float32)}
programs = [commsched.transpile(step, p, np.ones(12, np.float32), cluster=2, device="cuda",
                                strategy=commsched.ParameterServers(servers=2, min_block_elements=16, **mode))
            for mode in (dict(mode="sync"), dict(mode="async"), dict(mode="half-async", merge=2))]
""", """
for program in programs:
    for steps in 5, 3:
        program.run([np.ones(12, np.float32)] * steps)
    print({float(v) * -8 for value in program.slots().values() for v in value.ravel()}, program.steps)
    program.close()
""")
    assert out == ["{8.0} 8", "{16.0} 8", "{8.0} 8"]


def test_rows_of_a_table(machine):
    """Pushed and pulled by themselves: the rows that a batch names. A function that reads the whole table has the servers'."""
    out = run_here_and_there(machine, """
import commsched, jax, jax.numpy as jnp, numpy as np
random = np.random.default_rng(0)
params = {"table": random.standard_normal((50, 4)).astype(np.float32), "w": random.standard_normal(4).astype(np.float32)}
batches = [(random.integers(0, 50, 24).astype(np.int32), random.standard_normal(24).astype(np.float32)) for _ in range(6)]
def loss_of(p, ids, y):
    return jnp.mean((p["table"][ids] @ p["w"] - y) ** 2)
def step(p, ids, y):
    loss, grads = jax.value_and_grad(loss_of)(p, ids, y)
    return jax.tree.map(lambda p, g: p - 0.1 * g, p, grads), loss
def evaluate(p, ids, y):
    return {"loss": loss_of(p, ids, y)}
programs = [commsched.transpile(step, params, *batches[0], cluster=2, batch=(1, 2), device="cuda",
                                functions={"eval": (evaluate, params, *batches[0])},
                                strategy=commsched.ParameterServers(servers=2, row_sparse=["table"]))]
""", """
losses = [m["loss"] for m in programs[0].run(batches)] + [programs[0].call("eval", batches[:1])[0]["loss"]]
values = programs[0].slots()
programs[0].close()
wanted = []
for batch in batches:
    params, loss = jax.jit(step)(params, *batch)
    wanted.append(float(loss))
wanted.append(float(loss_of(params, *batches[0])))
print(max(abs(a - b) / abs(b) for a, b in zip(losses, wanted)), max(np.abs(values[name] - params[name]).max() for name in params))
""")
    assert max(map(float, out[0].split())) < BOUND


def is_saved(folder):
    """Whether there is something to go on from: a file of one process; or of all processes, when servers are at their second part."""
    if folder.is_file():
        return True
    steps = [re.fullmatch(r"(server\.\d+)\.step(\d+)\.checkpoint", name) for name in (os.listdir(folder) if folder.exists() else [])]
    return len({step[1] for step in steps if step and int(step[2]) > 3}) == SERVERS


def running(machine, folder, *more):
    process = machine.start(tool("cs-run"), machine.plan, *arguments(machine, "--checkpoint", folder, "--checkpoint-every", 3, *more))
    end = time.monotonic() + TIME_LIMIT
    while not is_saved(folder) and process.poll() is None:
        assert time.monotonic() < end
        time.sleep(0.01)
    assert process.poll() is None, finish(process)
    return process


@pytest.mark.parametrize("more", [[], ["--spawn", TRAINERS + SERVERS]])
def test_killed_and_resumed(machine, tmp_path, more):
    """The same bits as if nothing had been, whether it was killed or asked to stop."""
    folder = tmp_path / "checkpoint"
    process = running(machine, folder, "--steps", 10**6, *more)
    goes_on(machine, machine.plan, process, folder, tmp_path, more)


def test_a_server_that_comes_back(machine, tmp_path):
    """Killed alone, and started again: trainers wait for it, and the bits are as if nothing had been."""
    steps, folder = 60, tmp_path / "checkpoint"
    machine.cs_run(machine.plan, *arguments(machine, "--steps", steps, "--save-params", tmp_path / "through"))
    listen = [f"127.0.0.1:{free_port()}" for _ in range(SERVERS)]
    common = ["--token-file", token_file(tmp_path), "--deadline", 100, "--checkpoint", folder, "--checkpoint-every"]
    initial = ["--init", machine.initial]

    def server(index, *more):
        return machine.start(tool("cs-run"), machine.plan, "--role", "server", "--index", index, "--listen", listen[index], *common, *more)
    servers = [server(index, 4, *initial) for index in range(SERVERS)]
    trainers = [machine.start(tool("cs-run"), machine.plan, "--role", "trainer", "--rank", rank, "--servers", ",".join(listen), *common, 4, *initial,
                              "--batch", machine.data, "--steps", steps, "--save-params", tmp_path / "params", LOCAL_RANK=str(rank))
                for rank in range(TRAINERS)]
    end = time.monotonic() + TIME_LIMIT
    while not (folder / "server.1.checkpoint").exists():
        assert time.monotonic() < end and servers[1].poll() is None
        time.sleep(0.005)
    servers[1].kill()
    finish(servers[1])
    assert all(trainer.poll() is None for trainer in trainers), "the job was over before"
    servers[1] = server(1, 4, "--resume", folder)
    for status, out, errors in map(finish, [*trainers, *servers]):
        assert status == 0 and SAYS not in errors, (out, errors)
    assert (tmp_path / "params").read_bytes() == (tmp_path / "through").read_bytes()


def children(pid):
    with open(f"/proc/{pid}/task/{pid}/children") as file:
        return [int(word) for word in file.read().split()]


@pytest.mark.parametrize("lost, text", [(1, "rank 1 was killed by signal 9"), (TRAINERS, "server 0 was killed by signal 9"),
                                        (TRAINERS + 1, "server 1 was killed by signal 9")])
def test_a_process_that_is_killed(machine, tmp_path, lost, text):
    process = running(machine, tmp_path / "checkpoint", "--steps", 10**6, "--deadline", 5, "--spawn", TRAINERS + SERVERS)
    pids = {}
    for pid in children(process.pid):
        words = open(f"/proc/{pid}/cmdline").read().split("\0")
        role = words[words.index("--role") + 1] if "--role" in words else "trainer"
        number = int(words[words.index("--index" if role == "server" else "--rank") + 1])
        pids[TRAINERS + number if role == "server" else number] = pid
    os.kill(pids[lost], signal.SIGKILL)
    status, _, errors = finish(process)
    line, = errors.splitlines()
    assert status == 1 and text in line, errors
    for pid in pids.values():
        assert not os.path.exists(f"/proc/{pid}"), "a process is left"


@pytest.mark.parametrize("more", [[], ["--spawn", TRAINERS + SERVERS]])
def test_times(machine, tmp_path, more):
    """With --trace and --profile: the same bits; each op of a device once in each step, on one of its rows; the trainers' fragments in the profile."""
    plan, timed, trace, profile = machine.plans[False], tmp_path / "timed", tmp_path / "trace.json", tmp_path / "profile.json"
    machine.cs_run(plan, *more, *arguments(machine, "--steps", 8, "--save-params", tmp_path / "plain"))
    machine.cs_run(plan, *more, *arguments(machine, "--steps", 8, "--save-params", timed, "--trace", trace, "--profile", profile))
    assert (tmp_path / "plain").read_bytes() == timed.read_bytes()
    rows = rows_of(trace)
    for rank in range(TRAINERS):
        rows_of_device = [name for of, name in rows if of == rank and not name.startswith(("send to ", "receive from "))]
        assert {"compute", "copy to device", "copy to host"} <= set(rows_of_device) and len(rows_of_device) < len([of for of, _ in rows if of == rank])
        for name in rows_of_device:
            calls = [event["args"]["call"] for event in rows[rank, name]]
            ops = len({event["name"] for event in rows[rank, name]})
            assert sorted(set(calls)) == list(range(8)) and all(calls.count(call) == ops for call in range(8)), name
    processes = json.loads(profile.read_text())["processes"]
    assert [each["index"] for each in processes if each["role"] != "server"] == list(range(TRAINERS))
    assert all(each["functions"][0]["fragments"] for each in processes)
