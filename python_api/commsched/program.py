# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""transpile() and the program that it returns."""

from __future__ import annotations

import itertools
import os
import tempfile
import warnings
from typing import Any, Callable, Iterable, Mapping, Optional, Sequence, Union

import numpy as np

from . import tools
from .check import Checked, check
from .cluster import Cluster, check_count
from .errors import FrontEndError
from .frontend.base import Description, FrontEnd
from .sparse import Sparse
from .strategy import Strategy


def _jax() -> FrontEnd:
    try:
        from .frontend.jax_frontend import describe
    except ImportError as error:
        raise FrontEndError(f"the JAX front end needs JAX: pip install 'commsched[jax]' ({error})") from error
    return describe


def transpile(step: Callable, *example_arguments: Any, cluster: Union[int, Cluster, None] = None, params: int = 0,
              batch: Union[int, Sequence[int]] = -1, constant: Sequence[int] = (),
              functions: Optional[Mapping[str, tuple]] = None, location_root: Optional[str] = None,
              mode: str = "all-reduce", servers: Optional[int] = None, sync_mode: Optional[str] = None,
              merge: Optional[int] = None, min_block_elements: Optional[int] = None, slice: Optional[bool] = None,
              placement: Optional[str] = None, max_block_elements: Optional[int] = None,
              row_sparse: Sequence[str] = (), schedule: Optional[str] = None,
              sparse: Union[None, float, Sparse] = None, spread_sums: bool = False) -> "Program":
    """Turns a training step written for one device into a distributed program.

    step(params, opt_state, batch) -> (params, opt_state, loss): any number of arguments,
    all pytrees. `params` and `batch` are positions of arguments; every other argument is
    state. Outputs are matched to the carried arguments by structure, shapes and dtypes,
    in order; what is left are metrics, floating-point scalars, averaged over the workers.

    cluster: a number of workers or a Cluster. The example batch is the GLOBAL batch:
    dimension 0 of each batch array is divided by the workers.
    constant: positions of state arguments that no output is the new value of (needed only
    where an output could be taken for it).
    functions: further functions of the module, name -> (function, *example arguments);
    arguments that look like carried arguments are those, the others are batches.
    location_root: folder that source files are named relative to (default: the working directory).

    mode: "all-reduce", or "parameter-server": gradients go to `servers` parameter servers
    (default 1), which own the parameters and the optimizer's state, apply the updates and
    hand out the values. sync_mode: "sync" (default), "async", or "half-async", in which a
    trainer merges `merge` gradients before it sends them. min_block_elements, max_block_elements,
    slice (bool) and placement ("balanced", "round-robin", "hash") say how parameters are cut
    into blocks and which server owns a block. docs/parameter-server.md describes all of them.

    row_sparse: names of parameters (as in slots()) that are tables of which a batch reads few
    rows, with parameter servers: only these rows travel, and the update is applied to rows
    that some trainer's batch reads and to no others, so that momentum, Adagrad, Adam and
    weight decay become lazy. docs/row-sparse.md says what the step may do with them.

    schedule: the policy that decides in which messages and in which order tensors are sent:
    "solver" (default), "priority", or a published one (docs/schedule-comm.md).

    sparse: of each gradient only this part of the elements, the largest, travels in a step, and the
    rest is added to the next gradient: a density such as 0.01, or a Sparse (docs/sparse.md).

    spread_sums: norms of whole parameters and gradients (LARS, LAMB, clipping), which every worker would
    compute, are shared among the workers where that pays (docs/spread-sums.md); the bits stay the same.

    Raises FrontEndError (a ValueError), UnsupportedOp and RefusedProgram among them, before anything runs.
    """
    if cluster is not None and not isinstance(cluster, Cluster):
        if isinstance(cluster, bool) or not hasattr(cluster, "__index__"):
            raise FrontEndError(f"cluster must be a Cluster or a number of workers, got: {cluster!r}")
        cluster = Cluster(nodes=cluster)
    batch, constant = ((p,) if isinstance(p, int) else p for p in (batch, constant))
    strategy = Strategy(mode, servers, sync_mode, merge, min_block_elements, slice, placement,
                        max_block_elements, schedule, Sparse.of(sparse), bool(spread_sums))
    row_sparse = (row_sparse,) if isinstance(row_sparse, str) else tuple(row_sparse)
    if row_sparse and mode != "parameter-server":
        raise FrontEndError(f"row_sparse must go with mode='parameter-server', got: mode='{mode}'")
    return Program(_jax(), step, example_arguments, cluster, strategy, location_root=location_root,
                   row_sparse=row_sparse, params=params, batch=batch, constant=constant,
                   functions={} if functions is None else functions)


class Program:
    """A training step, its parameters and state.

    params, state: current values; state is a list of the other carried arguments in order.
    """

    def __init__(self, front_end: FrontEnd, step: Callable, arguments: tuple, cluster: Optional[Cluster],
                 strategy: Strategy = Strategy(), **options):
        self._front_end, self._step, self._arguments, self._options = front_end, step, arguments, options
        self.cluster: Optional[Cluster] = cluster
        self.strategy = strategy
        self._descriptions: dict[int, Description] = {}
        self._plans: dict[tuple, bytes] = {}
        self._session = None
        self._session_of: Any = None  # workers, and the strategy of its steps
        self._session_workers = 0
        self._steps = 0
        self._rank_state: Any = None  # a folder with what each worker has of its own, and their number
        self._trace: Optional[str] = None
        self._replan: Any = None  # of the workers that run
        self._replan_folder: Any = None
        self._replans: list[dict] = []
        description = self._description(self.workers)
        tools.check(self._level0(self.workers, self._cluster(self.workers)), self.strategy)
        self._values = {s.name: s.initial for s in description.slots}

    # ---- what it is --------------------------------------------------------------------------
    @property
    def workers(self) -> int:
        return self.cluster.nodes if self.cluster else 1

    def _description(self, workers: int) -> Description:
        check_count(workers, "the number of workers")
        if workers not in self._descriptions:
            self._descriptions[workers] = self._front_end(self._step, self._arguments, workers=workers, **self._options)
        return self._descriptions[workers]

    def _cluster(self, workers: int) -> Optional[Cluster]:
        if self.cluster is None or workers != self.cluster.nodes:
            from dataclasses import replace
            return replace(self.cluster or Cluster(nodes=workers), nodes=workers)
        return self.cluster

    def mlir(self, level: int = 0, workers: Optional[int] = None, cluster: bool = True) -> str:
        """The module's text at level 0 (program), 1 (graph) or 2 (schedule).

        workers: for another number of workers; cluster: with the cs.cluster operation.
        """
        workers = self.workers if workers is None else workers
        text = self._level0(workers, self._cluster(workers) if cluster and self.cluster else None)
        if level == 0:
            return text
        if level not in (1, 2):
            raise ValueError(f"level must be 0, 1 or 2, got: {level}")
        return tools.lower(text, level, self.strategy.at(self._steps)[0])

    def _level0(self, workers: int, cluster: Optional[Cluster]) -> str:
        return self._description(workers).text(cluster.mlir() if cluster else [])

    @property
    def plan(self) -> bytes:
        """The plan file for this program's cluster."""
        return self._plan(self.workers)

    def _plan(self, workers: int, strategy: Optional[Strategy] = None) -> bytes:
        strategy = strategy or self.strategy.at(self._steps)[0]
        key = (workers, *strategy.pipeline(2))
        if key not in self._plans:
            self._plans[key] = tools.plan(self._level0(workers, self._cluster(workers)), strategy)
        return self._plans[key]

    def slots(self) -> dict[str, np.ndarray]:
        """Current values of all carried tensors, by name."""
        if self._session is not None:
            self._values = {n: self._session.get_slot(n, v) for n, v in self._values.items()}
        return dict(self._values)

    def set_slots(self, values: Mapping[str, np.ndarray]) -> None:
        """Replaces carried tensors by name."""
        for name, value in values.items():
            if name not in self._values:
                raise KeyError(f"no parameter or state '{name}'")
            old = self._values[name]
            value = np.asarray(value)
            if (value.shape, value.dtype) != (old.shape, old.dtype):
                raise ValueError(f"'{name}' must match {old.dtype}{list(old.shape)}, got: {value.dtype}{list(value.shape)}")
            self._values[name] = value
            if self._session is not None:
                self._session.set_slot(name, value)

    def _carried(self) -> dict[int, Any]:
        return self._description(self.workers).restore(self.slots())

    @property
    def params(self) -> Any:
        """The parameters, as the pytree that was given."""
        return self._carried()[self._description(self.workers).params_position]

    @property
    def state(self) -> list:
        """The other carried arguments, in order."""
        position = self._description(self.workers).params_position
        return [v for i, v in sorted(self._carried().items()) if i != position]

    # ---- running ---------------------------------------------------------------------------------
    def _start(self, workers: int, replan: Any = None):
        from .native import Session
        strategy, _ = self.strategy.at(self._steps)
        if self._session is None or self._session_of != (workers, strategy) or (replan and replan != self._replan):
            values = self.slots()
            self.close()
            self._session = Session(self._plan(workers, strategy),
                                    self._replanning(workers, replan, strategy) if replan else None)
            self._session_of, self._session_workers, self._replan = (workers, strategy), workers, replan
            if self._trace:
                self._session.trace(self._trace)
            for name, value in values.items():
                self._session.set_slot(name, value)
            if self._rank_state is not None:
                folder, saved = self._rank_state
                self._session.load_rank_state(os.path.join(folder.name, "state"), saved)
        return self._session

    def _replanning(self, workers: int, replan: Any, strategy: Strategy) -> dict[str, object]:
        """The arguments of a session whose plan may change."""
        if self.strategy.mode != "all-reduce":
            raise ValueError("replan must go with mode='all-reduce'; a plan with parameter servers cannot be replaced")
        self._replan_folder = tempfile.TemporaryDirectory(prefix="commsched-")
        module = os.path.join(self._replan_folder.name, "step.mlir")
        with open(module, "w", encoding="utf-8") as file:
            file.write(self._level0(workers, self._cluster(workers)))
        (pipeline,) = strategy.pipeline(2)
        return dict(command=replan.command(module, pipeline).encode(), every=replan.every or 0,
                    when_off_percent=replan.when_off or 0.0, window=replan.window, deadline_seconds=replan.deadline,
                    folder=os.path.abspath(replan.folder).encode() if replan.folder else None)

    @property
    def replans(self) -> list[dict]:
        """What has become of new plans (see run), in order: dictionaries with "kind" ("begun", "decided",
        "switched", "given up"), "attempt", "text", and for some "call", "plan" (its digest) and times in ms."""
        return self._replans + (self._session.replans() if self._session is not None and self._replan else [])

    def run(self, batches: Iterable[Any], workers: Optional[int] = None, replan: Any = None) -> list[dict[str, float]]:
        """One step for each global batch, on this many workers (threads of this process).

        A batch is what the step takes: its batch argument, or a tuple of them. Returns the
        metrics of each step. Steps overlap; parameters and state stay in the runtime.

        replan: a Replan, or True: the workers measure fragments and links during the run, a new plan is
        made of that beside it, and all workers change to it with the same step (docs/replanning.md).
        Nothing else changes; `replans` says what happened. It stays so for later runs of the same workers.
        """
        from .replan import Replan
        workers = self.workers if workers is None else workers
        description = self._description(workers)
        batches, metrics = iter(batches), []
        while True:
            _, left = self.strategy.at(self._steps)
            session = self._start(workers, Replan.of(replan))
            part = batches if left is None else itertools.islice(batches, left)
            done = session.run(None, (description.flatten("step", b) for b in part), description.metrics["step"])
            self._steps += len(done)
            metrics += done
            if left is None or len(done) < left:
                return metrics

    def step(self, batch: Any) -> dict[str, float]:
        """One step; returns its metrics."""
        return self.run([batch], self._session_workers or None)[0]

    def call(self, function: str, batches: Iterable[Any]) -> list[dict[str, float]]:
        """Runs a further function of the module on each global batch; returns its metrics."""
        workers = self._session_workers or self.workers
        description = self._description(workers)
        if function not in description.batches or function == "step":
            raise KeyError(f"no function '{function}' besides the step")
        session = self._start(workers)
        return session.run(function, (description.flatten(function, b) for b in batches),
                           description.metrics[function])

    def check(self, batches: Iterable[Any], workers: Optional[int] = None) -> list[Checked]:
        """Whether the plan computes what the step says: one step for each of these global batches, beside the
        reference interpreter (docs/interpreter.md). Begins with the current parameters and state, in workers of
        its own, and changes nothing.

        Returns the largest difference of each tensor and metric. Raises CheckError, which names the worst tensor,
        if one is farther from the reference than the types and the lengths of sums allow; what could not be
        determined is counted in the table, and warned of.
        """
        strategy, _ = self.strategy.at(self._steps)
        if strategy.sparse is not None:
            raise ValueError("check must be of a program that computes what its step says, got: sparse gradients")
        if self._options.get("row_sparse"):
            raise ValueError("check must be of a program that computes what its step says, got: row_sparse")
        if strategy.sync_mode not in (None, "sync"):
            raise ValueError(f"check must be of synchronous parameter servers, got: sync_mode='{strategy.sync_mode}'")
        workers = workers or self.workers
        description = self._description(workers)
        table = check(self._plan(workers, strategy), self._level0(workers, None), self.slots(),
                      [description.flatten("step", batch) for batch in batches])
        unknown = [row.name for row in table if not row.determined]
        if unknown:
            warnings.warn(f"not determined, and not checked: {', '.join(unknown)}", stacklevel=2)
        return table

    def trace(self, path: Optional[str]) -> None:
        """Writes a trace (ui.perfetto.dev) of the workers that the next run starts; it is complete after close()."""
        self.close()
        self._trace = path

    def close(self) -> None:
        """Ends the workers; parameters and state are kept, what each worker has of its own included."""
        if self._session is not None:
            self.slots()
            if self.strategy.sparse is not None:
                folder = tempfile.TemporaryDirectory(prefix="commsched-")
                self._session.save_rank_state(os.path.join(folder.name, "state"))
                self._rank_state = (folder, self._session_workers)
            self._replans = self.replans
            self._session.close()
            self._session = self._replan = None
            if self._replan_folder is not None:
                self._replan_folder.cleanup()
                self._replan_folder = None
