# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What moves elements, and computes nothing."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from .table import NoRule, Operation, arrays, axis, rule


@rule("aten.view", "aten._unsafe_view", "aten.reshape", "aten.view_copy", "aten._reshape_copy", "aten._reshape_alias", "prims.reshape")
def _view(op: Operation, x, *_):
    if op.inputs[0].dtype != op.first.dtype:
        raise NoRule("another element type")
    return jnp.reshape(x, op.shape)


@rule("aten.unsqueeze", "aten.squeeze", "aten.unsqueeze_copy", "aten.squeeze_copy", "prims.squeeze", "prims.collapse_view",
      "prims.collapse", "prims.split_dim", "prims.expand_dims")
def _unsqueeze(op: Operation, x, *_):
    return jnp.reshape(x, op.shape)


@rule("aten.expand", "aten.expand_copy")
def _expand(op: Operation, x, size, **_):
    return jnp.broadcast_to(x, op.shape)


@rule("prims.broadcast_in_dim")
def _broadcast(op: Operation, x, shape, dimensions):
    return lax.broadcast_in_dim(x, op.shape, tuple(dimensions))


@rule("aten.permute", "aten.permute_copy", "prims.transpose")
def _permute(op: Operation, x, dims):
    return jnp.transpose(x, [axis(d, x.ndim) for d in dims])


@rule("aten.transpose", "aten.transpose_copy")
def _transpose(op: Operation, x, a, b):
    return jnp.swapaxes(x, axis(a, x.ndim), axis(b, x.ndim)) if x.ndim else x


@rule("aten.t", "aten.t_copy")
def _t(op: Operation, x):
    return x.T


def _bounds(start, end, size):
    """As Python has them."""
    start = 0 if start is None else start
    end = size if end is None else end
    start = min(max(start + size if start < 0 else start, 0), size)
    return start, min(max(end + size if end < 0 else end, start), size)


@rule("aten.slice", "aten.slice_copy")
def _slice(op: Operation, x, dim=0, start=None, end=None, step=1):
    dim = axis(dim, x.ndim)
    start, end = _bounds(start, end, x.shape[dim])
    return lax.slice_in_dim(x, start, end, step, dim)


@rule("aten.select", "aten.select_copy")
def _select(op: Operation, x, dim, index):
    dim = axis(dim, x.ndim)
    index = index + x.shape[dim] if index < 0 else index
    return lax.index_in_dim(x, index, dim, keepdims=False)


@rule("aten.split", "aten.split_copy")
def _split(op: Operation, x, size, dim=0):
    dim, total = axis(dim, x.ndim), x.shape[axis(dim, x.ndim)]
    size = size or max(total, 1)
    return tuple(lax.slice_in_dim(x, i, min(i + size, total), axis=dim) for i in range(0, max(total, 1), size))


@rule("aten.split_with_sizes", "aten.split_with_sizes_copy")
def _split_with_sizes(op: Operation, x, sizes, dim=0):
    ends = np.cumsum([0, *sizes])
    return tuple(lax.slice_in_dim(x, int(a), int(b), axis=axis(dim, x.ndim)) for a, b in zip(ends, ends[1:]))


@rule("aten.unbind", "aten.unbind_copy")
def _unbind(op: Operation, x, dim=0):
    dim = axis(dim, x.ndim)
    return tuple(lax.index_in_dim(x, i, dim, keepdims=False) for i in range(x.shape[dim]))


@rule("aten.cat", "prims.cat")
def _cat(op: Operation, parts, dim=0):
    # An empty tensor of one dimension may stand among others.
    parts = [p for p in arrays(op.dtype, *parts) if p.shape != (0,)] or arrays(op.dtype, parts[0])
    return jnp.concatenate(parts, axis(dim, parts[0].ndim))


@rule("aten.stack")
def _stack(op: Operation, parts, dim=0):
    return jnp.stack(arrays(op.dtype, *parts), axis(dim, len(op.shape)))


@rule("aten.flip", "prims.rev")
def _flip(op: Operation, x, dims):
    return jnp.flip(x, tuple(axis(d, x.ndim) for d in dims))


@rule("aten.roll")
def _roll(op: Operation, x, shifts, dims=()):
    if not dims:
        return jnp.roll(x.reshape(-1), shifts[0]).reshape(x.shape)
    return jnp.roll(x, tuple(shifts), tuple(axis(d, x.ndim) for d in dims))


@rule("aten.repeat")
def _repeat(op: Operation, x, repeats):
    return jnp.tile(x, tuple(repeats))


@rule("aten.constant_pad_nd")
def _pad(op: Operation, x, pad, value=0):
    widths = [(0, 0, 0)] * x.ndim
    for i in range(len(pad) // 2):
        widths[x.ndim - 1 - i] = (pad[2 * i], pad[2 * i + 1], 0)
    return lax.pad(x, arrays(op.dtype, value)[0], widths)


def _bordered(mode):
    def pad(x, widths):
        rank = len(widths) // 2
        return jnp.pad(x, [(0, 0)] * (x.ndim - rank) + [(widths[2 * i], widths[2 * i + 1]) for i in reversed(range(rank))], mode=mode)

    def backward(op: Operation, gradient, x, widths):
        return jax.vjp(lambda x: pad(x, widths), x)[1](gradient)[0]
    return lambda op, x, widths: pad(x, widths), backward


for _kind, _mode in (("reflection", "reflect"), ("replication", "edge")):
    for _rank in (1, 2, 3):
        _forward, _backward = _bordered(_mode)
        rule(f"aten.{_kind}_pad{_rank}d")(_forward)
        rule(f"aten.{_kind}_pad{_rank}d_backward")(_backward)


def _triangle(op: Operation, x, keep):
    rows = lax.broadcasted_iota(jnp.int32, x.shape, x.ndim - 2)
    columns = lax.broadcasted_iota(jnp.int32, x.shape, x.ndim - 1)
    return jnp.where(keep(columns - rows), x, jnp.zeros_like(x))


@rule("aten.tril")
def _tril(op: Operation, x, diagonal=0):
    return _triangle(op, x, lambda over: over <= diagonal)


@rule("aten.triu")
def _triu(op: Operation, x, diagonal=0):
    return _triangle(op, x, lambda over: over >= diagonal)


@rule("aten.diagonal", "aten.diagonal_copy")
def _diagonal(op: Operation, x, offset=0, dim1=0, dim2=1):
    return jnp.diagonal(x, offset, axis(dim1, x.ndim), axis(dim2, x.ndim))


@rule("aten.unfold", "aten.unfold_copy")
def _unfold(op: Operation, x, dim, size, step):
    if x.ndim == 0:
        return x.reshape(1)
    dim = axis(dim, x.ndim)
    count = (x.shape[dim] - size) // step + 1
    where = np.arange(count)[:, None] * step + np.arange(size)[None, :]
    return jnp.moveaxis(jnp.take(x, where, axis=dim, mode="clip"), dim + 1, -1)


# ---- written back, where PyTorch writes into a view -------------------------------------------------------------

def _positions(op: Operation, x, *indices):
    where = [slice(None)] * x.ndim
    for dim, index in indices:
        where[axis(dim, x.ndim)] = index
    return tuple(where)


@rule("aten.slice_scatter")
def _slice_scatter(op: Operation, x, source, dim=0, start=None, end=None, step=1):
    dim = axis(dim, x.ndim)
    start, end = _bounds(start, end, x.shape[dim])
    if step == 1:
        return lax.dynamic_update_slice_in_dim(x, source.astype(x.dtype), start, dim) if source.size else x
    return x.at[_positions(op, x, (dim, slice(start, end, step)))].set(source.astype(x.dtype))


@rule("aten.select_scatter")
def _select_scatter(op: Operation, x, source, dim, index):
    dim = axis(dim, x.ndim)
    index = index + x.shape[dim] if index < 0 else index
    return lax.dynamic_update_slice_in_dim(x, jnp.expand_dims(source.astype(x.dtype), dim), index, dim)


@rule("aten.diagonal_scatter")
def _diagonal_scatter(op: Operation, x, source, offset=0, dim1=0, dim2=1):
    dim1, dim2 = axis(dim1, x.ndim), axis(dim2, x.ndim)
    moved = jnp.moveaxis(x, (dim1, dim2), (-2, -1))
    count = source.shape[-1]
    rows, columns = np.arange(count) + max(-offset, 0), np.arange(count) + max(offset, 0)
    return jnp.moveaxis(moved.at[..., rows, columns].set(source), (-2, -1), (dim1, dim2))


def _strided(op: Operation, of, size, stride, offset):
    """Where the elements of a strided view lie in a tensor that lies in one piece."""
    expected = 1
    for extent, step in zip(reversed(of.shape), reversed(of.stride())):
        if extent != 1 and step != expected:
            raise NoRule("a tensor that does not lie in one piece")
        expected *= extent
    offset = offset or 0
    where = np.full((), offset - of.storage_offset(), np.int64)
    for extent, step in zip(size, stride):
        where = where[..., None] + np.arange(extent) * step
    return where


def _of_each(x, where):
    """The places in each part of x, of as many as there are first of `where`, if they are of its own and the same of all; else None."""
    if where.ndim == 0 or where.size == 0 or x.size % len(where):
        return None
    rest = x.size // len(where)
    begin = (np.arange(len(where)) * rest).reshape(-1, *[1] * (where.ndim - 1))
    return where[0] if (where == where[0] + begin).all() and where[0].min() >= 0 and where[0].max() < rest else None


@rule("aten.as_strided", "aten.as_strided_copy")
def _as_strided(op: Operation, x, size, stride, storage_offset=None):
    where = _strided(op, op.inputs[0], size, stride, storage_offset)
    each = _of_each(x, where)
    return jnp.take(x.reshape(-1), where, mode="clip") if each is None else jnp.take(x.reshape(len(where), -1), each, axis=1, mode="clip")


@rule("aten.as_strided_scatter")
def _as_strided_scatter(op: Operation, x, source, size, stride, storage_offset=None):
    where = _strided(op, op.inputs[0], size, stride, storage_offset)
    each = _of_each(x, where)
    if each is not None:
        return x.reshape(len(where), -1).at[:, each].set(source.astype(x.dtype)).reshape(x.shape)
    return x.reshape(-1).at[where].set(source.astype(x.dtype)).reshape(x.shape)
