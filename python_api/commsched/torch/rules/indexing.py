# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Gathers and scatters. Indices are expected to be inside, as eager PyTorch demands (indices.py)."""

from __future__ import annotations

import math

import jax.numpy as jnp
from jax import lax

from .table import NoRule, Operation, arrays, axis, rule, wide


def _mask(op: Operation, indices):
    """The one boolean index, if there is no other."""
    given = [(d, i) for d, i in enumerate(indices) if i is not None]
    if not any(i.dtype in (jnp.bool_, jnp.uint8) for _, i in given):
        return None
    if len(given) != 1:
        raise NoRule("a mask among other indices")
    return given[0]


def _places(x, indices):
    return tuple(slice(None) if i is None else jnp.where(i < 0, i + x.shape[d], i) for d, i in enumerate(indices))


_BY_MASK = ("a mask, whose result has a shape that depends on data (in place of x[mask].mean() write torch.where(mask, x, 0).sum() / mask.sum(), in place of "
            "cross_entropy(x[mask], y[mask]) that of x and y.masked_fill(~mask, -100))")


@rule("aten.index", "aten._unsafe_index")
def _index(op: Operation, x, indices):
    if _mask(op, indices) is not None:
        raise NoRule(_BY_MASK)
    return x.at[_places(x, indices)].get(mode="clip")


@rule("aten.index_put", "aten._unsafe_index_put", "aten._index_put_impl")
def _index_put(op: Operation, x, indices, values, accumulate=False, unsafe=False):
    values = values.astype(x.dtype)
    masked = _mask(op, indices)
    if masked is not None:
        dim, mask = masked
        if values.ndim and values.size != 1:
            raise NoRule("a mask and more than one value")
        mask = mask.reshape(mask.shape + (1,) * (x.ndim - dim - mask.ndim))
        values = values.reshape(())
        return jnp.where(mask, x + values if accumulate else values, x)
    target = x.at[_places(x, indices)]
    return target.add(values) if accumulate else target.set(values)


@rule("aten.index_select")
def _index_select(op: Operation, x, dim, index):
    return jnp.take(x, index, axis=axis(dim, x.ndim), mode="clip").reshape(op.shape) if x.ndim else x


def _along(x, dim, index):
    """An index of every dimension: of `dim` the given one."""
    return tuple(index if d == dim else lax.broadcasted_iota(index.dtype, index.shape, d) for d in range(x.ndim))


@rule("aten.gather")
def _gather(op: Operation, x, dim, index, *, sparse_grad=False):
    if sparse_grad:
        raise NoRule("sparse_grad")
    if x.ndim == 0:
        return jnp.broadcast_to(x, op.shape)
    if index.ndim == 0:
        index = index.reshape(1)
    return x.at[_along(x, axis(dim, x.ndim), index)].get(mode="clip").reshape(op.shape)


def _scattered(op: Operation, x, dim, index, source, how):
    scalar = x.ndim == 0
    if scalar:
        x, index = x.reshape(1), index.reshape(1)
    source = jnp.asarray(source).astype(x.dtype)
    if source.ndim:
        source = source.reshape(1) if scalar else source[tuple(slice(0, n) for n in index.shape)]
    target = x.at[_along(x, axis(dim, x.ndim), index)]
    return getattr(target, how)(source).reshape(op.shape)


_HOW = {None: "set", "add": "add", "sum": "add", "multiply": "multiply", "prod": "multiply", "amax": "max", "amin": "min"}


@rule("aten.scatter")
def _scatter(op: Operation, x, dim, index, source, *, reduce=None):
    return _scattered(op, x, dim, index, source, _HOW[reduce])


@rule("aten.scatter_add")
def _scatter_add(op: Operation, x, dim, index, source):
    return _scattered(op, x, dim, index, source, "add")


def _neutral(how, dtype):
    """What changes nothing."""
    if how in ("max", "min"):
        limits = (-jnp.inf, jnp.inf) if jnp.issubdtype(dtype, jnp.floating) else (jnp.iinfo(dtype).min, jnp.iinfo(dtype).max)
        return jnp.asarray(limits[how == "min"], dtype)
    return jnp.asarray(int(how == "multiply"), dtype)


@rule("aten.scatter_reduce")
def _scatter_reduce(op: Operation, x, dim, index, source, reduce, *, include_self=True):
    how = "add" if reduce == "mean" else _HOW.get(reduce)
    if how is None:
        raise NoRule(f"reduce={reduce}")
    if not include_self:
        x = jnp.where(_scattered(op, jnp.zeros(x.shape, jnp.bool_), dim, index, True, "set"), _neutral(how, x.dtype), x)
    total = _scattered(op, x, dim, index, source, how)
    if reduce != "mean":
        return total
    counts = _scattered(op, jnp.full(x.shape, int(include_self), jnp.int64), dim, index, 1, "add")
    counts = jnp.maximum(counts, 1).astype(x.dtype)
    return total / counts if jnp.issubdtype(x.dtype, jnp.floating) else jnp.floor_divide(total, counts)


@rule("aten.index_add")
def _index_add(op: Operation, x, dim, index, source, *, alpha=1):
    if x.ndim == 0:
        return x + source.reshape(()) * alpha
    where = (slice(None),) * axis(dim, x.ndim) + (index.reshape(-1),)
    return x.at[where].add((source * jnp.asarray(alpha).astype(x.dtype)).astype(x.dtype))


@rule("aten.index_copy")
def _index_copy(op: Operation, x, dim, index, source):
    where = (slice(None),) * axis(dim, x.ndim) + (index.reshape(-1),)
    return x.at[where].set(source.astype(x.dtype)) if x.ndim else source.reshape(())


@rule("aten.put")
def _put(op: Operation, x, index, source, accumulate=False):
    target, source = x.reshape(-1).at[index.reshape(-1)], source.reshape(-1).astype(x.dtype)
    return (target.add(source) if accumulate else target.set(source)).reshape(x.shape)


def _nth(mask):
    """Of each place: how many marked ones are before it."""
    return jnp.cumsum(mask.reshape(-1).astype(jnp.int64)) - mask.reshape(-1)


@rule("aten.masked_scatter")
def _masked_scatter(op: Operation, x, mask, source):
    mask = jnp.broadcast_to(mask, op.shape)
    given = jnp.take(source.reshape(-1), _nth(mask), mode="clip").reshape(op.shape)
    return jnp.where(mask, given.astype(op.dtype), jnp.broadcast_to(x, op.shape))


@rule("aten.masked_scatter_backward")
def _masked_scatter_backward(op: Operation, gradient, mask, sizes):
    mask = jnp.broadcast_to(mask, gradient.shape)
    count = math.prod(op.shape)
    where = jnp.where(mask.reshape(-1), _nth(mask), count)
    return jnp.zeros((count + 1,), gradient.dtype).at[where].set(gradient.reshape(-1))[:count].reshape(op.shape)


@rule("aten.index_fill")
def _index_fill(op: Operation, x, dim, index, value):
    where = (slice(None),) * axis(dim, x.ndim) + (index.reshape(-1),)
    return x.at[where].set(*arrays(op.dtype, value)) if x.ndim else arrays(op.dtype, value)[0]


@rule("aten.embedding")
def _embedding(op: Operation, table, ids, padding_idx=-1, scale_grad_by_freq=False, sparse=False):
    if sparse:
        raise NoRule("sparse=True")
    return jnp.take(table, ids, axis=0, mode="clip")


@rule("aten.embedding_renorm")
def _embedding_renorm(op: Operation, table, ids, max_norm, norm_type):
    """Rows that are read, where they are longer, made as long."""
    whole = jnp.abs(table.astype(wide(table.dtype)))
    norms = jnp.max(whole, 1) if norm_type == float("inf") else jnp.sum(whole ** norm_type, 1) ** (1 / norm_type)
    read = jnp.zeros((table.shape[0],), jnp.bool_).at[ids.reshape(-1)].set(True)
    factors = jnp.where(read & (norms > max_norm), max_norm / (norms + 1e-7), 1)
    return table * factors[:, None]


@rule("aten.embedding_dense_backward")
def _embedding_backward(op: Operation, gradient, ids, rows, padding_idx, scale_grad_by_freq):
    width, wanted = gradient.shape[-1], wide(gradient.dtype)
    ids, gradient = ids.reshape(-1), gradient.reshape(-1, width).astype(wanted)
    if scale_grad_by_freq:
        counts = jnp.zeros((rows,), wanted).at[ids].add(1)
        gradient = gradient / jnp.take(counts, ids, mode="clip")[:, None]
    if padding_idx >= 0:
        gradient = jnp.where((ids == padding_idx)[:, None], 0, gradient)
    return jnp.zeros((rows, width), wanted).at[ids].add(gradient)
