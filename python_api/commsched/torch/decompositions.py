# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What PyTorch itself writes in simpler operations: its own decompositions, of all that has no rule here."""

from __future__ import annotations

import functools

import torch

from .rules import RULES


# Whose decomposition computes something else: with labels that end before the last (-1), the loss is larger.
_WRONG = {torch.ops.aten.multilabel_margin_loss_forward}


@functools.cache
def table() -> dict:
    """Operation -> decomposition."""
    from torch._decomp import decomposition_table

    def has_rule(op) -> bool:
        name = (op.name() if isinstance(op, torch._ops.OpOverload) else str(op)).replace("::", ".")
        return name in RULES or ".".join(name.split(".")[:2]) in RULES
    return {op: rule for op, rule in decomposition_table.items()
            if not has_rule(op) and getattr(op, "overloadpacket", op) not in _WRONG}
