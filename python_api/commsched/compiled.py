# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A step, and what it is compiled to."""

from __future__ import annotations

import dataclasses
import functools
import warnings
from typing import Any, Callable, Optional

from . import tools
from .arguments import check_integer, check_switch, is_integer, shown
from .cluster import Cluster
from .costs import Costs, GuessedCosts, measured
from .errors import FrontEndError
from .frontend.base import Description
from .notices import nothing_done, sends_nothing
from .strategy import Strategy
from .temporary import TemporaryFolder


class CompiledStep:
    """A training step at all levels and as plans, for numbers of workers and strategies as they are asked for."""

    def __init__(self, front_end: Callable[..., Description], step: Any, arguments: tuple, cluster: Optional[Cluster],
                 strategy: Strategy, costs: Costs, options: dict[str, Any]):
        self._front_end, self._step, self._arguments, self._options = front_end, step, arguments, options
        self.cluster: Optional[Cluster] = cluster
        self._tunes = strategy.schedule == "tuned"  # the solver's is where it begins
        self.strategy, self._costs = (dataclasses.replace(strategy, schedule=None) if self._tunes else strategy), costs
        self._measured: dict[int, tuple[Costs, Any]] = {}  # by workers, with the folder of the files
        self._descriptions: dict[int, Description] = {}
        self._plans: dict[tuple, bytes] = {}
        self._tells = True  # that nothing is measured

    @property
    def steps(self) -> int:
        """The steps that have been done: strategies may change with them."""
        raise NotImplementedError

    def _check_step(self) -> None:
        tools.check(self._level0(self.workers, self._cluster(self.workers)), self.strategy)

    @property
    def workers(self) -> int:
        """How many the program is for: the nodes of its cluster."""
        return self.cluster.nodes if self.cluster else 1

    def _description(self, workers: int) -> Description:
        check_integer("the number of workers", workers, 1)
        if workers not in self._descriptions:
            devices = self.cluster.devices if self.cluster else 1
            self._descriptions[workers] = self._front_end(self._step, self._arguments, workers=workers, devices=devices,
                                                          **self._options)
        return self._descriptions[workers]

    def _cluster(self, workers: int) -> Cluster:
        if self.cluster is None or workers != self.cluster.nodes:
            return dataclasses.replace(self.cluster or Cluster(nodes=workers), nodes=workers)
        return self.cluster

    def mlir(self, level: int = 0, workers: Optional[int] = None, cluster: bool = True) -> str:
        """The module's text at level 0 (program), 1 (graph) or 2 (schedule).

        workers: for another number of workers; cluster: with the cs.cluster operation.
        """
        if not is_integer(level, 0, 2):
            raise FrontEndError(f"level must be 0, 1 or 2, got: {shown(level)}")
        check_switch("cluster", cluster)
        if not cluster and level != 0:
            raise FrontEndError(f"cluster=False must go with level 0, got: level {level}, which is made for a cluster")
        workers = self.workers if workers is None else check_integer("the number of workers", workers, 1)
        text = self._level0(workers, self._cluster(workers) if cluster and self.cluster else None)
        if level == 0:
            return text
        costs = self._costs_of(workers) if level == 2 else Costs()
        return tools.lower(text, level, self.strategy.at(self.steps)[0], costs.options(), costs.folder)

    def _level0(self, workers: int, cluster: Optional[Cluster]) -> str:
        return self._description(workers).text(cluster.mlir() if cluster else [])

    @property
    def plan(self) -> bytes:
        """The plan file for this program's cluster."""
        return self._plan(self.workers)

    def _plan(self, workers: int, strategy: Optional[Strategy] = None) -> bytes:
        strategy = strategy or self.strategy.at(self.steps)[0]
        costs = self._costs_of(workers)
        key = (workers, *strategy.pipeline(2, costs.options()))
        if key not in self._plans:
            cluster = self._cluster(workers)
            self._plans[key] = tools.plan(self._level0(workers, cluster), strategy, costs.options(), costs.folder)
            if costs.guessed and workers > 1:
                warnings.warn(f"the schedule is made from guesses (links of {cluster.mbit_per_s} Mbit/s and {cluster.latency_ns} ns, "
                              f"{cluster.gflops} GFLOP/s): give cluster=Cluster(...), profile= and calibration=, or calibrate=True",
                              GuessedCosts, stacklevel=2)
        return self._plans[key]

    def _costs_of(self, workers: int) -> Costs:
        """What a schedule for so many workers is made from; measures it, if that is wanted."""
        if not self._costs.calibrate:
            return self._costs
        if sends_nothing(workers, self.strategy):
            if self._tells:
                self._tells = False
                nothing_done("calibrate=True measures nothing with one worker, which has no link to another")
            return self._costs
        if workers not in self._measured:
            description, folder = self._description(workers), TemporaryFolder()
            batch = description.flatten("step", self._example())
            values = {slot.name: slot.initial for slot in description.slots}
            self._measured[workers] = (measured(functools.partial(self._plan_to_measure, workers), values, batch, folder.name), folder)
        return self._measured[workers][0]

    def _plan_to_measure(self, workers: int, costs: Costs) -> bytes:
        return tools.plan(self._level0(workers, self._cluster(workers)), self.strategy.at(0)[0], costs.options(), costs.folder)

    def _example(self) -> Any:
        """The example batch, as run() is given batches."""
        examples = [self._arguments[position] for position in self._options["batch"]]
        return examples[0] if len(examples) == 1 else tuple(examples)
