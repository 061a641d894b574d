# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Gradients of an eager model on their way: posted as they become ready, awaited where their parameters are used next."""

from __future__ import annotations

import json
import sys
import time
from typing import Callable, Optional

import numpy as np
import torch
from torch import nn

from ..errors import RuntimeFailure
from ..posts import Posted, Posts
from .first_use import FirstUse, schedule
from .watching import Hook, in_backward, watch

MEASURED = 3  # steps
URGENT = -1  # before all gradients, whose priorities begin with 0
BROADCAST_BYTES = 1 << 20

# Of which updates wait: they, their optimizers and models stay until these are made, as other ranks wait for their messages too.
_pending: "set[Gradients]" = set()


class Unit:
    """Gradients that go as one message; by index of their parameters."""

    def __init__(self, members: "list[int]", key: str, priority: int, flat: Optional[torch.Tensor] = None):
        self.members, self.key, self.priority, self.flat = members, key, priority, flat
        self.missing = set(members)  # of which there is no gradient yet
        self.posted: Optional[Posted] = None
        self.groups: Optional[list] = None  # of the optimizer, once step() was called
        self.gradients: "dict[int, torch.Tensor]" = {}  # then: what updates are made of
        self.copied: Optional[torch.Tensor] = None  # what is sent instead of a gradient that is not contiguous

    def message(self) -> Posted:
        """Of one that is under way."""
        assert self.posted is not None
        return self.posted


class Gradients:
    """Of the parameters of `model`, means over the ranks of `posts`; `update(parameters, groups)` makes the updates of some
    with the optimizer's groups as they were when its step was called."""

    def __init__(self, model: nn.Module, posts: Posts, update: "Callable[[list[nn.Parameter], list], None]"):
        self.posts, self._update = posts, update
        named = [(name, p) for name, p in model.named_parameters() if p.requires_grad]
        self.names, self.parameters = [name for name, _ in named], [p for _, p in named]
        self._modules = dict(model.named_modules())
        self.steps, self.accumulating = 0, False
        self.units = [Unit([i], name, 0) for i, name in enumerate(self.names)]
        self.unit_of = {i: unit for i, unit in enumerate(self.units)}
        self._expected: Optional[set] = None  # that have gradients
        self._waiting: "dict[int, Unit]" = {}  # whose updates are still to be made, by id
        self._failed = False  # the ranks have ended with an error
        self._stack: "list[nn.Module]" = []
        self._mode: Optional[FirstUse] = None
        self._users: "dict[int, list[nn.Module]]" = {}
        self._used: "list[list[float]]" = [[] for _ in named]
        self._ready: "list[list[float]]" = [[] for _ in named]
        self._backward = 0.0
        self._waits: "dict[nn.Module, list[int]]" = {}
        self._told = False
        self._hooks: list = []
        self._root = model
        def me():
            return self
        for index, parameter in enumerate(self.parameters):
            self._hooks.append(parameter.register_hook(lambda gradient, i=index: me()._before(i)))
            self._hooks.append(parameter.register_post_accumulate_grad_hook(lambda p, i=index: me()._accumulated(i)))
        self._entering: "list[Hook]" = []
        for module in self._modules.values():
            self._entering.append(Hook(lambda m, a: me()._enter(m)))
            self._hooks.append(module.register_forward_pre_hook(self._entering[-1]))
            self._hooks.append(module.register_forward_hook(Hook(lambda m, a, r: me()._leave(m)), always_call=True))
            self._hooks.append(module.register_state_dict_pre_hook(Hook(lambda *_: me().update_all())))
            self._hooks.append(module.register_load_state_dict_pre_hook(Hook(lambda *_: me().update_all())))
        self._indices = {id(p): i for i, p in enumerate(self.parameters)}
        self._unwatch = watch(self, self._modules.values(), self.parameters)

    @property
    def measuring(self) -> bool:
        return self.steps < MEASURED

    def compiled(self) -> bool:
        """Whether a part of the model runs as torch.compile has made it: nobody waits there."""
        if not self._compiled and any(hook.compiled for hook in self._entering):
            self._compiled = True
            self._tell("the model runs as torch.compile has made it: each step waits for all gradients")
        return self._compiled

    _compiled = False

    # ---- backward ------------------------------------------------------------------------
    def _before(self, index: int) -> None:
        """A gradient is about to be added to what is there."""
        unit = self.unit_of.get(index)
        if unit is None:
            raise RuntimeFailure(f"parameter {self.names[index]!r} must be used in the first {MEASURED} steps, got: in step {self.steps} first")
        if unit.groups is not None:
            raise RuntimeFailure(f"parameter {self.names[index]!r} must be used in the forward pass of the model, got: a use before its update")
        if unit.posted is not None:
            self._finish(unit)

    def _accumulated(self, index: int) -> None:
        if self.accumulating:
            return
        unit, gradient = self.unit_of[index], self.parameters[index].grad
        if gradient.layout != torch.strided:
            raise RuntimeFailure(f"gradient of {self.names[index]!r} must be dense, got: {gradient.layout}")
        if self.measuring:
            now = time.monotonic()
            if all(len(u.missing) == len(u.members) and u.posted is None for u in self.units):
                self._backward = now
            self._ready[index].append(now - self._backward)
        unit.missing.discard(index)
        if unit.flat is not None:
            self._part(unit, index).copy_(gradient.reshape(-1))
        if not unit.missing:
            dense = unit.flat if unit.flat is not None else gradient if gradient.is_contiguous() else gradient.contiguous()
            unit.copied = dense if dense is not gradient else None
            unit.posted = self.posts.post(f"gradient {unit.key}", dense, combine="mean", priority=unit.priority)

    def _part(self, unit: Unit, index: int) -> torch.Tensor:
        assert unit.flat is not None
        at = 0
        for member in unit.members:
            count = self.parameters[member].numel()
            if member == index:
                return unit.flat[at:at + count]
            at += count
        raise AssertionError(index)

    def _finish(self, unit: Unit) -> None:
        """Its means are in the parameters' gradients."""
        unit.message().wait()
        unit.posted = None
        unit.missing = set(unit.members)
        with torch.no_grad():
            for index in unit.members:
                gradient = self.parameters[index].grad if unit.groups is None else unit.gradients[index]
                if unit.flat is not None:
                    gradient.copy_(self._part(unit, index).view(gradient.shape))
                elif unit.copied is not None:
                    gradient.copy_(unit.copied)

    # ---- the optimizer's step ------------------------------------------------------------
    def step(self, groups: list) -> bool:
        """Whether all gradients are complete now, and the optimizer is to make its step at once; else updates wait for their
        parameters' next uses."""
        self.update_all()
        ready = {i for unit in self.units for i in unit.members if unit.posted is not None or i not in unit.missing}
        if self._expected is not None and not self._finished and ready != self._expected:
            name = self.names[min(ready ^ self._expected)]
            raise RuntimeFailure(f"parameter {name!r} must have a gradient in every step or in none, got: {'one' if ready > self._expected else 'none'} in step {self.steps}")
        at_once = self.measuring or self._finished or self.compiled()
        if at_once:
            self.finish_all()
        else:
            for unit in self.units:
                if unit.posted is not None:
                    unit.groups = groups
                    unit.gradients = {i: self.parameters[i].grad for i in unit.members}
                    self._waiting[id(unit)] = unit
            _pending.add(self)
        self._finished = False
        self.steps += 1
        return at_once

    _finished = False  # this step's gradients are complete, before step()

    def measured(self) -> None:
        """After the last step that is measured: all ranks take the schedule that rank 0 makes of what all have seen."""
        def mean(times):
            return float(np.mean(times[-2:])) if times else -1.0
        own = np.array([[mean(t) for t in self._used], [mean(t) for t in self._ready]])
        all_ranks = np.empty((self.posts.size, *own.shape))
        self.posts.post("measured", own, "all_gather", output=all_ranks).wait()
        text = b""
        if self.posts.rank == 0:
            used, ready = (np.where((times < 0).any(0), -1.0, times.mean(0)) for times in (all_ranks[:, 0], all_ranks[:, 1]))
            sizes = [p.numel() * p.element_size() for p in self.parameters]
            text = json.dumps(schedule(list(used), list(ready), sizes, [str(p.dtype) for p in self.parameters])).encode()
        length = np.array([len(text)], np.int64)
        self.posts.post("schedule's length", length, "broadcast").wait()
        data = np.frombuffer(text.ljust(int(length[0])), np.uint8).copy()
        self.posts.post("schedule", data, "broadcast").wait()
        self._take(json.loads(data.tobytes()))

    def _take(self, units: "list[list[int]]") -> None:
        self.units = []
        for priority, members in enumerate(units):
            first = self.parameters[members[0]]
            flat = torch.empty(sum(self.parameters[i].numel() for i in members), dtype=first.dtype) if len(members) > 1 else None
            key = self.names[members[0]] + (f" and {len(members) - 1} more" if len(members) > 1 else "")
            self.units.append(Unit(members, key, priority, flat))
        self.unit_of = {i: unit for unit in self.units for i in unit.members}
        self._expected = set(self.unit_of)
        owners: "dict[int, list[nn.Module]]" = {i: list(users) for i, users in self._users.items()}
        indices = {id(p): i for i, p in enumerate(self.parameters)}
        for module in self._modules.values():
            for parameter in module.parameters(recurse=False):
                if id(parameter) in indices:
                    owners.setdefault(indices[id(parameter)], []).append(module)
        self._waits = {}
        for index in self._expected:
            # What is used outside of modules, or was not seen, is awaited when the model begins.
            for module in owners[index] if index in self._users else [self._root]:
                self._waits.setdefault(module, []).append(index)

    # ---- forward -------------------------------------------------------------------------
    def _enter(self, module: nn.Module) -> None:
        if module is self._root and not self._stack and self.measuring and torch.is_grad_enabled():
            self._mode = FirstUse(self.parameters, self._stack)
            self._mode.__enter__()
        if self._waiting:
            if not self._stack and module is not self._root:
                self.update_all()  # a part of the model on its own
            for index in self._waits.get(module, ()):
                unit = self.unit_of[index]
                if unit.groups is not None:
                    self._update_now(unit)
        self._stack.append(module)

    def _update_now(self, unit: Unit) -> None:
        try:
            self._make_update(unit)
        except RuntimeFailure:
            self._failed = True
            raise

    def _leave(self, module: nn.Module) -> None:
        while self._stack and self._stack.pop() is not module:
            pass
        if self._stack:
            return
        if self._mode is not None:
            mode, self._mode = self._mode, None
            mode.__exit__(None, None, None)
            for index, seconds in mode.seconds.items():
                self._used[index].append(seconds)
                known = self._users.setdefault(index, [])
                known += [user for user in mode.users[index] if user not in known]
        if module is self._root and not self._failed:  # which is called after an error as well, and must not raise it again
            self.update_all()  # of what this pass has not used

    def _make_update(self, unit: Unit) -> None:
        """Waits for its gradients; meanwhile others' updates are made."""
        while not unit.message().done():
            other = next((u for u in self._waiting.values() if u is not unit and u.message().done()), None)
            if other is None:
                unit.message().wait(0.01)
            else:
                self._apply(other)
        self._apply(unit)

    def _apply(self, unit: Unit) -> None:
        self._finish(unit)
        groups, unit.groups = unit.groups or [], None
        del self._waiting[id(unit)]
        parameters = [self.parameters[i] for i in unit.members]
        now = [parameter.grad for parameter in parameters]
        for index in unit.members:
            self.parameters[index].grad = unit.gradients[index]
        self._update(parameters, groups)
        for parameter, gradient in zip(parameters, now):
            parameter.grad = gradient
        unit.gradients = {}
        if not self._waiting:
            _pending.discard(self)

    # ---- who looks in between: watching.Watcher ------------------------------------------
    def seen(self, parameter: nn.Parameter) -> None:
        unit = self.unit_of.get(self._indices[id(parameter)])
        if unit is None:
            return
        if unit.groups is not None:
            self._update_now(unit)
        elif unit.posted is not None and not self._stack and not in_backward():
            self.look("a gradient or parameter is looked at")

    def zeroed(self, set_to_none: bool) -> None:
        if not set_to_none:
            self.update_all()
        self.finish_all()  # of a step that is left out

    def update_all(self) -> None:
        for unit in list(self._waiting.values()):
            if unit.groups is not None:
                self._make_update(unit)

    def finish_all(self) -> None:
        """All gradients that are under way are complete."""
        for unit in self.units:
            if unit.posted is not None and unit.groups is None:
                self._finish(unit)

    def look(self, what: str) -> None:
        """Somebody looks at parameters or gradients: they are complete."""
        self.update_all()
        under_way = any(unit.posted is not None for unit in self.units)
        if under_way and not self._stack:
            partly = [unit for unit in self.units if unit.posted is None and len(unit.missing) < len(unit.members)]
            if partly:
                return  # backward is not over
            self.finish_all()
            self._finished = True
            self._tell(f"{what} before the optimizer's step: it waits for all gradients, and so does each such step")

    def _tell(self, what: str) -> None:
        if not self._told and self.posts.rank == 0:
            print(f"commsched: {what}", file=sys.stderr, flush=True)
        self._told = True

    def broadcast(self, tensors: "list[torch.Tensor]", what: str) -> None:
        """Values of rank 0, ahead of what else is under way; small ones of a type go together."""
        parts: "list[list[torch.Tensor]]" = []
        for tensor in sorted(tensors, key=lambda t: str(t.dtype)):
            part = parts[-1] if parts else []
            if part and part[0].dtype == tensor.dtype and sum(t.nbytes for t in (*part, tensor)) <= BROADCAST_BYTES:
                part.append(tensor)
            else:
                parts.append([tensor])
        with torch.no_grad():
            posted = []
            for number, some in enumerate(parts):
                flat = torch.cat([tensor.detach().reshape(-1) for tensor in some])
                posted.append((some, flat, self.posts.post(f"{what} {number}", flat, "broadcast", priority=URGENT)))
            for some, flat, one in posted:
                one.wait()
                if self.posts.rank != 0:
                    for tensor, values in zip(some, flat.split([tensor.numel() for tensor in some])):
                        tensor.copy_(values.view(tensor.shape))

    def close(self) -> None:
        _pending.discard(self)
        self._unwatch()
        for hook in self._hooks:
            hook.remove()
        self._hooks = []

