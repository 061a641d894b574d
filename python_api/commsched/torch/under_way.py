# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Messages of gradients of an eager model: posted, taken further when ranks agree on what is sent again (early.py), and finished."""

from __future__ import annotations

from typing import Sequence

import numpy as np
import torch
from torch import nn

from ..errors import RuntimeFailure
from ..posts import Posts
from .units import Unit
from .watching import gradient_of


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

    def agree(self) -> None:
        """At the end of a backward pass: what else is to be sent needs nothing of this rank then, wherever it waits for another one."""
        for unit in self.units:
            if unit.posted is not None and unit.early is not None and unit.early.agreeing:
                unit.posted.wait()
                with torch.no_grad():
                    unit.posted = unit.early.advance(unit.copied if unit.copied is not None else unit.sent[unit.members[0]][0])

    def finish(self, unit: Unit, wanted: bool = True) -> None:
        """Its means are in the parameters' gradients. wanted: whether these are of use to anybody."""
        if wanted:
            self.check_sent(unit)
        self.agree()  # where the backward pass has ended with an error
        unit.message().wait()
        lacking = unit.take()
        if lacking:
            raise RuntimeFailure(f"parameter {self._names[lacking[0]]!r} must have a gradient on all ranks or on none, got: none on rank {self._posts.rank} in step {self.steps}")

    def check_sent(self, unit: Unit) -> None:
        """What somebody has made of a gradient meanwhile would be lost, or be a part of the mean."""
        changed = unit.changed(lambda i: gradient_of(self._parameters[i]) if unit.groups is None else unit.gradients[i])
        if changed is not None:
            raise RuntimeFailure(f"gradient of {self._names[changed]!r} must stay as it is while it is averaged, got: another one in step {self.steps}; call synchronize() of the "
                                 "optimizer before it is changed")

    def check_parameters(self, unit: Unit) -> None:
        """What somebody has made of one after step() was before its update here, and behind it elsewhere."""
        for i, version in unit.versions.items():
            if self._parameters[i]._version != version:
                raise RuntimeFailure(f"parameter {self._names[i]!r} must stay as it is from step() to its update, got: another one, by a tensor that was kept, behind step {self.steps - 1}; "
                                     "call synchronize() of the optimizer before it is changed")

    def partly(self) -> "list[Unit]":
        return [unit for unit in self.units if unit.posted is None and 0 < len(unit.missing) < len(unit.members)]
