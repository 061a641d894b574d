# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Some of the whole models of bench/model_parity.py, a model of each framework, beside JAX."""

import os
import pathlib
import sys

import jax
import jax.numpy as jnp
import pytest
from numpy.linalg import norm

from sharded import distance, errors, train, train_jax

for framework in ("flax", "equinox", "haiku"):
    pytest.importorskip(framework)
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench"))
from _models import all_models, step_of  # noqa: E402

pytestmark = pytest.mark.skipif("COMMSCHED_BIN" not in os.environ, reason="COMMSCHED_BIN is not set")
MODELS = all_models()
STEPS = 4


def prepared(model, dtype):
    """(step, parameters, state) of a model, computed with in this type."""
    params, own, loss = model.make(dtype)
    step, optimizer = step_of(loss, model.rate)
    return step, params, {"own": own, "momentum": optimizer.init(params)}


@pytest.mark.parametrize("name, workers", [("linen ResNet", 2), ("linen LSTM", 1), ("linen GPT", 1), ("nnx mixture of experts", 4),
                                           ("Equinox GPT", 2), ("Haiku LSTM", 2), ("plain flow", 2), ("plain Gaussian process", 2),
                                           ("plain Fourier operator", 1), ("plain state space", 1),
                                           ("Equinox VAE", 2), ("plain diffusion", 4)])
def test_models_follow_jax(name, workers):
    model = MODELS[name]
    step, params, state = prepared(model, None)
    batches = [model.batch(i) for i in range(STEPS)]
    # Random numbers of samples are those of one device.
    wanted, _, _ = train_jax(step, 1 if "key" in state["own"] else workers, params, state, batches)
    found, _, _ = train(step, workers, params, state, batches)
    off = errors(params, wanted, found)
    assert max(off.values()) < 1e-4, off
    # A tensor that hardly moves hides nothing from errors(), but a model that does not move shows nothing.
    assert norm([distance(a, b) for a, b in zip(jax.tree.leaves(wanted), jax.tree.leaves(params))]) > 1e-2


@pytest.mark.parametrize("name", ["nnx DLRM", "Haiku LSTM"])
def test_models_of_mixed_types_are_as_far_from_float32_as_jax_is(name):
    model = MODELS[name]
    batches = [model.batch(i) for i in range(STEPS)]
    step, params, state = prepared(model, None)
    exact, _, _ = train_jax(step, 2, params, state, batches)
    step, params, state = prepared(model, jnp.bfloat16)
    wanted, _, _ = train_jax(step, 2, params, state, batches)
    found, _, _ = train(step, 2, params, state, batches)
    rounding, own, off = (errors(params, exact, wanted), errors(params, exact, found), errors(params, wanted, found))
    # Each has its own roundings, of one size; from each other they are away by those of both.
    assert max(own.values()) < 1.25 * max(rounding.values()), (own, rounding)
    assert max(off.values()) < 2 * max(rounding.values()), (off, rounding)
