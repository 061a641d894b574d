# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What follows a run: files of its metrics, and how far it is."""

from __future__ import annotations

import contextlib
import json
import math
import os
import re
import socket
import stat
import struct
import sys
import time
from typing import Any, Iterable, Iterator, Mapping, Optional, Protocol, Sequence

import numpy as np

from .arguments import as_float, check_integer, check_path, check_switch, shown
from .errors import FrontEndError, of_file
from .frontend.base import free_name


class Writer(Protocol):
    """Gets the metrics of every step, in order; steps count from 1, over all runs of the program."""

    def write(self, step: int, metrics: Mapping[str, float]) -> None: ...


def _numbers(metrics: Any) -> "dict[str, float]":
    """What a step has of metrics. Raises FrontEndError."""
    if not isinstance(metrics, Mapping):
        raise FrontEndError(f"metrics must be numbers by name, got: {shown(metrics)}")
    found = {}
    for name, value in metrics.items():
        number = as_float(value)
        if not isinstance(name, str) or number is None:
            raise FrontEndError(f"metrics must be numbers by name, got: {shown(name)}: {shown(value)}")
        found[name] = number
    return found


class _Records:
    """A file to whose end records are added, each of which is there whole or not at all."""

    def __init__(self, path: str, mode: str):
        self._file = open(path, mode, buffering=0)

    def add(self, record: bytes) -> None:
        self.check_open()
        file, left = self._file.fileno(), memoryview(record)
        try:
            while left:
                left = left[os.write(file, left):]
        except OSError as error:
            written = len(record) - len(left)
            with contextlib.suppress(OSError):  # a pipe is no file
                if written:
                    os.ftruncate(file, os.fstat(file).st_size - written)
            raise of_file(error, self._file.name) from None

    def cut(self, beginning: bytes) -> None:
        """Ends the last line of a file of lines: one that begins so is of a process that was killed in the middle of it, and goes."""
        if not stat.S_ISREG(os.fstat(self._file.fileno()).st_mode):
            return
        try:
            with open(self._file.name, "rb") as lines:
                size = at = lines.seek(0, os.SEEK_END)
                end = b""
                while at and b"\n" not in end:
                    at = max(0, at - 65536)
                    lines.seek(at)
                    end = lines.read(65536) + end
                last = end[end.rfind(b"\n") + 1:]
            if last[:len(beginning)] == beginning[:len(last)] and last:
                os.ftruncate(self._file.fileno(), size - len(last))
            elif last:
                self.add(b"\n")
        except OSError as error:
            raise of_file(error, self._file.name) from None

    def check_open(self) -> None:
        if self._file.closed:
            raise FrontEndError(f"the file of metrics must be open, got: {self._file.name}, which is closed")

    def close(self) -> None:
        try:
            self._file.close()
        except OSError as error:
            raise of_file(error, self._file.name) from None


_LINE = b'{"step": '  # with which each line of JsonLines begins


class JsonLines:
    """A file with a line for each step, {"step": 1, "time": ..., "loss": ...}, which is added to and written at once.

    time: seconds since 1970. What is no number in JSON (NaN, infinities) is null.
    """

    def __init__(self, path: "str | os.PathLike"):
        self._file = _Records(check_path("path", path), "ab")
        self._file.cut(_LINE)

    def write(self, step: int, metrics: Mapping[str, float]) -> None:
        """One line: the step's number from 1, the time in seconds since 1970, and the metrics; null for what is not finite. Metrics called
        "step" or "time" have a "_" behind their names."""
        self._file.check_open()
        step, taken = check_integer("step", step), {"step", "time"}
        values = {free_name(n, taken): v if math.isfinite(v) else None for n, v in _numbers(metrics).items()}
        self._file.add(json.dumps({"step": step, "time": round(time.time(), 3), **values}).encode() + b"\n")

    def close(self) -> None:
        """Closes the file; nothing can be written any more."""
        self._file.close()


class TensorBoard:
    """A file of events in a folder, which TensorBoard shows; no package of its is needed."""

    def __init__(self, folder: "str | os.PathLike"):
        os.makedirs(check_path("folder", folder), exist_ok=True)
        name = f"events.out.tfevents.{_later(folder)}.{socket.gethostname()}.{os.getpid()}.{os.urandom(4).hex()}"
        self._file = _Records(os.path.join(os.fspath(folder), name), "xb")
        self._event(_field(3, b"brain.Event:2"))

    def write(self, step: int, metrics: Mapping[str, float]) -> None:
        """One event with a scalar (float32, infinite where that has no such number) for each metric."""
        self._file.check_open()
        step = check_integer("step", step)
        with np.errstate(over="ignore"):
            values = b"".join(_field(1, _field(1, name.encode()) + b"\x15" + struct.pack("<f", np.float32(value)))
                              for name, value in _numbers(metrics).items())
        self._event(b"\x10" + _varint(step) + _field(5, values))

    def _event(self, content: bytes) -> None:
        """A record: its length and itself, each with a checksum."""
        event = b"\x09" + struct.pack("<d", time.time()) + content
        length = struct.pack("<Q", len(event))
        self._file.add(length + _checksum(length) + event + _checksum(event))

    def close(self) -> None:
        """Closes the file; nothing can be written any more."""
        self._file.close()


def _later(folder: "str | os.PathLike") -> int:
    """Now, in seconds since 1970; behind those of the folder's files, if the clock has been set back: TensorBoard reads them in the order of
    their names, and no earlier one any more."""
    names: "list[Any]" = []
    with contextlib.suppress(OSError):  # a folder may be one in which nobody may look
        names = os.listdir(folder)
    found = [re.match(r"events\.out\.tfevents\.(\d{1,12})\.", os.fsdecode(name)) for name in names]
    return max([int(time.time()), *(int(match[1]) + 1 for match in found if match)])


def _varint(number: int) -> bytes:
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes([*out, number])


def _field(number: int, content: bytes) -> bytes:
    """A field of a protocol buffer message that is bytes."""
    return bytes([number << 3 | 2]) + _varint(len(content)) + content


def _table() -> list[int]:
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ (0x82f63b78 if byte & 1 else 0)
        table.append(byte)
    return table


_TABLE = _table()


def crc32c(content: bytes) -> int:
    """Castagnoli's CRC, which zlib does not have."""
    crc = 0xffffffff
    for byte in content:
        crc = _TABLE[(crc ^ byte) & 255] ^ crc >> 8
    return crc ^ 0xffffffff


def _checksum(content: bytes) -> bytes:
    crc = crc32c(content)
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xa282ead8) & 0xffffffff)


class _Lines:
    """Progress on a terminal without tqdm: one line, four times a second at most."""

    def __init__(self, total: Optional[int]):
        self._total, self._done, self._begin, self._shown, self._width = total, 0, time.monotonic(), 0.0, 0

    def update(self, metrics: Mapping[str, float]) -> None:
        self._done += 1
        now = time.monotonic()
        if now - self._shown >= 0.25 or self._done == self._total:
            self._shown = now
            text = f"{self._done}{f'/{self._total}' if self._total else ''} steps, {self._done / (now - self._begin):.1f}/s, "
            text += ", ".join(f"{n} {v:.4g}" for n, v in metrics.items())
            print(f"\r{text:<{self._width}}", end="", file=sys.stderr, flush=True)
            self._width = len(text)

    def close(self) -> None:
        if self._width:
            print(file=sys.stderr)


class _Tqdm:
    def __init__(self, tqdm: Any, total: Optional[int]):
        self._bar = tqdm(total=total, unit="step")

    def update(self, metrics: Mapping[str, float]) -> None:
        self._bar.set_postfix({n: f"{v:.4g}" for n, v in metrics.items()}, refresh=False)
        self._bar.update()

    def close(self) -> None:
        self._bar.close()


def _bar(total: Optional[int]) -> Any:
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return _Lines(total)
    return _Tqdm(tqdm, total)


def check(log: Any, progress: Any) -> "list[Writer]":
    """The writers that are meant."""
    writers = [] if log is None else list(log) if isinstance(log, (tuple, list)) else [log]
    for writer in writers:
        if not callable(getattr(writer, "write", None)):
            raise FrontEndError(f"log must be a JsonLines, a TensorBoard, or what has write(step, metrics), or several, got: {shown(writer)}")
    check_switch("progress", progress)
    return writers


def followed(steps: "Iterable[dict[str, float]]", first: int, writers: Sequence[Writer], progress: bool,
             total: Optional[int]) -> "Iterator[dict[str, float]]":
    """The metrics of steps, of which `first` are before them, as they come."""
    bar = _bar(total) if progress else None
    try:
        for step, metrics in enumerate(steps, first + 1):
            for writer in writers:
                writer.write(step, metrics)
            if bar is not None:
                bar.update(metrics)
            yield metrics
    finally:
        if bar is not None:
            bar.close()
