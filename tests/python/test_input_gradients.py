# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Steps that take gradients of samples, or of noise, beside those of parameters, as adversarial training does: what is said of them is what their numbers do. The
reference is JAX alone: the gradient of the whole batch, and of its two parts."""

import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from cases import FIRST, count

import commsched
from commsched.frontend import doubling, marks, means, trial

N, D = 8, 3


def per_sample(w, x, y):
    return (jnp.tanh(x @ w["a"]) @ w["b"] - y) ** 2


def of_samples(w, x, y, reduce=jnp.mean):
    return jax.grad(lambda x: reduce(per_sample(w, x, y)))(x)


def of_noise(w, x, y, begin):
    return jax.grad(lambda d: per_sample(w, x + d, y).mean())(begin)


def normed(g):
    return g / jnp.sqrt((g ** 2).sum(1, keepdims=True))


def by_norm(w, x, y, scale=1.0, by=lambda g, norm: g / (norm + 1e-12)):
    """As virtual adversarial training has it, with something against a division by zero."""
    g = of_noise(w, x, y, jnp.full_like(x, 0.01)) * scale
    return x + 0.1 * by(g, jnp.sqrt((g ** 2).sum(1, keepdims=True)))


def several(w, x, y, change, loop):
    def one(_, x):
        return jnp.clip(x + 0.1 * change(of_samples(w, x, y)), -2, 2)
    if loop:
        return jax.lax.fori_loop(0, 3, one, x)
    return one(2, one(1, one(0, x)))


# (what the samples become, whether it is other for those of a part).
CHANGES = {
    "signs": (lambda w, x, y: x + 0.1 * jnp.sign(of_samples(w, x, y)), False), "normed": (lambda w, x, y: x + 0.1 * normed(of_samples(w, x, y)), False),
    "times the number": (lambda w, x, y: x + 0.1 * len(x) * of_samples(w, x, y), False), "of a sum": (lambda w, x, y: x + 0.1 * of_samples(w, x, y, jnp.sum), False),
    "several signs": (lambda w, x, y: several(w, x, y, jnp.sign, False), False), "several in a loop": (lambda w, x, y: several(w, x, y, normed, True), False),
    "of noise": (lambda w, x, y: x + 0.1 * jnp.sign(of_noise(w, x, y, jnp.full_like(x, 0.01))), False), "jitted": (lambda w, x, y: x + 0.1 * jnp.sign(jax.jit(of_samples)(w, x, y)), False),
    "one by one": (lambda w, x, y: x + 0.1 * jax.vmap(jax.grad(lambda x, y: per_sample(w, x[None], y[None])[0]))(x, y), False),
    "by a norm": (by_norm, False), "by at least": (lambda w, x, y: by_norm(w, x, y, by=lambda g, norm: g / jnp.maximum(norm, 1e-12)), False),
    "by a small norm": (lambda w, x, y: by_norm(w, x, y, 1e-12), True), "by a norm and one": (lambda w, x, y: by_norm(w, x, y, by=lambda g, norm: g / (norm + 1)), True),
    "of the mean": (lambda w, x, y: x + 2 * of_samples(w, x, y), True), "over the largest": (lambda w, x, y: x + 0.1 * (g := of_samples(w, x, y)) / jnp.abs(g).max(), True),
    "several of the mean": (lambda w, x, y: several(w, x, y, lambda g: 9 * g, False), True), "noise of the mean": (lambda w, x, y: x + 2 * of_noise(w, x, y, jnp.full_like(x, 0.01)), True),
}
# (the loss, the same).
LOSSES = {
    "mean": (lambda w, x, y: per_sample(w, x, y).mean(), False), "penalty of each": (lambda w, x, y: per_sample(w, x, y).mean() + ((len(x) * of_samples(w, x, y)) ** 2).sum(1).mean(), False),
    "root of the mean": (lambda w, x, y: jnp.sqrt(per_sample(w, x, y).mean()), True), "penalty of the mean": (lambda w, x, y: per_sample(w, x, y).mean() + (of_samples(w, x, y) ** 2).sum(), True),
}


def gradient(change, loss, w, x, y):
    return jax.value_and_grad(loss)(w, jax.lax.stop_gradient(change(w, x, y)), y)


def example(seed):
    rng = np.random.default_rng([FIRST, seed])
    # "a" has the shape of the samples of a part: it is still another value.
    shapes = {"a": (D, 4), "b": (4,), "c": (N // 2, D)}
    return {n: rng.normal(size=s).astype(np.float32) for n, s in shapes.items()}, rng.normal(size=(N, D)).astype(np.float32), rng.normal(size=N).astype(np.float32)


def differs(change, loss, w, x, y):
    of = jax.jit(lambda x, y: gradient(change, loss, w, x, y))
    parts, whole = [of(*part) for part in zip(np.split(x, 2), np.split(y, 2))], of(x, y)
    return any(not np.allclose((a + b) / 2, c, rtol=1e-3, atol=1e-5) for a, b, c in zip(*map(jax.tree.leaves, (*parts, whole))))


def said(change, loss, w, x, y):
    def step(w, x, y):
        value, g = gradient(change, loss, w, x, y)
        return jax.tree.map(lambda a, b: a - 0.1 * b, w, g), value
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", commsched.MixedSamples)
        try:
            assert commsched.transpile(step, w, x, y, batch=(1, 2), cluster=2).mlir().count("cs.gradient") == 3
        except commsched.FrontEndError as error:
            return ["refused: " + str(error)]
    return [str(c.message) for c in caught if issubclass(c.category, commsched.MixedSamples)]


def check(change, loss, seed):
    (change, one), (loss, two), values = CHANGES[change], LOSSES[loss], example(seed)
    assert differs(change, loss, *values) == (one or two)
    found = said(change, loss, *values)
    assert bool(found) == (one or two), found


@pytest.mark.parametrize("change", CHANGES)
def test_of_each_change(change):
    check(change, "mean", 0)


def test_what_is_against_zero_is_found(monkeypatch):
    monkeypatch.setattr(doubling, "_AGAINST_ZERO", 0.0)
    with pytest.raises(AssertionError):
        check("by a norm", "mean", 0)
    monkeypatch.setattr(doubling, "_AGAINST_ZERO", 10.0)
    monkeypatch.setattr(trial, "differing", lambda *a: None)
    with pytest.raises(AssertionError):
        check("by a small norm", "mean", 0)


@pytest.mark.parametrize("loss", LOSSES)
def test_of_each_loss(loss):
    check("signs", loss, 0)


def test_drawn_steps():
    rng = np.random.default_rng([FIRST, 5])
    for seed in range(count(4)):
        check(str(rng.choice(list(CHANGES))), str(rng.choice(list(LOSSES))), seed)


@pytest.mark.parametrize("fault, change, loss", [((means, "without_others", lambda trace, batch: trace), "signs", "mean"), ((means, "without_others", lambda trace, batch: trace), "of noise", "mean"),
                                                 ((marks, "gradient_p", None), "signs", "mean")], ids=str)
def test_a_planted_fault_is_found(monkeypatch, fault, change, loss):
    monkeypatch.setattr(*fault)
    with pytest.raises(AssertionError):
        check(change, loss, 0)
