# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random numbers of samples that no array of them says so of (jax_draws.py): by keys that are made from the places of samples, or in turns of a loop over them."""

from __future__ import annotations

from typing import Any, Collection, Sequence

from jax.extend.core import ClosedJaxpr, Literal

from .doubling_rules import dimension_of_samples, shape
from .jaxprs import closed, equations, inner, through

_PASSED = ("convert_element_type", "copy", "copy_p", "broadcast_in_dim", "reshape")


def of_places(one: ClosedJaxpr, two: ClosedJaxpr) -> "list[Any]":
    """Of the first trace: what folds a number of each sample into a key that has none. two: that of twice the samples."""
    return [e for e, f in _pairs(one, two, "random_fold_in") if dimension_of_samples(shape(e.outvars[0]), shape(f.outvars[0])) not in (-1, None)
            and dimension_of_samples(shape(e.invars[0]), shape(f.invars[0])) == -1]


def by_number(trace: ClosedJaxpr, folds: "Sequence[Any]") -> "set[int]":
    """By id, those of of_places() whose numbers are those of the samples, as jnp.arange makes them."""
    found, wanted = set(), {id(e) for e in folds}
    for jaxpr in _every(trace.jaxpr):
        made = {v: e for e in jaxpr.eqns for v in e.outvars}
        for e in jaxpr.eqns:
            if id(e) not in wanted or isinstance(e.invars[1], Literal):
                continue
            of = made.get(e.invars[1])
            while of is not None and of.primitive.name in _PASSED and shape(of.outvars[0]) == shape(of.invars[0]) and not isinstance(of.invars[0], Literal):
                of = made.get(of.invars[0])
            if of is not None and of.primitive.name == "iota" and len(shape(of.outvars[0])) == 1 and shape(of.outvars[0]) == shape(e.outvars[0]):
                found.add(id(e))
    return found


def same_for_all(one: ClosedJaxpr, two: ClosedJaxpr, batch: Sequence[bool], own: Collection[int], folds: Sequence[Any]) -> "list[Any]":
    """The operations that draw of samples, or fold what is theirs into keys, the same for all parts. own: by id, those that each part has of its own. folds: of_places()."""
    loops = {id(e) for e, f in _pairs(one, two, "scan") if f.params["length"] == 2 * e.params["length"]}
    walk = _Walk(own, {id(e) for e in folds}, loops)
    walk.run(one.jaxpr, list(zip(batch, [False] * len(batch))))
    return list({id(e): e for e in walk.found}.values())


def _pairs(one: ClosedJaxpr, two: ClosedJaxpr, name: str) -> "list[tuple[Any, Any]]":
    first, second = ([e for e in equations(t.jaxpr) if e.primitive.name == name] for t in (one, two))
    return list(zip(first, second)) if len(first) == len(second) else []


def _every(jaxpr: Any) -> "list[Any]":
    return [jaxpr, *(x for e in jaxpr.eqns for y in inner(e) for x in _every(closed(y).jaxpr))]


class _Walk:
    """Of each value: whether a part has its own, and whether it is another one with each turn of a loop over the samples."""

    def __init__(self, own: Collection[int], folds: Collection[int], loops: Collection[int]):
        self.own, self.folds, self.loops = own, folds, loops
        self.found: "list[Any]" = []

    def run(self, jaxpr: Any, given: "Sequence[tuple[bool, bool]]") -> "list[tuple[bool, bool]]":
        known = dict(zip(jaxpr.invars, given, strict=True))

        def of(v: Any) -> "tuple[bool, bool]":
            return (False, False) if isinstance(v, Literal) else known.get(v, (False, False))
        for e in jaxpr.eqns:
            known.update(zip(e.outvars, self.equation(e, [of(v) for v in e.invars]), strict=True))
        return [of(v) for v in jaxpr.outvars]

    def equation(self, e: Any, given: "list[tuple[bool, bool]]") -> "list[tuple[bool, bool]]":
        own, turn = any(o for o, _ in given), any(t for _, t in given)
        name, count = e.primitive.name, len(e.outvars)
        if id(e) in self.own:
            return [(True, turn)] * count
        if not own and (name in ("random_bits", "random_gamma") and turn or id(e) in self.folds):
            self.found.append(e)
        if name == "scan":
            return self.scan(e, given)
        if name == "while":
            consts = e.params["cond_nconsts"]
            return self.repeated(closed(e.params["body_jaxpr"]).jaxpr, given[consts:], e.params["body_nconsts"], count)
        if name == "cond":
            branches = [self.run(closed(b).jaxpr, given[1:]) for b in e.params["branches"]]
            return [(given[0][0] or any(o for o, _ in of), turn) for of in zip(*branches)]
        if through(e):
            return self.run(closed(inner(e)[0]).jaxpr, given)
        return [(own, turn)] * count

    def scan(self, e: Any, given: "list[tuple[bool, bool]]") -> "list[tuple[bool, bool]]":
        consts, carried, body = e.params["num_consts"], e.params["num_carry"], e.params["jaxpr"].jaxpr
        outside = any(t for _, t in given)
        if id(e) in self.loops:
            same = {i for i in range(consts, consts + carried) if body.outvars[i - consts] is body.invars[i]}
            given = [(o, t or i >= consts and i not in same) for i, (o, t) in enumerate(given)]
        return [(o, outside) for o, _ in self.repeated(body, given, consts, carried)]

    def repeated(self, body: Any, given: "list[tuple[bool, bool]]", consts: int, carried: int) -> "list[tuple[bool, bool]]":
        before = list(self.found)
        while True:
            self.found = list(before)
            out = self.run(body, given)
            new = [(a or c, b or d) for (a, b), (c, d) in zip(given[consts:consts + carried], out)]
            if new == given[consts:consts + carried]:
                return out
            given = [*given[:consts], *new, *given[consts + carried:]]
