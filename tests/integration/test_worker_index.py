# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Each worker reads the number of its part of the batch, however workers run."""
import json
import subprocess

import numpy as np
import pytest
from conftest import TIME_LIMIT, expect_success, run, tool
from safetensors.numpy import load_file

WORKERS, LOCAL, STEPS = 4, 2, 6
CLUSTER = """cs.cluster @test nodes = {} devices = {} device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
"""
# The gradient is (index + 1) * sum of the worker's x, and off is 0 if x came with its part's number in i.
SOURCE = """
#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d1)>
#none = affine_map<(d0, d1) -> ()>
!w = tensor<3xf32>
func.func @step(%w: !w {cs.param = "w"}, %x: tensor<2x3xf32> {cs.batch = "x"}, %i: tensor<2x3xf32> {cs.batch = "i"})
    -> (!w {cs.updates = "w"}, tensor<f32> {cs.metric = "off"}) attributes {cs.step, cs.global_batch = 8 : i64} {
  %zero = arith.constant 0.0 : f32
  %one = arith.constant dense<1.0> : tensor<f32>
  %rate = arith.constant dense<0.125> : !w
  %n = cs.worker_index : tensor<i32>
  %f = arith.sitofp %n : tensor<i32> to tensor<f32>
  %f1 = arith.addf %f, %one : tensor<f32>
  %e = tensor.empty() : !w
  %z = linalg.fill ins(%zero : f32) outs(%e : !w) -> !w
  %g = linalg.generic {indexing_maps = [#id, #none, #row], iterator_types = ["reduction", "parallel"]}
      ins(%x, %f1 : tensor<2x3xf32>, tensor<f32>) outs(%z : !w) {
  ^bb0(%a: f32, %b: f32, %s: f32):
    %p = arith.mulf %a, %b : f32
    %t = arith.addf %s, %p : f32
    linalg.yield %t : f32
  } -> !w
  %g1 = cs.gradient %g of "w" : !w
  %u = arith.mulf %g1, %rate : !w
  %w1 = arith.subf %w, %u : !w
  %off = func.call @off(%i) : (tensor<2x3xf32>) -> tensor<f32>
  return %w1, %off : !w, tensor<f32>
}
func.func private @off(%i: tensor<2x3xf32>) -> tensor<f32> {
  %zero = arith.constant 0.0 : f32
  %n = cs.worker_index : tensor<i32>
  %f = arith.sitofp %n : tensor<i32> to tensor<f32>
  %e = tensor.empty() : tensor<f32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<f32>) -> tensor<f32>
  %r = linalg.generic {indexing_maps = [#id, #none, #none], iterator_types = ["reduction", "reduction"]}
      ins(%i, %f : tensor<2x3xf32>, tensor<f32>) outs(%z : tensor<f32>) {
  ^bb0(%a: f32, %b: f32, %s: f32):
    %d = arith.subf %a, %b : f32
    %d2 = arith.mulf %d, %d : f32
    %t = arith.addf %s, %d2 : f32
    linalg.yield %t : f32
  } -> tensor<f32>
  return %r : tensor<f32>
}
func.func @eval(%i: tensor<2x3xf32> {cs.batch = "i"})
    -> (tensor<f32> {cs.metric = "off"}, tensor<f32> {cs.metric = "index"}) attributes {cs.global_batch = 8 : i64} {
  %n = cs.worker_index : tensor<i32>
  %f = arith.sitofp %n : tensor<i32> to tensor<f32>
  %off = func.call @off(%i) : (tensor<2x3xf32>) -> tensor<f32>
  return %off, %f : tensor<f32>, tensor<f32>
}
"""


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
