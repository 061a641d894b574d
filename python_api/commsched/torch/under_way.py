# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Messages of gradients of an eager model: posted, taken further where ranks agree on what is sent again (early.py), and finished."""

from __future__ import annotations

from typing import Sequence

import numpy as np
import torch
from torch import nn

from ..errors import RuntimeFailure
from ..posts import Posted, Posts
from .units import Unit


class UnderWay:
    """units: all there are, one for each parameter until gradients that go together are known. steps: of the optimizer, so far. sent: how many gradients, by index of the
    parameters."""

    def __init__(self, posts: Posts, names: "Sequence[str]", parameters: "Sequence[nn.Parameter]"):
        self._posts, self._names, self._parameters = posts, names, parameters
        self.units = [Unit([i], name, 0) for i, name in enumerate(names)]
        self.steps, self.sent = 0, np.zeros(len(names), np.int64)

    def post(self, unit: Unit, dense: torch.Tensor) -> None:
        self.sent[unit.members] += 1
        if unit.early is not None:
            unit.posted = unit.early.complete(dense)
        else:
            unit.posted = self._posts.post(f"gradient {unit.key}", torch.view_as_real(dense.detach()) if dense.is_complex() else dense, combine="mean", priority=unit.priority)

    def finish(self, unit: Unit, wanted: bool = True) -> None:
        """Its means are in the parameters' gradients. wanted: whether these are of use to anybody."""
        if wanted:
            self.check_sent(unit)
        while self.agreeing(unit):
            self.wait(unit.message())
            self.advance(unit)
        unit.message().wait()
        lacking = unit.take()
        if lacking:
            raise RuntimeFailure(f"parameter {self._names[lacking[0]]!r} must have a gradient on all ranks or on none, got: none on rank {self._posts.rank} in step {self.steps}")

    def wait(self, posted: Posted) -> None:
        """What another rank waits for is not held up by this."""
        while True:
            others = {id(other.posted): other for other in self.units if other.posted is not posted and self.agreeing(other)}
            one = self._posts.wait_any([posted, *(other.message() for other in others.values())])
            if one is posted:
                return
            self.advance(others[id(one)])

    def check_sent(self, unit: Unit) -> None:
        """What somebody has made of a gradient meanwhile would be lost, or be a part of the mean."""
        changed = unit.changed(lambda i: self._parameters[i].grad if unit.groups is None else unit.gradients[i])
        if changed is not None:
            raise RuntimeFailure(f"gradient of {self._names[changed]!r} must stay as it is while it is averaged, got: another one in step {self.steps}; call synchronize() of the "
                                 "optimizer before it is changed")

    def agreeing(self, unit: Unit) -> bool:
        return unit.early is not None and unit.early.agreeing and unit.posted is not None

    def advance(self, unit: Unit) -> bool:
        """What is posted of it is done: whether it has something else to wait for now."""
        if not self.agreeing(unit):
            return False
        assert unit.early is not None
        with torch.no_grad():
            unit.posted = unit.early.advance(unit.copied if unit.copied is not None else unit.sent[unit.members[0]][0])
        return True

    def partly(self) -> "list[Unit]":
        return [unit for unit in self.units if unit.posted is None and 0 < len(unit.missing) < len(unit.members)]
