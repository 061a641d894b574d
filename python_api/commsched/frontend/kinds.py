# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How a value depends on the samples of a batch, and what is made of several: of their sums, products and other functions."""

from __future__ import annotations

from typing import Any, NamedTuple, Optional, Sequence, Union

from . import places
from .orders import Shuffled
from .places import Moved

TOGETHER = "together"  # several samples, or all, have a part in it in another way than as a sum
PLACE = "place"        # samples have a part in it by their places
NUMBER = "number"      # it is other where there are more samples, and no multiple
DECIDED = "decided"    # sums over the samples decide which of several functions it is: it is other where those of a part decide otherwise
LIMIT = "limit"        # as DECIDED, by the number of samples


class Mixed(NamedTuple):
    """None of the others; `by` is the equation that made it so, by what of `why`. of: what it is where a part decides as the whole batch does, if it is decided."""

    by: Any
    why: str = TOGETHER
    of: Any = None

    def is_decided(self) -> bool:
        return self.why in (DECIDED, LIMIT)


NONE = "none"  # the same for any batch of this size; it may differ from row to row, if it comes again with every part
EACH = "each"  # has a dimension of samples, along which each element depends on its own sample
SUM = "sum"    # the sum of NONE and of EACH over the samples; it may be repeated for every sample


class Blend(NamedTuple):
    """A sum of EACH and SUM, or of EACH in another order of the samples: what is linear in it may still be a SUM; `by` as in Mixed."""

    by: Any


class Placed(NamedTuple):
    """As NONE, but differs along the samples, and does not come again with every part: such as their numbers. turns: it is other for each sample of
    a loop over them."""

    by: Any
    turns: bool = False


class Shifted(NamedTuple):
    """A sum of Placed and of others: what is made of it may be a SUM where what is Placed falls away."""

    by: Any


class Some(NamedTuple):
    """As SUM, over rows of which each has been taken so often, in the two traces (Moved). By `by`."""

    one: "tuple[int, ...]"
    two: "tuple[int, ...]"
    by: Any


# None: not known.
Kind = Union[str, Blend, Placed, Shifted, Some, Moved, Shuffled, Mixed, None]


def worst(kinds: Sequence[Kind]) -> "Optional[Mixed]":
    """Of those that are Mixed, one that is so for any data, if there is one."""
    mixed = [k for k in kinds if isinstance(k, Mixed)]
    return next((k for k in mixed if not k.is_decided()), mixed[0] if mixed else None)


def decided(by: Kind, of: Kind) -> Kind:
    """Of one of several functions, whose joined kind is `of`; by: of what chooses."""
    if not isinstance(by, Mixed) or not by.is_decided():
        return by
    return of if isinstance(of, Mixed) and not of.is_decided() else by._replace(of=of.of if isinstance(of, Mixed) else of)


def joined(kinds: Sequence[Kind], by: Any) -> Kind:
    """Of a linear function of values of these kinds."""
    mixed = worst(kinds)
    if mixed is not None:
        return mixed if not mixed.is_decided() else mixed._replace(of=joined([k.of if isinstance(k, Mixed) else k for k in kinds], by))
    if None in kinds:
        return None
    found = sorted({k for k in kinds if isinstance(k, str) and k != NONE})
    others = [k for k in kinds if not isinstance(k, str)]
    if any(isinstance(k, Shuffled) for k in others):
        orders_of = {k.order if isinstance(k, Shuffled) else None for k in others}
        return (others[0] if not found and len(orders_of) == 1 else Blend(by) if all(isinstance(k, (Shuffled, Blend)) for k in others) else None)
    if any(isinstance(k, (Moved, Some)) for k in others):
        return _of_rows(found, others, by)
    if any(isinstance(k, (Placed, Shifted)) for k in others):
        return others[0] if not found and all(isinstance(k, Placed) for k in others) else Shifted(by)
    for kind in others:
        return kind
    return NONE if not found else found[0] if len(found) == 1 else Blend(by)


def _of_rows(found: Sequence[str], others: Sequence[Any], by: Any) -> Kind:
    """A sum of rows that have been moved, or of sums of some, and of others."""
    if all(isinstance(k, Some) for k in others) and len({len(k.one) for k in others}) == 1:
        one, two = (tuple(map(sum, zip(*counts))) for counts in ([k.one for k in others], [k.two for k in others]))
        # Complete: but what has been made of some of them may be something else than of the others.
        return None if two == (*one, *one) else Mixed(others[0].by, PLACE) if found else Some(one, two, others[0].by)
    if found or len(others) != 2 or not all(isinstance(k, Moved) for k in others):
        return None
    first, second = others
    if first.like(second):
        return first._replace(pure=first.pure and second.pure)
    beside = first.beside(second)
    if beside is not None or places.pairs_come_again(first, second):
        return beside
    return Blend(by) if all(k.comes_again() and k.pure for k in others) else Shifted(by)


def brought_together(kind: Kind) -> bool:
    return kind == SUM or isinstance(kind, (Blend, Some, Shifted))


def why_mixed(kinds: Sequence[Kind]) -> str:
    return PLACE if any(isinstance(k, (Some, Shifted)) for k in kinds) else TOGETHER


def bent(kinds: Sequence[Kind], by: Any) -> Kind:
    """Of any other function, element by element."""
    if any(map(brought_together, kinds)):
        return Mixed(by, why_mixed(kinds))
    return with_places(kinds, by) if any(isinstance(k, Placed) for k in kinds) else joined(kinds, by)


def product(kinds: Sequence[Kind], by: Any) -> Kind:
    depend = [k for k in kinds if k != NONE]
    if len(depend) > 1 and any(isinstance(k, Placed) for k in depend):
        return with_places(depend, by)
    return Mixed(by, why_mixed(kinds)) if len(depend) > 1 and any(map(brought_together, depend)) else joined(kinds, by)


def with_places(kinds: Sequence[Kind], by: Any) -> Kind:
    """Of a function of what is Placed, of which any other has a part in each of its rows."""
    others = [k for k in kinds if not isinstance(k, Placed) and k != NONE]
    if not others:
        return None
    return Mixed(by, PLACE) if EACH in others or any(isinstance(k, (Blend, Moved, Shifted)) for k in others) else None


def added_up(kind: Kind) -> Kind:
    """Over the samples."""
    if isinstance(kind, (Placed, Shifted)):
        return None
    return SUM if kind == EACH or isinstance(kind, Blend) else kind
