# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The runtime, through the C interface of libcommsched_c.so.

The library has no LLVM in it, so it can live in one process with a framework.
"""

from __future__ import annotations

import collections
import ctypes
import json
import os
import pathlib
from typing import Iterable, Mapping, Optional, Sequence

import numpy as np

from .errors import RuntimeFailure, ToolError

_NAME = "libcommsched_c.so"
_library = None

# Steps enqueued before the metrics of the first of them are read.
_DEPTH = 8


def _find() -> str:
    candidates = []
    folder = os.environ.get("COMMSCHED_BIN")
    if folder:
        candidates += [pathlib.Path(folder) / _NAME, pathlib.Path(folder).parent / "lib" / _NAME]
    here = pathlib.Path(__file__).resolve()
    candidates += [here.parent / _NAME, here.parents[2] / "build" / "release" / "lib" / _NAME,
                   here.parents[2] / "build" / "release" / "bin" / _NAME]
    for candidate in candidates:
        if candidate.exists():
            return str(candidate)
    raise ToolError(f"{_NAME} was not found: build CommSched, and set COMMSCHED_BIN to its bin folder")


class _Replanning(ctypes.Structure):
    """cs_session_replanning of the C interface."""
    _fields_ = [("command", ctypes.c_char_p), ("every", ctypes.c_uint64), ("when_off_percent", ctypes.c_double),
                ("window", ctypes.c_uint64), ("deadline_seconds", ctypes.c_double), ("folder", ctypes.c_char_p)]


def library() -> ctypes.CDLL:
    """The loaded library with its functions declared."""
    global _library
    if _library is None:
        lib = ctypes.CDLL(_find())
        handle, text, size = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t
        for name, result, arguments in [
                ("cs_session_create", handle, [ctypes.c_void_p, size]),
                ("cs_session_create_replanning", handle, [ctypes.c_void_p, size, ctypes.POINTER(_Replanning)]),
                ("cs_session_replans", text, [handle]),
                ("cs_session_destroy", None, [handle]),
                ("cs_session_set_slot", ctypes.c_int, [handle, text, ctypes.c_void_p, size]),
                ("cs_session_get_slot", ctypes.c_int, [handle, text, ctypes.c_void_p, size]),
                ("cs_session_save_rank_state", ctypes.c_int, [handle, text]),
                ("cs_session_load_rank_state", ctypes.c_int, [handle, text, ctypes.c_int]),
                ("cs_session_set_batch", ctypes.c_int, [handle, text, ctypes.c_void_p, size]),
                ("cs_session_call", ctypes.c_int, [handle, text]),
                ("cs_session_wait", ctypes.c_int, [handle]),
                ("cs_session_metric_count", ctypes.c_int, [handle]),
                ("cs_session_metric_name", text, [handle, ctypes.c_int]),
                ("cs_session_metrics", ctypes.c_int,
                 [handle, ctypes.c_uint64, ctypes.POINTER(ctypes.c_double)]),
                ("cs_session_set_trace", ctypes.c_int, [handle, text]),
                ("cs_simulate", text, [ctypes.c_void_p, size, text]),
                ("cs_last_error", text, [])]:
            function = getattr(lib, name)
            function.restype, function.argtypes = result, arguments
        _library = lib
    return _library


class Session:
    """A whole cluster as threads of this process, executing one plan. Not thread-safe.

    replan: fields of cs_session_replanning, if the plan may change during the run.
    """

    def __init__(self, plan: bytes, replan: Optional[Mapping[str, object]] = None):
        self._lib = library()
        if replan is None:
            self._handle = self._lib.cs_session_create(plan, len(plan))
        else:
            self._handle = self._lib.cs_session_create_replanning(plan, len(plan),
                                                                  ctypes.byref(_Replanning(**replan)))
        if not self._handle:
            self._fail()
        self._calls = 0

    def _fail(self):
        message = self._lib.cs_last_error()
        raise RuntimeFailure(message.decode(errors="replace") if message else "unknown error of the runtime")

    def _check(self, code: int) -> None:
        if code:
            self._fail()

    def close(self) -> None:
        """Ends the threads. Further calls are errors."""
        if self._handle:
            self._lib.cs_session_destroy(self._handle)
            self._handle = None

    def __del__(self):
        if getattr(self, "_handle", None):
            self.close()

    def replans(self) -> list[dict]:
        """What has become of new plans so far, in order."""
        return json.loads(self._lib.cs_session_replans(self._handle))

    def set_slot(self, name: str, value: np.ndarray) -> None:
        """Gives a parameter or state the same value on all workers."""
        value = np.array(value, order="C")
        self._check(self._lib.cs_session_set_slot(self._handle, name.encode(), value.ctypes.data, value.nbytes))

    def get_slot(self, name: str, like: np.ndarray) -> np.ndarray:
        """The value of a slot on worker 0, after all steps enqueued so far."""
        value = np.empty_like(like, order="C")
        self._check(self._lib.cs_session_get_slot(self._handle, name.encode(), value.ctypes.data, value.nbytes))
        return value

    def save_rank_state(self, path: str) -> None:
        """Writes what each worker has of its own to files whose names begin with `path`."""
        self._check(self._lib.cs_session_save_rank_state(self._handle, path.encode()))

    def load_rank_state(self, path: str, workers: int) -> None:
        """Takes what `workers` workers have saved."""
        self._check(self._lib.cs_session_load_rank_state(self._handle, path.encode(), workers))

    def trace(self, path: Optional[str]) -> None:
        """Writes a Chrome trace of what follows."""
        self._check(self._lib.cs_session_set_trace(self._handle, path.encode() if path else None))

    def run(self, function: Optional[str], batches: Iterable[Mapping[str, np.ndarray]],
            metrics: Sequence[str]) -> list[dict[str, float]]:
        """Calls a function (None: the step) once for each global batch; returns its metrics by name."""
        results, pending = [], collections.deque()
        for batch in batches:
            for name, value in batch.items():
                self._check(self._lib.cs_session_set_batch(self._handle, name.encode(), value.ctypes.data,
                                                           value.nbytes))
            self._check(self._lib.cs_session_call(self._handle, function.encode() if function else None))
            pending.append((self._calls, batch))  # the batch is kept until its step is over
            self._calls += 1
            if len(pending) == 1:
                self._check_names(metrics)
            if len(pending) > _DEPTH:
                results.append(self._metrics(pending.popleft()[0], metrics))
        while pending:
            results.append(self._metrics(pending.popleft()[0], metrics))
        return results

    def _check_names(self, names: Sequence[str]) -> None:
        """The metrics of the function called last must be these, in this order."""
        count = self._lib.cs_session_metric_count(self._handle)
        found = [self._lib.cs_session_metric_name(self._handle, i).decode() for i in range(count)]
        if found != list(names):
            raise RuntimeFailure(f"metrics of the plan must match {list(names)}, got: {found}")

    def _metrics(self, call: int, names: Sequence[str]) -> dict[str, float]:
        values = (ctypes.c_double * max(len(names), 1))()
        self._check(self._lib.cs_session_metrics(self._handle, call, values))
        return {name: values[i] for i, name in enumerate(names)}
