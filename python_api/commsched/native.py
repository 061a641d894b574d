# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The runtime, through the C interface of libcommsched_c.so.

The library has no LLVM in it, so it can live in one process with a framework.
"""

from __future__ import annotations

import ctypes
import json
import os
import pathlib
import threading
import warnings
from typing import Any, Mapping, Optional, Sequence

import numpy as np

from . import tools
from .errors import RuntimeFailure, ToolError

_NAME = "libcommsched_c.so"
_library = None


def _find() -> str:
    candidates, here = [], pathlib.Path(__file__).resolve()
    folder = os.environ.get("COMMSCHED_BIN")
    if folder:
        # A link to the folder of tools is beside no libraries.
        for place in (pathlib.Path(folder).absolute(), pathlib.Path(folder).resolve()):
            candidates += [place / _NAME, place.parent / "lib" / _NAME]
    libraries = tools.installed(__file__)
    if libraries:
        candidates.append(libraries / _NAME)
    candidates += [here.parent / "lib" / _NAME, here.parents[2] / "build" / "release" / "lib" / _NAME,
                   here.parents[2] / "build" / "release" / "bin" / _NAME]
    for candidate in candidates:
        if candidate.exists():
            return str(candidate)
    raise ToolError(f"{_NAME} was not found: build CommSched, and set COMMSCHED_BIN to its bin folder")


class _Replanning(ctypes.Structure):
    """cs_session_replanning of the C interface."""
    _fields_ = [("command", ctypes.c_char_p), ("every", ctypes.c_uint64), ("when_off_percent", ctypes.c_double),
                ("window", ctypes.c_uint64), ("deadline_seconds", ctypes.c_double), ("folder", ctypes.c_char_p),
                ("tune", ctypes.c_char_p)]


class JobOptions(ctypes.Structure):
    """cs_job_options of the C interface."""
    _fields_ = [("struct_size", ctypes.c_size_t), ("transport", ctypes.c_char_p), ("rank", ctypes.c_int),
                ("size", ctypes.c_int), ("peers", ctypes.c_char_p), ("master", ctypes.c_char_p), ("port", ctypes.c_int),
                ("membership", ctypes.c_int), ("token", ctypes.c_char_p), ("token_file", ctypes.c_char_p),
                ("tls_ca", ctypes.c_char_p), ("tls_cert", ctypes.c_char_p), ("tls_key", ctypes.c_char_p),
                ("tls_server_name", ctypes.c_char_p), ("insecure", ctypes.c_int), ("listen_any", ctypes.c_int),
                ("deadline_seconds", ctypes.c_double)]


class _RankOptions(ctypes.Structure):
    """cs_rank_options of the C interface."""
    _fields_ = [("struct_size", ctypes.c_size_t), ("job", ctypes.c_void_p), ("plan", ctypes.c_char_p),
                ("plan_bytes", ctypes.c_size_t), ("replanning", ctypes.POINTER(_Replanning)), ("profile", ctypes.c_int),
                ("servers", ctypes.c_void_p)]


class PostOptions(ctypes.Structure):
    """cs_post_options of the C interface."""
    _fields_ = [("struct_size", ctypes.c_size_t), ("key", ctypes.c_char_p), ("kind", ctypes.c_int), ("element", ctypes.c_int),
                ("combine", ctypes.c_int), ("priority", ctypes.c_int), ("peer", ctypes.c_int), ("input", ctypes.c_void_p),
                ("output", ctypes.c_void_p), ("count", ctypes.c_uint64), ("send_counts", ctypes.POINTER(ctypes.c_uint64)),
                ("receive_counts", ctypes.POINTER(ctypes.c_uint64))]


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
                ("cs_session_create_rank", handle, [ctypes.POINTER(_RankOptions)]),
                ("cs_session_begin_step", ctypes.c_int, [handle, ctypes.POINTER(ctypes.c_int)]),
                ("cs_session_request_stop", ctypes.c_int, [handle, ctypes.c_int]),
                ("cs_session_stop_reason", ctypes.c_int, [handle, ctypes.POINTER(ctypes.c_int)]),
                ("cs_session_cancel", ctypes.c_int, [handle, text]),
                ("cs_job_join", handle, [ctypes.POINTER(JobOptions)]),
                ("cs_job_rank", ctypes.c_int, [handle]),
                ("cs_job_size", ctypes.c_int, [handle]),
                ("cs_job_local_rank", ctypes.c_int, [handle]),
                ("cs_job_transport", text, [handle]),
                ("cs_job_abort", ctypes.c_int, [handle, text]),
                ("cs_job_leave", None, [handle]),
                ("cs_job_broadcast", handle, [handle, text, text, size, ctypes.POINTER(size)]),
                ("cs_job_gather", handle, [handle, text, text, size, ctypes.POINTER(ctypes.c_uint64)]),
                ("cs_job_calibrate", text, [handle, ctypes.c_void_p, size]),
                ("cs_job_first", ctypes.c_int, [handle, ctypes.c_int, ctypes.POINTER(handle)]),
                ("cs_session_profile", text, [handle]),
                ("cs_servers_create", handle, [handle, ctypes.c_int]),
                ("cs_servers_set_value", ctypes.c_int, [handle, text, text, size]),
                ("cs_servers_get_value", ctypes.c_int, [handle, text, ctypes.c_void_p, size, ctypes.POINTER(size)]),
                ("cs_servers_finish", ctypes.c_int, [handle]),
                ("cs_servers_cancel", ctypes.c_int, [handle, text]),
                ("cs_servers_destroy", None, [handle]),
                ("cs_posts_create", handle, [handle, ctypes.c_double]),
                ("cs_posts_post", ctypes.c_int, [handle, ctypes.POINTER(PostOptions), ctypes.POINTER(ctypes.c_uint64)]),
                ("cs_posts_wait", ctypes.c_int, [handle, ctypes.c_uint64, ctypes.c_double]),
                ("cs_posts_wait_any", ctypes.c_int,
                 [handle, ctypes.POINTER(ctypes.c_uint64), size, ctypes.c_double, ctypes.POINTER(size)]),
                ("cs_posts_cancel", ctypes.c_int, [handle, text]),
                ("cs_posts_bytes_sent", ctypes.c_uint64, [handle]),
                ("cs_posts_destroy", None, [handle]),
                ("cs_session_destroy", None, [handle]),
                ("cs_session_set_slot", ctypes.c_int, [handle, text, ctypes.c_void_p, size]),
                ("cs_session_get_slot", ctypes.c_int, [handle, text, ctypes.c_void_p, size]),
                ("cs_session_get_server_value", ctypes.c_int, [handle, text, ctypes.c_void_p, size, ctypes.POINTER(size)]),
                ("cs_session_save_rank_state", ctypes.c_int, [handle, text]),
                ("cs_session_load_rank_state", ctypes.c_int, [handle, text, ctypes.c_int]),
                ("cs_session_set_batch", ctypes.c_int, [handle, text, ctypes.c_void_p, size]),
                ("cs_session_call", ctypes.c_int, [handle, text, ctypes.POINTER(ctypes.c_uint64)]),
                ("cs_session_steps", ctypes.c_int, [handle, ctypes.POINTER(ctypes.c_uint64)]),
                ("cs_session_wait", ctypes.c_int, [handle]),
                ("cs_session_finish", ctypes.c_int, [handle]),
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
    """A whole cluster as threads of this process, executing one plan.

    Thread-safe: one call at a time, so that a signal's handler, or another thread, may read values. What it counts
    it counts in the library, where no exception of a signal can come between a call and its count. After close() all
    of it is an error, and in a forked process, which does not have the threads.

    replan: fields of cs_session_replanning, if the plan may change during the run.
    """

    def __init__(self, plan: bytes, replan: Optional[Mapping[str, object]] = None):
        self._handle, self._process, self._lock, self._traced = None, os.getpid(), threading.RLock(), False
        self._lib = library()
        self._handle = self._create(plan, replan)
        if not self._handle:
            self._fail()

    def _create(self, plan: bytes, replan: Optional[Mapping[str, object]]) -> Any:
        if replan is None:
            return self._lib.cs_session_create(plan, len(plan))
        return self._lib.cs_session_create_replanning(plan, len(plan), ctypes.byref(_Replanning(**replan)))

    def _fail(self):
        message = self._lib.cs_last_error()
        raise RuntimeFailure(message.decode(errors="replace") if message else "unknown error of the runtime")

    def _call(self, function: str, *arguments: Any) -> Any:
        """A function of the library on this session."""
        if self._process != os.getpid():  # the lock may be a thread's that is not here
            raise RuntimeFailure("a session cannot be used in a forked process, which does not have its threads")
        with self._lock:
            if not self._handle:
                raise RuntimeFailure("the session is closed")
            return getattr(self._lib, function)(self._handle, *arguments)

    def _check(self, function: str, *arguments: Any) -> None:
        """The same of one that returns whether it failed; the error is that of this thread's last call."""
        if self._process == os.getpid():
            with self._lock:
                if self._call(function, *arguments):
                    self._fail()
        else:
            self._call(function, *arguments)

    @property
    def closed(self) -> bool:
        return not self._handle

    def close(self) -> None:
        """Ends the threads."""
        if self._process != os.getpid():
            self._handle = None  # the threads are the parent's
            return
        with self._lock:
            handle, self._handle = self._handle, None
            if not handle:
                return
            self._lib.cs_session_destroy(handle)
            message = self._lib.cs_last_error() if self._traced else b""
        if message:  # nothing of the job is lost
            warnings.warn(f"the trace is not written: {message.decode(errors='replace')}", stacklevel=2)

    def __del__(self):
        handle = getattr(self, "_handle", None)
        if handle:  # the library sees to processes; when the interpreter ends, there is no other module left
            self._handle = None
            self._lib.cs_session_destroy(handle)

    def replans(self) -> list[dict]:
        """What has become of new plans so far, in order."""
        return json.loads(self._call("cs_session_replans"))

    def set_slot(self, name: str, value: np.ndarray) -> None:
        """Gives a parameter or state the same value on all workers."""
        value = np.array(value, order="C")
        self._check("cs_session_set_slot", name.encode(), value.ctypes.data, value.nbytes)

    def get_slot(self, name: str, like: np.ndarray) -> np.ndarray:
        """The value of a slot on worker 0, after all steps enqueued so far; after an error, after the last step that
        all workers have completed."""
        value = np.empty_like(like, order="C")
        self._check("cs_session_get_slot", name.encode(), value.ctypes.data, value.nbytes)
        return value

    def steps(self) -> int:
        """The steps of this session that these values come after."""
        steps = ctypes.c_uint64()
        self._check("cs_session_steps", ctypes.byref(steps))
        return steps.value

    def wait(self) -> None:
        """Until all calls have ended. Raises the error of one that failed."""
        self._check("cs_session_wait")

    def finish(self) -> None:
        """The steps so far are all of this session: parameter servers apply what trainers have merged for later. Waits;
        raises the error of a call that failed."""
        self._check("cs_session_finish")

    def save_rank_state(self, path: str) -> None:
        """Writes what each worker has of its own to files whose names begin with `path`."""
        self._check("cs_session_save_rank_state", os.fsencode(path))

    def load_rank_state(self, path: str, workers: int) -> None:
        """Takes what `workers` workers have saved."""
        self._check("cs_session_load_rank_state", os.fsencode(path), workers)

    def trace(self, path: Optional[str]) -> None:
        """Writes a Chrome trace of what follows."""
        self._check("cs_session_set_trace", os.fsencode(path) if path else None)
        self._traced = self._traced or bool(path)

    def call(self, function: Optional[str], batch: Mapping[str, np.ndarray], number: ctypes.c_uint64) -> None:
        """Enqueues a function (None: the step) for a global batch, which is copied.

        number: becomes that of the call when it is enqueued, even if an exception of a signal comes next.
        """
        for name, value in batch.items():
            value = np.ascontiguousarray(value)
            self._check("cs_session_set_batch", name.encode(), value.ctypes.data, value.nbytes)
        self._check("cs_session_call", function.encode() if function else None, ctypes.byref(number))

    def metrics(self, call: int, names: Sequence[str]) -> dict[str, float]:
        """The metrics of a call that has these, when all workers have completed it."""
        values = (ctypes.c_double * max(len(names), 1))()
        self._check_metrics(call, values)
        return {name: values[i] for i, name in enumerate(names)}

    def _check_metrics(self, call: int, values: Any) -> None:
        self._check("cs_session_metrics", call, values)

    def begin_step(self) -> bool:
        """Whether there is to be one step more."""
        return True

    def check_names(self, names: Sequence[str]) -> None:
        """The metrics of the function called last must be these, in this order."""
        count = self._call("cs_session_metric_count")
        found = [self._call("cs_session_metric_name", i).decode() for i in range(count)]
        if found != list(names):
            raise RuntimeFailure(f"metrics of the plan must match {list(names)}, got: {found}")


class RankSession(Session):
    """One rank of a job, executing one plan: that of rank 0. Batches are this rank's rows. profile: fragments are measured."""

    def __init__(self, job: Any, plan: bytes, replan: Optional[Mapping[str, object]] = None, profile: bool = False):
        self.job, self._profiled = job, profile
        super().__init__(plan, replan)
        job._sessions.add(self)

    def _create(self, plan: bytes, replan: Optional[Mapping[str, object]]) -> Any:
        options = _RankOptions(ctypes.sizeof(_RankOptions), self.job._alive(), plan, len(plan),
                               ctypes.pointer(_Replanning(**replan)) if replan else None, self._profiled,
                               self.job._whole._alive() if self.job._whole is not None else None)
        return self._lib.cs_session_create_rank(ctypes.byref(options))

    def profile(self) -> bytes:
        """What fragments have taken here so far, as a file of cs-run --profile."""
        with self._lock:
            text = self._call("cs_session_profile")
            if text is None:
                self._fail()
            return text

    def server_value(self, name: str, like: np.ndarray) -> "Optional[np.ndarray]":
        """What the parameter servers of this process have of a value, in zeros; None if they have nothing of it."""
        value, here = np.zeros_like(like, order="C"), ctypes.c_size_t()
        self._check("cs_session_get_server_value", name.encode(), value.ctypes.data, value.nbytes, ctypes.byref(here))
        return value if here.value else None

    def _check_metrics(self, call: int, values: Any) -> None:
        """Those of rank 0, which tells them when it has looked at them itself."""
        with self._lock:
            result = 2
            while result == 2:  # in between, signals are handled
                result = self._call("cs_session_metrics", call, values)
            if result:
                self._fail()

    def begin_step(self) -> bool:
        if self.job._signal:
            self.request_stop(self.job._signal)
        begin = ctypes.c_int()
        self._check("cs_session_begin_step", ctypes.byref(begin))
        return bool(begin.value)

    def request_stop(self, reason: int) -> None:
        """All ranks are to stop after the same step."""
        self._check("cs_session_request_stop", reason)

    def stop_reason(self) -> int:
        reason = ctypes.c_int()
        self._check("cs_session_stop_reason", ctypes.byref(reason))
        return reason.value

    def cancel(self, why: str) -> None:
        """Ends the steps of all ranks with this error."""
        self._check("cs_session_cancel", why.encode())
