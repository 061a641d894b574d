# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Complex numbers within a step, and Fourier transforms."""

from __future__ import annotations

import math

import jax.numpy as jnp
from jax import lax

from .table import Operation, arrays, axis, rule


@rule("aten.complex")
def _complex(op: Operation, real, imag):
    return lax.complex(*jnp.broadcast_arrays(real, imag))


@rule("aten.polar")
def _polar(op: Operation, size, angle):
    return lax.complex(*jnp.broadcast_arrays(size * jnp.cos(angle), size * jnp.sin(angle)))


@rule("aten.view_as_real", "aten.view_as_real_copy")
def _view_as_real(op: Operation, x):
    return jnp.stack([jnp.real(x), jnp.imag(x)], -1)


@rule("aten.view_as_complex", "aten.view_as_complex_copy")
def _view_as_complex(op: Operation, x):
    return lax.complex(x[..., 0], x[..., 1])


@rule("aten._conj", "aten._conj_copy", "aten._conj_physical", "aten.conj_physical", "aten.resolve_conj", "prims.conj", "prims.conj_physical")
def _conj(op: Operation, x):
    return jnp.conj(x) if jnp.iscomplexobj(x) else x


@rule("aten._neg_view", "aten._neg_view_copy")
def _neg_view(op: Operation, x):
    return -x


@rule("aten.angle")
def _angle(op: Operation, x):
    if jnp.iscomplexobj(x):
        return jnp.arctan2(jnp.imag(x), jnp.real(x))
    (x,) = arrays(op.wide, x)
    return jnp.where(jnp.isnan(x), x, jnp.where(x < 0, math.pi, 0)).astype(x.dtype)


# ---- Fourier transforms ----------------------------------------------------------------------------------------

def _scaled(x, count, normalization):
    """normalization: 0 none, 1 by the root of the count, 2 by the count."""
    return x if normalization == 0 else x * jnp.asarray(1 / (math.sqrt(count) if normalization == 1 else count), x.real.dtype)


def _count(shape, dims):
    return math.prod(shape[d] for d in dims)


@rule("aten._fft_r2c")
def _fft_r2c(op: Operation, x, dim, normalization, onesided):
    dims = [axis(d, x.ndim) for d in dim]
    found = jnp.fft.rfftn(x, axes=dims) if onesided else jnp.fft.fftn(x.astype(op.dtype), axes=dims)
    return _scaled(found, _count(x.shape, dims), normalization)


@rule("aten._fft_c2c")
def _fft_c2c(op: Operation, x, dim, normalization, forward):
    dims = [axis(d, x.ndim) for d in dim]
    count = _count(x.shape, dims)
    if forward:
        return _scaled(jnp.fft.fftn(x, axes=dims), count, normalization)
    return _scaled(jnp.fft.ifftn(x, axes=dims) * jnp.asarray(count, x.real.dtype), count, normalization)


@rule("aten._fft_c2r")
def _fft_c2r(op: Operation, x, dim, normalization, last):
    dims = [axis(d, x.ndim) for d in dim]
    sizes = [op.shape[d] for d in dims]
    count = math.prod(sizes)
    return _scaled(jnp.fft.irfftn(x, s=sizes, axes=dims) * jnp.asarray(count, op.dtype), count, normalization)
