# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A program has numbers of 64 bits if it was transpiled where JAX has them, wherever it runs. The reference is JAX alone, in the context of transpile."""

import contextlib
import itertools
import os

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from cases import FIRST, count

import commsched
from commsched.frontend import jax_frontend

needs_tools = pytest.mark.skipif("COMMSCHED_BIN" not in os.environ, reason="COMMSCHED_BIN is not set")
TYPES = ("float64", "float32", "int64")


def step(params, key, count, x, y):  # of a rate with which roundings do not grow
    key, drawn = jax.random.split(key)
    loss, g = jax.value_and_grad(lambda p: ((jnp.sin(x @ p["w"]) + p["b"] - y) ** 2).mean())(params)
    return {n: params[n] - 0.01 * g[n] + 0.01 * jax.random.normal(drawn, g[n].shape, g[n].dtype) for n in params}, key, count + 1, loss


def evaluate(params, x, y):
    return jnp.abs(x @ params["w"] - y).mean()


def drawn(seed):
    """(carried arguments, batches): of any types, batches of NumPy's own."""
    rng = np.random.default_rng([FIRST, seed])
    x_type, y_type = rng.choice(TYPES, 2)
    batches = [((4 * rng.normal(size=(8, 3))).astype(x_type), rng.normal(size=8).astype(y_type)) for _ in range(5)]
    return ({"w": rng.normal(size=3).astype(rng.choice(TYPES[:2])), "b": rng.normal(size=1)}, jax.random.key(seed), rng.integers(3, size=()).astype(np.int64)), batches


def check(seed, at, later):
    carried, batches = drawn(seed)
    with jax.enable_x64(at):
        program = commsched.transpile(step, *carried, *batches[0], batch=(3, 4), cluster=2, functions={"eval": (evaluate, carried[0], *batches[0])})
        wanted, jitted, losses = carried, jax.jit(step), []
        for batch in batches:
            *wanted, loss = jitted(*wanted, *batch)
            losses.append(float(loss))
        last = float(evaluate(wanted[0], *batches[0]))
    with jax.enable_x64(later), program:
        found = program.run(batches[:3])
        program.close()
        found += program.run(batches[3:], workers=4)  # of which it is traced again
        assert program.params["b"].dtype == (np.float64 if at else np.float32)
        exact = 1e-5 if "float32" in [a.dtype.name for a in program.params.values()] else 1e-12
        np.testing.assert_allclose([m["loss"] for m in found], losses, rtol=10 * exact)
        for n, value in program.params.items():
            assert value.dtype == wanted[0][n].dtype
            np.testing.assert_allclose(value, wanted[0][n], rtol=10 * exact, atol=exact)
        np.testing.assert_array_equal(jax.random.key_data(program.state[0]), jax.random.key_data(wanted[1]))
        assert program.state[1] == wanted[2] and program.state[1].dtype == wanted[2].dtype
        np.testing.assert_allclose(program.call("eval", batches[:1])[0]["loss"], last, rtol=10 * exact)


@needs_tools
@pytest.mark.parametrize("at, later", list(itertools.product([False, True], repeat=2)))
def test_contexts(at, later):
    for seed in range(count(2)):
        check(seed, at, later)


@needs_tools
@pytest.mark.parametrize("at", [False, True])
def test_a_planted_fault_is_found(monkeypatch, at):
    monkeypatch.setattr(jax_frontend, "enable_x64", lambda now: contextlib.nullcontext())
    with pytest.raises((AssertionError, commsched.FrontEndError)):
        check(FIRST, at, not at)
