# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Selections of elements of 16 bits, of which two are a word of a message: exactly what NumPy computes."""
import numpy as np
import pytest
from conftest import expect_success, run
from safetensors import safe_open
from safetensors.numpy import load_file
from test_sparse import ADAM, CLUSTER, adam, exchange, write_plan

STEPS = 4
# The gradient is x, in 16 bits; "sum" adds up what all ranks get.
STEP = """
func.func @step(%w: tensor<5x3x{0}> {{cs.param = "w"}}, %s: tensor<5x3xf32> {{cs.state = "sum"}}, %x: tensor<5x3xf32> {{cs.batch = "x"}})
    -> (tensor<5x3x{0}> {{cs.updates = "w"}}, tensor<5x3xf32> {{cs.updates = "sum"}}) attributes {{cs.step}} {{
  %g = arith.truncf %x : tensor<5x3xf32> to tensor<5x3x{0}>
  %r = cs.gradient %g of "w" : tensor<5x3x{0}>
  %f = arith.extf %r : tensor<5x3x{0}> to tensor<5x3xf32>
  %n = arith.addf %s, %f : tensor<5x3xf32>
  return %r, %n : tensor<5x3x{0}>, tensor<5x3xf32>
}}
"""


def train(folder, element, nodes, devices, options):
    """Gradients by step, node and device; writes the checkpoint folder/state."""
    pipeline = f"--cs-all-reduce-pipeline={options}"
    write_plan(folder / "plan", CLUSTER.format(nodes, devices) + STEP.format(element), pipeline, "--verify-distributed")
    random = np.random.default_rng(5)
    # Few bits, so that sums and means are exact; never zero: what is selected is told by that.
    x = random.integers(1, 8, (STEPS, nodes, devices, 5, 3)).astype(np.float32)
    np.savez(folder / "x.npz", x=x.reshape(-1, 3))
    np.savez(folder / "init.npz", w=np.zeros((5, 3), {"f16": np.float16, "bf16": "V2"}[element]), sum=np.zeros((5, 3), np.float32))
    expect_success(run(folder / "plan", "--init", folder / "init.npz", "--batch", folder / "x.npz", "--steps", STEPS,
                       "--checkpoint", folder / "state"))
    return x


# Of 15 elements 3 or 6 are selected, of shards fewer: odd numbers and even ones.
@pytest.mark.parametrize("element,nodes,devices,method,density", [
    ("f16", 2, 1, "allgather", 0.2), ("bf16", 2, 2, "allgather", 0.4), ("bf16", 4, 1, "hitopk", 0.2), ("f16", 2, 2, "hitopk", 0.4),
    ("f16", 4, 1, "gtopk", 0.2), ("bf16", 2, 2, "gtopk", 0.4), ("f16", 2, 2, "oktopk", 0.4), ("bf16", 4, 1, "oktopk", 0.2)])
def test_halves_are_exact(tmp_path, element, nodes, devices, method, density):
    x = train(tmp_path, element, nodes, devices, f"density={density} min-elements=1 sparse-method={method}")
    want, state = np.zeros((5, 3)), {}
    for step in range(STEPS):
        want = want + exchange(method, x[step].astype(np.float64), state, density, {})
    assert np.count_nonzero(want) > 3
    with safe_open(tmp_path / "state", framework="numpy") as file:
        np.testing.assert_array_equal(file.get_tensor("sum"), want)
    if element == "bf16":  # which NumPy has not
        return
    for rank in range(nodes):
        own = load_file(f"{tmp_path / 'state'}.step{STEPS}.rank{rank}")
        kept = [own[name] for name in sorted(own) if ".residual" in name]
        assert all(part.dtype == np.float16 for part in kept)
        places = [state[rank, place] for place in range(len(kept))]
        np.testing.assert_array_equal(np.concatenate(kept), np.concatenate(places))


@pytest.mark.parametrize("element,density", [("f16", 1), ("bf16", 1), ("f16", 0.4)])
def test_moments_are_wider_than_elements(tmp_path, element, density):
    """Of Adam in front of the selection, and behind the all-reduce of what stays dense."""
    options = "momentum-correction=0.75 second-moment=0.875 epsilon=2"
    selects = "" if density == 1 else "min-elements=1 sparse-method=allgather"
    x = train(tmp_path, element, 2, 1, f"density={density} {selects} {options}").astype(np.float64)
    total, state = 0, {}
    for step in range(STEPS):
        gradients = [x[step, :, 0].mean(0)] * 2 if density == 1 else x[step, :, 0]
        total = total + sum(adam(gradient, state, (rank,), ADAM, 1 if density == 1 else 2) for rank, gradient in enumerate(gradients)) / 2
    of = ".mean" if density == 1 else ""  # the same on all ranks, or each rank's own
    for rank in range(2):
        with safe_open(f"{tmp_path / 'state'}.step{STEPS}.rank{rank}", framework="numpy") as file:
            for name in ("velocity", "squares"):
                own = file.get_tensor(f"w.{name}{of}")
                assert own.dtype == np.float32
                np.testing.assert_allclose(own, state[name, rank], rtol=1e-6)
            np.testing.assert_allclose(file.get_tensor(f"w.weights{of}"), [1 - 0.75 ** STEPS, 1 - 0.875 ** STEPS], rtol=1e-6)
    with safe_open(tmp_path / "state", framework="numpy") as file:
        applied = file.get_tensor("sum")
    if density == 1:
        np.testing.assert_allclose(applied, total, rtol={"f16": 1e-3, "bf16": 1e-2}[element])
    else:  # the rest is still kept
        assert (applied < total + 1e-3).all() and applied.sum() < total.sum()
