# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Gradients that nothing marks: an update by them would be a mean of each worker's own, and is refused."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import commsched
import sharded

rng = np.random.default_rng(5)
PARAMS = {"w": rng.standard_normal((3, 2)).astype(np.float32), "b": rng.standard_normal(2).astype(np.float32)}
BATCHES = [(rng.standard_normal((8, 3)).astype(np.float32), rng.standard_normal((8, 2)).astype(np.float32))
           for _ in range(3)]
ADAM = optax.adam(0.05)


def loss(p, x, y):
    return jnp.mean((x @ p["w"] + p["b"] - y) ** 2)


def matrices_in_16_bits(p):
    return jax.tree.map(lambda a: a.astype(jnp.bfloat16) if a.ndim > 1 else a, p)


def of_copies(p, x, y):
    grads = jax.grad(loss)(matrices_in_16_bits(p), x, y)
    return jax.tree.map(lambda g: g.astype(jnp.float32), grads)


def by_vjp(p, x, y):
    _, pullback = jax.vjp(lambda w: loss({**p, "w": w}, x, y), p["w"])
    return {"w": pullback(1.0)[0], "b": jax.grad(lambda b: loss({**p, "b": b}, x, y))(p["b"])}


def forward(p, x, y):
    return {"w": jax.grad(lambda w: loss({**p, "w": w}, x, y))(p["w"]),
            "b": jax.jacfwd(lambda b: loss({**p, "b": b}, x, y))(p["b"])}


def by_hand(p, x, y):
    return {"w": x.T @ (x @ p["w"] + p["b"] - y) / y.size * 2,
            "b": jax.grad(lambda b: loss({**p, "b": b}, x, y))(p["b"])}


WAYS = {"of_copies": (of_copies, "w"), "by_vjp": (by_vjp, "w"), "forward": (forward, "b"), "by_hand": (by_hand, "w")}


@pytest.mark.parametrize("way", WAYS)
def test_a_gradient_that_is_not_marked_is_refused(way):
    gradients, name = WAYS[way]

    def step(params, state, x, y):
        updates, state = ADAM.update(gradients(params, x, y), state, params)
        return optax.apply_updates(params, updates), state, loss(params, x, y)
    with pytest.raises(commsched.FrontEndError, match=f"'{name}'.*no gradient of it that is marked.*mark_gradients") as error:
        commsched.transpile(step, PARAMS, ADAM.init(PARAMS), *BATCHES[0], batch=(2, 3), cluster=2)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("way", WAYS)
def test_marked_it_is_the_mean(way):
    def step(params, state, x, y, mean):
        grads = mean(commsched.mark_gradients(WAYS[way][0](params, x, y), params))
        updates, state = ADAM.update(grads, state, params)
        return optax.apply_updates(params, updates), state, mean(loss(params, x, y))
    state = ADAM.init(PARAMS)
    wanted, _, losses = sharded.train_jax(step, 2, PARAMS, state, BATCHES)
    found, _, ours = sharded.train(step, 2, PARAMS, state, BATCHES)
    assert max(sharded.errors(PARAMS, wanted, found).values()) < 1e-4
    np.testing.assert_allclose(ours, losses, rtol=1e-5)


def test_a_gradient_of_state_is_refused():
    """Two groups of parameters, of which params= names one."""
    def step(w, b, x, y):
        value, (gw, gb) = jax.value_and_grad(lambda w, b: loss({"w": w, "b": b}, x, y), argnums=(0, 1))(w["w"], b["b"])
        return {"w": w["w"] - 0.1 * gw}, {"b": b["b"] - 0.1 * jnp.sign(gb)}, value
    with pytest.raises(commsched.FrontEndError, match=r"test_unmarked_gradients.py:\d+:\d+: a gradient is taken of 'b.b'"):
        commsched.transpile(step, {"w": PARAMS["w"]}, {"b": PARAMS["b"]}, *BATCHES[0], batch=(2, 3), cluster=2)


def sharpness_aware(params, x, y, mark=lambda gradients, params: gradients, point=lambda p, g: p + 0.05 * g / jnp.sqrt((g ** 2).sum())):
    there = jax.tree.map(point, params, jax.grad(loss)(params, x, y))
    value, grads = jax.value_and_grad(loss)(there, x, y)
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, mark(grads, params)), value


def test_a_second_gradient_where_the_first_has_led_is_refused():
    with pytest.raises(commsched.FrontEndError, match=r"test_unmarked_gradients.py:\d+:\d+: a second gradient of '[bw]' is taken, where the first one has led.*mark_gradients") as error:
        commsched.transpile(sharpness_aware, PARAMS, *BATCHES[0], batch=(1, 2), cluster=2)
    assert "\n" not in str(error.value)


def test_a_second_gradient_that_is_marked_is_of_each_part():
    def step(params, state, x, y, mean):
        params, value = sharpness_aware(params, x, y, lambda grads, params: mean(commsched.mark_gradients(grads, params)))
        return params, state + 1, mean(value)
    wanted, _, losses = sharded.train_jax(step, 2, PARAMS, np.int32(0), BATCHES)
    with pytest.warns(commsched.MixedSamples, match="the gradients are not a mean"):
        found, _, ours = sharded.train(step, 2, PARAMS, np.int32(0), BATCHES)
    assert max(sharded.errors(PARAMS, wanted, found).values()) < 1e-4
    np.testing.assert_allclose(ours, losses, rtol=1e-5)


def test_a_second_gradient_where_all_are_the_same_is_marked():
    """Of a point that no sample has a part in."""
    def step(params, x, y):
        there = jax.tree.map(lambda p: p * 0.9, params)
        value, grads = jax.value_and_grad(loss)(there, x, y)
        return jax.tree.map(lambda p, g: p - 0.1 * g, params, commsched.mark_gradients(grads, params)), value
    assert commsched.transpile(step, PARAMS, *BATCHES[0], batch=(1, 2), cluster=2).mlir().count("cs.gradient") == 2


def test_running_statistics_among_the_parameters_stay_a_mean():
    """Through a loop that carries them beside the gradients, of which they are no part."""
    params = PARAMS | {"mean": np.zeros(3, np.float32)}

    def step(params, x, y, mean):
        def one(carry, part):
            gradients, statistic = carry
            more = jax.grad(loss)({k: params[k] for k in "wb"}, *part)
            return (jax.tree.map(jnp.add, gradients, more), 0.9 * statistic + 0.1 * part[0].mean(0)), None
        zeros = {k: jnp.zeros_like(params[k]) for k in "wb"}
        (grads, statistic), _ = jax.lax.scan(one, (zeros, params["mean"]), (x.reshape(2, -1, 3), y.reshape(2, -1, 2)))
        grads = mean(commsched.mark_gradients(grads, {k: params[k] for k in "wb"}))
        new = {k: params[k] - 0.1 * grads[k] for k in "wb"} | {"mean": mean(statistic)}
        return new, mean(loss(params, x, y))

    def with_state(params, state, *rest, mean):
        new, value = step(params, *rest, mean)
        return new, state + 1, value
    wanted, _, _ = sharded.train_jax(with_state, 2, params, np.int32(0), BATCHES)
    found, _, _ = sharded.train(with_state, 2, params, np.int32(0), BATCHES)
    assert max(sharded.errors(params, wanted, found).values()) < 1e-5


def test_parameters_of_an_ensemble_are_found():
    params = jax.tree.map(lambda a: np.stack([a, -a, 2 * a], 1), PARAMS)  # not in front

    def step(params, state, x, y, mean):
        values, grads = jax.vmap(jax.value_and_grad(loss), (1, None, None), (0, 1))(params, x, y)
        updates, state = ADAM.update(mean(grads), state, params)
        return optax.apply_updates(params, updates), state, mean(values.mean())
    state = ADAM.init(params)
    wanted, _, losses = sharded.train_jax(step, 2, params, state, BATCHES)
    found, _, ours = sharded.train(step, 2, params, state, BATCHES)
    assert max(sharded.errors(params, wanted, found).values()) < 1e-4
    np.testing.assert_allclose(ours, losses, rtol=1e-5)
