# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Where the rules (doubling.py) do not know what a step makes of several samples, it is tried: with numbers that are drawn, the step of one part runs on
two of them beside each other, gradients averaged as workers average them, and that of twice the samples on both together; where the number of samples decides which
step it is (continued.py), on all parts, and that of the whole batch. What differs is certain; what does not is not. Random numbers are one and the same for a try: those of two parts are others than those of the whole in any case."""

from __future__ import annotations

import math
from typing import Any, NamedTuple, Optional, Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import ClosedJaxpr, Literal

from .jax_gradient import gradient_p
from .jaxprs import closed, equations, inner

# Of values, all arguments together: more are not computed with for a try.
LARGEST = 1 << 28
DRAWS = 2
# What scalars of the state are in further draws: of any size, each half as large again as the one before.
SIZES = tuple(1.5 ** k for k in range(-17, 18))
SMALL = 1e-6
BITS = 0x5555555555555555  # of all random numbers: a third of the range
# What has bits of its own, and calls of the host, which are not made for a try.
_NOT_TRIED = ("threefry", "rng_", "random_gamma", "callback", "ffi_call", "infeed", "outfeed")


def can_be_tried(one: ClosedJaxpr, two: ClosedJaxpr) -> bool:
    names = {e.primitive.name for trace in (one, two) for e in equations(trace.jaxpr)}
    values = sum(math.prod(v.aval.shape) for v in two.jaxpr.invars)
    return values <= LARGEST and not any(of in n for n in names for of in _NOT_TRIED)


def _for_a_try(jaxpr: Any) -> Any:
    """With BITS in place of random ones, and the worker 0."""
    def changed(x: Any) -> Any:
        if isinstance(x, (tuple, list)):
            return type(x)(*map(changed, x)) if hasattr(x, "_fields") else type(x)(map(changed, x))
        if isinstance(x, ClosedJaxpr):
            return x.replace(jaxpr=_for_a_try(x.jaxpr))
        return _for_a_try(x) if hasattr(x, "eqns") else x

    def equation(e: Any) -> Any:
        if e.primitive.name not in ("random_bits", "cs_worker_index"):
            return e.replace(params={n: changed(x) for n, x in e.params.items()}) if inner(e) else e
        aval = e.outvars[0].aval
        value = np.asarray(BITS >> 64 - 8 * aval.dtype.itemsize if e.primitive.name == "random_bits" else 0, aval.dtype)
        if not aval.shape:  # of which JAX makes no operation
            return e.replace(primitive=jax.lax.or_p, invars=[Literal(value, aval)] * 2, params={})
        same = jax.make_jaxpr(lambda: jnp.full(aval.shape, value))()
        return e.replace(primitive=jax.lax.broadcast_in_dim_p, invars=[Literal(value, jax.core.ShapedArray((), aval.dtype))],
                         params=same.eqns[-1].params)
    return jaxpr.replace(eqns=[equation(e) for e in jaxpr.eqns])


def _evaluated(trace: ClosedJaxpr, arguments: Sequence[Any], average: "Optional[Sequence[Any]]") -> "tuple[list[Any], list[Any]]":
    """The results of a trace and its gradients that are averaged, which go on as `average`, if that is given."""
    marked: "list[Any]" = []

    def gradient(value: Any) -> Any:
        marked.append(value)
        return value if average is None else average[len(marked) - 1]

    def run(jaxpr: Any, consts: Sequence[Any], given: Sequence[Any]) -> "list[Any]":
        known = dict(zip([*jaxpr.constvars, *jaxpr.invars], [*consts, *given], strict=True))

        def value(v: Any) -> Any:
            return v.val if isinstance(v, Literal) else known[v]
        for e in jaxpr.eqns:
            of = [value(v) for v in e.invars]
            if e.primitive is gradient_p:
                found = [gradient(of[0])]
            elif e.primitive.name in ("jit", "pjit", "closed_call") and len(inner(e)) == 1:
                within = closed(inner(e)[0])
                found = run(within.jaxpr, within.consts, of)
            else:
                bound = e.primitive.get_bind_params(e.params)
                functions, params = bound if isinstance(bound, tuple) else ((), bound)  # as JAX has had it
                found = e.primitive.bind(*functions, *of, **params)
                found = found if e.primitive.multiple_results else [found]
            known.update(zip(e.outvars, found, strict=True))
        return [value(v) for v in jaxpr.outvars]
    return run(trace.jaxpr, trace.consts, arguments), marked


class Tried(NamedTuple):
    """gradients: whether any of the whole is another one than the mean of those of its parts. results: the indices of those that are. again: whether gradients of the whole are others than
    those of a part when all parts have the same samples."""

    gradients: bool
    results: "set[int]"
    again: bool


def differing(one: ClosedJaxpr, two: ClosedJaxpr, batch: Sequence[bool], times: int = 2) -> Optional[Tried]:
    """None if it cannot be tried. Nothing differs by chance: what is found is found with each of the draws.

    one, two: the step of one part, and of so many times its samples. batch: of each argument, whether it is of a batch.
    """
    if not can_be_tried(one, two):
        return None
    try:
        one, two = (t.replace(jaxpr=_for_a_try(t.jaxpr)) for t in (one, two))
        return _compared(one, two, batch, times)
    except Exception:  # such as an operation that knows no such numbers
        return None


def _compared(one: ClosedJaxpr, two: ClosedJaxpr, batch: Sequence[bool], times: int) -> Optional[Tried]:
    part, whole = (jax.jit(lambda of, t=t: _evaluated(t, of, None)) for t in (one, two))
    averaged, exact = jax.jit(lambda of, average: _evaluated(one, of, average)[0]), _exact([one, two])
    gradients, results = set(range(sum(e.primitive is gradient_p for e in equations(one.jaxpr)))), set(range(len(two.out_avals)))
    if len(one.out_avals) != len(two.out_avals):
        results = set()
    again, count = set(gradients), len(gradients)
    for draw in range(DRAWS):
        values = _stand_ins(one, batch, np.random.default_rng(draw), times)
        parts = [[x[i] if b else x for x, b in zip(values, batch, strict=True)] for i in range(times)]
        of_parts = [part(of)[1] for of in parts]
        average = [sum(of) / times for of in zip(*of_parts, strict=True)]
        if len(average) != count:
            return None  # one within a loop, which goes on by itself
        outputs, own = whole([jnp.concatenate(list(x)) if b else x for x, b in zip(values, batch, strict=True)])
        scale = max((float(jnp.abs(g).max()) for g in own if g.size), default=0.0)
        gradients &= {i for i, (a, b) in enumerate(zip(average, own, strict=True)) if _differs([a], b, exact, scale)}
        if results:
            results &= {i for i, (*of, b) in enumerate(zip(*(averaged(of, average) for of in parts), outputs, strict=True)) if _differs(of, b, exact)}
        if again:
            own = whole([jnp.concatenate([x[0]] * times) if b else x for x, b in zip(values, batch, strict=True)])[1]
            scale = max((float(jnp.abs(g).max()) for g in own if g.size), default=0.0)
            again &= {i for i, (a, b) in enumerate(zip(of_parts[0], own, strict=True)) if _differs([a], b, exact, scale)}
    return Tried(bool(gradients), results, bool(again))


def by_number(one: ClosedJaxpr, two: ClosedJaxpr, batch: Sequence[bool], asked: Sequence[int], times: int = 2) -> "Optional[list[int]]":
    """Of the results with these indices, which depend on no sample but through gradients, those that are others where there are so many times as many samples:
    with the same numbers drawn for arguments and gradients. Arguments as of differing(). None if it cannot be tried.

    As nothing else differs, whatever does is found with one of the draws. In one of them parameters are nothing beside their gradients, as what a small rate makes would be nothing beside them. In the last ones
    all scalars of the state are one number: between the numbers of samples of one part and of all, and of any size (SIZES), as one may decide something.
    """
    samples = next((v.aval.shape[0] for v, b in zip(one.jaxpr.invars, batch, strict=True) if b and v.aval.shape), None)
    if not asked or samples is None:
        return []
    if not can_be_tried(one, two):
        return None
    try:
        one, two = (t.replace(jaxpr=_for_a_try(t.jaxpr)) for t in (one, two))
        marks = [[e.outvars[0].aval for e in equations(t.jaxpr) if e.primitive is gradient_p] for t in (one, two)]
        part, whole = (jax.jit(lambda of, gradients, t=t, m=m: _with_gradients(t, of, gradients, len(m), asked)) for t, m in zip((one, two), marks, strict=True))
        exact, found = 64 * _least_exact([one, two]), set()
        scalar = [_is_scalar(v, b) for v, b in zip(one.jaxpr.invars, batch, strict=True)]
        sizes: "tuple[Optional[float], ...]" = ((samples * (1 + times) + 1) // 2, *SIZES) if any(scalar) else ()
        for draw in range(DRAWS + 1 + bool(sizes)):
            rng = np.random.default_rng(draw)
            values = _stand_ins(one, batch, rng, times)
            if draw == DRAWS:
                values = [x if b or not x.ndim or not jax.dtypes.issubdtype(x.dtype, np.inexact) else x * SMALL for x, b in zip(values, batch, strict=True)]
            both = [x[0] if b else x for x, b in zip(values, batch, strict=True)], [jnp.concatenate(list(x)) if b else x for x, b in zip(values, batch, strict=True)]
            gradients = [jnp.asarray(rng.normal(size=a.shape), a.dtype) for a in marks[0]]
            for size in sizes if draw > DRAWS else (None,):
                results, more = (of([jnp.asarray(size, x.dtype) if s and size is not None else x for x, s in zip(given, scalar, strict=True)], gradients)
                                 for of, given in zip((part, whole), both))
                found |= {i for i, a, b in zip(asked, results, more, strict=True) if _differs([a], b, exact, 0.0 if size is None else max(size, 1.0)) or _other_numbers(a, b)}
        return sorted(found)
    except Exception:  # as in differing()
        return None


def _with_gradients(trace: ClosedJaxpr, arguments: Sequence[Any], gradients: Sequence[Any], count: int, asked: Sequence[int]) -> "list[Any]":
    results, marked = _evaluated(trace, arguments, gradients)
    if not len(marked) == count == len(gradients):
        raise AssertionError("a gradient within a loop")  # which goes on by itself
    return [results[i] for i in asked]


def _other_numbers(one: Any, two: Any) -> bool:
    """Of whole numbers. Several of 32 bits without a sign are random keys' data, as a rule."""
    whole = jax.dtypes.issubdtype(two.dtype, np.integer) and (two.dtype != np.uint32 or not two.ndim) or two.dtype == np.bool_
    return bool(whole and one.shape == two.shape and (np.asarray(one) != np.asarray(two)).any())


def _differs(parts: "Sequence[Any]", whole: Any, exact: float, scale: float = 0.0) -> bool:
    """Whether the mean of parts is another one by more than a share of `exact`, and than what rounding makes of values as large as `scale`."""
    if any(x.shape != whole.shape for x in parts) or not jax.dtypes.issubdtype(whole.dtype, np.inexact) or not whole.size:
        return False
    wide = np.complex128 if jax.dtypes.issubdtype(whole.dtype, np.complexfloating) else np.float64
    mean, together = np.mean([np.asarray(x).astype(wide) for x in parts], 0), np.asarray(whole).astype(wide)
    if not np.isfinite(mean).all() or not np.isfinite(together).all():
        return False
    return bool(np.abs(mean - together).max() > exact * np.abs(together).max() + 64 * float(jnp.finfo(whole.dtype).eps) * scale)


def _exact(traces: Sequence[ClosedJaxpr]) -> float:
    """By which share results may differ as sums are made in another order."""
    return max(1e-3, 8 * _least_exact(traces))


def _least_exact(traces: Sequence[ClosedJaxpr]) -> float:
    """How exact the least exact type of numbers in the traces is."""
    types = {v.aval.dtype for t in traces for e in equations(t.jaxpr) for v in e.outvars if jax.dtypes.issubdtype(getattr(v.aval, "dtype", np.bool_), np.inexact)}
    return max([float(jnp.finfo(t).eps) for t in types], default=0.0)


def _is_scalar(v: Any, of_batch: bool) -> bool:
    """Whether an argument is one number, and of no batch."""
    return not of_batch and not v.aval.shape and v.aval.dtype != np.bool_ and not jax.dtypes.issubdtype(v.aval.dtype, jax.dtypes.prng_key)


def _stand_ins(one: ClosedJaxpr, batch: Sequence[bool], rng: np.random.Generator, times: int) -> "list[Any]":
    """Arguments of so many parts."""
    def drawn(v: Any, of_batch: bool) -> Any:
        shape, dtype = (*((times,) if of_batch else ()), *v.aval.shape), v.aval.dtype
        if jax.dtypes.issubdtype(dtype, jax.dtypes.prng_key):
            return jnp.full(shape, jax.random.key(0))
        if jax.dtypes.issubdtype(dtype, np.inexact):
            # As large as leaves what layers make of it about as large; positive, if of one dimension, as scales, variances and counts are.
            values = rng.normal(size=shape)
            values = values if of_batch else np.abs(values) + 0.1 if v.aval.ndim < 2 else values / math.sqrt(math.prod(v.aval.shape) / max(v.aval.shape))
        else:
            values = np.asarray(rng.integers(0, 2, shape), np.float64) if of_batch else np.ones(shape)
        return jnp.asarray(values, dtype)
    return [drawn(v, b) for v, b in zip(one.jaxpr.invars, batch, strict=True)]
