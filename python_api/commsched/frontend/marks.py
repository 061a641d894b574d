# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which of the gradients in a trace are of parameters (jax_gradient.py): where gradients are marked by themselves, those of samples and of noise, as adversarial
training takes them, are marked too, and no worker averages them."""

from __future__ import annotations

from typing import Any, Sequence

import jax
from jax.extend.core import ClosedJaxpr, Literal

from .jax_gradient import gradient_p, loss_p
from .jaxprs import inner, through


def without_others(trace: ClosedJaxpr, batch: Sequence[bool]) -> ClosedJaxpr:
    """The trace with no marks but at what is made from a parameter, or another argument of numbers that is in no batch, of the same shape, and from no sample.

    batch: of each argument, whether it is of a batch.
    """
    def own(i: int, v: Any) -> "set[Any]":
        return {None} if batch[i] else {v.aval.shape} if jax.dtypes.issubdtype(v.aval.dtype, jax.numpy.inexact) else set()
    jaxpr, _ = _changed(trace.jaxpr, [own(i, v) for i, v in enumerate(trace.jaxpr.invars)])
    return trace.replace(jaxpr=jaxpr)


def _changed(jaxpr: Any, given: "Sequence[set[Any]]") -> "tuple[Any, list[set[Any]]]":
    """The trace, and of its results what they are made from: shapes of arguments, and None of a batch. given: the same of its arguments."""
    known: "dict[Any, set[Any]]" = dict(zip(jaxpr.invars, given, strict=True))

    def of(v: Any) -> "set[Any]":
        return set() if isinstance(v, Literal) else known.get(v, set())

    def equation(e: Any) -> Any:
        sources = [of(v) for v in e.invars]
        every = set().union(*sources)
        results = [every] * len(e.outvars)
        if e.primitive is gradient_p:
            mark = None not in sources[1] and e.invars[1].aval.shape in sources[1]
            results = [sources[1] if mark else sources[0]]
            e = e if mark else e.replace(primitive=loss_p, invars=e.invars[:1])
        elif through(e):
            (x,) = inner(e)
            found, results = _changed(getattr(x, "jaxpr", x), sources)
            e = e.replace(params={n: _with(p, x, found) for n, p in e.params.items()})
        elif inner(e):  # whatever they are made from may be made from all
            e = e.replace(params={n: _in_each(p, every) for n, p in e.params.items()})
        known.update(zip(e.outvars, results, strict=True))
        return e
    changed = jaxpr.replace(eqns=[equation(e) for e in jaxpr.eqns])
    return changed, [of(v) for v in jaxpr.outvars]


def _with(param: Any, old: Any, new: Any) -> Any:
    return param if param is not old else old.replace(jaxpr=new) if isinstance(old, ClosedJaxpr) else new


def _in_each(param: Any, every: "set[Any]") -> Any:
    if isinstance(param, (tuple, list)) and not hasattr(param, "_fields"):
        return type(param)(_in_each(x, every) for x in param)
    if isinstance(param, ClosedJaxpr):
        return param.replace(jaxpr=_in_each(param.jaxpr, every))
    return _changed(param, [every] * len(param.invars))[0] if hasattr(param, "eqns") else param
