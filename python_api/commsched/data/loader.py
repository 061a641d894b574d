# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Batches in an order that is a function of (seed, epoch), prepared ahead by threads."""

from __future__ import annotations

import os
import threading
import weakref
from typing import Any, Callable, Iterator, Mapping, Optional

import numpy as np

from . import order
from .buffers import Buffers
from .cache import DataCache, Scratch
from .prefetch import Prefetcher
from .structure import Layout, flatten
from ..arguments import check_switch, is_integer, shown
from ..errors import FrontEndError, SampleError


_MOST_THREADS = 1024


class Loader:
    """Batches of samples for Program.run, epoch by epoch.

    source: a DataCache, or what one takes as its source.
    batch_size: samples of a global batch.
    seed, shuffle: the order of an epoch is a function of the seed and the epoch alone, or that of the source.
    drop_last: leave out the last batch if it is not whole (a program takes one size). Samples that are left out
        are others in every epoch, with shuffle.
    threads: that read and prepare; 0: the one that takes the batches does it. None: as many as processors, at most 4; 1024 are the most.
    prefetch: batches that may be ready, or in the making, before they are asked for.
    ranks, rank: the batches of one of several processes are its rows: the rank-th of `ranks` equal pieces of every
        global batch. rank=None: all rows.
    stay: sample i is always in the rows of rank i % ranks, so that the caches of the ranks need hold only a part
        each. Otherwise the order does not depend on the number of ranks.
    transform: (sample, random) -> sample, after the cache: what is random, or makes samples larger. `random` is a
        numpy Generator of (seed, epoch, index of the sample). Arrays of the sample are read-only.
    collate: list of samples -> batch; without, the arrays of samples are stacked, and must be of the same shapes.

    Batches are bit for bit the same whatever threads, prefetch, cache, and the number of ranks without stay.
    """

    def __init__(self, source: Any, batch_size: int, *, seed: int = 0, shuffle: bool = True, drop_last: bool = True,
                 threads: Optional[int] = None, prefetch: int = 2, ranks: int = 1, rank: Optional[int] = None,
                 stay: bool = False, transform: Optional[Callable[[Any, np.random.Generator], Any]] = None,
                 collate: Optional[Callable[[list], Any]] = None):
        threads = min(4, os.cpu_count() or 1) if threads is None else threads
        if not is_integer(threads, 0, _MOST_THREADS):
            raise FrontEndError(f"threads must be 0 to {_MOST_THREADS}, got: {shown(threads)}")
        for what, value, least in (("batch_size", batch_size, 1), ("seed", seed, 0),
                                   ("prefetch", prefetch, 1), ("ranks", ranks, 1), ("rank", 0 if rank is None else rank, 0)):
            if not is_integer(value, least):
                raise FrontEndError(f"{what} must be at least {least}, got: {shown(value)}")
        shuffle, drop_last, stay = (check_switch(what, value) for what, value in (("shuffle", shuffle), ("drop_last", drop_last), ("stay", stay)))
        for what, function in (("transform", transform), ("collate", collate)):
            if function is not None and not callable(function):
                raise FrontEndError(f"{what} must be a function, got: {shown(function)}")
        if rank is not None and rank >= ranks:
            raise FrontEndError(f"rank must be below {ranks}, got: {rank}")
        if batch_size % ranks:
            raise FrontEndError(f"batch_size must be divisible by {ranks} ranks, got: {batch_size}")
        if ranks > 1 and not drop_last:
            raise FrontEndError("drop_last must be set with ranks: the last batch may not be divisible")
        self.cache = source if isinstance(source, DataCache) else DataCache(source)
        # Of Python's own types, as positions go to files.
        batch_size, ranks, rank = int(batch_size), int(ranks), None if rank is None else int(rank)
        self.batch_size, self.seed, self.shuffle, self.drop_last = batch_size, int(seed), shuffle, drop_last
        self.threads, self.prefetch, self.ranks, self.rank, self.stay = int(threads), int(prefetch), ranks, rank, stay
        self.transform, self.collate = transform, collate
        self._buffers = Buffers(prefetch + 12)  # Program.run holds up to ten
        self.waited_seconds = 0.0  # of who took the batches, over all iterations
        samples = len(self.cache)
        self._batches = samples // batch_size if drop_last else -(-samples // batch_size)
        if stay and ranks > 1:
            self._batches = (samples // ranks) // (batch_size // ranks)
        if self._batches == 0:
            raise FrontEndError(f"batch_size must be at most the samples ({samples}), got: {batch_size}")

    def __len__(self) -> int:
        """Batches of an epoch."""
        return self._batches

    def order(self, epoch: int) -> list[np.ndarray]:
        """Indices of the samples of each batch, of the rows of this rank."""
        if not is_integer(epoch, 0):
            raise FrontEndError(f"epoch must be 0 or more, got: {shown(epoch)}")
        own = order.epoch_order(len(self.cache), self.batch_size, self.seed, epoch, self.shuffle, self.ranks, self.stay)
        batches = [own[i:i + self.batch_size] for i in range(0, self._batches * self.batch_size, self.batch_size)]
        if self.rank is None:
            return batches
        rows = self.batch_size // self.ranks
        return [b[self.rank * rows:(self.rank + 1) * rows] for b in batches]

    def epoch(self, epoch: int, batch: int = 0) -> "Batches":
        """The batches of one epoch, from a batch on."""
        if not is_integer(epoch, 0):
            raise FrontEndError(f"epoch must be 0 or more, got: {shown(epoch)}")
        return self.epochs(1, epoch, batch)

    def epochs(self, count: Optional[int] = None, first: int = 0, batch: int = 0) -> "Batches":
        """The batches of several epochs (None: endlessly), from a batch of the first of them on.

        The next epoch is being prepared while the one before is used.
        """
        for what, value in (("count", 0 if count is None else count), ("first", first), ("batch", batch)):
            if not is_integer(value, 0):
                raise FrontEndError(f"{what} must be 0 or more, got: {shown(value)}")
        if batch > self._batches:
            raise FrontEndError(f"batch must be at most {self._batches}, got: {batch}")
        return Batches(self, None if count is None else int(first) + int(count), int(first), int(batch))

    def resume(self, position: Mapping[str, Any], epochs: Optional[int] = None) -> "Batches":
        """Goes on from a position (Batches.position), up to the end of epoch `epochs` - 1 (None: endlessly).

        Raises FrontEndError if what decides the order is not as it was.
        """
        if not isinstance(position, Mapping):
            raise FrontEndError(f"position must be one of Batches.position, got: {shown(position)}")
        for name in ("epoch", "batch"):
            if not is_integer(position.get(name), 0):
                raise FrontEndError(f"position must have {name}, got: {shown(position)}")
        if epochs is not None and not is_integer(epochs, 0):
            raise FrontEndError(f"epochs must be 0 or more, got: {shown(epochs)}")
        own = self._settings()
        for name in [*own, *(n for n in position if n not in own and n not in ("epoch", "batch"))]:
            if position.get(name) != own.get(name):
                raise FrontEndError(f"{shown(name) if name not in own else name} must match {shown(position.get(name))} of the position, got: {own.get(name)}")
        first, batch = position["epoch"], position["batch"]
        return self.epochs(None if epochs is None else max(0, epochs - first), first, batch)

    def _settings(self) -> dict[str, Any]:
        """What decides the order of the global batches."""
        result = {"samples": len(self.cache), "batch_size": self.batch_size, "seed": self.seed,
                  "shuffle": self.shuffle, "drop_last": self.drop_last}
        return {**result, "stay": self.ranks} if self.stay else result


class Batches:
    """An iteration over batches. Its threads end with it, with close(), or when nobody has it any more."""

    def __init__(self, loader: Loader, end: Optional[int], epoch: int, batch: int):
        self._loader, self._epoch, self._batch = loader, epoch, batch
        work = _Work(loader)
        self._prefetcher = Prefetcher(_jobs(loader, end, epoch, batch), work.begin, work.do, work.finish,
                                      loader.threads, loader.prefetch)
        self._finalizer = weakref.finalize(self, self._prefetcher.stop)
        self._finalizer.atexit = False

    def __iter__(self) -> "Batches":
        return self

    def __next__(self) -> Any:
        """A batch, which is the caller's to keep and to change. Raises SampleError."""
        before = self._prefetcher.waited_seconds
        try:
            batch = self._prefetcher.take()
        except BaseException:
            self.close()
            raise
        finally:
            self._loader.waited_seconds += self._prefetcher.waited_seconds - before
        self._batch += 1
        if self._batch == len(self._loader):
            self._epoch, self._batch = self._epoch + 1, 0
        return batch

    @property
    def loader(self) -> Loader:
        """Whose batches these are."""
        return self._loader

    @property
    def position(self) -> dict[str, Any]:
        """Where the next batch is, for Loader.resume: numbers, to be saved with a checkpoint (JSON will do)."""
        return {"epoch": self._epoch, "batch": self._batch, **self._loader._settings()}

    def close(self) -> None:
        """Ends the threads, after what they are reading now. Batches that are ready are lost."""
        self._prefetcher.stop()
        self._prefetcher.join()

    def __enter__(self) -> "Batches":
        return self

    def __exit__(self, *_) -> None:
        self.close()


def _jobs(loader: Loader, end: Optional[int], epoch: int, first: int) -> Iterator[tuple[int, np.ndarray]]:
    """(epoch, indices) of every batch, in order."""
    while end is None or epoch < end:
        for indices in loader.order(epoch)[first:]:
            yield epoch, indices
        epoch, first = epoch + 1, 0


class _Batch:
    """One in the making. arrays: of the layout of whichever sample was first."""

    __slots__ = ("epoch", "indices", "layouts", "layout", "arrays", "samples", "errors")

    def __init__(self, epoch: int, indices: np.ndarray, samples: bool):
        self.epoch, self.indices = epoch, indices
        self.layout: Optional[Layout] = None
        self.layouts: list[Optional[Layout]] = [None] * len(indices)
        self.arrays: list[np.ndarray] = []
        self.samples: Optional[list] = [None] * len(indices) if samples else None
        self.errors: dict[int, BaseException] = {}  # by row


class _Place:
    """Where rows of a layout go, for one piece of a batch."""

    __slots__ = ("layout", "arrays")

    def __init__(self) -> None:
        self.layout: Optional[Layout] = None
        self.arrays: list[np.ndarray] = []


class _Work:
    """What the threads do for a loader; it does not hold the iteration, which ends when nobody has it."""

    def __init__(self, loader: Loader):
        self._cache, self._seed = loader.cache, loader.seed
        self._transform, self._collate, self._threads = loader.transform, loader.collate, max(1, loader.threads)
        self._local = threading.local()
        self._buffers = loader._buffers

    def begin(self, job: tuple[int, np.ndarray]) -> tuple[_Batch, list[range]]:
        """A batch to be made, and the rows that one thread makes at a time."""
        batch = _Batch(*job, self._collate is not None)
        rows = len(batch.indices)
        piece = max(-(-rows // self._threads), min(rows, 8))
        return batch, [range(i, min(i + piece, rows)) for i in range(0, rows, piece)]

    def do(self, batch: _Batch, rows: range, lock, part) -> bool:
        """Makes rows of a batch; False if it failed. Later rows of a failed piece stay undone."""
        levels: dict[int, int] = {}
        scratch, place = self._scratch(), _Place()
        try:
            for row in rows:
                try:
                    with part:
                        self._row(batch, row, scratch, place, levels, lock)
                except BaseException as error:  # the thread must go on, and the error to who takes the batch
                    batch.errors[row] = error
                    return False
            return True
        finally:
            with part:
                self._cache.count(levels)

    def _row(self, batch: _Batch, row: int, scratch: Optional[Scratch], place: "_Place", levels: dict, lock) -> None:
        index = int(batch.indices[row])
        level, own, values = self._cache.load(index, scratch)
        levels[level] = levels.get(level, 0) + 1
        if self._transform is not None or batch.samples is not None:
            sample = own.restore(values)
            if self._transform is not None:
                sample, own, values = self._changed(sample, batch.epoch, index)
            if batch.samples is not None:
                batch.samples[row] = sample
                return
        batch.layouts[row] = own
        if place.layout is not own:
            place.layout, place.arrays = own, self._arrays(batch, own, lock)
        for array, value in zip(place.arrays, values):
            array[row] = value

    def _scratch(self) -> Optional[Scratch]:
        """This thread's; none if a sample may be kept by what is the user's."""
        if self._transform is not None or self._collate is not None:
            return None
        if not hasattr(self._local, "scratch"):
            self._local.scratch = Scratch()
        return self._local.scratch

    def _changed(self, sample: Any, epoch: int, index: int):
        assert self._transform is not None
        try:
            sample = self._transform(sample, order.sample_generator(self._seed, epoch, index))
            return (sample, *flatten(sample)) if self._collate is None else (sample, None, None)
        except Exception as error:
            raise SampleError(f"transform of {self._cache.describe(index)}", index, error) from error

    def _arrays(self, batch: _Batch, layout: Layout, lock) -> list[np.ndarray]:
        """Those of the batch; none for a sample of another layout, which finish() refuses."""
        with lock:
            if batch.layout is None:
                batch.arrays = self._buffers.take(layout, len(batch.indices))
                batch.layout = layout
            return batch.arrays if batch.layout == layout else []

    def finish(self, batch: _Batch) -> Any:
        """The batch, when all rows are there. Raises the error of its first row that has one."""
        if batch.errors:
            raise batch.errors[min(batch.errors)]
        if batch.samples is not None:
            assert self._collate is not None
            return self._collate(batch.samples)
        first = batch.layouts[0]
        assert first is not None
        for row, layout in enumerate(batch.layouts):
            if layout != first:
                index = int(batch.indices[row])
                raise SampleError(f"{self._cache.describe(index)} must match {first} of "
                                  f"{self._cache.describe(int(batch.indices[0]))}, got: {layout}", index)
        return first.restore(batch.arrays)
