# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The program that transpile() returns."""

from __future__ import annotations

import warnings
import weakref
from typing import Any, Callable, Iterable, Optional

from . import following
from .arguments import listed, shown
from .carried import CarriedStep
from .check import Checked, check
from .errors import FrontEndError, RuntimeFailure, UnknownName
from .notices import nothing_done, sends_nothing
from .running import check_global, length
from .steps import Steps
from .strategy import AllReduce


class Program(CarriedStep):
    """A training step, its parameters and state.

    params, state: current values; state is a list of the other carried arguments in order.
    """

    _parts = 1  # of a batch, of which run() is given one

    def stream(self, batches: Iterable[Any], workers: Optional[int] = None, replan: Any = None) -> Steps:
        """As run(), but an iterator over the metrics, step by step; several steps are always ahead of it.

        A step of the program is done when it is called, whether its metrics are taken or not. An error comes after the
        metrics of all steps before it.
        """
        from .replan import Replan, Tune
        workers = self.workers if workers is None else workers
        stays = replan is None
        replan, description = Replan.of(replan), self._description(workers)
        if sends_nothing(workers, self.strategy, self.cluster.devices if self.cluster else 1):
            if replan is not None:
                nothing_done(f"replan={type(replan).__name__} changes nothing with one worker, which sends nothing that could be sent by another plan")
            replan = None
        elif replan is None and stays and self._tunes and (workers > 1 or not isinstance(self.strategy, AllReduce)):
            replan = Tune()
        self._check_run(batches)

        def start():
            own = self._start(workers, replan, stays)
            return own.session, self.strategy.at(self.steps)[1]
        steps = self._calls(Steps(batches, lambda b: description.flatten("step", b, self._parts), description.metrics["step"], None,
                                  start, self._told()))
        self._keep_position()
        self._last = steps
        return steps

    def run(self, batches: Iterable[Any], workers: Optional[int] = None, replan: Any = None, log: Any = None,
            progress: bool = False) -> list[dict[str, float]]:
        """One step for each global batch, on this many workers (threads of this process).

        A batch is what the step takes: its batch argument, or a tuple of them. Returns the
        metrics of each step. Steps overlap; parameters and state stay in the runtime.

        After an exception, from the batches, of the workers or KeyboardInterrupt, `metrics` has those of all steps that
        were done, and `steps` says how many they are; the next run goes on behind them.

        replan: a Replan, or True: the workers measure fragments and links during the run, a new plan is
        made of that beside it, and all workers change to it with the same step (docs/replanning.md).
        Nothing else changes; `replans` says what happened. It stays so for later runs of the same workers, until one with replan=False.
        Or a Tune: several schedules are tried on steps of the run, and the fastest is kept; this is what the
        strategy's schedule="tuned" means.

        log: where the metrics of each step are written: a JsonLines, a TensorBoard, anything with write(step, metrics), or
        several of them. progress: shows how far the run is, with tqdm where that is installed.
        """
        return self._follow(lambda: self.stream(batches, workers, replan), length(batches), log, progress)

    def _follow(self, begin: Callable[[], Steps], count: Optional[int], log: Any, progress: bool) -> list[dict[str, float]]:
        """All steps of a stream, which is begun when log and progress are known to be right."""
        writers, first = following.check(log, progress), self.steps
        steps = begin()
        try:
            return list(following.followed(steps, first, writers, progress, count))
        finally:
            steps.finish()

    @property
    def metrics(self) -> list[dict[str, float]]:
        """Those of the steps of the last run or stream so far (of the last 65536 steps), also if it has ended with an
        exception. Waits for steps that are running."""
        return self._last.metrics if self._last is not None else []

    def step(self, batch: Any) -> dict[str, float]:
        """One step; returns its metrics."""
        own = self._workers_now()
        return self.run([batch], own.of[0] if own is not None else None)[0]

    def call(self, function: str, batches: Iterable[Any]) -> list[dict[str, float]]:
        """Runs a further function of the module on each global batch; returns its metrics."""
        own = self._workers_now()
        workers = own.of[0] if own is not None else self.workers
        description = self._description(workers)
        if not isinstance(function, str):
            raise FrontEndError(f"function must be a name, got: {shown(function)}")
        if function not in description.batches or function == "step":
            raise UnknownName(f"function must be one besides the step, {listed([n for n in description.batches if n != 'step'])}, got: {shown(function)}")
        self._check_run(batches)
        steps = self._calls(Steps(batches, lambda b: description.flatten(function, b, self._parts), description.metrics[function],
                                  function, lambda: (self._start(workers).session, None), self._told()))
        try:
            return list(steps)
        finally:
            steps.finish()

    def _check_run(self, batches: Any) -> None:
        check_global(batches)

    def _calls(self, steps: Steps) -> Steps:
        self._streams.add(steps)
        return steps

    def _told(self) -> Callable[[Any], None]:
        """What ends a session whose error is about to be raised. It does not keep the program."""
        reference = weakref.ref(self)

        def failed(session):
            program = reference()
            own = program._workers_now() if program is not None else None
            if program is not None and own is not None and own.session is session:
                own.failed = True
                program.close()
        return failed

    def check(self, batches: Iterable[Any], workers: Optional[int] = None) -> list[Checked]:
        """Whether the plan computes what the step says: one step for each of these global batches, beside the
        reference interpreter (docs/interpreter.md). Begins with the current parameters and state, in workers of
        its own, and changes nothing.

        Returns the largest difference of each tensor and metric. Raises CheckError, which names the worst tensor,
        if one is farther from the reference than the types and the lengths of sums allow; what could not be
        determined is counted in the table, and warned of.
        """
        strategy, _ = self.strategy.at(self.steps)
        if strategy.sparse is not None:
            raise FrontEndError("check must be of a program that computes what its step says, got: sparse gradients")
        if strategy.row_sparse:
            raise FrontEndError("check must be of a program that computes what its step says, got: row_sparse")
        if not strategy.synchronous:
            raise FrontEndError(f"check must be of synchronous parameter servers, got: mode='{strategy.mode}'")
        workers = self.workers if workers is None else workers
        description = self._description(workers)
        check_global(batches)
        try:
            each = iter(batches)
        except TypeError:
            raise FrontEndError(f"batches must be an iterable of global batches, got: {type(batches).__name__}") from None
        flat = [description.flatten("step", batch) for batch in each]
        if not flat:
            raise FrontEndError("check must have at least one batch, got: none")
        table = check(self._plan(workers, strategy), self._level0(workers, None), self.slots(), flat)
        unknown = [row.name for row in table if not row.determined]
        if unknown:
            warnings.warn(f"not determined, and not checked: {', '.join(unknown)}", stacklevel=2)
        return table

    def __enter__(self) -> "Program":
        return self

    def __exit__(self, kind: Any, *_) -> None:
        own = self._workers_now()
        if own is not None and kind is not None and issubclass(kind, RuntimeFailure):
            own.failed = True  # which is being told
        self.close()

    def __repr__(self) -> str:
        description = self._description(self.workers)
        params = [s.initial.size for s in description.slots if s.kind == "param"]
        name = getattr(self._step, "__name__", type(self._step).__name__)
        return (f"<commsched.Program of '{name}': {self.workers} worker{'s' if self.workers > 1 else ''}, {self.strategy.name}, "
                f"{len(params)} parameters of {sum(params)} elements, {len(description.slots) - len(params)} of state>")
