# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Discrete Fourier transforms of real and imaginary parts, in JAX: products with matrices of sines and cosines, of lengths
that are split into factors (Cooley and Tukey)."""

from __future__ import annotations

from typing import Optional, Sequence

import jax
import jax.numpy as jnp
import numpy as np

_WHOLE = 64    # up to this length by one matrix
_PRIME = 1024  # and up to this one, where it has no factor of that size


def transform(kind: str, lengths: Sequence[int], real: jax.Array, imag: Optional[jax.Array] = None):
    """XLA's FFT, IFFT, RFFT and IRFFT over the last dimensions, as many as there are lengths: (real, imaginary), IRFFT the
    real part alone."""
    rank, last = real.ndim, lengths[-1]
    imag = jnp.zeros_like(real) if imag is None else imag
    inverse = kind.startswith("I")
    axes = [rank - len(lengths) + i for i in range(len(lengths))]
    order = axes if inverse else axes[::-1]  # the halved dimension first or last
    for axis in order:
        length = lengths[axis - axes[0]]
        if axis == axes[-1] and kind == "IRFFT":
            # What is left out is the conjugate of what is there.
            rest = slice(1, last - (last // 2 + 1) + 1)
            real = jnp.concatenate([real, real[..., rest][..., ::-1]], -1)
            imag = jnp.concatenate([imag, -imag[..., rest][..., ::-1]], -1)
        real, imag = (jnp.moveaxis(x, axis, -1) for x in (real, imag))
        real, imag = _along_last(real, imag, 1 if inverse else -1)
        if inverse:
            real, imag = real / length, imag / length
        real, imag = (jnp.moveaxis(x, -1, axis) for x in (real, imag))
        if axis == axes[-1] and kind == "RFFT":
            real, imag = real[..., :last // 2 + 1], imag[..., :last // 2 + 1]
    return (real,) if kind == "IRFFT" else (real, imag)


def _turns(rows: int, columns: int, length: int, sign: int, dtype) -> tuple[np.ndarray, np.ndarray]:
    """Cosines and sines of sign 2 pi i j / length; the product is reduced first, so that angles are exact."""
    angle = sign * 2 * np.pi * (np.outer(np.arange(rows), np.arange(columns)) % length) / length
    return np.cos(angle).astype(dtype), np.sin(angle).astype(dtype)


def _rotated(real, imag, cosine, sine, product):
    return product(real, cosine) - product(imag, sine), product(real, sine) + product(imag, cosine)


def _along_last(real: jax.Array, imag: jax.Array, sign: int) -> tuple[jax.Array, jax.Array]:
    length = real.shape[-1]
    factor = max((d for d in range(2, min(_WHOLE, length - 1) + 1) if length % d == 0), default=None)
    if length <= _WHOLE or factor is None:
        if length > _PRIME:
            raise NotImplementedError(f"a length of {length}, which has no factor from 2 to {_WHOLE}")
        return _rotated(real, imag, *_turns(length, length, length, sign, real.dtype), jnp.matmul)
    # Element j other + i of the input, element k + factor m of the output.
    other = length // factor
    shape = real.shape[:-1]
    real, imag = (jnp.swapaxes(x.reshape(*shape, factor, other), -1, -2) for x in (real, imag))
    real, imag = _along_last(real, imag, sign)
    real, imag = _rotated(real, imag, *_turns(other, factor, length, sign, real.dtype), jnp.multiply)
    real, imag = _along_last(jnp.swapaxes(real, -1, -2), jnp.swapaxes(imag, -1, -2), sign)
    return tuple(jnp.swapaxes(x, -1, -2).reshape(*shape, length) for x in (real, imag))
