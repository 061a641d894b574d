# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whether the step of the whole batch is that of a part, but for numbers that grow with the number of samples: or whether the number decides, as by an `if` of Python, which step it is.

A program of which nothing is decided has the same operations for any number of samples, on the same operands, and what differs are sizes, and numbers that are made of
the number of samples: of those of a part, the whole batch and a third number of samples, two foretell the other one. Where they do not, something may be decided; whether that makes another
step is tried (trial.py)."""

from __future__ import annotations

import collections
import enum
import math
from typing import Any, Callable, NamedTuple, Optional, Sequence

import jax
import numpy as np
from jax.extend.core import ClosedJaxpr, Literal

from .jaxprs import closed, equations, inner, line_within

_EXACT = 1e-5  # of numbers that are rounded to 32 bits
# More rounds of it where there are thousands of samples, of which nothing is another permutation.
_AS_GOOD = ("_shuffle",)
# An exponent and a number of turns: twice as large a one need not be of twice the samples.
_NO_SIZES = {"y", "length"}
_OF_SEVERAL = {"broadcast_in_dim", "reshape", "squeeze", "expand_dims", "transpose", "reduce_sum", "jit", "pjit"}


class Break(NamedTuple):
    """The first operations of the step of a part and of that of the whole batch that are not the same; None where there are no more."""

    part: Any
    whole: Any


class _Broken(Exception):
    """A number that is not foretold, or what has none."""


class _Apart(_Broken):
    """Other operations."""


def _foretold(a: float, b: float, c: float, times: "tuple[int, int]") -> bool:
    """Whether numbers of a part, of the whole batch and of a third number of samples are one function of it; times: how many parts the second and third have."""
    if a == b or a != a and b != b:
        return True
    if c in (a, b) or not all(map(math.isfinite, (a, b, c))):
        return False

    def near(x: float, y: float) -> bool:
        return math.isclose(x, y, rel_tol=_EXACT)
    share = math.log(times[1]) / math.log(times[0])
    linear, logarithm = a + (b - a) * (times[1] - 1) / (times[0] - 1), a + (b - a) * share
    return near(linear, c) or near(logarithm, c) or a * b > 0 and near(a * (b / a) ** share, c)


class _Walk:
    """samples: of a part. times: how many parts the whole batch has, and the third trace, if there is one."""

    def __init__(self, samples: int, times: "tuple[int, ...]"):
        self.samples, self.times = samples, times
        self.known: "dict[tuple[int, ...], Any]" = {}  # that have been found to be the same, and are there as long as their ids are

    def numbers(self, of: Sequence[Any]) -> bool:
        if len(of) > 2:
            return _foretold(*map(float, of), self.times)  # type: ignore[call-arg, arg-type]
        a, b = map(float, of)
        return a == b or a != a and b != b or b == a * self.times[0] or a == b * self.times[0]

    def arrays(self, of: Sequence[Any]) -> bool:
        if any(jax.dtypes.issubdtype(getattr(x, "dtype", np.bool_), jax.dtypes.extended) for x in of):
            return True
        of = [np.asarray(x) for x in of]
        if len({x.dtype for x in of}) > 1 or len({x.ndim for x in of}) > 1:
            return False
        a, b = of[:2]
        if a.shape == b.shape and ((a == b) | (a != a) & (b != b)).all():
            return True
        if a.dtype == np.bool_ or jax.dtypes.issubdtype(a.dtype, np.complexfloating):
            return False
        if all(x.size and (x == x.flat[0]).all() for x in of):
            return self.numbers([x.flat[0] for x in of])
        more = [x for x, y in zip(a.shape, b.shape) if x != y]
        at = next((i for i, (x, y) in enumerate(zip(a.shape, b.shape)) if x != y), 0)
        # Such as places, or what comes again with every part.
        return len(more) == 1 and b.shape[at] % a.shape[at] == 0 and (
            (np.take(b, range(a.shape[at]), at) == a).all() and all((np.diff(x, 2, at) == 0).all() for x in of)
            or bool((np.concatenate([a] * (b.shape[at] // a.shape[at]), at) == b).all()))

    def same(self, of: Sequence[Any]) -> bool:
        """Of parameters of an operation. What is nothing of these, such as functions that JAX calls by itself, is taken for the same."""
        first = of[0]
        if isinstance(first, (bool, np.bool_, str, enum.Enum, np.dtype, type(None))):
            return all(type(x) is type(first) and x == first for x in of[:2])
        if isinstance(first, (int, float, np.number)):
            return all(isinstance(x, (int, float, np.number)) for x in of) and self.numbers(of)
        if isinstance(first, (tuple, list)):
            return all(type(x) is type(first) for x in of) and len({len(x) for x in of[:2]}) == 1 and all(map(self.same, zip(*of)))
        if hasattr(getattr(first, "jaxpr", first), "eqns"):
            self.traces([closed(x) for x in of])
            return True
        if isinstance(first, (np.ndarray, jax.Array)):
            return self.arrays(of)
        return True

    def traces(self, of: "Sequence[ClosedJaxpr]") -> None:
        key = tuple(id(y) for x in of for y in (x.jaxpr, *x.consts))
        if key in self.known:
            return
        bodies = [x.jaxpr for x in of]
        names: "list[dict[Any, int]]" = [{} for _ in of]

        def begun(rows: "Sequence[Sequence[Any]]", by: Sequence[Any]) -> None:
            for together in zip(*rows):
                for own, v in zip(names, together):
                    own[v] = len(own)
                if len({v.aval.dtype for v in together[:2] if hasattr(v.aval, "dtype")}) > 1 or not self.same([tuple(getattr(v.aval, "shape", ())) for v in together]):
                    raise _Broken(*by[:2])

        def alike(vs: Sequence[Any]) -> bool:
            if any(isinstance(v, Literal) for v in vs):
                return all(isinstance(v, Literal) for v in vs) and self.arrays([v.val for v in vs])
            return len({own[v] for own, v in zip(names, vs)}) == 1

        def made(i: int, v: Any) -> Any:
            return next((e for e in bodies[i].eqns if not isinstance(v, Literal) and v in e.outvars), None)
        if len({len(x.consts) for x in of}) > 1 or len({len(b.invars) for b in bodies}) > 1 or len({len(b.constvars) for b in bodies}) > 1:
            raise _Apart(None, None)
        begun([[*b.constvars, *b.invars] for b in bodies], (None, None))
        for b, together in zip(range(len(of[0].consts)), zip(*(x.consts for x in of))):
            if not self.arrays(together):
                raise _Broken(*(next((e for e in body.eqns if body.constvars[b] in e.invars), None) for body in bodies[:2]))
        for i in range(max(len(b.eqns) for b in bodies)):
            es = [b.eqns[i] if i < len(b.eqns) else None for b in bodies]
            e = es[0]
            if any(x is None or e is None or x.primitive is not e.primitive or len(x.invars) != len(e.invars) or len(x.outvars) != len(e.outvars) for x in es):
                raise _Apart(*es[:2])
            assert e is not None
            if not all(map(alike, zip(*(x.invars for x in es)))):  # type: ignore[union-attr]
                raise _Broken(*es[:2])
            params = [x.params for x in es]  # type: ignore[union-attr]
            if e.params.get("name") not in _AS_GOOD and (len({frozenset(p) for p in params}) > 1 or not all(self.same([p[n] for p in params]) for n in e.params)):
                raise _Broken(*es[:2])
            if any(p.get(n) != e.params[n] and (len(of) < 3 and (n == "y" or e.params[n] % self.samples)) for n in _NO_SIZES & e.params.keys() for p in params[1:]):
                raise _Broken(*es[:2])
            begun([x.outvars for x in es], es)  # type: ignore[union-attr]
        if len({len(b.outvars) for b in bodies}) > 1:
            raise _Apart(None, None)
        for vs in zip(*(b.outvars for b in bodies)):
            if not alike(vs):
                raise _Broken(*(made(i, v) for i, v in enumerate(vs[:2])))
        self.known[key] = of


def broken(one: ClosedJaxpr, whole: ClosedJaxpr, third: Optional[ClosedJaxpr], samples: int, times: "tuple[int, int]") -> Optional[Break]:
    """Where the step of the whole batch is no longer that of a part; None where it is. third: of another number of samples, or None if it is not known. samples: of a part. times: how many parts
    whole and third have."""
    try:
        if third is not None:
            _Walk(samples, times).traces([one, whole, third])
            return None
    except _Apart:
        pass  # where of the third it may be
    except _Broken as error:
        return Break(*error.args)
    try:
        _Walk(samples, times[:1]).traces([one, whole])
    except _Broken as error:
        return Break(*error.args)
    return None


def computes_as(one: ClosedJaxpr, whole: ClosedJaxpr) -> bool:
    """Whether both have as many operations of each kind, but for those that one sample alone can do without."""
    counts = [collections.Counter(e.primitive.name for e in equations(t.jaxpr) if e.primitive.name not in _OF_SEVERAL) for t in (one, whole)]
    return counts[0] == counts[1]


def place(found: Break, one: ClosedJaxpr, whole: ClosedJaxpr, locate: "Callable[[Any], Optional[str]]") -> Optional[str]:
    """The user's line of what only one of the two does."""
    own, other = (line_within(t.jaxpr, e, locate) if e is not None else None for t, e in ((one, found.part), (whole, found.whole)))
    if own == other or not own or not other:
        return other or own
    of_part = {line for e in equations(one.jaxpr) if not inner(e) for line in (locate(e),)}
    of_whole = {line for e in equations(whole.jaxpr) if not inner(e) for line in (locate(e),)}
    return other if other not in of_part or own in of_whole else own
