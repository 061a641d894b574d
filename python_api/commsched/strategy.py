# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How workers are kept together: all-reduce, or parameter servers and their options; and how messages are scheduled."""

from __future__ import annotations

import dataclasses
from typing import Optional

from .errors import FrontEndError
from .sparse import Sparse

_CHOICES = {"mode": ("all-reduce", "parameter-server"), "sync_mode": ("sync", "async", "half-async"),
            "placement": ("balanced", "round-robin", "hash"),
            "schedule": ("solver", "priority", "fifo", "wfbp", "fixed-buckets", "p3", "bytescheduler", "mg-wfbp", "pace",
                         "dear", "tictac", "latency-hiding")}


@dataclasses.dataclass(frozen=True)
class Strategy:
    """Options of the compiler; None leaves its default. docs/parameter-server.md says what they mean, and
    docs/schedule-comm.md what `schedule` does."""

    mode: str = "all-reduce"
    servers: Optional[int] = None
    sync_mode: Optional[str] = None
    merge: Optional[int] = None
    min_block_elements: Optional[int] = None
    slice: Optional[bool] = None
    placement: Optional[str] = None
    max_block_elements: Optional[int] = None
    schedule: Optional[str] = None
    sparse: Optional[Sparse] = None
    spread_sums: bool = False

    def __post_init__(self):
        for name, choices in _CHOICES.items():
            value = getattr(self, name)
            if value is not None and value not in choices:
                raise FrontEndError(f"{name} must be one of {', '.join(choices)}, got: {value}")
        for name in ("servers", "merge", "min_block_elements", "max_block_elements"):
            value = getattr(self, name)
            if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 1):
                raise FrontEndError(f"{name} must be at least 1, got: {value}")
        if self.mode != "parameter-server" and self._given():
            raise FrontEndError(f"{', '.join(self._given())} must go with mode='parameter-server', got: mode='{self.mode}'")
        if self.sparse is not None and self.mode != "all-reduce":
            raise FrontEndError(f"sparse must go with mode='all-reduce', got: mode='{self.mode}'")
        if self.spread_sums and self.mode != "all-reduce":
            raise FrontEndError(f"spread_sums must go with mode='all-reduce', got: mode='{self.mode}'")
        if (self.merge or 1) > 1 and self.sync_mode != "half-async":
            raise FrontEndError(f"merge must be 1 without sync_mode='half-async', got: {self.merge}")

    def _given(self) -> dict:
        options = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        del options["mode"], options["schedule"], options["sparse"], options["spread_sums"]
        return {name: value for name, value in options.items() if value is not None}

    def at(self, step: int) -> tuple["Strategy", Optional[int]]:
        """What holds in this step, and for how many steps from it; None: for all."""
        if self.sparse is None:
            return self, None
        sparse, steps = self.sparse.at(step)
        return dataclasses.replace(self, sparse=sparse), steps

    def insertion(self) -> list[str]:
        """Arguments of cs-opt for the pass that puts the communication in, alone."""
        options = [f"{name.replace('_', '-')}={str(value).lower()}" for name, value in self._given().items()]
        if self.mode == "all-reduce":
            return ["--insert-dist-comm"]
        return [" ".join(["--insert-dist-comm=mode=parameter-server", *options])]

    def pipeline(self, level: int) -> list[str]:
        """Arguments of cs-opt that end at this level."""
        options = [f"{name.replace('_', '-')}={str(value).lower()}" for name, value in self._given().items()]
        if level == 1:
            if self.mode == "all-reduce" and (self.sparse is not None or self.spread_sums):
                passes = ["--insert-dist-comm", "--replicate-devices", "--assign-devices"]
                if self.sparse is not None:
                    passes.append("--lower-sparse-comm=" + " ".join(self.sparse.options(in_pipeline=False)))
                if self.spread_sums:
                    passes.append("--spread-sums")
                return passes
            return self.insertion()
        if self.spread_sums:
            options.append("spread-sums=true")
        if self.sparse is not None:
            options += self.sparse.options(in_pipeline=True)
        if self.schedule is not None:
            options.append(f"schedule={self.schedule}")
        return [f"--cs-{self.mode}-pipeline" + ("=" + " ".join(options) if options else "")]
