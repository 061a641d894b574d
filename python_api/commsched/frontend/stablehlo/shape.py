# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operations that move elements: broadcast, transpose, slice, pad, concatenate, ..."""

from __future__ import annotations

from typing import Sequence

from .contraction import permuted
from .ir import Value
from .walker import Walker, handles, numbers


@handles("stablehlo.broadcast_in_dim")
def _broadcast(w: Walker, op):
    shape, _ = w.type_of(op.results[0])
    w.set(op, w.e.broadcast(w.get(op.operands[0]), shape, numbers(op.attributes["broadcast_dimensions"])))


@handles("stablehlo.reshape")
def _reshape(w: Walker, op):
    w.set(op, w.e.reshape(w.get(op.operands[0]), w.type_of(op.results[0])[0]))


@handles("stablehlo.transpose")
def _transpose(w: Walker, op):
    value = w.get(op.operands[0])
    permutation = numbers(op.attributes["permutation"])
    if value.contraction is not None and len(list(op.operands[0].uses)) == 1:
        w.set(op, permuted(w, value, permutation))
    else:
        w.set(op, w.e.transpose(value, permutation))


@handles("stablehlo.reverse")
def _reverse(w: Walker, op):
    value = w.get(op.operands[0])
    turned = numbers(op.attributes["dimensions"])
    index = [f"-d{i} + {n - 1}" if i in turned else f"d{i}" for i, n in enumerate(value.shape)]
    w.set(op, w.e.parallel([(value, index)], value.shape, value.dtype, lambda b, i: i[0]))


@handles("stablehlo.slice")
def _slice(w: Walker, op):
    value = w.get(op.operands[0])
    shape, dtype = w.type_of(op.results[0])
    begin, strides = numbers(op.attributes["start_indices"]), numbers(op.attributes["strides"])
    if value.splat is not None:
        w.set(op, w.e.splat(value.splat, shape, dtype))
    elif shape == value.shape:
        w.set(op, value)
    else:
        w.set(op, w.e.extract_slice(value, begin, shape, strides))


@handles("stablehlo.pad")
def _pad(w: Walker, op):
    value, filler = w.operands(op)
    low, high = numbers(op.attributes["edge_padding_low"]), numbers(op.attributes["edge_padding_high"])
    inner = numbers(op.attributes["interior_padding"])
    number = w.e.scalar_of(filler)
    if any(inner):
        value = dilate(w, value, [i + 1 for i in inner], number)
    w.set(op, w.e.pad(value, low, high, number))


def dilate(w: Walker, value, by, filler):
    """by[i] - 1 fillers between neighbours of dimension i."""
    shape = [max((n - 1) * b + 1, 0) if n else 0 for n, b in zip(value.shape, by)]
    ground = w.e.filled(filler, shape)
    return w.e.insert_slice(value, ground, [0] * value.rank, value.shape, by)


@handles("stablehlo.concatenate")
def _concatenate(w: Walker, op):
    values = [v for v in w.operands(op) if 0 not in v.shape]
    shape, dtype = w.type_of(op.results[0])
    axis = op.attributes["dimension"].value
    result, at = w.e.empty(shape, dtype), 0
    for value in values:
        offsets = [at if i == axis else 0 for i in range(len(shape))]
        result = w.e.insert_slice(value, result, offsets, value.shape, [1] * len(shape))
        at += value.shape[axis]
    w.set(op, values[0] if len(values) == 1 else result)


@handles("stablehlo.dynamic_slice")
def _dynamic_slice(w: Walker, op):
    value, *begin = w.operands(op)
    shape, _ = w.type_of(op.results[0])
    w.set(op, w.e.extract_slice(value, _begin(w, begin, value.shape, shape), shape, [1] * value.rank))


@handles("stablehlo.dynamic_update_slice")
def _dynamic_update_slice(w: Walker, op):
    value, update, *begin = w.operands(op)
    offsets = _begin(w, begin, value.shape, update.shape)
    w.set(op, w.e.insert_slice(update, value, offsets, update.shape, [1] * value.rank))


def _begin(w: Walker, begin: Sequence[Value], whole: Sequence[int], part: Sequence[int]) -> list[Value | int]:
    """Start indices, clamped so that the part lies inside."""
    result: list[Value | int] = []
    for value, n, p in zip(begin, whole, part):
        if n == p:
            result.append(0)
        elif value.splat is not None:
            result.append(min(max(int(value.splat), 0), n - p))
        else:
            result.append(w.e.clamped(w.e.index_of(value), n - p))
    return result
