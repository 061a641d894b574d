# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A scan over the samples of a batch, one after the other (doubling.py): what it adds up is a sum over them; whatever else a sample makes of those before
it depends on their order."""

from __future__ import annotations

from typing import Any, NamedTuple, Optional, Sequence

from .doubling_rules import UNKNOWN, ZERO, dimension_of_samples, shape
from .kinds import EACH, NONE, PLACE, SUM, Blend, Kind, Mixed, Placed
from .places import Moved
from .orders import Shuffled

_PASSED = {"add", "add_any", "convert_element_type", "copy", "copy_p", "reduce_precision"}


class Carried(NamedTuple):
    """What becomes of a value that a loop carries: same: it is as it was; added: something is added to it; alone: nothing else is made of it."""

    same: bool
    added: bool
    alone: bool


def carried(jaxpr: Any, consts: int, index: int) -> Carried:
    """Of the value with this index in the trace of one time."""
    first, last = jaxpr.invars[consts + index], jaxpr.outvars[index]
    chain, alone = {first}, sum(v is first for v in jaxpr.outvars) == 0
    for e in jaxpr.eqns:
        its = [v for v in e.invars if not hasattr(v, "val") and v in chain]
        if not its:
            continue
        if e.primitive.name in _PASSED and len(its) == 1 or e.primitive.name == "sub" and its == [e.invars[0]]:
            chain.add(e.outvars[0])
        else:
            alone = False
    others = [v for i, v in enumerate(jaxpr.outvars) if i != index and not hasattr(v, "val") and v in chain]
    return Carried(last is first, not hasattr(last, "val") and last in chain, alone and not others)


def over_samples(e: Any, f: Any) -> bool:
    """Whether a scan has the samples of a batch one after the other."""
    if f.params["length"] != 2 * e.params["length"]:
        return False
    first = e.params["num_consts"] + e.params["num_carry"]
    return all(dimension_of_samples(shape(v), shape(w)) == 0 for v, w in zip(e.invars[first:], f.invars[first:]))


def in_one_order(values: "Sequence[Any]") -> "tuple[list[Any], Kind]":
    """Values of which samples are taken as EACH, and the kind they have: in another order, if that is the same of all."""
    kinds = [v.kind for v in values if v.kind == EACH or isinstance(v.kind, (Moved, Shuffled))]
    other = [k for k in kinds if k != EACH]
    if not other:
        return list(values), EACH
    first = other[0]
    alike = len(other) == len(kinds) and all(k.like(first) if isinstance(k, Moved) and isinstance(first, Moved) else k[:1] == first[:1] for k in kinds)
    return [v._replace(kind=(EACH if alike else None) if v.kind in kinds else v.kind) for v in values], first if alike else None


def all_of(kind: Kind, order: Kind) -> Kind:
    """Of a sum over the samples, of which some may not be there."""
    return None if kind == SUM and isinstance(order, Moved) and not (order.comes_again() and order.pure) else kind


def of_one(kind: Kind, factor: Any, uniform: Optional[bool]) -> Kind:
    """Of the sample that it is the turn of."""
    if kind == NONE:
        return NONE if uniform or factor == ZERO else None
    return kind if kind in (EACH, SUM) or isinstance(kind, Mixed) else None


def next_kind(how: Carried, before: Kind, out: Kind, e: Any) -> Kind:
    """Of a carried value at the next time."""
    if how.same:
        return before
    if out is None or before is None or isinstance(out, Mixed):
        return out if before is not None else None
    if out == NONE or isinstance(out, Placed):
        return before if before == SUM else Placed(e, True)
    return SUM if out in (EACH, SUM) or isinstance(out, Blend) else None


def at_the_end(how: Carried, before: Kind, term: Kind, inside: Kind, e: Any) -> Kind:
    """Of what is carried out of the loop. term: what is added to it if it is alone; inside: of it within the loop."""
    if how.same or inside is None or isinstance(inside, Mixed):
        return inside
    if how.added and how.alone:
        added = SUM if term == EACH or isinstance(term, Blend) else term if term in (NONE, SUM) or isinstance(term, Mixed) else None
        return added if before == NONE or isinstance(added, Mixed) else SUM if before == added == SUM else None
    return None if inside != SUM else SUM if how.added else Mixed(e, PLACE)


def of_all(kind: Kind, follows: bool, e: Any) -> Kind:
    """Of the results of all samples, beside each other. follows: a sample knows those before it."""
    if follows and (kind == SUM or isinstance(kind, Blend)):
        return Mixed(e, PLACE)
    return None if kind == NONE and follows or isinstance(kind, Placed) else kind


def factor_at_the_end(how: Carried, before: Any, term: Any) -> Any:
    if how.same:
        return before
    return 2.0 * term if how.added and how.alone and before == ZERO and isinstance(term, float) else UNKNOWN


def inside_factor(how: Carried, before: Any) -> Any:
    return before if how.same else ZERO if how.added and how.alone else UNKNOWN


def inside_kind(how: Carried, before: Kind, e: Any) -> Kind:
    """At the first time."""
    if how.same:
        return before if before in (NONE, SUM) or isinstance(before, Mixed) else None
    if how.added and how.alone:
        return NONE
    return before if isinstance(before, Mixed) or before in (None, NONE, SUM) else None


def all_kinds(kinds: Sequence[Kind]) -> bool:
    """Whether what every time sees is no dimension of samples itself."""
    return all(k in (NONE, SUM) or isinstance(k, Mixed) for k in kinds)
