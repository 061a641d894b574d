# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a program has come to, in memory between its workers' sessions, and as a file.

The file is a prefix (8 bytes of name and version, the bytes of the header and their CRC-32), the header, and parts:
of each tensor, and of each worker a safetensors file with what it has of its own (docs/sparse.md). The header is JSON:
steps, position in the data, name, type and shape of each tensor, and size and CRC-32 of each part.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import pathlib
import re
import struct
import zlib
from typing import Any, Mapping, Sequence

import numpy as np

from .errors import FrontEndError, RuntimeFailure, of_file
from .temporary import TemporaryFolder

_MAGIC = b"CSPROGR\1"  # the last byte is the version
_PREFIX = struct.Struct("<8sQI")
_LONGEST = 200  # bytes of a file's name that are in that of its part, which has up to 27 more: 255 are allowed


class Unwritten(RuntimeFailure):
    """The disk does not take what workers have of their own. They have it still."""


@dataclasses.dataclass(frozen=True)
class Saved:
    """values: by name. steps: behind them. position: of the batches then, if they have one. own: what each worker has of
    its own, as the runtime's files."""

    values: "dict[str, np.ndarray]"
    steps: int = 0
    position: Any = None
    own: "tuple[bytes, ...]" = ()


def read_own(session: Any, workers: Sequence[int]) -> "tuple[bytes, ...]":
    """What these workers of a session have of their own; nothing if the plan has no such state. Raises Unwritten."""
    folder = None
    try:
        with TemporaryFolder() as folder:
            path = os.path.join(folder, "state")
            session.save_rank_state(path)
            if f"state.step0.rank{workers[0]}" not in os.listdir(folder):
                return ()
            return tuple(_content(f"{path}.step0.rank{r}") for r in workers)
    except OSError as error:
        raise Unwritten(str(error if error.filename is not None or folder is None else of_file(error, folder))) from None
    except RuntimeFailure as error:
        if folder is not None and str(error).startswith(os.fsencode(folder).decode(errors="replace")):
            raise Unwritten(str(error)) from None
        raise


def _content(path: str) -> bytes:
    try:
        return pathlib.Path(path).read_bytes()
    except OSError as error:
        raise of_file(error, path) from None


def write_own(session: Any, own: "tuple[bytes, ...]") -> None:
    """Gives it to the workers of a session."""
    if not own:
        return
    with TemporaryFolder() as folder:
        path = os.path.join(folder, "state")
        for rank, content in enumerate(own):
            if not content:  # another process has it
                continue
            part = f"{path}.step0.rank{rank}"
            try:
                pathlib.Path(part).write_bytes(content)
            except OSError as error:
                raise of_file(error, part) from None
        session.load_rank_state(path, len(own))


def pieces_of(saved: Saved) -> "list[Any]":
    """The bytes of a file. Raises FrontEndError."""
    parts = [np.ascontiguousarray(v).reshape(-1).view(np.uint8).data for v in saved.values.values()] + list(saved.own)
    about = {"steps": saved.steps, "position": saved.position,
             "slots": [[n, v.dtype.name, list(v.shape)] for n, v in saved.values.items()],
             "parts": [[len(part), zlib.crc32(part)] for part in parts]}
    try:
        header = json.dumps(about).encode()
    except TypeError as error:
        raise FrontEndError(f"the position of the batches must be something that JSON can hold: {error}") from None
    return [_PREFIX.pack(_MAGIC, len(header), zlib.crc32(header)), header, *parts]


def write(path: "str | os.PathLike", saved: Saved) -> None:
    """Under another name, which is then the file's: there is the old one, or the new one, whole."""
    path, pieces = os.fspath(path), pieces_of(saved)
    target = os.path.realpath(path) if os.path.islink(path) else path  # the link stays
    try:
        if os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path):  # such as /dev/null, which stays what it is
            with open(path, "wb") as file:
                file.writelines(pieces)
        else:
            _replace(target, pieces)
    except OSError as error:
        raise of_file(error, path) from None


def _replace(path: str, pieces: Sequence[Any]) -> None:
    _remove_parts(path)
    partial = f"{_stem(path)}.part-{os.getpid()}-{os.urandom(4).hex()}"  # a signal's handler may save too
    try:
        with open(partial, "wb") as file:
            file.writelines(pieces)
            file.flush()
            os.fsync(file.fileno())
        os.replace(partial, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(partial)
        raise


def _stem(path: str) -> str:
    """What the names of a file's parts begin with."""
    folder, name = os.path.split(path)
    return os.path.join(folder, os.fsdecode(os.fsencode(name)[:_LONGEST]))


def _remove_parts(path: str) -> None:
    """What processes that were killed have left of the same file, as far as it can be removed."""
    folder, name = os.path.split(_stem(path))
    with contextlib.suppress(OSError):
        for found in os.listdir(folder or "."):
            part = re.fullmatch(re.escape(name) + r"\.part-(\d+)-[0-9a-f]{8}", found)
            if part:
                try:
                    os.kill(int(part[1]), 0)
                except ProcessLookupError:
                    os.unlink(os.path.join(folder, found))
                except (PermissionError, OverflowError):  # another user's process; no number of one
                    pass


def read(path: "str | os.PathLike", like: Mapping[str, np.ndarray]) -> Saved:
    """What was written, for a program with tensors like these. Raises FrontEndError if it is not whole, or another's."""
    return parse(content_of(path), os.fspath(path), like)


def content_of(path: "str | os.PathLike") -> bytes:
    """The file's bytes."""
    return _content(os.fspath(path))


def parse(content: bytes, path: str, like: Mapping[str, np.ndarray]) -> Saved:
    """The same of the file's bytes; path is for errors."""
    about, parts = _parts(content, path)
    found = {n: f"{t}{s}" for n, t, s in about["slots"]}
    wanted = {n: f"{v.dtype.name}{list(v.shape)}" for n, v in like.items()}
    for name in [*wanted, *found]:
        if found.get(name) != wanted.get(name):
            raise FrontEndError(f"{path}: '{name}' must match {wanted.get(name, 'no tensor')} of the program, got: "
                             f"{found.get(name, 'no tensor')}")
    values = {}
    for (name, _, _), part in zip(about["slots"], parts):
        values[name] = np.empty_like(like[name], order="C")
        values[name].reshape(-1).view(np.uint8)[:] = np.frombuffer(part, np.uint8)
    return Saved(values, about["steps"], about["position"], tuple(bytes(p) for p in parts[len(values):]))


def _parts(content: bytes, path: str) -> "tuple[dict, list[memoryview]]":
    """The header and the parts."""
    def damaged(why: str) -> FrontEndError:
        return FrontEndError(f"{path} is damaged, or no file of Program.save: {why}")
    if len(content) < _PREFIX.size or not content.startswith(_MAGIC[:-1]):
        raise damaged("it does not begin as one")
    magic, size, checksum = _PREFIX.unpack_from(content)
    if magic != _MAGIC:
        raise FrontEndError(f"{path}: format must be {_MAGIC[-1]}, got: {magic[-1]}")
    rest = memoryview(content)[_PREFIX.size:]
    if size > len(rest):
        raise damaged("truncated")
    header, rest = rest[:size], rest[size:]
    if zlib.crc32(header) != checksum:
        raise damaged("checksum")
    about, parts = json.loads(bytes(header)), []
    for size, checksum in about["parts"]:
        parts.append(rest[:size])
        rest = rest[size:]
        if len(parts[-1]) != size:
            raise damaged("truncated")
        if zlib.crc32(parts[-1]) != checksum:
            raise damaged("checksum")
    if len(rest):
        raise damaged("it is longer")
    return about, parts
