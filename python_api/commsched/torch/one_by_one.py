# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whether an optimizer updates each parameter by itself: distribute() updates some at a time, in another order on each rank.

Copies of the optimizer train a few small stand-ins, all together and one after the other; both must come to the same. So are
found norms over all gradients (as LAMB is often written), counts of steps that are kept in groups, estimates that all
parameters share, and random numbers.
"""

from __future__ import annotations

import collections
import copy
from typing import Any, Sequence

import torch
from torch.optim import Optimizer

from ..errors import FrontEndError
from .optimizers import group_values, inner_of, refuse_changed

_GROUPS, _EACH = 4, 2  # so many groups are tried, with so many parameters each
_SCALES = (1.0, 1e3, 1e-3, 1.0)  # of the gradients of each step: bounds of norms lie between
_BOUND = 1e-5


def check_one_by_one(optimizer: Optimizer) -> None:
    """Refuses one that does not. What cannot be tried on stand-ins is taken as it is."""
    name, inner = type(optimizer).__name__, inner_of(optimizer)
    if inner is not None:
        raise FrontEndError(f"optimizer must update parameters itself, got: {name}, whose attribute '{inner}' is another one that does")
    try:
        with torch.random.fork_rng(devices=[]):
            together, apart = _trained(optimizer, False), _trained(optimizer, True)
    except FrontEndError:
        raise
    except Exception:
        return
    for one, other in zip(together, apart):
        wide = torch.complex128 if one.is_complex() else torch.float64
        if not torch.allclose(one.to(wide), other.to(wide), rtol=_BOUND, atol=_BOUND, equal_nan=True):
            raise FrontEndError(f"optimizer must update each parameter by itself, got: {name}, whose update of one depends on which others are updated with it "
                                "(a norm over all, what its groups or attributes keep, random numbers)")


def _trained(optimizer: Optimizer, apart: bool) -> "list[torch.Tensor]":
    """The stand-ins after a few steps; the optimizer itself stays as it is."""
    own, parameters = _copied(optimizer)
    groups, generator = own.param_groups, torch.Generator().manual_seed(1)
    torch.manual_seed(1)
    for scale in _SCALES:
        for p in parameters:
            p.grad = (torch.randn(p.shape, generator=generator, dtype=torch.float64) * scale).to(p.dtype)
        # In the other order, as gradients are ready.
        turns = [[{**group, "params": [p]}] for group in reversed(groups) for p in reversed(group["params"])] if apart else [groups]
        for own.param_groups in turns:
            before = [group_values(group) for group in own.param_groups]
            type(optimizer).step(own)
            refuse_changed(own, before)
    return [p.detach() for p in parameters]


def _copied(optimizer: Optimizer) -> "tuple[Any, list[torch.Tensor]]":
    """One without state, of a few stand-ins, and these."""
    memo: "dict[int, Any]" = {}
    generator = torch.Generator().manual_seed(0)

    def stand_in(p: torch.Tensor) -> torch.Tensor:
        small = torch.randn([min(n, 3) for n in p.shape], generator=generator, dtype=torch.float64).to(p.dtype)
        memo[id(p)] = torch.nn.Parameter(small)
        return memo[id(p)]
    groups: "list[dict[str, Any]]" = []
    for group in optimizer.param_groups:
        chosen: "Sequence[torch.Tensor]" = [p for p in group["params"] if p.requires_grad and p.numel()][:_EACH] if len(groups) < _GROUPS else []
        if chosen:
            groups.append({**{n: copy.deepcopy(v) for n, v in group.items() if n != "params"}, "params": [stand_in(p) for p in chosen]})
    rest = torch.zeros(1)
    for p in (p for group in optimizer.param_groups for p in group["params"]):
        memo.setdefault(id(p), rest)
    own = object.__new__(type(optimizer))
    for name, value in vars(optimizer).items():
        if name not in ("param_groups", "state", "step"):
            own.__dict__[name] = copy.deepcopy(value, memo) if isinstance(value, (torch.Tensor, list, dict, set, collections.deque)) else value
    own.param_groups, own.state = groups, collections.defaultdict(dict)
    return own, [p for group in groups for p in group["params"]]
