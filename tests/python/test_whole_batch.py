# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a drawn step makes of a whole batch is the mean of what it makes of the parts, or it is refused or warned of; and it is not where it is. The
reference is JAX alone: gradients and loss of the whole batch, and of each of 2 and 4 parts; of permutations, their mean over all there are."""

import itertools
import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from cases import TIMES, cases, count

import commsched
from commsched.frontend import continued, doubling, loops, means, mixing_rules, orders, trial

L, D, PARTS = 4, 3, (2, 4)
OUTSIDE = jax.lax.stop_gradient


def scanned(change):
    return lambda h, ids: jax.lax.scan(change, jnp.zeros(D), h)[1]


# Of samples h (n, D) and a whole number of each. Of each its own; of several together.
OF_EACH = {
    "itself": lambda h, ids: h, "bent": lambda h, ids: jnp.tanh(h), "normed": lambda h, ids: h / jnp.sqrt(1 + (h ** 2).sum(1, keepdims=True)),
    "weighted": lambda h, ids: h * (1 + ids[:, None]), "finite": lambda h, ids: jnp.nan_to_num(h), "mapped": lambda h, ids: jax.lax.map(jnp.sin, h),
    "sorted by number": lambda h, ids: h[jnp.argsort(ids)], "largest first": lambda h, ids: h[jnp.argsort(-h[:, 0])],
    "sorted and reversed": lambda h, ids: h[jnp.argsort(ids)][::-1], "largest of all": lambda h, ids: h[jax.lax.top_k(h[:, 0], len(h))[1]],
    "reversed": lambda h, ids: h[::-1], "next": lambda h, ids: h[(jnp.arange(len(h)) + 1) % len(h)], "by a matrix": lambda h, ids: jnp.eye(len(h)) @ h,
    "micro-batches": lambda h, ids: jnp.sin(h.reshape(2, -1, D)).reshape(-1, D), "scanned": scanned(lambda c, t: (c, jnp.sin(t))),
    "at its edges": lambda h, ids: jnp.pad(h.reshape(-1, 1, D), ((0, 0), (0, 0), (1, 1)), mode="edge").reshape(-1, D + 2)[:, 2:],
    "in a loop": lambda h, ids: jax.lax.while_loop(lambda c: c[1] < 2, lambda c: (c[0], c[1] + 1), (OUTSIDE(h), 0))[0] * h,
}
TOGETHER = {
    "centred": lambda h, ids: jnp.sin(h - h.mean(0)), "standardized": lambda h, ids: jnp.tanh(jax.nn.standardize(h, axis=0)), "across": lambda h, ids: jax.nn.softmax(h @ h.T) @ h,
    "centred by a matrix": lambda h, ids: jnp.sin((jnp.eye(len(h)) - 1 / len(h)) @ h), "running matrix": lambda h, ids: jnp.sin(jnp.tril(jnp.ones((len(h), len(h)))) @ h),
    "running": lambda h, ids: jnp.sin(jnp.cumsum(h, 0)), "beside the next": lambda h, ids: h * jnp.sin(h[(jnp.arange(len(h)) + 1) % len(h)]),
    "beside the sorted": lambda h, ids: jnp.sin(h) * h[jnp.argsort(h[:, 0])], "by rank": lambda h, ids: h * jnp.argsort(jnp.argsort(h[:, 0]))[:, None] ** 2 / 9,
    "beside the largest": lambda h, ids: jnp.sin(h) * h[jax.lax.top_k(h[:, 0], len(h))[1]],
    "over a class": lambda h, ids: h / (1 + jax.ops.segment_sum(jnp.ones(len(h)), ids, 5)[ids])[:, None], "recurrent": scanned(lambda c, t: (jnp.tanh(c + t), c + t)),
    "mean so far": scanned(lambda c, t: (0.9 * c + t, jnp.sin(c) + t)), "of the largest": lambda h, ids: h / (1 + OUTSIDE(jnp.abs(h).max())),
    "of another": lambda h, ids: jnp.sin(h) * h[(ids * 7 + 1) % 4], "by pairs": lambda h, ids: jnp.tanh(h[:, None] - h[None]).sum(1) / len(h), "most of a class": lambda h, ids: h - jax.ops.segment_max(jnp.sin(h), ids, 5)[ids],
    "transformed": lambda h, ids: jnp.sin(jnp.fft.fft(h, axis=0).real),
    "until small": lambda h, ids: h * jax.lax.while_loop(lambda c: c.sum() > 0.1, lambda c: 0.5 * c, (OUTSIDE(h) ** 2)),
}
MEANS = {
    "mean": lambda per, n: per.mean(), "over the number": lambda per, n: per.sum() / n, "finite": lambda per, n: jnp.nan_to_num(per.mean()),
    "if finite": lambda per, n: jnp.where(jnp.isfinite(per.mean()), per.mean(), 0.0), "sorted": lambda per, n: jnp.sort(per).mean(),
    "by a product": lambda per, n: per @ jnp.ones(n) / n, "of micro-batches": lambda per, n: jax.lax.scan(lambda c, t: (c + t.mean() / 2, None), 0.0, per.reshape(2, -1))[0],
    "one by one": lambda per, n: jax.lax.scan(lambda c, t: (c + t, None), 0.0, per)[0] / n, "of rows in a loop": lambda per, n: jax.vmap(jnp.mean)(per.reshape(2, -1)).mean(),
    "if not infinite": lambda per, n: jnp.where(jnp.isinf(per.mean()), 0.0, per.mean()), "largest of all": lambda per, n: jax.lax.top_k(per, n)[0].mean(),
}
NO_MEANS = {
    "sum": lambda per, n: per.sum(), "over a constant": lambda per, n: per.sum() / 256, "some of a batch": lambda per, n: per[:10].mean(), "a part": lambda per, n: per[:4].sum() / min(n, 4),
    "root": lambda per, n: jnp.sqrt(1 + per.mean()), "finite root": lambda per, n: jnp.nan_to_num(jnp.sqrt(1 + per.mean())), "largest": lambda per, n: per.max(), "upper half": lambda per, n: jnp.sort(per)[n // 2:].mean(),
    "median of": lambda per, n: jnp.median(per), "by place": lambda per, n: (per * jnp.linspace(0, 1, n)).mean(), "sorted by place": lambda per, n: (jnp.sort(per) * jnp.linspace(0, 1, n)).mean(),
    "roots of micro-batches": lambda per, n: jnp.sqrt(1 + per.reshape(2, -1).mean(1)).mean(), "running": lambda per, n: jnp.cumsum(per).mean(), "soft largest": lambda per, n: jax.nn.logsumexp(per),
    "decayed": lambda per, n: jax.lax.scan(lambda c, t: (0.9 * c + t, None), 0.0, per)[0] / n, "determinant": lambda per, n: jnp.linalg.slogdet(jnp.eye(2) + per.mean())[1],
    "one micro-batch": lambda per, n: per.reshape(2, -1)[0].mean(), "the last micro-batch": lambda per, n: jnp.tanh(per).reshape(-1, 2, n // 2)[0, -1].mean(),
    "neighbours": lambda per, n: (per * jnp.roll(per, 1)).mean(), "over root": lambda per, n: per.sum() / n ** 0.5, "by pairs": lambda per, n: ((per[:, None] - per[None]) ** 2).mean(),
    "sorted, every other": lambda per, n: (jnp.sort(per) * (jnp.arange(n) % 2)).mean(), "halves together": lambda per, n: jnp.sin(per.reshape(2, -1).sum(0)).mean(),
    "at most four": lambda per, n: jax.lax.top_k(per, min(n, 4))[0].mean(), "largest by place": lambda per, n: (jax.lax.top_k(per, n)[0] * jnp.linspace(0, 1, n)).mean(),
}


# What samples decide together: other only where a part decides otherwise.
DECIDED = {
    "doubled if large": lambda per, n: jnp.where(per.mean() > 8, 2 * per.mean(), per.mean()), "clipped": lambda per, n: jnp.clip(per.mean(), 5, 9) + per.mean(),
    "of either sign": lambda per, n: jnp.abs(jnp.cos(per).mean()), "one of two": lambda per, n: jax.lax.cond(per.mean() > 8, lambda: per.mean(), lambda: jnp.sin(per).mean()),
    "at most": lambda per, n: jnp.minimum(per.mean(), 8), "if one is large": lambda per, n: jnp.where(jnp.any(per > 8), 2 * per.mean(), per.mean()),
    "if all are small": lambda per, n: jnp.where(jnp.all(per < 20), per.mean(), jnp.sin(per).mean()),
}


def halves(change, h):
    return h if len(h) == 1 else halves(change, change(h[:len(h) // 2], h[len(h) // 2:]))


# Of other operations for more samples: (layer, reduction, whether it is no mean).
OTHER_OPERATIONS = {
    "in a tree": (lambda h, ids: jnp.sin(jax.lax.associative_scan(jnp.add, h)), MEANS["mean"], True),
    "product in a tree": (lambda h, ids: jax.lax.associative_scan(jnp.multiply, 1 + h / 9), MEANS["mean"], True),
    "running product": (lambda h, ids: jnp.cumprod(1 + h / 9, 0), MEANS["mean"], True),
    "running in Python": (lambda h, ids: jnp.stack([jnp.sin(h[:i + 1].sum(0)) for i in range(len(h))]), MEANS["mean"], True),
    "one by one in Python": (lambda h, ids: jnp.stack([jnp.sin(t) for t in h]), MEANS["mean"], False),
    "sum by halves": (lambda h, ids: jnp.sin(h), lambda per, n: halves(jnp.add, per)[0] / n, False),
    "largest by halves": (lambda h, ids: jnp.sin(h), lambda per, n: halves(jnp.maximum, per)[0], True),
    "running soft largest": (lambda h, ids: jax.lax.cumlogsumexp(h, 0), MEANS["mean"], True),
}


def data(rng, n):
    return jnp.asarray(rng.normal(size=(n, D))), jnp.asarray(rng.integers(0, 5, n)), jnp.asarray(rng.normal(size=n))


def loss_of(layers, reduce):
    def loss(w, x, ids, y):
        h = x @ w + y[:, None]
        for layer in layers:
            h = layer(h, ids) @ w
        return reduce((h.sum(1) - 1) ** 2, len(y))
    return loss


def drawn(seed):
    """(names, loss): about one in two is no mean."""
    rng = np.random.default_rng([seed, 77])
    names = [*rng.choice(list(OF_EACH), 2), str(rng.choice(list(MEANS)))]
    bad = rng.random()
    if bad > 0.9:
        names[2] = str(rng.choice(list(DECIDED)))
    elif bad > 0.75:
        names[1:] = [str(rng.choice(list(OTHER_OPERATIONS)))] * 2
    elif bad < 0.35:
        names[rng.integers(2)] = str(rng.choice(list(TOGETHER)))
    elif bad < 0.6:
        names[2] = str(rng.choice(list(NO_MEANS)))
    layers, reductions = ({n: of[i] for n, of in OTHER_OPERATIONS.items()} for i in range(2))
    return names, loss_of([{**OF_EACH, **TOGETHER, **layers}[n] for n in names[:2]], {**MEANS, **NO_MEANS, **DECIDED, **reductions}[names[2]])


def weights(seed):
    return jnp.asarray(np.random.default_rng([seed, 1]).normal(0, 0.7, (D, D)))


def verdict(loss, arguments, parts, key=False):
    """What is said of a step with this loss: "refused", the texts of warnings, or nothing. arguments: parameters and a part."""
    def flat(w, *batch):
        value, g = commsched.frontend.jax_gradient.value_and_grad(loss)(w, *batch)
        return [g, value]
    specs = [jax.ShapeDtypeStruct(a.shape, a.dtype) for a in arguments]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            means.check_mean(lambda _: flat, specs, [i >= (2 if key else 1) for i in range(len(specs))], parts, False, lambda: [("gradient", "w"), ("metric", "loss")])
        except commsched.FrontEndError:
            return "refused"
    return [str(w.message) for w in caught if issubclass(w.category, commsched.MixedSamples)]


def differs(loss, w, seed, parts):
    """Whether gradient or loss of the whole are not the mean of those of the parts, for either of two batches."""
    both = jax.value_and_grad(loss)
    for i in range(2):
        whole = data(np.random.default_rng([seed, i, 2]), L * parts)
        of = [both(w, *(a[j * L:(j + 1) * L] for a in whole)) for j in range(parts)]
        for a, *b in zip(jax.tree.leaves(both(w, *whole)), *map(jax.tree.leaves, of)):
            if not np.allclose(a, sum(b) / parts, rtol=1e-7, atol=1e-9 * (1 + float(jnp.abs(a).max()))):
                return True
    return False


def said(loss, seed, parts):
    return verdict(loss, (weights(seed), *data(np.random.default_rng(0), L)), parts)


DECIDES = "is decided by several samples together"


def unchecked(found):
    return found != "refused" and any(t.startswith("whether the gradients are means over the samples of the batch could not be told") for t in found)


def compared(seeds):
    """(steps that differ and of which nothing is said, warned of for nothing or not looked at, differ at all, differ of which it is said of the gradients)."""
    silent, alarms, different, gradients = [], [], 0, 0
    with jax.enable_x64(True):
        for seed in seeds:
            names, loss = drawn(seed)
            for parts in PARTS:
                other, found = differs(loss, weights(seed), seed, parts), said(loss, seed, parts)
                silent += [(seed, names, parts)] if other and not found else []
                known = [t for t in found if not t.startswith("whether ") and DECIDES not in t]
                alarms += [(seed, names, parts, found)] if known and not other or names[2] not in OTHER_OPERATIONS and unchecked(found) else []
                different, gradients = different + other, gradients + (other and (found == "refused" or any("the gradients" in t for t in found)))
    return silent, alarms, different, gradients


def test_what_differs_is_said_and_what_does_not_is_not():
    silent, alarms, different, gradients = compared(cases(6))
    assert not silent and not alarms, (silent, alarms)
    assert TIMES < 1 or different >= count(6) // 2 and gradients >= 0.8 * different, (different, gradients)


CASES = {**{f"{n}, mean": ([f], MEANS["mean"], False) for n, f in OF_EACH.items()}, **{f"{n}, mean": ([f], MEANS["mean"], True) for n, f in TOGETHER.items()},
         **{n: ([OF_EACH["bent"]], f, False) for n, f in MEANS.items()}, **{f"no mean: {n}": ([OF_EACH["bent"]], f, True) for n, f in NO_MEANS.items()}}


@pytest.mark.parametrize("layers, reduce, other", CASES.values(), ids=CASES)
def test_of_each_alone(layers, reduce, other):
    loss = loss_of(layers, reduce)
    with jax.enable_x64(True):
        assert differs(loss, weights(0), 0, 4) == other
        assert bool(said(loss, 0, 4)) == other


@pytest.mark.parametrize("layer, reduce, other", OTHER_OPERATIONS.values(), ids=OTHER_OPERATIONS)
def test_of_other_operations(layer, reduce, other):
    """Right or wrong, it is said that nobody knows, or what it is."""
    loss = loss_of([layer], reduce)
    with jax.enable_x64(True):
        assert differs(loss, weights(0), 0, 4) == other
        found = said(loss, 0, 4)
        assert found and (other or unchecked(found)), found


@pytest.mark.parametrize("reduce", DECIDED.values(), ids=DECIDED)
def test_what_samples_decide_together(reduce):
    """It differs for some data and for others does not, and the line says so; of what differs for any beside it, it says that."""
    with jax.enable_x64(True):
        for of, text in ((reduce, DECIDES), (lambda per, n: reduce(per, n) + per.mean() ** 2, "depends on several samples together"),
                         (lambda per, n: reduce(per, n) * per.mean(), "depends on several samples together")):
            found = said(loss_of([OF_EACH["bent"]], of), 0, 4)
            assert len(found) == 1 and text in found[0] and ("not for all data a mean" in found[0]) == (text == DECIDES), found
        loss, found = loss_of([OF_EACH["bent"]], reduce), set()
        for seed in range(12):
            found.add(differs(loss, weights(seed), seed, 2))
            if len(found) == 2:
                break
        assert len(found) == 2


@pytest.mark.parametrize("taken, other", [((0,), True), ((1,), True), ((-1,), True), ((0, 1), False), ((1, 0), False), ((1, 1), True)], ids=str)
def test_micro_batches_of_the_data(taken, other):
    """Before the parameters have a part in them. All of them, one by one, are not known; some of them are."""
    def loss(w, x, ids, y):
        rows, labels = x.reshape(2, -1, D), y.reshape(2, -1)
        return sum((((rows[i] @ w).sum(1) - labels[i]) ** 2).mean() for i in taken) / len(taken)
    with jax.enable_x64(True):
        assert differs(loss, weights(0), 0, 4) == other
        assert bool(said(loss, 0, 4)) == other


def test_a_fault_planted_in_micro_batches_is_found(monkeypatch):
    monkeypatch.setattr(mixing_rules, "_one_micro_batch", lambda *a: None)
    monkeypatch.setattr(trial, "differing", lambda *a: None)
    with pytest.raises(AssertionError):
        test_micro_batches_of_the_data((0,), True)


def test_a_step_of_one_number_of_samples_is_said_to_be_unchecked():
    def step(w, x, y):
        loss, g = jax.value_and_grad(lambda w: ((x.reshape(4, 3) @ w - y) ** 2).mean())(w)
        return w - 0.1 * g, loss
    w, x, y = np.ones(3, np.float32), np.ones((8, 3), np.float32), np.zeros(8, np.float32)
    with pytest.warns(commsched.UncheckedSamples) as caught:
        commsched.transpile(step, w, x, y, batch=(1, 2), cluster=2)
    text = str(caught[0].message)
    assert len(caught) == 1 and text.startswith("whether the gradients are means over the samples of the batch could not be told of this step: it takes no "
                                                "other number of samples than that of a part (TypeError: ") and "\n" not in text, text
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", commsched.UncheckedSamples)
        commsched.transpile(step, w, x, y, batch=(1, 2), cluster=2)
        commsched.transpile(step, w, x[:4], y[:4], batch=(1, 2), cluster=1)


# Of samples in an order that is drawn: h, y in their own one, and the order.
ORDERS = {
    "shuffled": (lambda h, y, o: (jnp.sin(h[o]) * y[o, None]).mean(), False),
    "shuffled and cut": (lambda h, y, o: (jnp.sin(h[o].reshape(1, -1, D)) * y[o].reshape(1, -1, 1)).mean(), False),
    "there and back": (lambda h, y, o: (jnp.sin(h[o])[jnp.argsort(o)] * y[:, None]).mean(), False),
    "set there": (lambda h, y, o: (jnp.zeros_like(h).at[o].set(jnp.sin(h)) ** 2).mean(), False),
    "twice": (lambda h, y, o: (jnp.sin(h[o])[o] * y[o][o][:, None]).mean(), False),
    "others are added": (lambda h, y, o: (h + jnp.sin(h[o])).mean(), False),
    "labels of others": (lambda h, y, o: (jnp.sin(h) * y[o, None]).mean(), True),
    "mixed with others": (lambda h, y, o: jnp.sin(0.7 * h + 0.3 * h[o]).mean(), True),
    "mixed with others, and labels": (lambda h, y, o: ((0.7 * h + 0.3 * h[o] - 0.7 * y[:, None] - 0.3 * y[o, None]) ** 2).mean(), True),
    "minus the mean": (lambda h, y, o: jnp.sin(h[o] - h.mean(0)).mean(), True),
    "a root": (lambda h, y, o: jnp.sqrt(1 + jnp.sin(h[o]).mean()), True),
}


@pytest.mark.parametrize("of, other", ORDERS.values(), ids=ORDERS)
def test_orders_that_are_drawn(of, other):
    """Against the mean over all orders, of 3 samples and 6."""
    def expected(w, x, y):
        every = jnp.asarray(list(itertools.permutations(range(len(y)))))
        return jax.vmap(lambda o: of(jnp.tanh(x @ w), y, o))(every).mean()

    def loss(w, key, x, y):
        return of(jnp.tanh(x @ w), y, jax.random.permutation(key, len(y)))
    with jax.enable_x64(True):
        x, _, y = data(np.random.default_rng(5), 6)
        gradient, w = jax.jit(jax.grad(expected)), weights(3)
        parts = (gradient(w, x[:3], y[:3]) + gradient(w, x[3:], y[3:])) / 2
        assert other != np.allclose(parts, gradient(w, x, y), rtol=1e-9)
        assert bool(verdict(loss, (w, jax.random.key(0), x[:3], y[:3]), 2, True)) == other


def test_two_orders_are_not_one():
    def loss(w, key, x, y):
        one, two = (jax.random.permutation(k, len(y)) for k in jax.random.split(key))
        return (jnp.tanh(x @ w)[one] * y[two, None]).mean()
    x, _, y = data(np.random.default_rng(5), 3)
    assert verdict(loss, (weights(3), jax.random.key(0), x, y), 2, True)


def test_functions_beside_the_step_are_looked_at():
    def step(w, x, y):
        loss, g = jax.value_and_grad(lambda w: ((x @ w - y) ** 2).mean())(w)
        return w - 0.1 * g, loss

    def evaluate(w, x, y):
        off = (x @ w - y) ** 2
        return {"loss": off.mean(), "rms": jnp.sqrt(off.mean()), "count": (y > 0).sum().astype(jnp.float32)}
    w, x, y = np.ones(3, np.float32), np.ones((8, 3), np.float32), np.zeros(8, np.float32)
    with pytest.warns(commsched.MixedSamples) as caught:
        commsched.transpile(step, w, x, y, batch=(1, 2), cluster=4, functions={"eval": (evaluate, w, x, y)})
    texts = sorted(str(c.message) for c in caught)
    assert len(texts) == 2 and "test_whole_batch.py:" in texts[0] and "the metric 'rms' of function 'eval' is not a mean over the samples of the batch" in texts[0], texts
    assert texts[1].startswith("the metric 'count' of function 'eval' is not a mean over the samples of the batch: it is 2 times as large"), texts
    with warnings.catch_warnings():
        warnings.simplefilter("error", commsched.MixedSamples)
        commsched.transpile(step, w, x, y, batch=(1, 2), cluster=1, functions={"eval": (evaluate, w, x, y)})
        commsched.transpile(step, w, x, y, batch=(1, 2), cluster=4, functions={"eval": (lambda w, x, y: ((x @ w - y) ** 2).mean(), w, x, y)})


def test_a_slice_longer_than_a_part_is_seen_where_the_step_was_traced_before():
    """With the whole batch, without marks."""
    @jax.jit
    def gradient(w, x, y):
        return jax.grad(lambda w: ((x @ w - y) ** 2)[:5].mean())(w)
    w, x, y = np.ones(3, np.float32), np.ones((8, 3), np.float32), np.zeros(8, np.float32)
    gradient(w, x, y)
    with pytest.warns(commsched.MixedSamples, match="the gradients are .* depends on the places of samples"):
        commsched.transpile(lambda w, x, y: (w - 0.1 * gradient(w, x, y), 0.0), w, x, y, batch=(1, 2), cluster=4)


# What a fault is planted in, and a case that finds it.
FAULTS = {
    "all traces are alike": ((means, "alike", lambda one, two: True), "no mean: some of a batch"),
    "nothing is finite": ((doubling, "_of_finite", lambda e, values: None), "finite"),
    "sorts have no order": ((doubling, "order_of_sort", lambda *a: None), "largest first, mean"),
    "the largest have no order": ((doubling, "order_of_largest", lambda *a: None), "largest of all"),
    "all orders are one": ((mixing_rules, "then", lambda a, b: ()), "beside the sorted, mean"),
    "all weights are the same": ((orders, "uniform", lambda *a: True), "no mean: sorted, every other"),
    "micro-batches are in order": ((mixing_rules, "is_split", lambda order: False), "no mean: halves together"),
    "matrices are of each": ((mixing_rules, "_by_matrix", lambda *a: "each"), "centred by a matrix, mean"),
    "all is added in loops": ((loops, "carried", lambda *a: loops.Carried(False, True, True)), "recurrent, mean"),
    "loops add nothing": ((loops, "at_the_end", lambda how, before, term, inside, e: mixing_rules.Mixed(e)), "one by one"),
    "moves are not multiplied out": ((orders, "_by_places", lambda letter: False), "sorted and reversed, mean"),
    "loops end": ((doubling._Walk, "repeated", lambda self, e, f, values: values[-len(e.outvars):]), "until small, mean"),
}


@pytest.mark.parametrize("fault, case", FAULTS.values(), ids=FAULTS)
def test_planted_faults_are_found(monkeypatch, fault, case):
    monkeypatch.setattr(*fault)
    monkeypatch.setattr(trial, "differing", lambda *a: None)  # which finds it, too
    monkeypatch.setattr(continued, "broken", lambda *a: None)  # and so does this
    layers, reduce, other = CASES[case]
    with jax.enable_x64(True):
        assert bool(said(loss_of(layers, reduce), 0, 4)) != other


def test_planted_faults_in_orders_are_found(monkeypatch):
    monkeypatch.setattr(orders, "_is_order", lambda factor: False)
    with pytest.raises(AssertionError):
        for of, other in ORDERS.values():
            test_orders_that_are_drawn(of, other)


@pytest.mark.parametrize("name, fault", [("_DECIDE", set()), ("decided", lambda by, of: by)])
def test_planted_faults_in_decisions_are_found(monkeypatch, name, fault):
    monkeypatch.setattr(mixing_rules, name, fault)
    with pytest.raises(AssertionError):
        for reduce in DECIDED.values():
            test_what_samples_decide_together(reduce)


def test_a_step_that_nobody_followed_is_not_taken_for_a_mean(monkeypatch):
    monkeypatch.setattr(means, "UncheckedSamples", UserWarning)  # which nobody looks at
    with pytest.raises(AssertionError):
        test_of_other_operations(*OTHER_OPERATIONS["sum by halves"])
