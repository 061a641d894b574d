# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The program of a PyTorch step in a job of several ranks: this process is one of its workers."""

from __future__ import annotations

from typing import Any, Iterable, Optional

from .. import rank_program as base
from ..steps import Steps
from .program import Program


class RankProgram(Program, base.RankProgram):
    """As commsched.torch.Program and commsched.rank_program.RankProgram. The optimizer's rates are each rank's own, and must
    be those of rank 0 in every step; load_into and check are for any rank alone."""

    def stream(self, batches: Iterable[Any], workers: Optional[int] = None, replan: Any = None, scheduler: Any = None) -> Steps:
        self._check_run(batches)
        # With a scheduler the rates of each step are told, as it may be that not all ranks notice that they change.
        self._always, self._agreed = scheduler is not None, self._rates_now()
        self._agree_rates("rates, and the scheduler,", [*self._agreed, type(scheduler).__name__ if scheduler is not None else None])
        self._set_rates()  # so that those which transpile() found, and which are no matter, need not be the same
        return super().stream(batches, workers, replan, scheduler)

    def _begin_step(self) -> None:
        rates = self._rates_now()
        if self._always or rates != self._agreed:
            self._agree_rates("rates of the optimizer", rates)
            self._agreed = rates
        super()._begin_step()

    def _agree_rates(self, what: str, own: Any) -> None:
        self._job._agree("takes the optimizer's rates", own, base.same(what))
