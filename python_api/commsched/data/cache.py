# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Samples kept decoded: in memory, then on local disk, then read from their source."""

from __future__ import annotations

import dataclasses
import os
import sys
import threading
import weakref
from typing import Any, Optional, Union

import numpy as np

from . import disk as disk_level
from .source import read, sample_name
from .structure import Layout, flatten
from ..arguments import check_choice, check_path, is_integer, shown
from ..errors import FrontEndError, SampleError

MEMORY, DISK, SOURCE = range(3)
_HOLDS = ("everything", "rest")


@dataclasses.dataclass(frozen=True)
class Statistics:
    """What a cache has done so far, in this process; disk_bytes is of all processes.

    memory, disk, source: samples that came from there. memory_samples, memory_bytes, disk_bytes: what is held.
    written: samples written to disk. damaged: files that were not whole, or of something else, and were not used.
    errors: of the disk. disk_full: why no more is written to disk, if it failed.
    """

    memory: int = 0
    disk: int = 0
    source: int = 0
    memory_samples: int = 0
    memory_bytes: int = 0
    disk_bytes: int = 0
    written: int = 0
    damaged: int = 0
    errors: int = 0
    disk_full: Optional[str] = None


class Scratch:
    """Memory for one sample after another, of one thread."""

    def __init__(self) -> None:
        self._memory = np.empty(0, np.uint8)

    def take(self, size: int) -> np.ndarray:
        if len(self._memory) < size:
            self._memory = np.empty(size, np.uint8)
        return self._memory[:size]


class DataCache:
    """A sequence of samples that keeps what its source gives. Thread-safe; read-only arrays.

    source: has __len__ and __getitem__ (called by several threads at once). A sample is an array, a number, or a
        dictionary or tuple of samples. It must be the same whenever it is read: what is random comes after the
        cache (Loader's transform).
    memory: bytes that samples may take in memory.
    disk, folder: bytes that they may take in a folder of a local file system, which several processes may share.
    name, version: stand for the samples; others make other files. A source that has no `identity` needs a name
        with a folder. Change the version when the code that reads or decodes a sample changes.
    disk_holds: "everything", or the "rest" that memory does not hold; that is for a disk on which not all fits.
    retries: how often an OSError of the source is tried again.

    What has been kept stays: nothing is evicted, because every epoch reads every sample once, and with any policy
    that replaces, samples are replaced before they are read again.
    """

    def __init__(self, source: Any, memory: int = 0, disk: int = 0, folder: "Union[str, os.PathLike, None]" = None,
                 name: str = "", version: Union[int, str] = 0, disk_holds: str = "everything", retries: int = 2):
        if not hasattr(source, "__len__") or not hasattr(source, "__getitem__"):
            raise FrontEndError(f"source must have __len__ and __getitem__, got: {shown(source)}")
        for what, value in (("memory", memory), ("disk", disk), ("retries", retries)):
            if not is_integer(value, 0):
                raise FrontEndError(f"{what} must be 0 or more, got: {shown(value)}")
        check_choice("disk_holds", disk_holds, _HOLDS)
        if folder is not None:
            check_path("folder", folder)
        if not isinstance(name, str):
            raise FrontEndError(f"name must be a text, got: {shown(name)}")
        if not isinstance(version, str) and not is_integer(version):
            raise FrontEndError(f"version must be a number or a text, got: {shown(version)}")
        if bool(disk) != (folder is not None):
            raise FrontEndError("disk and folder must be given together")
        for what, given in (("disk_holds", disk_holds != "everything"), ("version", version != 0)):
            if given and folder is None:
                raise FrontEndError(f"{what} must go with disk and folder")
        self._options = dict(source=source, memory=memory, disk=disk, folder=folder, name=name, version=version,
                             disk_holds=disk_holds, retries=retries)
        self._source, self._samples, self.name = source, len(source), name
        self._budget, self._everything, self._retries = memory, disk_holds == "everything", retries
        self._lock = threading.Lock()
        self._held: dict[int, tuple[Layout, list[np.ndarray]]] = {}
        self._bytes = 0
        self._counts = [0, 0, 0]
        self._written = 0
        self._folder: Optional[disk_level.Folder] = None
        if folder is not None:
            identity = getattr(source, "identity", "")
            if not identity and not name:
                raise FrontEndError("a cache in a folder must have a name, or a source with an identity")
            about = {"name": name, "identity": identity, "version": str(version), "samples": self._samples,
                     "format": disk_level.FORMAT}
            self._folder = disk_level.Folder(os.fspath(folder), disk_level.key_of(identity, name, version, self._samples),
                                             disk, about)
        _caches.add(self)

    def __len__(self) -> int:
        return self._samples

    def __getitem__(self, index: int) -> Any:
        """A sample, by its index; negative ones count from the end. Raises SampleError, FrontEndError; IndexError, with which iterations end."""
        if not is_integer(index):
            raise FrontEndError(f"index of a sample must be an integer, got: {shown(index)}")
        if not -self._samples <= index < self._samples:
            raise IndexError(f"sample must be below {self._samples}, got: {index}")
        level, layout, arrays = self.load(int(index) % self._samples)
        self.count({level: 1})
        return layout.restore(arrays)

    def describe(self, index: int) -> str:
        """What messages call a sample: its number, the name that the source has for it, and the cache."""
        return sample_name(self._source, index, self.name)

    @property
    def statistics(self) -> Statistics:
        """What has been done so far; counts, and sizes in bytes."""
        with self._lock:
            folder = self._folder
            memory, disk, source = self._counts
            result = Statistics(memory, disk, source, memory_samples=len(self._held), memory_bytes=self._bytes,
                                written=self._written)
        if folder is None:
            return result
        return dataclasses.replace(result, disk_bytes=folder.used, damaged=folder.damaged, errors=folder.errors,
                                   disk_full=folder.full)

    def clear(self) -> None:
        """Forgets all samples, in memory and on disk, there also those of other processes."""
        with self._lock:
            self._held, self._bytes = {}, 0
        if self._folder is not None:
            self._folder.clear()

    def close(self) -> None:
        """Gives memory and files back; what is on disk stays. The cache is then empty, and without its disk."""
        with self._lock:
            self._held, self._bytes, self._budget = {}, 0, 0
            folder, self._folder = self._folder, None
        if folder is not None:
            folder.close()

    def __enter__(self) -> "DataCache":
        return self

    def __exit__(self, *_) -> None:
        self.close()

    def __del__(self):
        folder: Optional[disk_level.Folder] = getattr(self, "_folder", None)
        if folder is not None:
            folder.close()

    def __reduce__(self):  # for processes that are spawned: the same cache, empty; the folder is shared
        return _make, (self._options,)

    # ---- for loaders -------------------------------------------------------------------------
    def load(self, index: int, scratch: Optional[Scratch] = None) -> "tuple[int, Layout, list[np.ndarray]]":
        """(level that it came from, layout, arrays). Not counted: count() does. Raises SampleError.

        scratch: what memory does not keep may be in it, and is then gone with the next load.
        """
        held = self._held.get(index)
        if held is not None:
            return MEMORY, *held
        folder = self._folder
        if folder is not None:
            room = self._budget - self._bytes  # of other threads' samples, too: then this one is not kept
            found = folder.read(index, lambda size: scratch.take(size) if scratch and size > room else np.empty(size, np.uint8))
            if found is not None:
                layout, arrays, size = found
                if size <= room or scratch is None:
                    self._keep(index, layout, arrays, size)
                return DISK, layout, arrays
        sample = read(self._source, index, self.name, self._retries)
        try:
            layout, arrays = flatten(sample)
        except TypeError as error:
            raise SampleError(self.describe(index), index, error) from error
        fits = self._bytes + layout.size <= self._budget
        if fits or (folder is not None and folder.full is None):
            # A copy: what the source gives may be a piece of something large, or change.
            buffer = scratch.take(layout.size) if scratch and not fits else np.empty(layout.size, np.uint8)
            layout.pack(arrays, buffer)
            arrays = layout.views(buffer)
            kept = fits and self._keep(index, layout, arrays, layout.size)
            if folder is not None and (self._everything or not kept) and folder.write(index, layout, buffer):
                with self._lock:
                    self._written += 1
        else:
            arrays = [a.view() for a in arrays]
            for array in arrays:
                array.flags.writeable = False
        return SOURCE, layout, arrays

    def _keep(self, index: int, layout: Layout, arrays: list, size: int) -> bool:
        """Keeps a sample in memory, if there is room."""
        size += sum(map(sys.getsizeof, arrays)) + _PER_SAMPLE
        with self._lock:
            if index in self._held:
                return True
            if self._bytes + size > self._budget:
                return False
            self._bytes += size
            self._held[index] = (layout, arrays)
            return True

    def count(self, levels: "dict[int, int]") -> None:
        """Adds samples to the statistics, by level."""
        with self._lock:
            for level, samples in levels.items():
                self._counts[level] += samples

    def _after_fork(self) -> None:
        self._lock = threading.Lock()
        if self._folder is not None:
            self._folder.after_fork()


_PER_SAMPLE = 400  # bytes of the buffer's own object, the list, the tuple and the place in the dictionary
_caches: "weakref.WeakSet[DataCache]" = weakref.WeakSet()


def _make(options: dict) -> DataCache:
    return DataCache(**options)


def _after_fork() -> None:
    for cache in list(_caches):
        cache._after_fork()


os.register_at_fork(after_in_child=_after_fork)
