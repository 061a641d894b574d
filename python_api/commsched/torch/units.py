# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What gradients go as one message, and how far that is."""

from __future__ import annotations

from typing import Optional

import torch

from ..posts import Posted
from .early import Early


class Unit:
    """Gradients that go as one message; by index of their parameters."""

    def __init__(self, members: "list[int]", key: str, priority: int, flat: Optional[torch.Tensor] = None):
        self.members, self.key, self.priority, self.flat = members, key, priority, flat
        self.missing = set(members)  # of which there is no gradient yet
        self.posted: Optional[Posted] = None
        self.groups: Optional[list] = None  # of the optimizer, once step() was called
        self.gradients: "dict[int, torch.Tensor]" = {}  # then: what updates are made of
        self.copied: Optional[torch.Tensor] = None  # what is sent instead of a gradient that is not contiguous
        self.parts: "dict[int, torch.Tensor]" = {}  # of flat, in the shapes of parameters
        self.early: Optional[Early] = None  # of which a part is sent before the whole is ready
        self.averaged = False  # since the last step: what was there of all its gradients is means

    def message(self) -> Posted:
        """Of one that is under way."""
        assert self.posted is not None
        return self.posted
