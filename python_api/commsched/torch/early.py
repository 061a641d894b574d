# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Gradients of parameters that a model uses several times, such as an embedding's weight that is tied to the head: what the last
use contributes is there long before the others, and is sent then.

The others often change a few rows only. When the gradient is complete, the ranks agree on the rows in which it differs, on any of
them, from what was sent, and send these again. So it comes to the mean of whole gradients, to the bit where an element's sum
does not depend on where it lies (two ranks), whatever was sent early: that is never right or wrong, only useful or not.
"""

from __future__ import annotations

from typing import Any, Iterator, Optional

import torch
from torch import nn

from ..posts import Posted, Posts

DEPTH = 5  # nodes between what a module returns and a parameter that it uses
NODES = 64  # that are looked at
_BITS = {2: torch.int16, 4: torch.int32, 8: torch.int64}


class Early:
    """Of one parameter. Under way: begin(), if there is something to send early; complete(); advance() when that is done; finish()
    when what advance() returns is done."""

    def __init__(self, posts: Posts, key: str, priority: int, parameter: nn.Parameter):
        self._posts, self._key, self._priority = posts, key, priority
        self._means = torch.empty_like(parameter, memory_format=torch.contiguous_format, requires_grad=False)
        self._sent: Optional[torch.Tensor] = None
        self._first: Optional[Posted] = None
        self._differ: Optional[torch.Tensor] = None  # by row, while the ranks agree
        self._rows: Optional[torch.Tensor] = None  # that are sent again; None: all
        self._values: Optional[torch.Tensor] = None  # of these

    @property
    def begun(self) -> bool:
        return self._sent is not None

    @property
    def agreeing(self) -> bool:
        """Whether advance() is to be called when what is posted is done."""
        return self._differ is not None

    def begin(self, part: torch.Tensor) -> None:
        """A part of the gradient, which is not changed until finish()."""
        self._sent = part.detach().contiguous()
        self._first = self._posts.post(f"gradient {self._key}, first part", self._sent, output=self._means, combine="mean",
                                       priority=self._priority)

    def complete(self, gradient: torch.Tensor) -> Posted:
        if self._sent is None:
            self.begin(gradient.clone())  # as it may be changed below
        assert self._sent is not None
        bits = _BITS[gradient.element_size()]
        self._differ = (gradient.view(bits) != self._sent.view(bits)).flatten(1).any(1).to(torch.int8)
        return self._posts.post(f"gradient {self._key}, rows that differ", self._differ, combine="max", priority=self._priority)

    def advance(self, gradient: torch.Tensor) -> Posted:
        """Once what complete() has posted is done."""
        assert self._differ is not None and self._first is not None
        rows, self._differ = self._differ.nonzero().view(-1), None
        if not len(rows):
            self._rows, self._values = rows, None
            return self._first
        if 2 * len(rows) > len(gradient):
            self._rows, self._values = None, gradient
        else:
            self._rows, self._values = rows, gradient[rows]
        return self._posts.post(f"gradient {self._key}, rows", self._values, combine="mean", priority=self._priority)

    def finish(self, gradient: torch.Tensor) -> None:
        """Once what advance() has returned is done: the means are in `gradient`."""
        assert self._first is not None
        self._first.wait()
        if self._rows is not None:
            gradient.copy_(self._means)
            if self._values is not None:
                gradient[self._rows] = self._values
        self._sent = self._first = self._rows = self._values = None


def node_of(result: Any, parameter: nn.Parameter) -> "Optional[tuple[Any, int]]":
    """The node of the graph behind what a module has returned that contributes to the parameter's gradient, and which of its
    results that is; None if none is near."""
    nodes = [(tensor.grad_fn, 0) for tensor in _tensors(result) if tensor.grad_fn is not None]
    seen: "set[Any]" = set()
    for node, depth in nodes:  # which grow meanwhile
        if node in seen:
            continue
        seen.add(node)
        if len(seen) > NODES:
            return None
        for which, (following, _) in enumerate(node.next_functions):
            if following is None:
                continue
            if getattr(following, "variable", None) is parameter:
                return node, which
            if depth < DEPTH:
                nodes.append((following, depth + 1))
    return None


def _tensors(result: Any) -> "Iterator[torch.Tensor]":
    if isinstance(result, torch.Tensor):
        yield result
    elif isinstance(result, dict):
        for value in result.values():
            yield from _tensors(value)
    elif isinstance(result, (list, tuple)):
        for value in result:
            yield from _tensors(value)
