# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random numbers of the samples: a part of a batch draws what one device draws for these samples of the whole batch.

A random key is state, which all workers have the same. So an array of random numbers with a row for each sample would have the same rows on all of them. Each
worker takes those rows that the array of the whole batch has for its samples: with numbers that are counted, as those of "threefry2x32" are, by where it begins to
count; else it draws those of all and takes its own. A step that asks for the worker's index draws as it says itself.
"""

from __future__ import annotations

import math
import warnings
from typing import Any, Callable, Optional, Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import ClosedJaxpr, Literal
from jax.extend.random import threefry2x32_p

from ..errors import MixedSamples
from ..job import current
from .doubling_rules import dimension_of_samples
from .jax_gradient import gradient_p
from .jax_worker import worker_index, worker_index_p
from .jaxprs import closed, equations, inner, line_within, through
from .jax_turns import by_number, of_places, same_for_all

_DRAW = ("random_bits", "random_split", "random_gamma", "rng_bit_generator", "rng_uniform")


def draws(trace: ClosedJaxpr) -> "list[Any]":
    """The operations that draw numbers from keys, if the step leaves to us what each worker draws."""
    every = list(equations(trace.jaxpr))
    return [] if any(e.primitive is worker_index_p for e in every) else [e for e in every if e.primitive.name in _DRAW]


def decided_by_number(one: ClosedJaxpr, two: Optional[ClosedJaxpr], whole: Optional[ClosedJaxpr], parts: int, locate: "Callable[[Any], Optional[str]]") -> None:
    """Warns of a step of which the number of samples decides what it draws, but for what of_the_whole() warns of. one, two, whole: that of one part, of twice its samples and of the
    whole batch, if it is known."""
    own = _not_shuffled(one)
    for trace, times in ((two, 2), (whole, parts)):
        found = _not_shuffled(trace) if trace is not None else own
        alike = [e.primitive for e in found] == [e.primitive for e in own]
        other = next((f for e, f in zip(own, found) if not _as_many(_shape(e), _shape(f), times)), None) if alike else (found or own)[-1]
        if other is None:
            continue
        if times > 2 or not own:
            _say(one if any(other is e for e in own) else trace or one, other, "which random numbers the step draws is decided by the number of samples: for the whole batch they are others than "
                 f"for each of {parts} parts", locate)
        return


def _not_shuffled(trace: ClosedJaxpr) -> "list[Any]":
    """What is drawn but for permutations, which have one round more where there are thousands of samples."""
    within = {id(f) for e in equations(trace.jaxpr) if e.params.get("name") == "_shuffle" for x in inner(e) for f in equations(closed(x).jaxpr)}
    return [e for e in draws(trace) if id(e) not in within]


def _as_many(one: "tuple[int, ...]", more: "tuple[int, ...]", times: int) -> bool:
    """Whether a shape is the same, or has so many times as many along one dimension."""
    other = [(a, b) for a, b in zip(one, more) if a != b]
    return len(one) == len(more) and (not other or len(other) == 1 and other[0][1] == times * other[0][0])


def of_the_whole(one: ClosedJaxpr, two: ClosedJaxpr, batch: Sequence[bool], parts: int, results: "Sequence[tuple[str, str]]",
                 locate: "Callable[[Any], Optional[str]]") -> Optional[ClosedJaxpr]:
    """The step of one part with the random numbers that its samples have in the whole batch; None where it has none that are its samples'. Warns of those that
    stay the same for all parts.

    one, two: the step of one part, and of twice its samples. batch: of each argument, whether it is of a batch. results: roles and names of what it returns. locate: the user's line of an equation.
    """
    first, second = draws(one), draws(two)
    if [e.primitive for e in first] != [e.primitive for e in second]:
        _warn(one, first[0], parts, "it draws another number of times with more samples", locate)
        return None
    axes: "dict[int, int]" = {}
    for e, f in zip(first, second):
        axis = dimension_of_samples(_shape(e), _shape(f))
        if axis is None:
            _warn(one, e, parts, "how many there are is no multiple of the number of samples", locate)
        elif axis >= 0 and e.primitive.name.startswith("rng_"):
            _warn(one, e, parts, f"'{e.primitive.name}' draws them", locate)
        elif axis >= 0:
            axes[id(e)] = axis
    folds = of_places(one, two)
    axes.update((i, 0) for i in by_number(one, folds))
    for e in same_for_all(one, two, batch, axes, folds)[:1]:
        _warn(one, e, parts, "their keys are made from places in a part, or in turns of a loop over it", locate)
    if not axes:
        return None
    found = one.replace(jaxpr=_changed(one.jaxpr, axes, parts))
    by_worker = beside_gradients(found.jaxpr, [False] * len(found.jaxpr.invars))
    apart = next((name for (role, name), own, v in zip(results, by_worker, found.jaxpr.outvars)
                  if own and role == "updates" and not jax.dtypes.issubdtype(v.aval.dtype, np.inexact)), None)
    if apart is None:
        return found
    _warn(one, next(e for e in [*first, *folds] if id(e) in axes), parts, f"the new value of '{apart}', of which no mean can be kept, is made of them", locate)
    return None


def _shape(e: Any) -> "tuple[int, ...]":
    """Of what is drawn from each key."""
    return tuple(e.invars[1].aval.shape[e.invars[0].aval.ndim:] if e.primitive.name == "random_gamma" else e.params["shape"])


def _warn(trace: ClosedJaxpr, e: Any, parts: int, why: str, locate: "Callable[[Any], Optional[str]]") -> None:
    _say(trace, e, f"the random numbers that the step draws for its samples are the same for each of {parts} parts of the batch: {why}. "
         "Where each is to have its own, draw from commsched.worker_key(key)", locate)


def _say(trace: ClosedJaxpr, e: Any, what: str, locate: "Callable[[Any], Optional[str]]") -> None:
    job, place = current(), line_within(trace.jaxpr, e, locate)
    if job is None or job.rank == 0:
        warnings.warn(f"{f'{place}: ' if place else ''}{what} (docs/python.md, \"Randomness\")", MixedSamples, stacklevel=6)


def _changed(jaxpr: Any, axes: "dict[int, int]", parts: int) -> Any:
    def within(x: Any) -> Any:
        if isinstance(x, (tuple, list)):
            return type(x)(*map(within, x)) if hasattr(x, "_fields") else type(x)(map(within, x))
        if isinstance(x, ClosedJaxpr):
            return x.replace(jaxpr=_changed(x.jaxpr, axes, parts))
        return _changed(x, axes, parts) if hasattr(x, "eqns") else x

    def equation(e: Any) -> Any:
        if id(e) in axes:
            return _own(e, axes[id(e)], parts)
        return e.replace(params={n: within(p) for n, p in e.params.items()}) if inner(e) else e
    return jaxpr.replace(eqns=[equation(e) for e in jaxpr.eqns])


def _own(e: Any, axis: int, parts: int) -> Any:
    """The rows of this worker, along `axis`, of what `e` draws of all."""
    if e.primitive.name == "random_fold_in":
        return _called(e, lambda keys, numbers: e.primitive.bind(keys, numbers + (worker_index() * numbers.shape[0]).astype(numbers.dtype)))
    shape, keys = _shape(e), e.invars[0].aval
    whole = tuple(parts * s if i == axis else s for i, s in enumerate(shape))
    counted = e.primitive.name != "random_gamma" and keys.dtype._impl.name == "threefry2x32" and getattr(e.ctx, "threefry_partitionable", False) and math.prod(whole) < 1 << 32

    def drawn(keys: Any, *of: Any) -> Any:
        begin = worker_index() * shape[axis]
        if of:  # one for each number of an array, of which others have other rows
            every = jax.lax.dynamic_update_slice_in_dim(jnp.ones((*keys.shape, *whole), of[0].dtype), of[0], begin, keys.ndim + axis)
            return jax.lax.dynamic_slice_in_dim(e.primitive.bind(keys, every, **e.params), begin, shape[axis], keys.ndim + axis)
        if counted:
            return _counted(e, keys, _numbers(shape, whole, axis, begin.astype(np.uint32)))
        return jax.lax.dynamic_slice_in_dim(e.primitive.bind(keys, **{**e.params, "shape": whole}), begin, shape[axis], keys.ndim + axis)
    return _called(e, drawn)


def _called(e: Any, function: Callable) -> Any:
    """The operation, with what a function makes in place of it."""
    with e.ctx.manager:
        call = jax.make_jaxpr(jax.jit(function))(*(jax.ShapeDtypeStruct(v.aval.shape, v.aval.dtype) for v in e.invars)).jaxpr.eqns[-1]
    return call.replace(invars=e.invars, outvars=e.outvars, source_info=e.source_info)


def _numbers(shape: "tuple[int, ...]", whole: "tuple[int, ...]", axis: int, begin: Any) -> Any:
    """Of each element, which one of all it is."""
    found, step = jnp.zeros(shape, np.uint32), 1
    for i in reversed(range(len(shape))):
        along = jax.lax.broadcasted_iota(np.uint32, shape, i)
        found, step = found + (along + begin if i == axis else along) * np.uint32(step), step * whole[i]
    return found


def _counted(e: Any, keys: Any, numbers: Any) -> Any:
    """What JAX makes of each key and the numbers of elements, where it draws elements by themselves (jax_threefry_partitionable)."""
    every, data = (*keys.shape, *numbers.shape), jax.random.key_data(keys)
    first, second = (jnp.broadcast_to(data[..., i].reshape(*keys.shape, *[1] * numbers.ndim), every) for i in range(2))
    high, low = threefry2x32_p.bind(first, second, jnp.zeros(every, np.uint32), jnp.broadcast_to(numbers, every))
    if e.primitive.name == "random_split":
        return jax.random.wrap_key_data(jnp.stack([high, low], high.ndim), impl=keys.dtype._impl.name)
    width = e.params["bit_width"]
    if width == 64:
        return high.astype(np.uint64) << np.uint64(32) | low.astype(np.uint64)
    return (high ^ low).astype(f"uint{width}")


def beside_gradients(jaxpr: Any, given: Sequence[bool]) -> "list[bool]":
    """Of the results of a trace, whether they are a worker's own other than through gradients: by its index, or by arguments. given: whether arguments are."""
    known = {v for v, own in zip(jaxpr.invars, given, strict=True) if own}

    def of(v: Any) -> bool:
        return not isinstance(v, Literal) and v in known
    for e in jaxpr.eqns:
        every = any(map(of, e.invars))
        if e.primitive is gradient_p:
            found = [False]
        elif through(e):
            found = beside_gradients(closed(inner(e)[0]).jaxpr, [of(v) for v in e.invars])
        else:
            asks = e.primitive is worker_index_p or any(f.primitive is worker_index_p for x in inner(e) for f in equations(closed(x).jaxpr))
            found = [every or asks] * len(e.outvars)
        known.update(v for v, own in zip(e.outvars, found, strict=True) if own)
    return [of(v) for v in jaxpr.outvars]
