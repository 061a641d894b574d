# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What has become of a model and its optimizer since transpile() has read them: a program has values, modes and gradients of its own, and what is done to
theirs later would be passed over without a word."""

from __future__ import annotations

from typing import Any, Optional

import torch

from ..errors import FrontEndError
from ..notices import nothing_done


def _mark(tensor: torch.Tensor) -> "tuple[int, int, int]":
    """Of a tensor's values: another one where it was written to, or is another tensor."""
    return id(tensor), tensor.data_ptr(), tensor._version


class Seen:
    """A model and its optimizer as they were last read or written by a program."""

    def __init__(self, model: torch.nn.Module, optimizer: torch.optim.Optimizer):
        self.modes = {name: module.training for name, module in model.named_modules()}
        self.wanted = {name: p.requires_grad for name, p in model.named_parameters()}
        self.params = {name: _mark(p) for name, p in model.named_parameters()}
        self.state = {(name, key): _mark(value) for name, p in model.named_parameters() for key, value in _state(optimizer, p).items()}

    def written(self, model: torch.nn.Module, optimizer: torch.optim.Optimizer) -> None:
        """The program's own values were."""
        now = Seen(model, optimizer)
        self.params, self.state = now.params, now.state

    def check(self, model: torch.nn.Module, optimizer: torch.optim.Optimizer) -> None:
        """Refuses a parameter that has been frozen or thawed, and warns of values and modes that the program does not have."""
        now = Seen(model, optimizer)
        for name, wanted in self.wanted.items():
            if now.wanted.get(name, wanted) != wanted:
                raise FrontEndError(f"requires_grad of '{name}' must stay {wanted}, as it was when the step was transpiled, got: {not wanted}")
        changed = _first(self.params, now.params)
        if changed is not None:
            nothing_done(f"parameter '{changed}' of the model was changed since transpile() or load_into(), which changes nothing in the program: it goes on "
                         "with values of its own; transpile again, or give it others by set_slots()")
        elif (entry := _first(self.state, now.state)) is not None:
            nothing_done(f"state '{entry[1]}' of '{entry[0]}' in the optimizer was changed since transpile() or load_into(), which changes nothing in the program: it "
                         "goes on with state of its own; transpile again, or give it other state by set_slots()")
        other = _first(self.modes, now.modes)
        if other is not None:
            was, is_now = ("train" if mode else "eval" for mode in (self.modes[other], now.modes.get(other)))
            nothing_done(f"{f'module {other!r}' if other else 'the model'} was in {was} mode when the step was transpiled, and the step stays so, got: {is_now} mode")


def _state(optimizer: torch.optim.Optimizer, p: torch.Tensor) -> "dict[str, torch.Tensor]":
    return {key: value for key, value in optimizer.state.get(p, {}).items() if isinstance(value, torch.Tensor)} if optimizer.state else {}


def _first(old: "dict[Any, Any]", new: "dict[Any, Any]") -> Optional[Any]:
    """The first key whose value is another one."""
    return next((key for key in [*old, *new] if old.get(key) != new.get(key)), None)
