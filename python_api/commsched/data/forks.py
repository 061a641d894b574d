# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A fork while threads prepare batches.

A thread that is in the middle of a sample may hold a lock: of the source, of a decoder, of a library. In the child it
would be held for ever. So who forks waits until no thread of a loader is in the middle of one, and none begins one
meanwhile; but not for ever, as a source may not answer.
"""

from __future__ import annotations

import os
import threading
import time

_SECONDS = 5.0


class _Samples:
    """`with samples:` around what a thread does for a sample. Not for threads that signals' handlers run in."""

    def __init__(self) -> None:
        self._reset()

    def _reset(self) -> None:
        self._changed = threading.Condition(threading.Lock())
        self._inside: dict[int, int] = {}  # thread -> how deep: a source may have a loader of its own
        self._forks = 0

    def __enter__(self) -> None:
        thread = threading.get_ident()
        with self._changed:
            while self._forks and thread not in self._inside:
                self._changed.wait()
            self._inside[thread] = self._inside.get(thread, 0) + 1

    def __exit__(self, *_) -> None:
        thread = threading.get_ident()
        with self._changed:
            self._inside[thread] -= 1
            if not self._inside[thread]:
                del self._inside[thread]
                if self._forks:
                    self._changed.notify_all()

    def before_fork(self) -> None:
        """Keeps the lock until the fork is over. A thread that is inside itself waits for nobody: one might wait for it."""
        self._changed.acquire()
        if threading.get_ident() in self._inside:
            return
        self._forks += 1
        end = time.monotonic() + _SECONDS
        while self._inside and (left := end - time.monotonic()) > 0:
            self._changed.wait(left)
        self._forks -= 1

    def after_fork_in_parent(self) -> None:
        self._changed.notify_all()
        self._changed.release()


samples = _Samples()
os.register_at_fork(before=samples.before_fork, after_in_parent=samples.after_fork_in_parent,
                    after_in_child=samples._reset)
