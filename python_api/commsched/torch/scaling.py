# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Loss scaling, as torch.amp.GradScaler does it: its scale and growth tracker are state of the program, and a step whose
gradients are not finite changes neither parameters nor the optimizer's state."""

from __future__ import annotations

import contextlib
import dataclasses
from typing import Any, Iterator, Mapping, Optional, Sequence

import torch

from ..errors import FrontEndError
from . import places

NAMES = ("scaler.scale", "scaler.growth_tracker")


@dataclasses.dataclass(frozen=True)
class Scaling:
    """What of a GradScaler is a constant of the step."""

    growth_factor: float
    backoff_factor: float
    growth_interval: int

    @staticmethod
    def of(scaler: Any, params: Sequence[torch.Tensor]) -> "Optional[Scaling]":
        """Of a scaler that is None or not enabled: nothing, as it does nothing. Raises FrontEndError."""
        if scaler is None:
            return None
        if not isinstance(scaler, torch.amp.GradScaler):
            raise FrontEndError(f"scaler must be a torch.amp.GradScaler, got: {type(scaler).__name__}")
        if not scaler.is_enabled():
            return None
        if any(p.dtype == torch.float16 and p.requires_grad for p in params):
            raise FrontEndError("parameters must be float32 with a scaler, which unscales no float16 gradients; compute in float16 by "
                                "torch.autocast")
        return Scaling(scaler.get_growth_factor(), scaler.get_backoff_factor(), scaler.get_growth_interval())

    def check(self, scaler: Any, params: Sequence[torch.Tensor]) -> None:
        """Refuses what has changed since and is a constant of the program."""
        now = Scaling.of(scaler, params)
        if now is None:
            raise FrontEndError("the scaler must stay enabled, as it was when the step was transpiled")
        for field in dataclasses.fields(self):
            old, new = getattr(self, field.name), getattr(now, field.name)
            if old != new:
                raise FrontEndError(f"'{field.name}' of the scaler must stay {old}, as it was when the step was transpiled, got: {new}")

    # ---- the step --------------------------------------------------------------------------------
    def unscale(self, grads: Sequence[torch.nn.Parameter], scale: torch.Tensor) -> torch.Tensor:
        """Divides .grad of these by the scale; whether one of them is not finite: a boolean without dimensions."""
        by, found = scale.double().reciprocal().float(), torch.zeros((), dtype=torch.bool)
        for p in grads:
            if p.grad is not None:
                found = found | ~torch.isfinite(p.grad).all()
                p.grad = p.grad * by
        return found

    def updated(self, scale: torch.Tensor, tracker: torch.Tensor, found: torch.Tensor) -> "list[torch.Tensor]":
        """The new scale (f32) and growth tracker (i32)."""
        count = tracker + 1
        grows = count == self.growth_interval
        larger = (scale.double() * self.growth_factor).float()
        smaller = (scale.double() * self.backoff_factor).float()
        grown = torch.where(grows & torch.isfinite(larger), larger, scale)
        return [torch.where(found, smaller, grown), torch.where(found | grows, torch.zeros_like(tracker), count)]


@contextlib.contextmanager
def none_within() -> Iterator[None]:
    """Refuses what a step itself asks of a GradScaler: its scale would be a constant, and what it finds be lost."""
    kind = torch.amp.GradScaler
    saved = {name: getattr(kind, name) for name in ("scale", "unscale_", "step", "update", "get_scale")}

    def refusing(name: str):
        def refused(*_: Any, **__: Any) -> None:
            raise FrontEndError(f"{places.here()}the step must leave its GradScaler to transpile(..., scaler=...), which scales, unscales and "
                                f"updates, got: a call of {name}()")
        return refused
    for name in saved:
        setattr(kind, name, refusing(name))
    try:
        yield
    finally:
        for name, own in saved.items():
            setattr(kind, name, own)


def initial(scaler: Any) -> "list[torch.Tensor]":
    """The scale (f32) and growth tracker (i32) that it has now."""
    state = scaler.state_dict()
    return [torch.tensor(state["scale"], dtype=torch.float32), torch.tensor(state["_growth_tracker"], dtype=torch.int32)]


def load(scaler: Any, values: Mapping[str, torch.Tensor]) -> None:
    """Gives it a scale and growth tracker."""
    scale, tracker = (values[name.split(".")[1]].item() for name in NAMES)
    scaler.load_state_dict({**scaler.state_dict(), "scale": scale, "_growth_tracker": tracker})
