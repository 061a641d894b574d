# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Plans for CUDA devices through the doors that users have: cs-run, and Program.run with device="cuda", unchanged, on a machine
whose CUDA libraries are a fake (cuda_machine.py). What is computed is JAX's; what goes wrong is one line."""
import json
import os
import re
import shutil
import signal
import sys
import time

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

if "COMMSCHED_BIN" not in os.environ:
    pytest.skip("COMMSCHED_BIN is not set", allow_module_level=True)
import commsched  # noqa: E402
import dense_net  # noqa: E402  finds the modules of examples/digits, too
import digits  # noqa: E402
import jax  # noqa: E402
import make as digits_make  # noqa: E402
from cuda_dense import arguments, goes_on, is_jax, machine_with, runs_in_python  # noqa: E402
from cuda_machine import SAYS, finish, tool  # noqa: E402
from rank_job import ROOT, free_port, token_file  # noqa: E402

STEPS = 30
RANKS, WAYS = (2, 4), ("nccl", "host")  # how gradients are summed: by NCCL, or by messages through pinned memory
CONVOLUTIONS = [(2, "host"), (4, "nccl")]
TWO_OF_TWO = commsched.Cluster(2, devices=2, kind="cuda")  # machines


@pytest.fixture(scope="module")
def machine(tmp_path_factory):
    return machine_with(tmp_path_factory.mktemp("machine"), {
        **{(machines, "nccl"): dense_net.program(machines, nccl=True, device="cuda") for machines in [TWO_OF_TWO]},
        **{(ranks, way): dense_net.program(ranks, nccl=way == "nccl", device="cuda") for ranks in RANKS for way in WAYS}})


@pytest.fixture(scope="module")
def convolutions(machine):
    """(plan, file of initial values) of the digits net of examples/."""
    made = {}
    for ranks, way in CONVOLUTIONS:
        program = digits_make.program(ranks, commsched.AllReduce(nccl=way == "nccl"), device="cuda")
        made[ranks, way] = machine.add(program, f"digits-{way}{ranks}"), machine.folder / "digits.safetensors"
    save_file(program.slots(), machine.folder / "digits.safetensors")
    return made


@pytest.fixture(scope="module")
def wanted():
    return dense_net.jax_steps(STEPS)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("ranks", RANKS)
def test_cs_run(machine, wanted, tmp_path, ranks, way):
    plan, params, metrics = machine.plans[ranks, way], tmp_path / "params", tmp_path / "metrics.json"
    out = machine.cs_run(plan, *arguments(machine, "--steps", STEPS, "--save-params", params, "--metrics-json", metrics, "--eval",
                                          "eval", "--eval-batch", machine.data))
    told = json.loads(metrics.read_text())
    is_jax([each["loss"] for each in told["steps"]], load_file(params), wanted)
    # What is not known of devices is not told as if it were.
    assert "compute" not in out.split("step time")[1] and "compute_ms" not in told["summary"]
    assert "@eval after step 30: loss" in out
    # Another order of what runs: the same bits.
    machine.cs_run(plan, *arguments(machine, "--steps", STEPS, "--save-params", tmp_path / "other"), COMMSCHED_FAKE_CUDA_SEED="7")
    assert params.read_bytes() == (tmp_path / "other").read_bytes()
    # Launches one by one: the same.
    machine.cs_run(plan, *arguments(machine, "--steps", STEPS, "--save-params", tmp_path / "single"), COMMSCHED_CUDA_GRAPHS="0")
    assert params.read_bytes() == (tmp_path / "single").read_bytes()
    # Processes: their NCCL would be one of several, which the fake is not.
    if way == "host":
        machine.cs_run(plan, "--spawn", ranks, *arguments(machine, "--steps", STEPS, "--save-params", tmp_path / "spawned"))
        assert params.read_bytes() == (tmp_path / "spawned").read_bytes()


def test_machines_of_several_devices(machine, tmp_path):
    """Each device is a rank, and NCCL's communicator has them all: the same bits as those of as many machines."""
    program = dense_net.program(TWO_OF_TWO, nccl=True)
    assert program.workers == 4 and "nodes = 4 devices = 1" in program.mlir() and "nccl = <machine_ranks = 2>" in program.mlir()
    for name, plan in (("machines", machine.plans[TWO_OF_TWO, "nccl"]), ("ranks", machine.plans[4, "nccl"])):
        machine.cs_run(plan, *arguments(machine, "--steps", STEPS, "--save-params", tmp_path / name))
    assert (tmp_path / "machines").read_bytes() == (tmp_path / "ranks").read_bytes()


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("ranks", RANKS)
def test_python(machine, wanted, ranks, way):
    runs_in_python(machine, f'{ranks}, nccl={way == "nccl"}', STEPS, wanted)


def test_the_interpreter_agrees(machine):
    """A step beside the reference interpreter, as for other plans."""
    out = machine.python("""
import dense_net
table = dense_net.program(2, device="cuda").check(dense_net.BATCHES[:2])
print(len(table), all(row.determined for row in table))
""")
    assert out.split()[1] == "True" and int(out.split()[0]) > 4


def test_save_and_restore(machine):
    """What is saved goes on, in another process, to the same bits."""
    script = """
import os, dense_net
program = dense_net.program(2, device="cuda")
batches = dense_net.BATCHES[:8]
path = os.environ["SAVED"]
{body}
print(program.steps, sorted((name, value.tobytes().hex()) for name, value in program.slots().items()))
program.close()
"""
    saved = str(machine.folder / "saved")
    through = machine.python(script.format(body="program.run(batches)"), SAVED=saved)
    machine.python(script.format(body="program.run(batches[:3]); program.save(path)"), SAVED=saved)
    assert machine.python(script.format(body="program.restore(path); program.run(batches[3:])"), SAVED=saved) == through


@pytest.mark.parametrize("ranks, way", CONVOLUTIONS)
def test_convolutions(machine, convolutions, tmp_path, ranks, way):
    """The digits net of examples/, with cuDNN: cs-run and Python, beside JAX and each other; a step beside the reference interpreter."""
    steps = 6
    (plan, initial), params, metrics = convolutions[ranks, way], tmp_path / "params", tmp_path / "metrics.json"
    out = machine.cs_run(plan, "--init", initial, "--batch", machine.data, "--deadline", 250, "--steps", steps, "--save-params", params,
                         "--metrics-json", metrics, "--eval", "eval", "--eval-batch", ROOT / "examples/digits.test.npz")
    assert f"@eval after step {steps}: accuracy" in out
    values = digits.init()
    momentum, losses, step = jax.tree.map(np.zeros_like, values), [], jax.jit(digits.step)
    for x, y in dense_net.BATCHES[:steps]:
        values, momentum, value = step(values, momentum, x, y)
        losses.append(float(value))
    named = {f"{layer}.{name}": np.asarray(value) for layer, all in values.items() for name, value in all.items()}
    is_jax([each["loss"] for each in json.loads(metrics.read_text())["steps"]], load_file(params), (losses, named))
    machine.python(f"""
import os, commsched, dense_net, make
from safetensors.numpy import save_file
program = make.program({ranks}, commsched.AllReduce(nccl={way == "nccl"}), device="cuda")
assert all(row.determined for row in program.check(dense_net.BATCHES[:1]))
program.run(dense_net.BATCHES[:{steps}])
save_file(program.slots(), os.environ["SAVED"])
program.close()
""", SAVED=str(tmp_path / "slots"))
    slots = load_file(tmp_path / "slots")
    for name, value in load_file(params).items():
        assert value.tobytes() == slots[name].tobytes(), name


def running(machine, plan, checkpoint, *more):
    process = machine.start(tool("cs-run"), plan, *arguments(machine, "--checkpoint", checkpoint, "--checkpoint-every", 3, *more))
    while not checkpoint.exists() and process.poll() is None:
        time.sleep(0.01)
    assert process.poll() is None, finish(process)
    return process


@pytest.mark.parametrize("way, more", [("nccl", []), ("host", []), ("host", ["--spawn", 4])])
def test_killed_and_resumed(machine, tmp_path, way, more):
    """The same bits as if nothing had been, whether it was killed or asked to stop."""
    plan, checkpoint = machine.plans[4, way], tmp_path / "checkpoint"
    process = running(machine, plan, checkpoint, "--steps", 10**6, *more)
    goes_on(machine, plan, process, checkpoint, tmp_path, more)


def children(pid):
    with open(f"/proc/{pid}/task/{pid}/children") as file:
        return [int(word) for word in file.read().split()]


@pytest.mark.parametrize("lost", [0, 2])
def test_a_rank_that_is_killed(machine, tmp_path, lost):
    process = running(machine, machine.plans[4, "host"], tmp_path / "checkpoint", "--steps", 10**6, "--spawn", 4)
    ranks = children(process.pid)
    os.kill(ranks[lost], signal.SIGKILL)
    status, _, errors = finish(process)
    line, = errors.splitlines()
    assert status == 1 and f"rank {lost} was killed by signal 9" in line
    for pid in ranks:
        assert not os.path.exists(f"/proc/{pid}"), "a process is left"


def test_ranks_of_a_job_in_python(machine, tmp_path):
    """Processes of commsched.init, whose messages go through pinned memory."""
    script = tmp_path / "rank.py"
    script.write_text("""
import commsched, dense_net
job = commsched.init(deadline=250)
program = dense_net.program(None, device="cuda")
rows = dense_net.GLOBAL_BATCH // job.size
own = [tuple(a[job.rank * rows:(job.rank + 1) * rows] for a in batch) for batch in dense_net.BATCHES[:6]]
print([m["loss"].hex() for m in program.run(own)])
print(sorted((name, value.tobytes().hex()) for name, value in program.slots().items()))
program.close()
""")
    token, port = token_file(tmp_path), free_port()
    ranks = [machine.start(sys.executable, script, RANK=str(rank), WORLD_SIZE="2",
                           LOCAL_RANK=str(rank), LOCAL_WORLD_SIZE="2", MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port),
                           COMMSCHED_TOKEN_FILE=token) for rank in range(2)]
    results = [finish(rank) for rank in ranks]
    assert all(status == 0 and SAYS not in errors for status, _, errors in results), results
    assert results[0][1] == results[1][1]
    threads = machine.python("""
import dense_net
program = dense_net.program(2, device="cuda")
print([m["loss"].hex() for m in program.run(dense_net.BATCHES[:6])])
print(sorted((name, value.tobytes().hex()) for name, value in program.slots().items()))
program.close()
""")
    assert results[0][1] == threads


def test_values_after_an_error(machine, tmp_path):
    """A device does not keep what was good last: that is said, and the program has what it had before."""
    script = tmp_path / "rank.py"
    script.write_text(f"""
import itertools, os, signal, commsched, dense_net
job = commsched.init(deadline=250)
program = dense_net.program(None, device="cuda")
rows = dense_net.GLOBAL_BATCH // job.size
own = [tuple(a[job.rank * rows:(job.rank + 1) * rows] for a in batch) for batch in dense_net.BATCHES]
def batches():
    for i, batch in enumerate(itertools.cycle(own)):
        if job.rank == 1 and i == 30:
            os.kill(os.getpid(), signal.SIGKILL)
        yield batch
try:
    program.run(batches())
except commsched.RuntimeFailure as error:
    print(error)
print(program.steps)
""")
    token, port = token_file(tmp_path), free_port()
    ranks = [machine.start(sys.executable, script, RANK=str(rank), WORLD_SIZE="2", LOCAL_RANK=str(rank), LOCAL_WORLD_SIZE="2",
                           MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), COMMSCHED_TOKEN_FILE=token) for rank in range(2)]
    (status, out, errors), killed = [finish(rank) for rank in ranks]
    assert killed[0] == -signal.SIGKILL and status == 0 and SAYS not in errors, (status, out, errors)
    line, steps = out.splitlines()
    assert "peer 1" in line and line.endswith("its values are lost: a CUDA device does not keep those of earlier calls") and steps == "0"


@pytest.mark.parametrize("ranks", RANKS)
def test_ranks_of_their_own_by_nccl(machine, ranks):
    """The id of NCCL comes by messages to ranks that are sessions of their own, and they compute the same."""
    digests = [set(machine.run(tool("cuda_ranks_driver"), machine.plans[ranks, way], machine.initial, machine.data, 6).splitlines())
               for way in WAYS]
    assert all(len(each) == 1 and next(iter(each)).isdigit() for each in digests), digests
    if ranks == 2:  # of more ranks, ways differ in the order of sums
        assert digests[0] == digests[1]


def test_ranks_that_do_not_find_each_other_by_nccl(machine):
    """The id comes to all processes; the fake's NCCL is one of each. One line."""
    status, _, errors = finish(machine.start(tool("cs-run"), machine.plans[4, "nccl"], "--spawn", 4,
                                             *arguments(machine, "--steps", 2, "--deadline", 10)))
    # Of the ranks that have waited so long themselves: all of them, if they have come at the same time.
    line = r"cs-run: (all ranks|ranks? \d(, \d)*): no collective under way: connecting takes longer than 10s\n"
    assert status == 1 and re.fullmatch(line, errors), errors


def test_the_machine_says_what_is_wrong(machine, tmp_path):
    """What this file takes for silence would be heard."""
    status, _, errors = finish(machine.start(tool("cs-run"), machine.plans[2, "host"], *arguments(machine, "--steps", 1),
                                             COMMSCHED_FAKE_CUDA_KERNELS=str(tmp_path)))
    assert status == 1 and SAYS in errors and re.search(r"cs-run: rank \d: kernel .*: cuModuleGetFunction: CUDA_ERROR_INVALID_VALUE", errors)


# ---- what is refused ---------------------------------------------------------------------------
def refused(machine, text, plan, *more, libraries=None, **environment):
    if libraries is not None:
        environment["LD_LIBRARY_PATH"] = str(libraries)
    status, _, errors = finish(machine.start(tool("cs-run"), plan, *arguments(machine, "--steps", 1, *more), **environment))
    line, = errors.splitlines()
    assert status == 1 and re.fullmatch(text, line), errors


@pytest.mark.parametrize("missing, text", [
    ("libcuda.so.1", r"no CUDA driver: libcuda\.so\.1: .*"), ("libnccl.so.2", r"no NCCL: libnccl\.so\.2: .*"),
    ("libcublasLt.so.13", r"no cuBLASLt: libcublasLt\.so\.13: .*"), ("libcudnn.so.9", r"no cuDNN: libcudnn\.so\.9: .*")])
def test_a_library_that_is_not_there(machine, convolutions, tmp_path, missing, text):
    for name in ("libcuda.so.1", "libnccl.so.2", "libcublasLt.so.13", "libcudnn.so.9"):
        if name != missing:
            shutil.copy(machine.libraries / name, tmp_path / name)
    refused(machine, "cs-run: plan is for CUDA devices: " + text, convolutions[4, "nccl"][0], libraries=tmp_path)


def test_fewer_devices_than_ranks(machine):
    refused(machine, "cs-run: plan is for CUDA devices: needs CUDA device 1, the machine has 1", machine.plans[2, "host"],
            COMMSCHED_FAKE_CUDA_DEVICES="1")


def test_what_devices_do_not_have(machine, tmp_path):
    plan = machine.plans[2, "host"]
    refused(machine, "cs-run: COMMSCHED_CUDA_GRAPHS must be 0 or 1, got: yes", plan, COMMSCHED_CUDA_GRAPHS="yes")
    # What there is no device for is not measured, and no file is left.
    status, _, errors = finish(machine.start(tool("cs-run"), plan, "--calibrate", tmp_path / "file", LD_LIBRARY_PATH=str(tmp_path)))
    line, = errors.splitlines()
    assert status == 1 and line.startswith("cs-run: plan is for CUDA devices: no CUDA driver: ") and not (tmp_path / "file").exists()


def test_what_devices_do_not_have_in_python(machine):
    out = machine.python("""
import commsched, dense_net
def says(use):
    try:
        use()
    except (commsched.RuntimeFailure, ValueError) as error:
        print(error)
program = dense_net.program(2, device="cuda")
program.run(dense_net.BATCHES[:2])
says(lambda: program.run(dense_net.BATCHES[:2], replan=commsched.Replan(every=1)))
print(len(program.run(dense_net.BATCHES[:2])), program.steps)
program.close()
""").splitlines()
    assert out[0].endswith("plan is for CUDA devices: what runs on them is not planned again yet")
    assert out[1] == "2 4"
