# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Eager PyTorch on several ranks by one line: distribute(model, optimizer)."""

from __future__ import annotations

import atexit
import contextlib
import os
import sys
import types
import weakref
from typing import Any, Iterator, Optional

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.utils import clip_grad
from torch.optim import Optimizer

from .. import job as jobs
from ..errors import CommSchedError, FrontEndError
from ..posts import Posts
from .gradients import Gradients

_live: "weakref.WeakSet[Any]" = weakref.WeakSet()
_count = 0


def distribute(model: nn.Module, optimizer: Optimizer, *, broadcast_buffers: bool = True) -> Optimizer:
    """Makes `optimizer` train `model` on all ranks together: gradients are means over the ranks, which are posted as they
    become ready, and each parameter is updated where the next forward pass uses it first. docs/pytorch.md.

    The ranks are those of torch.distributed, if it is initialized, else of commsched.init(), which is called if it was not.
    model: on the CPU, the same on all ranks; its values become those of rank 0.
    optimizer: any that updates parameters one by one. It is returned, with no_sync(), synchronize() and undistribute().
    broadcast_buffers: a training step begins with the buffers (running statistics) of rank 0, as with DistributedDataParallel.

    Raises FrontEndError, RuntimeFailure.
    """
    _check(model, optimizer)
    posts, close = _posts()
    own = type(optimizer)
    gradients = Gradients(model, posts, lambda parameter, groups: _update_one(optimizer_of(), own, parameter, groups))
    optimizer_of = weakref.ref(optimizer)
    try:
        gradients.broadcast([p for p in model.parameters()] + _buffers(model), "initial value")
    except BaseException:
        gradients.close()
        close()
        raise
    optimizer.__class__ = type(f"Distributed{own.__name__}", (_Distributed, own), {"__module__": own.__module__})
    optimizer._commsched = _State(own, model, gradients, close)
    if "step" in optimizer.__dict__:  # of a scheduler that was made before
        def step(self, *arguments, **named):
            self._opt_called = True
            return type(self).step(self, *arguments, **named)
        step._wrapped_by_lr_sched = True
        optimizer.step = types.MethodType(step, optimizer)
    _watch(model, gradients, optimizer._commsched.hooks, broadcast_buffers)
    _live.add(optimizer)
    return optimizer


class _State:
    def __init__(self, own: type, model: nn.Module, gradients: Gradients, close):
        self.own, self.model, self.gradients, self.close, self.hooks = own, model, gradients, close, []


class _Distributed:
    """What a distributed optimizer does in other ways than its class."""

    _step_supports_amp_scaling = True  # so that a GradScaler says what it wants to step(), which refuses

    def step(self, closure=None, **other):
        state = self._commsched
        if closure is not None or other:
            raise FrontEndError(f"step of a distributed optimizer must be called without arguments, got: {'closure' if closure else ', '.join(other)}")
        if self._optimizer_step_pre_hooks or self._optimizer_step_post_hooks:
            raise FrontEndError("a distributed optimizer must have no hooks of its step")
        gradients = state.gradients
        groups = [{name: value.clone() if isinstance(value, torch.Tensor) else value for name, value in group.items() if name != "params"}
                  for group in self.param_groups]
        if gradients.step(groups):
            state.own.step(self)
            if gradients.units and not gradients.measuring and gradients._expected is None:
                gradients.measured()

    def zero_grad(self, set_to_none: bool = True):
        gradients = self._commsched.gradients
        if not set_to_none:
            gradients.update_all()
        self._commsched.own.zero_grad(self, set_to_none)

    def state_dict(self, *arguments, **named):
        self.synchronize()
        return self._commsched.own.state_dict(self, *arguments, **named)

    def load_state_dict(self, *arguments, **named):
        self.synchronize()
        return self._commsched.own.load_state_dict(self, *arguments, **named)

    def add_param_group(self, group):
        raise FrontEndError("a distributed optimizer must have its groups before distribute()")

    @contextlib.contextmanager
    def no_sync(self) -> Iterator[None]:
        """Gradients of this rank are added up; those of the first backward pass after it are sent with them."""
        gradients = self._commsched.gradients
        before, gradients.accumulating = gradients.accumulating, True
        try:
            yield
        finally:
            gradients.accumulating = before

    def synchronize(self) -> None:
        """All gradients are complete, and all updates made."""
        self._commsched.gradients.update_all()
        self._commsched.gradients.finish_all()

    def undistribute(self) -> None:
        """The optimizer and the model are as they were before, with the values of now."""
        state = self._commsched
        self.synchronize()
        for hook in state.hooks:
            hook()
        state.gradients.close()
        state.close()
        del self._commsched
        self.__dict__.pop("step", None)
        self.__class__ = state.own
        _live.discard(self)


def _update_one(optimizer: Any, own: type, parameter: nn.Parameter, groups: list) -> None:
    all_groups = optimizer.param_groups
    for group, values in zip(all_groups, groups):
        if any(parameter is p for p in group["params"]):
            optimizer.param_groups = [{**values, "params": [parameter]}]
            try:
                own.step(optimizer)
            finally:
                optimizer.param_groups = all_groups
            return


def _check(model: nn.Module, optimizer: Optimizer) -> None:
    if isinstance(model, nn.parallel.DistributedDataParallel):
        raise FrontEndError("model must be the one inside of DistributedDataParallel, got: DistributedDataParallel")
    if isinstance(optimizer, _Distributed) or any(model is other._commsched.model for other in _live):
        raise FrontEndError("model and optimizer must not be distributed already")
    if isinstance(optimizer, (torch.optim.LBFGS, torch.optim.SparseAdam)):
        raise FrontEndError(f"optimizer must update parameters one by one, of dense gradients, got: {type(optimizer).__name__}")
    if optimizer._optimizer_step_pre_hooks or optimizer._optimizer_step_post_hooks:
        raise FrontEndError("a distributed optimizer must have no hooks of its step")
    known = {id(p) for p in model.parameters()}
    for group in optimizer.param_groups:
        for parameter in group["params"]:
            if id(parameter) not in known:
                raise FrontEndError(f"parameters of the optimizer must be the model's, got: another one of {tuple(parameter.shape)}")
    for name, parameter in model.named_parameters():
        if parameter.device.type != "cpu" or not (parameter.is_floating_point() or not parameter.requires_grad):
            raise FrontEndError(f"parameter {name!r} must be floating-point numbers on the CPU, got: {parameter.dtype} on {parameter.device}")


def _posts() -> "tuple[Posts, Any]":
    """A group of the ranks that there are, and what leaves it."""
    global _count
    _count += 1
    if dist.is_initialized():
        if jobs.current() is not None:
            raise FrontEndError("ranks must be those of torch.distributed or of commsched.init(), got: both")
        from torch.distributed import distributed_c10d as c10d

        from .meeting import meet
        store = dist.PrefixStore(f"commsched.distribute.{_count}", c10d._get_default_store())
        meeting = meet(store, dist.get_rank(), dist.get_world_size(), c10d.default_pg_timeout.total_seconds())
        return meeting.posts, meeting.close
    posts = Posts(jobs.current() or jobs.init())
    return posts, posts.close


def _buffers(model: nn.Module) -> "list[torch.Tensor]":
    return [buffer for buffer in model.buffers() if buffer.numel()]


def _watch(model: nn.Module, gradients: Gradients, undo: list, broadcast_buffers: bool) -> None:
    """Whoever looks at parameters or gradients in between sees complete ones."""
    def me():
        return gradients
    for module in model.modules():
        own = type(module).named_parameters

        def named_parameters(*arguments, _module=weakref.ref(module), _own=own, **named):
            me().look("gradients or parameters are looked at")
            return _own(_module(), *arguments, **named)
        module.__dict__["named_parameters"] = named_parameters
        undo.append(lambda m=module: m.__dict__.pop("named_parameters", None))
        for hook in (module.register_state_dict_pre_hook(lambda *_: me().update_all()),
                     module.register_load_state_dict_pre_hook(lambda *_: me().update_all())):
            undo.append(hook.remove)
    buffers = _buffers(model)
    if broadcast_buffers and buffers:
        synchronized = [True]  # the pass before, as DistributedDataParallel has it

        def of_rank_0(module, arguments):
            if module.training and torch.is_grad_enabled():
                if synchronized[0]:
                    me().broadcast(buffers, "buffer")
                synchronized[0] = not me().accumulating
        undo.append(model.register_forward_pre_hook(of_rank_0).remove)


def _clipping(*arguments: Any, **named: Any) -> Any:
    """What torch.nn.utils.clip_grad calls with all gradients, whichever way it has got them."""
    for optimizer in list(_live):
        optimizer._commsched.gradients.look("gradients are clipped")
    return _group_tensors(*arguments, **named)


_group_tensors = clip_grad._group_tensors_by_device_and_dtype
clip_grad._group_tensors_by_device_and_dtype = _clipping


@atexit.register
def _end() -> None:
    """Other ranks may still wait for what this one has posted; after an error they are told."""
    failed: Optional[type] = getattr(sys, "last_type", None)
    for optimizer in list(_live):
        state = optimizer._commsched
        with contextlib.suppress(CommSchedError):
            if failed is not None:
                state.gradients.posts.cancel(f"rank {state.gradients.posts.rank}: {failed.__name__}")
            elif os.getpid() == state.gradients.posts._process and not state.gradients.posts.closed:
                optimizer.synchronize()
        with contextlib.suppress(Exception):
            state.close()
