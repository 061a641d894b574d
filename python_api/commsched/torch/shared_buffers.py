# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Buffers of an eager model, such as running statistics: those of rank 0 at the beginning of a training step, as DistributedDataParallel has it."""

from __future__ import annotations

from typing import Any, Callable, Iterable

import torch
from torch import nn

from ..posts import Posts
from .from_rank_0 import FromRank0
from .watching import Hook


class SharedBuffers:
    """share(): from then on; until then, and of a model without buffers, take() has nothing to wait for. users: the modules that wait for them, which have some, or
    were seen to use one."""

    def __init__(self, model: nn.Module, posts: Posts):
        self.values = FromRank0(posts)
        self._modules = list(model.modules())
        self._sent: "list[int]" = []  # ids, of the last ones
        self.users = {module for module in self._modules if isinstance(module, torch.jit.ScriptModule) or any(b is not None for b in module._buffers.values())}

    def now(self) -> "list[torch.Tensor]":
        """Modules may put others in their place: self.mean = 0.9 * self.mean + ..."""
        with torch._C.DisableTorchFunction():  # who watches uses sees none in this
            found = {id(b): b for module in self._modules for b in module._buffers.values() if b is not None and b.numel()}
        return list(found.values())

    @property
    def arriving(self) -> bool:
        return self.values.arriving

    def send(self) -> bool:
        """At the beginning of a forward pass, on all ranks. Whether they may be awaited later, as they are the tensors that they were."""
        buffers = self.now()
        self.values.send(buffers, "buffer")
        before, self._sent = self._sent, list(map(id, buffers))
        return before == self._sent

    def hook(self, begin: Callable[[], None], accumulating: Callable[[], bool]) -> Hook:
        """Before each forward pass of the model, which calls `begin` in those that train."""
        synchronized = [True]  # the pass before, as DistributedDataParallel has it

        def of_rank_0(module: nn.Module, arguments: Any) -> None:
            if torch.is_grad_enabled() and any(part.training for part in self._modules):
                if synchronized[0]:
                    begin()
                synchronized[0] = not accumulating()
        return Hook(of_rank_0)

    def used(self, modules: "Iterable[nn.Module]") -> None:
        self.users.update(modules)
