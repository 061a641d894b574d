# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Modules of Equinox as arguments, whole: activations, rates and flags in them are constants of the step."""

import os

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import commsched
from sharded import errors

eqx = pytest.importorskip("equinox")
needs_tools = pytest.mark.skipif("COMMSCHED_BIN" not in os.environ, reason="COMMSCHED_BIN is not set")
rng = np.random.default_rng(4)
BATCHES = [(rng.standard_normal((8, 6)).astype(np.float32), rng.standard_normal((8, 2)).astype(np.float32)) for _ in range(4)]
OPTIMIZER = optax.adam(1e-2)


class Net(eqx.Module):
    """scale, name and the rate and the flag of the dropout are leaves that are no arrays."""
    mlp: eqx.nn.MLP
    drop: eqx.nn.Dropout
    scale: float
    name: str

    def __init__(self, key):
        self.mlp = eqx.nn.MLP(6, 2, 8, 2, activation=jax.nn.gelu, key=key)
        self.drop, self.scale, self.name = eqx.nn.Dropout(0.5), 0.5, "net"

    def __call__(self, x, key):
        assert not self.drop.inference and self.name == "net"
        return self.mlp(self.drop(x, key=key)) * self.scale


def net():
    return Net(jax.random.key(1))


def make_step(change=lambda model: model):
    def step(model, state, x, y):
        opt_state, key = state["opt"], state["key"]
        key, drawn = jax.random.split(key)

        @eqx.filter_value_and_grad
        def loss(model):
            return jnp.mean((jax.vmap(model)(x, jax.random.split(drawn, len(x))) - y) ** 2)
        value, grads = loss(model)
        updates, opt_state = OPTIMIZER.update(grads, opt_state, eqx.filter(model, eqx.is_inexact_array))
        return change(eqx.apply_updates(model, updates)), {"opt": opt_state, "key": key}, value
    return step


def start():
    return net(), {"opt": OPTIMIZER.init(eqx.filter(net(), eqx.is_inexact_array)), "key": jax.random.key(2)}


@needs_tools
def test_a_model_goes_in_and_comes_back():
    model, state = start()
    with commsched.transpile(make_step(), model, state, *BATCHES[0], batch=(2, 3)) as program:
        losses = [m["loss"] for m in program.run(BATCHES)]
        found = program.params
    wanted, jitted, expected = model, eqx.filter_jit(make_step()), []
    for batch in BATCHES:
        wanted, state, value = jitted(wanted, state, *batch)
        expected.append(float(value))
    np.testing.assert_allclose(losses, expected, rtol=1e-5)
    arrays = [eqx.filter(m, eqx.is_array) for m in (model, wanted, found)]
    assert max(errors(*arrays).values()) < 1e-4
    assert found.mlp.activation is model.mlp.activation and (found.scale, found.name) == (0.5, "net")
    assert found(BATCHES[0][0][0], jax.random.key(0)).shape == (2,)  # it can be called


def test_constants_are_no_slots_and_a_list_of_models_is_one_argument():
    def step(models, x, y):
        value, grads = eqx.filter_value_and_grad(lambda m: jnp.mean((jax.vmap(m["a"])(x) + jax.vmap(m["b"][0])(x) - y) ** 2))(models)
        return eqx.apply_updates(models, jax.tree.map(lambda g: -0.1 * g, grads)), value
    models = {"a": eqx.nn.MLP(6, 2, 4, 1, key=jax.random.key(0)), "b": [eqx.nn.Linear(6, 2, key=jax.random.key(1))]}
    program = commsched.transpile(step, models, *BATCHES[0], batch=(1, 2))
    assert sorted(program.slots()) == sorted(["a.layers.0.weight", "a.layers.0.bias", "a.layers.1.weight", "a.layers.1.bias",
                                              "b.0.weight", "b.0.bias"])


def test_evaluation_takes_the_same_model():
    def evaluate(model, x, y):
        return {"error": jnp.mean((jax.vmap(lambda v: model.mlp(v))(x) - y) ** 2)}
    program = commsched.transpile(make_step(), *start(), *BATCHES[0], batch=(2, 3),
                                  functions={"eval": (evaluate, net(), *BATCHES[0])})
    assert program.mlir().count("cs.batch") == 4


def test_a_constant_that_changes_is_refused():
    step = make_step(lambda model: eqx.tree_at(lambda m: m.scale, model, 0.25))
    with pytest.raises(commsched.FrontEndError, match="no output of the step is the new value of argument 'model': output 0 has its "
                                                      "structure, but what is no array in it must be what it was"):
        commsched.transpile(step, *start(), *BATCHES[0], batch=(2, 3))


def test_outside_of_modules_numbers_are_arrays_and_functions_are_refused():
    def step(params, state, x, y):
        value, grads = jax.value_and_grad(lambda p: jnp.mean((x @ p["w"] - y) ** 2))(params)
        return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads), state, value
    params = {"w": np.zeros((6, 2), np.float32)}
    program = commsched.transpile(step, params, {"n": 3}, *BATCHES[0], batch=(2, 3))
    assert program.slots()["state.n"] == 3
    with pytest.raises(commsched.FrontEndError, match="argument 'state.f' must be an array or a number, got: "):
        commsched.transpile(step, params, {"f": jnp.sin}, *BATCHES[0], batch=(2, 3))
