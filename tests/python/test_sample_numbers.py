# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a step makes of the number of samples that it is given, and of no sample: in its state, of gradients, in its loss. Each part of a batch has fewer, so what
depends on that is refused or warned of, and what does not is not. The reference is JAX alone, with many values of what else the step is given."""

import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from cases import FIRST, TIMES, count

import commsched
from commsched.frontend import doubling, means, mixing_rules, places, trial

N, PARTS = 8, 2
VALUES = (0.003, 0.006, 0.05, 0.08, 0.1, 0.2, 0.3, 1.0, 2.0, 3.0, 5.0, 6.0, 11.0, 40.0)

# Of the number of samples n.
TERMS = {
    "itself": lambda n: n, "root": np.sqrt, "logarithm": lambda n: jnp.log(jnp.float32(n)), "share": lambda n: n / 64, "less one": lambda n: n - 1, "its inverse": lambda n: 1 / n,
    "a loop": lambda n: jax.lax.fori_loop(0, n, lambda i, c: c * 1.1, 1.0), "of ones": lambda n: jnp.ones(n).sum(), "the last": lambda n: jnp.arange(n).max(),
}
# And of another value s, with such a term t.
WAYS = {
    "added": lambda s, t, n: s + t, "times": lambda s, t, n: s * t / 8, "largest": lambda s, t, n: jnp.maximum(s, t), "smallest": lambda s, t, n: jnp.minimum(s, t),
    "clipped": lambda s, t, n: jnp.clip(s, 0.1 * t, t), "share": lambda s, t, n: s / (s + t), "bent": lambda s, t, n: jnp.tanh(t * s / 9), "decayed": lambda s, t, n: s * 0.9 ** t,
    "remainder": lambda s, t, n: jnp.mod(s, t), "until": lambda s, t, n: jnp.where(s < t, s + 1, s), "from there on": lambda s, t, n: jnp.where(30 * s > t, s, 2 * s),
    "chosen": lambda s, t, n: jax.lax.cond(30 * s > t, lambda: s, lambda: 2 * s), "how often": lambda s, t, n: jnp.floor_divide(30 * s, t), "floored": lambda s, t, n: jnp.floor(s * t / 100),
    "cast": lambda s, t, n: s + jnp.int32(5 * s * t), "more than": lambda s, t, n: jnp.maximum(30 * s - t, 0), "below": lambda s, t, n: jnp.where(30 * s - t < 0, s, 2 * s),
    "either side": lambda s, t, n: s + jnp.sign(30 * s - t), "epochs": lambda s, t, n: s + jnp.int32(100 * s) * n // 37,
    "epochs in a loop": lambda s, t, n: s + jax.lax.fori_loop(0, jnp.int32(100 * s) * n // 37, lambda i, c: c * 0.9, 1.0),
    "behind a loop": lambda s, t, n: jnp.where(jax.lax.fori_loop(0, n, lambda i, c: c * 1.1, 0.04 * s) > 3, s, 2 * s),
}
NOTHING = {
    "step": lambda s, t, n: s + 1, "falls away": lambda s, t, n: jnp.sin(s * t / t), "soft largest": lambda s, t, n: jax.nn.logsumexp(jnp.full(n, s)) - jnp.log(jnp.float32(n)),
    "a mean": lambda s, t, n: jnp.tanh(jnp.full(n, s)).mean(), "constant": lambda s, t, n: jnp.minimum(s, 8), "largest of ones": lambda s, t, n: s * jnp.ones(n).max(),
    "one by one": lambda s, t, n: jax.lax.while_loop(lambda c: c[0] < n, lambda c: (c[0] + 1, jnp.abs(c[1])), (0, s))[1],
}
# Other only for some values: found where what decides is a multiple of the number of samples, or where it is tried with them, which is about that number.
DECIDED = ("largest", "smallest", "clipped", "until", "from there on", "chosen", "how often", "floored", "cast", "more than", "below", "either side", "epochs")
PLACES = {"state": [*WAYS, *NOTHING], "count": ["added", "largest", "smallest", "remainder", "until", "epochs", "step", "constant"],
          "rate": ["added", "times", "smallest", "from there on", "remainder", "how often", "epochs", "below", "behind a loop", "epochs in a loop", "share", "bent", *NOTHING], "of gradients": ["clipped", "bent", "decayed", "share", "falls away", "constant"],
          "loss": ["added", "times", "share", "bent", "decayed", "remainder", *DECIDED, *NOTHING]}


def may_be_said(place, way):
    """Of what is the same again when it has been rounded."""
    return place == "count" and way in (*DECIDED, "remainder")


def update(place, way, term):
    """(what a step makes of parameters, state, gradients, and a number of samples; the weight of its loss)."""
    def of(s, n):
        return {**WAYS, **NOTHING}[way](s, TERMS[term](n), n)

    def made(w, s, g, n):
        if place == "state":
            return w - 0.1 * g, of(s, n)
        if place == "count":
            return w - 0.1 * g, of(s, n).astype(jnp.int32)
        if place == "rate":
            return w - 0.1 * g * of(s, n), s
        return w - (of(g, n) if place == "of gradients" else 0.1 * g), s
    return made, (lambda s, n: 1.0 + of(s, n)) if place == "loss" else lambda s, n: 1.0


def step_of(place, way, term):
    made, weight = update(place, way, term)

    def gradient(w, s, x, y):
        return jax.value_and_grad(lambda w: ((x @ w - y) ** 2).mean() * weight(s, len(x)))(w)

    def step(w, s, x, y):
        loss, g = gradient(w, s, x, y)
        return *made(w, s, g, len(x)), ((x @ w - y) ** 2).mean()
    return step, made, lambda *a: gradient(*a)[1]


def example(place, value):
    rng = np.random.default_rng(3)
    return (jnp.asarray(rng.normal(size=3), jnp.float32), jnp.int32(value) if place == "count" else jnp.float32(value), rng.normal(size=(N, 3)).astype(np.float32),
            rng.normal(size=N).astype(np.float32))


def differs(place, way, term):
    """Whether averaged gradients of parts, and what is made of them with their number of samples, are others than of the whole batch, for some value."""
    _, made, gradient = step_of(place, way, term)

    def other(value):
        w, s, x, y = example(place, value)
        parts = [gradient(w, s, *part) for part in zip(np.split(x, PARTS), np.split(y, PARTS))]
        pairs = zip(made(w, s, sum(parts) / PARTS, N // PARTS), made(w, s, gradient(w, s, x, y), N))
        return any(not np.allclose(a, b, rtol=1e-4, atol=1e-5) for a, b in pairs)
    return any(map(other, VALUES))


def said(place, way, term):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", commsched.MixedSamples)
        try:
            commsched.transpile(step_of(place, way, term)[0], *example(place, 1.0), batch=(2, 3), cluster=PARTS)
        except commsched.FrontEndError as error:
            assert len(str(error).splitlines()) == 1
            return ["refused: " + str(error)]
    return [str(c.message) for c in caught if issubclass(c.category, commsched.MixedSamples)]


def check(place, way, term):
    other, found = differs(place, way, term), said(place, way, term)
    assert bool(found) == other or not other and may_be_said(place, way), (place, way, term, found)
    assert all("samples" in text for text in found)
    return other


@pytest.mark.parametrize("place", PLACES)
def test_drawn_steps(place):
    rng, others = np.random.default_rng([FIRST, len(place)]), 0
    for _ in range(count(12)):
        others += check(place, str(rng.choice(PLACES[place])), str(rng.choice(list(TERMS))))
    assert TIMES < 1 or others


@pytest.mark.parametrize("place, way", [(p, w) for p in PLACES for w in PLACES[p]])
def test_of_each_way(place, way):
    assert check(place, way, "itself") == (way in WAYS)


@pytest.mark.parametrize("term", TERMS)
def test_of_each_term(term):
    assert check("state", "added", term) and check("state", "bent", term)


def test_what_is_said():
    found = said("state", "largest", "itself")
    assert len(found) == 1 and found[0].startswith("the new value of 's' is not a mean over the samples of the batch: tried with drawn numbers, it is another one with twice as many "
                                                   "samples. The mean of those of 2 parts is kept"), found
    found = said("loss", "from there on", "itself")
    assert "test_sample_numbers.py:" in found[0] and ("the gradients are not for all data a mean over the samples of the batch: what 'gt' makes is decided by the number of samples, and each of 2 "
                                                      "parts of the batch, which has fewer, may decide otherwise for some values. Where one does, the parameters will not be") in found[0], found
    found = said("rate", "times", "root")
    assert found[0].startswith("refused: the new value of 'w' must not depend on how many samples the step is given, got: one that is other when every sample is there twice"), found


def test_a_metric():
    def step(w, x, y):
        loss, g = jax.value_and_grad(lambda w: ((x @ w - y) ** 2).mean())(w)
        return w - 0.1 * g, {"loss": loss, "scale": jnp.minimum(w[0] ** 2, len(x) / 1000), "same": jnp.minimum(w[0], 1.0), "log": jnp.log(len(x) * w[0] ** 2)}
    with pytest.warns(commsched.MixedSamples) as caught:
        commsched.transpile(step, *[a for i, a in enumerate(example("state", 1.0)) if i != 1], batch=(1, 2), cluster=2)
    texts = sorted(str(c.message) for c in caught if issubclass(c.category, commsched.MixedSamples))
    assert [t[:18] for t in texts] == ["the metric 'log' i", "the metric 'scale'"], texts


def test_gradients_are_one_and_the_same_for_a_try():
    """A gradient that is nothing but rounding, of which Adam makes a step as large as any."""
    import optax
    adam = optax.adam(1e-2)

    def step(w, state, s, x, y):
        def loss(w):
            h = x + w[0]
            return (h - h.mean(1, keepdims=True)).mean() + ((x @ w - y) ** 2).mean() * 0
        value, g = jax.value_and_grad(loss)(w)
        updates, state = adam.update(g, state, w)
        return optax.apply_updates(w, updates), state, jnp.maximum(s, len(x)), value
    w, s, x, y = example("state", 1.0)
    with pytest.warns(commsched.MixedSamples) as caught:
        commsched.transpile(step, w, adam.init(w), s, x, y, batch=(3, 4), cluster=2)
    assert ["the new value of 's' is" in str(c.message) for c in caught] == [True]


# Of a count c without a sign and the shape of the samples, as running statistics of Brax have it.
COUNTED = {"added": lambda c, s: c + jnp.prod(jnp.asarray(s[:1])).astype(c.dtype), "added by bits": lambda c, s: (c + jnp.prod(jnp.asarray(s[:1])).astype(c.dtype)) ^ 3,
           "features": lambda c, s: c + jnp.prod(jnp.asarray(s[1:])).astype(c.dtype), "steps": lambda c, s: c + 1}


@pytest.mark.parametrize("how", COUNTED)
@pytest.mark.parametrize("key", [jax.random.PRNGKey(0), jax.random.key(1)], ids=["raw", "typed"])
def test_counts_without_a_sign(how, key):
    def step(w, count, key, x, y):
        loss, g = jax.value_and_grad(lambda w: ((x @ w - y) ** 2).mean())(w)
        return w - 0.1 * g, COUNTED[how](count, x.shape), jax.random.split(key)[0], loss
    w, _, x, y = example("state", 1.0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", commsched.MixedSamples)
        try:
            commsched.transpile(step, w, np.uint32(5), key, x, y, batch=(3, 4), cluster=2)
            found = [str(c.message) for c in caught if issubclass(c.category, commsched.MixedSamples)]
        except commsched.FrontEndError as error:
            found = [str(error)]
    assert len(found) == (how.startswith("added")) and all("the new value of 'count'" in text for text in found), found


def test_faults_planted_in_counts_are_found(monkeypatch):
    monkeypatch.setattr(trial, "_other_numbers", lambda one, two: False)
    with pytest.raises(AssertionError):
        test_counts_without_a_sign("added by bits", jax.random.key(1))


# What a fault is planted in, and a case that finds it.
FAULTS = {
    "numbers are not tried": ((trial, "by_number", lambda *a: []), "state", "share"),
    "numbers decide nothing": ((mixing_rules, "_limit", lambda *a: False), "loss", "from there on"),
    "numbers of turns decide": ((doubling, "LIMIT", "nothing"), "state", "one by one"),
    "only halves and doubles count": ((means, "_by_number", lambda value: None), "rate", "added", "root"),
    "what is added up is known": ((means, "_not_known", lambda value: value.kind is None), "loss", "bent"),
    "scalars are small": ((trial, "SIZES", ()), "state", "behind a loop"), "loops have no numbers": ((places, "_LOOPS", ()), "loss", "from there on", "a loop"),
    "nothing is rounded": ((mixing_rules, "_STEPS", ()), "loss", "floored"), "what is taken off decides nothing": ((mixing_rules, "Other", ()), "loss", "below"),
    "all differs": ((trial, "_differs", lambda *a: True), "state", "soft largest"),
    "nothing is known of loops": ((doubling, "_of_number", lambda *a: [doubling.Value(None, None)] * len(a[0].outvars)), "rate", "epochs in a loop"),
}


@pytest.mark.parametrize("fault, place, way, term", [(*f, "itself")[:4] for f in FAULTS.values()], ids=FAULTS)
def test_planted_faults_are_found(monkeypatch, fault, place, way, term):
    monkeypatch.setattr(*fault)
    if fault[1] == "_of_number":  # what is not known is tried
        monkeypatch.setattr(trial, "differing", lambda *a: None)
    with pytest.raises(AssertionError):
        check(place, way, term)
