# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Updates of an eager model's parameters that wait for their gradients, from when step() was called to where a parameter is used next."""

from __future__ import annotations

import collections
import contextlib
from typing import Callable, Iterator, Sequence

import torch
from torch import nn

from ..errors import RuntimeFailure
from ..posts import Posts
from .agreed import Agreed
from .under_way import UnderWay
from .units import Unit
from .watching import gradient_of

# Of which updates wait: they, their optimizers and models stay until these are made, as other ranks wait for their messages too.
_pending: "set[Updates]" = set()


@contextlib.contextmanager
def _as_stepped(autocast: "tuple[bool, torch.dtype]") -> Iterator[None]:
    """Within it, updates are made as when step() was called, not as the forward pass is computed that waits for them. autocast: whether it was on, and its type."""
    with torch.inference_mode(False), torch.autocast("cpu", autocast[1], autocast[0]):
        yield


class Updates:
    """`update(parameters, groups)` makes those of some, with the optimizer's groups as they were when its step was called. by_optimizer: whether the optimizer itself looks
    at parameters and its state. failed: the ranks have ended with an error."""

    def __init__(self, posts: Posts, under_way: UnderWay, parameters: "Sequence[nn.Parameter]", agreed: Agreed, update: "Callable[[list[nn.Parameter], list], None]"):
        self._posts, self._under_way, self._parameters, self._agreed, self._update = posts, under_way, parameters, agreed, update
        self._waiting: "dict[int, Unit]" = {}  # by id
        places = collections.Counter(p.untyped_storage().data_ptr() for p in parameters)
        self._alone = [places[p.untyped_storage().data_ptr()] == 1 for p in parameters]  # others are written to where one of them is
        self._autocast = False, torch.float32
        self.by_optimizer, self.failed = False, False

    def __bool__(self) -> bool:
        """Whether some wait."""
        return bool(self._waiting)

    def wait(self, units: "list[Unit]", groups: list) -> None:
        """From step() on."""
        for unit in units:
            self._under_way.check_sent(unit)
            unit.groups = groups
            unit.gradients = {i: gradient_of(self._parameters[i]) for i in unit.members}
            unit.versions = {i: self._parameters[i]._version for i in unit.members if self._alone[i]}
            self._waiting[id(unit)] = unit
        self._autocast = torch.is_autocast_enabled("cpu"), torch.get_autocast_dtype("cpu")
        _pending.add(self)

    def agree(self) -> None:
        """All ranks make this step, in the same way; which is found before anything is updated by it."""
        with self.failing():
            self._agreed.check()

    @contextlib.contextmanager
    def failing(self) -> Iterator[None]:
        try:
            yield
        except RuntimeFailure:
            self.failed = True
            raise

    @contextlib.contextmanager
    def of_optimizer(self) -> Iterator[None]:
        """Within it the optimizer itself looks at parameters and its state, and waits for nothing."""
        before, self.by_optimizer = self.by_optimizer, True
        try:
            yield
        finally:
            self.by_optimizer = before

    def make_all(self) -> None:
        if self._waiting:
            self._make(list(self._waiting.values()))

    def make(self, units: "list[Unit]") -> None:
        with self.failing():
            self._make(units)

    def _make(self, units: "list[Unit]") -> None:
        """Waits for their gradients; meanwhile others' updates are made."""
        self.agree()
        wanted = {id(unit.posted): unit for unit in units}
        complete: "list[Unit]" = []  # whose updates are made together
        while wanted:
            posted = [unit.message() for unit in wanted.values()]
            one = self._posts.wait_any(posted, 0.0)
            if one is None:
                self._apply(complete)
                complete = []
                others = {id(unit.posted): unit for unit in self._waiting.values() if id(unit.posted) not in wanted}
                one = self._posts.wait_any(posted + [unit.message() for unit in others.values()])
                if id(one) in others:
                    self._apply([others[id(one)]])
                    continue
            complete.append(wanted.pop(id(one)))
        self._apply(complete)

    def _apply(self, units: "list[Unit]") -> None:
        """Updates by gradients that are complete, all of one step."""
        if not units:
            return
        for unit in units:
            self._under_way.check_parameters(unit)
        groups = units[0].groups or []
        changed = []
        for unit in units:
            self._under_way.finish(unit)
            unit.averaged, unit.groups = False, None
            del self._waiting[id(unit)]
            changed += [(self._parameters[i], gradient) for i, gradient in unit.gradients.items()]
            unit.gradients = {}
        now = [gradient_of(parameter) for parameter, _ in changed]
        for parameter, gradient in changed:
            parameter.grad = gradient
        with _as_stepped(self._autocast), self.of_optimizer():
            self._update([parameter for parameter, _ in changed], groups)
        for (parameter, _), gradient in zip(changed, now):
            parameter.grad = gradient
        if not self._waiting:
            _pending.discard(self)

    def close(self) -> None:
        _pending.discard(self)
