# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Steps scheduled by every policy train alike, bit for bit.

A sum of two is the same in either order, and with recursive halving and doubling all
elements are summed in the same tree of ranks: where a tensor is cut, and with what
it is fused, changes nothing.
"""
import re
import subprocess

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from cases import cases
from conftest import CLUSTER, EXAMPLES, TIME_LIMIT, tool

POLICIES = ["priority", "solver", "wfbp", "fixed-buckets", "p3", "bytescheduler", "mg-wfbp", "pace", "dear",
            "tictac", "latency-hiding"]


def compiled(folder, example, nodes, policy, pipeline="cs-all-reduce-pipeline", devices=1, options=""):
    """The schedule as text, and the plan."""
    cluster = folder / f"cluster{nodes}.mlir"
    cluster.write_text(CLUSTER.format(nodes=nodes).replace("devices = 1", f"devices = {devices}"))
    program, schedule, plan = (folder / name for name in ("program.mlir", f"{policy}.mlir", f"{policy}.plan"))
    # Any number of workers.
    text = (EXAMPLES / f"{example}.mlir").read_text()
    program.write_text(re.sub(r"(, )?cs\.global_batch = \d+ : i64", "", text))
    pipeline = f"--{pipeline}=cluster={cluster} schedule={policy} {options}"
    subprocess.run([tool("cs-opt"), pipeline, program, "-o", schedule], check=True, timeout=TIME_LIMIT)
    subprocess.run([tool("cs-translate"), "--mlir-to-plan", schedule, "-o", plan], check=True, timeout=TIME_LIMIT)
    return schedule.read_text(), plan


def train(plan, saved, *data):
    """The losses as printed, and the parameters."""
    done = subprocess.run([tool("cs-run"), plan, *data, "--metrics-every", "1", "--save-params", saved],
                          capture_output=True, text=True, timeout=TIME_LIMIT)
    assert done.returncode == 0, done.stderr
    losses = re.findall(r"step \d+: loss \S+", done.stdout)
    assert losses
    return losses, load_file(saved)


def expect_same(left, right):
    assert left[0] == right[0]
    assert left[1].keys() == right[1].keys()
    for name, value in left[1].items():
        assert value.tobytes() == right[1][name].tobytes(), name


@pytest.mark.parametrize("nodes", [2, 4])
def test_digits_by_every_policy(tmp_path, nodes):
    data = ["--init", EXAMPLES / "digits.init.safetensors", "--batch", EXAMPLES / "digits.train.npz", "--steps", "6"]
    text, plan = compiled(tmp_path, "digits", nodes, "fifo")
    assert "cs.pack" not in text
    expected = train(plan, tmp_path / "fifo.safetensors", *data)
    cut_or_fused = 0
    for policy in POLICIES:
        text, plan = compiled(tmp_path, "digits", nodes, policy)
        cut_or_fused += "cs.pack" in text
        assert ("cs.schedule" in text) == (policy != "priority")
        expect_same(train(plan, tmp_path / "own.safetensors", *data), expected)
    assert cut_or_fused >= 4
    _, plan = compiled(tmp_path, "digits", nodes, "solver")
    expect_same(train(plan, tmp_path / "own.safetensors", *data, "--spawn"), expected)


@pytest.mark.parametrize("options", ["", "copies=overlap", "copies=overlap staging-bytes=40000"])
def test_nodes_of_several_devices(tmp_path, options):
    data = ["--init", EXAMPLES / "digits.init.safetensors", "--batch", EXAMPLES / "digits.train.npz", "--steps", "6"]
    runs = []
    for policy in ["fifo", "solver", "fixed-buckets"]:
        text, plan = compiled(tmp_path, "digits", 2, policy, devices=2, options=options)
        assert ("cs.pack" in text) == (policy != "fifo")
        runs.append(train(plan, tmp_path / f"{policy}.safetensors", *data))
    for run in runs[1:]:
        expect_same(run, runs[0])


def test_parameter_servers(tmp_path):
    data = ["--init", EXAMPLES / "digits.init.safetensors", "--batch", EXAMPLES / "digits.train.npz", "--steps", "6"]
    runs = []
    for policy in ["fifo", "priority", "solver", "dear"]:
        text, plan = compiled(tmp_path, "digits", 2, policy, "cs-parameter-server-pipeline")
        assert ("cs.pack" in text) == (policy in ("solver", "dear"))  # small blocks of one server share messages
        runs.append(train(plan, tmp_path / f"{policy}.safetensors", *data))
    for run in runs[1:]:
        expect_same(run, runs[0])


def transformer_data(folder, nodes, steps):
    """Random parameters, zeros for the optimizer's state, and random text."""
    text = (EXAMPLES / "transformer.mlir").read_text()
    random, values, batch = np.random.default_rng(1), {}, {}
    pattern = r': tensor<((?:\d+x)*)(f32|i32)> \{cs\.(param|state|batch) = "([^"]+)"'
    for dimensions, element, role, name in re.findall(pattern, text):
        shape = [int(d) for d in dimensions.split("x") if d]
        kind = {"f32": np.float32, "i32": np.int32}[element]
        if role == "batch":
            shape[0] *= nodes * steps
            batch[name] = random.integers(0, 256, shape).astype(kind)
        elif role == "param":
            values[name] = (0.05 * random.standard_normal(shape)).astype(kind)
        else:
            values[name] = np.zeros(shape, kind)
    assert len(values) > 100 and list(batch) == ["tokens"]
    save_file(values, folder / "init.safetensors")
    np.savez(folder / "train.npz", **batch)
    return ["--init", folder / "init.safetensors", "--batch", folder / "train.npz", "--steps", steps]


def test_transformer(tmp_path):
    data = [str(word) for word in transformer_data(tmp_path, nodes=2, steps=3)]
    _, plan = compiled(tmp_path, "transformer", 2, "fifo")
    expected = train(plan, tmp_path / "fifo.safetensors", *data)
    assert len(set(expected[0])) == 3
    # Tensors that are cut, and more than two in a message.
    for policy, pieces in [("solver", r"\.part1"), ("mg-wfbp", r"cs\.pack .*, .*, .* :")]:
        text, plan = compiled(tmp_path, "transformer", 2, policy)
        assert re.search(pieces, text)
        expect_same(train(plan, tmp_path / f"{policy}.safetensors", *data), expected)


@pytest.mark.parametrize("seed", cases(4))
def test_exclusive_exchanges(tmp_path, seed):
    """Whatever is exclusive, and for however short or long a time: the same bits, and no rank waits for ever, though each holds
    back what others wait for."""
    random = np.random.default_rng(seed)
    nodes, algorithm = [(2, "auto"), (3, "ring"), (4, "ring"), (4, "halving-doubling")][seed % 4]
    data = ["--init", EXAMPLES / "digits.init.safetensors", "--batch", EXAMPLES / "digits.train.npz", "--steps", "6"]
    policy = str(random.choice(["bytescheduler", "priority", "fixed-buckets"]))
    text, plan = compiled(tmp_path, "digits", nodes, policy, options=f"algorithm={algorithm}")
    assert "exclusive" not in text
    expected = train(plan, tmp_path / "own.safetensors", *data)

    def some_are(match):
        if random.random() < 0.3:
            return match[0]
        return f"{match[0]} exclusive {int(10 ** random.uniform(0, 8))}"
    changed, count = re.subn(r'cs\.start "[^"]*"(?: priority -?\d+)?(?: gather_priority -?\d+)?(?: parts \[[\d, ]*\])?', some_are, text)
    assert count > 0 and "exclusive" in changed
    (tmp_path / "changed.mlir").write_text(changed)
    plan = tmp_path / "changed.plan"
    subprocess.run([tool("cs-translate"), "--mlir-to-plan", tmp_path / "changed.mlir", "-o", plan], check=True, timeout=TIME_LIMIT)
    expect_same(train(plan, tmp_path / "own.safetensors", *data), expected)
    expect_same(train(plan, tmp_path / "own.safetensors", *data, "--spawn"), expected)
    # Through the network's sockets, where packets wait.
    expect_same(train(plan, tmp_path / "own.safetensors", *data, "--spawn", "--no-shared-memory"), expected)


@pytest.mark.parametrize("nodes, algorithm", [(2, "auto"), (2, "ring"), (3, "ring"), (3, "halving-doubling"), (4, "auto"), (4, "ring")])
def test_parts_of_messages(tmp_path, nodes, algorithm):
    """Parts of messages are summed as tensors alone, in any number of ranks; where sums of messages have the same bits, as those."""
    data = ["--init", EXAMPLES / "digits.init.safetensors", "--batch", EXAMPLES / "digits.train.npz", "--steps", "6"]
    alone, plan = compiled(tmp_path, "digits", nodes, "fifo", options=f"algorithm={algorithm}")
    assert "cs.pack" not in alone
    expected = train(plan, tmp_path / "fifo.safetensors", *data)
    text, plan = compiled(tmp_path, "digits", nodes, "fixed-buckets", options=f"algorithm={algorithm} parts=true")
    whole, count = re.subn(r" parts \[[0-9, ]*\]", "", text)
    assert count > 0
    expect_same(train(plan, tmp_path / "own.safetensors", *data), expected)
    expect_same(train(plan, tmp_path / "own.safetensors", *data, "--spawn"), expected)
    if (nodes, algorithm) in ((2, "auto"), (2, "ring"), (4, "auto"), (3, "halving-doubling")):
        at_end = tmp_path / "whole.mlir"
        at_end.write_text(whole)
        subprocess.run([tool("cs-translate"), "--mlir-to-plan", at_end, "-o", tmp_path / "whole.plan"], check=True, timeout=TIME_LIMIT)
        expect_same(train(tmp_path / "whole.plan", tmp_path / "whole.safetensors", *data), expected)
