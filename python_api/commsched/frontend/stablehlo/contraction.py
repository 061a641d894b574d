# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""dot_general: matrix products without physical transposes."""

from __future__ import annotations

import dataclasses
import math

from .ir import DType, Value
from .scalar import ADD, MULTIPLY, convert
from .walker import Walker, handles, numbers


@dataclasses.dataclass(frozen=True)
class Contraction:
    """result[out] = sum over the other loops of left[a] * right[b]; loops are numbers."""

    left: Value
    right: Value
    a: tuple[int, ...]
    b: tuple[int, ...]
    out: tuple[int, ...]
    loops: int


@handles("stablehlo.dot_general")
def _dot_general(w: Walker, op):
    from jax.extend.mlir.dialects import stablehlo
    d = stablehlo.DotDimensionNumbers(op.attributes["dot_dimension_numbers"])
    left, right = w.operands(op)
    shape, dtype = w.type_of(op.results[0])
    lb, rb = list(d.lhs_batching_dimensions), list(d.rhs_batching_dimensions)
    lc, rc = list(d.lhs_contracting_dimensions), list(d.rhs_contracting_dimensions)
    lf = [i for i in range(left.rank) if i not in lb + lc]
    rf = [i for i in range(right.rank) if i not in rb + rc]
    # Loops: batch, left free, right free, contracted.
    a, b = [0] * left.rank, [0] * right.rank
    at = 0
    for i, j in zip(lb, rb):
        a[i] = b[j] = at
        at += 1
    for i in lf:
        a[i] = at
        at += 1
    for j in rf:
        b[j] = at
        at += 1
    for i, j in zip(lc, rc):
        a[i] = b[j] = at
        at += 1
    left, a = _unviewed(left, a)
    right, b = _unviewed(right, b)
    result = emit(w, Contraction(left, right, tuple(a), tuple(b), tuple(range(len(shape))), at), shape, dtype)
    w.set(op, result)


def _unviewed(value: Value, loops):
    """Reads through a transposition."""
    if value.view is not None and value.view[0].rank == value.rank:
        source, index = value.view
        return source, [loops[i] for i in index]
    return value, loops


def permuted(w: Walker, value: Value, permutation) -> Value:
    """The same contraction with its result's dimensions permuted."""
    c = value.contraction
    assert c is not None, "of what emit() has made only"
    out = tuple(c.out[p] for p in permutation)
    return emit(w, dataclasses.replace(c, out=out), [value.shape[p] for p in permutation], value.dtype)


def emit(w: Walker, c: Contraction, shape, dtype: DType) -> Value:
    merged, sizes = _merged(w, c)
    result = w.e.reshape(_emit(w, merged, [sizes[i] for i in merged.out], dtype), shape)
    result.contraction = c
    return result


def _merged(w: Walker, c: Contraction) -> tuple[Contraction, list[int]]:
    """The same contraction with loops that are neighbours in every operand made one, and their sizes."""
    sizes = [0] * c.loops
    for value, loops in ((c.left, c.a), (c.right, c.b)):
        for i, n in zip(loops, value.shape):
            sizes[i] = n
    groups = [[i] for i in range(c.loops)]
    maps = [list(c.a), list(c.b), list(c.out)]

    def joined(i, j):
        for m in maps:
            if (i in m) != (j in m) or i in m and m.index(j) != m.index(i) + 1:
                return False
        return True
    for m in maps:
        for i, j in list(zip(m, m[1:])):
            first = next(g for g in groups if i in g)
            second = next(g for g in groups if j in g)
            if first is not second and first[-1] == i and second[0] == j and joined(i, j):
                first += second
                groups.remove(second)
    number = {g[0]: k for k, g in enumerate(groups)}
    total = [math.prod(sizes[i] for i in g) for g in groups]

    def renamed(loops):
        return tuple(number[i] for i in loops if i in number)
    a, b, out = (renamed(m) for m in maps)
    left = w.e.reshape(c.left, [total[i] for i in a])
    right = w.e.reshape(c.right, [total[i] for i in b])
    return Contraction(left, right, a, b, out, len(groups)), total


def _emit(w: Walker, c: Contraction, shape, dtype: DType) -> Value:
    e = w.e
    init = e.filled(e.number(0, dtype), shape)
    named = _named(c) if c.left.dtype.mlir == c.right.dtype.mlir == dtype.mlir else ""
    if named:
        return e.tensor(
            f"linalg.{named} ins({c.left.ref}, {c.right.ref} : {c.left.type}, {c.right.type}) "
            f"outs({init.ref} : {init.type}) -> {init.type}", shape, dtype, located=True)

    def write(body, ins, outs):
        x = convert(body, ins[0], c.left.dtype, dtype)
        y = convert(body, ins[1], c.right.dtype, dtype)
        product = MULTIPLY(body, [x, y], [dtype] * 2, dtype, None)
        return [ADD(body, [outs[0], product], [dtype] * 2, dtype, None)]

    def index(loops):
        return [f"d{i}" for i in loops]
    iterators = ["p" if i in c.out else "r" for i in range(c.loops)]
    return e.generic([(c.left, index(c.a)), (c.right, index(c.b))], [(init, index(c.out))], iterators, write)[0]


def _named(c: Contraction) -> str:
    """The named operation that this contraction is, if any."""
    if c.loops == 3 and len(c.a) == len(c.b) == len(c.out) == 2:
        (m, k), n = c.a, c.b[1]
        if c.b[0] == k and c.out == (m, n) and len({m, n, k}) == 3:
            return "matmul"
    if c.loops == 4 and len(c.a) == len(c.b) == len(c.out) == 3:
        (g, m, k), n = c.a, c.b[2]
        if c.b[:2] == (g, k) and c.out == (g, m, n) and len({g, m, n, k}) == 4:
            return "batch_matmul"
    return ""


@handles("stablehlo.dot")
def _dot(w: Walker, op):
    w.refuse(op, "no dimension numbers")
