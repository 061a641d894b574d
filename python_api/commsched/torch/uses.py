# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which modules of an eager model use which parameters, as the first forward passes show; and of that, what a module waits for."""

from __future__ import annotations

from typing import Callable, Collection, Mapping, Optional, Sequence

import torch
from torch import nn

from .early import node_of
from .first_use import FirstUse
from .measured import Measured
from .shared_buffers import SharedBuffers
from .units import Unit


class Uses:
    """Of the parameters, by index, of the modules of `root`. enter() and leave() are called around the forward pass of each module. A part of a gradient whose parameter is
    used several times is there where that of its last user's result is: watch_node(index, node, which) is told of it."""

    def __init__(self, root: nn.Module, modules: "Collection[nn.Module]", parameters: "Sequence[nn.Parameter]", buffers: SharedBuffers, measured: Measured,
                 watch_node: "Callable[..., None]"):
        self._root, self._modules, self._parameters, self._buffers = root, modules, parameters, buffers
        self._measured, self._watch_node = measured, watch_node
        self.stack: "list[nn.Module]" = []  # under way, the innermost last
        self._mode: Optional[FirstUse] = None
        self._users: "dict[int, list[nn.Module]]" = {}
        self._contributing: "dict[nn.Module, list[int]]" = {}  # whose parts are sent early
        self.waits: "dict[nn.Module, list[Unit]]" = {}  # for whose updates a module waits

    def begin(self) -> None:
        """A forward pass of the whole model that is measured."""
        self._mode = FirstUse([*self._parameters, *self._buffers.now()], self.stack)
        self._mode.__enter__()

    def leave(self, module: nn.Module, result: object) -> None:
        indices = self._contributing.get(module, [])
        if self._mode is not None:
            indices = [i for i, users in self._mode.users.items()
                       if i < len(self._parameters) and len(users) > 1 and users[-1] is module]
        for index in indices:
            found = node_of(result, self._parameters[index])
            if found is not None:
                self._watch_node(index, *found)
        while self.stack and self.stack.pop() is not module:
            pass
        if self.stack or self._mode is None:
            return
        mode, self._mode = self._mode, None
        mode.__exit__(None, None, None)
        for index, seconds in mode.seconds.items():
            if index >= len(self._parameters):
                self._buffers.used(mode.users[index])
                continue
            self._measured.use(index, seconds)
            known = self._users.setdefault(index, [])
            known += [user for user in mode.users[index] if user not in known]

    def scheduled(self, unit_of: "Mapping[int, Unit]", ahead: "Collection[int]") -> None:
        """What goes together is known now, and of which parts are sent early."""
        owners: "dict[int, list[nn.Module]]" = {i: list(users) for i, users in self._users.items()}
        indices = {id(p): i for i, p in enumerate(self._parameters)}
        for module in self._modules:
            for parameter in module.parameters(recurse=False):
                if id(parameter) in indices:
                    owners.setdefault(indices[id(parameter)], []).append(module)
        for index in ahead:
            for module in self._users.get(index, [])[-1:]:
                self._contributing.setdefault(module, []).append(index)
        self.waits = {}
        for index, unit in unit_of.items():
            # What is used outside of modules, or was not seen, is awaited when the model begins.
            for module in owners[index] if index in self._users else [self._root]:
                waits = self.waits.setdefault(module, [])
                if unit not in waits:
                    waits.append(unit)
