# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sums, means, extrema, norms and softmax."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from .table import NoRule, Operation, axes, axis, ints, rule


def _over(function):
    def reduce(op: Operation, x, axis=None):
        dims = axis if axis is not None else op.get("axis")
        dims = [] if dims is None else dims
        dims = axes(np.asarray(dims, np.int64) if isinstance(dims, (list, int)) else dims, x.ndim)
        return function(x, axis=dims, keepdims=bool(op.get("keepdim", op.get("keep_dim", False))))
    return reduce


rule("sum")(_over(lambda x, **how: jnp.sum(x.astype(jnp.int64) if x.dtype in (jnp.bool_, jnp.int32) else x, **how)))
rule("mean")(_over(jnp.mean))
rule("mean_all")(lambda op, x: jnp.mean(x))
rule("amax")(_over(jnp.max))
rule("amin")(_over(jnp.min))
rule("any")(_over(jnp.any))
rule("all")(_over(jnp.all))
rule("logsumexp")(_over(jax.scipy.special.logsumexp))
rule("max")(_over(jnp.max))
rule("min")(_over(jnp.min))


@rule("prod")
def _prod(op: Operation, x, axis=None):
    return _over(jnp.prod)(op, x, [] if op.get("reduce_all") else axis)


@rule("logsumexp_grad")
def _logsumexp_grad(op: Operation, x, out, out_grad):
    dims = axes(np.asarray([] if op["reduce_all"] else op["axis"], np.int64), x.ndim)
    if not op["keepdim"]:
        out, out_grad = (jnp.expand_dims(v, dims) for v in (out, out_grad))
    return out_grad * jnp.exp(x - out)


@rule("squared_l2_norm")
def _squared_l2_norm(op: Operation, x):
    return jnp.sum(x * x).reshape(1)


@rule("p_norm")
def _p_norm(op: Operation, x):
    if op["porder"] not in (1, 2):
        raise NoRule(f"order {op['porder']}")
    dims = tuple(range(x.ndim)) if op["asvector"] else (axis(op["axis"], x.ndim),)
    if op["porder"] == 1:
        return jnp.sum(jnp.abs(x), dims, keepdims=op["keepdim"])
    return jnp.sqrt(jnp.sum(x * x, dims, keepdims=op["keepdim"]))


@rule("p_norm_grad")
def _p_norm_grad(op: Operation, x, out, out_grad):
    if op["porder"] not in (1, 2):
        raise NoRule(f"order {op['porder']}")
    if op["asvector"]:
        out, out_grad = out.reshape([1] * x.ndim), out_grad.reshape([1] * x.ndim)
    elif not op["keepdim"]:
        out, out_grad = (jnp.expand_dims(v, axis(op["axis"], x.ndim)) for v in (out, out_grad))
    if op["porder"] == 1:
        return out_grad * jnp.sign(x)
    return jnp.where(out == 0, 0, x * (out_grad / jnp.where(out == 0, 1, out)))


@rule("clip_by_norm")
def _clip_by_norm(op: Operation, x):
    norm, most = jnp.sqrt(jnp.sum(x * x)), np.asarray(op["max_norm"], x.dtype)
    return jnp.where(norm > most, x * (most / jnp.where(norm > most, norm, 1)), x)


def _place_of(function):
    def apply(op: Operation, x, axis):
        if op["flatten"]:
            x, dim = x.reshape(-1), 0
        else:
            (dim,) = ints(axis, "an axis")
        return function(x, dim, keepdims=op["keepdims"])
    return apply


rule("argmax")(_place_of(jnp.argmax))
rule("argmin")(_place_of(jnp.argmin))


@rule("topk")
def _topk(op: Operation, x, k):
    dim = axis(op["axis"], x.ndim)
    if not op["largest"] or not jnp.issubdtype(x.dtype, jnp.floating):
        raise NoRule("the smallest elements, or integers")
    values, found = lax.top_k(jnp.moveaxis(x, dim, -1), ints(k)[0])
    return jnp.moveaxis(values, -1, dim), jnp.moveaxis(found, -1, dim)


@rule("accuracy")
def _accuracy(op: Operation, x, indices, label):
    right = jnp.sum(jnp.any(indices == label.reshape(-1, 1), 1))
    return (right / indices.shape[0]).astype(op.dtypes[0]), right, np.asarray(indices.shape[0])


@rule("cumsum")
def _cumsum(op: Operation, x, axis):
    if op["reverse"] or op["exclusive"] or op["flatten"]:
        raise NoRule("another form than a running sum over one axis")
    (dim,) = ints(axis, "an axis")
    return jnp.cumsum(x, dim)


@rule("softmax", "softmax_")
def _softmax(op: Operation, x):
    return jax.nn.softmax(x, axis(op["axis"], x.ndim))


@rule("softmax_grad")
def _softmax_grad(op: Operation, out, out_grad):
    product = out * out_grad
    return product - out * jnp.sum(product, axis(op["axis"], out.ndim), keepdims=True)


@rule("log_softmax")
def _log_softmax(op: Operation, x):
    return jax.nn.log_softmax(x, axis(op["axis"], x.ndim))


@rule("log_softmax_grad")
def _log_softmax_grad(op: Operation, out, out_grad):
    return out_grad - jnp.exp(out) * jnp.sum(out_grad, axis(op["axis"], out.ndim), keepdims=True)
