# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The program of a PyTorch step."""

from __future__ import annotations

from typing import Any, Iterable, Mapping, Optional

import numpy as np
import torch

from .. import program as base
from ..errors import FrontEndError
from ..running import length
from ..steps import Steps
from .capture import Step, named_buffers
from .describing import describe


class _Watched:
    """Batches, with a scheduler's steps between them. Nobody else may change rates while steps are ahead."""

    def __init__(self, batches: Iterable[Any], step: Step, scheduler: Any):
        self._source, self._step, self._scheduler = batches, step, scheduler
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
            if self._step.hyper.values(self._step.optimizer) != self._rates:
                raise FrontEndError("the optimizer's rate was changed while later steps were already under way; give the scheduler to "
                                    "run() or stream(), or call step() for one step at a time")
            if self._scheduler is not None:
                self._scheduler.step()
            self._rates = None
        batch = next(self._batches)
        self._rates = self._step.hyper.values(self._step.optimizer)
        return batch


class _WatchedWithPosition(_Watched):
    @property
    def position(self):
        return self._source.position


class Program(base.Program):
    """A training step of a model, with the values that its parameters, buffers and optimizer have come to.

    params: a dictionary by the names of model.named_parameters(). state: [buffers, the optimizer's state, rates], and the
    seed, if anything is drawn. Neither the model nor the optimizer changes, until load_into().
    """

    def __init__(self, step: Step, batch: Any, *arguments: Any, **options: Any):
        self._rates: Optional[list[float]] = None  # that the slots have
        # What the parameters begin with counts, not what the model comes to later.
        super().__init__(describe, step, (batch,), *arguments, **options)

    def _rates_now(self) -> list[float]:
        """Those that the optimizer has, of which all else is as it was."""
        step: Step = self._step
        step.hyper.check(step.optimizer)
        return step.hyper.values(step.optimizer)

    def _set_rates(self) -> None:
        """Those that the optimizer has now; in this process alone."""
        rates = self._rates_now()
        self._step.optimizer._opt_called = True  # of which schedulers ask
        if rates == self._rates:
            return
        new = {name: np.asarray(np.float64(rate)) for name, rate in zip(self._description(self.workers).rates, rates)}
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

    def restore(self, path: Any) -> Any:
        position = super().restore(path)
        self._rates = None
        return position

    def stream(self, batches: Iterable[Any], workers: Optional[int] = None, replan: Any = None, scheduler: Any = None) -> Steps:
        """See commsched.Program.stream. The optimizer's rates are read before each step. scheduler: its step() is called after
        each, as steps are ahead of what the iterator has handed out."""
        if isinstance(scheduler, torch.optim.lr_scheduler.ReduceLROnPlateau):
            raise FrontEndError("ReduceLROnPlateau needs the metrics of each step before the next one: call program.step(batch), then "
                                "scheduler.step(metric)")
        self._check_run(batches)
        steps = super().stream(_Watched(batches, self._step, scheduler), workers, replan)
        flatten = steps._flatten

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

    def load_into(self, model: torch.nn.Module, optimizer: Optional[torch.optim.Optimizer] = None) -> None:
        """Gives a model, and its optimizer, the parameters, buffers and state that the program has come to, bit for bit. They may
        be others than those of transpile(), of the same structure. All, or nothing if something does not fit."""
        params, buffers, state = (self._carried()[i] for i in range(3))
        own, mine = dict(model.named_parameters()), named_buffers(model)
        for what, given, values in (("parameter", own, params), ("buffer", mine, buffers)):
            for name in [*values, *given]:
                a, b = (_described(t.get(name)) for t in (values, given))
                if a != b:
                    raise FrontEndError(f"{what} '{name}' of the model must match {a} of the program, got: {b}")
        if optimizer is not None:
            names = {id(p): n for n, p in own.items()}
            if type(optimizer) is not type(self._step.optimizer):
                raise FrontEndError(f"the optimizer must be of type {type(self._step.optimizer).__name__}, got: {type(optimizer).__name__}")
            known = {names.get(id(p)) for g in optimizer.param_groups for p in g["params"]}
            for name in state:
                if name not in known:
                    raise FrontEndError(f"the optimizer must have parameter '{name}' of the model, got none")
        with torch.no_grad():
            for given, values in ((own, params), (mine, buffers)):
                for name, value in values.items():
                    given[name].copy_(value)
        if optimizer is not None and (self.steps or self._had_state()):
            for name, entries in state.items():
                for key, value in entries.items():
                    optimizer.state[own[name]][key] = value

    def _had_state(self) -> bool:
        return bool(self._step.optimizer.state)


def _described(tensor: Optional[torch.Tensor]) -> str:
    return "none" if tensor is None else f"{str(tensor.dtype).removeprefix('torch.')}{list(tensor.shape)}"


