# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""sort (several operands, any comparator, stable) and top_k: loops over rows, in place."""

from __future__ import annotations

import math
from typing import Callable, Sequence

from .control import counted_loop
from .emitter import Scalars
from .ir import DType, Value
from .scalar import BOOL, INDEX, total_order
from .walker import Walker, handles

# (body, elements a, elements b) -> whether a comes before b; one element of each operand.
Before = Callable[[Scalars, list[str], list[str]], str]

# Up to this many, the largest elements are kept in a list while a row is read once.
_SHORT = 16


@handles("stablehlo.sort")
def _sort(w: Walker, op):
    values = w.operands(op)
    axis = op.attributes["dimension"].value % values[0].rank if values[0].rank else 0

    def before(body, a, b):
        return w.scalar_region(op.regions[0], body, [x for pair in zip(a, b) for x in pair])[0]
    w.set(op, *sort(w, values, axis, before))


def sort(w: Walker, values: Sequence[Value], axis: int, before: Before) -> list[Value]:
    """Values of one shape, brought into the order of `before` along a dimension; equal ones keep their order."""
    shape = values[0].shape
    if math.prod(shape) == 0 or not shape or shape[axis] == 1:
        return list(values)
    order = [i for i in range(len(shape)) if i != axis] + [axis]
    moved = [shape[i] for i in order]
    rows = _by_rows(w, values, order)
    rows = _each_row(w, rows, lambda row: _sort_row(w, row, before))
    back = [order.index(i) for i in range(len(shape))]
    return [w.e.transpose(w.e.reshape(v, moved), back) for v in rows]


def _by_rows(w: Walker, values, order) -> list[Value]:
    """Matrices, the last of these dimensions along their rows."""
    n = values[0].shape[order[-1]]
    return [w.e.reshape(w.e.transpose(v, order), [math.prod(v.shape) // n, n]) for v in values]


def _each_row(w: Walker, matrices: list[Value], change: Callable[[list[Value]], list[Value]]) -> list[Value]:
    e = w.e
    count, n = matrices[0].shape
    if count == 1:
        return [e.reshape(v, [1, n]) for v in change([e.reshape(m, [n]) for m in matrices])]

    def step(row: Value, carried: list[Value]) -> list[Value]:
        parts = change([e.extract_slice(m, [row, 0], [1, n], [1, 1], [n]) for m in carried])
        return [e.insert_slice(p, m, [row, 0], [1, n], [1, 1]) for p, m in zip(parts, carried)]
    return counted_loop(w, e.index(0), e.index(count), matrices, step)


def _sort_row(w: Walker, row: list[Value], before: Before) -> list[Value]:
    """Merges runs of 1, 2, 4, ... elements, to a second buffer and back again."""
    e = w.e
    n = row[0].shape[0]
    passes = (n - 1).bit_length()

    def two(number: Value, carried: list[Value]) -> list[Value]:
        body = Scalars(e)
        one = body.constant(1, INDEX)
        width = body.binary("arith.shli", one, body.binary("arith.shli", number.ref, one, INDEX), INDEX)
        other = [e.empty(v.shape, v.dtype) for v in carried]
        other = _merge_runs(w, carried, other, width, before)
        return _merge_runs(w, other, carried, body.binary("arith.shli", width, one, INDEX), before)
    return counted_loop(w, e.index(0), e.index((passes + 1) // 2), row, two)


def _merge_runs(w: Walker, source: list[Value], target: list[Value], width: str, before: Before) -> list[Value]:
    e = w.e
    body = Scalars(e)
    n = body.constant(source[0].shape[0], INDEX)
    last = body.constant(source[0].shape[0] - 1, INDEX)
    span = body.binary("arith.addi", width, width, INDEX)
    pairs = body.binary("arith.ceildivui", n, span, INDEX)

    def pair(number: Value, carried: list[Value]) -> list[Value]:
        body = Scalars(e)
        low = body.binary("arith.muli", number.ref, span, INDEX)
        middle = body.binary("arith.minui", body.binary("arith.addi", low, width, INDEX), n, INDEX)
        high = body.binary("arith.minui", body.binary("arith.addi", low, span, INDEX), n, INDEX)

        def element(place: Value, carried: list[Value]) -> list[Value]:
            left, right, *target = carried
            body = Scalars(e)
            at = [body.binary("arith.minui", i.ref, last, INDEX) for i in (left, right)]
            a, b = ([body.extract(s, [i]) for s in source] for i in at)
            later = body.compare("ult", right.ref, high, INDEX)
            later = body.binary("arith.andi", later, before(body, b, a), BOOL)
            done = body.compare("uge", left.ref, middle, INDEX)
            later = body.binary("arith.ori", later, done, BOOL)
            merged = []
            for x, y, t in zip(a, b, target):
                chosen = body.select(later, y, x, t.dtype)
                merged.append(body.insert(chosen, t, [place.ref]))
            step = body.op(f"arith.index_castui {later} : i1 to index")
            right = body.index("arith.addi", right.ref, step)
            left = body.index("arith.subi", body.binary("arith.addi", left.ref, body.constant(1, INDEX), INDEX), step)
            return [left, right, *merged]
        return counted_loop(w, Scalars.at(low), Scalars.at(high), [Scalars.at(low), Scalars.at(middle), *carried],
                            element)[2:]
    return counted_loop(w, e.index(0), Scalars.at(pairs), target, pair)


@handles("chlo.top_k")
def _top_k(w: Walker, op):
    value = w.get(op.operands[0])
    count = op.attributes["k"].value
    shape, dtype = w.type_of(op.results[0])
    i32 = DType("i32")
    if math.prod(shape) == 0:
        w.set(op, w.e.empty(shape, dtype), w.e.empty(shape, i32))
        return

    def before(body, a, b):
        return total_order(body, "GT", a[0], b[0], dtype)
    if count <= _SHORT and count < value.shape[-1]:
        (rows,) = _by_rows(w, [value], list(range(value.rank)))
        found = _largest(w, rows, count, before)
        w.set(op, *[w.e.reshape(v, shape) for v in found])
    else:
        w.set(op, *first_of(w, [value, positions(w, value.shape)], value.rank - 1, count, before))


def positions(w: Walker, shape) -> Value:
    """i32 numbers along the last dimension."""
    i32 = DType("i32")

    def write(body, ins):
        return body.op(f"arith.index_cast {body.op(f'linalg.index {len(shape) - 1} : index')} : index to i32")
    return w.e.parallel([], shape, i32, write)


def first_of(w: Walker, values: Sequence[Value], axis: int, count: int, before: Before) -> list[Value]:
    """The first elements in the order of `before`, along a dimension."""
    values = sort(w, values, axis, before)
    sizes = [count if i == axis else n for i, n in enumerate(values[0].shape)]
    if list(values[0].shape) == sizes:
        return values
    rank = len(sizes)
    return [w.e.extract_slice(v, [0] * rank, sizes, [1] * rank) for v in values]


def approximate_top_k(w: Walker, op) -> list[Value]:
    """jax.lax.approx_max_k and approx_min_k, exact here. Operands: values, positions and what fills."""
    from jax.extend.mlir import ir
    config = ir.DictAttr(op.attributes["mhlo.backend_config"])
    axis, count = (ir.IntegerAttr(config[n]).value for n in ("reduction_dim", "top_k"))
    if w.type_of(op.results[0])[0][axis] != count:
        w.refuse(op, "candidates that are not reduced to k")
    comparator = w.functions[str(ir.ArrayAttr(op.attributes["called_computations"])[0]).lstrip("@")]

    def before(body, a, b):
        return w.scalar_region(comparator.regions[0], body, [x for pair in zip(a, b) for x in pair])[0]
    return first_of(w, w.operands(op)[:2], axis, count, before)


def _largest(w: Walker, rows: Value, count: int, before: Before) -> list[Value]:
    """The first elements of each row in the order of `before`, and their positions (i32)."""
    e, i32 = w.e, DType("i32")
    number, n = rows.shape

    def each(row: Value, carried: list[Value]) -> list[Value]:
        def sift(place: Value, bound: Value, kept: list[Value]) -> list[Value]:
            """Lets the element at `place` change places with those up to `bound` that it comes before."""
            body = Scalars(e)
            element = body.value(f"tensor.extract {rows.ref}[{row.ref}, {place.ref}] : {rows.type}", rows.dtype)
            own = body.value(f"arith.index_cast {place.ref} : index to i32", i32)

            def swap(at: Value, carried: list[Value]) -> list[Value]:
                held, kept = carried[:2], carried[2:]
                body = Scalars(e)
                old = [body.extract(k, [row.ref, at.ref]) for k in kept]
                # Elements change places as long as one is better; equal ones stay in the order of their positions.
                behind = body.compare("slt", held[1].ref, old[1], i32)
                first = body.binary("arith.xori", before(body, [old[0]], [held[0].ref]), body.constant(True, BOOL), BOOL)
                first = body.binary("arith.andi", first, behind, BOOL)
                first = body.binary("arith.ori", first, before(body, [held[0].ref], [old[0]]), BOOL)
                result = []
                for h, o, k in zip(held, old, kept):
                    new = body.select(first, h.ref, o, k.dtype)
                    result.append(body.insert(new, k, [row.ref, at.ref]))
                return [body.value(f"arith.select {first}, {o}, {h.ref} : {h.type}", h.dtype)
                        for h, o in zip(held, old)] + result
            return counted_loop(w, e.index(0), bound, [element, own, *kept], swap)

        def begin(place: Value, kept: list[Value]) -> list[Value]:
            element, own, *kept = sift(place, place, kept)
            body = Scalars(e)
            return [body.insert(x.ref, k, [row.ref, place.ref]) for x, k in zip((element, own), kept)]

        def go_on(place: Value, kept: list[Value]) -> list[Value]:
            body = Scalars(e)
            element = body.extract(rows, [row.ref, place.ref])
            worst = body.extract(kept[0], [row.ref, body.constant(count - 1, INDEX)])
            enters = before(body, [element], [worst])
            bound = body.value(f"arith.select {enters}, {body.constant(count, INDEX)}, {body.constant(0, INDEX)} : index",
                               INDEX)
            return sift(place, bound, kept)[2:]
        carried = counted_loop(w, e.index(0), e.index(count), carried, begin)
        return counted_loop(w, e.index(count), e.index(n), carried, go_on)
    init = [e.empty([number, count], rows.dtype), e.empty([number, count], i32)]
    if number == 1:
        return each(e.index(0), init)
    return counted_loop(w, e.index(0), e.index(number), init, each)
