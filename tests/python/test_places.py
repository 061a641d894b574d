# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Steps in which samples count by their places in the batch warn, and so do rules of custom_vjp that are not linear; whatever is claimed of a drawn step for
that is what its numbers do (test_mixed_samples.py)."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from cases import TIMES, cases, count

from commsched.frontend import doubling, means, mixing_rules, places
from commsched.frontend import kinds as kinds_of_values
from test_mixed_samples import MEAN_OF_PARTS, claims, means_of_parts, other
from test_sums_of_losses import C, D, L, PARAMS, draw, per_sample

TABLE = np.random.default_rng(7).normal(size=64)


def weights(n):
    """Of places: those that do not come again with every part of 6, and those that do."""
    row = jnp.arange(n)
    return {
        "number": lambda: row, "of a line": lambda: jnp.linspace(0, 1, n), "of a constant": lambda: jnp.asarray(TABLE)[:n], "of numpy": lambda: np.hanning(n),
        "decayed": lambda: 0.9 ** row, "the first": lambda: row == 0, "the last": lambda: row == n - 1, "all but the first": lambda: (row > 0) * 2,
        "one-hot": lambda: jax.nn.one_hot(row, 3)[:, 1], "by their sum": lambda: n * row / row.sum(), "running": lambda: jnp.cumsum(jnp.ones(n)),
    }, {
        "every other": lambda: row % 2, "every third": lambda: jnp.where(row % 3 == 1, 2.0, 0.5), "ones": lambda: jnp.ones(n), "all": lambda: row >= 0,
        "signs": lambda: 1.5 + (-1.0) ** row, "of a wave": lambda: 1.5 + jnp.sin(np.pi / 3 * row),
        "repeated": lambda: jnp.tile(jnp.array([1.0, 4.0]), n // 2),
    }


OTHER, AGAIN = (list(w) for w in weights(L))


def weighted(name):
    return lambda per, out, ids: (per * {k: v for of in weights(len(per)) for k, v in of.items()}[name]()).mean()


@jax.custom_vjp
def clipped(x):
    return x


clipped.defvjp(lambda x: (x, None), lambda _, g: (jnp.clip(g, -0.02, 0.02),))


@jax.custom_vjp
def by_norm(x):
    return x


by_norm.defvjp(lambda x: (x, None), lambda _, g: (g / jnp.maximum(1.0, 20 * jnp.linalg.norm(g, axis=1, keepdims=True)),))


@jax.custom_vjp
def bent(x):
    return x


bent.defvjp(lambda x: (x, None), lambda _, g: (jnp.tanh(30 * g),))


@jax.custom_vjp
def signed(x):
    return x


signed.defvjp(lambda x: (x, None), lambda _, g: (jnp.sign(g),))


@jax.custom_vjp
def reversed_gradient(x):
    return x


reversed_gradient.defvjp(lambda x: (x, None), lambda _, g: (-0.5 * g,))


@jax.custom_vjp
def straight(x):
    return jnp.round(x)


straight.defvjp(lambda x: (jnp.round(x), x), lambda x, g: (jnp.where(abs(x) < 1, g, 0),))


@jax.custom_vjp
def shared(x):
    return x


shared.defvjp(lambda x: (x, x), lambda x, g: (g * x.mean(0),))


@jax.custom_jvp
def swish(x):
    return x * jax.nn.sigmoid(x)


swish.defjvp(lambda p, t: (swish(p[0]), t[0] * jax.nn.sigmoid(p[0])))

# Of the losses of samples, of the model's outputs (n, C), and of whole numbers of the batch.
BY_PLACE = {
    **{f"weights, {name}": weighted(name) for name in OTHER},
    "the loss of the first": lambda per, out, ids: per[0],
    "the loss of the last": lambda per, out, ids: per[-1],
    "some": lambda per, out, ids: per[:4].mean(),
    "all but some": lambda per, out, ids: per[2:].mean(),
    "half": lambda per, out, ids: per[:len(per) // 2].mean(),
    "outputs of the first": lambda per, out, ids: (out[0] ** 2).sum(),
    "outputs of some": lambda per, out, ids: jnp.tanh(out[:4]).mean(),
    "taken": lambda per, out, ids: jnp.take(out, jnp.array([0, 2]), 0).mean() ** 2,
    "sliced by numbers": lambda per, out, ids: jax.lax.dynamic_slice_in_dim(out, 1, 2).sum() ** 2,
    "neighbours": lambda per, out, ids: (per * jnp.roll(per, 1)).mean(),
    "differences of neighbours": lambda per, out, ids: (jnp.diff(out, axis=0) ** 2).mean(),
    "minus the first": lambda per, out, ids: jnp.abs(out - out[:1]).mean(),
    "halves beside each other": lambda per, out, ids: jax.nn.softplus(per[:len(per) // 2] - per[len(per) // 2:]).mean(),
    "split halves": lambda per, out, ids: (jnp.split(out, 2)[0] * jnp.split(out, 2)[1]).mean(),
    "cumulated": lambda per, out, ids: jnp.cumsum(per).mean(),
    "sorted, by place": lambda per, out, ids: (jnp.sort(per) * jnp.arange(len(per))).mean(),
    "changed at a place": lambda per, out, ids: per.at[0].multiply(2).mean(),
    "one-hot of places beside outputs": lambda per, out, ids: ((out * jax.nn.one_hot(jnp.arange(len(per)), C)).sum(1) ** 2).mean(),
    "labels by place": lambda per, out, ids: per_sample("entropy", out, jnp.minimum(jnp.arange(len(per)) // 2, C - 1)).mean(),
    "columns by place": lambda per, out, ids: out[jnp.arange(len(per)), jnp.minimum(jnp.arange(len(per)), C - 1)].mean(),
    "each its own column by place": lambda per, out, ids: (out[jnp.arange(len(per)), jnp.minimum(jnp.arange(len(per)), C - 1)] ** 2).mean(),
    "chosen by place": lambda per, out, ids: jnp.where(jnp.arange(len(per)) < 3, per, per ** 2).mean(),
}
NOT_LINEAR = {
    "clipped": lambda per, out, ids: (clipped(out) ** 2).sum(1).mean(),
    "clipped losses": lambda per, out, ids: clipped(per).mean(),
    "by their norms": lambda per, out, ids: (by_norm(out) ** 2).sum(1).mean(),
    "bent": lambda per, out, ids: (bent(out) ** 2).sum(1).mean(),
    "signs": lambda per, out, ids: (signed(out) ** 2).sum(1).mean(),
    "shared": lambda per, out, ids: (shared(out) ** 2).sum(1).mean(),
}
MEANS = {
    **{f"weights, {name}": weighted(name) for name in AGAIN},
    "in another order": lambda per, out, ids: jnp.tanh(out[::-1]).mean(),
    "rolled": lambda per, out, ids: jnp.tanh(jnp.roll(out, 1, 0)).mean(),
    "every other": lambda per, out, ids: (out[::2] ** 2).mean(),
    "pairs of neighbours": lambda per, out, ids: jax.nn.softplus(per[::2] - per[1::2]).mean(),
    "pairs in a dimension": lambda per, out, ids: jax.nn.softplus(-jnp.diff(per.reshape(-1, 2), axis=1)).mean(),
    "halves one after the other": lambda per, out, ids: sum(jnp.tanh(o).mean() for o in jnp.split(out, 2)) / 2,
    "each its own": lambda per, out, ids: out[jnp.arange(len(per)), ids % C].mean(),
    "set for each": lambda per, out, ids: out.at[jnp.arange(len(per)), ids % C].set(0.5).mean(),
    "places in a sample": lambda per, out, ids: ((out + jnp.arange(C)) ** 2).mean(),
    "causal": lambda per, out, ids: jax.nn.softmax(jnp.where(jnp.tril(jnp.ones((C, C))), out[:, :, None] * out[:, None, :], -1e9)).max(2).mean(),
    "a table of places": lambda per, out, ids: (out * TABLE[:C] + out[:, :1]).mean(),
    "first of each": lambda per, out, ids: (out[:, 0] ** 2).mean() + jnp.roll(out, 1, 1)[:, :2].mean(),
    "a cumulated mask": lambda per, out, ids: (out * jnp.cumsum(out > 0, axis=1)).mean(),
    "reversed gradients": lambda per, out, ids: (reversed_gradient(out) ** 2).mean(),
    "straight through": lambda per, out, ids: (straight(out) * out).mean(),
    "a rule of custom_jvp": lambda per, out, ids: swish(out).mean(),
    "rounded": lambda per, out, ids: (out + jax.lax.stop_gradient(jnp.round(out) - out)).mean(),
}


def loss_of(reduce):
    return lambda p, x, ids, labels: reduce(per_sample("squares", h := jnp.tanh(x @ p["w"]) @ p["o"], labels), h, ids)


def found_of(reduce):
    _, _, (params, *batch) = draw(0)
    return claims(loss_of(reduce), params, batch)


def warns(value):
    return means._mixed(value) is not None or isinstance(value.factor, float) and value.factor not in (0.0, 1.0)


@pytest.mark.parametrize("reduce", [*BY_PLACE.values(), *NOT_LINEAR.values()], ids=[*BY_PLACE, *NOT_LINEAR])
def test_what_is_no_mean_warns_or_is_refused(reduce):
    assert any(map(warns, found_of(reduce)))


@pytest.mark.parametrize("reduce", MEANS.values(), ids=MEANS)
def test_means_do_not(reduce):
    assert not any(map(warns, found_of(reduce)))


TABLES = [(BY_PLACE, False), (NOT_LINEAR, False), (MEANS, True)]


@pytest.mark.parametrize("reduce, mean", [(r, mean) for of, mean in TABLES for r in of.values()], ids=[n for of, _ in TABLES for n in of])
def test_these_are_what_they_are_called(reduce, mean):
    with jax.enable_x64(True):
        _, _, (params, *batch) = draw(0)
        assert mean == all(means_of_parts(loss_of(reduce), params, batch, other(0)))


def moved(kind, h):
    """h: (n, D); what is made of it, in which samples may be elsewhere."""
    n = len(h)
    return {
        "bent": lambda: jnp.tanh(h), "reversed": lambda: h[::-1], "rolled": lambda: jnp.roll(h, 2, 0), "beside the reversed": lambda: h * jnp.tanh(h[::-1]),
        "minus the rolled": lambda: h - jnp.roll(h, 1, 0), "every other": lambda: jnp.repeat(h[::2], 2, 0), "halves exchanged": lambda: jnp.concatenate([h[n // 2:], h[:n // 2]]),
        "pairs exchanged": lambda: h.reshape(n // 2, 2, -1)[:, ::-1].reshape(n, -1), "first repeated": lambda: jnp.broadcast_to(h[:1], h.shape) + 0 * h,
        "padded": lambda: jnp.pad(h[1:], ((0, 1), (0, 0)), constant_values=0.3), "turned": lambda: jnp.concatenate([h[:, 1:], h[:, :1]], 1),
        "split": lambda: jnp.concatenate([jnp.tanh(h[:n // 2]), h[n // 2:]]), "chosen": lambda: h[np.arange(n)[::-1]], "its own": lambda: h[jnp.arange(n)],
        "of two": lambda: jnp.concatenate([h[:2], h[2:]]), "all but two": lambda: h.at[:2].set(0.0),
    }[kind]()


MOVES = ["bent", "reversed", "rolled", "beside the reversed", "minus the rolled", "every other", "halves exchanged", "pairs exchanged", "first repeated", "padded", "turned",
         "split", "chosen", "its own", "of two", "all but two"]


def drawn(seed):
    """A loss in which samples are moved and weighted by their places."""
    rng = np.random.default_rng([seed, 40])
    kinds, by = list(rng.choice(MOVES, rng.integers(1, 4))), rng.choice([*OTHER, *AGAIN, *AGAIN])
    of = rng.choice(["entropy", "squares"])

    def loss(p, x, ids, labels):
        h = x @ p["w"]
        for kind in kinds:
            h = moved(kind, h) @ p["v"]
        return weighted(by)(per_sample(of, h @ p["o"], labels), None, None)
    params = {n: jnp.asarray(rng.normal(0, 0.7, shape)) for n, shape in PARAMS.items()}
    return [*kinds, by], loss, (params, jnp.asarray(rng.normal(size=(L, D))), jnp.asarray(rng.integers(0, 5, L)), jnp.asarray(rng.integers(0, C, L)))


def compared(seeds):
    """(claims that numbers contradict; steps that are no means and known to be none, steps that are none; steps that are claimed to be means)."""
    wrong, known, none, means = [], 0, 0, 0
    with jax.enable_x64(True):
        for seed in seeds:
            kinds, loss, (params, *batch) = drawn(seed)
            same, found = means_of_parts(loss, params, batch, other(seed)), claims(loss, params, batch)
            claimed = [v.kind in MEAN_OF_PARTS and v.factor in (0.0, 1.0) for v in found]
            wrong += [(seed, kinds, "is no mean") for is_mean, c in zip(same, claimed) if c and not is_mean]
            warned = any(map(warns, found))
            wrong += [(seed, kinds, "is a mean")] if warned and all(same) else []
            known, none, means = known + (warned and not all(same)), none + (not all(same)), means + all(claimed)
    return wrong, known, none, means


def test_what_is_claimed_is_what_numbers_do():
    wrong, known, none, means = compared(cases(12))
    assert not wrong and (TIMES < 1 or known >= 0.6 * none > count(12) / 4), (wrong, known, none, means)


FAULTS = {
    "weights are of each": ((kinds_of_values, "with_places", lambda kinds, by: "each"), ["weights, of a line", "chosen by place"]),
    "no pairs come again": ((places, "pairs_come_again", lambda a, b: False), ["every other", "pairs of neighbours"]),
    "all pairs come again": ((places, "pairs_come_again", lambda a, b: True), ["neighbours", "halves beside each other"]),
    "no weights come again": ((doubling, "comes_again", lambda one, two, axis: False), ["weights, of a wave"]),
    "all weights come again": ((doubling, "comes_again", lambda one, two, axis: True), ["weights, of a line", "the loss of the first"]),
    "all is linear": ((mixing_rules, "_other_for_more", lambda e, factors, found: False), ["clipped", "by their norms"]),
}


@pytest.mark.parametrize("fault, cases", FAULTS.values(), ids=FAULTS)
def test_planted_faults_are_found(monkeypatch, fault, cases):
    monkeypatch.setattr(*fault)
    assert any((name in MEANS) == any(map(warns, found_of({**BY_PLACE, **NOT_LINEAR, **MEANS}[name]))) for name in cases)
