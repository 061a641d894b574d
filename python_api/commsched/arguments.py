# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Arguments of public functions: what is wrong with one is an error of one line that names it."""

from __future__ import annotations

import math
import numbers
import operator
import os
from typing import Any, Sequence, Union

import numpy as np

from .errors import CommSchedError, FrontEndError

_Error = Union["type[CommSchedError]", "type[ValueError]"]
MOST = (1 << 63) - 1  # that the compiler and the runtime can count


def shown(value: Any) -> str:
    """For a message: in one line, and not too long."""
    text = " ".join(repr(value).split())
    return text if len(text) <= 100 else text[:97] + "..."


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


def check_number(name: str, value: Any, what: str = "not negative", error: _Error = FrontEndError) -> float:
    """A finite number that is "not negative" or "positive"."""
    if (isinstance(value, (bool, np.bool_)) or not isinstance(value, numbers.Real) or not math.isfinite(value)
            or value < 0 or (value == 0 and what == "positive")):
        raise error(f"{name} must be a number, finite and {what}, got: {shown(value)}")
    return float(value)


def check_choice(name: str, value: Any, choices: Sequence[str], error: _Error = FrontEndError) -> str:
    """One of these texts."""
    if not isinstance(value, str) or value not in choices:
        raise error(f"{name} must be one of {', '.join(choices)}, got: "
                    f"{value if isinstance(value, str) and value and value.isprintable() else shown(value)}")
    return value


def check_path(name: str, value: Any, error: _Error = FrontEndError) -> str:
    """A path, which numbers of open files are not."""
    if not isinstance(value, (str, os.PathLike)) or not os.fspath(value):
        raise error(f"{name} must be a path, got: {shown(value)}")
    path = os.fspath(value)
    if not isinstance(path, str) or "\0" in path:
        raise error(f"{name} must be a path, got: {shown(value)}")
    return path
