# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A backend of torch.distributed:

    import commsched.torch.distributed
    torch.distributed.init_process_group("commsched")

DistributedDataParallel, FSDP2 and what else calls torch.distributed with tensors on the CPU run over it as they are.
"""

from __future__ import annotations

import atexit
import queue
import threading
import time
import weakref
from datetime import timedelta
from typing import Any, Callable, Optional, Sequence

import torch
import torch.distributed as dist
from torch.distributed import ReduceOp

from ..arguments import shown
from ..errors import RuntimeFailure
from ..posts import Posted
from .meeting import meet

_COMBINES = ((ReduceOp.SUM, "sum"), (ReduceOp.AVG, "mean"), (ReduceOp.MAX, "max"), (ReduceOp.MIN, "min"))


class Work(dist._Work):
    """Collectives under way, and what is to be done when they are."""

    def __init__(self, group: "ProcessGroup", posted: "list[Posted]", result: Any, after: "list[Callable[[], Any]]", source: int = -1,
                 options: Any = None):
        """options: of torch's, of the call; their timeout, if they have one, is that of wait()."""
        super().__init__()
        self._group, self._posted, self._result, self._after, self._source = group, posted, result, after, source
        given = getattr(options, "timeout", None)
        self._timeout: Optional[timedelta] = given if given is not None and given > timedelta(0) else None
        self._lock = threading.Lock()
        self._future: Optional[torch.futures.Future] = None

    def wait(self, timeout: Optional[timedelta] = None) -> bool:
        if timeout is not None and (not isinstance(timeout, timedelta) or timeout < timedelta(0)):
            raise RuntimeFailure(f"timeout must be a timedelta that is not negative, got: {shown(timeout)}")
        limit = timeout or self._timeout  # 0 is none, as torch has it
        seconds = limit.total_seconds() if limit else None
        end = time.monotonic() + (seconds or 0.0)
        for posted in self._posted:
            if not posted.wait(None if seconds is None else max(0.0, end - time.monotonic())):
                raise RuntimeFailure(f"{self._group}: no end within {seconds:g} s")
        with self._lock:
            while self._after:
                self._after.pop(0)()
        return True

    def synchronize(self) -> None:
        self.wait()

    def is_completed(self) -> bool:
        return all(posted.done() for posted in self._posted)

    def is_success(self) -> bool:
        return self.is_completed()

    def source_rank(self) -> int:
        return self._source

    def result(self) -> Any:
        self.wait()
        return self._result

    def get_future(self) -> torch.futures.Future:
        with self._lock:
            known = self._future
            future = self._future = known or torch.futures.Future()
        if known is None:
            self._group._finish(self, future)
        return future


class ProcessGroup(dist.ProcessGroup):
    """Collectives of tensors on the CPU, posted in the order in which they are called (docs/posts.md)."""

    def __init__(self, store: Any, rank: int, size: int, timeout: timedelta, name: str):
        super().__init__(rank, size)
        self._rank, self._size, self._group, self._about, self._timeout = rank, size, name, name, timeout
        self._meeting = meet(store, rank, size, timeout.total_seconds())
        self.posts = self._meeting.posts
        self._key = f"group {name}"
        self._finishing: Optional[queue.SimpleQueue] = None
        self._finisher: Optional[threading.Thread] = None
        self._lock = threading.Lock()
        _groups.add(self)

    def __repr__(self) -> str:
        return f"<commsched group {self._group!r}: rank {self._rank} of {self._size}>"

    # ---- what torch asks -----------------------------------------------------------------
    def getBackendName(self) -> str:
        return "commsched"

    def name(self) -> str:
        return "commsched"

    def getRank(self) -> int:
        return self._rank

    def getSize(self) -> int:
        return self._size

    def rank(self) -> int:
        return self._rank

    def size(self) -> int:
        return self._size

    def getGroupName(self) -> str:
        return self._group

    def setGroupName(self, name: str) -> None:
        self._group = name

    def getGroupDesc(self) -> str:
        return self._about

    def setGroupDesc(self, text: str) -> None:
        self._about = text

    def shutdown(self) -> None:
        """Leaves the group; futures of works that are not done have an error."""
        self._meeting.close()
        finishing, self._finishing = self._finishing, None
        if finishing is not None and self._finisher is not None:
            finishing.put(None)
            if self._finisher is not threading.current_thread():
                self._finisher.join()

    def abort(self) -> None:
        """The other ranks' collectives end with an error."""
        if not self.posts.closed:
            self.posts.cancel(f"rank {self._rank} has aborted {self._key}")
        self.shutdown()

    # ---- posting -------------------------------------------------------------------------
    def _finish(self, work: Work, future: torch.futures.Future) -> None:
        if self._finishing is not None and threading.current_thread() is self._finisher:
            return _finish(work, future)  # of what follows another future, which may wait for this one, as PowerSGD's does
        with self._lock:
            if self._finishing is None:
                self._finishing = queue.SimpleQueue()
                self._finisher = threading.Thread(target=_finish_all, args=(self._finishing,), daemon=True)
                self._finisher.start()
        self._finishing.put((work, future))

    def _post(self, tensor: Optional[torch.Tensor], kind: str, **options: Any) -> Posted:
        return self.posts.post(self._key, tensor, kind, **options)

    def _work(self, posted: "list[Posted]", result: Any, after: "Sequence[Callable[[], Any]]" = (), source: int = -1, opts: Any = None) -> Work:
        return Work(self, posted, result, list(after), source, opts)

    def _in_place(self, tensors: Sequence[torch.Tensor], kind: str, opts: Any, **options: Any) -> Work:
        """Tensors that are changed where they are, each by a post of its own."""
        posted, after = [], []
        for tensor in tensors:
            dense = tensor.detach().contiguous() if kind != "receive" or tensor.is_contiguous() else torch.empty(tensor.shape, dtype=tensor.dtype)
            posted.append(self._post(dense, kind, **options))
            if dense.data_ptr() != tensor.data_ptr():
                after.append(_copying(tensor, dense))
        return self._work(posted, list(tensors), after, opts=opts)

    def _combine(self, what: str, op: Any) -> str:
        for known, name in _COMBINES:
            if op == known:
                return name
        raise RuntimeFailure(f"{what}: reduce op must be SUM, AVG, MAX or MIN, got: {str(getattr(op, 'op', op)).split('.')[-1]}")

    # ---- collectives ---------------------------------------------------------------------
    def allreduce(self, tensors, opts=None) -> Work:
        return self._in_place(_tensors(tensors), "all_reduce", opts, combine=self._combine("all_reduce", opts.reduceOp if opts else ReduceOp.SUM))

    def allreduce_coalesced(self, tensors, opts=None) -> Work:
        return self.allreduce(tensors, opts)

    def broadcast(self, tensors, opts=None) -> Work:
        return self._in_place(_tensors(tensors), "broadcast", opts, peer=opts.rootRank if opts else 0)

    def reduce(self, tensors, opts) -> Work:
        outputs = [torch.empty_like(tensor, memory_format=torch.contiguous_format) for tensor in _tensors(tensors)]
        combine = self._combine("reduce", opts.reduceOp)
        posted = [self._post(tensor.detach().contiguous(), "all_reduce", output=output, combine=combine)
                  for tensor, output in zip(tensors, outputs)]
        root = opts.rootRank == self._rank
        return self._work(posted, tensors, [_copying(t, o) for t, o in zip(tensors, outputs)] if root else (), opts=opts)

    def all_gather_single(self, output, input, opts=None) -> Work:
        return self.all_gather_single_coalesced([output], [input], opts)

    def all_gather_single_coalesced(self, outputs, inputs, opts=None) -> Work:
        posted, after = [], []
        for output, tensor in zip(_tensors(outputs), _tensors(inputs), strict=True):
            dense = output.detach() if output.is_contiguous() else torch.empty(output.shape, dtype=output.dtype)
            posted.append(self._post(tensor.detach().contiguous(), "all_gather", output=dense))
            if dense.data_ptr() != output.data_ptr():
                after.append(_copying(output, dense))
        return self._work(posted, outputs, after, opts=opts)

    def allgather(self, outputs, inputs, opts=None) -> Work:
        posted, after = [], []
        for parts, tensor in zip(outputs, _tensors(inputs), strict=True):
            _check_equal("all_gather", parts, tensor, self._size)
            all_parts = torch.empty((self._size, *tensor.shape), dtype=tensor.dtype)
            posted.append(self._post(tensor.detach().contiguous(), "all_gather", output=all_parts))
            after += [_copying(part, all_parts[r]) for r, part in enumerate(parts)]
        return self._work(posted, outputs, after, opts=opts)

    def allgather_coalesced(self, output_lists, inputs, opts=None) -> Work:
        return self.allgather(list(map(list, zip(*output_lists))), inputs, opts)

    def reduce_scatter_single(self, output, input, opts=None) -> Work:
        return self.reduce_scatter_single_coalesced([output], [input], opts)

    def reduce_scatter_single_coalesced(self, outputs, inputs, opts=None) -> Work:
        combine = self._combine("reduce_scatter", opts.reduceOp if opts else ReduceOp.SUM)
        posted, after = [], []
        for output, tensor in zip(_tensors(outputs), _tensors(inputs), strict=True):
            dense = output.detach() if output.is_contiguous() else torch.empty(output.shape, dtype=output.dtype)
            posted.append(self._post(tensor.detach().contiguous(), "reduce_scatter", output=dense, combine=combine))
            if dense.data_ptr() != output.data_ptr():
                after.append(_copying(output, dense))
        return self._work(posted, outputs, after, opts=opts)

    def reduce_scatter(self, outputs, inputs, opts=None) -> Work:
        for output, parts in zip(outputs, inputs, strict=True):
            _check_equal("reduce_scatter", parts, output, self._size)
        return self.reduce_scatter_single_coalesced(outputs, [torch.stack([p.detach() for p in parts]) for parts in inputs], opts)

    def all_to_all_single(self, output, input, output_splits=None, input_splits=None, opts=None) -> Work:
        def counts(tensor, splits):
            if not splits:
                return None
            row = tensor.numel() // tensor.shape[0] if tensor.dim() and tensor.shape[0] else 0
            return [n * row for n in splits]
        dense = output.detach() if output.is_contiguous() else torch.empty(output.shape, dtype=output.dtype)
        posted = self._post(input.detach().contiguous(), "all_to_all", output=dense, send_counts=counts(input, input_splits),
                            receive_counts=counts(output, output_splits))
        return self._work([posted], [output], [_copying(output, dense)] if dense.data_ptr() != output.data_ptr() else (), opts=opts)

    def alltoall(self, outputs, inputs, opts=None) -> Work:
        return self._exchange(inputs, outputs, opts)

    def _exchange(self, inputs: Sequence[torch.Tensor], outputs: Sequence[torch.Tensor], opts: Any) -> Work:
        """A tensor to and from each rank."""
        kind = (list(inputs) + list(outputs))[0].dtype
        sent = torch.cat([t.detach().reshape(-1) for t in inputs]) if inputs else torch.empty(0, dtype=kind)
        received = torch.empty(sum(t.numel() for t in outputs), dtype=kind)
        posted = self._post(sent, "all_to_all", output=received, send_counts=[t.numel() for t in inputs],
                            receive_counts=[t.numel() for t in outputs])
        parts = received.split([t.numel() for t in outputs])
        return self._work([posted], list(outputs), [_copying(t, part.view(t.shape)) for t, part in zip(outputs, parts)], opts=opts)

    def gather(self, outputs, inputs, opts) -> Work:
        own, root = _tensors(inputs)[0], opts.rootRank
        empty = own.new_empty(0)
        parts = list(outputs[0]) if self._rank == root else [empty] * self._size
        return self._exchange([own if r == root else empty for r in range(self._size)], parts, opts)

    def scatter(self, outputs, inputs, opts) -> Work:
        own, root = _tensors(outputs)[0], opts.rootRank
        empty = own.new_empty(0)
        parts = list(inputs[0]) if self._rank == root else [empty] * self._size
        return self._exchange(parts, [own if r == root else empty for r in range(self._size)], opts)

    def send(self, tensors, destination: int, tag: int = 0) -> Work:
        key = f"{self._key}, {self._rank} to {destination}, tag {tag}"
        return self._work([self.posts.post(key, t.detach().contiguous(), "send", peer=destination) for t in _tensors(tensors)], tensors)

    def recv(self, tensors, source: int, tag: int = 0) -> Work:
        key = f"{self._key}, {source} to {self._rank}, tag {tag}"
        posted, after = [], []
        for tensor in _tensors(tensors):
            dense = tensor.detach() if tensor.is_contiguous() else torch.empty(tensor.shape, dtype=tensor.dtype)
            posted.append(self.posts.post(key, dense, "receive", peer=source))
            if dense.data_ptr() != tensor.data_ptr():
                after.append(_copying(tensor, dense))
        return self._work(posted, tensors, after, source)

    def recv_anysource(self, tensors, tag: int = 0) -> Work:
        raise RuntimeFailure("recv: source must be a rank of the group, got: any")

    def barrier(self, opts=None) -> Work:
        return self._work([self._post(None, "barrier")], [], opts=opts)

    # Older names of the same.
    _allgather_base = all_gather_single
    allgather_into_tensor_coalesced = all_gather_single_coalesced
    _reduce_scatter_base = reduce_scatter_single
    reduce_scatter_tensor_coalesced = reduce_scatter_single_coalesced
    alltoall_base = all_to_all_single


def _leave() -> None:
    for group in list(_groups):
        group.shutdown()


def _finish_all(works: queue.SimpleQueue) -> None:
    while (one := works.get()) is not None:
        _finish(*one)


def _finish(work: Work, future: torch.futures.Future) -> None:
    try:
        work.wait()
        future.set_result(work._result)
    except Exception as error:
        future.set_exception(error if isinstance(error, RuntimeError) else RuntimeError(str(error)))


def _copying(target: torch.Tensor, source: torch.Tensor) -> "Callable[[], Any]":
    return lambda: target.detach().copy_(source.view(target.shape))


def _tensors(tensors: Any) -> "list[torch.Tensor]":
    tensors = [tensors] if isinstance(tensors, torch.Tensor) else list(tensors)
    for tensor in tensors:
        if tensor.is_sparse:
            raise RuntimeFailure(f"tensor must be dense, got: {tensor.layout}")
    return tensors


def _check_equal(what: str, parts: Sequence[torch.Tensor], like: torch.Tensor, size: int) -> None:
    if len(parts) != size or any(part.numel() != like.numel() or part.dtype != like.dtype for part in parts):
        raise RuntimeFailure(f"{what}: must have {size} tensors of {tuple(like.shape)}, {like.dtype}, got: "
                             f"{', '.join(f'{tuple(p.shape)}, {p.dtype}' for p in parts)}")


def _create(options: Any, backend_options: Any) -> ProcessGroup:
    if backend_options is not None:
        raise RuntimeFailure(f"pg_options of commsched must be None, got: {type(backend_options).__name__}")
    return ProcessGroup(options.store, options.group_rank, options.group_size, options.timeout, options.group_id)


# Of a script that ends without destroy_process_group().
_groups: "weakref.WeakSet[ProcessGroup]" = weakref.WeakSet()
atexit.register(_leave)
if "commsched" not in dist.Backend.backend_list:
    dist.Backend.register_backend("commsched", _create, extended_api=True, devices=["cpu"])
