# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Typed random keys (jax.random.key): outside the traced step, and in the runtime, they are their data."""

from __future__ import annotations

from typing import Any, Optional

import jax
import numpy as np


def is_key(value: Any) -> bool:
    dtype = getattr(value, "dtype", None)
    return dtype is not None and jax.dtypes.issubdtype(dtype, jax.dtypes.prng_key)


def implementation(value: Any) -> Optional[str]:
    """The name of a key's generator ("threefry2x32", ...); None of what is no key."""
    return value.dtype._impl.name if is_key(value) else None


def data(key: Any) -> np.ndarray:
    """A key, or an array of them: an integer array with one dimension more."""
    if isinstance(key, jax.ShapeDtypeStruct):
        return np.zeros((*key.shape, *key.dtype._impl.key_shape), np.uint32)
    return np.asarray(jax.random.key_data(key))


def unwrapped(value: Any) -> Any:
    """In the traced step: the data of a key; anything else as an array."""
    return jax.random.key_data(value) if is_key(value) else jax.numpy.asarray(value)


def wrapped(value: Any, name: Optional[str]) -> Any:
    """The key with this data; anything else (name None) as it is."""
    return value if name is None else jax.random.wrap_key_data(value if isinstance(value, jax.Array) else jax.device_put(value), impl=name)


def type_of(value: Any) -> tuple[tuple[int, ...], Any]:
    """Shape and element type as the user sees them."""
    if is_key(value):
        return tuple(value.shape), value.dtype
    dtype = value.dtype if hasattr(value, "dtype") else jax.dtypes.result_type(value)
    return tuple(np.shape(value)), np.dtype(dtype)
