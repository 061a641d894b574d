# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How much larger the results of operations are when every sample is there twice (doubling.py): one rule for each of JAX's."""

from __future__ import annotations

import math
from typing import Any, Callable, NamedTuple, Optional, Sequence, Union

import jax
import numpy as np

class Place(NamedTuple):
    """The number of the sample, as an index: alone, or in this column of one that joins several. order: of the samples, if it is not their own (orders.py)."""

    column: int = -1
    order: "tuple[Any, ...]" = ()


class Other(NamedTuple):
    """Certainly not the same with twice the samples, and no multiple of it: a sum of two values whose factors differ. `by` is one that is not 1."""

    by: float


# A factor; ZERO of what is zero, or no finite number, which any factor leaves as it is; or UNKNOWN.
Factor = Union[float, Place, Other, None]
UNKNOWN: Factor = None
ZERO: Factor = 0.0
SAME = (1.0, ZERO)

# Of their first operand what it is times a factor; the shapes say where samples are.
_LINEAR = {"neg", "copy", "copy_p", "convert_element_type", "reduce_precision", "transpose", "squeeze", "expand_dims", "real", "imag", "abs",
           "stop_gradient", "device_put", "optimization_barrier", "conj", "rev", "name", "sharding_constraint", "reshard"}
_ADDED = {"add", "sub", "add_any"}
_EQUAL = {"max", "min", "atan2", "complex"}  # operands must have one factor, which the result has
_COMPARED = {"eq", "ne", "lt", "le", "gt", "ge"}
# Where one factor means nothing else than being the same.
_PLAIN = {"exp", "exp2", "log", "log1p", "expm1", "tanh", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "asinh", "acosh", "atanh",
          "logistic", "erf", "erfc", "erf_inv", "lgamma", "digamma", "floor", "ceil", "round", "is_finite", "not", "and", "or", "xor", "pow",
          "rem", "nextafter", "clamp", "shift_left", "shift_right_logical", "shift_right_arithmetic", "population_count", "clz",
          "bitcast_convert_type", "argmax", "argmin", "random_wrap", "random_unwrap", "random_fold_in", "random_split", "random_seed",
          "random_bits", "threefry2x32", "cs_worker_index", "reduce_and", "reduce_or", "is_nan",
          "igamma", "igammac", "igamma_grad_a", "random_gamma_grad", "regularized_incomplete_beta", "bessel_i0e", "bessel_i1e", "polygamma", "zeta"}


_OF_MAPPED = {"psum": jax.lax.reduce_sum_p, "pmax": jax.lax.reduce_max_p, "pmin": jax.lax.reduce_min_p}


def of_mapped(e: Any) -> "Optional[list[Any]]":
    """Of a collective along dimensions that vmap has made of an axis with a name (Equinox's batch norm, pmean): the reductions that it is, one
    for each operand. None of another equation."""
    if e.primitive.name not in _OF_MAPPED or e.params.get("axis_index_groups") is not None or not all(isinstance(a, (int, np.integer)) for a in e.params["axes"]):
        return None
    params = {"axes": tuple(int(a) for a in e.params["axes"]), "out_sharding": None}
    return [e.replace(primitive=_OF_MAPPED[e.primitive.name], invars=[v], outvars=[w], params=params) for v, w in zip(e.invars, e.outvars, strict=True)]


def dimension_of_samples(one: Sequence[int], two: Sequence[int]) -> Optional[int]:
    """Of the samples; -1 if the shapes are equal, None if they are not those of a value that has them twice."""
    if tuple(one) == tuple(two):
        return -1
    if len(one) != len(two):
        return None
    other = [i for i, (a, b) in enumerate(zip(one, two)) if a != b]
    return other[0] if len(other) == 1 and two[other[0]] == 2 * one[other[0]] else None


def common(factors: Sequence[Factor]) -> Factor:
    """The one that all have that are not zero."""
    if not all(isinstance(f, float) for f in factors):
        return UNKNOWN
    found = {f for f in factors if f != ZERO}
    return found.pop() if len(found) == 1 else ZERO if not found else UNKNOWN


def constant(one: Any, two: Any) -> Factor:
    if jax.dtypes.issubdtype(getattr(one, "dtype", np.asarray(one).dtype), jax.dtypes.extended):
        return 1.0
    a, b = np.asarray(one), np.asarray(two)
    if a.shape != b.shape:
        axis = dimension_of_samples(a.shape, b.shape)
        if axis is None:
            return UNKNOWN
        a = np.concatenate([a, a], axis)
    if a.dtype == b.dtype and a.tobytes() == b.tobytes():
        return ZERO if not a.any() or np.issubdtype(a.dtype, np.inexact) and not np.isfinite(a).any() else 1.0
    if a.size != 1 or not np.issubdtype(a.dtype, np.number) or a.item() == 0 or b.item() == 0:
        return UNKNOWN
    return float(b.item() / a.item())


def shape(v: Any) -> "tuple[int, ...]":
    return tuple(getattr(v.aval, "shape", ()))


def _samples(e: Any, f: Any, operand: int) -> Optional[int]:
    """The dimension of an operand along which it has samples; -1: none."""
    return dimension_of_samples(shape(e.invars[operand]), shape(f.invars[operand]))


def _of_result(e: Any, f: Any) -> Optional[int]:
    return dimension_of_samples(shape(e.outvars[0]), shape(f.outvars[0]))


def _added(factors: Sequence[Factor]) -> Factor:
    found = [x for x in factors if x != ZERO]
    others = [x for x in found if isinstance(x, Other)]
    if others:  # what makes it other may be taken away again, but not by what is the same
        return others[0] if len(others) == 1 and all(x in (others[0], 1.0) for x in found) else UNKNOWN
    floats = sorted({x for x in found if isinstance(x, float)})
    return Other(max(x for x in floats if x != 1.0)) if len(floats) > 1 and all(isinstance(x, float) for x in found) else common(factors)


def _is_same(factors: Sequence[Factor]) -> bool:
    return all(x in SAME for x in factors)


def _times(*factors: Factor) -> Factor:
    known = [x for x in factors if isinstance(x, float)]
    others = [x for x in factors if isinstance(x, Other)]
    if len(others) == 1 and len(known) == len(factors) - 1 and all(x == 1.0 for x in known):
        return others[0]
    return float(f"{math.prod(known):.9g}") if len(known) == len(factors) else UNKNOWN


def _mul(e: Any, f: Any, factors: "list[Factor]") -> Factor:
    return _times(*factors)


def _div(e: Any, f: Any, factors: "list[Factor]") -> Factor:
    above, below = factors
    if isinstance(above, Other):
        return above if below == 1.0 else UNKNOWN
    return _times(above, 1 / below) if isinstance(below, float) and below != ZERO else UNKNOWN


def _power(of: "Callable[[Any], float]") -> "Callable[..., Factor]":
    def rule(e: Any, f: Any, factors: "list[Factor]") -> Factor:
        own, power = factors[0], of(e)
        return UNKNOWN if not isinstance(own, float) or own == ZERO and power <= 0 else _times(own ** power)
    return rule


def _sign(e: Any, f: Any, factors: "list[Factor]") -> Factor:
    return UNKNOWN if not isinstance(factors[0], float) else ZERO if factors[0] == ZERO else 1.0


def _reduce_sum(e: Any, f: Any, factors: "list[Factor]") -> Factor:
    if isinstance(factors[0], Other):
        return UNKNOWN
    return _times(factors[0], 2.0) if _samples(e, f, 0) in e.params["axes"] else factors[0]


def _reduce_most(e: Any, f: Any, factors: "list[Factor]") -> Factor:
    return factors[0]


def _reshape(e: Any, f: Any, factors: "list[Factor]") -> Factor:
    """Twice the values, one after the other, is what it was only where as many elements are in front of the dimension."""
    before, after = _samples(e, f, 0), _of_result(e, f)
    if before is None or after is None or e.params["dimensions"] is not None:
        return UNKNOWN
    if before < 0 or after < 0:
        return factors[0] if before == after else UNKNOWN
    return factors[0] if math.prod(shape(e.invars[0])[:before]) == math.prod(shape(e.outvars[0])[:after]) else UNKNOWN


def _select(e: Any, f: Any, factors: "list[Factor]") -> Factor:
    if factors[0] == ZERO:
        return factors[1]
    return common(factors[1:]) if factors[0] in SAME else UNKNOWN


def _along_others(e: Any, f: Any, factors: "list[Factor]") -> Factor:
    """Cut, padded or joined, but not along the samples."""
    axis, name = _samples(e, f, 0), e.primitive.name
    if axis is None or axis != _of_result(e, f):
        return UNKNOWN
    if name == "concatenate":
        return UNKNOWN if e.params["dimension"] == axis else _joined(e, factors)
    if axis < 0:
        same = all(str(e.params[k]) == str(f.params[k]) for k in e.params)
    elif name == "split":
        same = e.params["axis"] != axis
    elif name == "slice":
        strides = e.params["strides"]
        same = (e.params["start_indices"][axis] == 0 and e.params["limit_indices"][axis] == shape(e.invars[0])[axis]
                and f.params["limit_indices"][axis] == shape(f.invars[0])[axis] and (strides is None or strides[axis] == 1))
    elif name == "pad":
        same = tuple(e.params["padding_config"][axis]) == (0, 0, 0)
    else:  # dynamic_slice, dynamic_update_slice: as many elements as there are begin with the first
        same = shape(e.outvars[0])[axis] == shape(e.invars[0])[axis] and (name == "dynamic_slice" or _samples(e, f, 1) == axis)
    if not same:
        return UNKNOWN
    if name == "dynamic_slice":
        return factors[0] if _is_same(factors[1:]) else UNKNOWN
    if name == "dynamic_update_slice":
        return common(factors[:2]) if _is_same(factors[2:]) else UNKNOWN
    return common(factors)


def _joined(e: Any, factors: "list[Factor]") -> Factor:
    return _columns(factors, [shape(v)[e.params["dimension"]] for v in e.invars])


def _columns(factors: "list[Factor]", widths: "list[int]") -> Factor:
    places = [i for i, x in enumerate(factors) if isinstance(x, Place)]
    if len(places) != 1:
        return common(factors)
    at, others = places[0], [x for x in factors if not isinstance(x, Place)]
    place = factors[at]
    alone = isinstance(place, Place) and place.column < 0 and widths[at] == 1 and _is_same(others)
    return place._replace(column=sum(widths[:at])) if isinstance(place, Place) and alone else UNKNOWN


def _broadcast(e: Any, f: Any, factors: "list[Factor]") -> Factor:
    axis = _samples(e, f, 0)
    if axis is None or axis >= 0 and e.params["broadcast_dimensions"][axis] != _of_result(e, f):
        return UNKNOWN
    return factors[0]


def _stack(e: Any, f: Any, factors: "list[Factor]") -> Factor:
    """Behind each other in a new dimension."""
    axis, new = _samples(e, f, 0), e.params["axis"]
    own = all(_samples(e, f, i) == axis for i in range(len(factors)))
    if not own or axis is None or _of_result(e, f) != (axis if axis < new else axis + 1):
        return UNKNOWN
    return _columns(factors, [1] * len(factors)) if new == len(shape(e.outvars[0])) - 1 else common(factors)


def _unstack(e: Any, f: Any, factors: "list[Factor]") -> Factor:
    return UNKNOWN if _samples(e, f, 0) in (None, e.params["axis"]) else factors[0]


def _tile(e: Any, f: Any, factors: "list[Factor]") -> Factor:
    return factors[0] if e.params["reps"] == f.params["reps"] and _samples(e, f, 0) == _of_result(e, f) else UNKNOWN


def _fft(e: Any, f: Any, factors: "list[Factor]") -> Factor:
    axis = _samples(e, f, 0)
    return UNKNOWN if axis is None or axis >= len(shape(e.invars[0])) - len(e.params["fft_lengths"]) else factors[0]


def _iota(e: Any, f: Any, factors: "list[Factor]") -> Factor:
    return Place() if _of_result(e, f) == e.params["dimension"] else 1.0


def _dot(e: Any, f: Any, factors: "list[Factor]") -> Factor:
    (left, right), (left_batch, right_batch) = e.params["dimension_numbers"]
    a, b = _samples(e, f, 0), _samples(e, f, 1)
    if a is None or b is None:
        return UNKNOWN
    if a in left or b in right:
        paired = a in left and b in right and list(left).index(a) == list(right).index(b)
        return _times(*factors, 2.0) if paired else UNKNOWN
    if a in left_batch or b in right_batch:
        paired = a in left_batch and b in right_batch and list(left_batch).index(a) == list(right_batch).index(b)
        return _times(*factors) if paired else UNKNOWN
    return UNKNOWN if a >= 0 and b >= 0 else _times(*factors)  # of all pairs of samples


def _convolution(e: Any, f: Any, factors: "list[Factor]") -> Factor:
    numbers = e.params["dimension_numbers"]
    a, b = _samples(e, f, 0), _samples(e, f, 1)
    if a is None or b is None:
        return UNKNOWN
    groups, batches = e.params["feature_group_count"], e.params["batch_group_count"]
    if a < 0 and b < 0 or (a == numbers.lhs_spec[0] and b < 0 and batches == 1):
        return _times(*factors)
    if a == numbers.lhs_spec[1] and b == numbers.rhs_spec[1] and groups == 1:
        return _times(*factors, 2.0)
    if a < 0 and b == numbers.rhs_spec[0] and groups == batches == 1:
        return _times(*factors)
    return UNKNOWN


def _windows(e: Any, f: Any, factors: "list[Factor]") -> Factor:
    """Of pooling: windows of one sample."""
    axis = _samples(e, f, 0)
    if axis is None or axis >= 0 and e.params["window_dimensions"][axis] != 1:
        return UNKNOWN
    return factors[0] if len(factors) == 1 or _is_same(factors[1:]) else UNKNOWN


def _running(e: Any, f: Any, factors: "list[Factor]") -> Factor:
    return UNKNOWN if _samples(e, f, 0) in (None, e.params["axis"]) else factors[0]


def _sort(e: Any, f: Any, factors: "list[Factor]") -> Factor:
    return UNKNOWN if _samples(e, f, 0) in (None, e.params["dimension"]) else common(factors)


def _top_k(e: Any, f: Any, factors: "list[Factor]") -> Factor:
    axis = e.params.get("axis", len(shape(e.invars[0])) - 1)
    return factors[0] if factors[0] == 1.0 and _samples(e, f, 0) not in (None, axis) else UNKNOWN


def _gather(e: Any, f: Any, factors: "list[Factor]") -> Factor:
    numbers, operand, indices = e.params["dimension_numbers"], _samples(e, f, 0), _samples(e, f, 1)
    if operand is None or indices is None:
        return UNKNOWN
    if isinstance(factors[1], Place):  # each sample's own
        if factors[1].order:
            return UNKNOWN
        own = numbers.start_index_map[max(factors[1].column, 0)]
        return factors[0] if operand == own and operand in numbers.collapsed_slice_dims else UNKNOWN
    if factors[1] not in SAME:
        return UNKNOWN
    last = len(shape(e.invars[1])) - 1
    if operand < 0 and indices < 0 or (operand < 0 and indices != last):
        return factors[0]
    batched, theirs = list(numbers.operand_batching_dims), list(numbers.start_indices_batching_dims)
    if operand in batched and indices in theirs and batched.index(operand) == theirs.index(indices):
        return factors[0]
    whole = (operand >= 0 and indices < 0 and operand not in numbers.start_index_map
             and e.params["slice_sizes"][operand] == shape(e.invars[0])[operand]
             and f.params["slice_sizes"][operand] == shape(f.invars[0])[operand])
    return factors[0] if whole else UNKNOWN


def _scatter(e: Any, f: Any, factors: "list[Factor]") -> Factor:
    numbers = e.params["dimension_numbers"]
    operand, indices, updates = (_samples(e, f, i) for i in range(3))
    if operand is None or indices is None or updates is None:
        return UNKNOWN
    if isinstance(factors[1], Place):
        if factors[1].order:
            return UNKNOWN
        own = numbers.scatter_dims_to_operand_dims[max(factors[1].column, 0)]
        fits = operand == own and operand in numbers.inserted_window_dims and updates not in numbers.update_window_dims
        return common([factors[0], factors[2]]) if fits else UNKNOWN
    if factors[1] not in SAME:
        return UNKNOWN
    if operand < 0 and indices < 0 and updates < 0:
        return common([factors[0], factors[2]])
    batched, theirs = list(numbers.operand_batching_dims), list(numbers.scatter_indices_batching_dims)
    if operand in batched and indices in theirs and batched.index(operand) == theirs.index(indices) and updates >= 0:
        return common([factors[0], factors[2]])
    if e.primitive.name != "scatter" and operand < 0 and indices >= 0 and updates >= 0 and updates not in numbers.update_window_dims:
        return common([factors[0], _times(factors[2], 2.0)])  # every one is added twice
    if operand >= 0 and indices < 0 and updates in numbers.update_window_dims and operand not in numbers.scatter_dims_to_operand_dims:
        return common([factors[0], factors[2]])
    return UNKNOWN


_RULES: "dict[str, Callable[..., Factor]]" = {
    "mul": _mul, "div": _div, "integer_pow": _power(lambda e: e.params["y"]), "sqrt": _power(lambda e: 0.5),
    "rsqrt": _power(lambda e: -0.5), "cbrt": _power(lambda e: 1 / 3), "square": _power(lambda e: 2), "sign": _sign,
    "reduce_sum": _reduce_sum, "reduce_max": _reduce_most, "reduce_min": _reduce_most, "reshape": _reshape, "select_n": _select,
    "slice": _along_others, "split": _along_others, "pad": _along_others, "concatenate": _along_others, "dynamic_slice": _along_others,
    "dynamic_update_slice": _along_others, "broadcast_in_dim": _broadcast, "stack": _stack, "unstack": _unstack, "tile": _tile, "fft": _fft, "iota": _iota, "dot_general": _dot,
    "conv_general_dilated": _convolution, "reduce_window_sum": _windows, "reduce_window_max": _windows, "reduce_window_min": _windows,
    "select_and_scatter_add": _windows, "select_and_gather_add": _windows, "cumsum": _running, "cummax": _running, "cummin": _running,
    "cumlogsumexp": _running, "sort": _sort, "top_k": _top_k, "gather": _gather, "scatter": _scatter, "scatter-add": _scatter, "scatter_add": _scatter,
}


def result(e: Any, f: Any, factors: "list[Factor]") -> Factor:
    """Of the results of an equation, which stands in one trace as `e` and in that of twice the samples as `f`; factors: of its operands."""
    name = e.primitive.name
    rule = _RULES.get(name)
    if rule is not None:
        return rule(e, f, factors)
    if name in _LINEAR:
        moved = name == "rev" and _samples(e, f, 0) in e.params["dimensions"] and not isinstance(factors[0], float)
        rounded = name == "convert_element_type" and not jax.dtypes.issubdtype(e.params["new_dtype"], np.inexact) and (
            isinstance(factors[0], float) and not _is_same(factors) or isinstance(factors[0], Other) and jax.dtypes.issubdtype(e.invars[0].aval.dtype, np.inexact))
        return UNKNOWN if moved or rounded else factors[0]
    if name in _ADDED:
        return _added(factors)
    if name in _EQUAL:
        return common(factors)
    if name == "lt" and isinstance(factors[0], Place) and factors[1] == ZERO:
        return ZERO  # numbers of samples are not negative
    if name in _COMPARED:
        return UNKNOWN if common(factors) is UNKNOWN else 1.0
    if name in _PLAIN:
        return 1.0 if _is_same(factors) else UNKNOWN
    return UNKNOWN
