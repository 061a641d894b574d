# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Comparisons of integers of the batch with a number, such as of labels with the one that a loss ignores.

Losses of classes divide by how many labels are not ignored, also where none ever is, or only those with which a model has filled up the others (as
that of the last token of a text). Whether that is the number of samples only the data says: the example batch is asked.
"""

from __future__ import annotations

from typing import Any, Mapping, Optional, Sequence

import torch

_COMPARED = (torch.ops.aten.ne.Scalar, torch.ops.aten.eq.Scalar)


def comparisons(graph: torch.fx.GraphModule, batch: int) -> "list[torch.fx.Node]":
    """Those of values that are made of the last `batch` inputs alone, in their order."""
    places = [n for n in graph.graph.nodes if n.op == "placeholder"]
    alone = set(places[len(places) - batch:])
    for node in graph.graph.nodes:
        if isinstance(node.target, torch._ops.OpOverload) and node.all_input_nodes and all(n in alone for n in node.all_input_nodes):
            alone.add(node)
    return [n for n in graph.graph.nodes if n.target in _COMPARED and n in alone and not n.args[0].meta["val"].is_floating_point()]


def constant(graph: torch.fx.GraphModule, batch: int, tensors: Sequence[torch.Tensor], parts: int) -> "dict[int, Optional[bool]]":
    """Of these comparisons, by their numbers, the ones that are the same for any labels, as far as the example batch says, of which each of the parts has the
    rows of one: everywhere, or (None) where they are, as where labels are filled up with ones that are ignored.

    tensors: the example batch, all of it.
    """
    count = len(tensors[0]) // parts

    def found(values: Sequence[torch.Tensor]) -> "list[list[torch.Tensor]]":
        return [_compared(graph, batch, [t[i * count:(i + 1) * count] for t in values]) for i in range(parts)]
    given = found(tensors)
    try:
        others = [one for seed in range(2) for one in found(_mixed_up(tensors, seed))]
    except Exception:  # such as indices, which do not fit elsewhere
        others = []
    same: "dict[int, Optional[bool]]" = {}
    for i, own in enumerate(zip(*given)):
        everywhere = {v for x in own for v in x.unique().tolist()}
        if len(everywhere) == 1:
            same[i] = everywhere.pop()
        elif others and all(torch.equal(own[0], x) for x in [*own, *(one[i] for one in others)]):
            same[i] = None
    return same


def assumed(graph: torch.fx.GraphModule, batch: int, tensors: Sequence[torch.Tensor], same: "Mapping[int, Optional[bool]]") -> "dict[torch.fx.Node, torch.Tensor]":
    """The comparisons of a graph, maybe of more rows, that are the same in any batch, with what they are."""
    nodes = comparisons(graph, batch)
    if not any(i in same for i in range(len(nodes))):
        return {}
    rows = next(n for n in reversed(graph.graph.nodes) if n.op == "placeholder").meta["val"].shape[0]
    values = _compared(graph, batch, [torch.cat([t] * -(-rows // len(t)))[:rows] for t in tensors])
    return {node: value if same[i] is None else torch.full_like(value, same[i]) for i, (node, value) in enumerate(zip(nodes, values)) if i in same}


def _mixed_up(tensors: Sequence[torch.Tensor], seed: int) -> "list[torch.Tensor]":
    """The same values in other places."""
    generator = torch.Generator().manual_seed(seed)
    return [t.flatten()[torch.randperm(t.numel(), generator=generator)].view(t.shape) for t in tensors]


def _compared(graph: torch.fx.GraphModule, batch: int, tensors: Sequence[torch.Tensor]) -> "list[torch.Tensor]":
    """What the comparisons are of these last inputs."""
    places = [n for n in graph.graph.nodes if n.op == "placeholder"]
    known: "dict[torch.fx.Node, Any]" = dict(zip(places[len(places) - batch:], tensors))

    def value(node: torch.fx.Node) -> Any:
        if node not in known:
            arguments, keywords = (torch.fx.map_arg(a, value) for a in (node.args, node.kwargs))
            known[node] = node.target(*arguments, **keywords)
        return known[node]
    return [value(node) for node in comparisons(graph, batch)]
