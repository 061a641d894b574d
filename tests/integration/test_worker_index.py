# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Each worker reads the number of its part of the batch, however workers run."""
import json
import pathlib
import subprocess

import numpy as np
import pytest
from conftest import TIME_LIMIT, expect_success, run, tool
from safetensors.numpy import load_file

WORKERS, LOCAL, STEPS = 4, 2, 6
CLUSTER = """cs.cluster @test nodes = {} devices = {} device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
"""
SOURCE = (pathlib.Path(__file__).parent / "Inputs/worker-index.mlir").read_text()


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("worker-index")
    x = np.random.default_rng(5).integers(-8, 8, (STEPS * WORKERS * LOCAL, 3)).astype(np.float32)
    parts = np.repeat(np.arange(WORKERS, dtype=np.float32), LOCAL)[:, None] + np.zeros(3, np.float32)
    np.savez(folder / "train.npz", x=x, i=np.tile(parts, (STEPS, 1)))
    np.savez(folder / "eval.npz", i=parts)
    np.savez(folder / "init.npz", w=np.ones(3, np.float32))
    sums = x.reshape(STEPS, WORKERS, LOCAL, 3).sum(2)
    gradient = (sums * np.arange(1, WORKERS + 1)[:, None]).mean(1)
    # All of these numbers are exact.
    return folder, (1 - 0.125 * gradient.sum(0)).astype(np.float32)


def found(value, name):
    """What metrics of this name are, in order."""
    if isinstance(value, dict):
        yield from ([value[name]] if isinstance(value.get(name), (int, float)) else [])
        for inner in value.values():
            yield from found(inner, name)
    elif isinstance(value, list):
        for inner in value:
            yield from found(inner, name)


def train(data, tmp_path, nodes, devices, *arguments, pipeline="--cs-all-reduce-pipeline"):
    """Checks what was learnt, and that the index was that of the part of the batch, in @eval too."""
    folder, w = data
    lowered = subprocess.run([tool("cs-opt"), pipeline], input=CLUSTER.format(nodes, devices) + SOURCE, text=True,
                             capture_output=True, timeout=TIME_LIMIT)
    assert lowered.returncode == 0, lowered.stderr
    subprocess.run([tool("cs-translate"), "--mlir-to-plan", "-o", tmp_path / "plan"], input=lowered.stdout, text=True,
                   check=True, timeout=TIME_LIMIT)
    expect_success(run(tmp_path / "plan", "--init", folder / "init.npz", "--batch", folder / "train.npz", "--steps", STEPS,
                       "--eval", "eval", "--eval-batch", folder / "eval.npz", "--save-params", tmp_path / "out",
                       "--metrics-every", 1, "--metrics-json", tmp_path / "metrics.json", *arguments))
    np.testing.assert_array_equal(load_file(tmp_path / "out")["w"], w)
    metrics = json.loads((tmp_path / "metrics.json").read_text())
    assert list(found(metrics, "off")) == [0] * (STEPS + 1)
    assert list(found(metrics, "index")) == [(WORKERS - 1) / 2]


@pytest.mark.parametrize("spawned", [False, True], ids=["threads", "spawned"])
@pytest.mark.parametrize("nodes, devices", [(4, 1), (2, 2), (1, 4)])
def test_nodes_and_devices_count_alike(data, tmp_path, nodes, devices, spawned):
    train(data, tmp_path, nodes, devices, *(["--spawn", nodes] if spawned else []))


@pytest.mark.parametrize("spawned", [False, True], ids=["threads", "spawned"])
@pytest.mark.parametrize("nodes, devices", [(4, 1), (2, 2)])
def test_trainers_of_servers_have_indices(data, tmp_path, nodes, devices, spawned):
    """A spawned trainer 0 evaluates the shares of all, each with the index that belongs to it."""
    train(data, tmp_path, nodes, devices, *(["--spawn"] if spawned else []),
          pipeline="--cs-parameter-server-pipeline=servers=2 min-block-elements=1")
