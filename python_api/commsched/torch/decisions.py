# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What an update decides by numbers that are only known in a run, such as its count of steps: every way is traced, and the results are selected."""

from __future__ import annotations

import builtins
import contextlib
import inspect
import math
import sys
import types
from typing import Any, Callable, Iterator, Optional, Sequence

import torch

from ..errors import FrontEndError

WAYS = 16  # of one update


class _Taken:
    """What is decided on one way: `given`, and true from there on."""

    def __init__(self, given: Sequence[bool]):
        self.given = list(given)
        self.asked: "list[torch.SymBool]" = []
        self._known: "dict[Any, bool]" = {}

    def decide(self, question: torch.SymBool) -> bool:
        known = question.node.maybe_as_bool()
        if known is not None:
            return known
        expression = question.node.expr
        if expression not in self._known:
            self._known[expression] = self.given[len(self.asked)] if len(self.asked) < len(self.given) else True
            self.asked.append(question)
        return self._known[expression]


def every_way(name: str, once: "Callable[[], list[torch.Tensor]]") -> "list[torch.Tensor]":
    """What once() returns, selected by what it decides. name: of the optimizer."""
    count = 0

    def explore(given: "list[bool]") -> "Optional[list[torch.Tensor]]":
        nonlocal count
        count += 1
        if count > WAYS:
            raise FrontEndError(f"{name} decides by its count of steps or its rate what it does, in more than {WAYS} ways, which is no fixed graph")
        taken = _Taken(given)
        own, torch.SymBool.__bool__ = torch.SymBool.__bool__, lambda question: taken.decide(question)
        results: "Optional[list[torch.Tensor]]" = None
        try:
            results = once()
        except ZeroDivisionError:  # by a number that is known, such as steps of a warmup that has none: there PyTorch does not go
            pass
        finally:
            torch.SymBool.__bool__ = own
        for j in reversed(range(len(given), len(taken.asked))):
            others = explore([*given, *[True] * (j - len(given)), False])
            if results is None or others is None:
                results = results or others
                continue
            holds = torch.scalar_tensor(torch.sym_ite(taken.asked[j], 1.0, 0.0), dtype=torch.float64) > 0.5
            results = [torch.where(holds, a, b) for a, b in zip(results, others, strict=True)]
        return results
    found = explore([])
    if found is None:
        raise FrontEndError(f"{name} divides by zero in its step")
    return found


def _symbolic(value: Any) -> bool:
    return isinstance(value, (torch.SymInt, torch.SymFloat))


def _sqrt(value: Any) -> Any:
    return torch._sym_sqrt(value) if _symbolic(value) else _OWN["sqrt"](value)


def _pow(base: Any, exponent: Any) -> Any:
    return float(base) ** exponent if _symbolic(exponent) and not _symbolic(base) else base ** float(exponent) if _symbolic(base) else _OWN["pow"](base, exponent)


def catches_zero_division(kind: type) -> bool:
    """Whether a method of an optimizer goes on where it has divided by zero (schedulefree): which numbers of a run are zero is then a decision, too."""
    methods = [inspect.unwrap(f) for c in kind.__mro__ if not c.__module__.startswith("torch.") for f in vars(c).values() if isinstance(f, types.FunctionType)]
    return any("ZeroDivisionError" in f.__code__.co_names for f in methods)


def _divided(own: Callable, backwards: bool, within: "list[bool]") -> Callable:
    """within: whether one is made, which PyTorch makes of others that nobody has written."""
    def divided(a: Any, b: Any) -> Any:
        by = a if backwards else b
        if within[0]:
            return own(a, b)
        if _symbolic(by) and by == 0:
            raise ZeroDivisionError("division by zero")
        within[0] = True
        try:
            return own(a, b)
        finally:
            within[0] = False
    return divided


def _extreme(own: Callable, sym: Callable) -> Callable:
    def extreme(*arguments: Any, **named: Any) -> Any:
        if len(arguments) > 1 and not named and any(map(_symbolic, arguments)):
            value = arguments[0]
            for other in arguments[1:]:
                value = sym(value, other)
            return value
        return own(*arguments, **named)
    return extreme


_OWN: "dict[str, Callable]" = {"sqrt": math.sqrt, "pow": math.pow}
_MATH: "dict[str, Callable]" = {"sqrt": _sqrt, "pow": _pow}
_EXTREMES: "dict[str, Callable]" = {"max": _extreme(max, torch.sym_max), "min": _extreme(min, torch.sym_min)}


@contextlib.contextmanager
def numbers(kind: type) -> "Iterator[None]":
    """Within it, what an optimizer's modules call of math, min and max is of numbers that are only known in a run, too."""
    packages = {c.__module__.rpartition(".")[0] or c.__module__ for c in kind.__mro__ if c.__module__ not in ("builtins", "typing", "abc")}
    modules = [m for n, m in list(sys.modules.items()) if m is not None and any(n == p or n.startswith(f"{p}.") for p in packages)]
    undo: "list[tuple[dict, str, Any]]" = []
    for module in modules:
        own = vars(module)
        for name, made in _EXTREMES.items():
            if own.get(name, getattr(builtins, name)) is getattr(builtins, name):
                undo.append((own, name, own.get(name)))
                own[name] = made
        for name, made in _MATH.items():
            if own.get(name) is _OWN[name]:
                undo.append((own, name, own[name]))
                own[name] = made
    for name, made in _MATH.items():
        undo.append((vars(math), name, _OWN[name]))
        setattr(math, name, made)
    saved = [(owner, name, getattr(owner, name)) for owner in (torch.SymInt, torch.SymFloat) for name in ("__truediv__", "__rtruediv__")]
    if catches_zero_division(kind):
        within = [False]
        for owner, name, own_division in saved:
            setattr(owner, name, _divided(own_division, name == "__rtruediv__", within))
    try:
        yield
    finally:
        for owner, name, own_division in saved:
            setattr(owner, name, own_division)
        for own, name, value in reversed(undo):
            if value is None:
                del own[name]
            else:
                own[name] = value
