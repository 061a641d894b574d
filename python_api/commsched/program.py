# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The program that transpile() returns."""

from __future__ import annotations

import dataclasses
import os
import warnings
import weakref
from typing import Any, Callable, Iterable, Mapping, Optional

import numpy as np

from . import following
from . import saved as saved_file
from .arguments import check_path, listed, shown
from .check import Checked, check, write
from .cluster import Cluster
from .compiled import CompiledStep
from .costs import Costs
from .errors import FrontEndError, RuntimeFailure, UnknownName
from .frontend.base import Description
from .notices import nothing_done, sends_nothing
from .running import Workers, check_global, length
from .saved import Saved
from .steps import Steps
from .strategy import AllReduce, Strategy
from .temporary import TemporaryFolder


class Program(CompiledStep):
    """A training step, its parameters and state.

    params, state: current values; state is a list of the other carried arguments in order.
    """

    def __init__(self, front_end: Callable[..., Description], step: Any, arguments: tuple, cluster: Optional[Cluster],
                 strategy: Strategy = AllReduce(), costs: Costs = Costs(), **options):
        super().__init__(front_end, step, arguments, cluster, strategy, costs, options)
        self._session: Optional[Workers] = None
        self._streams: "weakref.WeakSet[Steps]" = weakref.WeakSet()
        self._last: Optional[Steps] = None  # of the step
        self._trace: Optional[str] = None
        self._replans: list[dict] = []
        description = self._description(self.workers)
        self._check_step()
        # What there was when the last workers ended: changes as a whole.
        self._saved = Saved({s.name: np.array(s.initial) for s in description.slots})

    def slots(self) -> dict[str, np.ndarray]:
        """Current values of all carried tensors, by name: copies. After an error of the workers, those after the last
        step that all of them have completed."""
        own = self._workers_now()
        if own is None:
            return {n: v.copy() for n, v in self._saved.values.items()}
        return {n: own.session.get_slot(n, v) for n, v in self._saved.values.items()}

    def set_slots(self, values: Mapping[str, np.ndarray]) -> None:
        """Replaces carried tensors by name: all of these, or none."""
        given = self._checked_slots(values)
        own = self._workers_now()
        if own is not None:
            try:
                for name, value in given.items():
                    own.session.set_slot(name, value)
                return
            except RuntimeFailure:  # they have ended; their values are taken over
                self.close()
        self._saved = dataclasses.replace(self._saved, values={**self._saved.values, **given})

    def _checked_slots(self, values: Any) -> "dict[str, np.ndarray]":
        """Copies of what set_slots() is given. Raises FrontEndError."""
        given, known = {}, self._saved.values
        if not isinstance(values, Mapping):
            raise FrontEndError(f"slots must be given as a mapping of names to values, got: {type(values).__name__}")
        for name, value in values.items():
            if name not in known:
                raise UnknownName(f"slots must be parameters or state, {listed(known)}, got: {shown(name)}")
            old = known[name]
            try:
                value = np.array(value)
            except ValueError as error:  # rows of other lengths
                raise FrontEndError(f"'{name}' must be an array, got: {shown(value)} ({error})") from None
            if (value.shape, value.dtype) != (old.shape, old.dtype):
                raise FrontEndError(f"'{name}' must match {old.dtype}{list(old.shape)}, got: {value.dtype}{list(value.shape)}")
            given[name] = value
        return given

    @property
    def steps(self) -> int:
        """The steps that the values come after, of all runs. Waits for those that are running."""
        own = self._workers_now()
        return self._saved.steps + (own.session.steps() if own is not None else 0)

    @property
    def position(self) -> Any:
        """Where in the data that is: the position of the batches of the last run (Batches.position, or what else has
        one) behind the last step that is done. None if they have none."""
        known, position = self._last.position if self._last is not None else (False, None)
        return position if known else self._saved.position

    def save(self, path: "str | os.PathLike") -> None:
        """Writes a file with all that going on needs: parameters and state, what each worker has of its own (residuals
        and thresholds of sparse gradients), the number of steps, and the position in the data."""
        check_path("path", path)
        if not self.strategy.synchronous:
            self.close()  # what trainers have merged and not sent is in no value
        own = self._workers_now()
        saved_file.write(path, self._saved if own is None else self._take(own))

    _parts = 1  # of a batch, of which run() is given one

    def restore(self, path: "str | os.PathLike") -> Any:
        """Goes back to what save() has written, with this step and any number of workers. Returns the position in the
        data, for Loader.resume. Raises FrontEndError, and changes nothing, if the file is not whole or another program's."""
        return self._go_back(saved_file.read(check_path("path", path), self._saved.values))

    def _go_back(self, saved: Saved) -> Any:
        self.close()
        self._saved, self._last = saved, None
        return saved.position

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
    def _workers_now(self) -> "Optional[Workers]":
        """What runs, if anything does."""
        own = self._session
        if own is None or own.session.closed:
            return None
        if own.saved is not None:  # KeyboardInterrupt has ended close() before it was through
            self._end(own)
            return None
        return own

    def _start(self, workers: int, replan: Any = None, stays: bool = True) -> "Workers":
        """stays: the plan may go on changing without replan, where it does."""
        own, steps = self._workers_now(), self.steps
        strategy, _ = self.strategy.at(steps)
        if own is not None and not own.ending and own.of == (workers, strategy) and (replan == own.replan or not replan and stays):
            return own
        self.close()
        folder = TemporaryFolder() if replan else None
        options = self._replanning(workers, replan, strategy, folder) if replan else None
        session = self._open(workers, strategy, options)
        try:
            if self._trace:
                session.trace(self._trace)
            for name, value in self._saved.values.items():
                session.set_slot(name, value)
            self._write_own(session)
        except BaseException:
            session.close()
            raise
        self._session = Workers(session, (workers, strategy), replan, folder)
        return self._session

    def _open(self, workers: int, strategy: Strategy, replan: Optional[dict]) -> Any:
        from .native import Session
        return Session(self._compiled(workers, strategy, replan), replan)

    def _compiled(self, workers: int, strategy: Strategy, replan: Optional[dict]) -> bytes:
        """The plan. Others that are to be tried are compiled too, and become files."""
        plan = self._plan(workers, strategy)
        if not replan or "tune" not in replan:
            return plan
        plans = {strategy.schedule or "solver": plan}
        plans.update((name, self._plan(workers, other)) for name, other in replan["tune"].strategies(strategy).items())
        paths, folder = [], os.fsdecode(replan["folder"])
        if "\n" in folder:  # which is what stands between paths for the library
            raise FrontEndError(f"the folder of temporary files must be one without line breaks to try plans, got: {shown(folder)}")
        for name, of_name in plans.items():
            paths.append(os.path.join(folder, f"{name}.plan"))
            write(paths[-1], [of_name])
        replan["tune"] = os.fsencode("\n".join(paths))
        return plan

    def _write_own(self, session: Any) -> None:
        saved_file.write_own(session, self._saved.own)

    def _read_own(self, own: "Workers") -> "tuple[bytes, ...]":
        return saved_file.read_own(own.session, range(own.of[0])) if own.of[1].sparse is not None else ()

    def _replanning(self, workers: int, replan: Any, strategy: Strategy, folder: Any) -> dict[str, object]:
        """The arguments of a session whose plan may change."""
        from .replan import Tune, scheduled
        servers = not isinstance(self.strategy, AllReduce)
        if servers and not isinstance(replan, Tune):
            raise FrontEndError("replan must go with AllReduce, or be a Tune; links to parameter servers are not measured")
        if servers and not self.strategy.synchronous:
            raise FrontEndError(f"replan must go with mode='sync', got: mode={self.strategy.mode!r}")
        if isinstance(replan, Tune):
            return dict(tune=replan, window=replan.steps, folder=os.fsencode(folder.name))
        module = os.path.join(folder.name, "step.mlir")
        write(module, [self._level0(workers, self._cluster(workers)).encode()])
        (pipeline,) = scheduled(strategy, replan.schedule or strategy.schedule or "solver").pipeline(2)  # costs are what is measured then
        return dict(command=os.fsencode(replan.command(module, pipeline)), every=replan.every or 0,
                    when_off_percent=replan.when_off or 0.0, window=replan.window or 0, deadline_seconds=replan.deadline,
                    folder=os.fsencode(replan.folder) if replan.folder else None)

    @property
    def replans(self) -> list[dict]:
        """What has become of new plans (see run), in order: dictionaries with "kind" ("begun", "decided",
        "switched", "unchanged", "given up", "kept"), "attempt", "text", and for some "call", "plan" (its digest) and times in ms."""
        own = self._workers_now()
        return self._replans + (own.session.replans() if own is not None and own.replan else [])

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

    def trace(self, path: Optional[str]) -> None:
        """Writes a trace (ui.perfetto.dev) of the workers that the next run starts; it is complete after close(). None: no further one.
        Raises OSError where there can be no such file."""
        path = None if path is None else check_path("path", path)
        if path is not None and not os.path.isabs(path):
            path = os.path.join(os.getcwd(), path)
        if path is not None:  # the workers write it as they end
            made = not os.path.lexists(path)
            with open(path, "ab"):
                pass
            if made:  # nobody is to take it for a trace
                os.unlink(path)
        self.close()
        self._trace = path

    def _keep_position(self) -> None:
        self._saved = dataclasses.replace(self._saved, position=self.position)

    def _take(self, own: "Workers") -> Saved:
        """All that these workers have."""
        for steps in list(self._streams):
            steps.collect(own.session)
        return Saved(self.slots(), self.steps, self.position, self._read_own(own))

    def close(self) -> None:
        """Ends the workers; parameters and state are kept, what each worker has of its own included. If steps of theirs
        have failed and nobody has been told yet, warns of it."""
        own = self._workers_now()
        if own is None:
            return
        own.ending, error = True, None
        try:
            own.session.finish()
        except RuntimeFailure as failure:
            error = failure
        try:
            own.saved = (self._take(own), self.replans)
        except saved_file.Unwritten:  # it can be read when the disk takes it: they stay
            raise
        except RuntimeFailure:  # nothing of theirs can be read: what there was before is what there is
            own.saved = (self._saved, self._replans)
            self._end(own)
            raise
        self._end(own)
        if error is not None and not own.failed:
            warnings.warn(f"steps behind step {self._saved.steps} have failed: {error}", stacklevel=2)

    def _end(self, own: "Workers") -> None:
        """Of workers of which everything has been taken. May be done twice."""
        self._saved, self._replans = own.saved
        own.session.close()
        if own.folder is not None:
            own.folder.cleanup()

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
