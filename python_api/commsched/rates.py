# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs whose rates of learning are arguments of the step: they are read from the framework's optimizer or scheduler
before each step."""

from __future__ import annotations

from typing import Any, Callable, Iterable, Mapping, Optional

import numpy as np

from . import program as base
from . import rank_program
from .errors import FrontEndError
from .notices import nothing_done
from .running import length
from .steps import Steps


class _Watched:
    """Batches, with a scheduler's steps between them. Nobody else may change rates while steps are ahead."""

    def __init__(self, batches: Iterable[Any], read: "Callable[[], list[float]]", scheduler: Any):
        self._source, self._read, self._scheduler = batches, read, scheduler
        self.commsched_given = batches  # see notices.batches_ended
        try:
            self._batches = iter(batches)
        except TypeError:
            raise FrontEndError(f"batches must be an iterable of global batches, got: {type(batches).__name__}") from None
        self._rates: Optional[list[float]] = None  # since the last batch
        if hasattr(batches, "position"):
            self.__class__ = _WatchedWithPosition

    def __iter__(self):
        return self

    def __next__(self):
        if self._rates is not None:
            if self._read() != self._rates:
                raise FrontEndError("the optimizer's rate was changed while later steps were already under way; give the scheduler to "
                                    "run() or stream(), or call step() for one step at a time")
            if self._scheduler is not None:
                self._scheduler.step()
            self._rates = None
        batch = next(self._batches)
        self._rates = self._read()
        return batch


class _WatchedWithPosition(_Watched):
    @property
    def position(self) -> Any:
        return getattr(self._source, "position")


class RatedProgram(base.Program):
    """A Program whose description has names of slots with rates (Description.rates), each a scalar.

    Of a subclass: _read_rates() -> what they are now in the framework; _rates_now(), the same, checked."""

    _rates: Optional[list[float]] = None  # that the slots have
    _restored: "Optional[dict[str, np.ndarray]]" = None  # of a file, with which no step was made yet
    _given: "tuple[dict[str, Any], list[float]]" = {}, []  # by set_slots(), with which no step was made yet, and those that there were then in the framework

    def __init__(self, *arguments: Any, **options: Any):
        super().__init__(*arguments, **options)
        self._at_first = self._read_rates()

    def _read_rates(self) -> list[float]:
        raise NotImplementedError

    def _rates_now(self) -> list[float]:
        return self._read_rates()

    def _check_scheduler(self, scheduler: Any) -> None:
        """Refuses one that cannot be stepped between steps that overlap."""

    def _set_rates(self) -> None:
        """Those that there are now; in this process alone."""
        rates = self._rates_now()
        if rates == self._rates:
            return
        kinds = {name: value.dtype for name, value in self._saved.values.items()}
        new = {name: np.asarray(rate, kinds[name]) for name, rate in zip(self._description(self.workers).rates, rates)}
        own = self._workers_now()
        if own is None:
            base.Program.set_slots(self, new)
        else:
            for name, value in new.items():
                own.session.set_slot(name, value)
        self._rates = rates

    def _begin_step(self) -> None:
        """Before each step, in order."""
        self._set_rates()

    def set_slots(self, values: Mapping[str, np.ndarray]) -> None:
        super().set_slots(values)
        self._rates = None
        self._given = {name: values[name] for name in self._description(self.workers).rates if name in values}, self._read_rates()

    def restore(self, path: Any) -> Any:
        position = super().restore(path)
        self._rates = None
        self._restored = {name: self._saved.values[name] for name in self._description(self.workers).rates}
        return position

    def _check_restored(self) -> None:
        """Says so if a file had other rates, or set_slots() was given some, and nobody has given the framework's optimizer any since: they are read from there."""
        (given, then), self._given = self._given, ({}, [])
        for name, rate, before in zip(self._description(self.workers).rates, self._read_rates(), then):
            if name in given and rate == before and np.asarray(rate, np.asarray(given[name]).dtype) != given[name]:
                nothing_done(f"'{name}' that set_slots() was given, {float(given[name]):g}, counts for nothing: the step goes on with {rate:g}, which the optimizer has. Give it that rate")
                break
        restored, self._restored, rates = self._restored, None, self._read_rates()
        for (name, old), rate, first in zip((restored or {}).items(), rates, self._at_first):
            if rate == first and np.asarray(rate, old.dtype) != old:
                nothing_done(f"'{name}' of the file that was restored, {old:g}, counts for nothing: the step goes on with {rate:g}, which the optimizer has had since transpile(). "
                             "Give it that rate, and its scheduler the state that it had")
                return

    def stream(self, batches: Iterable[Any], workers: Optional[int] = None, replan: Any = None, scheduler: Any = None) -> Steps:
        """See commsched.Program.stream. The rates are read before each step. scheduler: its step() is called after
        each, as steps are ahead of what the iterator has handed out."""
        self._check_scheduler(scheduler)
        self._check_run(batches)
        self._check_restored()
        steps = super().stream(_Watched(batches, self._read_rates, scheduler), workers, replan)
        flatten = steps._flatten
        assert flatten is not None

        def with_rates(batch):
            arrays = flatten(batch)
            self._begin_step()
            return arrays
        steps._flatten = with_rates
        return steps

    def run(self, batches: Iterable[Any], workers: Optional[int] = None, replan: Any = None, log: Any = None, progress: bool = False,
            scheduler: Any = None) -> list[dict[str, float]]:
        """See commsched.Program.run, and stream."""
        return self._follow(lambda: self.stream(batches, workers, replan, scheduler), length(batches), log, progress)

    def check(self, batches: Iterable[Any], workers: Optional[int] = None):
        self._set_rates()
        return super().check(batches, workers)

    def _example(self) -> Any:
        return self._arguments[0]


class RatedRankProgram(RatedProgram, rank_program.RankProgram):
    """The same in a job of several ranks. The rates are each rank's own, and must be those of rank 0 in every step; check
    is for any rank alone."""

    def stream(self, batches: Iterable[Any], workers: Optional[int] = None, replan: Any = None, scheduler: Any = None) -> Steps:
        self._check_scheduler(scheduler)
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
        own = self._workers_now()
        if self._has_servers and rates != self._rates and own is not None:
            if self._job._whole is not None:  # nobody tells these servers
                raise FrontEndError("rates must stay as they are within a run where parameter servers are processes of their own "
                                    f"(init(servers=...)): give each rate a run, got: {self._rates}, then {rates}")
            # Servers get them between two steps of all trainers: what one of these is still doing, or has begun, is theirs too.
            own.session.wait()
            self._job.barrier("takes the optimizer's rates")
            super()._begin_step()
            self._job.barrier("takes the optimizer's rates")
            return
        super()._begin_step()

    def _agree_rates(self, what: str, own: Any) -> None:
        self._job._agree("takes the optimizer's rates", own, rank_program.same(what))
