# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Samples in an order that is drawn, or that they have by their values (doubling.py): what a permutation by random numbers or a sort makes of them.

An order is a word of sorts, each (where, forward, drawn): x[o] of x in the order a is in the order a + o, and a sort by an order undoes it. What is
added up over the samples does not depend on their order; what brings samples of two orders together is of pairs, which each part has of its own.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple, Optional, Sequence

import numpy as np

from .doubling_rules import _RULES, UNKNOWN, ZERO, Place, common, dimension_of_samples, shape
from .places import Known


class Shuffled(NamedTuple):
    """EACH, with the samples in this order. By `by`. rows: how many have been put into it, of which each may be cut further."""

    order: "tuple[Any, ...]"
    by: Any
    rows: int = 1

    def drawn(self) -> bool:
        return is_drawn(self.order)


def in_groups(e: Any, f: Any, kind: Shuffled) -> bool:
    """Whether a reshape makes groups of rows that stand beside each other in this order only."""
    axis = dimension_of_samples(shape(e.outvars[0]), shape(f.outvars[0]))
    return axis is not None and axis >= 0 and shape(e.outvars[0])[axis] % kind.rows != 0


def to_be_expected(kinds: "Sequence[Any]", result: Any) -> bool:
    """Whether what is made of these kinds is, with each sample there twice, as large as if they were in their own order: not where those meet that an order
    has put together."""
    orders = [k.order for k in kinds if isinstance(k, (Place, Shuffled))]
    alone = isinstance(result, (str, Shuffled))
    return alone or all(is_drawn(order) and not any(where[:1] == ("micro-batches",) for where, _, _ in order) and result is not None for order in orders)


def is_drawn(order: "tuple[Any, ...]") -> bool:
    return all(drawn for _, _, drawn in order)


def _by_places(letter: Any) -> bool:
    """Whether it is ("places", one, two): of these numbers in the two traces."""
    return bool(letter[0][:1] == ("places",))


def _undone(letter: Any) -> Any:
    where, forward, drawn = letter
    if not _by_places(letter):
        return (where, not forward, drawn)
    return (("places", *(tuple(sorted(range(len(rows)), key=rows.__getitem__)) for rows in where[1:])), True, drawn)


def inverse(order: "tuple[Any, ...]") -> "tuple[Any, ...]":
    return tuple(_undone(letter) for letter in reversed(order))


def then(one: "tuple[Any, ...]", two: "tuple[Any, ...]") -> "tuple[Any, ...]":
    result = list(one)
    for letter in two:
        if result and inverse((letter,)) == (result[-1],):
            result.pop()
        elif result and _by_places(letter) and _by_places(result[-1]):
            rows = [tuple(a[i] for i in b) for a, b in zip(result.pop()[0][1:], letter[0][1:])]
            if any(r != tuple(range(len(r))) for r in rows):
                result.append((("places", *rows), True, letter[2]))
        else:
            result.append(letter)
    return tuple(result)


def uniform(v: Any, w: Any, factor: Any, known: Optional[Known]) -> Optional[bool]:
    """Whether a value is the same for all samples; None if that is not known."""
    axis = dimension_of_samples(shape(v), shape(w))
    if axis is not None and axis < 0 or factor == ZERO:
        return True
    both = known.both() if known is not None else None
    if both is None or axis is None:
        return None
    return all(bool((np.asarray(x) == np.asarray(x).take([0], axis)).all()) for x in both)


def _is_order(factor: Any) -> bool:
    return isinstance(factor, Place) and bool(factor.order)


def order_of_sort(e: Any, f: Any, kinds: Sequence[Any], factors: Sequence[Any], known: "Sequence[Optional[Known]]", where: Any) -> "Optional[tuple[Any, ...]]":
    """Of a sort along the samples; None if it is not known. where: what tells this sort from all others."""
    if dimension_of_samples(shape(e.invars[0]), shape(f.invars[0])) != 0 or any(len(shape(v)) != 1 for v in e.invars):
        return None
    keys = range(e.params["num_keys"])
    if len(keys) == 1 and _is_order(factors[0]):
        return inverse(factors[0].order)
    if any(kinds[i] is None or isinstance(factors[i], Place) for i in keys):
        return None
    if all(kinds[i] == "none" for i in keys):
        return ((where, True, True),) if all(known[i] is None for i in keys) else None
    return ((where, True, False),)


def takes_all(e: Any) -> bool:
    """Of a top_k."""
    return bool(shape(e.invars[0]) == (e.params["k"],))


def order_of_largest(e: Any, f: Any, kind: Any, factor: Any, known: "Optional[Known]", where: Any) -> "Optional[tuple[Any, ...]]":
    """The same of a top_k that takes all."""
    if not takes_all(e) or not takes_all(f) or isinstance(factor, Place):  # of numbers of samples, the other way round
        return None
    one, two = (g.replace(params={"num_keys": 1}) for g in (e, f))
    return order_of_sort(one, two, [kind], [factor], [known], where)


def geometry(e: Any, f: Any, factor: Place) -> bool:
    """Whether a gather or scatter takes whole rows by these numbers of samples."""
    own = Place(factor.column)
    return _RULES[e.primitive.name](e, f, [1.0, own] if e.primitive.name == "gather" else [ZERO, own, 1.0]) is not UNKNOWN


def split(e: Any, f: Any) -> "Optional[tuple[Any, ...]]":
    """The order of samples that a reshape has cut into so many micro-batches: (n, ...) to (k, n / k, ...). None if it does something else."""
    before, after = shape(e.invars[0]), shape(e.outvars[0])
    axis = dimension_of_samples(before, shape(f.invars[0]))
    if axis != 0 or dimension_of_samples(after, shape(f.outvars[0])) != 1 or after[0] == 1 or after[0] * after[1] != before[0] or e.params["dimensions"] is not None:
        return None
    return ((("micro-batches", after[0]), True, True),)


def joined_again(e: Any, f: Any, kind: Any) -> "Optional[tuple[Any, ...]]":
    """The same of what undoes it, of rows that are so."""
    if not isinstance(kind, Shuffled) or not is_split(kind.order[-1:]):
        return None
    found = split(e.replace(invars=e.outvars, outvars=e.invars), f.replace(invars=f.outvars, outvars=f.invars))
    return None if found is None else inverse(found)


def is_split(order: "tuple[Any, ...]") -> bool:
    return any(where[:1] == ("micro-batches",) and forward for where, forward, _ in order)


def merged(order: "tuple[Any, ...]") -> int:
    """How often all samples stand there, one behind the other: of (k, n, ...) that has become (k * n, ...), such as tokens that stand in front of the
    samples. 1 if it is not such an order."""
    if not order:
        return 1
    where, forward, _ = order[-1]
    return int(where[1]) if where[:1] == ("micro-batches",) and not forward else 1


def merged_by(order: "tuple[Any, ...]", times: int) -> "tuple[Any, ...]":
    """The same, with so many times as many."""
    k = merged(order) * times
    return (*(order[:-1] if merged(order) > 1 else order), *([(("micro-batches", k), False, True)] if k > 1 else []))


def reshaped(e: Any, f: Any, order: "tuple[Any, ...]") -> "Optional[tuple[Any, ...]]":
    """The order of samples of this order, after a reshape that merges their dimension with those in front, or splits it again. None if it is another one."""
    before, after = shape(e.invars[0]), shape(e.outvars[0])
    a, b = dimension_of_samples(before, shape(f.invars[0])), dimension_of_samples(after, shape(f.outvars[0]))
    if a is None or b is None or min(a, b) < 0 or e.params["dimensions"] is not None or is_split(order):
        return None
    one, two, k = math.prod(before[:a]), math.prod(after[:b]), merged(order)
    if one == two and k == 1:
        return None
    if two and one % two == 0:
        order = merged_by(order, one // two)
    elif one and two % one == 0 and k % (two // one) == 0:
        order = merged_by(order[:-1], k // (two // one))
    else:
        return None
    return order if after[b] % merged(order) == 0 else None


def tiled(e: Any, f: Any, order: "tuple[Any, ...]") -> "Optional[tuple[Any, ...]]":
    """The same of what is there several times along the samples."""
    axis, times = dimension_of_samples(shape(e.invars[0]), shape(f.invars[0])), e.params["reps"]
    return None if axis is None or axis < 0 or times != f.params["reps"] or is_split(order) else merged_by(order, times[axis])


def same_if_merged(v: Any, w: Any, known: Optional[Known], k: int) -> Optional[bool]:
    """Whether a value comes again with every part where samples are merged so often; None if that is not known."""
    axis, both = dimension_of_samples(shape(v), shape(w)), known.both() if known is not None else None
    if axis is None or axis < 0 or both is None:
        return True if axis == -1 else None
    one, two = (np.moveaxis(np.asarray(x), axis, 0) for x in both)
    if len(one) % k:
        return False
    one, two = (x.reshape(k, -1, *x.shape[1:]) for x in (one, two))
    return bool((np.concatenate([one, one], 1) == two).all())


def factor_of(e: Any, factors: Sequence[Any]) -> Any:
    return factors[0] if e.primitive.name == "gather" else common([factors[0], factors[2]])


def by_order(e: Any, factors: Sequence[Any]) -> bool:
    """Whether it is a gather or a scatter by numbers of samples in another order."""
    return e.primitive.name in ("gather", "scatter", "scatter-add", "scatter_add") and _is_order(factors[1])
