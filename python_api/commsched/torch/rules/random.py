# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What draws numbers: of keys that come from a seed in the state, not the numbers of PyTorch's generators."""

from __future__ import annotations

import jax
import jax.numpy as jnp

from .table import NoRule, Operation, arrays, rule


def _own_generator(generator):
    if generator is not None:
        raise NoRule("a generator of its own")


def uniform(op: Operation, low=0.0, high=1.0):
    """In the type that halves are computed in, with the digits that they have: none of them is rounded to 1, which is none of the numbers."""
    drawn = jax.random.uniform(op.key(), op.shape, op.wide)
    if op.dtype != op.wide:
        steps = 2.0 ** (jnp.finfo(op.dtype).nmant + 1)
        drawn = jnp.floor(drawn * steps) / steps
    return drawn if (low, high) == (0.0, 1.0) else low + drawn * (high - low)


def normal(op: Operation):
    return jax.random.normal(op.key(), op.shape, jnp.float32).astype(op.wide)


@rule("aten.bernoulli.p", "aten.bernoulli.default")
def _bernoulli(op: Operation, x, p=None, *, generator=None):
    _own_generator(generator)
    p = x.astype(jnp.float32) if p is None else jnp.float32(p)
    return (jax.random.uniform(op.key(), op.shape, jnp.float32) < p).astype(op.dtype)


@rule("aten.bernoulli.Tensor")
def _bernoulli_tensor(op: Operation, x, p, *, generator=None):
    return _bernoulli(op, p, None, generator=generator)


@rule("aten.rand", "aten.rand_like")
def _rand(op: Operation, *_, generator=None, **__):
    _own_generator(generator)
    return uniform(op)


@rule("aten.uniform")
def _uniform(op: Operation, x, low=0.0, high=1.0, *, generator=None):
    _own_generator(generator)
    return uniform(op, low, high)


@rule("aten.randn", "aten.randn_like")
def _randn(op: Operation, *_, generator=None, **__):
    _own_generator(generator)
    return normal(op)


@rule("aten.normal_functional")
def _normal(op: Operation, x, mean=0.0, std=1.0, *, generator=None):
    _own_generator(generator)
    return mean + std * normal(op)


@rule("aten.normal")
def _normal_of(op: Operation, mean=0.0, std=1.0, *_, generator=None, **__):
    _own_generator(generator)
    mean, std = arrays(op.wide, mean, std)
    return mean + std * normal(op)


@rule("aten.exponential")
def _exponential(op: Operation, x, rate=1.0, *, generator=None):
    _own_generator(generator)
    # None is 0, of which there is no logarithm.
    drawn = -jnp.log1p(-jax.random.uniform(op.key(), op.shape, op.wide))
    return jnp.maximum(jnp.maximum(drawn, jnp.finfo(op.wide).eps / 2) / rate, jnp.finfo(op.dtype).tiny)


@rule("aten.randint", "aten.randint_like")
def _randint(op: Operation, *numbers, generator=None, **_):
    _own_generator(generator)
    bounds = [n for n in numbers if isinstance(n, int)]
    low, high = (0, bounds[0]) if len(bounds) == 1 else bounds[:2]
    return jax.random.randint(op.key(), op.shape, low, high, jnp.int64)


@rule("aten.randperm")
def _randperm(op: Operation, n, *, generator=None, **_):
    _own_generator(generator)
    return jax.random.permutation(op.key(), n)


@rule("aten.native_dropout")
def _native_dropout(op: Operation, x, p, train):
    if not train or p == 0:
        return x, jnp.ones(op.shape, jnp.bool_)
    if p == 1:
        return jnp.zeros_like(x), jnp.zeros(op.shape, jnp.bool_)
    kept = jax.random.uniform(op.key(), op.shape, jnp.float32) >= jnp.float32(p)
    return jnp.where(kept, x.astype(op.wide) * (1 / (1 - p)), 0), kept


@rule("aten.rrelu_with_noise_functional")
def _rrelu(op: Operation, x, noise, lower=0.125, upper=1 / 3, training=False, generator=None):
    _own_generator(generator)
    (x,) = arrays(op.wide, x)
    slope = uniform(op, lower, upper) if training else (lower + upper) / 2
    return jnp.where(x <= 0, x * slope, x), jnp.where(x <= 0, slope, 1).astype(x.dtype)


@rule("aten.rrelu_with_noise_backward")
def _rrelu_backward(op: Operation, gradient, x, noise, lower, upper, training, of_result):
    gradient, x, noise = arrays(op.wide, gradient, x, noise)
    return gradient * (noise if training else jnp.where(x > 0, 1, (lower + upper) / 2))
