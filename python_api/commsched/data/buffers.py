# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Memory of batches, used again when nobody has it any more."""

from __future__ import annotations

import os
import sys
import threading
import weakref

import numpy as np

from .structure import Layout


def _references(arrays: list[np.ndarray]) -> int:
    """The most references that one of these has."""
    most = 0
    for array in arrays:
        most = max(most, sys.getrefcount(array))
    return most


_NOBODY = _references([np.empty(1)])


class Buffers:
    """Arrays of batches. What is handed out is a view; views, slices and exports of it keep a reference to the array
    below, and as long as there is one, the array is not used again. New memory for every batch would cost more than
    copying into it: its pages have to be made, and given back, which other threads' processors notice.

    most: batches that are kept, for the next epochs too. Thread-safe.
    """

    def __init__(self, most: int):
        self._most, self._lock = most, threading.Lock()
        self._kept: list[tuple[Layout, int, list[np.ndarray]]] = []
        _all.add(self)

    def take(self, layout: Layout, rows: int) -> list[np.ndarray]:
        """Arrays for so many samples; what is in them is undefined."""
        with self._lock:
            return self._take(layout, rows)

    def _take(self, layout: Layout, rows: int) -> list[np.ndarray]:
        for i, (own, count, arrays) in enumerate(self._kept):
            if count == rows and own == layout and _references(arrays) == _NOBODY:
                self._kept.append(self._kept.pop(i))  # the oldest first
                return [a.view() for a in arrays]
        arrays = [np.empty((rows, *shape), dtype) for dtype, shape in layout.leaves]
        if len(self._kept) == self._most:
            self._kept.pop(0)
        self._kept.append((layout, rows, arrays))
        return [a.view() for a in arrays]


_all: "weakref.WeakSet[Buffers]" = weakref.WeakSet()


def _after_fork() -> None:
    """A thread that is not in the child may have held a lock when it was forked."""
    for buffers in list(_all):
        buffers._lock = threading.Lock()


os.register_at_fork(after_in_child=_after_fork)
