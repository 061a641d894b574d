# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whoever looks at parameters or gradients of an eager model in between sees complete ones.

Parameters and buffers are reached by attributes of modules, by named_parameters() and named_buffers() (and parameters() and
buffers()), by copies and pickles, by `grad`, `data` and detach() of the parameters themselves, whoever has kept them, and gradients also by torch.nn.utils.clip_grad. While a model
is watched, these functions of PyTorch are wrapped: they look whether something is still to be done for the parameter. Modules
themselves stay as they are but for hooks, which copies and pickles of them do not have. An optimizer that is not distributed, of
other parameters of the model, looks when it makes its step.
"""

from __future__ import annotations

import weakref
from typing import Any, Callable, Iterable, Optional, Protocol

import torch
from torch import nn
from torch.nn.utils import clip_grad
from torch.optim.optimizer import _global_optimizer_post_hooks, _global_optimizer_pre_hooks, register_optimizer_step_pre_hook


gradient_of = torch.Tensor.grad.__get__  # of a parameter, without being seen


class Watcher(Protocol):
    """Of one model."""

    def seen(self, parameter: nn.Parameter) -> None:
        """It is read, now, by whoever."""

    def look(self, what: str, everywhere: bool = False) -> None:
        """All parameters and gradients are. everywhere: on all ranks."""

    def take_buffers(self) -> None:
        """All buffers are."""

    def zeroed(self, set_to_none: bool) -> None:
        """All gradients are about to be."""

    def forget(self) -> None:
        """They were."""


_parameters: "dict[int, weakref.ref[Watcher]]" = {}  # by id
_modules: "weakref.WeakKeyDictionary[nn.Module, weakref.ref[Watcher]]" = weakref.WeakKeyDictionary()
_undo: "list[Callable[[], None]]" = []


def watch(watcher: Watcher, modules: Iterable[nn.Module], parameters: Iterable[nn.Parameter]) -> Callable[[], None]:
    """Until what is returned is called, or nobody has the watcher any more."""
    reference = weakref.ref(watcher)
    for module in modules:
        _modules[module] = reference
    numbers = [id(parameter) for parameter in parameters]
    for number in numbers:
        _parameters[number] = reference
    if not _undo:
        for owner, name, made in ((nn.Module, "__getattr__", _attribute), (nn.Module, "named_parameters", _named),
                                  (nn.Module, "named_buffers", _named_buffers), (nn.Module, "_apply", _converted), (nn.Module, "zero_grad", _zeroed),
                                  (nn.Parameter, "__deepcopy__", _copied), (nn.Parameter, "__reduce_ex__", _copied),
                                  (clip_grad, "_group_tensors_by_device_and_dtype", _clipped)):
            _wrap(owner, name, made)
        for name, made in (("grad", _read), ("data", _read_or_set), ("detach", _copied)):
            _wrap_inherited(nn.Parameter, name, made)
        _undo.append(register_optimizer_step_pre_hook(_stepping).remove)
    return weakref.finalize(watcher, _unwatch, reference, numbers)


def _unwatch(reference: "weakref.ref[Watcher]", numbers: "list[int]") -> None:
    for number in numbers:
        if _parameters.get(number) is reference:
            del _parameters[number]
    for module in [m for m, r in _modules.items() if r is reference]:
        del _modules[module]
    if not _parameters and not _modules:
        while _undo:
            _undo.pop()()


def _of(module: nn.Module) -> Optional[Watcher]:
    reference = _modules.get(module)
    return reference() if reference is not None else None


class Hook:
    """A hook of a module. Copies and pickles of the module have one that does nothing. In what torch.compile makes of the
    module it only notes that."""

    def __init__(self, call: Callable[..., Any]):
        self._call: Optional[Callable[..., Any]] = call
        self.compiled = False

    def __call__(self, *arguments: Any) -> Any:
        if torch.compiler.is_compiling():
            self.compiled = True
            return None
        return self._call(*arguments) if self._call is not None else None

    def __deepcopy__(self, memo: Any) -> "Hook":
        return _no_hook()

    def __reduce__(self) -> Any:
        return _no_hook, ()


def _no_hook() -> Hook:
    hook = Hook(lambda *_: None)
    hook._call = None
    return hook


def _wrap(owner: Any, name: str, made: Callable[[Any], Any]) -> None:
    own = owner.__dict__[name]
    setattr(owner, name, made(own))
    _undo.append(lambda: setattr(owner, name, own))


def _wrap_inherited(owner: Any, name: str, made: Callable[[Any], Any]) -> None:
    setattr(owner, name, made(getattr(owner, name)))
    _undo.append(lambda: delattr(owner, name))


def _seen(value: Any) -> None:
    reference = _parameters.get(id(value))
    if reference is not None and (watcher := reference()) is not None:
        watcher.seen(value)


def _attribute(own: Any) -> Any:
    def __getattr__(self: nn.Module, name: str) -> Any:
        value = own(self, name)
        _seen(value)
        return value
    return __getattr__


def _copied(own: Any) -> Any:
    def copied(self: nn.Parameter, *arguments: Any) -> Any:
        _seen(self)
        return own(self, *arguments)
    return copied


def _read(own: Any) -> Any:
    def read(self: nn.Parameter) -> Any:
        _seen(self)
        return own.__get__(self)
    return property(read, own.__set__, own.__delete__)


def _read_or_set(own: Any) -> Any:
    def write(self: nn.Parameter, value: Any) -> None:
        _seen(self)
        own.__set__(self, value)
    return _read(own).setter(write)


def _named(own: Any) -> Any:
    def named_parameters(self: nn.Module, *arguments: Any, **named: Any) -> Any:
        watcher = _of(self)
        if watcher is not None:
            watcher.look("gradients or parameters are looked at")
        return own(self, *arguments, **named)
    return named_parameters


def _named_buffers(own: Any) -> Any:
    def named_buffers(self: nn.Module, *arguments: Any, **named: Any) -> Any:
        watcher = _of(self)
        if watcher is not None:
            watcher.take_buffers()
        return own(self, *arguments, **named)
    return named_buffers


def _converted(own: Any) -> Any:
    def _apply(self: nn.Module, *arguments: Any, **named: Any) -> Any:
        watcher = _of(self)
        if watcher is not None:
            watcher.look("the model is moved or converted")
        return own(self, *arguments, **named)
    return _apply


def _zeroed(own: Any) -> Any:
    def zero_grad(self: nn.Module, set_to_none: bool = True) -> None:
        watcher = _of(self)
        if watcher is None:
            return own(self, set_to_none)
        watcher.zeroed(set_to_none)
        for module in self.modules():
            for parameter in module._parameters.values():
                if parameter is not None and parameter.grad is not None:
                    if set_to_none:
                        parameter.grad = None
                    else:
                        parameter.grad.detach_().zero_()
        watcher.forget()
    return zero_grad


def _clipped(own: Any) -> Any:
    def group(*arguments: Any, **named: Any) -> Any:
        for watcher in {id(w): w for r in _modules.values() if (w := r()) is not None}.values():
            watcher.look("gradients are clipped", everywhere=True)
        return own(*arguments, **named)
    return group


def _stepping(optimizer: Any, *_: Any) -> None:
    """Of any optimizer of the process."""
    if not hasattr(optimizer, "_commsched"):
        found = [reference() for group in optimizer.param_groups for p in group["params"] if (reference := _parameters.get(id(p))) is not None]
        for watcher in {id(w): w for w in found if w is not None}.values():
            watcher.look("another optimizer makes its step")


def steps_have_hooks() -> bool:
    """Whether somebody has hooks of the steps of all optimizers of the process."""
    return bool(_global_optimizer_post_hooks) or any(hook is not _stepping for hook in _global_optimizer_pre_hooks.values())


def in_backward() -> bool:
    """Whether autograd calls on this thread."""
    return torch._C._current_graph_task_id() != -1
