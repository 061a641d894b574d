# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Factors of matrices, for which JAX calls LAPACK: Cholesky, LU, QR, and systems of triangular matrices.

Each is the textbook's loop over columns, of every matrix of a batch; signs, pivots and numbers of what failed are those of
LAPACK (Golub and Van Loan, Matrix Computations, chapters 3 to 5).
"""

from __future__ import annotations

import functools
from typing import Callable

import jax
import jax.numpy as jnp
from jax import lax

from .library import inline
from .walker import Walker, handles, handles_call


def _letter(op, name: str) -> str:
    """An option of LAPACK: the character whose code is in the backend_config."""
    return chr(op.attributes["mhlo.backend_config"][name].value)


def _emit(w: Walker, op, function: Callable) -> None:
    """function is of single matrices."""
    operands = w.operands(op)
    for _ in range(operands[0].rank - 2):
        function = jax.vmap(function)
    if any(not v.dtype.is_float or v.dtype.width < 32 for v in operands):
        w.refuse(op, f"elements of {operands[0].dtype.mlir}")
    w.set(op, *inline(w, function, operands))


@handles_call("lapack_spotrf_ffi", "lapack_dpotrf_ffi")
def _potrf(w: Walker, op):
    _emit(w, op, functools.partial(cholesky, lower=_letter(op, "uplo") == "L"))


@handles("stablehlo.cholesky")
def _cholesky(w: Walker, op):
    lower = "lower" not in op.attributes or op.attributes["lower"].value

    def factor(a):
        return cholesky(a, lower=lower)[0]
    _emit(w, op, factor)


@handles_call("lapack_strsm_ffi", "lapack_dtrsm_ffi")
def _trsm(w: Walker, op):
    _emit(w, op, functools.partial(triangular_solve, left=_letter(op, "side") == "L", lower=_letter(op, "uplo") == "L",
                                   transposed=_letter(op, "trans_x") != "N", unit=_letter(op, "diag") == "U"))


@handles("stablehlo.triangular_solve")
def _triangular_solve(w: Walker, op):
    def given(name):
        return op.attributes[name].value
    transposed = "NO_TRANSPOSE" not in str(op.attributes["transpose_a"])
    _emit(w, op, functools.partial(triangular_solve, left=given("left_side"), lower=given("lower"),
                                   transposed=transposed, unit=given("unit_diagonal")))


@handles_call("lapack_sgetrf_ffi", "lapack_dgetrf_ffi")
def _getrf(w: Walker, op):
    _emit(w, op, lu)


@handles_call("lapack_sgeqrf_ffi", "lapack_dgeqrf_ffi")
def _geqrf(w: Walker, op):
    _emit(w, op, reflections)


@handles_call("lapack_sorgqr_ffi", "lapack_dorgqr_ffi")
def _orgqr(w: Walker, op):
    _emit(w, op, product_of_reflections)


def _numbers(count: int) -> jax.Array:
    return lax.iota(jnp.int32, count)


def _loop(count: int, body: Callable, start):
    return lax.fori_loop(jnp.int32(0), jnp.int32(count), body, start)


def cholesky(a: jax.Array, *, lower: bool) -> tuple[jax.Array, jax.Array]:
    """The factor in its triangle of the matrix, and 0 or the number of the first leading minor that is not positive."""
    n = a.shape[0]
    source = a if lower else a.T
    row = _numbers(n)

    def column(j, carried):
        factor, failed = carried
        rest = source[:, j] - factor @ factor[j]
        pivot = rest[j]
        failed = jnp.where((failed == 0) & ~(pivot > 0), j + jnp.int32(1), failed)
        root = jnp.sqrt(pivot)
        return factor.at[:, j].set(jnp.where(row > j, rest / root, jnp.where(row == j, root, 0))), failed
    factor, failed = _loop(n, column, (jnp.zeros_like(a), jnp.int32(0)))
    whole = jnp.where(row[:, None] >= row, factor, source)
    return whole if lower else whole.T, failed


def triangular_solve(a: jax.Array, b: jax.Array, *, left: bool, lower: bool, transposed: bool, unit: bool) -> jax.Array:
    """x of op(a) x = b, or of x op(a) = b, where op transposes or not, and only one triangle of a is read."""
    if not left:
        return triangular_solve(a, b.T, left=True, lower=lower, transposed=not transposed, unit=unit).T
    if transposed:
        a, lower = a.T, not lower
    if not lower:  # from the last row to the first
        return triangular_solve(a[::-1, ::-1], b[::-1], left=True, lower=True, transposed=False, unit=unit)[::-1]

    def row(i, x):
        value = b[i] - a[i] @ x  # rows of x from i on are zero
        return x.at[i].set(value if unit else value / a[i, i])
    n = a.shape[0]
    a = jnp.where(_numbers(n)[:, None] >= _numbers(n), a, 0)
    return _loop(n, row, jnp.zeros_like(b))


def lu(a: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
    """L below the diagonal, whose own is of ones, and U; with what each row was exchanged, from 1; 0 or the number of the
    first pivot that is zero."""
    m, n = a.shape
    row, column = _numbers(m), _numbers(n)

    def step(k, carried):
        a, pivots, failed = carried
        best = jnp.argmax(jnp.where(row >= k, jnp.abs(a[:, k]), -1)).astype(jnp.int32)
        a = a[jnp.where(row == k, best, jnp.where(row == best, k, row))]
        pivot = a[k, k]
        failed = jnp.where((failed == 0) & (pivot == 0), k + jnp.int32(1), failed)
        scale = jnp.where((row > k) & (pivot != 0), a[:, k] / jnp.where(pivot == 0, 1, pivot), 0)
        below = jnp.where(column > k, a[k], 0)
        a = jnp.where((row[:, None] > k) & (column == k) & (pivot != 0), scale[:, None], a - scale[:, None] * below)
        return a, pivots.at[k].set(best + jnp.int32(1)), failed
    count = min(m, n)
    return _loop(count, step, (a, jnp.zeros(count, jnp.int32), jnp.int32(0)))


def reflections(a: jax.Array) -> tuple[jax.Array, jax.Array]:
    """R, and below the diagonal the vectors v of reflections 1 - tau v v', whose first element is 1; the taus."""
    m, n = a.shape
    row, column = _numbers(m), _numbers(n)

    def step(k, carried):
        a, taus = carried
        head, tail = a[k, k], jnp.where(row > k, a[:, k], 0)
        size = jnp.max(jnp.abs(tail))  # squares of what is scaled neither overflow nor vanish
        scaled = tail / jnp.where(size > 0, size, 1)
        rest = size * jnp.sqrt(jnp.sum(scaled * scaled))
        whole = jnp.hypot(head, rest)
        beta = jnp.where(head >= 0, -whole, whole)
        trivial = rest == 0
        tau = jnp.where(trivial, 0, (beta - head) / jnp.where(trivial, 1, beta))
        v = jnp.where(row == k, 1, tail / jnp.where(trivial, 1, head - beta))
        others = jnp.where(column > k, v @ a, 0)
        changed = a - tau * v[:, None] * others
        own = jnp.where(row == k, jnp.where(trivial, head, beta), jnp.where(row > k, v, a[:, k]))
        return changed.at[:, k].set(own), taus.at[k].set(tau)
    return _loop(min(m, n), step, (a, jnp.zeros(min(m, n), a.dtype)))


def product_of_reflections(a: jax.Array, taus: jax.Array) -> jax.Array:
    """The first columns of the product of the reflections that reflections() gives."""
    m, n = a.shape
    row, count = _numbers(m), taus.shape[0]

    def step(i, q):
        k = jnp.int32(count - 1) - i
        v = jnp.where(row == k, 1, jnp.where(row > k, a[:, k], 0)).astype(a.dtype)
        return q - taus[k] * v[:, None] * (v @ q)
    return _loop(count, step, jnp.eye(m, n, dtype=a.dtype))
