# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Eager PyTorch on several ranks by one line: distribute(model, optimizer)."""

from __future__ import annotations

import atexit
import contextlib
import copyreg
import os
import sys
import types
import weakref
from datetime import timedelta
from typing import Any, Callable, Iterator, Optional

import torch
import torch.distributed as dist
from torch import nn
from torch.optim import Optimizer

from .. import job as jobs
from ..arguments import check_switch, shown
from ..errors import CommSchedError, FrontEndError
from ..posts import Posts
from .agreed import at_first, compare
from .gradients import Gradients
from .meeting import meet
from .one_by_one import check_one_by_one
from .optimizers import refuse_own_step
from .shared_buffers import SharedBuffers
from .watching import Hook, steps_have_hooks

_live: "weakref.WeakSet[Any]" = weakref.WeakSet()
_count = 0


def distribute(model: nn.Module, optimizer: Optimizer, *, broadcast_buffers: bool = True) -> Optimizer:
    """Makes `optimizer` train `model` on all ranks together: gradients are means over the ranks, which are posted as they
    become ready, and each parameter is updated where the next forward pass uses it first. docs/pytorch.md.

    The ranks are those of torch.distributed, if it is initialized, else of commsched.init(), which is called if it was not.
    model: on the CPU, the same on all ranks; its values become those of rank 0.
    optimizer: any that updates parameters one by one, with the same state and options on all ranks. It is returned, with no_sync(), synchronize() and undistribute().
    broadcast_buffers: a training step begins with the buffers (running statistics) of rank 0, as with DistributedDataParallel.

    Raises FrontEndError, RuntimeFailure.
    """
    _check(model, optimizer)
    broadcast_buffers = check_switch("broadcast_buffers", broadcast_buffers)
    posts, close = _posts()
    own = type(optimizer)
    numbers = {id(p): number for number, group in enumerate(optimizer.param_groups) for p in group["params"]}
    # So that who keeps the model only has an optimizer that updates it.
    buffers = SharedBuffers(model, posts)
    gradients = Gradients(model, optimizer, posts, lambda parameters, groups: _update(optimizer, own, numbers, parameters, groups), buffers, numbers)
    try:
        _refuse_drifting(model, posts)
        compare(posts, [*at_first(model, optimizer), ("broadcast_buffers", str(broadcast_buffers))], FrontEndError)
        gradients.values.send([*model.parameters(), *buffers.now()], "initial value")
        gradients.values.take()
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
        setattr(step, "_wrapped_by_lr_sched", True)
        optimizer.step = types.MethodType(step, optimizer)
    if broadcast_buffers and buffers.now():
        # Of a model that is compiled they are sent at the end of the step before.
        optimizer._commsched.sharing = buffers.hook(gradients.send_buffers, lambda: gradients.accumulating)
        optimizer._commsched.hooks.append(model.register_forward_pre_hook(optimizer._commsched.sharing).remove)
    for group in optimizer.param_groups:
        group["params"] = _Parameters(group["params"], gradients)
        optimizer._commsched.groups.append(group["params"])
    _live.add(optimizer)
    distributed = weakref.ref(optimizer)
    posts.before_close = lambda: _complete(distributed())
    return optimizer


class _State:
    def __init__(self, own: Any, model: nn.Module, gradients: Gradients, close: Callable[[], None]):
        self.own, self.model, self.gradients, self.close = own, model, gradients, close
        self.sharing: Optional[Hook] = None  # buffers are those of rank 0 in each step
        self.hooks: list[Callable[[], None]] = []
        self.groups: "list[_Parameters]" = []


class _Parameters(list):
    """Those of a group: who goes through them looks at what is complete. Copies and pickles are lists."""

    def __init__(self, parameters: "list[nn.Parameter]", gradients: Gradients):
        super().__init__(parameters)
        self._gradients = gradients
        self.ids = list(map(id, parameters))

    def __iter__(self) -> "Iterator[nn.Parameter]":
        self._look()
        return super().__iter__()

    def __getitem__(self, which: Any) -> Any:
        self._look()
        return super().__getitem__(which)

    def __reversed__(self) -> "Iterator[nn.Parameter]":
        self._look()
        return super().__reversed__()

    def __add__(self, other: Any) -> Any:
        return [*self, *other]

    def __radd__(self, other: Any) -> Any:
        return [*other, *self]

    def copy(self) -> "list[nn.Parameter]":
        return [*self]

    def __reduce_ex__(self, protocol: Any) -> Any:
        return list, (self.own(),)

    def own(self) -> "list[nn.Parameter]":
        return list(super().__iter__())

    def _look(self) -> None:
        if not self._gradients.updates.by_optimizer:
            self._gradients.look("parameters of the optimizer's groups are looked at")


class _Distributed:
    """What a distributed optimizer does in other ways than its class."""

    # Of the optimizer, whose class this is mixed into.
    _commsched: _State
    param_groups: "list[dict[str, Any]]"
    _optimizer_step_pre_hooks: Any
    _optimizer_step_post_hooks: Any
    _step_supports_amp_scaling = True  # so that a GradScaler says what it wants to step(), which refuses

    def step(self, closure=None, **other):
        state = self._commsched
        if closure is not None or other:
            raise FrontEndError(f"step of a distributed optimizer must be called without arguments, got: {', '.join([*(['closure'] if closure is not None else []), *other])}")
        if self._optimizer_step_pre_hooks or self._optimizer_step_post_hooks:
            raise FrontEndError("a distributed optimizer must have no hooks of its step")
        if [self.__dict__.pop(name) for name in ("grad_scale", "found_inf") if name in self.__dict__]:  # which a GradScaler sets while it calls this
            raise FrontEndError("step of a distributed optimizer must not be made by a GradScaler, whose scale each rank would change by its own gradients; compute in "
                                "bfloat16, which needs none")
        gradients = state.gradients
        if steps_have_hooks():  # which run once, and look at gradients that are complete
            gradients.synchronize()
        self._check_groups()
        groups = [{name: value.clone() if isinstance(value, torch.Tensor) else value for name, value in group.items() if name != "params"}
                  for group in self.param_groups]
        if gradients.step(groups):
            with gradients.updates.of_optimizer():
                state.own.step(self)
            if state.sharing is not None and state.sharing.compiled:
                gradients.send_buffers()
            if gradients.units and not gradients.measuring and gradients._expected is None:
                gradients.measured()
    step.hooked = True  # type: ignore[attr-defined]  # not by hooks of all optimizers, which those of the class are called with

    def _check_groups(self) -> None:
        """The number of each parameter's group is kept."""
        wanted = self._commsched.groups
        if len(self.param_groups) != len(wanted):
            raise FrontEndError(f"a distributed optimizer must have the {len(wanted)} groups that it had in distribute(), got: {len(self.param_groups)}")
        for number, (group, parameters) in enumerate(zip(self.param_groups, wanted)):
            now = group["params"]
            if now is not parameters or len(now) != len(now.ids) or any(id(p) != i for p, i in zip(list.__iter__(now), now.ids)):
                raise FrontEndError(f"group {number} of a distributed optimizer must have the parameters that it had in distribute(), got: others")

    @property
    def state(self) -> Any:
        """Of the updates that were made by then: all that step() was called for."""
        gradients = self._commsched.gradients
        if not gradients.updates.by_optimizer:
            gradients.update_all()
        return self.__dict__["state"]

    @state.setter
    def state(self, value: Any) -> None:
        self._commsched.gradients.loaded()
        self.__dict__["state"] = value

    def __reduce_ex__(self, protocol: Any) -> Any:
        """Copies and pickles are optimizers of their own."""
        self.synchronize()
        return copyreg._reconstructor, (self._commsched.own, object, None), self.__getstate__()  # type: ignore[attr-defined]

    def zero_grad(self, set_to_none: bool = True):
        gradients = self._commsched.gradients
        gradients.zeroed(set_to_none)
        with gradients.updates.of_optimizer():
            self._commsched.own.zero_grad(self, set_to_none)
        gradients.forget()

    def state_dict(self, *arguments, **named):
        self.synchronize()
        return self._commsched.own.state_dict(self, *arguments, **named)

    def load_state_dict(self, *arguments, **named):
        self.synchronize()
        self._commsched.gradients.loaded()
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
        self._commsched.gradients.synchronize()

    def undistribute(self) -> None:
        """The optimizer and the model are as they were before, with the values of now."""
        state = self._commsched
        self.synchronize()
        state.gradients.posts.before_close = None
        for group, parameters in zip(self.param_groups, state.groups):
            group["params"] = parameters.own()
        for hook in state.hooks:
            hook()
        state.gradients.close()
        state.close()
        del self._commsched
        self.__dict__.pop("step", None)
        self.__class__ = state.own
        _live.discard(self)


def _update(optimizer: Any, own: Any, numbers: "dict[int, int]", parameters: "list[nn.Parameter]", groups: list) -> None:
    """Of these parameters only. numbers: of their groups, by id."""
    parts: "dict[int, list[nn.Parameter]]" = {}
    for parameter in parameters:
        if id(parameter) in numbers:
            parts.setdefault(numbers[id(parameter)], []).append(parameter)
    all_groups, optimizer.param_groups = optimizer.param_groups, [{**groups[n], "params": part} for n, part in parts.items()]
    step = getattr(own.step, "__wrapped__", own.step) if getattr(own.step, "hooked", False) else own.step  # without hooks, which are not of a part of a step
    try:
        step(optimizer)
    finally:
        optimizer.param_groups = all_groups


def _check(model: nn.Module, optimizer: Optimizer) -> None:
    if not isinstance(model, nn.Module):
        raise FrontEndError(f"model must be a torch.nn.Module, got: {shown(model)}")
    if not isinstance(optimizer, Optimizer):
        raise FrontEndError(f"optimizer must be a torch.optim.Optimizer, got: {shown(optimizer)}")
    if isinstance(model, nn.parallel.DistributedDataParallel):
        raise FrontEndError("model must be the one inside of DistributedDataParallel, got: DistributedDataParallel")
    if isinstance(optimizer, _Distributed) or any(model is other._commsched.model for other in _live):
        raise FrontEndError("model and optimizer must not be distributed already; another optimizer, of other parameters of the model, stays as it is")
    if isinstance(optimizer, (torch.optim.LBFGS, torch.optim.SparseAdam)):
        raise FrontEndError(f"optimizer must update parameters one by one, of dense gradients, got: {type(optimizer).__name__}")
    if optimizer._optimizer_step_pre_hooks or optimizer._optimizer_step_post_hooks:
        raise FrontEndError("a distributed optimizer must have no hooks of its step")
    refuse_own_step(optimizer)
    for name, tensor in [*model.named_parameters(), *model.named_buffers()]:
        if isinstance(tensor, nn.parameter.UninitializedTensorMixin):
            raise FrontEndError(f"{name!r} of the model must have its values, got: none before its first forward pass; call it once on an example")
        if tensor.layout != torch.strided:
            raise FrontEndError(f"{name!r} of the model must be dense, got: {tensor.layout}")
    known = {id(p) for p in model.parameters()}
    for group in optimizer.param_groups:
        for parameter in group["params"]:
            if id(parameter) not in known:
                raise FrontEndError(f"parameters of the optimizer must be the model's, got: another one of {tuple(parameter.shape)}")
    check_one_by_one(optimizer)
    for name, parameter in model.named_parameters():
        if parameter.device.type != "cpu" or not (parameter.is_floating_point() or parameter.is_complex() or not parameter.requires_grad):
            raise FrontEndError(f"parameter {name!r} must be floating-point or complex numbers on the CPU, got: {parameter.dtype} on {parameter.device}")


def _refuse_drifting(model: nn.Module, posts: Posts) -> None:
    """What a forward pass writes into parameters by the samples of its rank."""
    for name, module in model.named_modules():
        if posts.size > 1 and isinstance(module, (nn.Embedding, nn.EmbeddingBag)) and module.max_norm is not None:
            raise FrontEndError(f"max_norm of {type(module).__name__} {name!r} must be None with several ranks, each of which would make other rows shorter, those of its samples, "
                                f"got: {module.max_norm}; bound the rows of its weight behind each step")


def _posts() -> "tuple[Posts, Any]":
    """A group of the ranks that there are, and what leaves it."""
    global _count
    _count += 1
    if dist.is_initialized():
        if jobs.current() is not None:
            raise FrontEndError("ranks must be those of torch.distributed or of commsched.init(), got: both")
        from torch.distributed import distributed_c10d as c10d

        store = dist.PrefixStore(f"commsched.distribute.{_count}", c10d._get_default_store())
        meeting = meet(store, dist.get_rank(), dist.get_world_size(), _timeout().total_seconds())
        return meeting.posts, meeting.close
    posts = Posts(jobs.current() or jobs.init())
    return posts, posts.close


def _timeout() -> timedelta:
    """That of init_process_group."""
    from torch.distributed import distributed_c10d as c10d
    backend = c10d._get_default_group()._get_backend(torch.device("cpu"))
    given = getattr(backend, "_timeout", None) or getattr(getattr(backend, "options", None), "_timeout", None)
    return given or c10d.default_pg_timeout


def _complete(optimizer: "Optional[_Distributed]") -> None:
    """Other ranks may still wait for what this one has posted; after an error they are told."""
    if optimizer is None:
        return
    failed: Optional[type] = getattr(sys, "last_type", None)
    posts = optimizer._commsched.gradients.posts
    if failed is not None:
        posts.cancel(f"rank {posts.rank}: {failed.__name__}")
    elif os.getpid() == posts._process:
        optimizer.synchronize()


@atexit.register
def _end() -> None:
    for optimizer in list(_live):
        with contextlib.suppress(Exception):
            optimizer._commsched.close()
