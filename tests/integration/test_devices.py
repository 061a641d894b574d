# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Nodes of several devices learn what as many nodes of one device learn."""
import json
import pathlib
import subprocess

import numpy as np
import pytest
from conftest import TIME_LIMIT, expect_success, run, tool
from safetensors.numpy import load_file

STEPS = 12
SOURCE = (pathlib.Path(__file__).parent / "Inputs/devices.mlir").read_text()
CLUSTER = """cs.cluster @test nodes = {} devices = {} device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = {}, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = {}>
"""
VARIANTS = ["", "assign-devices=false", "copies=in-line", "assign-devices=false copies=in-line", "copies=overlap",
            "copies=overlap staging-bytes=32"]


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("devices")
    random = np.random.default_rng(3)
    x = random.standard_normal((64 * STEPS, 8)).astype(np.float32)
    y = x @ np.arange(8, dtype=np.float32)
    np.savez(folder / "train.npz", x=x, y=y)
    w = random.standard_normal(8).astype(np.float32)
    zeros = np.zeros(8, np.float32)
    np.savez(folder / "init.npz", w=w, c=zeros, m=zeros, n=np.zeros((), np.float32), mu=zeros)
    return folder, x, y, w


def train(folder, tmp_path, nodes, devices, options="", pipeline="--cs-all-reduce-pipeline", intra=80000):
    """Checkpoint and losses after STEPS steps."""
    pipeline += f"={options}" if options else ""
    lowered = subprocess.run([tool("cs-opt"), pipeline], input=CLUSTER.format(nodes, devices, intra, 0 if intra == 1 else 50000) + SOURCE, text=True,
                             capture_output=True, timeout=TIME_LIMIT)
    assert lowered.returncode == 0, lowered.stderr
    subprocess.run([tool("cs-translate"), "--mlir-to-plan", "-o", tmp_path / "plan"], input=lowered.stdout, text=True,
                   check=True, timeout=TIME_LIMIT)
    out = expect_success(run(tmp_path / "plan", "--init", folder / "init.npz", "--batch", folder / "train.npz",
                             "--steps", STEPS, "--checkpoint", tmp_path / "state", "--metrics-every", 1,
                             "--metrics-json", tmp_path / "metrics.json"))
    losses = [float(line["loss"]) for line in find_losses(json.loads((tmp_path / "metrics.json").read_text()))]
    return load_file(tmp_path / "state"), losses, out


def find_losses(value):
    if isinstance(value, dict):
        if isinstance(value.get("loss"), (int, float)):
            yield value
        for inner in value.values():
            yield from find_losses(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from find_losses(inner)


def reference(x, y, w, workers):
    """The same in NumPy, in double precision, with all samples of a step at once."""
    w, c, m, mu = w.astype(np.float64), np.zeros(8), np.zeros(8), np.zeros(8)
    losses = []
    for step in range(STEPS):
        rows = slice(16 * workers * step, 16 * workers * (step + 1))
        a, b = x[rows].astype(np.float64), y[rows].astype(np.float64)
        d = a @ (w + c) - b
        losses.append((d * d).sum() / workers)
        g = d @ a / workers
        rate = 0.00625 / np.sqrt(step + 1)
        mu = 0.5 * mu + 0.00625 * a.sum(axis=0) / workers
        m = 0.5 * m + g
        w, c = w - rate * m, c - rate * 0.5 * g
    return {"w": w, "c": c, "m": m, "mu": mu, "n": np.float64(STEPS)}, losses


@pytest.mark.parametrize("nodes,devices", [(1, 2), (1, 3), (2, 2), (1, 4)])
def test_devices_follow_numpy(data, tmp_path, nodes, devices):
    folder, x, y, w = data
    state, losses, _ = train(folder, tmp_path, nodes, devices)
    expected, expected_losses = reference(x, y, w, nodes * devices)
    for name, value in expected.items():
        np.testing.assert_allclose(state[name], value, rtol=2e-5, atol=2e-5, err_msg=name)
    np.testing.assert_allclose(losses[:STEPS], expected_losses, rtol=2e-5)


@pytest.mark.parametrize("options", VARIANTS[1:])
def test_where_and_when_changes_no_bit(data, tmp_path, options):
    folder = data[0]
    for nodes, devices in (2, 2), (1, 3):
        first, first_losses, _ = train(folder, tmp_path, nodes, devices)
        second, second_losses, _ = train(folder, tmp_path, nodes, devices, options)
        assert first.keys() == second.keys()
        for name in first:
            assert first[name].tobytes() == second[name].tobytes(), name
        assert first_losses == second_losses


@pytest.mark.parametrize("options", VARIANTS)
@pytest.mark.parametrize("nodes,devices", [(1, 2), (2, 2), (1, 3), (2, 3), (1, 4), (3, 2)])
def test_shards_on_all_devices_change_no_bit(data, tmp_path, nodes, devices, options):
    """What `hierarchical=false` gives. Links inside nodes are so slow that every gradient is in shards. Around
    a ring of three nodes elements are summed in an order that depends on where they are."""
    folder, x, y, w = data
    whole, whole_losses, _ = train(folder, tmp_path, nodes, devices, f"hierarchical=false {options}", intra=1)
    plan = (tmp_path / "plan").read_bytes()
    shards, losses, _ = train(folder, tmp_path, nodes, devices, options, intra=1)
    assert b"sum.w.shard0" not in plan and b"sum.w.shard0" in (tmp_path / "plan").read_bytes()
    assert shards.keys() == whole.keys()
    for name in whole:
        if nodes < 3:
            assert shards[name].tobytes() == whole[name].tobytes(), name
        np.testing.assert_allclose(shards[name], whole[name], rtol=2e-5, atol=2e-5, err_msg=name)
    if nodes < 3:
        assert losses == whole_losses
    if nodes * devices <= 4:  # else samples come again
        for name, value in reference(x, y, w, nodes * devices)[0].items():
            np.testing.assert_allclose(shards[name], value, rtol=2e-5, atol=2e-5, err_msg=name)


def test_two_devices_are_two_nodes(data, tmp_path):
    """A sum of two terms does not depend on where it is made."""
    folder = data[0]
    one, one_losses, _ = train(folder, tmp_path, 2, 1)
    two, two_losses, _ = train(folder, tmp_path, 1, 2)
    for name in ("w", "c", "m", "mu", "n"):
        assert one[name].tobytes() == two[name].tobytes(), name
    assert one_losses == two_losses


@pytest.mark.parametrize("options", ["", "assign-devices=false", "copies=in-line", "copies=overlap",
                                     "copies=overlap staging-bytes=64"])
def test_blocks_with_owners_of_their_own_follow_numpy(data, tmp_path, options):
    folder, x, y, w = data
    blocks = "servers=2 min-block-elements=2 max-block-elements=3"
    for nodes, devices in (2, 2), (1, 3):
        whole, whole_losses, _ = train(folder, tmp_path, nodes, devices, f"{blocks} {options}",
                                       "--cs-parameter-server-pipeline")
        state, losses, _ = train(folder, tmp_path, nodes, devices, f"{blocks} by-block=true {options}",
                                 "--cs-parameter-server-pipeline")
        expected, expected_losses = reference(x, y, w, nodes * devices)
        for name, value in expected.items():
            np.testing.assert_allclose(state[name], value, rtol=2e-5, atol=2e-5, err_msg=name)
            assert state[name].tobytes() == whole[name].tobytes(), name
        np.testing.assert_allclose(losses, expected_losses, rtol=2e-5)
        assert losses == whole_losses
