# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Messages of pieces of gradients teach what whole gradients teach, and nothing is copied for them."""
import itertools
import json
import re
import subprocess

import numpy as np
import pytest
from conftest import CLUSTER, EXAMPLES, ROOT, TIME_LIMIT, expect_success, run, tool
from safetensors.numpy import load_file
from segments import segment

STEPS = 8
DIGITS = ["--init", EXAMPLES / "digits.init.safetensors", "--batch", EXAMPLES / "digits.train.npz"]
# Elements of the messages. The gradients have 10, 5120, 32, 4608, 16 and 144.
SIZES = {"one": [10 ** 9], "small": [1000, 37, 3000], "single": [5, 5, 5120, 32, 4608, 16, 144], "odd": [777]}


def compile_step(source, nodes, flags):
    for samples, local in ((64, 16), (360, 90)):
        source = source.replace(f"cs.global_batch = {samples} : i64", f"cs.global_batch = {local * nodes} : i64")
    process = subprocess.run([tool("cs-opt"), *flags], input=source, text=True, capture_output=True,
                             timeout=TIME_LIMIT)
    assert process.returncode == 0, process.stderr
    return process.stdout


def train(folder, level2, flags=(), data=DIGITS):
    """Losses, what is carried on, and the plan as text."""
    lowered = compile_step(level2, 0, ["--expand-collectives", *flags, "--verify-distributed"])
    plan = folder / "plan"
    subprocess.run([tool("cs-translate"), "--mlir-to-plan", "-o", plan], input=lowered, text=True, check=True,
                   timeout=TIME_LIMIT)
    text = subprocess.run([tool("cs-translate"), "--plan-to-text", plan], text=True, check=True, timeout=TIME_LIMIT,
                          capture_output=True).stdout
    expect_success(run(plan, *data, "--steps", STEPS, "--metrics-every", 1, "--metrics-json",
                       folder / "metrics.json", "--checkpoint", folder / "state"))
    metrics = json.loads((folder / "metrics.json").read_text())
    losses = [float(x) for x in re.findall(r'"loss": ?([-+0-9.e]+)', json.dumps(metrics))]
    assert len(losses) >= STEPS
    return losses, load_file(folder / "state"), text


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """Level 2 without segments and what it learns, by the number of nodes."""
    results = {}
    for nodes in (1, 2, 3):
        source = CLUSTER.format(nodes=nodes) + (EXAMPLES / "digits.mlir").read_text()
        level2 = compile_step(source, nodes, ["--insert-dist-comm", "--schedule-comm=policy=priority"])
        results[nodes] = level2, train(tmp_path_factory.mktemp(f"whole{nodes}"), level2)
    return results


@pytest.mark.parametrize("flags", [(), ("--overlap-rpc-memcpy",), ("--overlap-rpc-memcpy=staging-bytes=40000",)])
@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("nodes", [1, 2, 3])
def test_segments(nodes, sizes, flags, whole, tmp_path):
    level2, (losses, params, _) = whole[nodes]
    text, messages = segment(level2, itertools.cycle(SIZES[sizes]), lambda index: index % 3 - 1)
    assert len(messages) == {"one": 1, "small": 9, "single": 7, "odd": 13}[sizes]
    own_losses, own_params, plan = train(tmp_path, text, flags)
    # Two numbers have one sum, three have several.
    same = np.array_equal if nodes < 3 else lambda a, b: np.allclose(a, b, rtol=1e-4, atol=1e-6)
    assert same(losses, own_losses)
    assert params.keys() == own_params.keys()
    for name, value in params.items():
        assert same(value, own_params[name]), name
    # The only copies are those to and from the host.
    step = plan.split("\nfunctions {")[1]
    copies = step.count("\n    copy {")
    staged = step.count("direction: TO_")
    assert copies == staged
    assert (copies > 0) == (bool(flags) and nodes > 1)
    if nodes > 2:  # two exchange all at once, without an all-gather
        assert "priority: -1" in step


@pytest.mark.parametrize("sizes", [[16], [3], [11, 2]])
@pytest.mark.parametrize("copies", ["overlap", "in-line"])
def test_segments_of_devices(copies, sizes, tmp_path):
    """Sums over the devices of a node, one of them a state without update."""
    random = np.random.default_rng(3)
    x = random.standard_normal((64 * STEPS, 8)).astype(np.float32)
    np.savez(tmp_path / "train.npz", x=x, y=x @ np.arange(8, dtype=np.float32))
    zeros = np.zeros(8, np.float32)
    np.savez(tmp_path / "init.npz", w=random.standard_normal(8).astype(np.float32), c=zeros, m=zeros,
             n=np.zeros((), np.float32), mu=zeros)
    data = ["--init", tmp_path / "init.npz", "--batch", tmp_path / "train.npz"]
    source = (CLUSTER.format(nodes=2).replace("devices = 1", "devices = 2") +
              (ROOT / "tests/integration/Inputs/devices.mlir").read_text())
    level2 = compile_step(source, 2, ["--cse", "--insert-dist-comm", "--replicate-devices", "--assign-devices",
                                      "--schedule-comm=policy=priority"])
    text, messages = segment(level2, itertools.cycle(sizes))
    assert [m.elements for m in messages] == {1: [sizes[0]] * (16 // sizes[0]) + [1] * (16 % sizes[0]),
                                              2: [11, 2, 3]}[len(sizes)]
    flags = [f"--overlap-rpc-memcpy=mode={copies}"]
    losses, state, _ = train(tmp_path, level2, flags, data)
    own_losses, own_state, plan = train(tmp_path, text, flags, data)
    assert losses == own_losses
    assert state.keys() == own_state.keys()
    for name, value in state.items():
        assert np.array_equal(value, own_state[name]), name
    # The state is copied to its place.
    assert 'name: "pack"' not in plan and 'name: "unpack"' not in plan
