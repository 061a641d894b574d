# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The index of the worker."""

from __future__ import annotations

from .ir import DType, Value
from .walker import Walker


def worker_index(w: Walker) -> Value:
    result = Value((), DType("i32"))
    w.e.emit(f"cs.worker_index : {result.type}", result, located=True)
    return result
