# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Optimizers whose updates have branches, loops or conditions on the state."""

import os

import jax
import numpy as np
import optax
import pytest

import commsched
from test_structure import PARAMS, X, Y, loss

pytestmark = pytest.mark.skipif("COMMSCHED_BIN" not in os.environ, reason="COMMSCHED_BIN is not set")
STEPS = 4


def steps(optimizer, batches, workers, **more):
    """(values, params, state) of the compiled program and of JAX."""
    def step(params, state, x, y):
        value, grads = jax.value_and_grad(loss)(params, x, y)
        updates, state = optimizer.update(grads, state, params, **{k: v(value) for k, v in more.items()})
        return optax.apply_updates(params, updates), state, value
    state = optimizer.init(PARAMS)
    program = commsched.transpile(step, PARAMS, state, X, Y, batch=(2, 3), cluster=workers)
    found = [m["loss"] for m in program.run(batches)], program.params, program.state[0]
    program.close()
    params, jitted, wanted = PARAMS, jax.jit(step), []
    for x, y in batches:
        params, state, value = jitted(params, state, x, y)
        wanted.append(float(value))
    return found, (wanted, params, state)


def close(found, wanted):
    for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(wanted), strict=True):
        if isinstance(b, jax.Array) and jax.dtypes.issubdtype(b.dtype, jax.dtypes.prng_key):
            a, b = jax.random.key_data(a), jax.random.key_data(b)
        np.testing.assert_allclose(np.asarray(a, np.float64), np.asarray(b, np.float64), rtol=2e-4, atol=1e-6)


@pytest.mark.parametrize("workers", [1, 2])
def test_apply_if_finite_leaves_out_a_step(workers):
    """A branch hands on zeros where the other one computes."""
    broken = X.copy()
    broken[3, 1] = np.nan
    found, wanted = steps(optax.apply_if_finite(optax.adam(1e-2), 3), [(X, Y), (broken, Y), (X, Y)], workers)
    assert int(found[2].total_notfinite) == 1 and np.isnan(found[0][1]) and np.isfinite(found[0][2])
    close(found[1:], wanted[1:])


OPTIMIZERS = {
    "multi_steps": lambda: optax.MultiSteps(optax.adam(1e-2), 2), "sm3": lambda: optax.sm3(1e-2),
    "prodigy": lambda: optax.contrib.prodigy(1.0), "dadapt_adamw": lambda: optax.contrib.dadapt_adamw(1.0),
    "adaptive_clip": lambda: optax.chain(optax.adaptive_grad_clip(0.01), optax.sgd(1e-2)),
    "schedule": lambda: optax.sgd(optax.join_schedules([optax.linear_schedule(0, 1e-2, 2), optax.constant_schedule(1e-2)], [2])),
    "zero_nans": lambda: optax.chain(optax.zero_nans(), optax.adam(1e-2)), "noise": lambda: optax.chain(optax.add_noise(0.01, 0.5, jax.random.key(1)), optax.sgd(1e-2)),
    "lbfgs_direction": lambda: optax.lbfgs(1e-2, memory_size=3, linesearch=None),
    "every_second": lambda: optax.conditionally_transform(optax.sgd(1e-2), lambda step: step % 2 == 0),
}


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_it_follows_jax(name):
    found, wanted = steps(OPTIMIZERS[name](), [(X, Y)] * STEPS, 1)
    close(found, wanted)
