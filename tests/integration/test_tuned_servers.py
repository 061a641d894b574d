# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Plans that a run tries on its own steps, mostly with parameter servers: random steps, clusters and plans, in which processes are killed while
plans are tried, and which go on from checkpoints, train bit for bit as one plan does from beginning to end."""
import os
import pathlib
import random
import re
import signal
import subprocess
import time

import numpy as np
import pytest
from conftest import CLUSTER, TIME_LIMIT, compile_plan, expect_success, run, tool
from safetensors import SafetensorError, safe_open
from safetensors.numpy import load_file
from servers import compile_servers

POLICIES = ["solver", "bytescheduler", "priority", "fixed-buckets", "fifo", "p3", "tictac"]
SAMPLES = 8  # of a trainer and step
TRIED = re.compile(r"tuning: ms of a step: (.*); (\S+) is kept after (\d+) steps")


def random_step(random, trainers):
    """A net of some layers, y = x W1 W2 ..., with momentum for some of them: level-0 text, and initial values."""
    sizes = [random.choice([8, 24, 64, 96]) for _ in range(random.randint(3, 5))]
    batch, layers = SAMPLES, range(len(sizes) - 1)
    slow = [random.random() < 0.5 for _ in layers]
    types = [f"tensor<{a}x{b}xf32>" for a, b in zip(sizes, sizes[1:])]
    arguments = ", ".join([*(f'%w{i}: {types[i]} {{cs.param = "w{i}"}}' for i in layers),
                           *(f'%m{i}: {types[i]} {{cs.state = "w{i}.momentum"}}' for i in layers if slow[i]),
                           f'%x: tensor<{batch}x{sizes[0]}xf32> {{cs.batch = "x"}}'])
    results = ", ".join([*(f'{types[i]} {{cs.updates = "w{i}"}}' for i in layers),
                         *(f'{types[i]} {{cs.updates = "w{i}.momentum"}}' for i in layers if slow[i])])
    lines = ["%zero = arith.constant 0.0 : f32"]

    def product(name, op, left, right, types, rows, columns):
        out = f"tensor<{rows}x{columns}xf32>"
        lines.append(f"%{name}e = tensor.empty() : {out}")
        lines.append(f"%{name}z = linalg.fill ins(%zero : f32) outs(%{name}e : {out}) -> {out}")
        lines.append(f"%{name} = {op} ins({left}, {right} : {types[0]}, {types[1]}) outs(%{name}z : {out}) -> {out}")

    def rows(i):
        return f"tensor<{batch}x{sizes[i]}xf32>"
    for i in layers:
        product(f"y{i}", "linalg.matmul", "%x" if i == 0 else f"%y{i - 1}", f"%w{i}", (rows(i), types[i]), batch, sizes[i + 1])
    lines.append(f"%d{len(sizes) - 1} = arith.addf %y{len(sizes) - 2}, %y{len(sizes) - 2} : {rows(len(sizes) - 1)}")
    for i in reversed(layers):
        left = "%x" if i == 0 else f"%y{i - 1}"
        lines.append(f"%t{i}e = tensor.empty() : tensor<{sizes[i]}x{batch}xf32>")
        lines.append(f"%t{i} = linalg.transpose ins({left} : {rows(i)}) outs(%t{i}e : tensor<{sizes[i]}x{batch}xf32>) permutation = [1, 0]")
        product(f"p{i}", "linalg.matmul", f"%t{i}", f"%d{i + 1}", (f"tensor<{sizes[i]}x{batch}xf32>", rows(i + 1)), sizes[i], sizes[i + 1])
        lines.append(f'%g{i} = cs.gradient %p{i} of "w{i}" : {types[i]}')
        lines.append(f"%u{i}e = tensor.empty() : tensor<{sizes[i + 1]}x{sizes[i]}xf32>")
        lines.append(f"%u{i} = linalg.transpose ins(%w{i} : {types[i]}) outs(%u{i}e : tensor<{sizes[i + 1]}x{sizes[i]}xf32>) permutation = [1, 0]")
        product(f"d{i}", "linalg.matmul", f"%d{i + 1}", f"%u{i}", (rows(i + 1), f"tensor<{sizes[i + 1]}x{sizes[i]}xf32>"), batch, sizes[i])
        lines.append(f"%r{i} = arith.constant dense<1.0e-6> : {types[i]}")
        step = f"%g{i}"
        if slow[i]:
            lines.append(f"%h{i} = arith.constant dense<0.5> : {types[i]}")
            lines.append(f"%k{i} = arith.mulf %m{i}, %h{i} : {types[i]}")
            lines.append(f"%n{i} = arith.addf %k{i}, %g{i} : {types[i]}")
            step = f"%n{i}"
        lines.append(f"%s{i} = arith.mulf {step}, %r{i} : {types[i]}")
        lines.append(f"%v{i} = arith.subf %w{i}, %s{i} : {types[i]}")
    returned = [*(f"%v{i}" for i in layers), *(f"%n{i}" for i in layers if slow[i])]
    kinds = [*types, *(types[i] for i in layers if slow[i])]
    text = (f"func.func @step({arguments}) -> ({results}) attributes {{cs.step}} {{\n  " + "\n  ".join(lines)
            + f"\n  return {', '.join(returned)} : {', '.join(kinds)}\n}}\n")
    numbers = np.random.default_rng(random.randrange(2**32))
    initial = {f"w{i}": numbers.normal(0, 0.3, (sizes[i], sizes[i + 1])).astype(np.float32) for i in layers}
    initial |= {f"w{i}.momentum": np.zeros((sizes[i], sizes[i + 1]), np.float32) for i in layers if slow[i]}
    data = {"x": numbers.normal(0, 1, (batch * trainers * 7, sizes[0])).astype(np.float32)}
    return text, initial, data


class Drawn:
    """A random step, its plans, and what a run of it takes. more: of the type of a trainer's batch, further functions. Without `servers`
    two trainers, who add up in one order whatever the schedule."""

    def __init__(self, folder, seed, least=1, more=lambda batch: "", servers=True):
        self.random = random.Random(seed)
        self.trainers, self.servers = self.random.randint(least, 3), self.random.randint(1, 3)
        if not servers:
            self.trainers, self.servers = 2, 0
        source, initial, data = random_step(self.random, self.trainers)
        source += more(re.search(r"%x: (tensor<\S+>)", source)[1])
        first, *others = self.random.sample(POLICIES, 3)
        options = f"min-block-elements={self.random.choice([64, 512, 8192])}"

        def plan(name, policy, source=source, more_servers=0):
            cut = f" cut-as={first}" if servers and policy != first else ""
            way = f"parameter-server-pipeline=servers={self.servers + more_servers} {options}" if servers else "all-reduce-pipeline="
            return compile_plan(CLUSTER.format(nodes=self.trainers) + source, folder / f"{name}.plan", f"--cs-{way} schedule={policy}{cut}")
        self.plan = plan("first", first)
        self.tried = [plan(f"other{i}", policy) for i, policy in enumerate(others)]
        # A server more, or another rate: it cannot take over.
        self.strange = plan("strange", first, more_servers=1) if servers else plan("strange", first, source.replace("1.0e-6", "1.5e-6"))
        np.savez(folder / "initial.npz", **initial)
        np.savez(folder / "data.npz", **data)
        self.data = ["--init", folder / "initial.npz", "--batch", folder / "data.npz", "--metrics-every", 100000]

    def tune(self, *more, steps=4):
        return ["--tune", ",".join(map(str, [*self.tried, self.strange, *more])), "--tune-steps", steps]


def expect_same(one, other):
    one, other = load_file(one), load_file(other)
    assert one.keys() == other.keys()
    for name, value in one.items():
        assert np.isfinite(value).all() and value.tobytes() == other[name].tobytes(), name


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("how", [[], ["--spawn"]])
@pytest.mark.parametrize("servers", [True, False], ids=["servers", "all-reduce"])
def test_plans_are_tried_and_values_are_the_same(tmp_path, seed, how, servers):
    drawn = Drawn(tmp_path, seed, servers=servers)
    epochs = ["--epochs", 1500 if how else 5000]  # a trial begins some 50 ms after the one before, however short steps are
    done = run(drawn.plan, *drawn.data, *how, *drawn.tune(), *epochs, "--save-params", tmp_path / "tuned")
    out = expect_success(done)
    said = TRIED.search(out)
    assert said, out
    assert "strange refused" in said[1] and "other0 refused" not in said[1] and "other1 refused" not in said[1], out
    why = "the number of parameter servers" if servers else "the new plan is another program"
    assert f"warning: tuning: going on with the old plan: strange: {why}" in done[1], done[1]
    expect_success(run(drawn.plan, *drawn.data, *epochs, "--save-params", tmp_path / "one"))
    expect_same(tmp_path / "tuned", tmp_path / "one")


@pytest.mark.parametrize("seed", range(10, 14))
@pytest.mark.parametrize("servers", [True, False], ids=["servers", "all-reduce"])
def test_killed_while_plans_are_tried(tmp_path, cluster, seed, servers):
    """One process of the job, which then ends, with an error and in time; or all. Then it goes on from its checkpoints."""
    drawn, saved = Drawn(tmp_path, seed, servers=servers), tmp_path / "saved"
    epochs = ["--epochs", 250]

    def job(again):
        # A folder, from which the job begins as well; or a file.
        data = drawn.data[2:] if again and not servers else drawn.data
        resume = ["--resume", saved] if again or servers else []
        return ["--spawn", drawn.plan, *data, *epochs, *drawn.tune(steps=20), "--checkpoint", saved, "--checkpoint-every", 10, *resume,
                "--save-params", tmp_path / "tuned"]
    process = cluster.start(*job(again=False), start_new_session=True)
    end = time.monotonic() + TIME_LIMIT
    while not (list(saved.glob("*.checkpoint")) or saved.is_file()) and process.poll() is None:
        assert time.monotonic() < end
        time.sleep(0.005)
    time.sleep(drawn.random.uniform(0, 0.4))
    children = [int(pid) for pid in subprocess.run(["pgrep", "-P", str(process.pid)], capture_output=True, text=True).stdout.split()]
    killed = process.poll() is None and children
    if killed and drawn.random.random() < 0.7:
        os.kill(drawn.random.choice(children), signal.SIGKILL)
        _, errors = process.communicate(timeout=TIME_LIMIT)
        assert process.returncode != 0 and errors, "the job goes on without a process"
    elif killed:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait(timeout=TIME_LIMIT)
    expect_success(run(*job(again=True)))
    expect_success(run(drawn.plan, *drawn.data, *epochs, "--save-params", tmp_path / "one"))
    expect_same(tmp_path / "tuned", tmp_path / "one")


def mean_of(batch):
    """A function that rank 0 calls for all trainers, who exchange nothing in it."""
    return f"""func.func @mean(%x: {batch} {{cs.batch = "x"}}) -> (tensor<f32> {{cs.metric = "mean"}}) {{
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<f32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<f32>) -> tensor<f32>
  %sum = linalg.reduce ins(%x : {batch}) outs(%z : tensor<f32>) dimensions = [0, 1]
      (%a: f32, %b: f32) {{
        %c = arith.addf %a, %b : f32
        linalg.yield %c : f32
      }}
  return %sum : tensor<f32>
}}
"""


@pytest.mark.parametrize("seed", range(20, 22))
def test_rank_0_evaluates_while_plans_are_tried(tmp_path, seed):
    """It makes more calls than the others, and all change with the same step: were it the same call, the others would be late, more at each trial."""
    drawn = Drawn(tmp_path, seed, least=2, more=mean_of)
    np.savez(tmp_path / "more.npz", x=np.tile(np.load(tmp_path / "data.npz")["x"], (40, 1)))
    evaluated = [*drawn.data, "--epochs", 1500, "--eval", "mean", "--eval-batch", tmp_path / "more.npz", "--eval-every", 25, "--save-params"]
    out = expect_success(run(drawn.plan, "--spawn", *drawn.tune(steps=12), *evaluated, tmp_path / "tuned"))
    assert TRIED.search(out), out
    expect_success(run(drawn.plan, *evaluated, tmp_path / "one"))
    expect_same(tmp_path / "tuned", tmp_path / "one")


def plans_of(folder):
    """Digests of the plans that the checkpoints there are of."""
    found = set()
    for path in folder.glob("*.checkpoint"):
        try:
            with safe_open(path, "np") as file:
                found.add(file.metadata()["plan"])
        except (OSError, SafetensorError):  # it is gone
            pass
    return found


def test_checkpoints_are_of_the_plan_that_the_job_begins_with(tmp_path, linear_data, cluster):
    """Those of trainers too, which have a parameter that nothing updates, whichever plan they run: so the job goes on."""
    inputs = pathlib.Path(__file__).parent / "Inputs"
    source = (inputs / "linear-statistics.mlir").read_text()
    for old, new in (('%seen: tensor<8xf32> {cs.state = "seen"},', '%seen: tensor<8xf32> {cs.state = "seen"}, %shift: tensor<16xf32> {cs.param = "shift"},'),
                     ("%d = arith.subf %p, %y : tensor<16xf32>", "%d0 = arith.subf %p, %y : tensor<16xf32>\n  %d = arith.addf %d0, %shift : tensor<16xf32>")):
        assert source.count(old) == 1
        source = source.replace(old, new)
    plans = [compile_servers(source, tmp_path / f"{policy}.plan", 2, 2, f"min-block-elements=2 schedule={policy} cut-as=fifo")
             for policy in ("fifo", "solver", "bytescheduler")]
    np.savez(tmp_path / "initial.npz", w=np.zeros(8, np.float32), seen=np.full(8, 2, np.float32), shift=np.ones(16, np.float32))
    saved, folder = tmp_path / "saved", tmp_path / "events"
    job = ["--spawn", plans[0], "--init", tmp_path / "initial.npz", *linear_data[2:], "--epochs", 4, "--tune", f"{plans[1]},{plans[2]}", "--tune-steps", 4,
           "--replan-folder", folder, "--checkpoint", saved, "--checkpoint-every", 1, "--resume", saved]
    process = cluster.start(*job)
    found, end = set(), time.monotonic() + TIME_LIMIT
    while process.poll() is None:
        assert time.monotonic() < end
        found |= plans_of(saved)
        time.sleep(0.002)
    assert process.wait() == 0, process.stderr.read()
    assert '"switched"' in (folder / "events.json").read_text()
    assert list(saved.glob("rank.1.*")) and len(found | plans_of(saved)) == 1
    assert "resumes after step" in expect_success(run(*job))
