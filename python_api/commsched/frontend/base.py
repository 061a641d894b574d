# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The interface between the frameworks and the rest of the package.

A front end turns a training step of its framework into a Description; nothing
above it imports a framework. One module each: jax_frontend.
"""

from __future__ import annotations

import dataclasses
from typing import Any, Callable, Mapping, Optional, Protocol, Sequence

import numpy as np

from ..errors import FrontEndError


@dataclasses.dataclass
class Slot:
    """A carried tensor. initial: its first value (shape and dtype of the slot)."""

    name: str
    kind: str  # "param" or "state"
    initial: np.ndarray


@dataclasses.dataclass
class BatchArgument:
    """shape: of one device's part; dimension 0 counts samples."""

    name: str
    shape: tuple[int, ...]
    dtype: np.dtype


@dataclasses.dataclass
class Description:
    """A program as its front end hands it over.

    functions: text of the level-0 functions (module without cs.cluster).
    batches, metrics: of each function, by its name.
    flatten: (function, a batch as the user gives it, how many equal parts it is one of) -> arrays by batch name.
    restore: slot values by name -> the carried arguments, by position.
    rates: names of slots that are set before each step: the optimizer's rates.
    """

    text: Callable[[Sequence[str]], str]
    slots: list[Slot]
    batches: dict[str, list[BatchArgument]]
    metrics: dict[str, list[str]]
    flatten: Callable[..., dict[str, np.ndarray]]
    restore: Callable[[Mapping[str, np.ndarray]], dict[int, Any]]
    params_position: int
    rates: Sequence[str] = ()


def free_name(name: str, taken: "set[str]") -> str:
    """The name, or one like it that is not taken; it then is."""
    while name in taken:
        name += "_"
    taken.add(name)
    return name


def left_behind(what: str) -> FrontEndError:
    """Of a step, or a function, that reads what it has itself left elsewhere while it was traced."""
    return FrontEndError(f"{what} must not use values that an earlier trace of it has left in a variable, an attribute or a list; what changes from step "
                         "to step must be an argument, and its new value an output")


def check_part(name: str, example: "tuple[str, Sequence[int]]", given: "tuple[str, Sequence[int]]", parts: int) -> None:
    """Raises FrontEndError if an array of a batch, its type and shape, is not one of so many equal parts of its example."""
    kind, shape = example[0], [example[1][0] // parts, *example[1][1:]]
    if (given[0], list(given[1])) != (kind, shape):
        of = f" (the rows of one of {parts} ranks)" if parts > 1 else ""
        raise FrontEndError(f"batch '{name}' must match {kind}{shape}{of}, got: {given[0]}{list(given[1])}")


class FrontEnd(Protocol):
    """What a framework's module provides."""

    def __call__(self, step: Callable, arguments: tuple, *, params: int, batch: Sequence[int], workers: int,
                 devices: int, constant: Sequence[int], functions: Mapping[str, tuple], name: str, location_root: Optional[str],
                 row_sparse: Sequence[str]) -> Description:
        """Traces the step for `workers` workers of `devices` devices, each of which has a part of the batch.

        Raises FrontEndError."""
