# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Steps whose gradients are no means over the samples warn; whatever is claimed of a drawn step for that is what its numbers do."""

import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from cases import TIMES, cases, count

import commsched
from commsched.frontend import doubling, means, mixing_rules
from test_sums_of_losses import C, D, L, draw, per_sample, twice

MEAN_OF_PARTS = ("none", "sum")


def claims(loss, params, batch):
    def step(p, *b):
        return commsched.frontend.jax_gradient.grad(loss)(p, *b)
    return doubling.followed(jax.make_jaxpr(step)(params, *batch), jax.make_jaxpr(lambda p, *b: step(p, *b))(params, *twice(batch)))[0]


def other(seed, i=0):
    rng = np.random.default_rng([seed, 1 + i])
    return jnp.asarray(rng.normal(size=(L, D))), jnp.asarray(rng.integers(0, 5, L)), jnp.asarray(rng.integers(0, C, L))


def means_of_parts(loss, params, batch, more):
    """Of each gradient, whether its mean over two parts is that of the whole batch."""
    gradient = jax.grad(loss)
    parts = [jax.tree.leaves(gradient(params, *b)) for b in (batch, more)]
    whole = jax.tree.leaves(gradient(params, *[jnp.concatenate(pair) for pair in zip(batch, more)]))
    return [np.allclose((a + b) / 2, w, rtol=1e-7, atol=1e-10 * (1 + float(jnp.abs(w).max()))) for a, b, w in zip(*parts, whole)]


def compared(seeds):
    """(claims of means that are none, claims of mixtures that are means, claims of means, of mixtures) of the gradients of drawn steps, in numbers."""
    wrong, missed, means, mixtures = [], [], 0, 0
    with jax.enable_x64(True):
        for seed in seeds:
            kinds, loss, (params, *batch) = draw(seed)
            same, found = means_of_parts(loss, params, batch, other(seed)), claims(loss, params, batch)
            assert len(found) == len(same)
            mixed = [isinstance(v.kind, mixing_rules.Mixed) for v in found]
            for value, is_mean in zip(found, same):
                if value.kind in MEAN_OF_PARTS and value.factor in (0.0, 1.0):
                    means += 1
                    wrong += [] if is_mean else [(seed, kinds)]
            mixtures += sum(mixed)
            # By chance two parts may count the same; not five.
            if any(mixed) and all(same) and all(all(means_of_parts(loss, params, other(seed, i), other(seed, i + 1))) for i in range(1, 5)):
                missed.append((seed, kinds))
    return wrong, missed, means, mixtures


def test_what_is_claimed_is_what_numbers_do():
    wrong, missed, means, mixtures = compared(cases(12))
    assert not wrong and not missed, (wrong, missed)
    assert TIMES < 1 or means > count(12) and mixtures > count(12)


def weights(ids):
    return (ids > 1).astype(float)


# Of the losses of samples, of the model's outputs (n, C), and of whole numbers of the batch.
MIXED = {
    "mean over a number that depends on the samples": lambda per, out, ids: (per * weights(ids)).sum() / weights(ids).sum(),
    "where": lambda per, out, ids: jnp.mean(per, where=ids > 1),
    "root of mean": lambda per, out, ids: jnp.sqrt(per.mean()),
    "square of mean": lambda per, out, ids: out.mean() ** 2,
    "largest": lambda per, out, ids: per.max(),
    "most of them": lambda per, out, ids: jax.lax.top_k(per, 2)[0].mean(),
    "soft largest": lambda per, out, ids: jax.nn.logsumexp(per),
    "all pairs": lambda per, out, ids: jax.nn.log_softmax(out @ out.T).mean(),
    "differences of pairs": lambda per, out, ids: jax.nn.softplus(per[:, None] - per[None, :]).mean(),
    "correlation": lambda per, out, ids: (((out - out.mean(0)).T @ (out - out.mean(0)) / len(out)) ** 2).sum(),
    "batch norm": lambda per, out, ids: jax.nn.standardize(out, axis=0)[:, 0].clip(-1, 1).mean(),
    "baseline": lambda per, out, ids: ((ids - ids.mean()) * per).mean(),
    "the other way round": lambda per, out, ids: (per * per[::-1]).mean(),
    "chosen by all": lambda per, out, ids: jax.lax.cond(ids.sum() % 2 == 0, lambda: per.mean(), lambda: 2 * per.mean()),
    "running": lambda per, out, ids: jnp.tanh(jnp.cumsum(per)).mean(),
    "root of the mean of a named axis": lambda per, out, ids: jax.vmap(lambda v: jnp.sqrt(jax.lax.pmean(v, "b")), axis_name="b", out_axes=None)(per),
    "batch norm of a named axis": lambda per, out, ids: jax.vmap(lambda v: ((v - jax.lax.pmean(v, "b")) ** 3).sum(), axis_name="b")(out).mean(),
}
MEANS = {
    "mean": lambda per, out, ids: per.mean(),
    "weights of each": lambda per, out, ids: (per * weights(ids)).mean(),
    "weights by the number": lambda per, out, ids: (per * weights(ids)).sum() / per.shape[0],
    "two means": lambda per, out, ids: per.mean() + 0.1 * jnp.abs(out).mean(),
    "a mean is added to each": lambda per, out, ids: (per + per.mean()).mean(),
    "a mean is taken away": lambda per, out, ids: (per - 0.5 * out.mean()).mean() + (out - out.mean(0)).sum() / len(out),
    "a stopped mean is added": lambda per, out, ids: per.mean() + jax.lax.stop_gradient(per.mean() ** 2),
    "one by one": lambda per, out, ids: jax.vmap(lambda a: jnp.sqrt(a @ a + 1))(out).mean(),
    "in a loop": lambda per, out, ids: jax.lax.fori_loop(0, 3, lambda i, h: jnp.tanh(h), out).mean(),
    "chosen by each": lambda per, out, ids: jnp.where(per > 1, per, per ** 2).mean(),
    "largest of each": lambda per, out, ids: out.max(1).mean() + jnp.sort(out, 1)[:, 0].mean(),
    "by classes": lambda per, out, ids: jax.ops.segment_sum(per, ids, 5).sum() / len(per),
    "scaled": lambda per, out, ids: 1024 * (per.mean() / 1024),
    "of a named axis": lambda per, out, ids: jax.vmap(lambda v: jax.lax.pmean(v ** 2, "b"), axis_name="b", out_axes=None)(per),
    "two of a named axis": lambda per, out, ids: sum(jnp.mean(v) for v in jax.vmap(lambda v, o: jax.lax.pmean((v, o ** 2), "b"), axis_name="b", out_axes=None)(per, out)),
}


def loss_of(reduce):
    return lambda p, x, ids, labels: reduce(per_sample("squares", h := jnp.tanh(x @ p["w"]) @ p["o"], labels), h, ids)


@pytest.mark.parametrize("reduce", MIXED.values(), ids=MIXED)
def test_mixtures_are_known(reduce):
    _, _, (params, *batch) = draw(0)
    assert any(isinstance(v.kind, mixing_rules.Mixed) for v in claims(loss_of(reduce), params, batch))


@pytest.mark.parametrize("reduce", MEANS.values(), ids=MEANS)
def test_means_are_known(reduce):
    _, _, (params, *batch) = draw(0)
    assert {v.kind for v in claims(loss_of(reduce), params, batch)} <= set(MEAN_OF_PARTS)


@pytest.mark.parametrize("reduce, mean", [*((r, False) for r in MIXED.values()), *((r, True) for r in MEANS.values())], ids=[*MIXED, *MEANS])
def test_these_are_what_they_are_called(reduce, mean):
    with jax.enable_x64(True):
        _, _, (params, *batch) = draw(0)
        assert mean == all(means_of_parts(loss_of(reduce), params, batch, other(0)))


@pytest.mark.parametrize("fault", [("bent", lambda kinds, by: mixing_rules.joined(kinds, by)), ("product", lambda kinds, by: mixing_rules.joined(kinds, by)),
                                   ("added_up", lambda kind: kind)], ids=lambda fault: fault[0])
def test_planted_faults_are_found(monkeypatch, fault):
    monkeypatch.setattr(mixing_rules, *fault)
    _, _, (params, *batch) = draw(0)
    def of_loss(reduce):
        traces = (jax.make_jaxpr(lambda p, *b: loss_of(reduce)(p, *b))(params, *b) for b in (batch, twice(batch)))
        return doubling.followed(*traces)[1]
    found = {n: {type(v.kind) if isinstance(v.kind, tuple) else v.kind for v in claims(loss_of(reduce), params, batch)} for n, reduce in (MIXED | MEANS).items()}
    found["root of mean"] = {type(v.kind) for v in of_loss(MIXED["root of mean"])}  # its gradient is a product too
    assert any(mixing_rules.Mixed not in found[n] for n in MIXED) or any(not found[n] <= set(MEAN_OF_PARTS) for n in MEANS)


def step_of(reduce):
    def step(w, x, y):
        loss, g = jax.value_and_grad(lambda w: reduce((x @ w - y) ** 2, y))(w)
        return w - 0.1 * g, loss
    return step


W, X, Y = np.ones(3, np.float32), np.ones((8, 3), np.float32), np.zeros(8, np.float32)


def test_the_warning_says_where():
    def masked(per, y):
        return (per * (y > 0)).sum() / (y > 0).sum().clip(1)  # here
    with open(__file__) as file:
        line = next(i for i, text in enumerate(file, 1) if text.endswith("# here\n"))
    with pytest.warns(commsched.MixedSamples) as caught:
        commsched.transpile(step_of(masked), W, X, Y, batch=(1, 2), cluster=4)
    text = str(caught[0].message)
    assert len(caught) == 1 and len(text.splitlines()) == 1 and f"test_mixed_samples.py:{line}: the gradients are not a mean over the samples" in text


def test_one_worker_and_means_do_not_warn():
    with warnings.catch_warnings():
        warnings.simplefilter("error", commsched.MixedSamples)
        commsched.transpile(step_of(lambda per, y: jnp.sqrt(per.mean())), W, X, Y, batch=(1, 2), cluster=1)
        commsched.transpile(step_of(lambda per, y: (per * y).mean()), W, X, Y, batch=(1, 2), cluster=4)


COUNTS = {"samples": lambda s, y: s + len(y), "a count of them": lambda s, y: s + (y > 0).sum().astype(s.dtype), "that of this batch": lambda s, y: 0 * s + y.sum(),
          "decayed": lambda s, y: 0.9 * s + 0.1 * y.sum()}
KEPT = {"steps": lambda s, y: s + 1, "a mean": lambda s, y: s + y.mean(), "a decayed mean": lambda s, y: 0.9 * s + 0.1 * y.mean(),
        "a constant": lambda s, y: s + 8, "twice": lambda s, y: 2 * s + 1,
        "a variance": lambda s, y: 0.9 * s + 0.1 * y.var(ddof=1), "that of this batch": lambda s, y: 0 * s + y.var(ddof=1)}


def counting(change):
    def step(w, s, x, y):
        loss, g = jax.value_and_grad(lambda w: ((x @ w - y) ** 2).mean())(w)
        return w - 0.1 * g, change(s, y), loss
    return step


@pytest.mark.parametrize("change", COUNTS.values(), ids=COUNTS)
def test_state_that_counts_the_samples_of_a_part_is_refused(change):
    with pytest.raises(commsched.FrontEndError, match="^the new value of 's' must not depend on how many samples the step is given, got: one that is "):
        commsched.transpile(counting(change), W, np.float32(0), X, Y, batch=(2, 3), cluster=4)
    commsched.transpile(counting(change), W, np.float32(0), X, Y, batch=(2, 3), cluster=1)


@pytest.mark.parametrize("change", KEPT.values(), ids=KEPT)
def test_state_that_counts_steps_or_means_is_not(change):
    commsched.transpile(counting(change), W, np.float32(0), X, Y, batch=(2, 3), cluster=4)


def test_a_sum_beside_a_mean_is_refused():
    with pytest.raises(commsched.FrontEndError, match="got: one whose gradients are other when every sample is there twice"):
        def step(w, x, y):
            loss, g = jax.value_and_grad(lambda w: ((x @ w - y) ** 2).sum() + 0.1 * (w ** 2).sum())(w)
            return w - 0.1 * g, loss
        commsched.transpile(step, W, X, Y, batch=(1, 2), cluster=4)


def test_a_step_that_takes_the_whole_batch_only_is_refused():
    targets = jnp.ones(8)

    def step(w, x):
        loss, g = jax.value_and_grad(lambda w: ((x @ w - targets) ** 2).mean())(w)
        return w - 0.1 * g, loss
    commsched.transpile(step, W, X, cluster=1)
    with pytest.raises(commsched.FrontEndError, match="^the step must take the part of the batch that a worker gets, as it takes the whole batch; .*got: .*shapes"):
        commsched.transpile(step, W, X, cluster=4)


@pytest.mark.parametrize("some", [1, 2, 3])
def test_as_many_as_a_part_has_are_some_of_the_whole(some):
    """With 2 samples in a part, x[:2] is the part itself."""
    with pytest.warns(commsched.MixedSamples, match="depends on the places of samples"):
        commsched.transpile(step_of(lambda per, y: per[:some].mean()), W, X, Y, batch=(1, 2), cluster=4)


# Metrics: an outer function of a reduction of what is made of each sample.
OF_EACH = {"itself": lambda v: v, "square": lambda v: v ** 2, "whether": lambda v: (v > 0).astype(v.dtype)}
REDUCED = {"mean": jnp.mean, "sum": jnp.sum, "largest": jnp.max, "smallest": jnp.min, "soft largest": jax.nn.logsumexp, "first": lambda v: v[0], "half": lambda v: v[:len(v) // 2].mean(), "median": jnp.median,
           "by place": lambda v: (v * jnp.arange(len(v))).mean(), "variance": jnp.var, "number": lambda v: jnp.sum(jnp.ones_like(v)), "constant": lambda v: jnp.float32(3)}
OUTER = {"itself": lambda m: m, "exp": jnp.exp, "twice": lambda m: 2 * m + 1, "root": lambda m: jnp.sqrt(1 + m ** 2)}


@pytest.mark.parametrize("fault", [("_mixed", lambda value: None), ("_multiple", lambda factor: None)], ids=lambda fault: fault[0])
def test_faults_planted_in_metrics_are_found(monkeypatch, fault):
    monkeypatch.setattr(means, *fault)
    with pytest.raises(AssertionError):
        for reduce in ("largest", "sum"):
            test_metrics_warn_if_and_only_if_they_are_no_means(reduce)


@pytest.mark.parametrize("reduce", REDUCED)
def test_metrics_warn_if_and_only_if_they_are_no_means(reduce):
    rng = np.random.default_rng(4)
    parts = [jnp.asarray(rng.normal(middle, 1, 6) / 4) for middle in (0.2, 4, -4, 0)]
    for of, outer in ((a, b) for a in OF_EACH for b in OUTER):
        def metric(v):
            return OUTER[outer](REDUCED[reduce](OF_EACH[of](v)))
        is_mean = np.allclose(sum(map(metric, parts)) / 4, metric(jnp.concatenate(parts)), rtol=1e-4)
        found = doubling.followed(jax.make_jaxpr(metric)(parts[0]), jax.make_jaxpr(lambda v: metric(v))(jnp.concatenate([parts[0]] * 2)))[1][0]
        assert is_mean == (means._multiple(found.factor) is None and means._mixed(found) is None), (of, outer, found)


def test_a_metric_that_is_no_mean_has_its_name():
    def step(w, x, y):
        loss, g = jax.value_and_grad(lambda w: ((x @ w - y) ** 2).mean())(w)
        return w - 0.1 * g, {"loss": loss, "count": (y > 0).sum().astype(jnp.float32), "share": (y > 0).mean(), "perplexity": jnp.exp(loss)}
    with pytest.warns(commsched.MixedSamples) as caught:
        commsched.transpile(step, W, X, Y, batch=(1, 2), cluster=4)
    texts = [str(w.message) for w in caught]
    assert len(texts) == 2 and texts[0].startswith("the metric 'count' is not a mean over the samples of the batch: it is 2 times as large"), texts
    assert "test_mixed_samples.py:" in texts[1] and "the metric 'perplexity' is not a mean over the samples of the batch: what 'exp' makes depends on" in texts[1]


STATE = {"itself": lambda s, m: m, "decayed": lambda s, m: 0.9 * s + 0.1 * m, "largest so far": lambda s, m: jnp.maximum(s, m), "counted": lambda s, m: s + 1}


@pytest.mark.parametrize("fault", [("_mixed", lambda value: None), ("_larger", lambda factor: None)], ids=lambda fault: fault[0])
def test_faults_planted_in_state_are_found(monkeypatch, fault):
    monkeypatch.setattr(means, *fault)
    with pytest.raises(AssertionError):
        for reduce in ("largest", "sum"):
            test_state_warns_if_and_only_if_it_is_no_mean(reduce)


@pytest.mark.parametrize("reduce", [r for r in REDUCED if r != "by place"])
def test_state_warns_if_and_only_if_it_is_no_mean(reduce):
    """What a step of drawn data keeps, by JAX of the whole batch and of its parts."""
    rng = np.random.default_rng(5)
    y = (rng.normal(size=24) / 4 + np.repeat([0.2, 4, -4, 0], 6)).astype(np.float32)
    for of, kept in ((a, b) for a in ("itself", "square") for b in STATE):
        def change(s, v):
            return STATE[kept](s, REDUCED[reduce](OF_EACH[of](v)))
        is_mean = np.allclose(sum(change(jnp.float32(0.5), part) for part in np.split(y, 4)) / 4, change(jnp.float32(0.5), y), rtol=1e-4)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", commsched.MixedSamples)
            try:
                commsched.transpile(counting(change), W, np.float32(0.5), np.ones((24, 3), np.float32), y, batch=(2, 3), cluster=4)
                refused = False
            except commsched.FrontEndError as error:
                refused = "must not depend on how many samples" in str(error)
        texts = [str(w.message) for w in caught if issubclass(w.category, commsched.MixedSamples)]
        assert len(texts) == (0 if is_mean or refused else 1) and not (is_mean and refused), (of, kept, texts, refused)
        assert all("the new value of 's' is not" in t and "the mean of those of 4 parts is kept" in t.replace("The", "the") for t in texts)


def test_state_of_one_making_is_one_line():
    def step(w, s, x, y):
        loss, g = jax.value_and_grad(lambda w: ((x @ w - y) ** 2).mean())(w)
        most = x.max(0)
        return w - 0.1 * g, {"a": most[0], "b": jnp.minimum(s["b"] + 1, most[1]), "c": most[2]}, loss
    with pytest.warns(commsched.MixedSamples) as caught:
        commsched.transpile(step, W, {n: np.float32(0) for n in "abc"}, X, Y, batch=(2, 3), cluster=4)
    assert [str(w.message).count("the new value of 's.a' and 2 more is not a mean over the samples") for w in caught] == [1]


RANDOM = jax.random
# Of a key and samples x (n, 3), what is kept of them.
CHOSEN = {"one": lambda key, x: x[RANDOM.randint(key, (), 0, len(x))], "a choice": lambda key, x: RANDOM.choice(key, x), "the first of a permutation": lambda key, x: RANDOM.permutation(key, x)[0],
          "by random numbers": lambda key, x: x[jnp.argsort(RANDOM.uniform(key, (len(x),)))[0]]}
NOT_CHOSEN = {"a mean of some": lambda key, x: jnp.where(RANDOM.bernoulli(key, 0.5, x.shape), x, 0).mean(0), "noise": lambda key, x: RANDOM.normal(key, (3,)),
              "a mean in another order": lambda key, x: RANDOM.permutation(key, x).mean(0), "one before": lambda key, x: jnp.ones(3)}


@pytest.mark.parametrize("of, chosen", [*((f, True) for f in CHOSEN.values()), *((f, False) for f in NOT_CHOSEN.values())], ids=[*CHOSEN, *NOT_CHOSEN])
def test_state_that_keeps_a_sample_by_chance(of, chosen):
    def step(w, kept, key, x, y):
        loss, g = jax.value_and_grad(lambda w: ((x @ w - y) ** 2).mean())(w)
        key, drawn = RANDOM.split(key)
        return w - 0.1 * g, kept * 0.5 + of(drawn, x), key, loss
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", commsched.MixedSamples)
        commsched.transpile(step, W, np.zeros(3, np.float32), RANDOM.key(0), X, Y, batch=(3, 4), cluster=4)
    texts = [str(c.message) for c in caught if issubclass(c.category, commsched.MixedSamples)]
    assert len(texts) == chosen and all("the new value of 'kept' is not" in t and "The mean of those of 4 parts is kept" in t for t in texts), texts


def test_gradients_in_sixteen_bits_do_not_warn():
    """Sums over the samples in bf16 are sums."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", commsched.MixedSamples)
        commsched.transpile(step_of(lambda per, y: (per.astype(jnp.bfloat16).mean() * 2).astype(jnp.float32)), W, X, Y, batch=(1, 2), cluster=4)
