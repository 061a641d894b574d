# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Arguments of a JAX step, taken apart: arrays and their names."""

from __future__ import annotations

from typing import Any, Mapping, Optional, Sequence

import jax
import numpy as np

from ..errors import FrontEndError
from . import jax_keys
from .jax_constants import given_back, kept, without


def path_name(path) -> str:
    """A readable name of a place in a pytree: conv1.w, 0.mu.conv1.w."""
    parts = []
    for key in path:
        for attribute in ("key", "name", "idx"):
            if hasattr(key, attribute):
                parts.append(str(getattr(key, attribute)))
                break
        else:
            parts.append(str(key))
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in ".".join(parts))


class Leaves:
    """An argument taken apart: names relative to it, and arrays. keys: the generator of leaves that are random keys
    (their arrays are the keys' data); types: shapes and element types as the user sees them, of all leaves. Arrays
    without elements say nothing, and are in `empty` only, by their positions among the leaves. What is no array in modules
    of Equinox is part of the tree's structure. batch_names: of an argument that is a batch, set by who names them."""

    batch_names: list[str]

    def __init__(self, value: Any, what: str):
        value = kept(value)
        pairs, self.tree = jax.tree_util.tree_flatten_with_path(value)
        self.structure = without(value)
        names = [path_name(p) for p, _ in pairs]
        arrays = [_array(leaf, f"{what}{'.' if n else ''}{n}") for (_, leaf), n in zip(pairs, names)]
        self.all_names, self.shapes = names, [a.shape for a in arrays]
        keys = [jax_keys.implementation(leaf) for _, leaf in pairs]
        self.types = [(a.shape, a.dtype) if k is None else jax_keys.type_of(leaf)
                      for (_, leaf), a, k in zip(pairs, arrays, keys)]
        self.empty = {i: a for i, a in enumerate(arrays) if a.size == 0 and keys[i] is None}
        self.names, self.arrays, self.keys = self.full(names), self.full(arrays), self.full(keys)
        self._weak = self.full([_is_weak(leaf) for _, leaf in pairs])

    def specs(self, shapes: Optional[Sequence] = None) -> "list[jax.ShapeDtypeStruct]":
        """What a function that takes the arrays is traced with; shapes: in place of their own."""
        shapes = [a.shape for a in self.arrays] if shapes is None else shapes
        return [jax.ShapeDtypeStruct(s, a.dtype, weak_type=w) for s, a, w in zip(shapes, self.arrays, self._weak, strict=True)]

    def full(self, leaves: Sequence) -> list:
        """Of all leaves those with elements."""
        return [leaf for i, leaf in enumerate(leaves) if i not in self.empty]

    def tree_of(self, values, empty: Optional[Mapping[int, Any]] = None) -> Any:
        """The argument with other values; data becomes keys again. empty: in place of the own arrays without elements."""
        found = iter([jax_keys.wrapped(v, k) for v, k in zip(values, self.keys, strict=True)])
        empty = self.empty if empty is None else empty
        return given_back(jax.tree_util.tree_unflatten(self.tree, [empty[i].copy() if i in empty else next(found)
                                                                   for i in range(len(self.types))]))


_ELEMENTS = ("float64", "float32", "float16", "bfloat16", "int64", "int32", "int8", "uint64", "uint32", "uint8", "bool")


def _is_weak(leaf: Any) -> bool:
    """As numbers of Python are, which take the element type of what they are used with."""
    return bool(getattr(leaf, "weak_type", type(leaf) in (int, float)))


def _native(dtype: np.dtype) -> np.dtype:
    """With the bytes in the order of this machine."""
    return dtype if dtype.isnative else dtype.newbyteorder("=")


def _array(leaf, what: str) -> np.ndarray:
    if isinstance(leaf, jax.Array) and not isinstance(leaf, jax.core.Tracer) and leaf.is_deleted():
        raise FrontEndError(f"argument '{what}' must be an array that is there, got: one that has been deleted, as by donating it")
    if jax_keys.is_key(leaf):
        return jax_keys.data(leaf)
    if isinstance(leaf, jax.ShapeDtypeStruct):
        return np.zeros(leaf.shape, jax.dtypes.canonicalize_dtype(leaf.dtype))
    if isinstance(leaf, np.ma.MaskedArray):
        raise FrontEndError(f"argument '{what}' must be an array without a mask, got: {type(leaf).__name__}")
    try:
        array = np.asarray(leaf)
    except Exception:  # jax explains it in many ways
        raise FrontEndError(f"argument '{what}' must be an array or a number, got: {type(leaf).__name__}") from None
    if array.dtype.kind in "OSUMm":
        raise FrontEndError(f"argument '{what}' must be an array or a number, got: {type(leaf).__name__}")
    array = np.asarray(array, jax.dtypes.canonicalize_dtype(_native(array.dtype)))
    if type(leaf) is int and int(array) != leaf:
        raise FrontEndError(f"argument '{what}' must be a number of {array.dtype}, got: {leaf}")
    if array.dtype.name not in _ELEMENTS:
        raise FrontEndError(f"argument '{what}' must have one of the element types {', '.join(_ELEMENTS)}, got: "
                            f"{array.dtype}")
    return array
