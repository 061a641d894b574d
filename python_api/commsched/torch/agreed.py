# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What must be the same on all ranks of distribute(), as each would train a model of its own otherwise: looked at when it begins, and before the updates of each
step are made. A step costs one message of five numbers; only where these differ, the ranks tell each other of what they are made."""

from __future__ import annotations

import dataclasses
import json
import zlib
from typing import Any, Iterable, Iterator, Optional

import numpy as np
import torch
from torch import nn

from ..errors import FrontEndError, RuntimeFailure
from ..posts import Posted, Posts
from .from_rank_0 import URGENT

Items = Iterable["tuple[str, str]"]  # what, and what it is on this rank


def compare(posts: Posts, items: Items, error: type) -> None:
    """All ranks. Raises `error` on each, with the first item of which a rank has another one than rank 0."""
    if posts.size == 1:
        return
    items = list(items)
    digests = _gathered(posts, "what is the same on all ranks", np.array([zlib.crc32(repr(items).encode())]))
    if (digests != digests[0]).any():
        raise error(_difference(posts, items))


def _gathered(posts: Posts, key: str, own: np.ndarray) -> np.ndarray:
    every = np.empty((posts.size, *own.shape), own.dtype)
    posts.post(key, own, "all_gather", output=every, priority=URGENT).wait()
    return every


def _difference(posts: Posts, items: Items) -> str:
    data = json.dumps(list(items)).encode()
    longest = int(_gathered(posts, "length of what differs", np.array([len(data)])).max())
    rows = _gathered(posts, "what differs", np.frombuffer(data.ljust(longest), np.uint8).copy())
    first, *others = (dict(json.loads(row.tobytes())) for row in rows)
    for rank, other in enumerate(others, 1):
        for what in {**first, **other}:
            if first.get(what) != other.get(what):
                return f"{what} must match {first.get(what, 'none')} of rank 0 on all ranks, got: {other.get(what, 'none')} on rank {rank}"
    return "steps must be the same on all ranks, got: others"


def _crc(tensor: torch.Tensor) -> int:
    dense = torch.Tensor.detach(tensor).to_dense().resolve_conj().resolve_neg().contiguous().reshape(-1)
    return zlib.crc32(dense.view(torch.uint8).numpy().data) if dense.numel() else 0


def _described(tensor: torch.Tensor) -> str:
    return f"{str(tensor.dtype).removeprefix('torch.')}{list(tensor.shape)}"


def _text(value: Any) -> str:
    """Equal of values that are, and another one of others; of what is no number, text or tensor its type."""
    if isinstance(value, torch.Tensor):
        return f"{_described(value)} {value.item()!r}" if value.numel() == 1 else f"{_described(value)} of numbers with the digest {_crc(value):08x}"
    if isinstance(value, np.ndarray):
        return _text(value.tolist())
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key!r}: {_text(value[key])}" for key in sorted(value, key=str)) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(_text, value)) + "]"
    return repr(value) if value is None or isinstance(value, (bool, int, float, complex, str)) else type(value).__name__


def _options(groups: "Iterable[dict[str, Any]]") -> "Iterator[tuple[str, str]]":
    for number, group in enumerate(groups):
        for key in sorted(group.keys() - {"params"}, key=str):
            yield f"{key!r} of the optimizer's group {number}", _text(group[key])


def _state(names: "dict[int, str]", optimizer: torch.optim.Optimizer) -> "Iterator[tuple[str, str]]":
    for owner, entries in vars(optimizer)["state"].items():
        for key, value in entries.items() if isinstance(entries, dict) else [("", entries)]:
            yield f"state {key!r} of {names.get(id(owner), 'no parameter')!r} in the optimizer", _text(value)


def _modes(modules: "Iterable[tuple[str, bool]]") -> "Iterator[tuple[str, str]]":
    for name, training in modules:
        yield f"mode of {f'module {name!r}' if name else 'the model'}", "train" if training else "eval"


def at_first(model: nn.Module, optimizer: torch.optim.Optimizer) -> Items:
    """Of distribute(), before any values are exchanged: those of parameters and buffers become those of rank 0."""
    yield "class of the optimizer", type(optimizer).__name__
    names = {id(p): name for name, p in model.named_parameters()}
    for number, (name, p) in enumerate(model.named_parameters()):
        yield f"parameter {number} of the model", f"{name!r} of {_described(p)}{'' if p.requires_grad else ', frozen'}"
    for number, (name, b) in enumerate(model.named_buffers()):
        yield f"buffer {number} of the model", f"{name!r} of {_described(b)}"
    yield from _modes((name, module.training) for name, module in model.named_modules())
    yield "number of the optimizer's groups", str(len(optimizer.param_groups))
    for number, group in enumerate(optimizer.param_groups):
        for place, p in enumerate(group["params"]):
            yield f"parameter {place} of the optimizer's group {number}", repr(names[id(p)])
    yield from _options(optimizer.param_groups)
    yield from _state(names, optimizer)


@dataclasses.dataclass(frozen=True)
class _Step:
    number: int
    groups: "list[dict[str, Any]]"
    sent: np.ndarray
    passes: int
    modes: bytes


class Agreed:
    """Of the steps of one model and optimizer: post() in step(), of all ranks; check() once `posted` is done, before anything is updated by it.

    names: of the parameters whose gradients are sent, by index.
    """

    def __init__(self, posts: Posts, model: nn.Module, optimizer: torch.optim.Optimizer, names: "list[str]"):
        self._posts, self._optimizer, self._names = posts, optimizer, names
        self._modules, self._parameters = list(model.named_modules()), list(model.named_parameters())
        self.passes = 0  # that began with buffers of rank 0
        self.loaded = False  # values or state, since the last step
        self.posted: Optional[Posted] = None
        self._error: Optional[str] = None
        self._options: "tuple[list[dict[str, Any]], int]" = ([], 0)  # and what their digest is

    def post(self, number: int, groups: "list[dict[str, Any]]", sent: np.ndarray) -> None:
        """sent: how many gradients, by index."""
        loaded, self.loaded = self.loaded, False
        if self._posts.size == 1:
            return
        if self._error is not None:
            raise RuntimeFailure(self._error)
        self._step = _Step(number, groups, sent.copy(), self.passes, bytes(module.training for _, module in self._modules))
        own = np.array([self._digest(groups), zlib.crc32(self._step.sent.tobytes()), self.passes, zlib.crc32(self._step.modes), loaded], np.int64)
        self._every = np.empty((self._posts.size, len(own)), np.int64)
        self.posted = self._posts.post("step", own, "all_gather", output=self._every, priority=URGENT)

    def check(self) -> None:
        """Raises RuntimeFailure, on all ranks, and from then on."""
        if self._error is not None:
            raise RuntimeFailure(self._error)
        if self.posted is None:
            return
        self.posted.wait()
        self.posted = None
        try:
            if (self._every[:, :-1] != self._every[0, :-1]).any():
                raise RuntimeFailure(_difference(self._posts, self._items()))
            if self._every[:, -1].any():
                compare(self._posts, self._values(), RuntimeFailure)
        except RuntimeFailure as error:
            self._error = str(error)
            raise

    def _digest(self, groups: "list[dict[str, Any]]") -> int:
        """What has not changed is not gone through again."""
        try:
            same = groups == self._options[0]
        except (RuntimeError, ValueError):  # of arrays and tensors of several numbers
            same = False
        if not same:
            self._options = groups, zlib.crc32(repr(list(_options(groups))).encode())
        return self._options[1]

    def _items(self) -> Items:
        step = self._step
        yield from ((f"{what} in step {step.number}", value) for what, value in _options(step.groups))
        yield from ((f"{what} in step {step.number}", mode) for what, mode in _modes(
            (name, bool(mode)) for (name, _), mode in zip(self._modules, step.modes)))
        for name, count in zip(self._names, step.sent.tolist()):
            yield f"number of gradients of {name!r} up to step {step.number}", str(count)
        yield f"number of forward passes in training mode up to step {step.number}", str(step.passes)

    def _values(self) -> Items:
        """After load_state_dict() on some rank, as they were when step() was called."""
        for name, p in self._parameters:
            yield f"parameter {name!r} after load_state_dict()", f"{_described(p)} of numbers with the digest {_crc(p):08x}"
        yield from _state({id(p): name for name, p in self._parameters}, self._optimizer)
