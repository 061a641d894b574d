# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""gather and scatter: embeddings, jnp indexing, take_along_axis and their gradients."""

from __future__ import annotations

import math
from typing import Optional

from .control import counted_loop
from .ir import DType, Value
from .scalar import INDEX, Body
from .rows import lookup, segment_sum
from .walker import Walker, handles, numbers

_I1 = DType("i1")


def _columns(w: Walker, indices: Value, vector_dim: int) -> list[Value]:
    """The components of the index vectors, each a tensor over the index positions."""
    if vector_dim == indices.rank:
        return [indices]
    shape = [n for i, n in enumerate(indices.shape) if i != vector_dim]
    count = indices.shape[vector_dim]
    if count == 1:
        return [w.e.reshape(indices, shape)]
    sizes = [1 if i == vector_dim else n for i, n in enumerate(indices.shape)]
    return [w.e.extract_slice(indices, [c if i == vector_dim else 0 for i in range(indices.rank)], sizes,
                              [1] * indices.rank, shape) for c in range(count)]


def _position(dim: int, vector_dim: int) -> int:
    """Where a dimension of the indices is when the index vectors are taken out."""
    return dim - (dim > vector_dim)


@handles("stablehlo.gather")
def _gather(w: Walker, op):
    from jax.extend.mlir.dialects import stablehlo
    d = stablehlo.GatherDimensionNumbers(op.attributes["dimension_numbers"])
    operand, indices = w.operands(op)
    sizes = numbers(op.attributes["slice_sizes"])
    shape, dtype = w.type_of(op.results[0])
    rows = lookup(w, d, operand, indices, sizes, shape)
    if rows is not None:
        w.set(op, rows)
        return
    offset_dims = list(d.offset_dims)
    batch_dims = [i for i in range(len(shape)) if i not in offset_dims]
    dropped = list(d.collapsed_slice_dims) + list(d.operand_batching_dims)
    window = [i for i in range(operand.rank) if i not in dropped]
    columns = _columns(w, indices, d.index_vector_dim)
    started = list(d.start_index_map)
    batching = dict(zip(d.operand_batching_dims, d.start_indices_batching_dims))
    inputs = [(c, [f"d{i}" for i in batch_dims]) for c in columns]

    def write(body: Body, ins):
        index = []
        for i in range(operand.rank):
            at = None
            if i in batching:
                loop = batch_dims[_position(batching[i], d.index_vector_dim)]
                at = body.op(f"linalg.index {loop} : index")
            elif i in started and sizes[i] < operand.shape[i]:
                column = started.index(i)
                at = body.index_cast(ins[column], columns[column].dtype)
                at = body.binary("arith.maxsi", at, body.constant(0, INDEX), INDEX)
                at = body.binary("arith.minsi", at, body.constant(operand.shape[i] - sizes[i], INDEX), INDEX)
            if i in window:
                offset = body.op(f"linalg.index {offset_dims[window.index(i)]} : index")
                at = offset if at is None else body.binary("arith.addi", at, offset, INDEX)
            index.append(at or body.constant(0, INDEX))
        return body.extract(operand, index)
    w.set(op, w.e.parallel(inputs, shape, dtype, write))


@handles("stablehlo.scatter")
def _scatter(w: Walker, op):
    """Sequential over the index vectors; each window is updated in place. Windows that
    do not lie inside are left out."""
    from jax.extend.mlir.dialects import stablehlo
    d = stablehlo.ScatterDimensionNumbers(op.attributes["scatter_dimension_numbers"])
    if len(op.results) != 1:
        w.refuse(op, "several operands")
    operand, indices, updates = w.operands(op)
    gradient = segment_sum(w, d, op, operand, indices, updates)
    if gradient is not None:
        w.set(op, gradient)
        return
    e = w.e
    window_dims = list(d.update_window_dims)
    scatter_dims = [i for i in range(updates.rank) if i not in window_dims]
    positions = [updates.shape[i] for i in scatter_dims]
    count = math.prod(positions)
    inner = [updates.shape[i] for i in window_dims]
    updates = e.reshape(e.transpose(updates, scatter_dims + window_dims), [count, *inner])
    columns = [e.reshape(c, [count]) for c in _columns(w, indices, d.index_vector_dim)]
    started = list(d.scattered_dims_to_operand_dims)
    batching = dict(zip(d.input_batching_dims, d.scatter_indices_batching_dims))
    dropped = list(d.inserted_window_dims) + list(d.input_batching_dims)
    sizes, rest = [], list(inner)
    for i in range(operand.rank):
        sizes.append(1 if i in dropped else rest.pop(0))

    def step(n: Value, carried: list[Value]) -> list[Value]:
        target = carried[0]
        offsets: list[Value | int] = []
        inside: Optional[Value] = None
        for i in range(operand.rank):
            if i in batching:
                k = _position(batching[i], d.index_vector_dim)
                at = e.scalar(f"arith.divui {n.ref}, {e.index(math.prod(positions[k + 1:])).ref} : index", INDEX)
                offsets.append(e.scalar(f"arith.remui {at.ref}, {e.index(positions[k]).ref} : index", INDEX))
            elif i in started:
                column = columns[started.index(i)]
                raw = e.scalar(f"tensor.extract {column.ref}[{n.ref}] : {column.type}", column.dtype)
                kind = "index_castui" if column.dtype.unsigned else "index_cast"
                at = e.scalar(f"arith.{kind} {raw.ref} : {raw.type} to index", INDEX)
                limit = e.index(operand.shape[i] - sizes[i])
                # One unsigned comparison: negative numbers are large.
                test = e.scalar(f"arith.cmpi ule, {at.ref}, {limit.ref} : index", _I1)
                inside = test if inside is None else e.scalar(f"arith.andi {inside.ref}, {test.ref} : i1", _I1)
                offsets.append(e.clamped(at, operand.shape[i] - sizes[i]))
            else:
                offsets.append(0)
        old = e.extract_slice(target, offsets, sizes, [1] * operand.rank, inner)
        update = e.extract_slice(updates, [n] + [0] * len(inner), [1, *inner], [1] * (1 + len(inner)), inner)

        def write(body, ins, outs):
            value = w.scalar_region(op.regions[0], body, [outs[0], ins[0]])[0]
            return [value if inside is None else body.select(inside.ref, value, outs[0], operand.dtype)]
        own = [f"d{i}" for i in range(len(inner))]
        new = e.generic([(update, own)], [(old, own)], "p" * len(inner), write)[0]
        return [e.insert_slice(new, target, offsets, sizes, [1] * operand.rank)]

    if count == 0:
        w.set(op, operand)
    elif count == 1:
        w.set(op, *step(e.index(0), [operand]))
    else:
        w.set(op, *counted_loop(w, e.index(0), e.index(count), [operand], step))

