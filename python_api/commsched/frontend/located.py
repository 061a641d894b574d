# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which line of the user an operation of a captured graph comes from, carried through JAX."""

from __future__ import annotations

import os
import re
from typing import Any, Iterable, Optional, Sequence

import jax

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_INSTALLED = ("site-packages", "dist-packages")


def _rank(file: str, framework: str) -> int:
    """0: the user's; 1: of a library with models; 2: ours, or the framework's."""
    if file.startswith((framework, _PACKAGE, "<")):
        return 2
    return 1 if any(folder in file for folder in _INSTALLED) else 0


def best(frames: "Iterable[tuple[str, int]]", framework: str) -> Optional[str]:
    """"file:line" of the user. frames: (file, line), innermost first; framework: the folder of the framework's own files."""
    library = None
    for file, line in frames:
        rank = _rank(file, framework)
        if rank == 0:
            return f"{file}:{line}"
        if rank == 1 and library is None:
            library = f"{file}:{line}"
    return library


def folder_of_places(root: Optional[str]) -> str:
    """The folder that files are named relative to (default: the working directory), with "/" at its end; "" where that has been removed."""
    try:
        return os.path.join(os.path.abspath(root or os.getcwd()), "")
    except FileNotFoundError:
        return ""


def shown(place: str, root: Optional[str] = None) -> str:
    """A place with its file relative to the root (default: the working directory), or to the folder of packages."""
    file, _, line = place.rpartition(":")
    for folder in _INSTALLED:
        if f"{folder}{os.sep}" in file:
            return f"{file.split(folder + os.sep)[-1]}:{line}"
    root = folder_of_places(root)
    return f"{file[len(root):] if file.startswith(root) else file}:{line}"


class Located:
    """Numbers that stand for places in the names of scopes, where the walker of the lowered module finds them."""

    def __init__(self, root: Optional[str]):
        self._root = root
        self._numbers: dict[str, int] = {}

    def scope(self, place: Optional[str]) -> Any:
        """Within it, JAX notes this place."""
        if not place:
            return jax.named_scope("captured")
        return jax.named_scope(f"captured.at{self._numbers.setdefault(place, len(self._numbers))}.")

    def text(self, place: Optional[str], column: str = "") -> Optional[str]:
        if not place:
            return None
        file, _, line = shown(place, self._root).rpartition(":")
        return f'"{file}":{line}{column}'

    def __call__(self, location: str) -> Optional[str]:
        """Of the text of a JAX location."""
        found = re.findall(r"captured\.at(\d+)\.", location)
        if not found:
            return None
        return self.text(list(self._numbers)[int(found[-1])], ":1")

    def line_of(self, equation: Any) -> Optional[str]:
        """file:line of an equation of JAX that was traced in a scope."""
        return (self(str(equation.source_info.name_stack)) or "").replace('"', "").removesuffix(":1") or None


def first_failure(error: BaseException) -> str:
    """What an exception says, in one line."""
    lines: Sequence[str] = str(error).splitlines()
    return lines[0] if lines else type(error).__name__
