# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a step leaves behind beside parameters and buffers: attributes of modules, and the state of generators of random
numbers. It is put back after a step was traced; and a step that goes on from it is refused, as its program would not."""

from __future__ import annotations

import collections
import contextlib
import random
from typing import Any, Iterator, Sequence

import numpy as np
import torch
from torch._subclasses.fake_tensor import FakeTensor

from ..errors import FrontEndError
from . import places

_SEEN_TO = {"_parameters", "_buffers", "_modules", "_flat_weights"}  # by those who swap them
_CONTAINERS = (list, dict, set, collections.deque)
_NUMBERS = (int, float, bool, complex, str, np.generic, type(None))

_SEEDED = "the step sets the state of PyTorch's generator (torch.manual_seed), which has no part in a program; leave that to what runs the steps"


@contextlib.contextmanager
def none_seeded() -> "Iterator[None]":
    """Refuses what seeds PyTorch's generator, also where the state is put back (fork_rng): the numbers would be the same in each step, and are not in a program."""
    owners, own = (torch, torch.random), torch.manual_seed

    def refused(*_: Any, **__: Any) -> None:
        raise FrontEndError(f"{places.here()}{_SEEDED}")
    for owner in owners:
        setattr(owner, "manual_seed", refused)
    try:
        yield
    finally:
        for owner in owners:
            setattr(owner, "manual_seed", own)


def _contents(value: Any) -> Any:
    return dict(value) if isinstance(value, dict) else list(value)


def _within(value: Any, seen: "set[int]") -> "Iterator[Any]":
    """Containers, each once: the value, if it is one, and those in it."""
    if id(value) in seen or not isinstance(value, (*_CONTAINERS, tuple)):
        return
    if not isinstance(value, tuple):
        seen.add(id(value))
        yield value
    for inner in list(value.values()) if isinstance(value, dict) else value:
        if isinstance(inner, (*_CONTAINERS, tuple)):
            yield from _within(inner, seen)


def _refill(container: Any, contents: Any) -> None:
    """Containers that are what they were stay untouched: some refuse every change."""
    now = _contents(container)
    pairs = zip(now.items(), contents.items()) if isinstance(now, dict) else zip(now, contents)
    if len(now) == len(contents) and all(a is b or (isinstance(now, dict) and a[0] == b[0] and a[1] is b[1]) for a, b in pairs):
        return
    container.clear()
    container.update(contents) if isinstance(container, (dict, set)) else container.extend(contents)


def _equal(a: Any, b: Any) -> bool:
    return a is b or (type(a) is type(b) and not isinstance(a, torch.Tensor) and bool(a == b or (a != a and b != b)))


class Kept:
    """Within it, modules may change; at its end they are what they were."""

    def __init__(self, modules: Sequence[torch.nn.Module]):
        self._modules = [(name, part) for module in modules for name, part in module.named_modules()]
        self._attributes = [dict(part.__dict__) for _, part in self._modules]
        seen: "set[int]" = set()
        self._containers = [(found, _contents(found)) for own in self._attributes for value in own.values() for found in _within(value, seen)]
        self._placed: dict[int, str] = {}
        self.sets: "list[str]" = []  # what has changed, by its names

    def __enter__(self) -> "Kept":
        self._random = (random.getstate(), np.random.get_state(), torch.get_rng_state())
        self._before = dict(self._leaves())
        return self

    def __exit__(self, *_) -> None:
        random.setstate(self._random[0])
        np.random.set_state(self._random[1])
        torch.set_rng_state(self._random[2])
        for (_, part), own in zip(self._modules, self._attributes):
            part.__dict__.clear()
            part.__dict__.update(own)
        for container, contents in self._containers:
            _refill(container, contents)

    def _leaves(self) -> "Iterator[tuple[str, Any]]":
        """Numbers and tensors, by the names a user has for them."""
        for name, part in self._modules:
            for key, value in part.__dict__.items():
                if key in _SEEN_TO:
                    continue
                path = f"{name}.{key}" if name else key
                inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, (list, tuple, collections.deque)) else ()
                for place, leaf in [("", value), *[(f"[{k!r}]", v) for k, v in inner]]:
                    if isinstance(leaf, (*_NUMBERS, torch.Tensor)):
                        yield path + place, leaf

    def refuse_random(self) -> None:
        """Raises FrontEndError if numbers were drawn that are no operations of the graph."""
        if random.getstate() != self._random[0]:
            raise FrontEndError("the step draws numbers by Python's random, which would be constants; draw them by torch")
        (kind, keys, *rest), (old_kind, old_keys, *old) = np.random.get_state(), self._random[1]
        if kind != old_kind or rest != old or not np.array_equal(keys, old_keys):
            raise FrontEndError("the step draws numbers by NumPy's random, which would be constants; draw them by torch")
        if not torch.equal(torch.get_rng_state(), self._random[2]):
            raise FrontEndError(_SEEDED)

    def changed(self) -> "list[str]":
        """Names of what is not what it was. What is a tensor becomes another one of no meaning, so that another step shows
        whether it is read."""
        now = dict(self._leaves())
        names = [name for name, value in now.items() if name not in self._before or not _equal(value, self._before[name])]
        self.sets = names
        made = {id(now[name]): (name, now[name]) for name in names if isinstance(now[name], torch.Tensor)}

        def replaced(value: Any) -> Any:
            if id(value) not in made:
                return value
            name, tensor = made[id(value)]
            new = torch.zeros([int(n) for n in tensor.shape], dtype=tensor.dtype)
            self._placed[new.untyped_storage().data_ptr()] = name
            return new
        for _, part in self._modules:
            for key, value in list(part.__dict__.items()):
                if key in _SEEN_TO:
                    continue
                if isinstance(value, (dict, list, collections.deque)):
                    for k, v in list(value.items() if isinstance(value, dict) else enumerate(value)):
                        if id(v) in made:
                            value[k] = replaced(v)
                elif type(value) is tuple:
                    part.__dict__[key] = tuple(map(replaced, value))
                else:
                    part.__dict__[key] = replaced(value)
        self._between = dict(self._leaves())
        return names

    def refuse_read(self, graph: torch.fx.GraphModule) -> None:
        """graph: as it was written, of a step after the one that changed things."""
        for node in graph.graph.nodes:
            value = getattr(graph, node.target, None) if node.op == "get_attr" else None
            name = self._placed.get(value.untyped_storage().data_ptr()) if isinstance(value, torch.Tensor) and value.numel() else None
            if name is not None:
                raise FrontEndError(f"the step goes on from the tensor '{name}' of a step before, which is no buffer; register it as one, or, "
                                    "if it is only made in the first step, make one before transpile()")

    def refuse_counted(self) -> None:
        """After another step."""
        for name, value in self._leaves():
            old = self._between.get(name, value)
            if not isinstance(value, torch.Tensor) and not isinstance(old, torch.Tensor) and not _equal(value, old):
                raise FrontEndError(f"the step changes '{name}' from {self._before.get(name)!r} to {old!r} and {value!r}, which its program would "
                                    "not; have a buffer in place of it")


def constants_equal(a: Any, b: Any) -> bool:
    """Of two graphs. What a trace has left behind is equal to itself only."""
    if a is b or not isinstance(a, torch.Tensor) or not isinstance(b, torch.Tensor):
        return a is b or not isinstance(a, torch.Tensor) and not isinstance(b, torch.Tensor)
    if (a.dtype, a.shape) != (b.dtype, b.shape) or isinstance(a, FakeTensor) or isinstance(b, FakeTensor):
        return False
    return bool(((a == b) | ((a != a) & (b != b))).all())


def same(a: torch.fx.GraphModule, b: torch.fx.GraphModule) -> bool:
    """Whether two graphs compute the same."""
    return str(a.graph) == str(b.graph) and all(constants_equal(getattr(a, one.target), getattr(b, other.target))
                                                for one, other in zip(a.graph.nodes, b.graph.nodes) if one.op == "get_attr")
