# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the first steps of an eager model show of the times of its gradients, and the schedule that all ranks take of it."""

from __future__ import annotations

import json
import time
from typing import Sequence

import numpy as np
import torch

from ..posts import Posts
from .first_use import early, schedule


class Measured:
    """Seconds, by index of the parameters: of first uses in forward passes, and of gradients in backward passes. Those of the
    first step, in which much is made that stays, do not count where there are two more."""

    def __init__(self, parameters: "Sequence[torch.Tensor]"):
        self._parameters = parameters
        self._used: "list[list[float]]" = [[] for _ in parameters]
        self._ready: "list[list[float]]" = [[] for _ in parameters]
        self._leads: "list[list[float]]" = [[] for _ in parameters]  # by which a part was there before the whole
        self._parts: "dict[int, float]" = {}  # when
        self._backward = 0.0

    def use(self, index: int, seconds: float) -> None:
        """Since the forward pass has begun."""
        self._used[index].append(seconds)

    def part(self, index: int) -> None:
        """A part of a gradient is there now."""
        self._parts[index] = time.monotonic()

    def whole(self, index: int, first: bool) -> None:
        """A gradient is there now; the first one of a backward pass."""
        now = time.monotonic()
        if first:
            self._backward = now
        self._ready[index].append(now - self._backward)
        if index in self._parts:
            self._leads[index].append(now - self._parts.pop(index))

    def agree(self, posts: Posts) -> "tuple[list[list[int]], list[int]]":
        """On all ranks what rank 0 makes of what all have seen: which gradients go together, in the order in which they are urgent, and
        of which a part is sent before the whole is there."""
        def mean(times):
            return float(np.mean(times[-2:])) if times else -1.0
        own = np.array([[mean(t) for t in times] for times in (self._used, self._ready, self._leads)])
        all_ranks = np.empty((posts.size, *own.shape))
        posts.post("measured", own, "all_gather", output=all_ranks).wait()
        text = b""
        if posts.rank == 0:
            used, ready, leads = (list(np.where((times < 0).any(0), -1.0, times.mean(0))) for times in all_ranks.swapaxes(0, 1))
            sizes = [p.numel() * p.element_size() for p in self._parameters]
            ahead = [i for i in early(leads, ready, sizes) if self._parameters[i].dim() > 1 and not self._parameters[i].is_complex()]
            text = json.dumps([schedule(used, ready, sizes, [str(p.dtype) for p in self._parameters], ahead), ahead]).encode()
        length = np.array([len(text)], np.int64)
        posts.post("schedule's length", length, "broadcast").wait()
        data = np.frombuffer(text.ljust(int(length[0])), np.uint8).copy()
        posts.post("schedule", data, "broadcast").wait()
        units, ahead = json.loads(data.tobytes())
        return units, ahead
