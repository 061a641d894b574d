# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The programs of a step of PaddlePaddle: in one process, and as one rank of a job."""

from __future__ import annotations

import re
from typing import Any, Optional

import numpy as np
import paddle

from .. import tools
from ..arguments import check_integer
from ..errors import FrontEndError
from ..rates import RatedProgram, RatedRankProgram
from ..strategy import ParameterServers
from . import values
from .describing import Step, describe


class Program(RatedProgram):
    """A training step of a static program, with the values that its parameters and persistable variables have come to.

    params: a dictionary by the names of parameters. state: [the other persistable variables], and the seed, if anything is
    drawn. The scope does not change until load_into().
    """

    def __init__(self, step: Step, example: "dict[str, np.ndarray]", *arguments: Any, **options: Any):
        super().__init__(describe, step, (example,), *arguments, **options)

    def _read_rates(self) -> list[float]:
        """As Paddle's executor finds them: those of the program's scheduler, else those in the scope."""
        step: Step = self._step
        scheduler = getattr(step.program, "lr_scheduler", None)
        if scheduler is not None:
            return [float(scheduler()) if name == step.program.lr_name else _rate(step, name) for name in step.captured.rates]
        return [_rate(step, name) for name in step.captured.rates]

    def _check_scheduler(self, scheduler: Any) -> None:
        if isinstance(scheduler, paddle.optimizer.lr.ReduceOnPlateau):
            raise FrontEndError("ReduceOnPlateau needs the metrics of each step before the next one: call program.step(batch), then "
                                "scheduler.step(metric)")
        own = getattr(self._step.program, "lr_scheduler", None)
        if scheduler is not None and scheduler is not own:
            raise FrontEndError(f"scheduler must be that of the program, program.lr_scheduler, got: {type(scheduler).__name__}")

    def load_into(self, scope: Any = None) -> None:
        """Gives the variables of a scope (default: that which transpile() read) the values that the program has come to, bit
        for bit. All, or nothing if something does not fit. The rates stay as they are."""
        scope = self._step.scope if scope is None else values.check_scope(scope)
        found = {name: value for name, value in self.slots().items() if name in self._step.values and name not in self._step.captured.rates}
        for name, value in found.items():
            old = values.read(scope, name, "variable")
            if (old.shape, old.dtype) != (value.shape, value.dtype):
                raise FrontEndError(f"variable '{name}' of the scope must match {value.dtype}{list(value.shape)}, got: {old.dtype}{list(old.shape)}")
        for name, value in found.items():
            values.write(scope, name, value)

    # ---- names of Paddle's transpiler --------------------------------------------------------------------
    def get_trainer_program(self) -> str:
        """The graph of a trainer: what it computes, sends and receives, as text of level 1."""
        return self._function("step")

    def get_pserver_program(self, server: int) -> str:
        """The graph of this parameter server, from 0, as text of level 1: the parameters that it owns and their updates."""
        if not isinstance(self.strategy, ParameterServers):
            raise FrontEndError("the program must have parameter servers (pservers=), got: all-reduce")
        servers = self.strategy.servers or 1
        server = check_integer("server", server, 0, servers - 1)
        return self._function(f"server.{server}")

    def _function(self, name: str) -> str:
        text = self.mlir(1)
        found = re.search(rf"^  func\.func (?:\w+ )?@(?:\"{re.escape(name)}\"|{re.escape(name)})\(.*?^  \}}$", text, re.M | re.S)
        if found is None:
            raise tools.ToolError(f"the graph has no function '{name}'")
        return found.group(0) + "\n"


def _rate(step: Step, name: str) -> float:
    return float(values.read(step.scope, name, "rate").reshape(()))


class RankProgram(Program, RatedRankProgram):
    """As Program and commsched.rank_program.RankProgram. The rates are each rank's own, and must be those of rank 0 in every
    step; load_into and check are for any rank alone."""
