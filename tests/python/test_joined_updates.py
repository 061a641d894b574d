# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Parameter servers, updates that need the gradients of several parameters: against JAX on one device."""

import os

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import commsched
from test_end_to_end import reference

pytestmark = pytest.mark.skipif("COMMSCHED_BIN" not in os.environ, reason="COMMSCHED_BIN is not set")

STEPS = 20
rng = np.random.default_rng(8)
PARAMS = {"b1": np.zeros(24, np.float32), "b2": np.zeros(3, np.float32),
          "w1": 0.3 * rng.standard_normal((10, 24)).astype(np.float32),
          "w2": 0.3 * rng.standard_normal((24, 3)).astype(np.float32)}
BATCHES = [(rng.standard_normal((16, 10)).astype(np.float32), rng.standard_normal((16, 3)).astype(np.float32))
           for _ in range(STEPS)]
# In some of the steps the norm of the gradients is larger, in others smaller.
MAX_NORM = 1.5


def loss(params, x, y):
    hidden = jnp.tanh(x @ params["w1"] + params["b1"])
    return jnp.mean((hidden @ params["w2"] + params["b2"] - y) ** 2)


def make_step(optimizer):
    def step(params, state, x, y):
        value, grads = jax.value_and_grad(loss)(params, x, y)
        updates, state = optimizer.update(grads, state, params)
        return optax.apply_updates(params, updates), state, value
    return step


def transpile(optimizer, **strategy):
    return commsched.transpile(make_step(optimizer), PARAMS, optimizer.init(PARAMS), *BATCHES[0], batch=(2, 3),
                               cluster=2, strategy=commsched.ParameterServers(servers=2, **strategy))


def expect_same(program, optimizer):
    found = [m["loss"] for m in program.run(BATCHES)]
    wanted, (params, state) = reference(make_step(optimizer), (PARAMS, optimizer.init(PARAMS)), BATCHES)
    np.testing.assert_allclose(found, wanted, rtol=1e-5)
    for got, expected in ((program.params, params), (program.state[0], state)):
        for a, b in zip(jax.tree.leaves(got), jax.tree.leaves(expected), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-6)
    program.close()


def norms(optimizer):
    """Of the gradients of each step."""
    step, params, state = jax.jit(make_step(optimizer)), PARAMS, optimizer.init(PARAMS)
    for batch in BATCHES:
        yield float(optax.tree.norm(jax.grad(loss)(params, *batch)))
        params, state, _ = step(params, state, *batch)


@pytest.mark.parametrize("options", [{}, {"placement": "hash"}])
def test_adam_with_clipping_by_the_global_norm(options):
    optimizer = optax.chain(optax.clip_by_global_norm(MAX_NORM), optax.adam(optax.exponential_decay(1e-2, 5, 0.8)))
    assert {norm > MAX_NORM for norm in norms(optimizer)} == {False, True}
    program = transpile(optimizer, **options)
    text = program.mlir(1)
    assert text.count("cs.collect") == 5 and text.count('cs.fragment "update.') == 1
    expect_same(program, optimizer)


def test_one_update_reads_what_another_writes():
    """No gradient is in both."""
    def step(params, momentum, x, y):
        value, grads = jax.value_and_grad(loss)(params, x, y)
        momentum = jax.tree.map(lambda m, g: 0.9 * m + g, momentum, grads)
        # b1 and b2 stay apart.
        new = jax.tree.map(lambda p, m: p - 0.05 * m, params, momentum)
        new["w2"] = new["w2"] - 0.01 * params["w1"].T[:, :3]
        return new, momentum, value
    momentum = jax.tree.map(np.zeros_like, PARAMS)
    program = commsched.transpile(step, PARAMS, momentum, *BATCHES[0], batch=(2, 3), cluster=2,
                                  strategy=commsched.ParameterServers(servers=2, min_block_elements=8))
    assert "cs.split" in program.mlir(1)
    wanted, (params, momentum) = reference(step, (PARAMS, momentum), BATCHES)
    np.testing.assert_allclose([m["loss"] for m in program.run(BATCHES)], wanted, rtol=1e-5)
    for a, b in zip(jax.tree.leaves(program.params), jax.tree.leaves(params), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-6)
    program.close()


def test_in_asynchronous_modes_it_is_refused():
    optimizer = optax.chain(optax.clip_by_global_norm(MAX_NORM), optax.sgd(0.1))
    with pytest.raises(commsched.ToolError, match="sync-mode=async"):
        transpile(optimizer, mode="async").run(BATCHES[:1])
