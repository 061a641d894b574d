# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Collectives without a plan, for a framework whose compute is its own: Posts, post() and wait()."""

from __future__ import annotations

import contextlib
import ctypes
import os
import threading
from typing import Any, Callable, Optional, Sequence

from .arguments import check_choice, check_number, check_text, is_integer, shown
from .errors import CommSchedError, JobError, RuntimeFailure
from .job import Job, one_line, waited
from .native import PostOptions, library

KINDS = {name: i for i, name in enumerate(("all_reduce", "reduce_scatter", "all_gather", "broadcast", "all_to_all", "send",
                                           "receive", "barrier"))}
COMBINES = {"sum": 1, "max": 2, "min": 3, "mean": 4}
_BYTE = 7
# Of types that are combined, by their names in NumPy and PyTorch. Sums of unsigned bytes are those of signed ones.
ELEMENTS = {"float64": 1, "float32": 2, "float16": 3, "bfloat16": 4, "int64": 5, "int32": 6, "int8": _BYTE, "uint8": _BYTE}
_REDUCES = ("all_reduce", "reduce_scatter")


class Posted:
    """One post under way. wait() returns when it is done, upon which its tensors are the caller's again."""

    def __init__(self, posts: "Posts", number: int, keep: tuple):
        self._posts, self._number, self._keep, self._done = posts, number, keep, False
        self._lock = threading.Lock()

    def wait(self, seconds: Optional[float] = None) -> bool:
        """Whether it is done within `seconds`; None: it waits for it. Raises RuntimeFailure."""
        left = None if seconds is None else check_number("seconds", seconds, error=RuntimeFailure)
        while not self._done:
            now = 0.2 if left is None else min(max(left, 0.0), 0.2)  # in between, signals are handled
            with self._lock:
                if not self._done and self._posts._wait(self._number, now):
                    self._done, self._keep = True, ()
            if left is not None:
                if left <= 0 and not self._done:
                    return False
                left -= now
        return True

    def done(self) -> bool:
        """Whether the result is there, without waiting. Raises what wait() does."""
        return self.wait(0.0)

    def __del__(self):
        if not self._done:
            self._posts._orphan(self._number, self._keep)


class Posts:
    """A group of ranks to which each posts collectives whenever it likes: docs/posts.md. All ranks of the job create it
    together. Any thread may use it.

    job: what init() has returned. deadline: seconds without progress of what is posted; None: that of the job.
    Raises JobError.
    """

    def __init__(self, job: Job, deadline: Optional[float] = None):
        if not isinstance(job, Job):
            raise JobError(f"job must be what init() has returned, got: {shown(job)}")
        seconds = 0.0 if deadline is None else check_number("deadline", deadline, "positive", JobError)
        self.rank, self.size = job.rank, job.size
        self._lib, self._process = library(), os.getpid()
        self._orphans: list[tuple] = []  # [(number, tensors)]
        self.before_close: Optional[Callable[[], None]] = None  # completes what its user has under way
        self._handle = waited(lambda: self._lib.cs_posts_create(job._alive(), seconds), lambda handle: not handle)
        self._job = job  # outlives it
        job._sessions.add(self)

    def post(self, key: str, tensor: Any = None, kind: str = "all_reduce", *, combine: str = "sum", output: Any = None,
             peer: int = 0, priority: int = 0, send_counts: Optional[Sequence[int]] = None,
             receive_counts: Optional[Sequence[int]] = None) -> Posted:
        """Begins a collective, and does not wait.

        key: of the collective; the n-th post under it meets the n-th on the other ranks, in whichever order each rank posts.
        tensor: a NumPy array or a PyTorch tensor on the CPU, dense, in row-major order. It stays as it is, and output nobody
          else's, until wait() has returned.
        kind: "all_reduce" (tensor, in place; or from tensor to output), "reduce_scatter" (tensor of size equal parts, output:
          the own one), "all_gather" (output of size times the tensor's elements), "broadcast" (tensor, of rank peer),
          "all_to_all" (tensor of size equal parts, or send_counts elements for each rank; output likewise, receive_counts),
          "send" (tensor, to peer), "receive" (tensor, from peer) or "barrier".
        combine: of all_reduce and reduce_scatter: "sum", "mean" (of floating-point elements), "max" or "min".
        priority: the smaller, the more urgent.

        Raises RuntimeFailure.
        """
        check_text("key", key, RuntimeFailure)
        check_choice("kind", kind, list(KINDS), RuntimeFailure)
        check_choice("combine", combine, list(COMBINES), RuntimeFailure)
        if not is_integer(peer, 0, (1 << 31) - 1):
            raise RuntimeFailure(f"peer must be a rank, got: {shown(peer)}")
        if not is_integer(priority, -1 << 31, (1 << 31) - 1):
            raise RuntimeFailure(f"priority must be an integer of 32 bits, got: {shown(priority)}")
        for name, given, kinds in (("combine", combine != "sum", _REDUCES), ("peer", peer != 0, ("broadcast", "send", "receive")),
                                   ("send_counts", send_counts is not None, ("all_to_all",)),
                                   ("receive_counts", receive_counts is not None, ("all_to_all",)),
                                   ("tensor", kind == "barrier" and tensor is not None, ()),
                                   ("output", kind == "barrier" and output is not None, ())):
            if given and kind not in kinds:
                raise RuntimeFailure(f"{name} must not be given for kind {kind}" + (f", but for {', '.join(kinds)}" if kinds else ""))
        what = f'{kind} "{key}"'
        options = PostOptions(struct_size=ctypes.sizeof(PostOptions), key=key.encode(), kind=KINDS[kind], priority=priority, peer=peer)
        if kind == "barrier":
            return self._begin(options, ())
        written = kind == "receive" or kind == "all_reduce" and output is None or kind == "broadcast" and peer != self.rank
        pointer, type_name, count, unit = _memory(what, tensor, written)
        _, out_type, out_count, _ = out = _memory(what, output, True) if output is not None else (None, type_name, 0, unit)
        if out_type != type_name:
            raise RuntimeFailure(f"{what}: output must be of {type_name}, got: {out_type}")
        combined = kind in _REDUCES
        if combined and (type_name not in ELEMENTS or type_name == "uint8" and combine in ("max", "min")):
            raise RuntimeFailure(f"{what}: elements of {type_name} cannot be combined by {combine}")
        scale = 1
        if type_name not in ELEMENTS:  # they are only moved
            scale, type_name = unit, "uint8"
        options.element, options.combine = ELEMENTS[type_name], COMBINES[combine] if combined else 0
        if kind in ("all_reduce", "broadcast", "receive"):
            given = kind == "all_reduce" and output is not None
            options.input, options.output, options.count = (pointer, out[0], count) if given else (None, pointer, count)
            wanted = count if given else 0
        elif kind == "send":
            options.input, options.count, wanted = pointer, count, 0
        elif kind == "all_gather":
            options.input, options.output, options.count, wanted = pointer, out[0], count, count * self.size
        else:
            options.input, options.output, wanted = pointer, out[0], count // self.size
            if kind == "all_to_all":
                sends, receives = ([count // self.size] * self.size if c is None else self._counts(name, c)
                                   for name, c in (("send_counts", send_counts), ("receive_counts", receive_counts)))
                if sum(sends) != count:
                    raise RuntimeFailure(f"{what}: tensor must have {sum(sends)} elements, got: {count}")
                wanted = sum(receives)
                counts = [(ctypes.c_uint64 * self.size)(*(n * scale for n in c)) for c in (sends, receives)]
                options.send_counts, options.receive_counts = counts
            elif count % self.size:
                raise RuntimeFailure(f"{what}: tensor must have equal parts for {self.size} ranks, got: {count} elements")
            options.count = count // self.size if kind == "reduce_scatter" else 0
        if out_count != wanted or (wanted == 0 and output is not None and kind in ("broadcast", "send", "receive")):
            raise RuntimeFailure(f"{what}: output must have {wanted} elements, got: {out_count}")
        options.count *= scale
        return self._begin(options, (tensor, output))

    def _counts(self, name: str, given: Any) -> "list[int]":
        """Elements for each rank, or from each."""
        counts = list(given) if hasattr(given, "__iter__") else []
        if len(counts) != self.size or not all(is_integer(n, 0) for n in counts):
            raise RuntimeFailure(f"{name} must be numbers of elements for {self.size} ranks, got: {shown(given)}")
        return [int(n) for n in counts]

    def _check_own(self, posted: Sequence[Any]) -> None:
        for one in posted:
            if not isinstance(one, Posted) or one._posts is not self:
                raise RuntimeFailure(f"posted must be what post() of this group has returned, got: {shown(one)}")

    def wait(self, *posted: Posted) -> None:
        """Returns when all of these are done. Raises RuntimeFailure."""
        self._check_own(posted)
        for one in posted:
            one.wait()

    def wait_any(self, posted: Sequence[Posted], seconds: Optional[float] = None) -> Optional[Posted]:
        """The first of these that is done, as soon as one is; None if none is within `seconds` (None: it waits). Raises RuntimeFailure."""
        if not isinstance(posted, (tuple, list)):
            raise RuntimeFailure(f"posted must be a list of what post() has returned, got: {shown(posted)}")
        self._check_own(posted)
        if not posted:
            raise RuntimeFailure("posts to wait for must be one or more, got: none")
        left = None if seconds is None else check_number("seconds", seconds, error=RuntimeFailure)
        with contextlib.ExitStack() as locks:
            for one in sorted(posted, key=lambda one: one._number):  # in one order in all threads
                locks.enter_context(one._lock)
            for one in posted:
                if one._done:
                    return one
            numbers, which = (ctypes.c_uint64 * len(posted))(*(one._number for one in posted)), ctypes.c_size_t()
            while True:
                now = 0.2 if left is None else min(max(left, 0.0), 0.2)  # in between, signals are handled
                result = self._lib.cs_posts_wait_any(self._alive(), numbers, len(posted), now, ctypes.byref(which))
                if result == 1:
                    self._fail()
                if result == 0:
                    one = posted[which.value]
                    one._done, one._keep = True, ()
                    return one
                if left is not None:
                    left -= now
                    if left <= 0:
                        return None

    def barrier(self, key: str = "barrier") -> None:
        """Returns when all ranks have called it."""
        self.post(key, kind="barrier").wait()

    @property
    def bytes_sent(self) -> int:
        """Of messages to other ranks, so far."""
        return self._lib.cs_posts_bytes_sent(self._alive())

    @property
    def closed(self) -> bool:
        """Whether close() was called, or the job has been left."""
        return not self._handle

    def cancel(self, why: str) -> None:
        """Ends all posts of all ranks with this error, in one line."""
        why = one_line("why", why, RuntimeFailure)
        if self._lib.cs_posts_cancel(self._alive(), why.encode()):
            self._fail()

    def close(self) -> None:
        """In good order where all posts are done; to other ranks that wait for one of this it is an error."""
        complete, self.before_close = self.before_close, None
        if complete is not None and self._handle:
            with contextlib.suppress(CommSchedError):  # which the ranks have ended with
                complete()
        handle, self._handle = self._handle, None
        if handle and self._process == os.getpid():
            self._lib.cs_posts_destroy(handle)
        self._orphans = []

    def __enter__(self) -> "Posts":
        return self

    def __exit__(self, kind, error, trace) -> None:
        if error is not None and self._handle:
            try:
                self.cancel(f"rank {self.rank}: {kind.__name__}: {error}".splitlines()[0])
            except CommSchedError:
                pass
        self.close()

    def __del__(self):
        if getattr(self, "_handle", None):
            self.close()

    def _begin(self, options: PostOptions, keep: tuple) -> Posted:
        self._sweep()
        number = ctypes.c_uint64()
        if self._lib.cs_posts_post(self._alive(), ctypes.byref(options), ctypes.byref(number)):
            self._fail()
        return Posted(self, number.value, keep)

    def _wait(self, number: int, seconds: float) -> bool:
        result = self._lib.cs_posts_wait(self._alive(), number, seconds)
        if result == 1:
            self._fail()
        return result == 0

    # Nobody waits for it, but its tensors stay until it is done.
    def _orphan(self, number: int, keep: tuple) -> None:
        if self._handle:
            self._orphans.append((number, keep))

    def _sweep(self) -> None:
        if self._orphans:
            orphans, self._orphans = self._orphans, []
            self._orphans += [o for o in orphans if self._lib.cs_posts_wait(self._alive(), o[0], 0.0) != 0]

    def _alive(self) -> int:
        if self._process != os.getpid():
            raise RuntimeFailure("a group cannot be used in a forked process, which does not have its threads")
        if not self._handle:
            raise RuntimeFailure("the group is closed")
        return self._handle

    def _fail(self):
        message = self._lib.cs_last_error()
        raise RuntimeFailure(message.decode(errors="replace") if message else "unknown error of the runtime")


def _memory(what: str, tensor: Any, written: bool) -> "tuple[int, str, int, int]":
    """Address, name of the type, number and bytes of the elements."""
    if hasattr(tensor, "data_ptr"):
        if tensor.device.type != "cpu":
            raise RuntimeFailure(f"{what}: tensor must be on the CPU, got: {tensor.device}")
        if str(tensor.layout) != "torch.strided" or not tensor.is_contiguous():
            raise RuntimeFailure(f"{what}: tensor must be dense and contiguous, got: strides {tuple(tensor.stride())} of {tuple(tensor.shape)}"
                                 if str(tensor.layout) == "torch.strided" else f"{what}: tensor must be dense, got: {tensor.layout}")
        return tensor.data_ptr(), str(tensor.dtype).removeprefix("torch."), tensor.numel(), tensor.element_size()
    if not hasattr(tensor, "ctypes"):
        raise RuntimeFailure(f"{what}: tensor must be a NumPy array or a PyTorch tensor, got: {type(tensor).__name__}")
    if written and not tensor.flags.writeable:
        raise RuntimeFailure(f"{what}: array must be writeable, as the result is put there, got: a read-only one")
    if not tensor.flags.c_contiguous or tensor.dtype.hasobject or not tensor.dtype.isnative:
        raise RuntimeFailure(f"{what}: array must be contiguous, of native numbers, got: strides {tensor.strides} of {tensor.shape}, {tensor.dtype}")
    return tensor.ctypes.data, tensor.dtype.name, tensor.size, tensor.itemsize
