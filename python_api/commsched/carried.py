# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a program carries from step to step, and the workers that have it while there are any."""

from __future__ import annotations

import dataclasses
import os
import warnings
import weakref
from typing import Any, Callable, Mapping, Optional

import numpy as np

from . import saved as saved_file
from .arguments import check_path, listed, shown
from .check import write
from .cluster import Cluster
from .compiled import CompiledStep
from .costs import Costs
from .errors import FrontEndError, RuntimeFailure, UnknownName
from .frontend.base import Description
from .running import Workers
from .saved import Saved
from .steps import Steps
from .strategy import AllReduce, Strategy
from .temporary import TemporaryFolder


class CarriedStep(CompiledStep):
    """A training step with its parameters and state, as they are now: in a session of workers, or as the last one has left them."""

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

    # ---- workers ---------------------------------------------------------------------------------
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
            return dict(tune=replan, window=replan.steps or 0, folder=os.fsencode(folder.name))
        module = os.path.join(folder.name, "step.mlir")
        write(module, [self._level0(workers, self._cluster(workers)).encode()])
        (pipeline,) = scheduled(strategy, replan.schedule or strategy.schedule or "solver").pipeline(2)  # costs are what is measured then
        # But which gradients are cut for all devices of a node, say, is as in the plan that it replaces.
        first = self._costs_of(workers).calibrations()
        return dict(command=os.fsencode(replan.command(module, pipeline, first)), every=replan.every or 0,
                    when_off_percent=replan.when_off or 0.0, window=replan.window or 0, deadline_seconds=replan.deadline,
                    folder=os.fsencode(replan.folder) if replan.folder else None)

    @property
    def replans(self) -> list[dict]:
        """What has become of new plans (see run), in order: dictionaries with "kind" ("begun", "decided",
        "switched", "unchanged", "given up", "kept"), "attempt", "text", and for some "call", "plan" (its digest) and times in ms."""
        own = self._workers_now()
        return self._replans + (own.session.replans() if own is not None and own.replan else [])

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
        # Without a place for what workers have of their own, it stays for the strategy that has one again.
        return Saved(self.slots(), self.steps, self.position, self._read_own(own) or self._saved.own)

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
