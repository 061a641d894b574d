# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tensors from nothing."""

from __future__ import annotations

import jax.numpy as jnp

from .table import Operation, arrays, rule


@rule("aten.full")
def _full(op: Operation, size, value, **_):
    return jnp.broadcast_to(arrays(op.dtype, value)[0], op.shape)


@rule("aten.full_like", "aten.fill")
def _full_like(op: Operation, x, value, **_):
    return jnp.broadcast_to(arrays(op.dtype, value)[0], op.shape)


@rule("aten.new_full")
def _new_full(op: Operation, x, size, value, **_):
    return jnp.broadcast_to(arrays(op.dtype, value)[0], op.shape)


@rule("aten.scalar_tensor", "prims.scalar_tensor")
def _scalar_tensor(op: Operation, value, **_):
    return arrays(op.dtype, value)[0]


@rule("aten.zeros", "aten.zeros_like", "aten.new_zeros", "aten.empty", "aten.empty_like", "aten.new_empty", "aten.empty_strided",
      "aten.new_empty_strided", "aten.empty_permuted", "prims.empty_strided", "prims.empty_permuted", "aten.zero")
def _zeros(op: Operation, *_, **__):
    return jnp.zeros(op.shape, op.dtype)


@rule("aten.ones", "aten.ones_like", "aten.new_ones")
def _ones(op: Operation, *_, **__):
    return jnp.ones(op.shape, op.dtype)


def _progression(op: Operation, start, step):
    # In the widest type of its kind, as PyTorch multiplies.
    whole = jnp.int64 if jnp.issubdtype(op.dtype, jnp.integer) else jnp.float64
    return (start + jnp.arange(op.shape[0], dtype=whole) * step).astype(op.dtype)


@rule("aten.arange")
def _arange(op: Operation, *numbers, **_):
    if len(numbers) == 1:
        return _progression(op, 0, 1)
    return _progression(op, numbers[0], numbers[2] if len(numbers) > 2 else 1)


@rule("aten.eye")
def _eye(op: Operation, *_, **__):
    return jnp.eye(op.shape[0], op.shape[1], dtype=op.dtype)
