# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Where the rules do not know what a step makes of several samples, it is tried: what differs is said, and what does not is not. The reference is JAX
alone, with other numbers: gradients of the whole batch, and of its parts."""

import warnings

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from cases import TIMES, cases, count
from test_whole_batch import MEANS, NO_MEANS, PARTS, D, L, data, differs, loss_of, said, verdict, weights

import commsched
from commsched.frontend import trial



def matrices(h):
    return 2 * jnp.eye(D) + h[:, :, None] * h[:, None] / 9


def solved(a, b):
    return jax.scipy.linalg.lu_solve(jax.scipy.linalg.lu_factor(a), b)


# Of samples h (n, D), by what no rule follows: each of its own, and several together.
LAYERS = {
    "product": (lambda h, ids: h * jnp.prod(1 + h / 9, 1, keepdims=True), False),
    "product of all": (lambda h, ids: h * jnp.prod(1 + h / 9, 0), True),
    "running product": (lambda h, ids: jnp.cumprod(1 + h / 9, 0), True),
    "solved": (lambda h, ids: solved(matrices(h), h[..., None])[..., 0], False),
    "solved by all": (lambda h, ids: h * solved(jnp.eye(D) + (h[:, None] * h[:, :, None]).mean(0), jnp.ones(D)), True),
    "exponential": (lambda h, ids: jax.vmap(jax.scipy.linalg.expm)(matrices(h) / 4)[:, 0], False),
    "all micro-batches": (lambda h, ids: jnp.concatenate([h.reshape(2, -1, D)[:1], h.reshape(2, -1, D)[1:]]).reshape(-1, D), False),
    "some micro-batches": (lambda h, ids: jnp.tile(h.reshape(4, -1, D)[:2].reshape(-1, D), (2, 1)), True),
    "in a tree": (lambda h, ids: jax.lax.associative_scan(jnp.multiply, 1 + h / 9), True),
}


def step_of(seed):
    """(names, loss): with a layer of these first."""
    rng = np.random.default_rng([seed, 11])
    names = [str(rng.choice(list(LAYERS))), str(rng.choice(["mean", "over the number", "by a product"] if rng.random() < 0.7 else list(NO_MEANS)))]
    return names, loss_of([LAYERS[names[0]][0]], {**MEANS, **NO_MEANS}[names[1]])


def certain(found):
    """Without what could not be told."""
    return found if found == "refused" else [t for t in found if not t.startswith("whether ")]


def test_what_differs_is_said_and_what_does_not_is_not():
    different = 0
    for seed in cases(6):
        names, loss = step_of(seed)
        for parts in PARTS:
            with jax.enable_x64(True):
                other = differs(loss, weights(seed), seed, parts)
            with jax.enable_x64(seed % 2 == 0):
                found = certain(said(loss, seed, parts))
            assert bool(found) == other, (seed, names, parts, found)
            different += other
    assert TIMES < 1 or 0 < different < 2 * count(6)


@pytest.mark.parametrize("layer, other", LAYERS.values(), ids=LAYERS)
def test_of_each(layer, other):
    loss = loss_of([layer], MEANS["mean"])
    with jax.enable_x64(True):
        assert differs(loss, weights(0), 0, 2) == other
    assert bool(certain(said(loss, 0, 2))) == other


@pytest.mark.parametrize("of", ["product", "some micro-batches"])
@pytest.mark.parametrize("key", [jax.random.key, jax.random.PRNGKey])
def test_random_numbers_are_the_same_for_a_try(of, key):
    """All workers draw the same numbers, and one device others for all samples: that is no difference (docs/python.md, "Randomness")."""
    layer, other = LAYERS[of]

    @jax.jit
    def loss(w, key, x, ids, y):
        one, two = jax.random.split(key)
        h = jnp.where(jax.random.bernoulli(one, 0.8, x.shape), jnp.tanh(x @ w), 0) + 0.1 * jax.random.normal(jax.random.fold_in(two, 3), x.shape)
        return (layer(h, ids) * y[:, None]).mean()
    assert bool(verdict(loss, (weights(0), key(0), *data(np.random.default_rng(0), L)), 2, True)) == other


def test_hosts_are_not_called_for_a_try():
    called = []

    def layer(h, ids):
        jax.debug.callback(lambda: called.append(1))
        return LAYERS["some micro-batches"][0](h, ids)
    assert verdict(loss_of([layer], MEANS["mean"]), (weights(0), *data(np.random.default_rng(0), L)), 2) == []
    jax.effects_barrier()
    assert not called


def warned(step, *arguments, **more):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        commsched.transpile(step, *arguments, batch=(len(arguments) - 1,), cluster=2, **more)
    return [str(w.message) for w in caught if issubclass(w.category, commsched.MixedSamples)]


OPTIMIZERS = {"sgd": optax.sgd(0.1, 0.9), "adamw": optax.adamw(1e-3), "adafactor": optax.chain(optax.clip_by_global_norm(1.0), optax.adafactor(1e-2))}


@pytest.mark.parametrize("of, other", [("product", False), ("running product", True)])
@pytest.mark.parametrize("dtype, optimizer", [*((jnp.float32, o) for o in OPTIMIZERS), (jnp.bfloat16, "adamw"), (jnp.float16, "sgd")])
def test_steps_with_an_optimizer(dtype, optimizer, of, other):
    """A running mean of a feature beside it, which is no gradient."""
    layer, optimizer = LAYERS[of][0], OPTIMIZERS.get(optimizer, optimizer)

    def step(params, state, running, x):
        def loss(p):
            h = (x.astype(dtype) @ p["w"].astype(dtype)).astype(jnp.float32)
            return (layer(h, None) @ p["v"]).mean(), jnp.sqrt(jnp.var(h, 0))
        (value, spread), g = jax.value_and_grad(loss, has_aux=True)(params)
        updates, state = optimizer.update(g, state, params)
        return optax.apply_updates(params, updates), state, 0.9 * running + 0.1 * spread, {"loss": value}
    rng = np.random.default_rng(3)
    params = {n: jnp.asarray(rng.normal(size=(D, D)), jnp.float32) for n in "wv"}
    found = warned(step, params, optimizer.init(params), jnp.ones(D), jnp.asarray(rng.normal(size=(8, D)), jnp.float32))
    assert any("gradients are not a mean" in t for t in found) == other, found


def test_metrics_are_tried():
    def step(w, x):
        value, g = jax.value_and_grad(lambda w: jnp.tanh(x @ w).mean())(w)
        return w - 0.1 * g, {"loss": value, "scaled": jnp.linalg.norm(g) * LAYERS["exponential"][0](x, None).mean(), "some": LAYERS["some micro-batches"][0](x, None).mean(), "own": LAYERS["product"][0](x, None).mean()}
    found = warned(step, jnp.ones((D, D)), jnp.ones((8, D)))
    assert len(found) == 1 and found[0].startswith("the metric 'some' is not a mean over the samples of the batch: tried with drawn numbers, the mean of those "
                                                   "of parts is another one. The mean of those of 2 parts is reported"), found


def test_gradients_that_are_rounded_only():
    """As that of a bias before a norm, which is nothing but rounding: here as little, and surely another one, as how a machine rounds is its own."""
    little = LAYERS["product of all"][0]

    def step(params, x):
        def loss(p):
            h = x @ p["w"]
            return LAYERS["product"][0](h, None).mean() + 1e-6 * little(p["b"] * x, None).mean()
        value, g = jax.value_and_grad(loss)(params)
        return {n: params[n] - 0.1 * g[n] for n in params}, value
    found = warned(step, {"w": jnp.ones((D, D)), "b": jnp.ones(())}, jnp.ones((8, D)))
    assert not any("gradients are not a mean" in t for t in found), found


def test_what_is_too_large_is_not_tried(monkeypatch):
    monkeypatch.setattr(trial, "LARGEST", D * D + 2 * L * D)
    assert not said(loss_of([LAYERS["some micro-batches"][0]], MEANS["mean"]), 0, 2)
    monkeypatch.setattr(trial, "LARGEST", D * D + 2 * (L * D + 2 * L))
    assert said(loss_of([LAYERS["some micro-batches"][0]], MEANS["mean"]), 0, 2)


# What a fault is planted in, and a test that finds it.
FAULTS = {
    "all is alike": (("_differs", lambda *a: False), test_of_each, LAYERS["some micro-batches"]),
    "nothing is alike": (("_exact", lambda traces: -1.0), test_of_each, LAYERS["product"]),
    "random numbers are drawn": (("_for_a_try", lambda jaxpr: jaxpr), test_random_numbers_are_the_same_for_a_try, ("product", jax.random.key)),
    "hosts are called": (("_NOT_TRIED", ()), test_hosts_are_not_called_for_a_try, ()),
    "halves are as exact": (("_exact", lambda traces: 1e-5), test_steps_with_an_optimizer, (jnp.bfloat16, "adamw", "product", False)),
    "gradients are not averaged": (("_evaluated", lambda t, of, average, f=trial._evaluated: f(t, of, None)), test_metrics_are_tried, ()),
    "what is small is as exact": (("_differs", lambda parts, whole, exact, scale=0.0, f=trial._differs: f(parts, whole, exact)), test_gradients_that_are_rounded_only, ()),
}


@pytest.mark.parametrize("fault, test, arguments", FAULTS.values(), ids=FAULTS)
def test_planted_faults_are_found(monkeypatch, fault, test, arguments):
    monkeypatch.setattr(trial, *fault)
    with pytest.raises((AssertionError, pytest.fail.Exception, jax.errors.JaxRuntimeError)):
        test(*arguments)
