# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What parameters, state and batches may be given as: arrays of any order of bytes; numbers of Python, which take the element type of what they are
used with; arrays that have been donated, which are refused."""

import os

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import commsched
from commsched.frontend import jax_leaves

needs_tools = pytest.mark.skipif("COMMSCHED_BIN" not in os.environ, reason="COMMSCHED_BIN is not set")


def step(params, state, batch):
    def loss_of(params):
        h = batch["x"].astype(jnp.float32) @ params["w"] + params["b"].astype(jnp.float32) + state["table"][batch["ids"]]
        return jnp.mean(jnp.where(batch["on"][:, None], h, 2 * h) ** 2)
    loss, grads = jax.value_and_grad(loss_of)(params)
    return jax.tree.map(lambda p, g: p - (0.1 * g).astype(p.dtype), params, grads), {"table": state["table"], "count": state["count"] + 3}, loss


def given(seed):
    rng = np.random.default_rng(seed)
    return ({"w": rng.normal(size=(3, 2)).astype(np.float32), "b": rng.normal(size=2).astype(np.float16)},
            {"table": rng.normal(size=(5, 2)).astype(np.float32), "count": np.int32(rng.integers(1000))},
            {"x": rng.normal(size=(8, 3)).astype(np.float16), "ids": rng.integers(0, 5, 8).astype(np.uint32), "on": rng.integers(0, 2, 8).astype(np.bool_)})


def turned(tree, rng):
    """With the bytes of some, but at least of one, in the other order."""
    leaves, structure = jax.tree.flatten(tree)
    chosen = rng.integers(0, 2, len(leaves))
    chosen[rng.choice([i for i, leaf in enumerate(leaves) if np.asarray(leaf).dtype.itemsize > 1])] = 1
    return structure.unflatten([np.asarray(leaf).astype(np.asarray(leaf).dtype.newbyteorder(">")) if c else leaf for leaf, c in zip(leaves, chosen)])


def trained(params, state, *batches):
    with commsched.transpile(step, params, state, batches[0], cluster=2) as program:
        metrics = program.run(batches)
        return metrics, program.slots()


@needs_tools
@pytest.mark.parametrize("seed", range(4))
def test_arrays_of_any_order_of_bytes(seed):
    rng, (params, state, batch) = np.random.default_rng([seed, 1]), given(seed)
    wanted, values = trained(params, state, batch, batch)
    found, own = trained(turned(params, rng), turned(state, rng), turned(batch, rng), turned(batch, rng))
    assert found == wanted
    for name, value in values.items():
        assert own[name].dtype.isnative and own[name].tobytes() == value.tobytes(), name


def test_donated_arrays_are_refused_in_one_line():
    params, state, batch = given(0)
    params, state = jax.tree.map(jnp.asarray, (params, state))
    jax.jit(step, donate_argnums=(0, 1))(params, state, batch)
    with pytest.raises(commsched.FrontEndError, match=r"^argument 'params\.b' must be an array that is there, got: one that has been deleted, as by donating it$"):
        commsched.transpile(step, params, state, batch)
    key = jax.random.key(0)
    key.delete()
    with pytest.raises(commsched.FrontEndError, match=r"^argument 'state' must be an array that is there, got: one that has been deleted, as by donating it$"):
        commsched.transpile(step, given(0)[0], key, batch)


@pytest.mark.parametrize("number", [2 ** 31, -2 ** 31 - 1, 2 ** 40])
def test_numbers_that_are_too_large_are_refused(number):
    """As by JAX, which has 32 bits for them."""
    def step(w, count, x):
        loss, g = jax.value_and_grad(lambda w: ((x @ w) ** 2).mean())(w)
        return w - g, count + 1, loss
    w, x = np.ones(3, np.float32), np.ones((8, 3), np.float32)
    with pytest.raises(OverflowError):
        jax.jit(step)(w, number, x)
    with pytest.raises(commsched.FrontEndError, match=f"^argument 'count' must be a number of int32, got: {number}$"):
        commsched.transpile(step, w, number, x)
    commsched.transpile(step, w, number - (1 if number > 0 else -1), x) if abs(number) < 2 ** 32 else None


def scaled(rate, scale, weak):
    """A step with parameters of 16 bits; what is used with them is so too where JAX has it so."""
    def step(w, rate, x):
        loss, g = jax.value_and_grad(lambda w: (((x @ w) * scale) ** 2).mean())(w)
        return w - rate * g if weak else (w - rate * g).astype(w.dtype), rate * 0.5, loss
    return step


@needs_tools
@pytest.mark.parametrize("kind", [jnp.bfloat16, jnp.float16])
@pytest.mark.parametrize("rate, weak", [(0.25, True), (jnp.asarray(0.25), True), (np.float32(0.25), False), (jnp.float32(0.25), False)])
def test_numbers_take_the_type_of_what_they_are_used_with(kind, rate, weak):
    rng = np.random.default_rng(7)
    w, x, of = jnp.asarray(rng.normal(size=3), kind), jnp.asarray(rng.normal(size=(8, 3)), kind), scaled(rate, 2.0, weak)
    assert jax.eval_shape(of, w, rate, x)[0].dtype == kind
    with commsched.transpile(of, w, rate, x, cluster=2) as program:
        loss = program.step(x)["loss"]
        mine, state = program.params, program.state
    wanted, half, value = jax.jit(of)(w, rate, x)
    np.testing.assert_allclose(loss, float(value), rtol=2e-2)
    np.testing.assert_allclose(np.asarray(mine, np.float32), np.asarray(wanted, np.float32), rtol=2e-2, atol=1e-2)
    assert mine.dtype == kind and state[0] == half


FAULTS = {
    "the other order of bytes stays": ("_native", lambda dtype: dtype, lambda: [test_arrays_of_any_order_of_bytes(seed) for seed in range(4)]),
    "numbers have a type of their own": ("_is_weak", lambda leaf: False, lambda: test_numbers_take_the_type_of_what_they_are_used_with(jnp.bfloat16, 0.25, True)),
}


@needs_tools
@pytest.mark.parametrize("name, other, test", FAULTS.values(), ids=FAULTS)
def test_planted_faults_are_found(monkeypatch, name, other, test):
    monkeypatch.setattr(jax_leaves, name, other)
    with pytest.raises((AssertionError, TypeError, ValueError)):
        test()
