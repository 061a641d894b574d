# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What has become of a model and its optimizer since transpile() has read them: a program has values, modes and gradients of its own, and what is done to
theirs later would be passed over without a word."""

from __future__ import annotations

from typing import Any, Collection, Optional

import torch

from ..errors import FrontEndError
from ..notices import nothing_done


def _mark(tensor: Any) -> Any:
    """Of a tensor's values: another one where it was written to, or is another tensor. A number is its own."""
    if not isinstance(tensor, torch.Tensor):
        return tensor
    return id(tensor), tensor.data_ptr(), -1 if tensor.is_inference() else tensor._version


class Seen:
    """A model and its optimizer as they were last read or written by a program. counted: group and key of what the optimizer counts in its groups."""

    def __init__(self, model: torch.nn.Module, optimizer: torch.optim.Optimizer, counted: "Collection[tuple[int, str]]" = ()):
        self.modes = {name: module.training for name, module in model.named_modules()}
        self.kinds = {name: type(module) for name, module in model.named_modules()}
        self.wanted = {name: p.requires_grad for name, p in model.named_parameters()}
        self.params = {name: _mark(p) for name, p in model.named_parameters()}
        self.state = {(name, key): _mark(value) for name, p in model.named_parameters() for key, value in _state(optimizer, p).items()}
        self.counted = {(i, key): _mark(optimizer.param_groups[i].get(key)) for i, key in counted if i < len(optimizer.param_groups)}

    def written(self, model: torch.nn.Module, optimizer: torch.optim.Optimizer) -> None:
        """The program's own values were."""
        now = Seen(model, optimizer, self.counted)
        self.params, self.state, self.counted = now.params, now.state, now.counted

    def check(self, model: torch.nn.Module, optimizer: torch.optim.Optimizer) -> None:
        """Refuses a parameter that has been frozen or thawed, and warns of values, modes and modules that the program does not have."""
        now = Seen(model, optimizer, self.counted)
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
        elif (counted := _first(self.counted, now.counted)) is not None:
            nothing_done(f"'{counted[1]}' of the optimizer's group {counted[0]} was changed since transpile() or load_into(), which changes nothing in the program: it "
                         "goes on with its own; transpile again, or give it another one by set_slots()")
        other = _first(self.modes, now.modes)
        if other is not None and (other not in self.modes or other not in now.modes):
            nothing_done(f"module {other!r} was {'added to' if other in now.modes else 'taken from'} the model since transpile(), which changes nothing in the program: transpile again")
        elif other is not None:
            was, is_now = ("train" if mode else "eval" for mode in (self.modes[other], now.modes.get(other)))
            nothing_done(f"{f'module {other!r}' if other else 'the model'} was in {was} mode when the step was transpiled, and the step stays so, got: {is_now} mode")
        elif (kind := _first(self.kinds, now.kinds)) is not None:
            nothing_done(f"module {kind!r} was a {self.kinds[kind].__name__} when the step was transpiled, and the step stays so, got: a {now.kinds[kind].__name__}")


def _state(optimizer: torch.optim.Optimizer, p: torch.Tensor) -> "dict[str, Any]":
    return {key: value for key, value in optimizer.state.get(p, {}).items() if isinstance(value, (torch.Tensor, int, float))} if optimizer.state else {}


def _first(old: "dict[Any, Any]", new: "dict[Any, Any]") -> Optional[Any]:
    """The first key whose value is another one."""
    return next((key for key in [*old, *new] if old.get(key) != new.get(key)), None)
