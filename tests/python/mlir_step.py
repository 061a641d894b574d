# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A program of a step that is given as text, so that a process needs no framework: linear regression."""
import numpy as np

from commsched import Cluster
from commsched.frontend.base import BatchArgument, Description, Slot
from commsched.program import Program

SIZE, ROWS = 64, 8
STEP = """
func.func @step(%w: tensor<SIZExf32> {cs.param = "w"}, %x: tensor<ROWSxSIZExf32> {cs.batch = "x"},
                %y: tensor<ROWSxf32> {cs.batch = "y"}) -> (tensor<SIZExf32> {cs.updates = "w"}, tensor<f32> {cs.metric = "loss"}) attributes {cs.step} {
  %zero = arith.constant 0.0 : f32
  %rate = arith.constant dense<0.015625> : tensor<SIZExf32>
  %e0 = tensor.empty() : tensor<ROWSxf32>
  %z0 = linalg.fill ins(%zero : f32) outs(%e0 : tensor<ROWSxf32>) -> tensor<ROWSxf32>
  %p = linalg.matvec ins(%x, %w : tensor<ROWSxSIZExf32>, tensor<SIZExf32>) outs(%z0 : tensor<ROWSxf32>) -> tensor<ROWSxf32>
  %d = arith.subf %p, %y : tensor<ROWSxf32>
  %e1 = tensor.empty() : tensor<SIZExf32>
  %z1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<SIZExf32>) -> tensor<SIZExf32>
  %g = linalg.vecmat ins(%d, %x : tensor<ROWSxf32>, tensor<ROWSxSIZExf32>) outs(%z1 : tensor<SIZExf32>) -> tensor<SIZExf32>
  %g1 = cs.gradient %g of "w" : tensor<SIZExf32>
  %u = arith.mulf %g1, %rate : tensor<SIZExf32>
  %new = arith.subf %w, %u : tensor<SIZExf32>
  %e2 = tensor.empty() : tensor<f32>
  %z2 = linalg.fill ins(%zero : f32) outs(%e2 : tensor<f32>) -> tensor<f32>
  %l = linalg.dot ins(%d, %d : tensor<ROWSxf32>, tensor<ROWSxf32>) outs(%z2 : tensor<f32>) -> tensor<f32>
  return %new, %l : tensor<SIZExf32>, tensor<f32>
}
"""


def _describe(step, arguments, *, workers, devices, **_):
    rows = ROWS // workers
    text = STEP.replace("ROWS", str(rows)).replace("SIZE", str(SIZE))

    def flatten(function, batch, parts=1):
        return dict(zip("xy", batch))
    arrays = [BatchArgument(name, (rows, *shape), np.dtype(np.float32)) for name, shape in (("x", (SIZE,)), ("y", ()))]
    return Description(lambda cluster: "\n".join([*cluster, text]), [Slot("w", "param", np.zeros(SIZE, np.float32))],
                       {"step": arrays}, {"step": ["loss"]}, flatten, lambda slots: {0: slots["w"]}, 0)


def batch(number):
    random = np.random.default_rng([3, number])
    return random.standard_normal((ROWS, SIZE)).astype(np.float32), random.standard_normal(ROWS).astype(np.float32)


def make(workers=2, **options):
    """A Program; with `job`, a RankProgram."""
    kind = Program
    if "job" in options:
        from commsched.rank_program import RankProgram as kind
        workers = options["job"].size
    return kind(_describe, None, (np.zeros(SIZE, np.float32), *batch(0)), Cluster(nodes=workers), batch=(1, 2), **options)
