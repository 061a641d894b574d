# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Arguments of public functions: what is wrong with one is an error of one line that names it."""

from __future__ import annotations

import math
import numbers
import operator
import os
from typing import Any, Iterable, Sequence, Type

import numpy as np

from .errors import CommSchedError, FrontEndError

_Error = Type[CommSchedError]
MOST = (1 << 63) - 1  # that the compiler and the runtime can count


def shown(value: Any) -> str:
    """For a message: in one line, and not too long."""
    text = " ".join(repr(value).split())
    return text if len(text) <= 100 else text[:97] + "..."


def listed(names: "Iterable[str]") -> str:
    """For a message: some names, or that there are none."""
    text = ", ".join(names) or "of which there are none"
    return text if len(text) <= 200 else text[:197] + "..."


def check_switch(name: str, value: Any, error: _Error = FrontEndError) -> bool:
    """True or False, and nothing that is taken for one of them."""
    if not isinstance(value, (bool, np.bool_)):
        raise error(f"{name} must be True or False, got: {shown(value)}")
    return bool(value)


def is_integer(value: Any, least: int = -MOST - 1, most: int = MOST) -> bool:
    """Of any type of integers, bool not among them."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool) and bool(least <= value <= most)


def check_integer(name: str, value: Any, least: int = 0, most: int = MOST, error: _Error = FrontEndError) -> int:
    """An integer from `least` to `most`."""
    if not is_integer(value, least, most):
        bounds = f"at least {least}" if most == MOST else f"{least} to {most}"
        raise error(f"{name} must be an integer of {bounds}, got: {shown(value)}")
    return operator.index(value)


def check_seed(value: Any) -> int:
    """Where drawing begins: any integer of 64 bits."""
    if not is_integer(value):
        raise FrontEndError(f"seed must be an integer of 64 bits, got: {shown(value)}")
    return operator.index(value)


def check_number(name: str, value: Any, what: str = "not negative", error: _Error = FrontEndError) -> float:
    """A finite number that is "not negative" or "positive"."""
    number = as_float(value)
    if number is None or not math.isfinite(number) or number < 0 or (number == 0 and what == "positive"):
        raise error(f"{name} must be a number, finite and {what}, got: {shown(value)}")
    return number


def as_float(value: Any) -> "float | None":
    """A number of any type, bool not among them, as Python's own, whose repr is that of a number; None of what is none, or too large."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, numbers.Real):
        return None
    try:
        return float(value)
    except OverflowError:
        return None


def check_choice(name: str, value: Any, choices: Sequence[str], error: _Error = FrontEndError) -> str:
    """One of these texts."""
    if not isinstance(value, str) or value not in choices:
        raise error(f"{name} must be one of {', '.join(choices)}, got: {shown(value)}")
    return value


def check_text(name: str, value: Any, error: _Error = FrontEndError) -> str:
    """A text of one line for the runtime, which ends one at a zero byte."""
    if not isinstance(value, str) or "\0" in value or len(value.splitlines()) > 1 or not _has_bytes(value):
        raise error(f"{name} must be a text of one line, got: {shown(value)}")
    return value


def _has_bytes(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:  # half of a surrogate pair
        return False
    return True


def check_bytes(name: str, value: Any, error: _Error = FrontEndError) -> bytes:
    """Bytes of any kind, as a copy where they are not Python's own."""
    if not isinstance(value, (bytes, bytearray, memoryview)):
        raise error(f"{name} must be bytes, got: {shown(value)}")
    return bytes(value)


def check_path(name: str, value: Any, error: _Error = FrontEndError) -> str:
    """A path, which numbers of open files are not."""
    if not isinstance(value, (str, os.PathLike)) or not os.fspath(value):
        raise error(f"{name} must be a path, got: {shown(value)}")
    path = os.fspath(value)
    if not isinstance(path, str) or "\0" in path:
        raise error(f"{name} must be a path, got: {shown(value)}")
    return path
