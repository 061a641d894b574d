# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a few steps show of a model's parameters: when each is used first, by which module, and when its gradient is there;
and the schedule that is made of it."""

from __future__ import annotations

import time
from typing import Any, Sequence

import torch
from torch import nn
from torch.overrides import TorchFunctionMode

FUSED_BYTES = 256 << 10  # of gradients that go as one message
SPREAD = 0.1  # of the backward pass, within which they must be ready
EARLY = 0.1  # of the backward pass, that a part must be there before the whole to be sent
EARLY_BYTES = FUSED_BYTES  # that a gradient of which a part is sent has at least


class FirstUse(TorchFunctionMode):
    """Sees the calls of one forward pass. `stack`: the modules under way, the innermost last."""

    def __init__(self, parameters: Sequence[nn.Parameter], stack: "list[nn.Module]"):
        super().__init__()
        self._indices, self._stack = {id(p): i for i, p in enumerate(parameters)}, stack
        self._begun = time.monotonic()
        self.seconds: "dict[int, float]" = {}
        self.users: "dict[int, list[nn.Module]]" = {}

    def __torch_function__(self, function, types, args=(), kwargs=None):
        if getattr(function, "__name__", "") != "__get__":  # a shape or type is no use
            self._see(args)
            if kwargs:
                self._see(kwargs.values())
        return function(*args, **(kwargs or {}))

    def _see(self, values: Any) -> None:
        for value in values:
            if isinstance(value, torch.Tensor):
                index = self._indices.get(id(value))
                if index is not None:
                    self.seconds.setdefault(index, time.monotonic() - self._begun)
                    users = self.users.setdefault(index, [])
                    if self._stack and self._stack[-1] not in users:
                        users.append(self._stack[-1])
            elif isinstance(value, (list, tuple)):
                self._see(value)


def schedule(used: Sequence[float], ready: Sequence[float], sizes: Sequence[int], types: Sequence[str],
             alone: Sequence[int] = ()) -> "list[list[int]]":
    """Which gradients go together, and in which order they are urgent.

    used, ready: seconds, by parameter: of its first use in a forward pass, and of its gradient in a backward pass; negative
    if it has none. sizes: bytes. types: of the elements. alone: which go with no others.
    Returns lists of indices: what is used first comes first. Few bytes that are ready at about the same time are one list.
    """
    span = max((r for r in ready), default=0.0) * SPREAD
    units: "list[list[int]]" = []
    for index in sorted((i for i, r in enumerate(ready) if r >= 0), key=lambda i: (used[i] < 0, used[i], i)):
        unit = units[-1] if units else []
        together = unit + [index]
        times = [ready[i] for i in together]
        if (unit and not {unit[0], index} & {*alone} and len({types[i] for i in together}) == 1 and sum(sizes[i] for i in together) <= FUSED_BYTES
                and max(times) - min(times) <= span):
            unit.append(index)
        else:
            units.append([index])
    return units


def early(leads: Sequence[float], ready: Sequence[float], sizes: Sequence[int]) -> "list[int]":
    """Of which gradients a part is sent before they are ready. leads: seconds, by parameter, that a part is there before the
    whole; negative if none is. The others as of schedule()."""
    span = max((r for r in ready), default=0.0) * EARLY
    return [i for i, lead in enumerate(leads) if ready[i] >= 0 and lead >= 0 and lead >= span and sizes[i] >= EARLY_BYTES]
