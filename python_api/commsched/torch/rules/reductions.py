# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sums, extremes, orders. Halves are added in float32."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import lax

from .table import Operation, arrays, axes, axis, rule, wide


def _total(x, over, keepdim):
    if jnp.iscomplexobj(x):
        return lax.complex(*(jnp.sum(part, over, keepdims=keepdim) for part in (jnp.real(x), jnp.imag(x))))
    return jnp.sum(x, over, keepdims=keepdim)


@rule("aten.sum")
def _sum(op: Operation, x, dim=None, keepdim=False, *, dtype=None):
    (x,) = arrays(op.wide, x)
    return _total(x, axes(dim, x.ndim), keepdim)


@rule("aten.mean")
def _mean(op: Operation, x, dim=None, keepdim=False, *, dtype=None):
    (x,) = arrays(op.wide, x)
    over = axes(dim, x.ndim)
    count = 1
    for d in over:
        count *= x.shape[d]
    return _total(x, over, keepdim) / count


@rule("aten.prod")
def _prod(op: Operation, x, dim=None, keepdim=False, *, dtype=None):
    (x,) = arrays(op.wide, x)
    return jnp.prod(x, axes(dim, x.ndim), keepdims=keepdim)


def _extreme(function):
    def of(op: Operation, x, dim=None, keepdim=False):
        return function(x, axes(dim, x.ndim), keepdims=keepdim)
    return of


rule("aten.amax", "aten.max.default")(_extreme(jnp.max))
rule("aten.amin", "aten.min.default")(_extreme(jnp.min))


@rule("aten.any")
def _any(op: Operation, x, dim=None, keepdim=False):
    return jnp.any(x != 0, axes(dim, x.ndim), keepdims=keepdim)


@rule("aten.all")
def _all(op: Operation, x, dim=None, keepdim=False):
    return jnp.all(x != 0, axes(dim, x.ndim), keepdims=keepdim)


def _position(function):
    def of(op: Operation, x, dim=None, keepdim=False):
        if x.ndim == 0:
            return jnp.zeros((), jnp.int64)
        if dim is None:
            found = function(x.reshape(-1), 0)
            return found.reshape([1] * x.ndim) if keepdim else found
        return function(x, axis(dim, x.ndim), keepdims=keepdim)
    return of


rule("aten.argmax")(_position(jnp.argmax))
rule("aten.argmin")(_position(jnp.argmin))


def _extreme_and_position(extreme, position):
    def of(op: Operation, x, dim, keepdim=False):
        if x.ndim == 0:
            return x, jnp.zeros((), jnp.int64)
        dim = axis(dim, x.ndim)
        return extreme(x, dim, keepdims=keepdim), position(x, dim, keepdims=keepdim)
    return of


rule("aten.max.dim")(_extreme_and_position(jnp.max, jnp.argmax))
rule("aten.min.dim")(_extreme_and_position(jnp.min, jnp.argmin))


# ---- moments and norms ---------------------------------------------------------------------------------------

def _variance(op: Operation, x, dim, correction, keepdim):
    (x,) = arrays(op.wide, x)
    over = axes(dim, x.ndim)
    count = 1
    for d in over:
        count *= x.shape[d]
    mean = jnp.sum(x, over, keepdims=True) / count
    square = jnp.sum(jnp.square(x - mean), over, keepdims=keepdim)
    rest = count - (1 if correction is None else correction)
    variance = square / rest if rest > 0 else square / jnp.zeros_like(square)
    return variance, mean if keepdim else jnp.squeeze(mean, over)


@rule("aten.var.correction")
def _var(op: Operation, x, dim=None, *, correction=None, keepdim=False):
    return _variance(op, x, dim, correction, keepdim)[0]


@rule("aten.std.correction")
def _std(op: Operation, x, dim=None, *, correction=None, keepdim=False):
    return jnp.sqrt(_variance(op, x, dim, correction, keepdim)[0])


@rule("aten.var_mean.correction")
def _var_mean(op: Operation, x, dim=None, *, correction=None, keepdim=False):
    return _variance(op, x, dim, correction, keepdim)


@rule("aten.linalg_vector_norm")
def _vector_norm(op: Operation, x, ord=2, dim=None, keepdim=False, *, dtype=None):
    (x,) = arrays(op.wide, x)
    over, magnitude = axes(dim, x.ndim), jnp.abs(x)
    if ord == float("inf"):
        return jnp.max(magnitude, over, keepdims=keepdim)
    if ord == float("-inf"):
        return jnp.min(magnitude, over, keepdims=keepdim)
    if ord == 0:
        return jnp.sum((magnitude != 0).astype(op.wide), over, keepdims=keepdim)
    if ord == 1:
        return jnp.sum(magnitude, over, keepdims=keepdim)
    if ord == 2:
        return jnp.sqrt(jnp.sum(x * x, over, keepdims=keepdim))
    return jnp.sum(magnitude ** ord, over, keepdims=keepdim) ** (1 / ord)


@rule("prims.var")
def _prims_var(op: Operation, x, dims, correction=1, **_):
    return _variance(op, x, dims, correction, False)[0] if dims or x.ndim == 0 else jnp.full(op.shape, jnp.nan, op.dtype)


@rule("prims.sum")
def _prims_sum(op: Operation, x, dims, **_):
    return _sum(op, x, dims) if dims else x


# ---- along a dimension ---------------------------------------------------------------------------------------

@rule("aten.cumsum")
def _cumsum(op: Operation, x, dim, *, dtype=None):
    (x,) = arrays(op.wide, x)
    return x if x.ndim == 0 else jnp.cumsum(x, axis(dim, x.ndim))


@rule("aten.cumprod")
def _cumprod(op: Operation, x, dim, *, dtype=None):
    (x,) = arrays(op.wide, x)
    return x if x.ndim == 0 else jnp.cumprod(x, axis(dim, x.ndim))


@rule("aten._softmax")
def _softmax(op: Operation, x, dim, half_to_float):
    return jax.nn.softmax(*arrays(op.wide, x), axis=axis(dim, x.ndim)) if x.ndim else jnp.ones_like(x)


@rule("aten._log_softmax")
def _log_softmax(op: Operation, x, dim, half_to_float):
    return jax.nn.log_softmax(*arrays(op.wide, x), axis=axis(dim, x.ndim)) if x.ndim else jnp.zeros_like(x)


@rule("aten._softmax_backward_data")
def _softmax_backward(op: Operation, gradient, output, dim, input_dtype):
    gradient, output = arrays(wide(output.dtype), gradient, output)
    if output.ndim == 0:
        return jnp.zeros_like(output)
    product = gradient * output
    return product - output * jnp.sum(product, axis(dim, output.ndim), keepdims=True)


@rule("aten._log_softmax_backward_data")
def _log_softmax_backward(op: Operation, gradient, output, dim, input_dtype):
    gradient, output = arrays(wide(output.dtype), gradient, output)
    if output.ndim == 0:
        return jnp.zeros_like(output)
    return gradient - jnp.exp(output) * jnp.sum(gradient, axis(dim, output.ndim), keepdims=True)
