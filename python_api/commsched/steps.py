# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Calls of a program's step, or of a further function, for one batch after another.

An exception of a signal (KeyboardInterrupt) may come between any two lines, and so may a handler that reads what there is
(save). So everything is in an order in which what was not done is done again, and what was done is not; which calls there
are, the library says.
"""

from __future__ import annotations

import ctypes
from typing import Any, Callable, Iterable, Optional, Sequence

from .errors import FrontEndError, RuntimeFailure
from .notices import batches_ended

# Calls enqueued before the metrics of the first of them are read.
_DEPTH = 8
# Calls whose metrics are kept although they have been handed out; as many as the library keeps.
_KEPT = 65536
_NOT_CALLED = (1 << 64) - 1


class _Call:
    """number: set by the library. position: in the data, behind the batch. metrics: when they are there."""

    __slots__ = ("number", "position", "metrics")

    def __init__(self, position: Any):
        self.number, self.position = ctypes.c_uint64(_NOT_CALLED), position
        self.metrics: "Optional[dict[str, float]]" = None


class Steps:
    """An iterator over the metrics of calls, in order; several calls are always ahead of what it has handed out.

    An error of the batches, or of the workers, comes after the metrics of all calls before it (which all workers have
    completed), and there are no further calls. After KeyboardInterrupt the iteration can go on where it was.
    """

    def __init__(self, batches: Iterable[Any], flatten: Callable[[Any], dict], names: Sequence[str],
                 function: Optional[str], start: "Callable[[], tuple[Any, Optional[int]]]",
                 failed: Callable[[Any], None]):
        """start() -> (session, the number of calls that it is for; None: all). failed(session): an error has ended it."""
        self._next: "Optional[tuple[Any, _Call]]" = None
        try:
            self._source, self._batches = batches, iter(batches)  # type: Any, Any
        except TypeError:
            raise FrontEndError(f"batches must be an iterable of global batches, got: {type(batches).__name__}") from None
        self._flatten: "Optional[Callable[[Any], dict]]" = flatten
        self._start: "Optional[Callable[[], tuple[Any, Optional[int]]]]" = start
        self._names, self._function, self._failed = names, function, failed
        self._of: "tuple[Any, Optional[int]]" = (None, None)  # session, the call before which there is to be another
        self._calls: "list[Optional[_Call]]" = []
        self._done = 0   # calls that have metrics
        self._taken = 0  # and have been handed out
        self._error: Optional[BaseException] = None
        self._ended = False

    def __iter__(self) -> "Steps":
        return self

    def __next__(self) -> "dict[str, float]":
        try:
            while not self._ended and len(self._calls) - self._taken <= _DEPTH:
                self._enqueue()
            if self._taken == self._done and self._taken < len(self._calls):
                self._collect(self._taken + 1)
        except RuntimeFailure as error:
            self._fail(error)
        except Exception as error:  # of the batches
            self._error = error
            self.finish()
            return next(self)
        if self._taken < self._done:
            metrics = self._at(self._taken).metrics
            assert metrics is not None
            if self._taken >= _KEPT:
                self._calls[self._taken - _KEPT] = None
            self._taken += 1
            return dict(metrics)
        self.finish()
        ended_by, self._error = self._error, None
        if ended_by is not None:
            raise ended_by
        raise StopIteration

    @property
    def metrics(self) -> "list[dict[str, float]]":
        """Of all calls so far (the last 65536), whether they have been handed out or not. Waits for them."""
        self.collect(self._of[0])
        return [dict(call.metrics) for call in self._calls[:self._done] if call is not None and call.metrics is not None]

    @property
    def position(self) -> "tuple[bool, Any]":
        """Whether a call is done, and where its batches then were, if they have a position. Waits for them."""
        self.collect(self._of[0])
        return (True, self._at(self._done - 1).position) if self._done else (False, None)

    def collect(self, session: Any) -> None:
        """Waits for the calls of this session, before it is closed. Its errors are left to who calls next."""
        if session is None or session is not self._of[0]:
            return
        try:
            self._collect(len(self._calls))
        except RuntimeFailure:
            pass

    def finish(self) -> None:
        """Takes no more batches. What has been called is still handed out."""
        self._ended = True
        self._batches = self._source = self._start = self._flatten = self._next = None  # who has them has the program

    def _fail(self, error: RuntimeFailure) -> None:
        """The session has ended with this error."""
        self.collect(self._of[0])
        failed, self._error = self._failed, error
        del self._calls[self._done:]
        self.finish()
        failed(self._of[0])

    def _at(self, index: int) -> _Call:
        call = self._calls[index]
        assert call is not None, "only those that were handed out long ago are not kept"
        return call

    def _called(self) -> int:
        """The calls that the library has. Of the last one, only it knows whether it came to be."""
        return len(self._calls) - bool(self._calls and self._at(-1).number.value == _NOT_CALLED)

    def _enqueue(self) -> None:
        """Calls for the next batch, if there is one."""
        called, flatten, start = self._called(), self._flatten, self._start
        if flatten is None or start is None:  # a handler has ended it in between
            return
        del self._calls[called:]
        session, end = self._of
        if session is None or called == end:
            self._collect(called)
            session, calls = start()
            self._of = (session, None if calls is None else called + calls)
        if self._next is None or self._next[1].number.value != _NOT_CALLED:
            try:
                batch = next(self._batches)
            except StopIteration:
                source = self._source
                self.finish()
                batches_ended(source, called, "the step" if self._function is None else f"function {self._function!r}")
                return
            self._next = (batch, _Call(getattr(self._source, "position", None)))
        batch, call = self._next
        arrays = flatten(batch)
        if self._function is None and not session.begin_step():
            self.finish()  # all ranks of a job stop here
            return
        self._calls.append(call)
        session.call(self._function, arrays, call.number)
        self._next = None
        if called == 0:
            session.check_names(self._names)

    def _collect(self, upto: int) -> None:
        """Reads the metrics of the first calls. Raises the error of one that failed."""
        done = self._done
        while done < min(upto, self._called()):
            call = self._at(done)
            if call.metrics is None:
                call.metrics = self._of[0].metrics(call.number.value, self._names)
            # A handler in between may have come further: that is found out again.
            done += 1
            self._done = done
