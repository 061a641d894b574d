# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Stock optimizers: what they carry from step to step, how one step of them is traced, and what may change later.

A copy of the optimizer makes the step, on other tensors. Its rates, and what it reads of its counts of steps, are symbols,
so that the path of eager PyTorch on the CPU is traced as it is, and nothing that changes is a constant.
"""

from __future__ import annotations

import collections
import contextlib
import copy
import dataclasses
import inspect
import numbers as numbers_
import types
from typing import Any, Collection, Iterator, Mapping, Optional, Sequence

import numpy as np
import torch
from torch.fx.experimental.symbolic_shapes import GuardOnDataDependentSymNode
from torch.optim import lr_scheduler

from ..errors import FrontEndError
from .decisions import every_way, numbers
from .first_state import Carried, Entry, without_parameters

_OWN = {"param_groups", "state", "step"}  # what a copy has of its own; step: of a scheduler
# Options that choose among implementations of the same update.
_HOW = {"foreach", "fused", "capturable", "differentiable"}


def _plain(value: Any) -> Any:
    """A hyper-parameter, comparable."""
    if isinstance(value, torch.Tensor):
        return value.item() if value.numel() == 1 else tuple(value.flatten().tolist())
    if isinstance(value, np.ndarray):
        return tuple(value.flatten().tolist())
    return tuple(_plain(v) for v in value) if isinstance(value, (tuple, list)) else value


@dataclasses.dataclass(frozen=True)
class Hyper:
    """What a step was traced with. rates: groups with a rate, which is an argument. others: of each group what is a
    constant; params: of each group the ids. counted: (group, key) of what a step itself changes; read: of what it reads, beside defaults."""

    rates: tuple[int, ...]
    others: tuple[dict, ...]
    params: tuple[tuple[int, ...], ...]
    counted: "frozenset[tuple[int, str]]" = frozenset()
    read: "frozenset[tuple[int, str]]" = frozenset()

    @staticmethod
    def of(optimizer: torch.optim.Optimizer, counted: "frozenset[tuple[int, str]]" = frozenset(), read: "frozenset[tuple[int, str]]" = frozenset()) -> "Hyper":
        groups = optimizer.param_groups
        others = tuple({k: _plain(v) for k, v in g.items() if (k in optimizer.defaults or (i, k) in read) and k not in {*_HOW, "lr", "params"} and (i, k) not in counted}
                       for i, g in enumerate(groups))
        return Hyper(tuple(i for i, g in enumerate(groups) if "lr" in g), others,
                     tuple(tuple(id(p) for p in g["params"]) for g in groups), counted, read)

    def check(self, optimizer: torch.optim.Optimizer) -> None:
        """Refuses what has changed since and is a constant of the program."""
        now = Hyper.of(optimizer, self.counted, self.read)
        if now.params != self.params:
            raise FrontEndError("the optimizer's parameter groups must be those that were transpiled; they have changed")
        for i, (old, new) in enumerate(zip(self.others, now.others)):
            for name in {**old, **new}:
                if old.get(name) != new.get(name):
                    raise FrontEndError(f"'{name}' of the optimizer's group {i} must stay {old.get(name)}, as it was when the step was "
                                        f"transpiled (only 'lr' may change), got: {new.get(name)}")

    def check_unchanged(self, optimizer: torch.optim.Optimizer, rates: "list[float]") -> None:
        """Refuses a step that has set rates or options, when it was traced."""
        if Hyper.of(optimizer, self.counted, self.read) != self or self.values(optimizer) != rates:
            for group, rate in zip((optimizer.param_groups[i] for i in self.rates), rates):
                group["lr"] = rate
            raise FrontEndError("the step must not set rates or options of its optimizer; a scheduler does that between steps")

    def values(self, optimizer: torch.optim.Optimizer) -> list[float]:
        return [float(optimizer.param_groups[i]["lr"]) for i in self.rates]


def check(optimizer: Any, params: Sequence[torch.Tensor]) -> None:
    if not isinstance(optimizer, torch.optim.Optimizer):
        raise FrontEndError(f"optimizer must be a torch.optim.Optimizer, got: {type(optimizer).__name__}")
    name = type(optimizer).__name__
    _, *arguments = inspect.signature(type(optimizer).step).parameters.values()
    if any(p.default is p.empty and p.kind is p.POSITIONAL_OR_KEYWORD for p in arguments):
        raise FrontEndError(f"{name} needs a closure that evaluates the loss several times in a step, which is no fixed graph")
    if any(getattr(optimizer, hooks, None) for hooks in ("_optimizer_step_pre_hooks", "_optimizer_step_post_hooks")):
        raise FrontEndError(f"{name} has hooks on its step, which would not run; change gradients in before_update")
    inner = inner_of(optimizer)
    if inner is not None:
        raise FrontEndError(f"{name} must make its step itself, got: one of a {type(getattr(optimizer, inner)).__name__} in its attribute '{inner}'; have that be the optimizer")
    refuse_own_step(optimizer)
    known = {id(p) for p in params}
    for i, group in enumerate(optimizer.param_groups):
        if "lr" in group and not isinstance(group["lr"], (numbers_.Real, torch.Tensor)):
            raise FrontEndError(f"'lr' of the optimizer's group {i} must be a number, got: {group['lr']!r}")
        for p in group["params"]:
            if id(p) not in known:
                raise FrontEndError(f"group {i} of the optimizer has a parameter {list(p.shape)} that the model has not")
    _refuse_state_of_none(optimizer, known)


def _refuse_state_of_none(optimizer: torch.optim.Optimizer, known: "Collection[int]") -> None:
    """known: the ids of the parameters."""
    for key in optimizer.state:
        if id(key) not in known:
            raise FrontEndError(f"{type(optimizer).__name__} keeps state that belongs to no parameter of the model: {key if isinstance(key, str) else 'a tensor'}")


def refuse_own_step(optimizer: torch.optim.Optimizer) -> None:
    """Refuses a step that somebody has put on the object. That of a scheduler only notes that it was called."""
    step = vars(optimizer).get("step")
    while isinstance(step, types.FunctionType) and step.__code__.co_filename == lr_scheduler.__file__:
        step = getattr(step, "__wrapped__")
    if step is not None and step is not type(optimizer).step:
        raise FrontEndError(f"step of {type(optimizer).__name__} must be that of its class, got: another one that the object has, which would not run; change gradients between the "
                            "backward pass and the step, or derive a class")


def inner_of(optimizer: torch.optim.Optimizer) -> Optional[str]:
    """The attribute with an optimizer that this one is wrapped around: its groups would be the model's, and no copies."""
    return next((n for n, v in vars(optimizer).items() if isinstance(v, torch.optim.Optimizer)), None)


def _differs(a: Any, b: Any) -> bool:
    """Whether an attribute has changed in a step."""
    if type(a) is not type(b):
        return True
    if isinstance(a, dict):
        return a.keys() != b.keys() or any(_differs(a[k], b[k]) for k in a)
    if isinstance(a, (list, tuple, collections.deque)):
        return len(a) != len(b) or any(map(_differs, a, b))
    return a is not b and (not isinstance(a, (int, float, bool, complex, str, set)) or not (a == b or a != a))


def group_values(group: dict) -> dict:
    """What a group has beside its parameters, to be told from what it has after a step; of tensors, how often they were written."""
    return {n: (v, v._version) if isinstance(v, torch.Tensor) else copy.copy(v) if isinstance(v, (list, dict, set)) else v
            for n, v in group.items() if n != "params"}


def refuse_changed(optimizer: torch.optim.Optimizer, before: Sequence[dict], carried_: "Collection[tuple[int, str]]" = ()) -> None:
    """Refuses a step that has changed what its groups had before: a count of steps there, or an estimate over all parameters. carried_: (group, key) of
    what may."""
    for i, (group, old) in enumerate(zip(optimizer.param_groups, before)):
        now = group_values(group)
        for key in sorted(now.keys() | old.keys(), key=str):
            if (i, key) in carried_:
                continue
            if key not in now or key not in old or _differs(old[key], now[key]):
                raise FrontEndError(f"{type(optimizer).__name__} changes '{key}' of its parameter groups in a step, which would stay as it was; use an "
                                    "optimizer that keeps what changes as tensors in the state of each parameter")


@contextlib.contextmanager
def _compiling() -> Iterator[None]:
    saved, torch.compiler._is_compiling_flag = torch.compiler._is_compiling_flag, True
    try:
        yield
    finally:
        torch.compiler._is_compiling_flag = saved


class Copy:
    """The optimizer, to be traced. begins: what it carries beside `state`, which is in the order of `keys`."""

    def __init__(self, optimizer: torch.optim.Optimizer, hyper: Hyper, rates: Sequence[torch.Tensor], begins: Carried, keys: Sequence[Entry],
                 params: Sequence[torch.Tensor], fresh: Sequence[torch.Tensor], state: Sequence[torch.Tensor]):
        self._of, self._begins, self._fresh, self._name = optimizer, begins, fresh, type(optimizer).__name__
        self._rates = dict(zip(hyper.rates, rates))
        self._new = {id(p): f for p, f in zip(params, fresh)}
        self._state: "Mapping[Entry, torch.Tensor]" = dict(zip(keys, state))

    def step(self) -> list[torch.Tensor]:
        """Updates `fresh` by their grad; returns the new state."""
        before = [(p.detach().clone(), None if p.grad is None else p.grad.clone()) for p in self._fresh]

        def again(compiled: bool) -> "list[torch.Tensor]":
            for p, (old, gradient) in zip(self._fresh, before):
                p.copy_(old)
                p.grad = None if gradient is None else gradient.clone()
            return self._step(compiled)
        with numbers(type(self._of)):
            try:
                return self._step(compiled=False)
            except GuardOnDataDependentSymNode:
                # It decides by its count of steps. Some have another form, for compilers, that selects.
                if all("capturable" in g for g in self._of.param_groups):
                    return again(compiled=True)
            try:
                results = every_way(self._name, lambda: [*again(compiled=False), *(p.detach().clone() for p in self._fresh)])
            except GuardOnDataDependentSymNode as error:
                raise FrontEndError(f"{self._name} decides by its count of steps or its rate what it does, which is no fixed graph") from error
        count = len(self._state)
        for p, value in zip(self._fresh, results[count:], strict=True):
            p.copy_(value)
        return results[:count]

    def _step(self, compiled: bool) -> list[torch.Tensor]:
        """compiled: rates and counts are tensors without dimensions, in double precision as Python has them."""
        own = without_parameters(self._of)
        for i, group in enumerate(self._of.param_groups):
            one = {**self._begins.groups[i], "params": [self._new[id(p)] for p in group["params"]]}
            for how in _HOW & one.keys():
                one[how] = False
            if i in self._rates:
                one["lr"] = self._rates[i] if compiled else self._rates[i].item()
            if compiled:
                one["capturable"] = True
            own.param_groups.append({n: v.clone() if isinstance(v, torch.Tensor) and n != "lr" else v for n, v in one.items()})
        for i, constants in self._begins.state.items():
            if constants:
                own.state[self._fresh[i]] = {k: copy.copy(v) for k, v in constants.items() if not isinstance(v, torch.Tensor)}
        mine = {}
        for entry, value in self._state.items():
            if entry.number is not None:
                mine[entry] = value.item()
            else:
                mine[entry] = value.to(torch.float64, copy=True) if compiled and entry.of and value.dim() == 0 else value.clone()
            for place in self._places(own, entry):
                place[entry.key] = mine[entry]
        groups = [group_values(group) for group in own.param_groups]
        states = {i: dict(own.state.get(self._fresh[i], {})) for i in self._begins.state}
        attributes = dict(without_parameters(self._of).__dict__)
        with _compiling() if compiled else contextlib.nullcontext():
            type(own).step(own)
        for key, value in own.__dict__.items():
            if key not in _OWN and not key.startswith("_warned") and (key not in attributes or _differs(attributes[key], value)):
                raise FrontEndError(f"{self._name} changes its attribute '{key}' in a step, which its program would not; keep what changes "
                                    "as tensors in its state")
        refuse_changed(own, groups, {(e.group, e.key) for e in self._state if e.group is not None})
        self._refuse_others(own, states)
        return [self._new_value(own, entry, mine[entry]) for entry in self._state]

    def _places(self, own: torch.optim.Optimizer, entry: Entry) -> "list[dict]":
        return [own.state[self._fresh[i]] for i in entry.of] if entry.group is None else [own.param_groups[entry.group]]

    def _new_value(self, own: torch.optim.Optimizer, entry: Entry, old: Any) -> torch.Tensor:
        values, given = [place.get(entry.key) for place in self._places(own, entry)], self._state[entry]
        now, what = values[0], f"state '{entry.key}' of {self._name}" if entry.group is None else f"'{entry.key}' of the parameter groups of {self._name}"
        if entry.number is None:
            if not isinstance(now, torch.Tensor) or (now.shape, now.dtype) != (old.shape, old.dtype):
                raise FrontEndError(f"{what} changes its shape or type in a step")
            return now.to(given.dtype)
        if any(str(v) != str(now) for v in values):
            raise FrontEndError(f"{what} must be one number for all parameters, got: several after a step")
        if not isinstance(now, (int, torch.SymInt) if entry.number is int else (int, float, torch.SymInt, torch.SymFloat)):
            raise FrontEndError(f"{what} changes its type in a step")
        return torch.scalar_tensor(now, dtype=given.dtype)

    def _refuse_others(self, own: torch.optim.Optimizer, before: "dict[int, dict]") -> None:
        """What a step makes or changes of the state, and is not carried."""
        _refuse_state_of_none(own, {id(p) for p in self._fresh})
        known = {(i, e.key) for e in self._state for i in e.of}
        for i, p in enumerate(self._fresh):
            for key, value in own.state.get(p, {}).items():
                if (i, key) in known or value is None:
                    continue
                if key not in before.get(i, {}) and isinstance(value, torch.Tensor):
                    raise FrontEndError(f"{self._name} makes state '{key}' in its first step: make a step before transpile()")
                if key not in before.get(i, {}) or _differs(before[i][key], value):
                    raise FrontEndError(f"state '{key}' of {self._name} must be a tensor, got: {type(value).__name__}")
