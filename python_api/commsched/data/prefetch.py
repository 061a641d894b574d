# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Threads that work ahead on a sequence of jobs, whose results are taken in order."""

from __future__ import annotations

import atexit
import collections
import contextlib
import itertools
import os
import threading
import time
import weakref
from typing import Any, Callable, Iterator

from ..errors import RuntimeFailure
from .forks import samples

_live: "weakref.WeakSet[Prefetcher]" = weakref.WeakSet()
_SECONDS_TO_END = 10.0


class _Slot:
    __slots__ = ("result", "left", "failed")

    def __init__(self, result: Any, left: int):
        self.result, self.left, self.failed = result, left, False


class Prefetcher:
    """Jobs are cut into pieces, which threads take in order; a result is finished by who does its last piece.

    jobs: one after another. begin(job) -> (what the pieces share, pieces). do(shared, piece, lock, part) -> whether it
    went well; it must not raise; what may hold a lock is in `with part:`, in short parts, between which the process may
    be forked. finish(shared) -> result; what it raises, take() raises.
    ahead: results that may be there, or in the making, that nobody has taken. After a job that failed none is begun.
    take() is for one thread.
    """

    def __init__(self, jobs: Iterator[Any], begin: Callable, do: Callable, finish: Callable, threads: int, ahead: int):
        self._jobs, self._begin, self._do, self._finish, self._ahead = jobs, begin, do, finish, ahead
        self._changed = threading.Condition()  # reentrant: stop() may be called by a collector of garbage
        self._slots: collections.deque[_Slot] = collections.deque()  # of jobs begun, in order
        self._pieces: collections.deque[tuple[_Slot, Any]] = collections.deque()
        self._stopped = self._ended = self._failed = False
        self._process = os.getpid()
        self.waited_seconds = 0.0
        self._threads = [threading.Thread(target=_run, args=(self,), name=f"commsched-data-{i}", daemon=True)
                         for i in range(threads)]
        _live.add(self)
        for thread in self._threads:
            thread.start()

    def take(self) -> Any:
        """The next result. Raises StopIteration after the last."""
        if self._process != os.getpid():
            raise RuntimeFailure("an iteration over batches cannot go on in a forked process: begin a new one there")
        began = time.perf_counter()
        with self._changed:
            while True:
                if self._slots and self._slots[0].left == 0:
                    slot = self._slots.popleft()
                    break
                if self._stopped or (self._ended and not self._slots):
                    raise StopIteration
                if self._threads:
                    self._changed.wait()
                elif not self._step():
                    raise StopIteration
            self._changed.notify_all()
        self.waited_seconds += time.perf_counter() - began
        if slot.failed:
            if isinstance(slot.result, StopIteration):  # which would end the iteration as if all were well
                raise RuntimeFailure("a batch could not be made, as a function of it has raised StopIteration") from slot.result
            raise slot.result
        return slot.result

    def _next(self) -> Any:
        """A piece to be done, or None if there is none now. Locked."""
        if not self._pieces and not (self._failed or self._ended) and len(self._slots) < max(1, self._ahead):
            try:
                shared, pieces = self._begin(next(self._jobs))
                slot = _Slot(shared, len(pieces))
                self._pieces.extend(zip(itertools.repeat(slot), pieces))
                self._slots.append(slot)
                self._changed.notify_all()  # other threads can take pieces
            except StopIteration:
                self._ended = True
                self._changed.notify_all()
            except BaseException as error:
                slot = _Slot(error, 0)
                slot.failed = self._failed = True
                self._slots.append(slot)
                self._changed.notify_all()
        return self._pieces.popleft() if self._pieces else None

    def _step(self) -> bool:
        """Does a piece, in the thread that takes. False if there is none."""
        piece = self._next()
        if piece is not None:
            slot, of_slot = piece
            self._work(slot, of_slot, contextlib.nullcontext())
        return piece is not None or bool(self._slots)

    def _work(self, slot: _Slot, piece: Any, part: Any) -> None:
        fine = self._do(slot.result, piece, self._changed, part)
        with self._changed:
            self._failed |= not fine
            last = slot.left == 1
            if not last:
                slot.left -= 1
        if last:
            try:
                with part:
                    slot.result = self._finish(slot.result)
            except BaseException as error:
                slot.result, slot.failed = error, True
            with self._changed:
                self._failed |= slot.failed
                slot.left = 0
                self._changed.notify_all()

    def stop(self) -> None:
        """Threads end after the piece that they are at. They are not waited for."""
        if self._process != os.getpid():
            return  # of a forked process: its threads are not here, and one may have held the lock
        with self._changed:
            self._stopped = True
            self._pieces.clear()
            self._slots.clear()
            self._changed.notify_all()

    def join(self) -> None:
        """Waits for the threads, but not for ever: one may be in a source that does not answer."""
        end = time.monotonic() + _SECONDS_TO_END
        if self._process != os.getpid():
            return
        for thread in self._threads:
            if thread is not threading.current_thread():
                thread.join(max(0.0, end - time.monotonic()))
        self._threads = [t for t in self._threads if t.is_alive()]


def _run(prefetcher: Prefetcher) -> None:
    changed = prefetcher._changed
    while True:
        with changed:
            while True:
                if prefetcher._stopped or (prefetcher._ended and not prefetcher._pieces):
                    return
                piece = prefetcher._next()
                if piece is not None:
                    break
                if not prefetcher._ended:
                    changed.wait()
        slot, of_slot = piece
        prefetcher._work(slot, of_slot, samples)


def _end() -> None:
    """Before the interpreter ends, while threads can still be told."""
    live = list(_live)
    for prefetcher in live:
        prefetcher.stop()
    for prefetcher in live:
        prefetcher.join()


atexit.register(_end)
