# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What PyTorch itself writes in simpler operations: its own decompositions, of all that has no rule here."""

from __future__ import annotations

import functools

import torch

from ..errors import FrontEndError
from . import places
from .rules import RULES


# Whose decomposition computes something else: with labels that end before the last (-1), the loss is larger.
_WRONG = {torch.ops.aten.multilabel_margin_loss_forward}


def _factors(a: torch.Tensor) -> tuple:
    """LU and pivots of a matrix, where its elements are in the order of rows of its transpose: gradients use them, and ask the same."""
    return torch.ops.aten.linalg_lu_factor_ex(a.mT if a.is_contiguous() else a)[:2]


def _solve(a, b, *, left=True, check_errors=False):
    lu, pivots, info = torch.ops.aten.linalg_lu_factor_ex(a)
    vector = b.dim() == 1 or b.dim() == a.dim() - 1 and b.shape == a.shape[:-1]
    x = torch.ops.aten.linalg_lu_solve(lu, pivots, b.unsqueeze(-1) if vector else b, left=left)
    return x.squeeze(-1) if vector else x, lu, pivots, info


def _signs(lu, pivots):
    """That of the permutation, and the diagonal."""
    swaps = (pivots != torch.arange(1, pivots.shape[-1] + 1, dtype=pivots.dtype)).sum(-1)
    return (1 - 2 * (swaps % 2)).to(lu.dtype), lu.diagonal(dim1=-2, dim2=-1)


def _determinant(a):
    lu, pivots = _factors(a)
    sign, diagonal = _signs(lu, pivots)
    return sign * diagonal.prod(-1), lu, pivots


def _log_determinant(a):
    lu, pivots = _factors(a)
    sign, diagonal = _signs(lu, pivots)
    return sign * diagonal.sign().prod(-1), diagonal.abs().log().sum(-1), lu, pivots


def _less(x, y, *, alpha=1):
    """By a factor that is only known in a run, which PyTorch asks whether it is 1."""
    return x.add(y, alpha=-alpha) if isinstance(alpha, torch.SymFloat) else NotImplemented


def _less_in_place(x, y, *, alpha=1):
    return x.add_(y, alpha=-alpha) if isinstance(alpha, torch.SymFloat) else NotImplemented


def _strided(x, size, stride, storage_offset=None):
    """By where elements lie in memory, which is another place later."""
    if not x.is_contiguous() or x.storage_offset() and storage_offset is not None:
        raise FrontEndError(f"{places.here()}as_strided must be of a tensor whose elements lie in order from the beginning of their memory, got: strides {list(x.stride())} of "
                            f"{list(x.shape)}, from {x.storage_offset()}; call contiguous() or clone() before it")
    return NotImplemented


# In the first trace, where the order of elements is still that of PyTorch.
BY_ORDER = {torch.ops.aten.as_strided.default: _strided, torch.ops.aten.sub.Tensor: _less, torch.ops.aten.sub_.Tensor: _less_in_place, torch.ops.aten._linalg_solve_ex.default: _solve, torch.ops.aten._linalg_det.default: _determinant,
            torch.ops.aten._linalg_slogdet.default: _log_determinant}


@functools.cache
def table() -> dict:
    """Operation -> decomposition."""
    from torch._decomp import decomposition_table

    def has_rule(op) -> bool:
        name = (op.name() if isinstance(op, torch._ops.OpOverload) else str(op)).replace("::", ".")
        return name in RULES or ".".join(name.split(".")[:2]) in RULES
    return {op: rule for op, rule in decomposition_table.items()
            if not has_rule(op) and getattr(op, "overloadpacket", op) not in _WRONG}
