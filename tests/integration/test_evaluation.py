# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a function of the data gives over all of them, however many batches they are: more than sessions keep metrics of."""
import json

import numpy as np
import pytest
from conftest import CLUSTER, compile_plan, expect_success, run

SOURCE = """
func.func @step(%w: tensor<1xf32> {cs.param = "w"}, %x: tensor<1xf32> {cs.batch = "x"}) -> (tensor<1xf32> {cs.updates = "w"})
    attributes {cs.step} {
  %g = cs.gradient %x of "w" : tensor<1xf32>
  %new = arith.subf %w, %g : tensor<1xf32>
  return %new : tensor<1xf32>
}
func.func @mean(%w: tensor<1xf32> {cs.param = "w"}, %x: tensor<1xf32> {cs.batch = "x"}) -> (tensor<f32> {cs.metric = "mean"}) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<f32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<f32>) -> tensor<f32>
  %sum = linalg.reduce ins(%x : tensor<1xf32>) outs(%z : tensor<f32>) dimensions = [0]
      (%a: f32, %b: f32) {
        %c = arith.addf %a, %b : f32
        linalg.yield %c : f32
      }
  return %sum : tensor<f32>
}
"""
PIPELINES = {"ranks": "--cs-all-reduce-pipeline", "servers": "--cs-parameter-server-pipeline=servers=1"}


@pytest.mark.parametrize("batches", [5000, 70000])
@pytest.mark.parametrize("pipeline, how", [("ranks", []), ("servers", []), ("servers", ["--spawn"])])
def test_the_mean_is_that_of_all_batches(tmp_path, batches, pipeline, how):
    plan = compile_plan(CLUSTER.format(nodes=2) + SOURCE, tmp_path / "plan", PIPELINES[pipeline])
    # Whole numbers, whose sums are exact; those of one worker are not like the other's, nor the first like the last.
    x = np.random.default_rng(batches).integers(0, 1000, 2 * batches).astype(np.float32)
    x[1::2] += 5000
    x[:1000] += 100000
    np.savez(tmp_path / "x.npz", x=x)
    np.savez(tmp_path / "w.npz", w=np.zeros(1, np.float32))
    expect_success(run(plan, *how, "--init", tmp_path / "w.npz", "--batch", tmp_path / "x.npz", "--steps", 1, "--eval", "mean",
                       "--metrics-json", tmp_path / "metrics"))
    call, = json.loads((tmp_path / "metrics").read_text())["calls"]
    assert call["mean"] == x.astype(np.float64).mean() and call["samples"] == 2 * batches
