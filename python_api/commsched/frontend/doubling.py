# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What becomes of a step's gradients when every sample of the batch is there twice.

A worker has the step of its part of the batch, and gradients are means over the workers. That is the step of one device on the
whole batch where the loss is a mean over the samples, which does not change when each is there twice. A sum becomes twice as
large; the means over N workers of sums are an N-th of it, and the training would be another one without a word.

The step is traced twice, at the shapes of one part and with twice the samples, and the two traces are followed side by side. Of
each value is known by which factor it is larger in the second: everywhere, or along the dimension of the samples, where the
second has the values of the first twice, one after the other. Whatever is not understood is not known, and nothing is said of it.
"""

from __future__ import annotations

from typing import Any, Callable, Sequence

import jax
from jax.extend.core import ClosedJaxpr, Literal

from ..errors import FrontEndError
from .doubling_rules import SAME, UNKNOWN, ZERO, Factor, common, constant, dimension_of_samples, result, shape
from .jax_gradient import gradient_p, marking


# The operations that have another trace in them, and under which name.
_INNER = {"jit": "jaxpr", "pjit": "jaxpr", "closed_call": "call_jaxpr", "core_call": "call_jaxpr", "remat": "jaxpr", "remat2": "jaxpr",
          "checkpoint": "jaxpr", "custom_jvp_call": "call_jaxpr", "custom_vjp_call": "call_jaxpr", "custom_vjp_call_jaxpr": "fun_jaxpr",
          "custom_lin": "call_jaxpr"}


class _Different(Exception):
    """The two traces have other operations."""


class _Walk:
    def __init__(self) -> None:
        self.gradients: "list[Factor]" = []

    def run(self, one: ClosedJaxpr, two: ClosedJaxpr, inputs: Sequence[Factor]) -> "list[Factor]":
        a, b = one.jaxpr, two.jaxpr
        if len(a.eqns) != len(b.eqns) or len(a.invars) != len(b.invars) or len(one.consts) != len(two.consts):
            raise _Different
        known: "dict[Any, Factor]" = dict(zip(a.invars, inputs, strict=True))
        known.update((v, constant(x, y)) for v, x, y in zip(a.constvars, one.consts, two.consts))

        def factor(v: Any, w: Any) -> Factor:
            if isinstance(v, Literal):
                return constant(v.val, w.val) if isinstance(w, Literal) else UNKNOWN
            return known[v]
        for e, f in zip(a.eqns, b.eqns):
            if e.primitive.name != f.primitive.name or len(e.invars) != len(f.invars):
                raise _Different
            found = self.equation(e, f, [factor(v, w) for v, w in zip(e.invars, f.invars)])
            for v, w, x in zip(e.outvars, f.outvars, found, strict=True):
                known[v] = x if dimension_of_samples(shape(v), shape(w)) is not None else UNKNOWN
        return [factor(v, w) for v, w in zip(a.outvars, b.outvars)]

    def equation(self, e: Any, f: Any, factors: "list[Factor]") -> "list[Factor]":
        name = e.primitive.name
        if e.primitive is gradient_p:
            self.gradients.append(factors[0])
            return factors[:1]
        if name in _INNER and _INNER[name] in e.params:
            return self.run(_closed(e.params[_INNER[name]]), _closed(f.params[_INNER[name]]), factors)
        if name == "scan":
            return self.scan(e, f, factors)
        if name == "cond":
            return self.cond(e, f, factors)
        return [result(e, f, factors)] * len(e.outvars)

    def scan(self, e: Any, f: Any, factors: "list[Factor]") -> "list[Factor]":
        consts, carried = e.params["num_consts"], e.params["num_carry"]
        if e.params["length"] != f.params["length"]:
            raise _Different
        carry, before = factors[consts:consts + carried], len(self.gradients)
        while True:
            del self.gradients[before:]
            out = self.run(e.params["jaxpr"], f.params["jaxpr"], [*factors[:consts], *carry, *factors[consts + carried:]])
            # What is added up begins as zero; what else changes from one time to the next is not known.
            new = [x if x == y else y if x == ZERO else x if y == ZERO else UNKNOWN for x, y in zip(carry, out)]
            if new == carry:
                return carry + out[carried:]
            carry = new

    def cond(self, e: Any, f: Any, factors: "list[Factor]") -> "list[Factor]":
        branches = [self.run(a, b, factors[1:]) for a, b in zip(e.params["branches"], f.params["branches"], strict=True)]
        return [common(x) if factors[0] in SAME else UNKNOWN for x in zip(*branches)]


def _closed(jaxpr: Any) -> ClosedJaxpr:
    return jaxpr if isinstance(jaxpr, ClosedJaxpr) else ClosedJaxpr(jaxpr, ())


def factors_of(one: ClosedJaxpr, two: ClosedJaxpr) -> "list[Factor]":
    """By which factor each gradient that is marked is larger with twice the samples, in their order; UNKNOWN where that is not
    known. Empty if the two traces differ."""
    walk = _Walk()
    try:
        walk.run(one, two, [1.0 if dimension_of_samples(shape(v), shape(w)) is not None else UNKNOWN for v, w in zip(one.jaxpr.invars, two.jaxpr.invars)])
    except _Different:
        return []
    return walk.gradients


def doubled(specs: Sequence[Any], first: int) -> "list[Any]":
    """Of twice the samples: arguments from `first` on are those of a batch."""
    return [*specs[:first], *(jax.ShapeDtypeStruct((2 * s.shape[0], *s.shape[1:]), s.dtype) for s in specs[first:])]


def check_mean(flat: Callable, specs: Sequence[Any], twice: Callable, twice_specs: Sequence[Any], parts: int, automatic: bool) -> None:
    """Refuses a step whose gradients are larger with more samples, by parts of which they would be averaged.

    flat, specs: the step of one part, and its arguments; twice, twice_specs: of twice the samples. automatic: as of marking().
    Raises FrontEndError.
    """
    if parts == 1:
        return

    def traced(of: Callable, given: Sequence[Any]) -> ClosedJaxpr:
        with marking(automatic):
            return jax.make_jaxpr(lambda *a: of(*a))(*given)
    try:
        one = traced(flat, specs)
        factors = factors_of(one, traced(twice, twice_specs))
        if not factors:
            jax.clear_caches()  # functions that were traced with so many samples before have no marks
            factors = factors_of(one, traced(twice, twice_specs))
    except Exception:  # a step that takes this number of samples only: nothing is known
        return
    for factor in factors:
        if isinstance(factor, float) and factor not in SAME:
            raise FrontEndError(
                f"the loss must be a mean over the samples of the batch, got: one whose gradients are {factor:g} times as large when every sample is "
                f"there twice; each of {parts} parts of the batch has a loss of its own, and gradients are their means. Divide a sum by "
                "the number of samples that the step is given (x.shape[0])")
