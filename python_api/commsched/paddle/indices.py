# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Indices of a batch: Paddle's executor refuses those outside of a tensor, where a program takes its first or last element, or none.

Integers of a batch that are looked up as they are, all of them, maybe in another shape or type, are compared with the size of what they are looked up in.
"""

from __future__ import annotations

import dataclasses
from typing import Mapping, Optional

import numpy as np

from ..errors import FrontEndError
from .capture import Captured
from .labels import MOVED

# Operation -> the operand that is an index, what it is looked up in, and of that the dimension, or the attribute that says which.
_LOOKUPS: "dict[str, tuple[str, str, int | str]]" = {
    "pd_op.embedding": ("x", "weight", 0), "pd_op.cross_entropy_with_softmax": ("label", "input", "axis"),
    "pd_op.cross_entropy_with_softmax_": ("label", "input", "axis"), "pd_op.nll_loss": ("label", "input", 1), "pd_op.index_select": ("index", "x", "axis")}


@dataclasses.dataclass(frozen=True)
class _Index:
    """Of a batch. ignored: a number that is none."""

    batch: str
    end: int
    ignored: Optional[int]
    what: str


class Indices:
    """Those of a program."""

    def __init__(self, captured: Captured):
        shapes: "dict[Optional[int], Optional[tuple[int, ...]]]" = {s.id: s.shape for s in [*captured.params, *captured.state, *captured.batches]}
        names: "dict[Optional[int], str]" = {s.id: s.name for s in captured.batches if s.dtype.kind in "iu"}
        found: "dict[_Index, None]" = {}
        for op in captured.ops:
            to, of = op.outputs[0] if op.outputs else None, op.inputs.get("x", op.inputs.get("input"))
            if op.name in MOVED and of in names and to is not None and to.dtype is not None and to.dtype.kind in "iu":
                names[to.id] = names[of]
            if op.name in _LOOKUPS and not op.attributes.get("soft_label"):
                index, table, dim = _LOOKUPS[op.name]
                name, shape = names.get(op.inputs.get(index)), shapes.get(op.inputs.get(table))
                size = shape[op.attributes[dim] if isinstance(dim, str) else dim] if shape else -1
                if name is not None and size > 0:  # else it is not known
                    place = f"{op.place.replace(chr(34), '')}: " if op.place else ""
                    found[_Index(name, size, op.attributes.get("ignore_index"), f"{place}an index of {op.name}")] = None
            shapes.update({result.id: result.shape for result in op.outputs if result is not None})
        self._found = list(found)

    def check(self, batch: "Mapping[str, np.ndarray]") -> None:
        """Raises FrontEndError if a batch, arrays by name, has one that is outside."""
        for index in self._found:
            values = np.asarray(batch[index.batch])
            wrong = (values < 0) | (values >= index.end)
            if index.ignored is not None:
                wrong &= values != index.ignored
            if wrong.any():
                raise FrontEndError(f"{index.what} that is made of batch '{index.batch}' must be at least 0 and below {index.end}, got: {int(values[wrong][0])}")
