# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Where the rules (doubling.py) do not know what a step makes of several samples, it is tried: with numbers that are drawn, the step of one part runs on
two of them beside each other, gradients averaged as workers average them, and that of twice the samples on both together. What differs is certain;
what does not is not. Random numbers are one and the same for a try: those of two parts are others than those of the whole in any case."""

from __future__ import annotations

import math
from typing import Any, Callable, NamedTuple, Optional, Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import ClosedJaxpr, Literal, jaxpr_as_fun

from .jax_gradient import PARTS, gradient_p
from .jaxprs import equations, inner

# Of values, all arguments together: more are not computed with for a try.
LARGEST = 1 << 28
# The bits of all random numbers, of each draw of arguments: a third and two fifths of the range.
DRAWS = (0x5555555555555555, 0x6666666666666666)
# What has bits of its own, and calls of the host, which are not made for a try.
_NOT_TRIED = ("threefry", "rng_", "random_gamma", "callback", "ffi_call", "infeed", "outfeed")


def can_be_tried(one: ClosedJaxpr, two: ClosedJaxpr) -> bool:
    names = {e.primitive.name for trace in (one, two) for e in equations(trace.jaxpr)}
    values = sum(math.prod(v.aval.shape) for v in two.jaxpr.invars)
    return values <= LARGEST and not any(of in n for n in names for of in _NOT_TRIED)


def _for_a_try(jaxpr: Any, bits: int, gradients: bool) -> Any:
    """With these bits in place of random ones, and the worker 0; without `gradients`, with zeros in place of those that are averaged."""
    def changed(x: Any) -> Any:
        if isinstance(x, (tuple, list)):
            return type(x)(*map(changed, x)) if hasattr(x, "_fields") else type(x)(map(changed, x))
        if isinstance(x, ClosedJaxpr):
            return x.replace(jaxpr=_for_a_try(x.jaxpr, bits, gradients))
        return _for_a_try(x, bits, gradients) if hasattr(x, "eqns") else x

    def equation(e: Any) -> Any:
        if e.primitive.name not in ("random_bits", "cs_worker_index") and (gradients or e.primitive is not gradient_p):
            return e.replace(params={n: changed(x) for n, x in e.params.items()}) if inner(e) else e
        aval = e.outvars[0].aval
        value = np.asarray(bits >> 64 - 8 * aval.dtype.itemsize if e.primitive.name == "random_bits" else 0, aval.dtype)
        same = jax.make_jaxpr(lambda: jnp.full(aval.shape, value))()
        return e.replace(primitive=jax.lax.broadcast_in_dim_p, invars=[Literal(value, jax.core.ShapedArray((), aval.dtype))],
                         params=same.eqns[-1].params)
    return jaxpr.replace(eqns=[equation(e) for e in jaxpr.eqns])


class Tried(NamedTuple):
    """Indices of results. means: those of which the whole's are not the mean of those of its two parts; gradients: those to which other gradients come."""

    means: "set[int]"
    gradients: "set[int]"


def differing(one: ClosedJaxpr, two: ClosedJaxpr, batch: Sequence[bool]) -> Optional[Tried]:
    """None if it cannot be tried. Nothing differs by chance: what is found is found with each of the draws.

    one, two: the step of one part, and of twice its samples. batch: of each argument, whether it is of a batch.
    """
    if not can_be_tried(one, two):
        return None
    found, exact = Tried(set(range(len(two.out_avals))), set(range(len(two.out_avals)))), _exact([one, two])
    for draw, bits in enumerate(DRAWS):
        def of(trace: ClosedJaxpr, gradients: bool = True) -> "Callable[..., Any]":
            return jaxpr_as_fun(trace.replace(jaxpr=_for_a_try(trace.jaxpr, bits, gradients)))
        try:
            values = _stand_ins(one, batch, np.random.default_rng(draw))
            parts = jax.jit(jax.vmap(of(one), in_axes=[0 if b else None for b in batch], axis_name=PARTS, axis_size=2))(*values)
            values = [jnp.concatenate(list(x)) if b else x for x, b in zip(values, batch, strict=True)]
            whole, without = jax.jit(of(two))(*values), jax.jit(of(two, False))(*values)
        except Exception:  # such as an operation that has no rule for parts beside each other
            return None
        found = Tried({i for i in found.means if _differs(parts[i], whole[i], None, exact)}, {i for i in found.gradients if _differs(parts[i], whole[i], without[i], exact)})
        if not any(found):
            break
    return found


def _differs(parts: Any, whole: Any, without: Any, exact: float) -> bool:
    """Whether the mean of the parts is another one, by more than `exact` of what the gradients make of it, or of all."""
    if parts.shape[1:] != whole.shape or not jax.dtypes.issubdtype(whole.dtype, np.inexact) or not whole.size:
        return False
    wide = np.complex128 if jax.dtypes.issubdtype(whole.dtype, np.complexfloating) else np.float64
    mean, together, before = np.asarray(parts).astype(wide).mean(0), np.asarray(whole).astype(wide), 0.0 if without is None else np.asarray(without).astype(wide)
    if not np.isfinite(mean).all() or not np.isfinite(together).all() or not np.isfinite(before).all():
        return False
    of, rounded = np.abs(together - before).max(), 4 * float(jnp.finfo(whole.dtype).eps) * np.abs(together).max()
    return bool(of > rounded and np.abs(mean - together).max() > exact * of + rounded)


def _exact(traces: Sequence[ClosedJaxpr]) -> float:
    """By which share results may differ as sums are made in another order, with the least exact type of numbers in the traces."""
    types = {v.aval.dtype for t in traces for e in equations(t.jaxpr) for v in e.outvars if jax.dtypes.issubdtype(getattr(v.aval, "dtype", np.bool_), np.inexact)}
    return max(1e-3, *(8 * float(jnp.finfo(t).eps) for t in types), 0.0)


def _stand_ins(one: ClosedJaxpr, batch: Sequence[bool], rng: np.random.Generator) -> "list[Any]":
    """Arguments of two parts."""
    def drawn(v: Any, of_batch: bool) -> Any:
        shape, dtype = ((2,) if of_batch else ()) + v.aval.shape, v.aval.dtype
        if jax.dtypes.issubdtype(dtype, jax.dtypes.prng_key):
            return jnp.full(shape, jax.random.key(0))
        if jax.dtypes.issubdtype(dtype, np.inexact):
            # As large as leaves what layers make of it about as large; positive, if of one dimension, as scales, variances and counts are.
            values = rng.normal(size=shape)
            values = values if of_batch else np.abs(values) + 0.1 if len(shape) < 2 else values / math.sqrt(math.prod(shape) / max(shape))
        else:
            values = rng.integers(0, 2, shape) if of_batch else np.ones(shape)
        return jnp.asarray(values, dtype)
    return [drawn(v, b) for v, b in zip(one.jaxpr.invars, batch, strict=True)]
