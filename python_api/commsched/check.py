# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checking a program: its first steps beside the reference interpreter (docs/interpreter.md)."""

from __future__ import annotations

import dataclasses
import json
import os
import struct
from typing import Any, Mapping, Optional, Sequence

import numpy as np

from . import tools
from .errors import CheckError, ToolError, of_file
from .temporary import TemporaryFolder

_DTYPES = {"float64": "F64", "float32": "F32", "float16": "F16", "bfloat16": "BF16", "int64": "I64", "int32": "I32",
           "int16": "I16", "int8": "I8", "bool": "BOOL", "uint64": "I64", "uint32": "I32", "uint16": "I16", "uint8": "I8"}


@dataclasses.dataclass(frozen=True)
class Checked:
    """One tensor: the largest difference from the reference over all steps and elements that could be compared,
    the bound of that element, and the step after which it was found. Of `elements` (of all steps), `undetermined`
    could not be compared, and `outside` were farther from the reference than anything that the program allows."""

    name: str
    largest: float
    bound: float
    step: int
    outside: int
    undetermined: int
    elements: int

    @property
    def determined(self) -> bool:
        """Whether the reference says what at least one element must be."""
        return self.elements == 0 or self.undetermined < self.elements


def save(path: str, tensors: Mapping[str, np.ndarray]) -> None:
    """A safetensors file; element types as the compiler names them."""
    header, parts, offset = {}, [], 0
    for name, value in tensors.items():
        data = np.ascontiguousarray(value).tobytes()
        header[name] = {"dtype": _DTYPES[str(value.dtype)], "shape": list(value.shape),
                        "data_offsets": [offset, offset + len(data)]}
        parts.append(data)
        offset += len(data)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    write(path, [struct.pack("<Q", len(text)), text, *parts])


def write(path: str, pieces: Sequence[bytes]) -> None:
    """A file for a tool."""
    try:
        with open(path, "wb") as file:
            file.writelines(pieces)
    except OSError as error:
        raise of_file(error, path) from None


def check(plan: bytes, level0: str, values: Mapping[str, np.ndarray],
          batches: Sequence[Mapping[str, np.ndarray]]) -> list[Checked]:
    """Runs cs-run --check-against. `values` before the first step; `batches`: global ones."""
    with TemporaryFolder() as folder:
        path = {name: os.path.join(folder, name) for name in ("plan", "step.mlir", "init", "batch", "table")}
        write(path["plan"], [plan])
        write(path["step.mlir"], [level0.encode()])
        save(path["init"], values)
        command = [tools.find("cs-run"), "plan", "--check-against", "step.mlir", "--steps", str(len(batches)),
                   "--init", "init", "--check-json", "table"]
        if batches and batches[0]:
            save(path["batch"], {name: np.concatenate([np.asarray(b[name]) for b in batches]) for name in batches[0]})
            command += ["--batch", "batch"]
        done = tools.call(command, cwd=folder, text=True, errors="replace")
        table: "Optional[list[Checked]]" = None
        try:
            with open(path["table"], encoding="utf-8") as file:
                # JSON has no infinity.
                rows: "list[dict[str, Any]]" = [{k: np.inf if v is None else v for k, v in row.items()} for row in json.load(file)]
            table = [Checked(**row) for row in rows]
        except FileNotFoundError:
            pass
        message = done.stderr.strip().removeprefix("cs-run: ")
        if table is None:
            raise ToolError(tools.failure(command, done, f" in {folder}"))
        if done.returncode != 0:
            raise CheckError(message, table)
        return table
