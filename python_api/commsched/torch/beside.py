# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a step reads that is neither a parameter nor of the batch: buffers that it does not write, tensors beside the model (a teacher, weights of classes), and
numbers of Python (p of a dropout, a variable of loss_fn). In a program they stay what they were when the step was traced, and whoever changes them later is told."""

from __future__ import annotations

import dis
import functools
import types
import weakref
from typing import Any, Iterator

import torch
from torch._subclasses.fake_tensor import FakeTensor

from ..notices import nothing_done
from .changes import _mark

_NUMBERS = (bool, int, float, complex, str)


class _Tensor(tuple):
    """That is an attribute: which one, and its shape. What is written into it is another matter."""

    def __repr__(self) -> str:
        return f"a tensor {list(self[1:])}"


class Beside:
    """Of one step; made before it is traced, so that what the step itself changes is known, which is no matter here (kept.py)."""

    def __init__(self, model: torch.nn.Module, loss: Any, *functions: Any):
        self._model, self._loss, self._functions = model, loss, functions
        self.sets: "set[str]" = set()  # attributes of modules that the step sets
        self.writes: "set[str]" = set()  # buffers
        self._tensors: "dict[int, tuple[str, weakref.ref[torch.Tensor], tuple]]" = {}
        self._numbers = dict(self._now())
        self._buffers: "dict[str, tuple]" = {}

    def reads(self, place: str, tensor: Any) -> None:
        """A constant of the graph."""
        if isinstance(tensor, torch.Tensor) and not isinstance(tensor, FakeTensor) and tensor.layout == torch.strided:
            known = self._tensors.get(id(tensor))
            if known is None or known[1]() is not tensor:
                self._tensors[id(tensor)] = (f"{place}a tensor {list(tensor.shape)}", weakref.ref(tensor), _mark(tensor))

    def traced(self) -> None:
        """The step was: what counts is what there is now."""
        now = dict(self._now())
        self._numbers = {name: value for name, value in self._numbers.items() if name[1] not in self.sets and name in now and _same(now[name], value)}
        self.written()

    def written(self) -> None:
        """The model's buffers are the program's."""
        self._buffers = {name: _mark(b) for name, b in self._model.named_buffers() if name not in self.writes}

    def check(self) -> None:
        """Warns of what was changed since, the first of each kind."""
        then = "which changes nothing in the program"
        for name, b in self._model.named_buffers():
            if name in self._buffers and self._buffers[name] != _mark(b):
                nothing_done(f"buffer '{name}' of the model was changed since transpile() or load_into(), {then}: it goes on with its own; "
                             "give it another one by set_slots()")
                break
        for what, reference, old in self._tensors.values():
            tensor = reference()
            if tensor is not None and _mark(tensor) != old:
                nothing_done(f"{what}, which the step reads beside the model, was changed since transpile(), {then}; "
                             "transpile again, or have it be a buffer, or an element of the batch")
                break
        now = dict(self._now())
        for (what, name), value in self._numbers.items():
            new = now.get((what, name), value)
            if not _same(new, value):
                other = "another one, " if repr(new) == repr(value) else ""
                nothing_done(f"'{name}' of {what} was {value!r} when the step was transpiled, and the step stays so, got: {other}{new!r}; "
                             "transpile again, or have it be a buffer, or an element of the batch")
                break

    def _now(self) -> "Iterator[tuple[tuple[str, str], Any]]":
        """Of whom, the name there, and the number or tensor."""
        modules = [("the model", self._model)]
        if isinstance(self._loss, torch.nn.Module) and self._loss is not self._model:
            modules.append(("loss_fn", self._loss))
        for what, module in modules:
            for name, part in module.named_modules():
                for key, value in vars(part).items():
                    if type(value) in _NUMBERS and key != "training" or isinstance(value, torch.Tensor):
                        yield (what, f"{name}.{key}" if name else key), _Tensor((id(value), *value.shape)) if isinstance(value, torch.Tensor) else value
        for what, function in zip(("loss_fn", "before_update"), (self._loss, *self._functions)):
            for name, value in _of_function(function, set()):
                yield (what, name), value


def _same(a: Any, b: Any) -> bool:
    return type(a) is type(b) and (a == b or a != a)


def _of_function(function: Any, seen: "set[int]") -> "Iterator[tuple[str, Any]]":
    """Numbers that a function of Python, and those of its module that it calls, read from variables outside, by the names they have there."""
    while isinstance(function, functools.partial):
        function = function.func
    variables: "dict[str, Any]" = {}
    if isinstance(function, types.MethodType):
        variables["self"], function = function.__self__, function.__func__
    elif not isinstance(function, types.FunctionType) and isinstance(own := getattr(type(function), "__call__", None), types.FunctionType):
        variables["self"], function = function, own
    if not isinstance(function, types.FunctionType) or (function.__module__ or "").split(".")[0] == "torch" or id(function) in seen:
        return
    seen.add(id(function))
    globals_, attributes, constants = _names(function.__code__)
    variables.update((name, function.__globals__[name]) for name in globals_ if name in function.__globals__)
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
        try:
            variables[name] = cell.cell_contents
        except ValueError:  # which is still empty
            pass
    for name, value in variables.items():
        if type(value) in _NUMBERS:
            yield name, value
        elif type(value) is list and len(value) <= 64:
            yield from ((f"{name}[{i}]", v) for i, v in enumerate(value) if type(v) in _NUMBERS)
        elif type(value) is dict:
            yield from ((f"{name}[{k!r}]", value[k]) for k in constants if k in value and type(value[k]) in _NUMBERS)
        elif isinstance(value, types.FunctionType):
            if value.__globals__ is function.__globals__:
                yield from _of_function(value, seen)
        elif not isinstance(value, (torch.nn.Module, torch.Tensor)) and hasattr(value, "__dict__"):
            own = vars(value)
            yield from ((f"{name}.{k}", own[k]) for k in sorted(attributes) if type(own.get(k)) in _NUMBERS)


@functools.lru_cache(maxsize=256)
def _names(code: types.CodeType) -> "tuple[frozenset[str], frozenset[str], frozenset[str]]":
    """Global variables, attributes and constant keys that code reads, with the functions in it."""
    globals_: "set[str]" = set()
    attributes: "set[str]" = set()
    constants: "set[str]" = set()
    for instruction in dis.get_instructions(code):
        if instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            globals_.add(instruction.argval)
        elif instruction.opname in ("LOAD_ATTR", "LOAD_METHOD"):
            attributes.add(instruction.argval)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            for found, inner in zip((globals_, attributes, constants), _names(constant)):
                found |= inner
        elif isinstance(constant, str):
            constants.add(constant)
    return frozenset(globals_), frozenset(attributes), frozenset(constants)
