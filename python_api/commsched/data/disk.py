# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Decoded samples in a folder, one file each, which several processes may share.

FOLDER/KEY/source.json   what the samples are of
FOLDER/KEY/ledger        bytes in use (8 bytes); locked by whoever changes it
FOLDER/KEY/users         locked (shared) by every process that has the folder open
FOLDER/KEY/12/12345      a sample: prefix, layout, arrays

KEY is made of source, version and format, and stands in every file too. A file is written beside its place and
renamed; its checksum is over all of it. What is not as it must be is removed and not used. Locks are flock's:
the folder must be on a local file system.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import json
import logging
import os
import struct
import threading
import zlib
from typing import Callable, Optional

import numpy as np

from .structure import Layout, aligned
from ..errors import of_file

FORMAT = 1
_MAGIC = b"CSsample"
_PREFIX = struct.Struct("<8s16sQQI4x")  # magic, key, index, bytes of the arrays, bytes of the layout
_CHECKSUM = struct.Struct("<I12x")
_HEAD = _PREFIX.size + _CHECKSUM.size
_PER_FOLDER = 1000
_LARGEST_LAYOUT = 1 << 20

_log = logging.getLogger("commsched.data")


class Damaged(Exception):
    """A file that is not the sample that it should be."""


def key_of(identity: str, name: str, version: object, samples: int) -> bytes:
    """16 bytes for what the samples are of."""
    text = json.dumps([FORMAT, identity, name, str(version), samples])
    return hashlib.blake2b(text.encode(), digest_size=16).digest()


def _checksum(prefix: bytes, header: bytes, arrays) -> int:
    return zlib.crc32(arrays, zlib.crc32(header, zlib.crc32(prefix)))


class Folder:
    """Samples of one key. Thread-safe. budget: bytes of all files together, of all processes.

    After an error of the disk it writes no more (`full` says why); samples are then read from their source.
    """

    def __init__(self, path: str, key: bytes, budget: int, about: dict):
        self._path = os.path.join(os.path.abspath(path), key.hex())
        self._key, self._budget = key, budget
        self.full: Optional[str] = None
        self.damaged = self.errors = 0
        self._about = about
        self._thread_lock = threading.Lock()
        self._ledger_file = self._users_file = -1
        try:
            os.makedirs(self._path, exist_ok=True)
            self._open()
            with self._ledger():
                if self._alone():
                    self._recount()
        except OSError as error:
            self.close()
            raise self._named(error) from None

    def _open(self) -> None:
        self._token = os.urandom(6).hex()  # process numbers are not enough: containers have their own
        self._thread_lock = threading.Lock()
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC
        self._ledger_file = os.open(os.path.join(self._path, "ledger"), flags, 0o666)
        self._users_file = os.open(os.path.join(self._path, "users"), flags, 0o666)

    # ---- the ledger --------------------------------------------------------------------------
    def _ledger(self) -> "_Ledger":
        return _Ledger(self)

    def _used(self) -> int:
        return int.from_bytes(os.pread(self._ledger_file, 8, 0).ljust(8, b"\0"), "little")

    def _add(self, size: int) -> None:
        self._set_used(max(0, self._used() + size))

    def _set_used(self, size: int) -> None:
        os.pwrite(self._ledger_file, size.to_bytes(8, "little"), 0)

    def _alone(self) -> bool:
        """Whether no other process has the folder open. This one has, from now on."""
        try:
            fcntl.flock(self._users_file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            alone = True
        except BlockingIOError:
            alone = False
        fcntl.flock(self._users_file, fcntl.LOCK_SH)  # who takes it meanwhile waits for the ledger
        return alone

    def _recount(self) -> None:
        """Removes what dead processes left half written, and what is beyond the budget; counts the rest."""
        about, found = os.path.join(self._path, "source.json"), []
        for folder in os.scandir(self._path):
            if not folder.is_dir():
                if folder.name.endswith(".part"):
                    os.unlink(folder.path)
                continue
            for entry in os.scandir(folder.path):
                if entry.name.isdigit():
                    found.append((int(entry.name), entry.stat().st_size, entry.path))
                else:
                    os.unlink(entry.path)
        used = sum(size for _, size, _ in found)
        for _, size, path in sorted(found, reverse=True):
            if used <= self._budget:
                break
            os.unlink(path)
            used -= size
        self._set_used(used)
        if not os.path.exists(about):
            part = f"{about}.{self._token}.part"
            try:
                with open(part, "w", encoding="utf-8") as file:
                    json.dump(self._about, file, indent=1)
                os.replace(part, about)
            except OSError as error:  # it is for people
                self._failed("write", about, error)
                with contextlib.suppress(OSError):
                    os.unlink(part)

    @property
    def used(self) -> int:
        """Bytes of all samples in the folder, of all processes. Raises OSError."""
        try:
            with self._ledger():
                return self._used()
        except OSError as error:
            raise self._named(error) from None

    def _named(self, error: OSError) -> OSError:
        return error if error.filename is not None else of_file(error, self._path)

    def after_fork(self) -> None:
        """Files and locks of the child's own: a lock of the parent would be the child's too."""
        if self._ledger_file < 0:
            return
        for file in (self._ledger_file, self._users_file):
            os.close(file)
        self._open()
        fcntl.flock(self._users_file, fcntl.LOCK_SH)

    def close(self) -> None:
        """What threads do afterwards finds nothing, and writes nothing."""
        with self._thread_lock:
            self.full = self.full or "closed"
            for file in (self._ledger_file, self._users_file):
                if file >= 0:
                    with contextlib.suppress(OSError):  # of counts that the next one who opens the folder makes anew; it is closed
                        os.close(file)
            self._ledger_file = self._users_file = -1

    # ---- samples -----------------------------------------------------------------------------
    def _place(self, index: int) -> str:
        return f"{self._path}/{index // _PER_FOLDER}/{index}"

    def read(self, index: int, allocate: Callable[[int], np.ndarray]) -> "Optional[tuple[Layout, list[np.ndarray], int]]":
        """(layout, arrays, bytes that they hold), or None if the sample is not there or not whole.

        allocate(n): n bytes of memory, in which the arrays will be.
        """
        path = self._place(index)
        try:
            file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            return None
        except OSError as error:
            self._failed("read", path, error)
            return None
        try:
            return self._read(file, index, allocate)
        except OSError as error:
            self._failed("read", path, error)
        except Damaged as error:
            self.damaged += 1
            _log.warning("%s is damaged (%s): it is removed, and the sample read from its source", path, error)
            self._remove(path)
        finally:
            os.close(file)
        return None

    def _read(self, file: int, index: int, allocate: Callable[[int], np.ndarray]):
        head = os.pread(file, _HEAD, 0)
        if len(head) < _HEAD:
            raise Damaged("truncated")
        magic, key, own, size, length = _PREFIX.unpack_from(head)
        if magic != _MAGIC:
            raise Damaged("not a sample")
        if key != self._key or own != index:
            raise Damaged("another sample")
        if length > _LARGEST_LAYOUT or os.fstat(file).st_size != _HEAD + aligned(length) + size:
            raise Damaged("truncated")
        buffer = allocate(aligned(length) + size)
        done, into = 0, buffer.data
        while done < len(buffer):
            count = os.preadv(file, [into[done:]], _HEAD + done)
            if count == 0:
                raise Damaged("truncated")
            done += count
        header, arrays = into[:length].tobytes(), buffer[aligned(length):]
        if _CHECKSUM.unpack_from(head, _PREFIX.size)[0] != _checksum(head[:_PREFIX.size], header, arrays):
            raise Damaged("checksum")
        try:
            layout = Layout.from_header(header)
        except ValueError as error:
            raise Damaged(str(error)) from error
        if layout.size != size:
            raise Damaged("layout")
        return layout, layout.views(arrays), len(buffer)

    def write(self, index: int, layout: Layout, arrays: np.ndarray) -> bool:
        """Keeps a packed sample, if there is room; False if not."""
        header = layout.header
        size = _HEAD + aligned(len(header)) + len(arrays)
        if self.full or len(header) > _LARGEST_LAYOUT:
            return False
        prefix = _PREFIX.pack(_MAGIC, self._key, index, len(arrays), len(header))
        path = self._place(index)
        part = f"{path}.{self._token}-{threading.get_ident()}.part"
        reserved = False
        try:
            with self._ledger():
                if os.path.exists(path) or self._used() + size > self._budget:
                    return False
                self._add(size)
                reserved = True
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(part, "wb") as file:
                file.write(prefix + _CHECKSUM.pack(_checksum(prefix, header, arrays)))
                file.write(header.ljust(aligned(len(header)), b"\0"))
                file.write(arrays.data)
            with self._ledger():
                if not os.path.exists(path):  # another process may have been faster
                    os.rename(part, path)
                    return True
                self._add(-size)
                reserved = False
            os.unlink(part)
            return False
        except OSError as error:
            self._failed("write", path, error)
            with contextlib.suppress(OSError):
                os.unlink(part)
            with contextlib.suppress(OSError):
                if reserved:
                    with self._ledger():
                        self._add(-size)
            return False

    def _remove(self, path: str) -> None:
        try:
            with self._ledger():
                size = os.stat(path).st_size
                os.unlink(path)
                self._add(-size)
        except FileNotFoundError:
            pass  # by another process
        except OSError as error:
            self._failed("remove", path, error)

    def _failed(self, what: str, path: str, error: OSError) -> None:
        self.errors += 1
        if what == "read":
            _log.warning("cannot read %s (%s): the sample is read from its source", path, error)
        elif self.full is None:
            self.full = f"{what} {path}: {error}"
            why = "is full" if error.errno in (errno.ENOSPC, errno.EDQUOT) else "cannot be written to"
            _log.warning("the disk of %s %s (%s): no more samples are kept there", self._path, why, error)

    def clear(self) -> None:
        """Removes all samples of this key."""
        try:
            with self._ledger():
                for folder in os.scandir(self._path):
                    if folder.is_dir():
                        for file in os.scandir(folder.path):
                            if file.name.isdigit():
                                size = file.stat().st_size
                                os.unlink(file.path)
                                self._add(-size)
        except OSError as error:
            raise self._named(error) from None
        self.full = None


class _Ledger:
    """The lock of the ledger, between threads and between processes."""

    __slots__ = ("_folder",)

    def __init__(self, folder: Folder):
        self._folder = folder

    def __enter__(self) -> None:
        self._folder._thread_lock.acquire()
        try:
            if self._folder._ledger_file < 0:
                raise OSError(errno.EBADF, "the cache is closed")
            fcntl.flock(self._folder._ledger_file, fcntl.LOCK_EX)
        except BaseException:
            self._folder._thread_lock.release()
            raise

    def __exit__(self, *_) -> None:
        try:
            fcntl.flock(self._folder._ledger_file, fcntl.LOCK_UN)
        finally:
            self._folder._thread_lock.release()
