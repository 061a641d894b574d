# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rows of parameters with row-sparse gradients: what gather and scatter are then.

table[ids], jnp.take(table, ids, axis=0) and their gradients. What jax.numpy does to
ids first (negative ones count from the end) and to rows afterwards (NaN for ids
outside) is ordinary compute around them.
"""

from __future__ import annotations

import math
from typing import Optional

from .ir import DType, Value
from .walker import Walker


def _ids(w: Walker, indices: Value, vector_dim: int, order: list[int]) -> Value:
    """Index vectors of one component as a list, in the order of these dimensions."""
    shape = [n for i, n in enumerate(indices.shape) if i != vector_dim]
    ids = w.e.transpose(w.e.reshape(indices, shape), order)
    ids = w.e.reshape(ids, [math.prod(shape)])
    if ids.dtype.mlir in ("i32", "i64") and not ids.dtype.unsigned:
        return ids
    if ids.dtype.mlir == "i64":
        return w._retyped(ids, DType("i64"))
    wide = DType("i64")
    kind = "extui" if ids.dtype.unsigned else "extsi"
    return w.e.parallel([(ids, ["d0"])], ids.shape, wide,
                        lambda body, i: body.op(f"arith.{kind} {i[0]} : {ids.dtype.mlir} to i64"))


def lookup(w: Walker, d, operand: Value, indices: Value, sizes, shape) -> Optional[Value]:
    """A stablehlo.gather of whole rows of a row-sparse parameter; None if it is another one."""
    if operand.id not in w.tables or w.e.depth:
        return None
    vector_dim = d.index_vector_dim
    if (list(d.start_index_map) != [0] or list(d.collapsed_slice_dims) != [0] or list(d.operand_batching_dims)
            or list(sizes) != [1, *operand.shape[1:]]
            or vector_dim < indices.rank and indices.shape[vector_dim] != 1 or math.prod(shape) == 0):
        return None
    offset_dims = list(d.offset_dims)
    batch_dims = [i for i in range(len(shape)) if i not in offset_dims]
    ids = _ids(w, indices, vector_dim, list(range(len(batch_dims))))
    rows = Value([ids.shape[0], *operand.shape[1:]], operand.dtype)
    w.e.emit(f"cs.lookup {operand.ref}, {ids.ref} : ({operand.type}, {ids.type}) -> {rows.type}", rows, located=True)
    order = batch_dims + offset_dims  # of the result, as the rows have them
    rows = w.e.reshape(rows, [shape[i] for i in order])
    return w.e.transpose(rows, [order.index(i) for i in range(len(shape))])


def segment_sum(w: Walker, d, op, operand: Value, indices: Value, updates: Value) -> Optional[Value]:
    """A stablehlo.scatter that adds whole rows to zeros of the shape of a row-sparse
    parameter; None if it is another one."""
    if operand.splat is None or operand.splat != 0 or w.e.depth or (operand.shape, operand.dtype) not in w.tables.values():
        return None
    vector_dim = d.index_vector_dim
    window_dims = list(d.update_window_dims)
    if (list(d.scattered_dims_to_operand_dims) != [0] or list(d.inserted_window_dims) != [0]
            or list(d.input_batching_dims) or w.region_kind(op.regions[0]) != "stablehlo.add"
            or [updates.shape[i] for i in window_dims] != list(operand.shape[1:])
            or vector_dim < indices.rank and indices.shape[vector_dim] != 1 or math.prod(updates.shape) == 0):
        return None
    scatter_dims = [i for i in range(updates.rank) if i not in window_dims]
    ids = _ids(w, indices, vector_dim, list(range(len(scatter_dims))))
    values = w.e.reshape(w.e.transpose(updates, scatter_dims + window_dims), [ids.shape[0], *operand.shape[1:]])
    result = Value(operand.shape, operand.dtype)
    w.e.emit(f"cs.segment_sum {ids.ref}, {values.ref} : ({ids.type}, {values.type}) -> {result.type}", result,
             located=True)
    return result
