# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Orders: sorted elements, the k largest, medians, running extremes, and where a value belongs."""

from __future__ import annotations

import jax.numpy as jnp
from jax import lax

from .table import Operation, axis, rule


def _ordered(x, dim, descending):
    """Sorted, with where each was; equal ones stay in order."""
    where = lax.broadcasted_iota(jnp.int64, x.shape, dim)
    if not descending:
        return lax.sort((x, where), dimension=dim, num_keys=1, is_stable=True)
    values, found = lax.sort((jnp.flip(x, dim), jnp.flip(where, dim)), dimension=dim, num_keys=1, is_stable=True)
    return jnp.flip(values, dim), jnp.flip(found, dim)


@rule("aten.sort")
def _sort(op: Operation, x, dim=-1, descending=False, *, stable=True):
    if x.ndim == 0:
        return x, jnp.zeros((), jnp.int64)
    return _ordered(x, axis(dim, x.ndim), descending)


@rule("aten.sort.stable")
def _sort_stable(op: Operation, x, *, stable=True, dim=-1, descending=False):
    return _sort(op, x, dim, descending)


@rule("aten.topk")
def _topk(op: Operation, x, k, dim=-1, largest=True, sorted=True):
    if x.ndim == 0:
        return x, jnp.zeros((), jnp.int64)
    dim = axis(dim, x.ndim)
    if largest and jnp.issubdtype(x.dtype, jnp.floating):
        values, found = lax.top_k(jnp.moveaxis(x, dim, -1), k)
        return jnp.moveaxis(values, -1, dim), jnp.moveaxis(found, -1, dim)
    values, found = _ordered(x, dim, largest)
    return lax.slice_in_dim(values, 0, k, axis=dim), lax.slice_in_dim(found, 0, k, axis=dim)


def _not_a_number(x):
    return x != x


def _kth(x, k, dim, keepdim):
    """The element that k others stand before, and where it is."""
    return tuple(lax.index_in_dim(v, k, dim, keepdims=keepdim) for v in _ordered(x, dim, False))


@rule("aten.kthvalue")
def _kthvalue(op: Operation, x, k, dim=-1, keepdim=False):
    if x.ndim == 0:
        return x, jnp.zeros((), jnp.int64)
    return _kth(x, k - 1, axis(dim, x.ndim), keepdim)


@rule("aten.median.dim")
def _median(op: Operation, x, dim, keepdim=False):
    """If there is no number, that, the first of them."""
    if x.ndim == 0:
        return x, jnp.zeros((), jnp.int64)
    dim = axis(dim, x.ndim)
    values, found = _kth(x, (x.shape[dim] - 1) // 2, dim, keepdim)
    none = _not_a_number(x)
    any_ = jnp.any(none, dim, keepdims=keepdim)
    return (jnp.where(any_, jnp.nan, values) if jnp.issubdtype(x.dtype, jnp.floating) else values,
            jnp.where(any_, jnp.argmax(none, dim, keepdims=keepdim), found))


@rule("aten.median.default")
def _median_of_all(op: Operation, x):
    return _median(op, x.reshape(-1), 0)[0]


def _running(best):
    def of(op: Operation, x, dim):
        """With where the last of the best is."""
        if x.ndim == 0:
            return x, jnp.zeros((), jnp.int64)
        dim = axis(dim, x.ndim)
        values = best(x, dim)
        where = lax.broadcasted_iota(jnp.int64, x.shape, dim)
        return values, lax.cummax(jnp.where(x == values, where, 0), dim)
    return of


rule("aten.cummax")(_running(lax.cummax))
rule("aten.cummin")(_running(lax.cummin))


@rule("aten.logcumsumexp")
def _logcumsumexp(op: Operation, x, dim):
    if x.ndim == 0:
        return x
    x = jnp.moveaxis(x.astype(op.wide), axis(dim, x.ndim), -1)
    largest = lax.stop_gradient(lax.cummax(x, x.ndim - 1))
    safe = jnp.where(jnp.isfinite(largest), largest, 0)
    earlier = jnp.tril(jnp.ones((x.shape[-1],) * 2, jnp.bool_))
    terms = jnp.where(earlier, jnp.exp(x[..., None, :] - safe[..., :, None]), 0)
    return jnp.moveaxis(jnp.log(jnp.sum(terms, -1)) + safe, -1, axis(dim, x.ndim))


def _belongs(borders, values, right):
    """How many borders (in order, in the last dimension) come before each value."""
    before = borders[..., None, :] <= values[..., :, None] if right else borders[..., None, :] < values[..., :, None]
    return jnp.sum(before.astype(jnp.int64), -1)


@rule("aten.searchsorted.Tensor")
def _searchsorted(op: Operation, borders, values, *, out_int32=False, right=False, side=None, sorter=None):
    if sorter is not None:
        borders = jnp.take_along_axis(borders, sorter, -1)
    right = side == "right" if side is not None else right
    flat = values.reshape(1) if values.ndim == 0 else values.reshape(-1) if borders.ndim == 1 else values
    return _belongs(borders, flat, right).reshape(op.shape)


@rule("aten.bucketize.Tensor")
def _bucketize(op: Operation, values, borders, *, out_int32=False, right=False):
    return _belongs(borders, values.reshape(-1), right).reshape(op.shape)
