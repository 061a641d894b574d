# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Plans of which a step takes a known time, wherever it runs: emulated devices take the times that a plan has."""
from conftest import CLUSTER, compile_plan

STEP = """func.func @step(%w: tensor<64x32xf32> {{cs.param = "w"}}) -> (tensor<64x32xf32> {{cs.updates = "w"}}) attributes {{cs.step}} {{
  %b, %g = cs.profiled "backward" (%w, %w) cost <flops = 0, bytes = 0, ns = {ns}> : (tensor<64x32xf32>, tensor<64x32xf32>) -> (tensor<8xf32>, tensor<64x32xf32>)
  %m = cs.gradient %g of "w" : tensor<64x32xf32>
  %u = cs.profiled "update" elementwise (%w, %m) cost <flops = 0, bytes = 0, ns = 1> : (tensor<64x32xf32>, tensor<64x32xf32>) -> tensor<64x32xf32>
  return %u : tensor<64x32xf32>
}}
"""


def emulated_plan(path, ms, pipeline):
    """A plan file for two ranks, of a step that computes for so many ms, by a pipeline of cs-opt."""
    return compile_plan(CLUSTER.format(nodes=2) + STEP.format(ns=round(1e6 * ms)), path, pipeline)
