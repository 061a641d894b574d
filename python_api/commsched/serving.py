# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Parameter servers as processes of their own: the last ones of a job, beside the ranks, which train.

All processes together are one job (`whole`), of which the ranks are the first part. Whatever the ranks do with servers they tell
them in it, in an order that both know: "serves" with "run" or "end", then of a run the plan, the values that it begins with, and,
when it has ended well, those that it has come to."""

from __future__ import annotations

import contextlib
import ctypes
import json
import signal
import struct
import sys
import threading
import time
from typing import Iterator, Mapping

import numpy as np

from .errors import JobError, RuntimeFailure
from .job import _SAME_SIGNAL, Job, waited
from .native import library


def divided(whole: Job, servers: int) -> Job:
    """The job of the ranks. In the last `servers` processes it does not return: they serve, and end."""
    ranks = whole.size - servers
    if ranks < 1:
        raise JobError(f"servers must be fewer than the job's {whole.size} processes, got: {servers}")
    part = ctypes.c_void_p()
    waited(lambda: library().cs_job_first(whole._alive(), ranks, ctypes.byref(part)), bool)
    if part.value is not None:
        return Job(part.value, whole)
    number = serve(whole, ranks)
    whole.close()
    sys.exit(128 + number if number else 0)


def give_values(whole: Job, values: "Mapping[str, np.ndarray]") -> None:
    """What a run begins with, from rank 0 to the servers; all ranks call it."""
    head = json.dumps([[name, value.nbytes] for name, value in values.items()]).encode()
    parts = [np.ascontiguousarray(value).tobytes() for value in values.values()] if whole.rank == 0 else []
    whole.broadcast("gives values", b"".join([struct.pack("<Q", len(head)), head, *parts]) if whole.rank == 0 else b"")


def _given(content: bytes) -> "dict[str, bytes]":
    (size,) = struct.unpack_from("<Q", content)
    at, values = 8 + size, {}
    for name, count in json.loads(content[8:at]):
        values[name] = content[at:at + count]
        at += count
    return values


def serve(whole: Job, ranks: int) -> int:
    """Until the ranks leave. Returns the number of a signal that came meanwhile, or 0. Raises what a run has failed with if the
    ranks end with it: they may also go on."""
    failure = None
    with _patient() as signalled:
        while True:
            try:
                if whole.broadcast("serves") == b"end":
                    return signalled[0] if signalled else 0
            except JobError as error:
                raise failure or error from None
            try:
                failure = None
                _serve_run(whole, ranks)
            except RuntimeFailure as error:
                failure = error


def _serve_run(whole: Job, ranks: int) -> None:
    lib = library()
    servers = waited(lambda: lib.cs_servers_create(whole._alive(), ranks), lambda handle: not handle)
    try:
        values = _given(whole.broadcast("gives values"))
        for name, value in values.items():
            waited(lambda: lib.cs_servers_set_value(servers, name.encode(), value, len(value)), bool)
        whole.barrier("begins to run")
        waited(lambda: lib.cs_servers_finish(servers), bool)
        own = []
        for name, value in values.items():
            content, here = ctypes.create_string_buffer(len(value)), ctypes.c_size_t()
            waited(lambda: lib.cs_servers_get_value(servers, name.encode(), content, len(value), ctypes.byref(here)), bool)
            own.append(b"\1" + content.raw if here.value else b"\0")
        whole.gather("ends a run", b"".join(own))
        whole.broadcast("ends a run")  # all values, which are for the ranks
    finally:
        lib.cs_servers_destroy(servers)


@contextlib.contextmanager
def _patient() -> "Iterator[list[int]]":
    """The signals that have come. A terminal and launchers tell all processes: what the ranks do then needs their servers, which go when
    they do. Who is told again, later, gives up."""
    signalled: "list[int]" = []
    at = [0.0]

    def told(number, frame):
        now = time.monotonic()
        if signalled and now - at[0] > _SAME_SIGNAL:
            raise KeyboardInterrupt
        signalled.append(number)
        at[0] = now
    before = {}
    try:
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                if signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):
                    before[number] = signal.signal(number, told)
        yield signalled
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
