# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What gradients go as one message, and how far that is."""

from __future__ import annotations

from typing import Callable, Mapping, Optional

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
        self.versions: "dict[int, int]" = {}  # then: how often the parameters were written to
        self.sent: "dict[int, tuple[torch.Tensor, int]]" = {}  # what is or will be in the message, and how often it was written to by then
        self.copied: Optional[torch.Tensor] = None  # what is sent instead of a gradient that is not contiguous
        self.parts: "dict[int, torch.Tensor]" = {}  # of flat, in the shapes of parameters
        self.early: Optional[Early] = None  # of which a part is sent before the whole is ready
        self.averaged = False  # since the last step: what was there of all its gradients is means

    def message(self) -> Posted:
        """Of one that is under way."""
        assert self.posted is not None
        return self.posted

    def put(self, index: int, gradient: torch.Tensor) -> None:
        """One that is there now."""
        self.missing.discard(index)
        self.sent[index] = (gradient, gradient._version)
        if self.flat is not None:
            with torch.no_grad():  # also of one that has a graph of its own
                self.parts[index].copy_(gradient)

    def fill(self, means: "Mapping[int, torch.Tensor]") -> None:
        """With these in place of gradients that are not there, and zeros of all others."""
        for index in self.missing - means.keys():
            self.parts[index].zero_()
        for index, gradient in means.items():
            self.put(index, gradient)
        self.missing = set()

    def changed(self, now: "Callable[[int], Optional[torch.Tensor]]") -> Optional[int]:
        """A parameter whose gradient is another one than what is sent: another tensor, or written to since."""
        return next((i for i, (sent, version) in self.sent.items() if sent._version != version or now(i) is not sent), None)

    def forget(self, now: "Callable[[int], Optional[torch.Tensor]]") -> None:
        """What has changed since it was put is missing again."""
        for i in [i for i, (sent, version) in self.sent.items() if sent._version != version or now(i) is not sent]:
            del self.sent[i]
            self.missing.add(i)

    def take(self) -> "list[int]":
        """What has arrived is in the gradients that were sent, and the next ones are missing. Returns those that others have sent only."""
        sent = [i for i in self.members if i in self.sent]
        gradients = [self.sent[i][0] for i in sent]
        with torch.no_grad():
            if self.early is not None:
                self.early.finish(gradients[0] if self.copied is None else self.copied)
            if self.flat is not None and self.flat.is_complex():  # of which some may be conjugates
                for i, gradient in zip(sent, gradients):
                    gradient.copy_(self.parts[i])
            elif self.flat is not None:
                torch._foreach_copy_(gradients, [self.parts[i] for i in sent])
            elif self.copied is not None:
                gradients[0].copy_(self.copied)
                self.copied = None
        lacking = [i for i in self.members if i not in self.sent and self.parts[i].any()]
        self.posted, self.missing, self.averaged, self.sent = None, set(self.members), True, {}
        return lacking
