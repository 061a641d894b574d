# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tensors of an eager model on their way from rank 0 to the others."""

from __future__ import annotations

from typing import Sequence

import torch

from ..posts import Posted, Posts

URGENT = -1  # before all gradients, whose priorities begin with 0
PART_BYTES = 1 << 20  # of tensors that go as one message


class FromRank0:
    """send() copies rank 0's values, which may change then, and does not wait; take() waits, and gives them to the other ranks'
    tensors; settle() waits on rank 0 until they are gone."""

    def __init__(self, posts: Posts):
        self._posts = posts
        self._arriving: "list[tuple[list[torch.Tensor], torch.Tensor, Posted]]" = []  # nothing on rank 0
        self._leaving: "list[Posted]" = []  # on rank 0

    @property
    def arriving(self) -> bool:
        return bool(self._arriving)

    def send(self, tensors: Sequence[torch.Tensor], what: str) -> None:
        """Ahead of what else is under way; small ones of a type go together. All ranks."""
        self.take()
        self.settle()
        parts: "list[list[torch.Tensor]]" = []
        for tensor in sorted(tensors, key=lambda t: str(t.dtype)):
            part = parts[-1] if parts else []
            if part and part[0].dtype == tensor.dtype and sum(t.nbytes for t in (*part, tensor)) <= PART_BYTES:
                part.append(tensor)
            else:
                parts.append([tensor])
        with torch.no_grad(), torch._C.DisableTorchFunction():  # who watches uses sees none in this
            for number, some in enumerate(parts):
                flat = torch.cat([torch.Tensor.detach(tensor).reshape(-1) for tensor in some])
                posted = self._posts.post(f"{what} {number}", flat, "broadcast", priority=URGENT)
                if self._posts.rank == 0:
                    self._leaving.append(posted)
                else:
                    self._arriving.append((some, flat, posted))

    def take(self) -> None:
        while self._arriving:
            some, flat, posted = self._arriving[0]
            posted.wait()
            del self._arriving[0]
            with torch.no_grad(), torch._C.DisableTorchFunction():
                parts = flat.split([tensor.numel() for tensor in some])
                torch._foreach_copy_([torch.Tensor.detach(tensor) for tensor in some], [part.view(t.shape) for part, t in zip(parts, some)])

    def settle(self) -> None:
        while self._leaving:
            self._leaving[0].wait()
            del self._leaving[0]
