# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A loss that is a sum over the batch is refused, as its parts would be averaged; whatever is claimed of a drawn step for that is
what its numbers do."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from cases import TIMES, cases, count

import commsched
from commsched.frontend import doubling

L, D, C = 6, 4, 3  # samples, features, classes

PARAMS = {"w": (D, D), "v": (D, D), "b": (D,), "k": (3, D, D), "e": (5, D), "o": (D, C)}


def layer(kind, p, h, ids):
    """h, ids: of L samples each."""
    n = h.shape[0]
    return {
        "dense": lambda: h @ p["w"] + p["b"],
        "relu": lambda: jax.nn.relu(h @ p["v"]),
        "gelu": lambda: jax.nn.gelu(h * p["b"]),
        "layernorm": lambda: (h - h.mean(-1, keepdims=True)) / jnp.sqrt(h.var(-1, keepdims=True) + 1e-3),
        "batchnorm": lambda: (h - h.mean(0)) * jax.lax.rsqrt(h.var(0) + 1e-3),
        "embedding": lambda: h + p["e"][ids],
        "rows": lambda: h.at[jnp.arange(n), ids % D].set(0.5),
        "conv": lambda: jax.lax.conv_general_dilated(h.reshape(n, D, 1).repeat(5, 2), p["k"], (1,), "SAME",
                                                     dimension_numbers=("NCW", "WIO", "NCW")).max(2),
        "attention": lambda: jnp.einsum("nij,nj->ni", jax.nn.softmax(h[:, :, None] * (h @ p["w"])[:, None, :]), h),
        "across": lambda: jax.nn.softmax(h @ h.T) @ h,          # of all pairs of samples
        "centred": lambda: h - h.max(0),
        "scan": lambda: jax.lax.scan(lambda c, t: (jnp.tanh(c @ p["w"] + t), None), h, jnp.ones((3, D)))[0],
        "sorted": lambda: jnp.sort(h, axis=1),
        "largest": lambda: jax.lax.top_k(h, D)[0],
        "running": lambda: jnp.cumsum(h, axis=1),
        "running across": lambda: jnp.cumsum(h, axis=0),
        "folded": lambda: h.reshape(n * D).reshape(n, D),
        "turned": lambda: h.T.reshape(D * n).reshape(n, D),      # mixes samples
        "tokens": lambda: (jnp.tanh(jnp.stack([h, h * p["b"], -h]).reshape(3 * n, D) @ p["w"])).reshape(3, n, D).sum(0),
        "tokens apart": lambda: jnp.tanh(jnp.stack([h, h * p["b"]]).reshape(2 * n, D) @ p["w"]).reshape(n, 2, D).sum(1),  # mixes samples
        "tiled": lambda: jnp.tile(h, (2, 2)).reshape(2, n, 2 * D)[:, :, 1:D + 1].max(0),
        "in rows": lambda: jnp.tile(h, (2, 1)).reshape(n, 2 * D)[:, D - 1:2 * D - 1],  # mixes samples
        "solved": lambda: jnp.linalg.solve(p["w"] + 4 * jnp.eye(D), h.T).T,
        "waves": lambda: jnp.fft.rfft(h, axis=1).real @ p["w"][:3],
        "in order": lambda: h[jnp.argsort(h[:, 0])],
        "beside in order": lambda: jnp.tanh(h * h[jnp.argsort(h[:, 0])]),  # mixes samples
        "pairs in order": lambda: jnp.tanh(h[jnp.argsort(h[:, 0])].reshape(-1, 2 * D)).reshape(n, D),  # mixes samples
        "joined": lambda: jnp.concatenate([h, h[:, :1]], 1)[:, 1:],
        "scaled": lambda: h / jnp.sqrt(jnp.sum(h ** 2) / n + 1e-3),
        "power": lambda: h / (1e-3 + jnp.sum(h ** 2) / 7.0) ** 0.5,
    }[kind]()


LAYERS = ["dense", "relu", "gelu", "layernorm", "batchnorm", "embedding", "rows", "conv", "attention", "across", "centred", "scan", "sorted",
          "largest", "running", "running across", "folded", "turned", "tokens", "tokens apart", "tiled", "in rows", "solved", "waves", "in order", "beside in order", "pairs in order", "joined", "scaled",
          "power"]
# Where nothing, or not the same, is known of a sum. solved: of what has samples in the last dimension.
MIXES = ("across", "turned", "running across", "power", "tokens apart", "in rows", "solved", "in order", "beside in order", "pairs in order")
LOSSES = {
    "mean": lambda per, p: per.mean(),
    "sum": lambda per, p: per.sum(),
    "sum over a number": lambda per, p: per.sum() / 64,
    "sum over the samples": lambda per, p: per.sum() / per.shape[0],
    "sum over twice": lambda per, p: per.sum() / per.shape[0] ** 2,
    "with weights": lambda per, p: (per * per.astype(int)).sum() / per.astype(int).sum().clip(1),
    "decayed": lambda per, p: per.mean() + 0.1 * sum(jnp.sum(x ** 2) for x in jax.tree_util.tree_leaves(p)),
    "sum, decayed": lambda per, p: per.sum() + 0.1 * sum(jnp.sum(x ** 2) for x in jax.tree_util.tree_leaves(p)),
    "root": lambda per, p: jnp.sqrt((per ** 2).sum()),
    "root of mean": lambda per, p: jnp.sqrt((per ** 2).mean()),
    "most": lambda per, p: per.max(),
}


def per_sample(kind, logits, labels):
    if kind == "entropy":
        return -jnp.take_along_axis(jax.nn.log_softmax(logits), labels[:, None], 1)[:, 0]
    if kind == "indexed":
        return -jax.nn.log_softmax(logits)[jnp.arange(labels.shape[0]), labels]
    if kind == "one-hot":
        return -(jax.nn.log_softmax(logits) * jax.nn.one_hot(labels, C)).sum(1)
    return ((logits - labels[:, None]) ** 2).sum(1)


def draw(seed):
    """(the kinds, loss(params, x, ids, labels), its arguments)."""
    rng = np.random.default_rng(seed)
    kinds = list(rng.choice(LAYERS, rng.integers(1, 4)))
    of, reduction = rng.choice(["entropy", "indexed", "one-hot", "squares"]), rng.choice(list(LOSSES))

    def loss(p, x, ids, labels):
        h = x
        for kind in kinds:
            h = layer(kind, p, h, ids)
        return LOSSES[reduction](per_sample(of, h @ p["o"], labels), p)
    params = {n: jnp.asarray(rng.normal(0, 0.7, shape)) for n, shape in PARAMS.items()}
    x, ids, labels = rng.normal(size=(L, D)), rng.integers(0, 5, L), rng.integers(0, C, L)
    return [*kinds, of, reduction], loss, (params, jnp.asarray(x), jnp.asarray(ids), jnp.asarray(labels))


def twice(arrays):
    return [jnp.concatenate([a, a]) for a in arrays]


def claims(loss, params, batch):
    def step(p, *b):
        return commsched.frontend.jax_gradient.grad(loss)(p, *b)
    return doubling.factors_of(jax.make_jaxpr(step)(params, *batch), jax.make_jaxpr(lambda p, *b: step(p, *b))(params, *twice(batch)))


def test_what_is_claimed_is_what_numbers_do():
    known, sums = 0, 0
    with jax.enable_x64(True):
        for seed in cases(30):
            kinds, loss, (params, *batch) = draw(seed)
            one = jax.tree_util.tree_leaves(jax.grad(loss)(params, *batch))
            two = jax.tree_util.tree_leaves(jax.grad(loss)(params, *twice(batch)))
            found = claims(loss, params, batch)
            assert len(found) == len(one)
            for factor, a, b in zip(found, one, two):
                if isinstance(factor, float):
                    np.testing.assert_allclose(b, factor * a, rtol=1e-6, atol=1e-9 * (1 + float(jnp.abs(a).max())), err_msg=f"seed {seed}: {kinds}")
                    known, sums = known + 1, sums + (factor not in (0.0, 1.0))
    assert TIMES < 1 or known > count(30) and sums > count(30) // 8


@pytest.mark.parametrize("kind", [k for k in LAYERS if k not in MIXES])
@pytest.mark.parametrize("of", ["entropy", "indexed", "one-hot", "squares"])
def test_sums_behind_these_are_known(kind, of):
    def loss(p, x, ids, labels):
        return per_sample(of, layer(kind, p, x, ids) @ p["o"], labels).sum()
    _, _, (params, *batch) = draw(0)
    found = claims(loss, params, batch)
    assert set(found) <= {0.0, 2.0} and 2.0 in found


def step_of(reduce):
    def step(w, x, y):
        loss, g = jax.value_and_grad(lambda w: reduce((x @ w - y) ** 2))(w)
        return w - 0.1 * g, loss
    return step


W, X, Y = np.ones(3, np.float32), np.ones((8, 3), np.float32), np.zeros(8, np.float32)


def test_a_sum_is_refused():
    with pytest.raises(commsched.FrontEndError) as caught:
        commsched.transpile(step_of(jnp.sum), W, X, Y, batch=(1, 2), cluster=4)
    assert str(caught.value).startswith("the loss must be a mean over the samples of the batch, got: one whose gradients are 2 times as large when "
                                        "every sample is there twice")
    assert len(str(caught.value).splitlines()) == 1


def test_a_sum_over_a_number_is_refused():
    with pytest.raises(commsched.FrontEndError, match="must be a mean over the samples"):
        commsched.transpile(step_of(lambda v: v.sum() / 8), W, X, Y, batch=(1, 2), cluster=2)


def test_a_sum_over_the_samples_and_one_worker_are_not():
    commsched.transpile(step_of(lambda v: v.sum() / v.shape[0]), W, X, Y, batch=(1, 2), cluster=4)
    commsched.transpile(step_of(jnp.sum), W, X, Y, batch=(1, 2), cluster=1)


@pytest.mark.parametrize("reduce", [jax.lax.psum, lambda v, axis: jax.lax.psum((1.0, v), axis)[1]], ids=["one", "two"])
def test_a_sum_of_a_named_axis_is_refused(reduce):
    with pytest.raises(commsched.FrontEndError, match="gradients are 2 times as large"):
        commsched.transpile(step_of(lambda v: jax.vmap(lambda s: reduce(s, "b"), axis_name="b", out_axes=None)(v)), W, X, Y, batch=(1, 2), cluster=4)


def test_a_fault_planted_in_named_axes_is_found(monkeypatch):
    monkeypatch.setattr(doubling, "of_mapped", lambda e: None)
    with pytest.raises(pytest.fail.Exception):
        test_a_sum_of_a_named_axis_is_refused(jax.lax.psum)


def test_functions_that_were_traced_before():
    """By whoever has tried the step on the same number of samples: without marks."""
    @jax.jit
    def gradient(w, x, y):
        return jax.grad(lambda w: ((x @ w - y) ** 2).sum())(w)

    def step(w, x, y):
        return w - 0.1 * gradient(w, x, y)
    step(W, X, Y)
    with pytest.raises(commsched.FrontEndError, match="must be a mean over the samples"):
        commsched.transpile(step, W, X, Y, batch=(1, 2), cluster=2)
