# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a program runs with: its workers, and batches that fit to them."""

from __future__ import annotations

import dataclasses
from typing import Any, Optional

from .data import Batches, Loader
from .errors import FrontEndError


@dataclasses.dataclass
class Workers:
    """A session, and what it is for: workers, and the strategy of its steps. failed: its error has been told. ending: it
    takes no more steps. saved: all that Program keeps of it."""

    session: Any
    of: tuple
    replan: Any
    folder: Any
    failed: bool = False
    ending: bool = False
    saved: Any = None


def length(batches: Any) -> Optional[int]:
    try:
        return len(batches)
    except TypeError:
        return None


def check_run(batches: Any) -> Optional[Loader]:
    """The loader of batches, if they have one."""
    if isinstance(batches, Loader):
        raise FrontEndError("batches must be those of an epoch, such as loader.epoch(0), got: a Loader")
    return batches.loader if isinstance(batches, Batches) else None


def check_global(batches: Any) -> None:
    """A loader of one of several ranks gives its rows only; run() drives all workers, and hands out the rows itself."""
    loader = check_run(batches)
    if loader is not None and loader.rank is not None and loader.ranks > 1:  # those of the only rank are all
        raise FrontEndError(f"batches must be global ones, of a Loader without rank=, got: those of rank {loader.rank} of "
                            f"{loader.ranks}")
