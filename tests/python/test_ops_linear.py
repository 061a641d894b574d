# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Contractions, convolutions, reductions, windows, indexing and control flow, against JAX."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import reference
from ops import compare, level0

pytestmark = pytest.mark.skipif(not reference.available, reason="the stock MLIR tools are not there")

rng = np.random.default_rng(1)


def normal(*shape):
    return rng.standard_normal(shape).astype(np.float32)


CONTRACTIONS = {
    "ij,jk->ik": "linalg.matmul", "ij,kj->ik": "", "ji,jk->ik": "", "ij,jk->ki": "", "bij,bjk->bik": "linalg.batch_matmul",
    "bqhd,bkhd->bhqk": "", "bhqk,bkhd->bqhd": "", "btk,kn->btn": "linalg.matmul", "btk,btn->kn": "",
    "btn,kn->btk": "", "i,i->": "", "ij,j->i": "", "i,j->ij": "", "bij,jk->bki": "", "abc,cbd->ad": "",
}


@pytest.mark.parametrize("spec", CONTRACTIONS)
def test_contraction(spec):
    sizes = dict(zip("abcdhijkqtn", (2, 3, 4, 5, 2, 6, 7, 3, 4, 5, 2)))
    left, right = spec.split("->")[0].split(",")
    text = compare(lambda x, y: jnp.einsum(spec, x, y), normal(*[sizes[c] for c in left]),
                   normal(*[sizes[c] for c in right]), rtol=1e-5)
    assert CONTRACTIONS[spec] in text
    assert "linalg.transpose" not in text


def test_contraction_of_integers_and_halves():
    a, b = rng.integers(-9, 9, (4, 5)).astype(np.int32), rng.integers(-9, 9, (5, 3)).astype(np.int32)
    compare(lambda x, y: x @ y, a, b)
    h = [np.asarray(jnp.asarray(normal(4, 4), jnp.bfloat16)) for _ in range(2)]
    compare(lambda x, y: lax.dot(x, y, preferred_element_type=jnp.float32), *h, rtol=1e-5)


CONVOLUTIONS = {
    "same": dict(padding="SAME"), "valid": dict(padding="VALID"), "strided": dict(padding="SAME", window_strides=(2, 2)),
    "uneven": dict(padding=((0, 2), (1, 0)), window_strides=(2, 1)), "dilated": dict(padding="SAME", rhs_dilation=(2, 2)),
    "transposed": dict(padding=((2, 1), (1, 2)), lhs_dilation=(2, 2)),     "grouped": dict(padding="SAME", feature_group_count=2), "depthwise": dict(padding="SAME", feature_group_count=4),
}


@pytest.mark.parametrize("layout", ["NHWC", "NCHW"])
@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_convolution_and_both_gradients(name, layout):
    options = dict(window_strides=(1, 1)) | CONVOLUTIONS[name]
    groups = options.get("feature_group_count", 1)
    x = normal(2, 7, 6, 4) if layout == "NHWC" else normal(2, 4, 7, 6)
    kernel = normal(3, 3, 4 // groups, 8) if layout == "NHWC" else normal(8, 4 // groups, 3, 3)
    numbers = (layout, "HWIO" if layout == "NHWC" else "OIHW", layout)

    def convolve(x, k):
        return lax.conv_general_dilated(x, k, dimension_numbers=numbers, **options)

    def both(x, k):
        out, pullback = jax.vjp(convolve, x, k)
        return out, pullback(jnp.sin(out))
    text = compare(both, x, kernel, rtol=1e-4, atol=1e-4)
    assert "func.call" not in text


def test_convolution_with_negative_padding():
    # JAX itself reads beyond its input here on the CPU (0.10), so the cut is made by hand.
    def convolve(x, k, padding):
        return lax.conv_general_dilated(x, k, (1, 1), padding, dimension_numbers=("NHWC", "HWIO", "NHWC"))
    compare(lambda x, k: convolve(x, k, ((-1, 1), (0, -1))), normal(2, 7, 6, 4), normal(3, 3, 4, 8), rtol=1e-4,
            atol=1e-5, like=lambda x, k: convolve(x[:, 1:, :-1], k, ((0, 1), (0, 0))))


def test_convolution_of_one_dimension():
    compare(lambda x, k: lax.conv_general_dilated(x, k, (1,), "SAME", dimension_numbers=("NWC", "WIO", "NWC")),
            normal(2, 9, 3), normal(3, 3, 5), rtol=1e-5)


X = normal(3, 4, 5)
N = rng.integers(-9, 9, (3, 4)).astype(np.int32)
REDUCTIONS = {
    "sum": lambda x: x.sum((0, 2)), "sum_all": lambda x: x.sum(), "max": lambda x: x.max(1), "min": lambda x: x.min(0),
    "prod": lambda x: x.prod(2), "any": lambda x: (x > 1).any(1), "all": lambda x: (x > -1).all((1, 2)),
    "mean": lambda x: x.mean(-1, keepdims=True), "var": lambda x: x.var(0), "argmax": lambda x: jnp.argmax(x, 1),
    "argmin": lambda x: jnp.argmin(x, 2), "argmax_all": lambda x: jnp.argmax(x), "softmax": jax.nn.softmax,
    "log_softmax": jax.nn.log_softmax, "logsumexp": lambda x: jax.nn.logsumexp(x, 1), "norm": lambda x: jnp.linalg.norm(x),
    "cumsum": lambda x: jnp.cumsum(x, 1), "cumprod": lambda x: jnp.cumprod(x, 0), "cummax": lambda x: lax.cummax(x, 2),
    "sum_of_transposed": lambda x: x.transpose(2, 0, 1).sum(0), "size_one": lambda x: x[:, :1].sum(1),
    "count": lambda x: (x > 0).sum(), "std": lambda x: x.std((0, 1)),
}


@pytest.mark.parametrize("name", REDUCTIONS)
def test_reduction(name):
    compare(REDUCTIONS[name], X, rtol=1e-5)


@pytest.mark.parametrize("function", [jnp.sum, jnp.max, jnp.min, jnp.prod, jnp.argmax, jnp.cumsum])
def test_reduction_of_integers(function):
    compare(function, N)


WINDOWS = {"side_by_side": ((1, 2, 2, 1), (1, 2, 2, 1), "VALID"), "overlapping": ((1, 3, 3, 1), (1, 2, 2, 1), "VALID"),
           "padded": ((1, 3, 3, 1), (1, 2, 2, 1), "SAME"), "dense": ((1, 2, 2, 1), (1, 1, 1, 1), "SAME"),
           "sparse": ((1, 2, 1, 1), (1, 3, 2, 1), "VALID")}


@pytest.mark.parametrize("kind", ["max", "min", "sum"])
@pytest.mark.parametrize("name", WINDOWS)
def test_pooling_and_its_gradient(name, kind):
    window = WINDOWS[name]
    start, combine = {"max": (-np.inf, lax.max), "min": (np.inf, lax.min), "sum": (0.0, lax.add)}[kind]

    def pool(x):
        return lax.reduce_window(x, np.float32(start), combine, *window)

    def both(x):
        out, pullback = jax.vjp(pool, x)
        return out, pullback(jnp.cos(out))[0]
    compare(both, normal(2, 7, 6, 3), rtol=1e-5)


def test_ties_in_max_pooling_go_to_the_first():
    x = np.ones((1, 4, 4, 1), np.float32)
    for window in WINDOWS.values():
        compare(jax.grad(lambda v: (lax.reduce_window(v, -jnp.inf, lax.max, *window) * 3).sum()), x)


def test_average_pooling_counts():
    def pool(x):
        ones = lax.reduce_window(jnp.ones_like(x), 0.0, lax.add, (1, 3, 3, 1), (1, 2, 2, 1), "SAME")
        return lax.reduce_window(x, 0.0, lax.add, (1, 3, 3, 1), (1, 2, 2, 1), "SAME") / ones
    compare(pool, normal(1, 5, 5, 2))


TABLE = normal(9, 4)
IDS = np.array([[0, 8, 3], [-1, 12, 3]], np.int32)
INDEXING = {
    "take": lambda t, i: jnp.take(t, i, axis=0), "index": lambda t, i: t[i], "clip": lambda t, i: t.at[i].get(mode="clip"),
    "fill": lambda t, i: t.at[i].get(mode="fill", fill_value=7.0), "column": lambda t, i: t[:, i % 4],
    "pairs": lambda t, i: t[i, i % 4], "along": lambda t, i: jnp.take_along_axis(t[:2], i % 4, axis=1),
    "along_0": lambda t, i: jnp.take_along_axis(t, jnp.broadcast_to(i[0, 0], (1, 4)), axis=0),
    "one": lambda t, i: t[i[0, 0]], "dynamic": lambda t, i: lax.dynamic_slice(t, (i[1, 0], i[0, 0]), (2, 3)),
    "dynamic_out": lambda t, i: lax.dynamic_slice(t, (i[0, 1] + 5, i[0, 0]), (2, 3)),
    "update": lambda t, i: lax.dynamic_update_slice(t, t[:2] * 2, (i[0, 1], i[0, 0])),
    "set": lambda t, i: t.at[i[0]].set(1.5), "add": lambda t, i: t.at[i].add(t[0]), "mul": lambda t, i: t.at[i[0]].multiply(2),
    "max": lambda t, i: t.at[i[0]].max(0.1), "set_pairs": lambda t, i: t.at[i[0], i[0] % 4].set(3.0),
    "add_column": lambda t, i: t.at[:, i[0] % 4].add(1.0), "drop": lambda t, i: t.at[i].add(1.0, mode="drop"),
    "vmapped": lambda t, i: jax.vmap(lambda row, j: row[j])(t[:2], i % 4),
    "boolean_where": lambda t, i: jnp.where(t > 0, t, 0)[i[0]], "uint": lambda t, i: t[(i % 4).astype(jnp.uint8)],
    "histogram": lambda t, i: jnp.zeros(9, np.int32).at[i].add(1),
    "gradient_of_take": lambda t, i: jax.grad(lambda t: (jnp.take(t, i % 9, axis=0) ** 2).sum())(t),
    "gradient_of_index": lambda t, i: jax.grad(lambda t: (t[i] ** 3).sum())(t),
    "gradient_of_along": lambda t, i: jax.grad(lambda t: (jnp.take_along_axis(t[:2], i % 4, axis=1) ** 2).sum())(t),
    "gradient_of_vmapped": lambda t, i: jax.grad(
        lambda t: (jax.vmap(lambda row, j: row[j])(t[:2], i % 4) ** 2).sum())(t),
    "gradient_of_dynamic": lambda t, i: jax.grad(
        lambda t: (lax.dynamic_slice(t, (i[0, 2], i[0, 0]), (2, 3)) ** 2).sum())(t),
}


@pytest.mark.parametrize("name", INDEXING)
def test_indexing(name):
    compare(INDEXING[name], TABLE, IDS, rtol=1e-5)


def _scan(x):
    return lax.scan(lambda c, row: (jnp.tanh(c + row), c * 2), jnp.zeros(4), x)


CONTROL = {
    "scan": lambda t: _scan(t), "scan_reverse": lambda t: lax.scan(lambda c, r: (c + r, c), t[0], t, reverse=True),
    "scan_gradient": lambda t: jax.grad(lambda x: (_scan(x)[0] ** 2).sum() + _scan(x)[1].sum())(t),
    "scan_unrolled": lambda t: lax.scan(lambda c, r: (c * r, c), t[0], t, unroll=2),
    "scan_of_steps": lambda t: lax.scan(lambda c, _: (c * 0.5, None), t, None, length=3)[0],
    "fori": lambda t: lax.fori_loop(0, 5, lambda i, v: v * 0.9 + i, t),
    "fori_dynamic": lambda t: lax.fori_loop(0, (t[0, 0] > -9).astype(int) * 4, lambda i, v: v + i, t),
    "while": lambda t: lax.while_loop(lambda s: (s[0] ** 2).sum() < 1e3, lambda s: (s[0] * 1.5, s[1] + 1), (t, 0)),
    "swap": lambda t: lax.fori_loop(0, 3, lambda i, s: (s[1], s[0] + 1), (t, t * 2)),
    "cond": lambda t: lax.cond(t[0, 0] > 0, lambda v: v * 2, lambda v: v - 1, t),
    "cond_gradient": lambda t: jax.grad(lambda v: lax.cond(v[0, 0] > 9, jnp.sin, jnp.cos, v).sum())(t),
    "switch": lambda t: [lax.switch(i, [lambda v: v, lambda v: v * 2, lambda v: -v], t) for i in
                         (0, (t[0, 0] > -9).astype(int), 7)],
    "nested": lambda t: lax.fori_loop(0, 3, lambda i, v: lax.cond(i > 1, lambda u: u * 2, lambda u: lax.fori_loop(
        0, i, lambda j, w: w + j, u), v), t),
    "jit": lambda t: jax.jit(lambda v: jax.jit(jnp.sin)(v) + jax.jit(jnp.sin)(v * 2))(t),
    "checkpoint": lambda t: jax.grad(lambda v: jax.checkpoint(lambda u: jnp.sin(jnp.cos(u)))(v).sum())(t),
    "custom_jvp": lambda t: jax.grad(lambda v: jax.nn.relu(v).sum())(t),
    "stop_gradient": lambda t: jax.grad(lambda v: (v * lax.stop_gradient(v)).sum())(t),
    "map": lambda t: lax.map(lambda r: r.sum(), t), "associative_scan": lambda t: lax.associative_scan(jnp.add, t),
}


@pytest.mark.parametrize("name", CONTROL)
def test_control(name):
    compare(CONTROL[name], TABLE, rtol=1e-5)


def test_a_counted_loop_becomes_scf_for():
    text = level0(CONTROL["scan"], TABLE)
    assert "scf.for" in text and "scf.while" not in text


def test_locations_name_the_line_of_the_user():
    text = level0(lambda t: t @ t.T, TABLE)
    assert 'loc("tests/python/test_ops_linear.py":' in text or 'test_ops_linear.py":' in text
