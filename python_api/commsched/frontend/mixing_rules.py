# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How the results of operations depend on the samples of a batch (doubling.py): one rule for each kind of JAX's operations.

A gradient that is a sum over the samples, of what each contributes alone, is the mean of those of the parts of a batch. What is
certainly none is known as such, with the operation that has brought samples together: a root of a mean, a quotient of two sums,
products of all pairs.
"""

from __future__ import annotations

from collections import Counter
from typing import Any, Callable, Optional, Sequence

import jax
import numpy as np

from .doubling_rules import _COMPARED, _PLAIN, _RULES, SAME, ZERO, Other, Place, dimension_of_samples, shape
from . import orders, places
from .kinds import (DECIDED, EACH, LIMIT, NONE, NUMBER, PLACE, SUM, Blend, Kind, Mixed, Placed, Shifted, Some, added_up, bent, brought_together, decided,
                    joined, product, worst)
from .orders import Shuffled, is_drawn, is_split, then
from .places import Known, Moved, moved, moves, own, own_rows


_LINEAR = {"neg", "copy", "copy_p", "convert_element_type", "reduce_precision", "transpose", "squeeze", "expand_dims", "real", "imag", "stop_gradient",
           "device_put", "optimization_barrier", "conj", "add", "sub", "add_any", "broadcast_in_dim", "complex", "name", "sharding_constraint", "reshard", "stack", "tile"}
_REDUCE = {"reduce_max", "reduce_min", "reduce_prod", "reduce_and", "reduce_or", "reduce_xor", "argmax", "argmin"}
_ELEMENTWISE = (_PLAIN - _REDUCE | _COMPARED | {"max", "min", "abs", "sign", "integer_pow", "sqrt", "rsqrt", "cbrt", "square", "atan2"})
# Whose structure doubling has a rule for, which knows where samples stay apart; what they compute of one sample is linear in the first operands.
_APART = {"reshape", "slice", "split", "unstack", "pad", "concatenate", "dynamic_slice", "dynamic_update_slice", "reduce_window_sum", "select_and_scatter_add", "cumsum"}
_APART_NOT_LINEAR = {"reduce_window_max", "reduce_window_min", "select_and_gather_add", "cummax", "cummin", "cumlogsumexp", "cumprod", "top_k"}


# What is no multiple of its value for a multiple of its operand. A logarithm, and what is made of one, may have the factor fall away again.
_BENT = {"clamp", "max", "min", "tanh", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "asinh", "acosh", "atanh", "logistic", "erf", "erfc",
         "erf_inv", "floor", "ceil", "round", "rem", "gt", "lt", "ge", "le", "div", "mul", "sqrt", "rsqrt", "square", "integer_pow"}


# Of a sum: one function of it below a bound, and another one above.
_DECIDE = _COMPARED | {"max", "min", "clamp", "sign", "abs"}
# Of what grows with the number of samples: the same up to some bound, and another one behind it.
_STEPS = {"floor", "ceil", "round", "shift_right_logical", "shift_right_arithmetic"}


_SCATTERS = {f"scatter{c}{of}" for c in "-_" for of in ("add", "mul", "min", "max")}
# Of matrices in the last two dimensions, and not linear in them.
_MATRICES = {"cholesky", "lu", "qr", "geqrf", "householder_product", "svd", "eigh", "eig", "schur", "hessenberg", "triangular_solve", "tridiagonal_solve"}


def _known(e: Any, f: Any, factors: Sequence[Any]) -> bool:
    """Whether the samples stay apart, or are added up, by doubling's rule for the operation."""
    given: "list[Any]" = [x if isinstance(x, Place) else 1.0 for x in factors]
    if e.primitive.name in ("scatter-add", "scatter_add"):
        given[0] = ZERO  # what is added up may be a sum over the samples beside it
    return _RULES[e.primitive.name](e, f, given) is not None


def _along(e: Any, f: Any) -> Optional[int]:
    return dimension_of_samples(shape(e.invars[0]), shape(f.invars[0]))


def _by_matrix(e: Any, known: "Sequence[Optional[Known]]", kinds: "list[Kind]") -> Kind:
    """Of a product of EACH with a matrix that is known, of samples by samples, summed over the samples."""
    at = next((i for i, k in enumerate(kinds) if k == NONE and len(shape(e.invars[i])) == 2), None)
    both = known[at].both() if at is not None and len(known) > 1 and known[at] is not None else None  # type: ignore[union-attr]
    if both is None or EACH not in kinds:
        return None
    one, two = (np.asarray(b, np.float64) for b in both)
    n = len(one)
    if one.shape != (n, n) or two.shape != (2 * n, 2 * n) or n < 2 or not np.isfinite(two).all():
        return None
    off, diagonal = two[~np.eye(2 * n, dtype=bool)], np.diagonal(two)
    if (off == off[0]).all() and (diagonal == diagonal[0]).all():
        return EACH if off[0] == 0 else SUM if off[0] == diagonal[0] else Blend(e)
    apart = not two[:n, n:].any() and not two[n:, :n].any() or ((two != 0).sum(0) <= 1).all()
    return None if apart else Shifted(e)


def _dot(e: Any, f: Any, kinds: "list[Kind]", known: "Sequence[Optional[Known]]" = ()) -> Kind:
    (left, right), _ = e.params["dimension_numbers"]
    a, b = (dimension_of_samples(shape(v), shape(w)) for v, w in zip(e.invars[:2], f.invars[:2]))
    if not _known(e, f, [1.0, 1.0]):
        pairs = kinds == [EACH, EACH] and a is not None and b is not None and min(a, b) >= 0 and a not in left and b not in right
        return Mixed(e) if pairs else _by_matrix(e, known, kinds) if a in left or b in right else None
    found = product(kinds, e)
    return added_up(found) if a is not None and a in left else found


def _convolution(e: Any, f: Any, kinds: "list[Kind]") -> Kind:
    if not _known(e, f, [1.0, 1.0]):
        row = (_along(e, f) or 0) in e.params["dimension_numbers"].lhs_spec[2:] and shape(e.invars[1]) == shape(f.invars[1]) and kinds == [EACH, NONE]
        return Shifted(e) if row else None
    found = product(kinds, e)
    return added_up(found) if _along(e, f) == e.params["dimension_numbers"].lhs_spec[1] else found


def _gather(e: Any, f: Any, kinds: "list[Kind]", factors: Sequence[Any]) -> Kind:
    if not _known(e, f, factors):
        own, theirs = _along(e, f), dimension_of_samples(shape(e.invars[1]), shape(f.invars[1]))
        numbers = e.params["dimension_numbers"]
        other = kinds == [EACH, EACH] and own in numbers.collapsed_slice_dims and theirs is not None and theirs not in (-1, len(shape(e.invars[1])) - 1)
        return Mixed(e) if other and not isinstance(factors[1], Place) else None  # each sample has another one
    return joined(kinds, e) if kinds[1] == NONE else bent(kinds, e)


def _scatter(e: Any, f: Any, kinds: "list[Kind]", factors: Sequence[Any]) -> Kind:
    apart = _along(e, f) == -1 and (dimension_of_samples(shape(e.invars[2]), shape(f.invars[2])) or 0) >= 0
    adds = e.primitive.name in ("scatter-add", "scatter_add")
    if apart and not adds and kinds[1] == EACH and (kinds[2] == EACH or isinstance(kinds[2], Placed)):
        return Mixed(e)  # those of one number meet, or one of them is left
    if adds and kinds[1] == EACH and not isinstance(factors[1], Place) and _along(e, f) in e.params["dimension_numbers"].scatter_dims_to_operand_dims and kinds[2] in (EACH, NONE):
        last, batched = len(shape(e.invars[1])) - 1, e.params["dimension_numbers"].operand_batching_dims
        if dimension_of_samples(shape(e.invars[1]), shape(f.invars[1])) not in (None, -1, last) and _along(e, f) not in batched:
            return Mixed(e)  # to the rows of others
    if e.primitive.name not in _RULES or not _known(e, f, factors):
        return None
    added = dimension_of_samples(shape(e.invars[0]), shape(f.invars[0])) == -1 and dimension_of_samples(shape(e.invars[2]), shape(f.invars[2])) != -1
    if not added:
        return joined(kinds, e) if kinds[1] == NONE else bent(kinds, e)
    updates = joined(kinds[1:], e) if kinds[1] == NONE else bent(kinds[1:], e)
    return joined([kinds[0], added_up(updates)], e)


def _sort(e: Any, f: Any, kinds: "list[Kind]") -> Kind:
    axis = _along(e, f)
    if axis is None:
        return None
    if axis != e.params["dimension"]:
        return bent(kinds, e)
    return Mixed(e) if EACH in kinds[: e.params["num_keys"]] else None  # by random numbers: a permutation


def _rows_added_up(rows: Moved) -> Kind:
    counts = [tuple(Counter(of)[i] for i in range(n)) for of, n in ((rows.one, rows.rows), (rows.two, 2 * rows.rows))]
    if counts[1] == (*counts[0], *counts[0]):
        return SUM if rows.pure else None
    return Some(counts[0], counts[1], rows.by)


def _with_moved(e: Any, f: Any, kinds: "list[Kind]", factors: Sequence[Any], known: "Sequence[Optional[Known]]" = ()) -> Kind:
    """Of rows that have been moved: as of EACH, where all that depend on the samples have been moved alike."""
    some = [k for k in kinds if isinstance(k, Moved)]
    name, first = e.primitive.name, some[0]
    for v, w, k in zip(e.invars, f.invars, kinds):
        if isinstance(k, Moved) and dimension_of_samples(shape(v), shape(w)) != k.axis:
            return Mixed(k.by, PLACE)  # some of the samples, beside nothing else
    others = [k for k in kinds if k != NONE and not isinstance(k, Moved)]
    if not others and all(k.like(first) for k in some):
        if all(k == first for k in some) and name in _LINEAR and all(shape(g.outvars[0]) == shape(g.invars[0]) for g in (e, f)):  # a square may be turned
            return first
        found = result(e, f, [EACH if isinstance(k, Moved) else k for k in kinds], factors, known if name == "dot_general" else ())
        if found == EACH:
            axis = dimension_of_samples(shape(e.outvars[0]), shape(f.outvars[0]))
            if axis is None and name == "broadcast_in_dim":
                return EACH  # repeated for every sample: pairs with whatever it meets, of which there is no telling rows
            return None if axis is None or axis < 0 else first._replace(axis=axis, pure=all(k.pure for k in some))
        return _rows_added_up(first) if found == SUM else found
    both = [k if isinstance(k, Moved) else own(v, w, e) for v, w, k in zip(e.invars, f.invars, kinds) if k == EACH or isinstance(k, Moved)]
    if name in _LINEAR:
        return joined(both if set(others) <= {EACH} else kinds, e)
    if set(others) <= {EACH} and None not in both and name not in _APART:
        found = result(e, f, [EACH if isinstance(k, Moved) else k for k in kinds], factors)
        alike = len({x.rows for x in both if x is not None}) == 1
        again = not alike or all(places.pairs_come_again(a, b) for a in both for b in both if a is not None and b is not None)
        return found if isinstance(found, Mixed) else Mixed(e, PLACE) if found in (EACH, SUM) and not again else None
    if any(isinstance(k, Placed) for k in others) and all(isinstance(k, Placed) or k == EACH for k in others):
        return bent(kinds, e) if name not in _APART else None
    return bent(kinds, e) if any(map(brought_together, others)) else None


def _as_order(rows: Moved) -> "Optional[tuple[Any, ...]]":
    """Of all rows, moved by their places: the same of the same places."""
    complete = sorted(rows.one) == list(range(rows.rows)) and sorted(rows.two) == list(range(2 * rows.rows)) and rows.axis == 0 and rows.pure
    return ((("places", rows.one, rows.two), True, True),) if complete else None


def in_order(kind: Kind, order: "tuple[Any, ...]", e: Any, f: Any, same: Optional[bool]) -> Kind:
    """Of rows that are put into an order. same: whether they are equal."""
    moved_before = _as_order(kind) if isinstance(kind, Moved) else None
    if moved_before is not None:
        kind = Shuffled(moved_before, e)
    if kind == EACH or isinstance(kind, Shuffled):
        order = then(kind.order if isinstance(kind, Shuffled) else (), order)
        rows = shape(e.outvars[0])[dimension_of_samples(shape(e.outvars[0]), shape(f.outvars[0])) or 0]
        return Shuffled(order, e, max(rows, kind.rows if isinstance(kind, Shuffled) else 1)) if order else EACH
    if kind == SUM or isinstance(kind, (Blend, Mixed)):
        return kind
    if kind == NONE and (same or is_drawn(order)) or isinstance(kind, Placed) and is_drawn(order):
        return NONE
    return Mixed(e) if isinstance(kind, Placed) or kind == NONE and same is False else None


def _before_samples(e: Any, f: Any, kinds: "list[Kind]") -> "list[tuple[int, int]]":
    """Of operands that are cut into micro-batches: their index, and the dimension of samples, behind that of micro-batches."""
    found = [(i, dimension_of_samples(shape(v), shape(w))) for i, (v, w, k) in enumerate(zip(e.invars, f.invars, kinds)) if isinstance(k, Shuffled)]
    return [(i, axis) for i, axis in found if axis is not None]


def _keeps_micro_batches(e: Any, f: Any, kinds: "list[Kind]") -> bool:
    return all(shape(e.outvars[0])[:axis + 1] == shape(e.invars[i])[:axis + 1] for i, axis in _before_samples(e, f, kinds))


def _all_micro_batches(e: Any, f: Any, kinds: "list[Kind]") -> bool:
    """Whether all of them are added up, not the samples of each."""
    def added(i: int) -> Sequence[int]:
        return e.params["axes"] if e.primitive.name == "reduce_sum" else e.params["dimension_numbers"][0][i] if e.primitive.name == "dot_general" else ()
    return all(set(range(axis + 1)) <= set(added(i)) for i, axis in _before_samples(e, f, kinds))


def _one_micro_batch(e: Any, f: Any, known: "Sequence[Optional[Known]]") -> "Optional[Moved]":
    """The rows of one of (k, n / k, ...), by their numbers of all. None if it takes something else, or the others are not known."""
    before, after = shape(e.invars[0]), shape(e.outvars[0])
    if after != (1, *before[1:]) or dimension_of_samples(before, shape(f.invars[0])) != 1:
        return None
    at: Any = e.params["start_indices"][0] if e.primitive.name == "slice" else None
    if at is None:
        both = known[1].both() if len(known) > 1 and known[1] is not None else None
        if both is None or both[0] != both[1]:
            return None
        at = min(max(int(both[0]), 0), before[0] - 1)
    one, two = (range(at * rows, (at + 1) * rows) for rows in (before[1], 2 * before[1]))
    return Moved(tuple(one), tuple(two), before[0] * before[1], 1, e)


def _with_shuffled(e: Any, f: Any, kinds: "list[Kind]", factors: Sequence[Any], known: "Sequence[Optional[Known]]", factor: Any, index: int) -> Kind:
    """Of samples in another order: as of EACH where all that depend on them are in the same one."""
    name, first = e.primitive.name, next(k for k in kinds if isinstance(k, Shuffled))
    for v, w, k in zip(e.invars, f.invars, kinds):
        if isinstance(k, Shuffled) and (dimension_of_samples(shape(v), shape(w)) or 0) < 0:
            return None
    others = [k for k in kinds if k != NONE and not (isinstance(k, Shuffled) and k.order == first.order)]
    if name in ("gather", "scatter", "scatter-add", "scatter_add") and isinstance(kinds[1], Placed):
        by_places = result(e, f, [EACH if isinstance(k, Shuffled) else k for k in kinds], factors, known, factor, index)
        by_rows = _as_order(by_places) if isinstance(by_places, Moved) else None
        return in_order(first, by_rows, e, f, None) if by_rows else first if by_places == EACH else None
    if name == "reshape" and not is_split(first.order) and orders.in_groups(e, f, first):
        return Blend(e)
    times = orders.merged(first.order)
    if times > 1 and name == "reshape":
        return None  # rows of several samples, of which some are not those of one part
    if times > 1 and any(isinstance(k, Placed) or k == NONE for k in kinds):
        alike = [orders.same_if_merged(v, w, x, times) for v, w, x, k in zip(e.invars, f.invars, known or [None] * len(kinds), kinds) if isinstance(k, Placed) or k == NONE]
        if name != "dot_general" and False in alike:
            return None
        others = [k for k in others if not isinstance(k, Placed)] if all(alike) else others
        kinds = [NONE if isinstance(k, Placed) else k for k in kinds] if all(alike) else kinds
    if any(isinstance(k, (Placed, Shifted, Moved, Some)) for k in others):
        return Mixed(e) if name not in _LINEAR and not first.drawn() and all(isinstance(k, Placed) for k in others) else None
    found = result(e, f, [EACH if isinstance(k, Shuffled) else k for k in kinds], factors, known if name == "dot_general" else (), factor, index)
    if name in ("slice", "dynamic_slice") and len(first.order) == 1 and is_split(first.order):
        one = _one_micro_batch(e, f, known)
        if one is not None:
            return one
    if is_split(first.order) and (found == SUM or not _keeps_micro_batches(e, f, kinds)):
        return found if isinstance(found, Mixed) or found == SUM and _all_micro_batches(e, f, kinds) else Blend(e) if name in ("reduce_sum", "dot_general") else None
    if others:
        linear = name in _LINEAR or name == "select_n" and kinds[0] == NONE
        return found if found not in (EACH, SUM) else Blend(e) if linear else Mixed(e)
    again = _as_order(found) if isinstance(found, Moved) else None
    if again is not None:  # all of them, moved by their places
        return in_order(first, again, e, f, None)
    if isinstance(found, (Moved, Some)):  # some of them: of those that are drawn, the mean is to be expected
        return None if first.drawn() or name not in ("slice", "dynamic_slice") else Mixed(e)
    if not first.drawn() and name not in _LINEAR and found in (EACH, SUM):
        weights = [orders.uniform(v, w, x, y) for v, w, x, y, k in zip(e.invars, f.invars, factors, known or [None] * len(kinds), kinds)
                   if k == NONE and (name != "dot_general" or dimension_of_samples(shape(v), shape(w)) is not None)]
        if False in weights:
            return Mixed(e)
        found = None if None in weights else found
    return first if found == EACH else found


def _of_places(e: Any, f: Any, kinds: "list[Kind]") -> Kind:
    """Of what depends on places alone, and on parameters: so it was not computed."""
    axis, turns = dimension_of_samples(shape(e.outvars[0]), shape(f.outvars[0])), any(isinstance(k, Placed) and k.turns for k in kinds)
    if turns and e.primitive.name in _LINEAR | _ELEMENTWISE | {"mul", "div"}:
        return Placed(e, True)
    if axis is None or axis < 0:
        return None
    return Placed(e) if e.primitive.name in _LINEAR | {"mul", "div", "gather", "exp", "tanh", "logistic"} else None


def _other_for_more(e: Any, factors: Sequence[Any], found: Any) -> bool:
    """Whether a function of values of known factors has none: it is no multiple for twice the samples."""
    known = all(isinstance(x, (float, Other)) for x in factors)
    return e.primitive.name in _BENT and found is None and known and any(x not in SAME for x in factors)


def _limit(e: Any, factors: Sequence[Any], known: "Sequence[Optional[Known]]") -> bool:
    """Whether values of which one is larger as the number of samples is, and another is not, decide something, or how often one goes into the other. Of two that no argument has a
    part in, it is known what."""
    if not all(isinstance(x, (float, Other)) for x in factors) or known and None not in known:
        return False
    name, certain = e.primitive.name, {x for x in factors if x != ZERO}
    several = len(certain) > 1 or any(isinstance(x, Other) for x in certain)
    if name in _DECIDE:
        return several
    whole = jax.dtypes.issubdtype(e.outvars[0].aval.dtype, np.integer)
    if name in ("rem", "div"):
        return several and (name == "rem" or whole)
    rounds = name in _STEPS or name == "convert_element_type" and whole and not jax.dtypes.issubdtype(e.invars[0].aval.dtype, np.integer)
    return rounds and any(x not in SAME for x in certain)


def result(e: Any, f: Any, kinds: "list[Kind]", factors: Sequence[Any], known: "Sequence[Optional[Known]]" = (), factor: Any = 1.0,
           index: int = 0) -> Kind:
    """Of the results of an equation, or the one of this index, which stands in one trace as `e` and in that of twice the samples as `f`; kinds, factors (of doubling.py), known: of
    its operands; factor: of the results."""
    name = e.primitive.name
    mixed = worst(kinds)
    if mixed is not None and mixed.is_decided():
        return decided(mixed, result(e, f, [k.of if isinstance(k, Mixed) else k for k in kinds], factors, known, factor, index))
    if mixed is not None:  # whatever the others are
        return mixed
    if None in kinds:
        return None
    if name == "reshape" and (kinds[0] == SUM or isinstance(kinds[0], Blend)):
        return kinds[0]  # wherever they stand then
    if all(k == NONE for k in kinds):
        if _limit(e, factors, known):
            return Mixed(e, LIMIT, NONE)
        samples = dimension_of_samples(shape(e.outvars[0]), shape(f.outvars[0]))
        chosen = name in ("slice", "dynamic_slice", "gather", "split") and samples is not None and samples >= 0 and factor is None
        return Placed(e) if chosen and all(dimension_of_samples(shape(v), shape(w)) == -1 for v, w in zip(e.invars[:1], f.invars[:1])) else NONE
    if any(isinstance(k, Shuffled) for k in kinds):
        return _with_shuffled(e, f, kinds, factors, known, factor, index)
    if name in ("gather", "scatter", "scatter-add", "scatter_add") and isinstance(factors[1], Place) and isinstance(kinds[1], Placed):
        kinds = [kinds[0], NONE, *kinds[2:]]  # each sample's own
    if name in ("concatenate", "stack") and isinstance(factor, Place):
        return joined([k for k, x in zip(kinds, factors) if not isinstance(x, Place)], e)
    if all(k == NONE or isinstance(k, Placed) for k in kinds) and any(isinstance(k, Placed) for k in kinds):
        return _of_places(e, f, kinds)
    rows = [k if isinstance(k, Moved) else own(v, w, e) if k == EACH else x
            for v, w, k, x in zip(e.invars, f.invars, kinds, known or [None] * len(kinds))]
    placed = len(rows) > 1 and isinstance(rows[1], Known) and isinstance(kinds[1], Placed) and (
        name == "gather" or name in ("scatter-add", "scatter_add") and factors[0] == ZERO)
    if moves(e, rows) and all(k in (EACH, NONE) or isinstance(k, Moved) for k in ([kinds[0], *kinds[2:]] if placed else kinds)):
        there = moved(e, f, rows, index)
        if there is not None:
            return EACH if there.in_place() and there.pure else there
    if any(isinstance(k, Moved) for k in kinds):
        return _with_moved(e, f, kinds, factors, known)
    if _other_for_more(e, factors, factor):
        return Mixed(e, NUMBER)
    pairs = kinds.count(EACH) > 1 and dimension_of_samples(shape(e.outvars[0]), shape(f.outvars[0])) is None
    if name in _LINEAR:
        types = [np.dtype(v.aval.dtype) for v in (*e.invars, *e.outvars)] if name == "convert_element_type" else []
        rounded = types and jax.dtypes.issubdtype(types[0], np.inexact) and not jax.dtypes.issubdtype(types[1], np.inexact)
        return Blend(e) if pairs else bent(kinds, e) if rounded else joined(kinds, e)
    if name in _DECIDE and SUM in kinds and all(k in (NONE, SUM) for k in kinds):
        return Mixed(e, DECIDED, NONE if name in _COMPARED or name == "sign" else SUM)
    if name in _ELEMENTWISE or name == "div" and kinds[1] != NONE:
        return Mixed(e) if pairs else bent(kinds, e)
    if name == "mul":
        return Mixed(e) if pairs else product(kinds, e)
    if name == "div":
        return kinds[0]
    if name == "select_n":
        either = joined(kinds[1:], e)
        return (Mixed(e) if pairs else either if kinds[0] == NONE else product([kinds[0], either], e) if isinstance(kinds[0], Placed)
                else bent(kinds, e))
    if name in ("gather", "scatter-add", "scatter_add") and any(isinstance(k, Placed) for k in kinds):  # scatter: JAX numbers its updates
        if name == "gather" and len(known) > 1 and own_rows(e, f, known[1]):
            return Mixed(e, PLACE)
        found = result(e, f, [EACH if isinstance(k, Placed) else k for k in kinds], factors)
        return Mixed(e, PLACE) if found in (EACH, SUM) and EACH in kinds else None
    if any(isinstance(k, Placed) for k in kinds) and name not in ("dot_general", "sort"):
        return None
    if name == "reduce_sum" and _along(e, f) is None and isinstance(kinds[0], Blend):
        return kinds[0]  # of pairs: it is still of all samples
    if name != "dot_general" and dimension_of_samples(shape(e.outvars[0]), shape(f.outvars[0])) is None:
        return None
    if name == "rev" and kinds[0] in (EACH, SUM):  # EACH: too large to be followed by its rows
        return kinds[0] if kinds[0] == SUM or _along(e, f) not in e.params["dimensions"] else Blend(e)
    if name == "reduce_sum":
        axis = _along(e, f)
        return None if axis is None else added_up(kinds[0]) if axis in e.params["axes"] else kinds[0]
    if name in _REDUCE:
        axis = _along(e, f)
        if axis is not None and axis in e.params["axes"]:
            return Mixed(e, DECIDED, NONE) if name in ("reduce_or", "reduce_and") and kinds[0] == EACH else Mixed(e)
        return None if axis is None else bent(kinds, e)
    if name in ("cumsum", "cummax", "cummin", "cumlogsumexp", "cumprod", "top_k") and EACH in kinds:
        axis = _along(e, f)
        if axis is not None and axis == (e.params["axis"] if "axis" in e.params else len(shape(e.invars[0])) - 1):
            return Mixed(e)
    if name in _APART | _APART_NOT_LINEAR:
        if name not in _RULES or not _known(e, f, factors):
            return None
        return joined(kinds, e) if name in _APART and (name != "select_and_scatter_add" or kinds[1] == NONE) else bent(kinds, e)
    if name == "fft":
        return kinds[0] if _known(e, f, factors) else Shifted(e) if EACH in kinds else None
    if name in _MATRICES:
        axis, last = _along(e, f), len(shape(e.invars[0])) - 2
        if axis is None or any(dimension_of_samples(shape(v), shape(w)) is None for v, w in zip(e.outvars, f.outvars)):
            return None
        if name == "triangular_solve" and kinds[0] == NONE and EACH not in kinds and axis < last:
            return joined(kinds, e)  # linear in the other side
        return Mixed(e) if axis >= last and EACH in kinds else bent(kinds, e)
    special: "dict[str, Callable[[], Kind]]" = {
        "dot_general": lambda: _dot(e, f, kinds, known), "conv_general_dilated": lambda: _convolution(e, f, kinds), "sort": lambda: _sort(e, f, kinds),
        "gather": lambda: _gather(e, f, kinds, factors), "scatter": lambda: _scatter(e, f, kinds, factors),
        **{n: lambda: _scatter(e, f, kinds, factors) for n in _SCATTERS}}
    return special[name]() if name in special else None
