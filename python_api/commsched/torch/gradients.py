# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Gradients of an eager model on their way: posted as they become ready, awaited where their parameters are used next."""

from __future__ import annotations

import sys
import weakref
from typing import Any, Callable, Collection, Optional

import torch
from torch import nn

from ..errors import RuntimeFailure
from ..posts import Posts
from .agreed import Agreed
from .early import Early
from .measured import Measured
from .shared_buffers import SharedBuffers
from .under_way import UnderWay
from .units import Unit
from .updates import Updates
from .uses import Uses
from .watching import Hook, gradient_of, in_backward, watch

MEASURED = 3  # steps

class Gradients:
    """Of the parameters of `model`, means over the ranks of `posts`; `updates` by `update` wait for them. `buffers` are those of rank 0 after send_buffers(). `updated`: ids of the parameters that update()
    knows."""

    def __init__(self, model: nn.Module, optimizer: torch.optim.Optimizer, posts: Posts, update: "Callable[[list[nn.Parameter], list], None]", buffers: SharedBuffers,
                 updated: "Collection[int]"):
        self.posts = posts
        named = [(name, p) for name, p in model.named_parameters() if p.requires_grad]
        self.names, self.parameters = [name for name, _ in named], [p for _, p in named]
        self._updated = {i for i, p in enumerate(self.parameters) if id(p) in updated}
        self._frozen = [(name, p) for name, p in model.named_parameters() if not p.requires_grad]
        self._modules = dict(model.named_modules())
        self.accumulating = False
        self._under_way = UnderWay(posts, self.names, self.parameters)
        self.unit_of = {i: unit for i, unit in enumerate(self.units)}
        self._expected: Optional[set] = None  # that have gradients
        self._measured = Measured(self.parameters)
        self._told = False
        self._hooks: list = []
        self._root = model
        self._buffers, self.values = buffers, buffers.values
        self._uses = Uses(model, self._modules.values(), self.parameters, buffers, self._measured, self._watch_node)
        self._agreed = Agreed(posts, model, optimizer, self.names)
        self.updates = Updates(posts, self._under_way, self.parameters, self._agreed, update)

        def me():
            return self
        for index, parameter in enumerate(self.parameters):
            self._hooks.append(parameter.register_hook(lambda gradient, i=index: me()._before(i)))
            self._hooks.append(parameter.register_post_accumulate_grad_hook(lambda p, i=index: me()._accumulated(i)))
        self._entering: "list[Hook]" = []
        for module in self._modules.values():
            self._entering.append(Hook(lambda m, a: me()._enter(m)))
            self._hooks.append(module.register_forward_pre_hook(self._entering[-1]))
            self._hooks.append(module.register_forward_hook(Hook(lambda m, a, r: me()._leave(m, r)), always_call=True))
            self._hooks.append(module.register_state_dict_pre_hook(Hook(lambda *_: me().update_all())))
            self._hooks.append(module.register_load_state_dict_pre_hook(Hook(lambda *_: me().loaded())))
        self._indices = {id(p): i for i, p in enumerate(self.parameters)}
        self._unwatch = watch(self, self._modules.values(), [*self.parameters, *buffers.now()])

    @property
    def units(self) -> "list[Unit]":
        return self._under_way.units

    @property
    def steps(self) -> int:
        return self._under_way.steps

    @property
    def measuring(self) -> bool:
        return self.steps < MEASURED

    def compiled(self) -> bool:
        """Whether a part of the model runs as torch.compile has made it: nobody waits there."""
        if not self._compiled and any(hook.compiled for hook in self._entering):
            self._compiled = True
            self._tell("the model runs as torch.compile has made it: each step waits for all gradients")
        return self._compiled

    _compiled = False

    # ---- backward ------------------------------------------------------------------------
    def _before(self, index: int) -> None:
        """A gradient is about to be added to what is there."""
        unit = self.unit_of.get(index)
        if unit is None:
            raise RuntimeFailure(f"parameter {self.names[index]!r} must be used in the first {MEASURED} steps, got: in step {self.steps} first")
        if unit.groups is not None:
            raise RuntimeFailure(f"parameter {self.names[index]!r} must be used in the forward pass of the model, got: a use before its update")
        if unit.posted is not None:
            self._under_way.finish(unit)

    def _contribute(self, index: int, part: Optional[torch.Tensor]) -> None:
        """A part of a gradient that is not complete yet."""
        if self.accumulating or part is None or part.layout != torch.strided:
            return
        if self.measuring:
            self._measured.part(index)
            return
        unit, parameter = self.unit_of[index], self.parameters[index]
        if (unit.early is not None and not unit.early.begun and unit.posted is None and unit.groups is None
                and gradient_of(parameter) is None and part.dtype == parameter.dtype and part.shape == parameter.shape):
            unit.early.begin(part)

    def _watch_node(self, index: int, node: Any, which: int) -> None:
        reference = weakref.ref(self)  # who keeps the graph does not keep this

        def contributed(results: Any, _: Any) -> None:
            me = reference()
            if me is not None:
                me._contribute(index, results[which])
        node.register_hook(contributed)

    def _accumulated(self, index: int) -> None:
        if self.accumulating:
            return
        unit, gradient = self.unit_of[index], gradient_of(self.parameters[index])
        if gradient.layout != torch.strided:
            raise RuntimeFailure(f"gradient of {self.names[index]!r} must be dense, got: {gradient.layout}")
        if self.measuring:
            self._measured.whole(index, all(len(u.missing) == len(u.members) and u.posted is None for u in self.units))
        unit.put(index, gradient)
        if not unit.missing:
            dense = unit.flat if unit.flat is not None else gradient.contiguous().resolve_conj().resolve_neg()
            unit.copied = dense if dense is not gradient else None
            self._under_way.post(unit, dense)
            if unit.early is not None:
                torch.autograd.Variable._execution_engine.queue_callback(self._under_way.agree)

    def _complete(self, everywhere: bool = False) -> None:
        """Of several backward passes, the last ones may have changed some gradients of a unit; the others are means already, and go with them. everywhere: on
        all ranks, so that also units go of which some gradients are not there yet."""
        for unit in self._under_way.partly():
            means = {i: gradient for i in unit.missing if unit.averaged and (gradient := gradient_of(self.parameters[i])) is not None}
            if len(means) < len(unit.missing) and not everywhere:
                continue
            unit.fill(means)
            assert unit.flat is not None  # of several
            self._under_way.post(unit, unit.flat)

    # ---- the optimizer's step ------------------------------------------------------------
    def step(self, groups: list) -> bool:
        """Whether all gradients are complete now, and the optimizer is to make its step at once; else updates wait for their
        parameters' next uses."""
        self.update_all()
        for name, parameter in self._frozen:
            if parameter.requires_grad and gradient_of(parameter) is not None:
                raise RuntimeFailure(f"parameter {name!r} must require a gradient when distribute() is called, or never, got: a gradient in step {self.steps}")
        self._complete()
        ready = {i for unit in self.units for i in unit.members if unit.posted is not None or i not in unit.missing}
        if not self._finished:
            self._refuse_local(ready)
        for unit in self._under_way.partly():
            raise RuntimeFailure(f"parameter {self.names[min(unit.missing)]!r} must have a gradient in every step or in none, got: none in step {self.steps}")
        if self._expected is not None and not self._finished and ready != self._expected:
            name = self.names[min(ready ^ self._expected)]
            raise RuntimeFailure(f"parameter {name!r} must have a gradient in every step or in none, got: {'one' if ready > self._expected else 'none'} in step {self.steps}")
        at_once = self.measuring or self._finished or self.compiled() or self._agreed.loaded  # of which all ranks tell each other when it is looked at
        self._agreed.post(self.steps, groups, self._under_way.sent)
        if at_once:
            self.updates.agree()
            self.finish_all()
        else:
            self.updates.wait([unit for unit in self.units if unit.posted is not None], groups)
        self._begin()
        self._finished = False
        self._under_way.steps += 1
        return at_once

    _finished = False  # this step's gradients are complete, before step()

    def _refuse_local(self, ready: "set[int]") -> None:
        """What no backward pass has made, such as gradients of torch.autograd.grad() that somebody has set, is no mean over the ranks."""
        for i, parameter in enumerate(self.parameters):
            unit, gradient = self.unit_of.get(i), gradient_of(parameter)
            if i not in ready and i in self._updated and gradient is not None and not (unit is not None and unit.averaged) and gradient.any():
                raise RuntimeFailure(f"gradient of {self.names[i]!r} must be made by a backward pass outside of no_sync(), as the ranks' are averaged there, got: one of this "
                                     f"rank alone in step {self.steps}")

    def _begin(self) -> None:
        """Another step: its gradients are not there yet."""
        for unit in self.units:
            unit.averaged = False

    def measured(self) -> None:
        """After the last step that is measured: all ranks take the schedule that rank 0 makes of what all have seen."""
        self._take(*self._measured.agree(self.posts))

    def _take(self, units: "list[list[int]]", ahead: "list[int]") -> None:
        self._under_way.units = []
        for priority, members in enumerate(units):
            first = self.parameters[members[0]]
            flat = torch.empty(sum(self.parameters[i].numel() for i in members), dtype=first.dtype) if len(members) > 1 else None
            key = self.names[members[0]] + (f" and {len(members) - 1} more" if len(members) > 1 else "")
            self.units.append(Unit(members, key, priority, flat))
            if flat is not None:
                parts = flat.split([self.parameters[i].numel() for i in members])
                self.units[-1].parts = {i: part.view(self.parameters[i].shape) for i, part in zip(members, parts)}
        self.unit_of = {i: unit for unit in self.units for i in unit.members}
        self._expected = set(self.unit_of)
        for index in ahead:
            unit = self.unit_of[index]
            unit.early = Early(self.posts, unit.key, unit.priority, self.parameters[index])
        self._uses.scheduled(self.unit_of, ahead)

    # ---- forward -------------------------------------------------------------------------
    def _enter(self, module: nn.Module) -> None:
        if module is self._root and not self._uses.stack and self.measuring and torch.is_grad_enabled():
            self._uses.begin()
        if self.values.arriving and (module in self._buffers.users or not self._uses.stack):
            self.take_buffers()
        if self.updates:
            if not self._uses.stack and module is not self._root:
                self.update_all()  # a part of the model on its own
            units = [unit for unit in self._uses.waits.get(module, ()) if unit.groups is not None]
            if units:
                self.updates.make(units)
        self._uses.stack.append(module)

    def _leave(self, module: nn.Module, result: Any) -> None:
        self._uses.leave(module, result)
        if self._uses.stack:
            return
        if module is self._root and not self.updates.failed:  # which is called after an error as well, and must not raise it again
            self.update_all()  # of what this pass has not used

    def send_buffers(self) -> None:
        """At the beginning of a forward pass, on all ranks."""
        self._agreed.passes += 1
        with self.updates.failing():
            sent = self._buffers.send()
        if not sent or self.measuring or self.compiled() or self._root in self._buffers.users:
            self.take_buffers()

    def take_buffers(self) -> None:
        """Those of rank 0 are here."""
        with self.updates.failing():
            self.values.take()

    # ---- who looks in between: watching.Watcher ------------------------------------------
    def seen(self, parameter: nn.Parameter) -> None:
        if self.updates.by_optimizer:
            return
        if self.values.arriving and id(parameter) not in self._indices:
            self.take_buffers()
        unit = self.unit_of.get(self._indices.get(id(parameter), -1))
        if unit is None:
            return
        if unit.groups is not None:
            self.updates.make([unit])
        elif unit.posted is not None and not self._uses.stack and not in_backward():
            self.look("a gradient or parameter is looked at")

    def zeroed(self, set_to_none: bool) -> None:
        if not set_to_none:
            self.update_all()
        self.finish_all(wanted=False)  # of a step that is left out
        self._begin()

    def forget(self) -> None:
        """Gradients were zeroed: what is not complete begins again."""
        for unit in self.units:
            if unit.posted is None:
                unit.forget(lambda i: gradient_of(self.parameters[i]))

    def loaded(self) -> None:
        """Values or state are about to be, which may be others on each rank."""
        self.update_all()
        self._agreed.loaded = True

    def update_all(self) -> None:
        self.values.take()
        self.updates.make_all()

    def finish_all(self, wanted: bool = True) -> None:
        """All that is under way is complete."""
        self.values.settle()
        for unit in self.units:
            if unit.posted is not None and unit.groups is None:
                self._under_way.finish(unit, wanted)

    def synchronize(self) -> None:
        """All gradients are complete, and all updates made; after a backward pass the step is then made at once."""
        self.update_all()
        if any(unit.posted is not None for unit in self.units):
            self._finished = True
        self.finish_all()

    def look(self, what: str, everywhere: bool = False) -> None:
        """Somebody looks at parameters or gradients: they are complete. everywhere: on all ranks."""
        self.update_all()
        if not self._uses.stack and not in_backward():
            self._complete(everywhere)
        under_way = any(unit.posted is not None for unit in self.units)
        if under_way and not self._uses.stack:
            partly = [unit for unit in self.units if unit.posted is None and len(unit.missing) < len(unit.members)]
            if partly:
                return  # backward is not over
            self.finish_all()
            self._finished = True
            self._tell(f"{what} before the optimizer's step: it waits for all gradients, and so does each such step")

    def _tell(self, what: str) -> None:
        if not self._told and self.posts.rank == 0:
            print(f"commsched: {what}", file=sys.stderr, flush=True)
        self._told = True

    def close(self) -> None:
        self.updates.close()
        self._unwatch()
        for hook in self._hooks:
            hook.remove()
        self._hooks = []

