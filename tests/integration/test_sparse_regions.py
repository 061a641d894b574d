# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Ok-Topk of elements of 16 and 32 bits, which travel differently, and of regions that become unequal."""
import subprocess

import numpy as np
import pytest
from conftest import TIME_LIMIT, expect_success, run, tool
from safetensors.numpy import load_file
from test_sparse import CLUSTER, oktopk, select

STEPS, DENSITY = 6, 0.25
# The gradient is w * x, and the update w - its mean.
STEP = """
!t = !cs.placed<tensor<2x8x{0}>, device 0>
func.func @step(%w: !t {{cs.param = "w"}}, %x: !t {{cs.batch = "x"}}) -> (!t {{cs.updates = "w"}}) attributes {{cs.step}} {{
  %g = cs.fragment "backward" on 0 (%w, %x) : (!t, !t) -> !t {{
  ^bb0(%a: tensor<2x8x{0}>, %b: tensor<2x8x{0}>):
    %0 = arith.mulf %a, %b : tensor<2x8x{0}>
    cs.return %0 : tensor<2x8x{0}>
  }}
  %r = cs.all_reduce "w" mean %g : !t
  %n = cs.fragment "update.w" on 0 (%w, %r) deferred : (!t, !t) -> !t {{
  ^bb0(%a: tensor<2x8x{0}>, %b: tensor<2x8x{0}>):
    %0 = arith.subf %a, %b : tensor<2x8x{0}>
    cs.return %0 : tensor<2x8x{0}>
  }}
  return %n : !t
}}
"""


@pytest.mark.parametrize("nodes,element", [(2, "f16"), (4, "f16"), (4, "f32")])
def test_elements_of_any_width(tmp_path, nodes, element):
    dtype = {"f16": np.float16, "f32": np.float32}[element]
    passes = [f"--lower-sparse-comm=density={DENSITY} min-elements=1 method=oktopk", "--schedule-comm", "--expand-collectives",
              "--verify-distributed"]
    lowered = subprocess.run([tool("cs-opt"), *passes], input=CLUSTER.format(nodes, 1) + STEP.format(element), text=True,
                             capture_output=True, timeout=TIME_LIMIT)
    assert lowered.returncode == 0, lowered.stderr
    subprocess.run([tool("cs-translate"), "--mlir-to-plan", "-o", tmp_path / "plan"], input=lowered.stdout, text=True,
                   check=True, timeout=TIME_LIMIT)
    random = np.random.default_rng(3)
    # Never zero: what is selected and what is sent are told by that.
    w = (random.permutation(16).reshape(2, 8) + 1).astype(dtype)
    x = (random.integers(1, 30, (nodes * STEPS * 2, 8)) / 64).astype(dtype)
    np.savez(tmp_path / "init.npz", w=w)
    np.savez(tmp_path / "x.npz", x=x)
    expect_success(run(tmp_path / "plan", "--init", tmp_path / "init.npz", "--batch", tmp_path / "x.npz", "--steps", STEPS,
                       "--checkpoint", tmp_path / "state"))
    want = w.astype(np.float64)
    residuals = [np.zeros(w.shape)] * nodes
    cuts = equal = [r * w.size // nodes for r in range(nodes + 1)]
    for step in range(STEPS):
        chosen = [select(want * x[2 * (nodes * step + r):][:2].astype(np.float64), residuals[r], DENSITY) for r in range(nodes)]
        total, residuals, cuts = oktopk([sent for sent, _ in chosen], [rest for _, rest in chosen], DENSITY, cuts)
        want = want - total / nodes
    assert cuts != equal
    tolerance = {"f16": 2e-2, "f32": 1e-5}[element]
    np.testing.assert_allclose(load_file(tmp_path / "state")["w"].astype(np.float64), want, atol=tolerance)
    for rank in range(nodes):
        own = load_file(f"{tmp_path / 'state'}.step{STEPS}.rank{rank}")
        np.testing.assert_array_equal(own["w.regions"], np.subtract(cuts, equal)[1:-1])
        np.testing.assert_allclose(own["w.residual"].astype(np.float64), residuals[rank], atol=tolerance)
