# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Factors of matrices, systems of equations, determinants, exponentials of matrices. Pivots count from 1, as in PyTorch."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import lax

from ...frontend.rules import NoRule
from .table import Operation, rule


def _transposed(x):
    return jnp.swapaxes(x, -1, -2)


def _ok(a):
    """That nothing has failed: in a program, nobody looks."""
    return jnp.zeros(a.shape[:-2], jnp.int32)


def _real(a):
    if jnp.iscomplexobj(a):
        raise NoRule("complex numbers")


def _factors(a):
    """LU in one matrix, and pivots."""
    _real(a)
    lu, pivots, _ = lax.linalg.lu(a)
    return lu, pivots.astype(jnp.int32) + 1


def _order(pivots, rows: int):
    """The rows of A that those of L U are."""
    return lax.linalg.lu_pivots_to_permutation(pivots.astype(jnp.int32) - 1, rows)


def _triangular(a, b, lower: bool, left: bool = True, transposed: bool = False, unit: bool = False):
    _real(a)
    batch = jnp.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    a, b = (jnp.broadcast_to(x, (*batch, *x.shape[-2:])) for x in (a, b))
    return lax.linalg.triangular_solve(a, b, left_side=left, lower=lower, transpose_a=transposed, unit_diagonal=unit)


def _solved(lu, pivots, b, adjoint: bool = False):
    """X of A X = B, or of A^T X = B."""
    batch = jnp.broadcast_shapes(lu.shape[:-2], b.shape[:-2])
    lu, b = (jnp.broadcast_to(x, (*batch, *x.shape[-2:])) for x in (lu, b))
    order = jnp.broadcast_to(_order(pivots, lu.shape[-1]), (*batch, lu.shape[-1]))
    if adjoint:
        y = _triangular(lu, _triangular(lu, b, False, transposed=True), True, transposed=True, unit=True)
        return jnp.take_along_axis(y, jnp.argsort(order, axis=-1)[..., None], axis=-2)
    b = jnp.take_along_axis(b, order[..., None], axis=-2)
    return _triangular(lu, _triangular(lu, b, True, unit=True), False)


@rule("aten.linalg_cholesky_ex")
def _cholesky(op: Operation, a, *, upper=False, check_errors=False):
    _real(a)
    factor = lax.linalg.cholesky(_transposed(a) if upper else a, symmetrize_input=False)
    return _transposed(factor) if upper else factor, _ok(a)


@rule("aten.linalg_lu_factor_ex")
def _lu_factor(op: Operation, a, *, pivot=True, check_errors=False):
    if not pivot:
        raise NoRule("without pivots")
    return *_factors(a), _ok(a)


@rule("aten.lu_unpack")
def _unpacked(op: Operation, lu, pivots, unpack_data=True, unpack_pivots=True):
    rows, columns = lu.shape[-2:]
    k = min(rows, columns)
    order = _order(pivots, rows)
    identity = jnp.eye(rows, dtype=lu.dtype)
    p = jnp.swapaxes(identity[order], -1, -2) if unpack_pivots else jnp.zeros((0,), lu.dtype)
    if not unpack_data:
        return p, jnp.zeros((0,), lu.dtype), jnp.zeros((0,), lu.dtype)
    return p, jnp.tril(lu[..., :k], -1) + jnp.eye(rows, k, dtype=lu.dtype), jnp.triu(lu[..., :k, :])


@rule("aten.linalg_lu_solve")
def _lu_solve(op: Operation, lu, pivots, b, *, left=True, adjoint=False):
    return _solved(lu, pivots, b, adjoint) if left else _transposed(_solved(lu, pivots, _transposed(b), not adjoint))


@rule("aten.linalg_inv_ex")
def _inverse(op: Operation, a, *, check_errors=False):
    lu, pivots = _factors(a)
    return _solved(lu, pivots, jnp.broadcast_to(jnp.eye(a.shape[-1], dtype=a.dtype), a.shape)), _ok(a)


@rule("aten.linalg_solve_triangular")
def _solve_triangular(op: Operation, a, b, *, upper, left=True, unitriangular=False):
    return _triangular(a, b, not upper, left, unit=unitriangular)


@rule("aten.triangular_solve")
def _older_triangular(op: Operation, b, a, upper=True, transpose=False, unitriangular=False):
    return _triangular(a, b, not upper, transposed=transpose, unit=unitriangular), a


@rule("aten.cholesky_solve")
def _cholesky_solve(op: Operation, b, factor, upper=False):
    lower = _transposed(factor) if upper else factor
    return _triangular(lower, _triangular(lower, b, True), True, transposed=True)


@rule("aten.cholesky_inverse")
def _cholesky_inverse(op: Operation, factor, upper=False):
    return _cholesky_solve(op, jnp.broadcast_to(jnp.eye(factor.shape[-1], dtype=factor.dtype), factor.shape), factor, upper)


@rule("aten.linalg_qr")
def _qr(op: Operation, a, mode="reduced"):
    _real(a)
    if mode == "r":
        return jnp.zeros((0,), a.dtype), jnp.linalg.qr(a, mode="r")
    return tuple(jnp.linalg.qr(a, mode=mode))


@rule("aten.linalg_matrix_exp")
def _exponential(op: Operation, a):
    _real(a)
    return jax.scipy.linalg.expm(a, max_squarings=32) if a.shape[-1] else a


@rule("aten.linalg_householder_product")
def _householder(op: Operation, a, tau):
    _real(a)
    return lax.linalg.householder_product(a, tau)


@rule("aten._linalg_check_errors")
def _checked(op: Operation, info, name, *, is_matrix):
    """Nobody looks: what is singular makes what is no number."""
    return None


@rule("aten.linalg_lu")
def _lu(op: Operation, a, *, pivot=True):
    if not pivot:
        raise NoRule("without pivots")
    return _unpacked(op, *_factors(a))
