# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Typed random keys as state, parameters' neighbours and batches: steps follow JAX, and keys come back as keys."""

import os

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import commsched
from test_structure import PARAMS, X, Y, head, loss, update

needs_tools = pytest.mark.skipif("COMMSCHED_BIN" not in os.environ, reason="COMMSCHED_BIN is not set")


def dropped(params, key, x, y):
    keep = jax.random.bernoulli(key, 0.7, x.shape)
    return loss(params, jnp.where(keep, x / 0.7, 0.0), y)


def step(params, state, x, y):
    key, own = jax.random.split(state["key"])
    value, grads = jax.value_and_grad(dropped)(params, jax.random.fold_in(own, state["count"]), x, y)
    return update(params, grads), {"key": key, "count": state["count"] + 1}, value


def state(seed=3):
    return {"key": jax.random.key(seed), "count": np.int32(0)}


def test_a_key_in_the_state_is_its_data_in_the_program_and_a_key_outside():
    program = commsched.transpile(step, PARAMS, state(), X, Y, batch=(2, 3))
    assert ("state", "state.key") in head(program.mlir())[0] and ("updates", "state.key") in head(program.mlir())[1]
    assert program.slots()["state.key"].dtype == np.uint32
    key = program.state[0]["key"]
    assert jax.dtypes.issubdtype(key.dtype, jax.dtypes.prng_key) and key == jax.random.key(3)


@needs_tools
def test_training_with_dropout_follows_jax():
    program = commsched.transpile(step, PARAMS, state(), X, Y, batch=(2, 3))
    found = [m["loss"] for m in program.run([(X, Y)] * 5)]
    jitted, params, carried, wanted = jax.jit(step), PARAMS, state(), []
    for _ in range(5):
        params, carried, value = jitted(params, carried, X, Y)
        wanted.append(float(value))
    np.testing.assert_allclose(found, wanted, rtol=1e-5)
    np.testing.assert_allclose(program.params["w"], params["w"], rtol=1e-5)
    assert program.state[0]["key"] == carried["key"] and int(program.state[0]["count"]) == 5
    program.close()


@needs_tools
def test_all_workers_carry_the_same_key():
    program = commsched.transpile(step, PARAMS, state(), X, Y, batch=(2, 3), cluster=2)
    program.run([(X, Y)] * 3)
    key = jax.random.key(3)
    for _ in range(3):
        key = jax.random.split(key)[0]
    assert program.state[0]["key"] == key
    program.close()


@needs_tools
def test_arrays_of_keys_and_keys_in_the_batch():
    def step(params, keys, batch):
        noise = jax.vmap(lambda k: jax.random.normal(k, (3,)))(batch["keys"])
        value, grads = jax.value_and_grad(loss)(params, batch["x"] + 0.1 * noise, batch["y"])
        return update(params, grads), jax.vmap(jax.vmap(lambda k: jax.random.fold_in(k, 1)))(keys), value
    keys = jax.random.split(jax.random.key(1), (2, 3))
    batch = {"x": X, "y": Y, "keys": jax.random.split(jax.random.key(2), 8)}
    program = commsched.transpile(step, PARAMS, keys, batch, cluster=2)
    found = program.step(batch)["loss"]
    _, wanted_keys, wanted = jax.jit(step)(PARAMS, keys, batch)
    np.testing.assert_allclose(found, wanted, rtol=1e-5)
    assert program.state[0].shape == (2, 3) and bool(jnp.all(program.state[0] == wanted_keys))
    program.close()


def test_a_key_of_another_generator_is_not_taken_for_the_new_value():
    def step(params, key, x, y):
        value, grads = jax.value_and_grad(loss)(params, x, y)
        return update(params, grads), jax.random.wrap_key_data(jnp.zeros(4, np.uint32), impl="rbg"), value
    with pytest.raises(commsched.FrontEndError, match=r"must match key<fry>\[2\], got: key<rbg>\[\]"):
        commsched.transpile(step, PARAMS, jax.random.split(jax.random.key(0)), X, Y, batch=(2, 3))


def test_a_key_is_no_metric():
    def step(params, x, y):
        value, grads = jax.value_and_grad(loss)(params, x, y)
        return update(params, grads), {"loss": value, "key": jax.random.key(0)}
    with pytest.raises(commsched.FrontEndError, match=r"output 'key' .* must be a scalar metric, got: key<fry>\[\]"):
        commsched.transpile(step, PARAMS, X, Y, batch=(1, 2))


def test_functions_share_keys():
    def evaluate(params, state, x):
        return {"mean": (x @ params["w"]).mean() + jax.random.uniform(state["key"])}
    program = commsched.transpile(step, PARAMS, state(), X, Y, batch=(2, 3),
                                  functions={"eval": (evaluate, PARAMS, state(), X)})
    assert ("state", "state.key") in head(program.mlir(), "eval")[0]


@needs_tools
def test_dropout_of_flax_nnx():
    nnx = pytest.importorskip("flax.nnx")

    class Net(nnx.Module):
        def __init__(self, rngs):
            self.first, self.drop = nnx.Linear(3, 8, rngs=rngs), nnx.Dropout(0.3, rngs=rngs)
            self.last = nnx.Linear(8, 2, rngs=rngs)

        def __call__(self, x):
            return self.last(self.drop(nnx.relu(self.first(x))))
    graph, params, rest = nnx.split(Net(nnx.Rngs(0)), nnx.Param, ...)

    def step(params, rest, x, y):
        def loss_of(params):
            model = nnx.merge(graph, params, rest, copy=True)
            value = jnp.mean((model(x) - y) ** 2)
            return value, nnx.state(model, nnx.Not(nnx.Param))
        (value, new), grads = jax.value_and_grad(loss_of, has_aux=True)(params)
        return update(params, grads), new, value
    program = commsched.transpile(step, params, rest, X, Y, batch=(2, 3))
    found = [m["loss"] for m in program.run([(X, Y)] * 3)]
    wanted, jitted = [], jax.jit(step)
    for _ in range(3):
        params, rest, value = jitted(params, rest, X, Y)
        wanted.append(float(value))
    np.testing.assert_allclose(found, wanted, rtol=1e-5)
    program.close()


class Streams:
    """A net of flax.nnx with two dropouts, taken apart: parameters, keys of the streams, and all else (their counts)."""

    def __init__(self):
        nnx = pytest.importorskip("flax.nnx")

        class Net(nnx.Module):
            def __init__(self, rngs):
                self.first, self.drop = nnx.Linear(3, 8, rngs=rngs), nnx.Dropout(0.3, rngs=rngs)
                self.last, self.other = nnx.Linear(8, 2, rngs=rngs), nnx.Dropout(0.5, rngs=rngs, rng_collection="noise")

            def __call__(self, x):
                return self.last(self.other(self.drop(nnx.relu(self.first(x)))))
        self.nnx = nnx
        self.graph, *self.parts = nnx.split(Net(nnx.Rngs(0, dropout=1, noise=2)), nnx.Param, nnx.RngKey, ...)

    def loss(self, params, keys, rest, x, y):
        model = self.nnx.merge(self.graph, params, keys, rest, copy=True)
        value = jnp.mean((model(x) - y) ** 2)
        return value, self.nnx.state(model, self.nnx.RngCount)


@needs_tools
def test_dropout_of_flax_nnx_by_worker():
    net = Streams()

    def step(params, keys, rest, x, y):
        (value, rest), grads = jax.value_and_grad(net.loss, has_aux=True)(params, commsched.worker_key(keys), rest, x, y)
        return update(params, grads), rest, value
    params, keys, rest = net.parts
    program = commsched.transpile(step, *net.parts, X, Y, batch=(3, 4), cluster=2)
    found = [m["loss"] for m in program.run([(X, Y)] * 3)]
    halves = [(X[:len(X) // 2], Y[:len(Y) // 2]), (X[len(X) // 2:], Y[len(Y) // 2:])]
    wanted, gradient = [], jax.jit(jax.value_and_grad(net.loss, has_aux=True))
    for _ in range(3):
        own = [jax.tree.map(lambda k, i=i: jax.random.fold_in(k, i), keys) for i in range(2)]
        parts = [gradient(params, k, rest, *half) for k, half in zip(own, halves)]
        wanted.append(np.mean([value for (value, _), _ in parts]))
        params, rest = update(params, jax.tree.map(lambda a, b: (a + b) / 2, parts[0][1], parts[1][1])), parts[0][0][1]
    np.testing.assert_allclose(found, wanted, rtol=1e-5)
    np.testing.assert_array_equal(jax.tree.leaves(program.state[1]), [3] * len(jax.tree.leaves(rest)))  # counts of every stream
    program.close()


def test_worker_key_takes_pytrees_of_keys_only():
    keys = {"a": jax.random.key(0), "b": [jax.random.split(jax.random.key(1), (2, 3)), jax.random.PRNGKey(4)], "none": None}
    found = commsched.worker_key(keys)
    assert found["a"] == jax.random.fold_in(keys["a"], 0) and found["none"] is None
    assert found["b"][0].shape == (2, 3) and found["b"][0][1, 2] == jax.random.fold_in(keys["b"][0][1, 2], 0)
    np.testing.assert_array_equal(found["b"][1], jax.random.fold_in(keys["b"][1], 0))
    with pytest.raises(commsched.FrontEndError, match=r"worker_key must be given random keys, got: uint32\[\]"):
        commsched.worker_key({"key": jax.random.key(0), "count": jnp.uint32(1)})
    with pytest.raises(commsched.FrontEndError, match=r"worker_key must be given random keys, got: float32\[2\]"):
        commsched.worker_key(np.zeros(2, np.float32))


@needs_tools
@pytest.mark.parametrize("implementation", ["rbg", "unsafe_rbg"])
def test_numbers_of_64_bits_from_keys_of_rbg(implementation):
    with jax.enable_x64(True):
        def step(weight, key, bits, x):
            value, grad = jax.value_and_grad(lambda w: jnp.mean(w * x))(weight)
            key, own = jax.random.split(key)
            return weight - grad, key, jax.random.bits(own, bits.shape, np.uint64), value
        start = (np.float64(0), jax.random.key(5, impl=implementation), np.zeros(7, np.uint64))
        with commsched.transpile(step, *start, np.ones(2)) as program:
            program.run([np.ones(2)] * 2)
            (key, bits), expected = program.state, start
        for _ in range(2):
            expected = jax.jit(step)(*expected, np.ones(2))[:3]
        assert key == expected[1]
        np.testing.assert_array_equal(bits, expected[2])
