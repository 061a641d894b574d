# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What follows a run: files of its metrics, and how far it is."""

from __future__ import annotations

import json
import math
import os
import socket
import struct
import sys
import time
from typing import Any, Iterable, Iterator, Mapping, Optional, Protocol, Sequence

import numpy as np

from .arguments import as_float, check_integer, check_path, check_switch, shown
from .errors import FrontEndError
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


def _check_open(file: Any) -> None:
    if file.closed:
        raise FrontEndError(f"the file of metrics must be open, got: {file.name}, which is closed")


class JsonLines:
    """A file with a line for each step, {"step": 1, "time": ..., "loss": ...}, which is added to and written at once.

    time: seconds since 1970. What is no number in JSON (NaN, infinities) is null.
    """

    def __init__(self, path: "str | os.PathLike"):
        self._file = open(check_path("path", path), "a", encoding="utf-8")

    def write(self, step: int, metrics: Mapping[str, float]) -> None:
        """One line: the step's number from 1, the time in seconds since 1970, and the metrics; null for what is not finite. Metrics called
        "step" or "time" have a "_" behind their names."""
        _check_open(self._file)
        step, taken = check_integer("step", step), {"step", "time"}
        values = {free_name(n, taken): v if math.isfinite(v) else None for n, v in _numbers(metrics).items()}
        self._file.write(json.dumps({"step": step, "time": round(time.time(), 3), **values}) + "\n")
        self._file.flush()

    def close(self) -> None:
        """Closes the file; nothing can be written any more."""
        self._file.close()


class TensorBoard:
    """A file of events in a folder, which TensorBoard shows; no package of its is needed."""

    def __init__(self, folder: "str | os.PathLike"):
        os.makedirs(check_path("folder", folder), exist_ok=True)
        name = f"events.out.tfevents.{int(time.time())}.{socket.gethostname()}.{os.getpid()}.{os.urandom(4).hex()}"
        self._file = open(os.path.join(os.fspath(folder), name), "xb")
        self._event(_field(3, b"brain.Event:2"))

    def write(self, step: int, metrics: Mapping[str, float]) -> None:
        """One event with a scalar (float32, infinite where that has no such number) for each metric."""
        _check_open(self._file)
        step = check_integer("step", step)
        with np.errstate(over="ignore"):
            values = b"".join(_field(1, _field(1, name.encode()) + b"\x15" + struct.pack("<f", np.float32(value)))
                              for name, value in _numbers(metrics).items())
        self._event(b"\x10" + _varint(step) + _field(5, values))

    def _event(self, content: bytes) -> None:
        """A record: its length and itself, each with a checksum."""
        event = b"\x09" + struct.pack("<d", time.time()) + content
        length = struct.pack("<Q", len(event))
        self._file.write(length + _checksum(length) + event + _checksum(event))
        self._file.flush()

    def close(self) -> None:
        """Closes the file; nothing can be written any more."""
        self._file.close()


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
