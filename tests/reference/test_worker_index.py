# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The index of the worker, interpreted at levels 0, 1 and 2, on nodes of one and of several devices."""
import subprocess

import numpy as np
import pytest

from conftest import ROOT, interpret, tool

STEPS, WORKERS, LOCAL = 3, 4, 2
SOURCE = (ROOT / "tests/integration/Inputs/worker-index.mlir").read_text()
CLUSTER = """cs.cluster @test nodes = {} devices = {} device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
"""


def check(folder, text):
    x = np.random.default_rng(5).integers(-8, 8, (STEPS * WORKERS * LOCAL, 3)).astype(np.float32)
    parts = np.repeat(np.arange(WORKERS, dtype=np.float32), LOCAL)[:, None] + np.zeros(3, np.float32)
    found = interpret(folder, text, {"w": np.ones(3, np.float32)}, {"x": x, "i": np.tile(parts, (STEPS, 1))}, STEPS, WORKERS)
    sums = x.reshape(STEPS, WORKERS, LOCAL, 3).sum(2)
    gradients = (sums * np.arange(1, WORKERS + 1)[:, None]).mean(1)
    for step in range(STEPS):
        np.testing.assert_array_equal(found[f"{step + 1}:w"], 1 - 0.125 * gradients[:step + 1].sum(0))
        assert found[f"{step + 1}:metric:off"] == 0


def test_a_program(tmp_path):
    check(tmp_path, SOURCE)


@pytest.mark.parametrize("nodes, devices", [(4, 1), (2, 2), (1, 4)])
@pytest.mark.parametrize("pipeline", [["--insert-dist-comm", "--replicate-devices"], ["--cs-all-reduce-pipeline"],
                                      ["--cs-parameter-server-pipeline=servers=2 min-block-elements=1"]],
                         ids=["graph", "schedule", "servers"])
def test_of_ranks(tmp_path, nodes, devices, pipeline):
    done = subprocess.run([tool("cs-opt"), *pipeline], input=CLUSTER.format(nodes, devices) + SOURCE, text=True,
                          capture_output=True, timeout=300)
    assert done.returncode == 0, done.stderr
    check(tmp_path, done.stdout)


def test_what_differs_between_workers_is_averaged_or_refused(tmp_path):
    text = """
func.func @step(%w: tensor<f32> {{cs.param = "w"}}, %s: tensor<{0}> {{cs.state = "s"}})
    -> (tensor<f32> {{cs.updates = "w"}}, tensor<{0}> {{cs.updates = "s"}}) attributes {{cs.step}} {{
  %g = cs.gradient %w of "w" : tensor<f32>
  %n = func.call @index() : () -> tensor<{0}>
  return %g, %n : tensor<f32>, tensor<{0}>
}}
func.func private @index() -> tensor<{0}> {{
  %i = cs.worker_index : tensor<i32>
  {1}
  return %f : tensor<{0}>
}}
"""
    values = {"w": np.float32(2), "s": np.float32(7)}
    found = interpret(tmp_path, text.format("f32", "%f = arith.sitofp %i : tensor<i32> to tensor<f32>"), values, workers=4)
    assert found["1:s"] == 1.5
    values["s"] = np.int64(7)
    interpret(tmp_path, text.format("i64", "%f = arith.extsi %i : tensor<i32> to tensor<i64>"), values, workers=4,
              fails='makes another value of "s" on each worker: they would drift apart')
