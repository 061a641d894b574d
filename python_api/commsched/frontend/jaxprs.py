# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The traces within the operations of a trace of JAX."""

from __future__ import annotations

from typing import Any, Callable, Iterator, Optional

from jax.extend.core import ClosedJaxpr


def closed(jaxpr: Any) -> ClosedJaxpr:
    """Constants that an open one has are arguments, the first ones."""
    if isinstance(jaxpr, ClosedJaxpr):
        return jaxpr
    if jaxpr.constvars:
        jaxpr = jaxpr.replace(constvars=[], invars=[*jaxpr.constvars, *jaxpr.invars], debug_info=jaxpr.debug_info.with_unknown_names())
    return ClosedJaxpr(jaxpr, ())


def inner(equation: Any) -> "list[Any]":
    """Of one operation, with constants or without."""
    return [x for v in equation.params.values() for x in (v if isinstance(v, (tuple, list)) else (v,)) if hasattr(getattr(x, "jaxpr", x), "eqns")]


def equations(jaxpr: Any) -> "Iterator[Any]":
    """All of a trace, those within others too."""
    for e in jaxpr.eqns:
        yield e
        for x in inner(e):
            yield from equations(getattr(x, "jaxpr", x))


def through(equation: Any) -> bool:
    """Whether an operation is its one trace, as a jitted function is: with its operands and results."""
    found = inner(equation)
    if len(found) != 1 or equation.primitive.name in ("scan", "while"):
        return False
    of = closed(found[0]).jaxpr
    return len(of.invars) == len(equation.invars) and len(of.outvars) == len(equation.outvars)


def line_within(jaxpr: Any, of: Any, locate: "Callable[[Any], Optional[str]]") -> Optional[str]:
    """The user's line of an operation, or of that around it: those within functions of JAX have none. None if it is not there, "" if it has none."""
    for e in jaxpr.eqns:
        found = "" if e is of else next((p for p in (line_within(closed(x).jaxpr, of, locate) for x in inner(e)) if p is not None), None)
        if found is not None:
            return found or locate(e) or ""
    return None
