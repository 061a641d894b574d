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
from typing import Any, Iterator, Optional, Sequence

import torch
from torch.fx.experimental.symbolic_shapes import GuardOnDataDependentSymNode

from ..errors import FrontEndError

_OWN = {"param_groups", "state", "step"}  # what a copy has of its own; step: of a scheduler
# Options that choose among implementations of the same update.
_HOW = {"foreach", "fused", "capturable", "differentiable"}


def _plain(value: Any) -> Any:
    """A hyper-parameter, comparable."""
    if isinstance(value, torch.Tensor):
        return value.item() if value.numel() == 1 else tuple(value.flatten().tolist())
    return tuple(_plain(v) for v in value) if isinstance(value, (tuple, list)) else value


@dataclasses.dataclass(frozen=True)
class Hyper:
    """What a step was traced with. rates: groups with a rate, which is an argument. others: of each group what is a
    constant; params: of each group the ids."""

    rates: tuple[int, ...]
    others: tuple[dict, ...]
    params: tuple[tuple[int, ...], ...]

    @staticmethod
    def of(optimizer: torch.optim.Optimizer) -> "Hyper":
        groups = optimizer.param_groups
        others = tuple({k: _plain(v) for k, v in g.items() if k in optimizer.defaults and k not in _HOW and k != "lr"}
                       for g in groups)
        return Hyper(tuple(i for i, g in enumerate(groups) if "lr" in g), others,
                     tuple(tuple(id(p) for p in g["params"]) for g in groups))

    def check(self, optimizer: torch.optim.Optimizer) -> None:
        """Refuses what has changed since and is a constant of the program."""
        now = Hyper.of(optimizer)
        if now.params != self.params:
            raise FrontEndError("the optimizer's parameter groups must be those that were transpiled; they have changed")
        for i, (old, new) in enumerate(zip(self.others, now.others)):
            for name in old:
                if old[name] != new.get(name):
                    raise FrontEndError(f"'{name}' of the optimizer's group {i} must stay {old[name]}, as it was when the step was "
                                        f"transpiled (only 'lr' may change), got: {new.get(name)}")

    def check_unchanged(self, optimizer: torch.optim.Optimizer, rates: "list[float]") -> None:
        """Refuses a step that has set rates or options, when it was traced."""
        if Hyper.of(optimizer) != self or self.values(optimizer) != rates:
            for group, rate in zip((optimizer.param_groups[i] for i in self.rates), rates):
                group["lr"] = rate
            raise FrontEndError("the step must not set rates or options of its optimizer; a scheduler does that between steps")

    def values(self, optimizer: torch.optim.Optimizer) -> list[float]:
        return [float(optimizer.param_groups[i]["lr"]) for i in self.rates]


def check(optimizer: Any, params: Sequence[torch.Tensor]) -> None:
    if not isinstance(optimizer, torch.optim.Optimizer):
        raise FrontEndError(f"optimizer must be a torch.optim.Optimizer, got: {type(optimizer).__name__}")
    name = type(optimizer).__name__
    step = inspect.signature(type(optimizer).step).parameters
    if any(p.default is p.empty and p.kind is p.POSITIONAL_OR_KEYWORD for n, p in step.items() if n != "self"):
        raise FrontEndError(f"{name} needs a closure that evaluates the loss several times in a step, which is no fixed graph")
    if any(getattr(optimizer, hooks, None) for hooks in ("_optimizer_step_pre_hooks", "_optimizer_step_post_hooks")):
        raise FrontEndError(f"{name} has hooks on its step, which would not run; change gradients in before_update")
    inner = inner_of(optimizer)
    if inner is not None:
        raise FrontEndError(f"{name} must make its step itself, got: one of a {type(getattr(optimizer, inner)).__name__} in its attribute '{inner}'; have that be the optimizer")
    known = {id(p) for p in params}
    for i, group in enumerate(optimizer.param_groups):
        for p in group["params"]:
            if id(p) not in known:
                raise FrontEndError(f"group {i} of the optimizer has a parameter {list(p.shape)} that the model has not")
    for key in optimizer.state:
        if id(key) not in known:
            raise FrontEndError(f"{name} keeps state that belongs to no parameter of the model: {key if isinstance(key, str) else 'a tensor'}")


def inner_of(optimizer: torch.optim.Optimizer) -> Optional[str]:
    """The attribute with an optimizer that this one is wrapped around: its groups would be the model's, and no copies."""
    return next((n for n, v in vars(optimizer).items() if isinstance(v, torch.optim.Optimizer)), None)


def initial(optimizer: torch.optim.Optimizer, wanted: Sequence[bool], params: Sequence[torch.Tensor]) -> dict[tuple[int, str], torch.Tensor]:
    """(position of the parameter, key) -> what the optimizer carries before its next step, for the parameters that get
    gradients. The optimizer itself stays as it is."""
    name, result = type(optimizer).__name__, {}
    positions = {id(p): i for i, p in enumerate(params)}
    for group in optimizer.param_groups:
        for p in group["params"]:
            i = positions[id(p)]
            if not wanted[i]:
                continue
            state = dict(optimizer.state.get(p, {})) or _first(optimizer, group, p)
            for key, value in state.items():
                if isinstance(value, torch.Tensor):
                    result[i, key] = value.detach()
                elif value is not None:
                    raise FrontEndError(f"state '{key}' of {name} must be a tensor, got: {type(value).__name__}")
    return result


def _first(optimizer: torch.optim.Optimizer, group: dict, p: torch.Tensor) -> dict[str, Any]:
    """The state that a parameter begins with."""
    if isinstance(optimizer, torch.optim.SGD):  # makes it of the first gradient
        if group["momentum"] == 0:
            return {}
        if group["dampening"] != 0:
            raise FrontEndError("SGD with dampening treats its first step in another way than the others: make that before "
                                f"transpile(), or have dampening be 0, got: {group['dampening']}")
        return {"momentum_buffer": torch.zeros_like(p, requires_grad=False)}
    init = getattr(type(optimizer), "_init_group", None)
    if init is None:
        return {}
    own, stand_in = _copied(optimizer), p.detach().clone()
    stand_in.grad = torch.zeros_like(stand_in)
    lists: list[list] = [[] for _ in list(inspect.signature(init).parameters)[2:]]
    with torch.no_grad():
        init(own, {**group, "params": [stand_in], "fused": False}, *lists)
    return own.state[stand_in]


def _copied(optimizer: torch.optim.Optimizer) -> torch.optim.Optimizer:
    """One without parameters and state, and with all attributes (copy.copy has PyTorch's own only)."""
    own = object.__new__(type(optimizer))
    own.__dict__.update({n: copy.copy(v) if isinstance(v, (list, dict, set, collections.deque)) else v for n, v in optimizer.__dict__.items()})
    own.param_groups, own.state = [], collections.defaultdict(dict)
    return own


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


def refuse_changed(optimizer: torch.optim.Optimizer, before: Sequence[dict]) -> None:
    """Refuses a step that has changed what its groups had before: a count of steps there, or an estimate over all parameters."""
    for group, old in zip(optimizer.param_groups, before):
        now = group_values(group)
        for key in sorted(now.keys() | old.keys(), key=str):
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
    """The optimizer, to be traced. state: in the order of Hyper's groups and of the keys of initial()."""

    def __init__(self, optimizer: torch.optim.Optimizer, hyper: Hyper, rates: Sequence[torch.Tensor], keys: Sequence[tuple[int, str]],
                 params: Sequence[torch.Tensor], fresh: Sequence[torch.Tensor], state: Sequence[torch.Tensor]):
        self._of, self._keys, self._fresh = optimizer, keys, fresh
        self._rates = dict(zip(hyper.rates, rates))
        self._new = {id(p): f for p, f in zip(params, fresh)}
        self._state = dict(zip(keys, state))

    def step(self) -> list[torch.Tensor]:
        """Updates `fresh` by their grad; returns the new state."""
        before = [p.detach().clone() for p in self._fresh]
        try:
            return self._step(compiled=False)
        except GuardOnDataDependentSymNode as error:
            # It decides by its count of steps. Some have another form, for compilers, that selects.
            name = type(self._of).__name__
            if not all("capturable" in g for g in self._of.param_groups):
                raise FrontEndError(f"{name} decides by its count of steps or its rate what it does, which is no fixed graph") from error
            for p, old in zip(self._fresh, before):
                p.copy_(old)
            return self._step(compiled=True)

    def _step(self, compiled: bool) -> list[torch.Tensor]:
        """compiled: rates and counts are tensors without dimensions, in double precision as Python has them."""
        own = _copied(self._of)
        for i, group in enumerate(self._of.param_groups):
            one = {**group, "params": [self._new[id(p)] for p in group["params"]]}
            for how in _HOW & one.keys():
                one[how] = False
            if i in self._rates:
                one["lr"] = self._rates[i] if compiled else self._rates[i].item()
            if compiled:
                one["capturable"] = True
            own.param_groups.append({n: v.clone() if isinstance(v, torch.Tensor) and n != "lr" else v for n, v in one.items()})
        groups = [group_values(group) for group in own.param_groups]
        mine = {}
        for (i, key), value in self._state.items():
            count = compiled and value.dim() == 0
            mine[i, key] = own.state[self._fresh[i]][key] = value.double() if count else value.clone()
        attributes = dict(_copied(self._of).__dict__)
        with _compiling() if compiled else contextlib.nullcontext():
            type(own).step(own)
        for key, value in own.__dict__.items():
            if key not in _OWN and not key.startswith("_warned") and (key not in attributes or _differs(attributes[key], value)):
                raise FrontEndError(f"{type(own).__name__} changes its attribute '{key}' in a step, which its program would not; keep what changes "
                                    "as tensors in its state")
        refuse_changed(own, groups)
        result = []
        for (i, key) in self._keys:
            now = own.state[self._fresh[i]].get(key)
            if not isinstance(now, torch.Tensor) or (now.shape, now.dtype) != (mine[i, key].shape, mine[i, key].dtype):
                raise FrontEndError(f"state '{key}' of {type(own).__name__} changes its shape or type in a step")
            result.append(now.to(self._state[i, key].dtype))
        known = set(self._keys)
        for i, p in enumerate(self._fresh):
            for key, value in own.state.get(p, {}).items():
                if (i, key) not in known and value is not None:
                    raise FrontEndError(f"{type(own).__name__} makes state '{key}' in its first step: make a step before transpile()"
                                        if isinstance(value, torch.Tensor) else f"state '{key}' of {type(own).__name__} must be a tensor, got: "
                                        f"{type(value).__name__}")
        return result
