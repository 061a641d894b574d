# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What an optimizer carries from step to step before its next one: tensors of parameters, numbers beside them, and what its groups count.

Most make their state in the first step, and update it there. A copy makes that step, and every value is noted as it is first
set. Whether a step that begins with these comes to what the first one comes to is tried on parameters of each shape; with it a first step needs
no graph of its own.
"""

from __future__ import annotations

import collections
import copy
import dataclasses
from typing import Any, Iterator, Mapping, Optional, Sequence

import numpy as np
import torch

from ..errors import FrontEndError

_BOUND = 1e-5
_HOW = {"foreach": False, "fused": False, "capturable": False, "differentiable": False}  # implementations of the same update


@dataclasses.dataclass(frozen=True)
class Entry:
    """One tensor that a step goes on from. of: positions of parameters, of whose state it is `key`: one, or, of a number of Python, all that have it.
    group: what it is of, if it is no state. number: what it is in Python, if it is no tensor there."""

    key: str
    of: "tuple[int, ...]" = ()
    group: Optional[int] = None
    number: "Optional[type]" = None

    def value(self, tensor: torch.Tensor) -> Any:
        """As the optimizer has it."""
        return tensor if self.number is None else self.number(tensor.item())


class _Noted(dict):
    """Notes a copy of the first value of every key that it had not, and which were read, and written."""

    def __init__(self, *arguments: Any):
        super().__init__(*arguments)
        self.first: "dict[Any, Any]" = {}
        self.read: "set[Any]" = set()
        self.written: "set[Any]" = set()

    def __getitem__(self, key: Any) -> Any:
        self.read.add(key)
        return super().__getitem__(key)

    def get(self, key: Any, default: Any = None) -> Any:
        self.read.add(key)
        return super().get(key, default)

    def __iter__(self) -> "Iterator[Any]":  # which {**group} asks, too
        self.read.update(super().keys())
        return super().__iter__()

    def items(self) -> Any:
        self.read.update(super().keys())
        return super().items()

    def values(self) -> Any:
        self.read.update(super().keys())
        return super().values()

    def __setitem__(self, key: Any, value: Any) -> None:
        if key not in self:
            self.first[key] = _copy(value)
        self.written.add(key)
        super().__setitem__(key, value)

    def update(self, *arguments: Any, **named: Any) -> None:
        for key, value in dict(*arguments, **named).items():
            self[key] = value

    def setdefault(self, key: Any, default: Any = None) -> Any:
        if key not in self:
            self[key] = default
        return self[key]


def _copy(value: Any) -> Any:
    return value.detach().clone() if isinstance(value, torch.Tensor) else copy.deepcopy(value) if isinstance(value, (list, dict, set)) else value


def without_parameters(optimizer: torch.optim.Optimizer) -> torch.optim.Optimizer:
    """A copy without parameters and state, and with all attributes (copy.copy has PyTorch's own only)."""
    own = object.__new__(type(optimizer))
    own.__dict__.update({n: copy.copy(v) if isinstance(v, (list, dict, set, collections.deque)) else v for n, v in optimizer.__dict__.items()})
    own.param_groups, own.state = [], collections.defaultdict(dict)
    return own


class Trial:
    """A copy of an optimizer, of copies of some of its parameters (by position), that makes one step with drawn gradients. state, groups: what it
    begins with, as Python has it."""

    def __init__(self, optimizer: torch.optim.Optimizer, chosen: "Sequence[Mapping[int, torch.Tensor]]", state: "Mapping[int, dict]", groups: "Sequence[dict]",
                 seed: int = 0, scale: float = 1e-2):
        own, generator = without_parameters(optimizer), torch.Generator().manual_seed(seed)
        own.state = collections.defaultdict(_Noted)
        self.params: "dict[int, torch.Tensor]" = {}
        for of, group in zip(chosen, groups):
            for i, p in of.items():
                self.params[i] = q = torch.nn.Parameter(p.detach().clone())
                q.grad = (torch.randn(p.shape, generator=generator, dtype=torch.float32) * scale).to(p.dtype)
                if state.get(i):
                    own.state[q] = _Noted({k: _copy(v) for k, v in state[i].items()})
            own.param_groups.append(_Noted({**{k: _copy(v) for k, v in group.items() if k != "params"}, **{k: v for k, v in _HOW.items() if k in group},
                                            "params": [self.params[i] for i in of]}))
        with torch.random.fork_rng(devices=[]):
            type(own).step(own)
        self.groups: "list[_Noted]" = own.param_groups
        self.state: "dict[int, _Noted]" = {i: own.state[q] if q in own.state else _Noted() for i, q in self.params.items()}


def _values(value: Any) -> "Iterator[Any]":
    if isinstance(value, Mapping):
        for k, v in value.items():
            yield k
            yield from _values(v)
    elif isinstance(value, (list, tuple, np.ndarray)):
        for v in value.reshape(-1).tolist() if isinstance(value, np.ndarray) else value:
            yield from _values(v)
    else:
        yield value


def equal(a: Any, b: Any) -> bool:
    """Within rounding."""
    one, other = list(_values(a)), list(_values(b))
    if len(one) != len(other):
        return False
    for x, y in zip(one, other):
        if isinstance(x, torch.Tensor) and isinstance(y, torch.Tensor):
            if x.shape != y.shape or not torch.allclose(x.detach().double(), y.detach().double(), _BOUND, 0.0, equal_nan=True):
                return False
        elif type(x) is not type(y) or not (x is y or x == y or x != x and y != y):
            return False
    return True


@dataclasses.dataclass
class Carried:
    """entries: what a step goes on from and changes. constants: of parameters by position, and of groups, what else their next step must find there.
    read: group and key of what a step reads there. of_rates: whether the first step makes state of the rate that it has (Rprop, ASGD)."""

    entries: "dict[Entry, torch.Tensor]"
    state: "dict[int, dict]"
    groups: "list[dict]"
    read: "frozenset[tuple[int, str]]" = frozenset()
    of_rates: bool = False


def carried(optimizer: torch.optim.Optimizer, wanted: Sequence[bool], params: Sequence[torch.Tensor]) -> Carried:
    """Of the parameters that get gradients. The optimizer itself stays as it is."""
    positions = {id(p): i for i, p in enumerate(params)}
    chosen = [{i: params[i] for i in map(positions.__getitem__, map(id, g["params"])) if wanted[i]} for g in optimizer.param_groups]
    had = {i: dict(optimizer.state[params[i]]) for of in chosen for i in of if optimizer.state and params[i] in optimizer.state}
    state = {i: dict(had.get(i, {})) for of in chosen for i in of}
    groups = [{k: v for k, v in g.items() if k != "params"} for g in optimizer.param_groups]
    try:
        trial = Trial(optimizer, chosen, had, groups)
    except FrontEndError:
        raise
    except Exception:  # which is found, and said where, when the step is traced
        return Carried({Entry(k, (i,)): v.detach() for i, own in state.items() for k, v in own.items() if isinstance(v, torch.Tensor)}, state, groups)
    read = frozenset((i, key) for i, group in enumerate(trial.groups) for key in group.read)
    makes = any(not had.get(i) and made.first for i, made in trial.state.items())
    of_rates = makes and _of_rates(optimizer, chosen, had, groups)
    for i, own in state.items():
        if not own:
            own.update(trial.state[i].first)
    for group, after in zip(groups, trial.groups):
        group.update(after.first)
    if any(not had.get(i) and own for i, own in state.items()) or any(after.first for after in trial.groups):
        _fit(optimizer, chosen, had, state, groups, [after.first for after in trial.groups])
    return Carried(_entries(type(optimizer).__name__, state, groups, trial), state, groups, read, of_rates)


def _of_each_shape(chosen: "Sequence[dict[int, torch.Tensor]]", had: dict) -> "list[dict[int, torch.Tensor]]":
    some: "list[dict[int, torch.Tensor]]" = []
    for of in chosen:
        by_shape = {(p.shape, p.dtype, bool(had.get(i))): i for i, p in reversed(of.items())}
        some.append({i: of[i] for i in sorted(by_shape.values())})
    return some


def _of_rates(optimizer: torch.optim.Optimizer, chosen: "Sequence[dict]", had: dict, groups: "list[dict]") -> bool:
    """Whether a first step with another rate makes other state."""
    some, others = _of_each_shape(chosen, had), [{**group, "lr": group["lr"] * 0.5 + 1e-3} if "lr" in group else group for group in groups]
    try:
        one, other = (Trial(optimizer, some, had, of) for of in (groups, others))
    except Exception:
        return False
    return any(not equal(_sorted(made.first), _sorted(other.state[i].first)) for i, made in one.state.items())


def _fit(optimizer: torch.optim.Optimizer, chosen: "Sequence[dict]", had: dict, state: dict, groups: "list[dict]", counted: "Sequence[dict]") -> None:
    """Finds what a first step can begin with in place of nothing: what is noted there; zeros, where that is made of the gradient; one less, where
    a count begins with one."""
    some = _of_each_shape(chosen, had)

    def zeroed(own: dict, i: int) -> dict:
        return own if had.get(i) else {k: torch.zeros_like(v) if isinstance(v, torch.Tensor) else v for k, v in own.items()}

    def earlier(group: dict, new: dict) -> dict:
        return {k: v - 1 if k in new and isinstance(v, (int, float)) and not isinstance(v, bool) else v for k, v in group.items()}
    bare = [{k: v for k, v in group.items() if k not in new} for group, new in zip(groups, counted)]
    firsts = [Trial(optimizer, some, had, bare, seed, scale) for seed, scale in ((1, 1.0), (2, 1e-3))]
    for before in (groups, list(map(earlier, groups, counted))):
        for begin in (state, {i: zeroed(own, i) for i, own in state.items()}):
            try:
                seconds = [Trial(optimizer, some, begin, before, seed, scale) for seed, scale in ((1, 1.0), (2, 1e-3))]
            except Exception:
                continue
            if all(_came_to_the_same(*pair) for pair in zip(firsts, seconds)):
                state.update(begin)
                groups[:] = before
                return
    raise FrontEndError(f"{type(optimizer).__name__} treats its first step in another way than the others: make that before transpile()")


def _came_to_the_same(one: Trial, other: Trial) -> bool:
    params = equal([p.detach() for p in one.params.values()], [p.detach() for p in other.params.values()])
    return params and all(equal(_sorted(one.state[i]), _sorted(other.state[i])) for i in one.state) and all(
        equal(*({k: v for k, v in _sorted(group).items() if k != "params"} for group in pair)) for pair in zip(one.groups, other.groups))


def _sorted(values: dict) -> dict:
    return {k: values[k] for k in sorted(values, key=str)}


def _entries(name: str, state: "dict[int, dict]", groups: "list[dict]", trial: Trial) -> "dict[Entry, torch.Tensor]":
    """What is a tensor, or a number that a step changes; and what it changes of its groups."""
    found: "dict[Entry, torch.Tensor]" = {}
    numbers: "dict[str, dict[int, Any]]" = {}
    for i, own in state.items():
        for key, value in own.items():
            after = trial.state[i].get(key)
            if isinstance(value, torch.Tensor):
                found[Entry(key, (i,))] = value.detach()
            elif not equal(value, after) or _has_tensors(after):
                if type(value) not in (int, float):
                    raise FrontEndError(f"state '{key}' of {name} must be a tensor, or a number, got: {type(after if value is None else value).__name__}")
                numbers.setdefault(key, {})[i] = value
    for key, of in numbers.items():
        values = set(of.values())
        if len(values) > 1:
            raise FrontEndError(f"state '{key}' of {name} must be one number for all parameters, got: {', '.join(map(str, sorted(values)[:3]))}")
        kind = type(next(iter(of.values())))
        found[Entry(key, tuple(of), number=kind)] = _tensor(next(iter(values)), kind)
    for g, (group, after) in enumerate(zip(groups, trial.groups)):
        for key in sorted(group.keys() | after.keys() - {"params"}, key=str):
            value, now = group.get(key), after.get(key)
            # What is a number, and written, is another one in other steps, such as the largest rate so far.
            same = equal(value, now) and not (key in after.written and type(value) in (int, float))
            if key in _HOW or same or key == "lr":
                continue
            if not isinstance(value, torch.Tensor) and type(value) not in (int, float):
                raise FrontEndError(f"{name} changes '{key}' of its parameter groups in a step, which must be a number or a tensor, got: {type(now).__name__}")
            found[Entry(key, group=g, number=None if isinstance(value, torch.Tensor) else type(value))] = \
                value.detach().clone() if isinstance(value, torch.Tensor) else _tensor(value, type(value))
    return found


def _has_tensors(value: Any) -> bool:
    return any(isinstance(v, torch.Tensor) for v in _values(value))


def _tensor(value: Any, kind: type) -> torch.Tensor:
    return torch.tensor(value, dtype=torch.int64 if kind is int else torch.float64)
