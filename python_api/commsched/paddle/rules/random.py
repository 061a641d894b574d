# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What is drawn: by keys in the state of the step, in place of the generators of Paddle."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from .table import NoRule, Operation, axis, ints, known, rule


def _key(op: Operation) -> jax.Array:
    if op.get("seed"):
        raise NoRule("a seed that is fixed: every step would draw the same numbers")
    return op.key()


def _bound(value, dtype):
    return np.asarray(known(value, "a bound").reshape(-1)[0], dtype)


@rule("uniform")
def _uniform(op: Operation, shape, min, max):
    return jax.random.uniform(_key(op), ints(shape, "a shape"), op.dtype, _bound(min, op.dtype), _bound(max, op.dtype))


@rule("gaussian")
def _gaussian(op: Operation, shape):
    drawn = jax.random.normal(_key(op), ints(shape, "a shape"), op.dtype)
    return drawn * np.asarray(op["std"], op.dtype) + np.asarray(op["mean"], op.dtype)


@rule("bernoulli")
def _bernoulli(op: Operation, x):
    return (jax.random.uniform(op.key(), x.shape, x.dtype) < x).astype(x.dtype)


@rule("bernoulli_grad")
def _bernoulli_grad(op: Operation, out_grad):
    return jnp.zeros_like(out_grad)


@rule("randint")
def _randint(op: Operation, shape):
    return jax.random.randint(_key(op), ints(shape, "a shape"), op["low"], op["high"], op.dtype)


@rule("randperm")
def _randperm(op: Operation):
    return jax.random.permutation(_key(op), op["n"]).astype(op.dtype)


@rule("gumbel_softmax")
def _gumbel_softmax(op: Operation, x):
    dim = axis(op["axis"], x.ndim)
    soft = jax.nn.softmax((x + jax.random.gumbel(op.key(), x.shape, x.dtype)) / np.asarray(op["temperature"], x.dtype), dim)
    return jax.nn.one_hot(jnp.argmax(soft, dim), x.shape[dim], dtype=x.dtype, axis=dim) if op["hard"] else soft


@rule("gumbel_softmax_grad")
def _gumbel_softmax_grad(op: Operation, out, out_grad):
    """As Paddle has it: of the result, which with hard=True is no softmax, and whatever the temperature is."""
    product = out * out_grad
    return product - out * jnp.sum(product, axis(op["axis"], out.ndim), keepdims=True)
