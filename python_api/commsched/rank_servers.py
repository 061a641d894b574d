# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Parameter servers within the ranks of a job: what the ranks tell each other when a run ends."""

from __future__ import annotations

from typing import Any, Mapping

import numpy as np

from .job import Job


def collected(job: Job, session: Any, like: Mapping[str, np.ndarray]) -> "dict[str, np.ndarray]":
    """All values after the last step of all trainers, on all ranks; all call it, and those with servers only do what
    serving.py has. Ends what the session may do.

    Each byte of what servers own is in one of them, and zero in what the others give.
    """
    session.finish()
    job = job._whole or job
    parts = {name: session.server_value(name, value) for name, value in like.items()}
    mine = b"".join((b"\1" + part.tobytes()) if part is not None else b"\0" for part in parts.values())
    said = job.gather("ends a run", mine)

    def merged() -> bytes:
        assert said is not None  # on rank 0
        values = {}
        at = [0] * job.size
        for name, value in like.items():
            whole = None
            for rank, data in enumerate(said):
                there = data[at[rank]]
                at[rank] += 1
                if not there:
                    continue
                part = np.frombuffer(data, np.uint8, value.nbytes, at[rank])
                at[rank] += value.nbytes
                whole = part if whole is None else whole | part
            # State that no server owns is the same on all trainers.
            values[name] = whole.tobytes() if whole is not None else session.get_slot(name, value).tobytes()
        return b"".join(values.values())
    everything, at, values = job._of_rank_0("ends a run", merged), 0, {}
    for name, value in like.items():
        values[name] = np.frombuffer(everything, value.dtype, value.size, at).reshape(value.shape).copy()
        at += value.nbytes
    return values


def averaged(job: Job, what: str, own: "list[dict[str, float]]") -> "list[dict[str, float]]":
    """Of metrics of each rank's rows, the means over the ranks, on all of them."""
    numbers = np.array([list(metrics.values()) for metrics in own], np.float64)
    said = job.gather(what, numbers.tobytes())

    def mean() -> bytes:
        assert said is not None  # on rank 0
        total = np.frombuffer(said[0], np.float64).copy()
        for other in said[1:]:
            total += np.frombuffer(other, np.float64)
        return (total / job.size).tobytes()
    means = np.frombuffer(job._of_rank_0(what, mean), np.float64).reshape(numbers.shape)
    return [dict(zip(metrics, map(float, row))) for metrics, row in zip(own, means)]
