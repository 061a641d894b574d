# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a program has come to, in memory between its workers' sessions, and as a file.

The file is a ZIP archive, not compressed, whose checksums cover all of it:

program.json    format, steps, position in the data, number of workers, name, type and shape of each tensor
slot/I          the bytes of tensor I
worker/R        what worker R has of its own (a safetensors file; docs/sparse.md)
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import pathlib
import re
import tempfile
import zipfile
from typing import Any, Mapping

import numpy as np

_FORMAT = "commsched-program-1"

@dataclasses.dataclass(frozen=True)
class Saved:
    """values: by name. steps: behind them. position: of the batches then, if they have one. own: what each worker has of
    its own, as the runtime's files."""

    values: "dict[str, np.ndarray]"
    steps: int = 0
    position: Any = None
    own: "tuple[bytes, ...]" = ()


def read_own(session: Any, workers: int) -> "tuple[bytes, ...]":
    """What the workers of a session have of their own; nothing if the plan has no such state."""
    with tempfile.TemporaryDirectory(prefix="commsched-") as folder:
        path = os.path.join(folder, "state")
        session.save_rank_state(path)
        if not os.path.exists(f"{path}.step0.rank0"):
            return ()
        return tuple(pathlib.Path(f"{path}.step0.rank{r}").read_bytes() for r in range(workers))


def write_own(session: Any, own: "tuple[bytes, ...]") -> None:
    """Gives it to the workers of a session."""
    if not own:
        return
    with tempfile.TemporaryDirectory(prefix="commsched-") as folder:
        path = os.path.join(folder, "state")
        for rank, content in enumerate(own):
            pathlib.Path(f"{path}.step0.rank{rank}").write_bytes(content)
        session.load_rank_state(path, len(own))


def write(path: "str | os.PathLike", saved: Saved) -> None:
    """Under another name, which is then the file's: there is the old one, or the new one, whole."""
    path = os.fspath(path)
    about = {"format": _FORMAT, "steps": saved.steps, "position": saved.position, "workers": len(saved.own),
             "slots": [[n, v.dtype.name, list(v.shape)] for n, v in saved.values.items()]}
    try:
        text = json.dumps(about)
    except TypeError as error:
        raise ValueError(f"the position of the batches must be something that JSON can hold: {error}") from None
    _remove_parts(path)
    partial = f"{path}.part-{os.getpid()}-{os.urandom(4).hex()}"  # a signal's handler may save too
    try:
        with open(partial, "wb") as file:
            with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED, allowZip64=True) as archive:
                archive.writestr("program.json", text)
                for i, value in enumerate(saved.values.values()):
                    with archive.open(f"slot/{i}", "w", force_zip64=True) as entry:
                        entry.write(np.ascontiguousarray(value).reshape(-1).view(np.uint8).data)
                for rank, content in enumerate(saved.own):
                    archive.writestr(f"worker/{rank}", content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(partial, path)
    except BaseException:
        if os.path.exists(partial):
            os.unlink(partial)
        raise


def _remove_parts(path: str) -> None:
    """What processes that were killed have left of the same file."""
    folder, name = os.path.split(path)
    for found in os.listdir(folder or "."):
        part = re.fullmatch(re.escape(name) + r"\.part-(\d+)-[0-9a-f]{8}", found)
        if part:
            try:
                os.kill(int(part[1]), 0)
            except ProcessLookupError:
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(os.path.join(folder, found))
            except PermissionError:  # another user's process
                pass


def read(path: "str | os.PathLike", like: Mapping[str, np.ndarray]) -> Saved:
    """What was written, for a program with tensors like these. Raises ValueError if it is not whole, or another's."""
    path = os.fspath(path)
    try:
        with zipfile.ZipFile(path) as archive:
            return _read(path, archive, like)
    except (zipfile.BadZipFile, KeyError, EOFError, json.JSONDecodeError, NotImplementedError) as error:
        raise ValueError(f"{path} is damaged, or no file of Program.save: {error}") from None


def _read(path: str, archive: zipfile.ZipFile, like: Mapping[str, np.ndarray]) -> Saved:
    about = json.loads(archive.read("program.json"))
    if about["format"] != _FORMAT:
        raise ValueError(f"{path}: format must be {_FORMAT}, got: {about['format']}")
    found = {n: f"{t}{s}" for n, t, s in about["slots"]}
    wanted = {n: f"{v.dtype.name}{list(v.shape)}" for n, v in like.items()}
    for name in [*wanted, *found]:
        if found.get(name) != wanted.get(name):
            raise ValueError(f"{path}: '{name}' must match {wanted.get(name, 'no tensor')} of the program, got: "
                             f"{found.get(name, 'no tensor')}")
    values = {}
    for i, (name, _, _) in enumerate(about["slots"]):
        value = np.empty_like(like[name], order="C")
        data = archive.read(f"slot/{i}")  # zipfile compares the checksum
        if len(data) != value.nbytes:
            raise ValueError(f"{path}: '{name}' must have {value.nbytes} bytes, got: {len(data)}")
        value.reshape(-1).view(np.uint8)[:] = np.frombuffer(data, np.uint8)
        values[name] = value
    own = tuple(archive.read(f"worker/{rank}") for rank in range(about["workers"]))
    return Saved(values, about["steps"], about["position"], own)
