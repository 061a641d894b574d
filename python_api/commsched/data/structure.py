# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a sample is: arrays in dictionaries and tuples, and their layout in one piece of memory."""

from __future__ import annotations

import json
import math
from typing import Any, Iterator, Sequence

import numpy as np

_ALIGNMENT = 16
_layouts: dict[tuple, "Layout"] = {}  # of samples of one structure, so that comparing is cheap
_headers: dict[bytes, "Layout"] = {}
_MOST = 4096  # of each


def aligned(size: int) -> int:
    return -(-size // _ALIGNMENT) * _ALIGNMENT


def flatten(sample: Any) -> "tuple[Layout, list[np.ndarray]]":
    """The arrays of a sample, and how they hang together.

    A sample is an array, a number, or a dictionary (keys are strings) or tuple of samples; lists and named
    tuples become tuples. Raises TypeError.
    """
    arrays: list[np.ndarray] = []
    tree = _walk(sample, arrays, "")
    return Layout.of(tree, tuple((a.dtype, a.shape) for a in arrays)), arrays


def _walk(value: Any, arrays: list, where: str) -> Any:
    if isinstance(value, dict):
        for key in value:
            if not isinstance(key, str):
                raise TypeError(f"keys of a sample must be strings, got: {key!r}")
        return ("dict", tuple((k, _walk(v, arrays, f"{where}[{k!r}]")) for k, v in value.items()))
    if isinstance(value, (tuple, list)):
        return ("tuple", tuple(_walk(v, arrays, f"{where}[{i}]") for i, v in enumerate(value)))
    array = value if isinstance(value, np.ndarray) else np.asarray(value)
    if _dtype(_dtype_name(array.dtype)) != array.dtype:
        raise TypeError(f"a sample{where} must be an array or a number, got: {type(value).__name__} of dtype {array.dtype}")
    arrays.append(array)
    return None


def _dtype_name(dtype: np.dtype) -> str:
    return dtype.name if dtype.kind == "V" else dtype.str  # "V": of ml_dtypes, bfloat16 for one


def _dtype(name: str) -> "np.dtype | None":
    if name.startswith("|O") or name[1:2] in "SU":
        return None
    try:
        return np.dtype(name)
    except TypeError:
        pass
    try:
        import ml_dtypes
        return np.dtype(getattr(ml_dtypes, name))
    except (ImportError, AttributeError, TypeError):
        return None


class Layout:
    """Structure, element types and shapes of a sample, and where its arrays lie in one buffer. Immutable."""

    __slots__ = ("tree", "leaves", "offsets", "size", "_header")

    def __init__(self, tree: Any, leaves: tuple):
        self.tree, self.leaves = tree, leaves
        self.offsets, self.size = [], 0
        for dtype, shape in leaves:
            self.offsets.append(self.size)
            self.size += aligned(max(1, dtype.itemsize * math.prod(shape)))
        self._header: "bytes | None" = None

    @staticmethod
    def of(tree: Any, leaves: tuple) -> "Layout":
        found = _layouts.get((tree, leaves))
        if found is None:
            if len(_layouts) >= _MOST:
                _layouts.clear()
            found = _layouts.setdefault((tree, leaves), Layout(tree, leaves))
        return found

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Layout) and (self.tree, self.leaves) == (other.tree, other.leaves))

    __hash__ = None  # type: ignore[assignment]

    def __str__(self) -> str:
        arrays = iter([f"{dtype}{list(shape)}" for dtype, shape in self.leaves])

        def text(tree):
            if tree is None:
                return next(arrays)
            if tree[0] == "dict":
                return "{" + ", ".join(f"{k}: {text(t)}" for k, t in tree[1]) + "}"
            return "(" + ", ".join(text(t) for t in tree[1]) + ")"
        return text(self.tree)

    @property
    def header(self) -> bytes:
        """The layout as text, for a file."""
        if self._header is None:
            self._header = json.dumps([self.tree, [[_dtype_name(d), s] for d, s in self.leaves]]).encode()
        return self._header

    @staticmethod
    def from_header(header: bytes) -> "Layout":
        """Raises ValueError."""
        found = _headers.get(header)
        if found is None:
            try:
                tree, leaves = json.loads(header)
                leaves = tuple((_dtype(name), tuple(map(int, shape))) for name, shape in leaves)
            except (TypeError, KeyError) as error:
                raise ValueError(f"not a layout: {error}") from error
            if any(dtype is None for dtype, _ in leaves):
                raise ValueError("an element type is not known here")
            if len(_headers) >= _MOST:
                _headers.clear()
            found = _headers.setdefault(header, Layout.of(_tuples(tree), leaves))
        return found

    def pack(self, arrays: Sequence[np.ndarray], buffer: np.ndarray) -> np.ndarray:
        """Copies the arrays into a buffer of `size` bytes; returns it."""
        end = 0
        for view, array, offset in zip(self._views(buffer), arrays, self.offsets):
            view[...] = array
            buffer[end:offset] = 0
            end = offset + view.nbytes
        buffer[end:] = 0
        return buffer

    def views(self, buffer: np.ndarray) -> list[np.ndarray]:
        """The arrays in such a buffer, which nobody may write to."""
        buffer.flags.writeable = False
        return list(self._views(buffer))

    def _views(self, buffer: np.ndarray) -> Iterator[np.ndarray]:
        for (dtype, shape), offset in zip(self.leaves, self.offsets):
            yield np.ndarray(shape, dtype, buffer, offset)

    def restore(self, arrays: Sequence[Any]) -> Any:
        """The sample (or the batch) that these are the arrays of."""
        return _build(self.tree, iter(arrays))


def _build(tree: Any, arrays: Iterator[Any]) -> Any:
    # Not a closure that calls itself: such a cycle would hold the arrays until garbage is collected.
    if tree is None:
        return next(arrays)
    if tree[0] == "dict":
        return {k: _build(t, arrays) for k, t in tree[1]}
    return tuple(_build(t, arrays) for t in tree[1])


def _tuples(tree: Any) -> Any:
    """A tree as JSON gives it, with tuples for lists."""
    if tree is None:
        return None
    kind, inner = tree
    if kind == "dict":
        return ("dict", tuple((k, _tuples(t)) for k, t in inner))
    if kind != "tuple":
        raise ValueError(f"not a structure: {kind!r}")
    return ("tuple", tuple(_tuples(t) for t in inner))
