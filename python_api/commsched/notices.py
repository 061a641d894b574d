# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What is asked for and comes to nothing is said in one line, not passed over: it is no error where a script for many workers is tried with one."""

from __future__ import annotations

import warnings
from typing import Any, Optional

from .errors import NothingDone
from .job import current
from .strategy import AllReduce, Strategy


def nothing_done(text: str) -> None:
    """Warns. Of a job's ranks, rank 0 does, as all have the same to say."""
    job = current()
    if job is None or job.rank == 0:
        warnings.warn(text, NothingDone, stacklevel=3)


def sends_nothing(workers: int, strategy: Strategy, devices: int = 1) -> bool:
    """Whether there are no links between workers, or devices of theirs: one of an all-reduce."""
    return workers == 1 and devices == 1 and isinstance(strategy, AllReduce)


def batches_ended(batches: Any, calls: int, what: str) -> None:
    """Says so if there were none of the batches, or fewer than they say; what: "step", or the name of a function. An iterator says nothing: what is left of
    it is not its length."""
    batches = getattr(batches, "commsched_given", batches)  # of those that watch others
    said: Optional[int] = None
    if not hasattr(batches, "__next__"):
        try:
            said = len(batches)
        except Exception:  # of whoever has one, and does not know it
            pass
    if calls == 0:
        again = "; an iterator has its batches once" if hasattr(batches, "__next__") else ""
        nothing_done(f"{what} was called for no batch, as batches have none, got: {type(batches).__name__}{again}")
    elif said is not None and calls < said:
        nothing_done(f"{what} was called for {calls} batches, as they ended before their length, got: {type(batches).__name__} of length {said}")
