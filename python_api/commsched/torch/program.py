# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The program of a PyTorch step."""

from __future__ import annotations

from typing import Any, Iterable, Optional

import torch

from ..arguments import shown
from ..errors import FrontEndError
from ..rates import RatedProgram
from ..steps import Steps
from . import scaling
from .capture import Step, named_buffers
from .changes import Seen
from .describing import describe


class Program(RatedProgram):
    """A training step of a model, with the values that its parameters, buffers and optimizer have come to.

    params: a dictionary by the names of model.named_parameters(). state: [buffers, the optimizer's state, rates], then the
    scaler's scale and growth tracker, if it has one, the seed, if anything is drawn, and what the optimizer counts in its groups, if it does. Neither the model nor the optimizer
    nor the scaler changes, until load_into().
    """

    def __init__(self, step: Step, batch: Any, *arguments: Any, **options: Any):
        # What the parameters begin with counts, not what the model comes to later.
        super().__init__(describe, step, (batch,), *arguments, **options)
        self._seen = Seen(step.model, step.optimizer, step.hyper.counted)
        self._of_rates = step.begins.of_rates  # the optimizer's state, as nothing else has it yet
        step.beside.traced()

    def stream(self, batches: Iterable[Any], workers: Optional[int] = None, replan: Any = None, scheduler: Any = None) -> Steps:
        """See commsched.Program.stream, and run. What was done to the model, the optimizer and what else the step reads since transpile(), and counts for nothing, is said."""
        self._seen.check(self._step.model, self._step.optimizer)
        self._step.beside.check()
        return super().stream(batches, workers, replan, scheduler)

    def _read_rates(self) -> list[float]:
        return self._step.hyper.values(self._step.optimizer)

    def _begin_step(self) -> None:
        if self._of_rates and self._read_rates() != self._at_first:
            raise FrontEndError(f"the rates of {type(self._step.optimizer).__name__}, which makes its state of them in its first step, must stay {self._at_first} from transpile() to then, "
                                f"got: {self._read_rates()}; make its scheduler, or set them, before transpile()")
        self._of_rates = False
        super()._begin_step()

    def restore(self, path: Any) -> Any:
        """See commsched.Program.restore."""
        position = super().restore(path)
        self._of_rates = False
        return position

    def _rates_now(self) -> list[float]:
        """Those that the optimizer has, of which all else is as it was."""
        step: Step = self._step
        step.hyper.check(step.optimizer)
        if step.scaling is not None:
            step.scaling.check(step.scaler, list(step.model.parameters()))
        return self._read_rates()

    def _set_rates(self) -> None:
        super()._set_rates()
        self._step.optimizer._opt_called = True  # of which schedulers ask

    def _check_scheduler(self, scheduler: Any) -> None:
        if scheduler is None:
            return
        if not callable(getattr(scheduler, "step", None)):
            raise FrontEndError(f"scheduler must be a scheduler, whose step() is called after each step, got: {shown(scheduler)}")
        if getattr(scheduler, "optimizer", self._step.optimizer) is not self._step.optimizer:
            raise FrontEndError(f"scheduler must be of the optimizer that was transpiled, got: {type(scheduler).__name__} of another one")
        if isinstance(scheduler, torch.optim.lr_scheduler.ReduceLROnPlateau):
            raise FrontEndError("ReduceLROnPlateau needs the metrics of each step before the next one: call program.step(batch), then "
                                "scheduler.step(metric)")

    def load_into(self, model: torch.nn.Module, optimizer: Optional[torch.optim.Optimizer] = None,
                  scaler: Optional[torch.amp.GradScaler] = None) -> None:
        """Gives a model, its optimizer and its scaler the parameters, buffers, state, scale and growth tracker that the program
        has come to, bit for bit. They may be others than those of transpile(), of the same structure. All, or nothing if something
        does not fit."""
        if not isinstance(model, torch.nn.Module):
            raise FrontEndError(f"model must be a torch.nn.Module, got: {shown(model)}")
        carried = self._carried()
        params, buffers, state = (carried[i] for i in range(3))
        if self._step.scaling is None and scaling.Scaling.of(scaler, []) is None:
            scaler = None  # one that is not enabled does nothing, as in transpile()
        if scaler is not None:
            if self._step.scaling is None:
                raise FrontEndError("the program was made without a scaler that is enabled, so it has no scale to load")
            self._step.scaling.check(scaler, list(model.parameters()))
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
            known = set()
            for p in (p for group in optimizer.param_groups for p in group["params"]):
                if id(p) not in names:
                    raise FrontEndError(f"the optimizer must have parameters of the model, got: another one of {list(p.shape)}")
                known.add(names[id(p)])
            trained = {id(p) for group in self._step.optimizer.param_groups for p in group["params"]}
            for name in [*state, *(n for n, p in self._step.model.named_parameters() if id(p) in trained)]:
                if name not in known:
                    raise FrontEndError(f"the optimizer must have parameter '{name}' of the model, got none")
            if len(optimizer.param_groups) != len(self._step.optimizer.param_groups):
                raise FrontEndError(f"the optimizer must have {len(self._step.optimizer.param_groups)} parameter groups, got: {len(optimizer.param_groups)}")
        if scaler is not None:
            scaling.load(scaler, carried[4])
        with torch.no_grad():
            for given, values in ((own, params), (mine, buffers)):
                for name, value in values.items():
                    given[name].copy_(value)
        if optimizer is not None and (self.steps or self._had_state()):
            for name, entries in state.items():
                for key, value in entries.items():
                    optimizer.state[own[name]][key] = value
            for i, entries in carried.get(6, {}).items():
                optimizer.param_groups[i].update(entries)
        self._seen.written(self._step.model, self._step.optimizer)
        self._step.beside.written()

    def _had_state(self) -> bool:
        return bool(self._step.optimizer.state)


def _described(tensor: Optional[torch.Tensor]) -> str:
    return "none" if tensor is None else f"{str(tensor.dtype).removeprefix('torch.')}{list(tensor.shape)}"


