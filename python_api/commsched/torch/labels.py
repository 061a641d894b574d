# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Comparisons of integers of the batch with a number, such as of labels with the one that a loss ignores.

Losses of classes divide by how many labels are not ignored, also where none ever is. Whether that is the number of samples only the data says: the
example batch is asked.
"""

from __future__ import annotations

from typing import Any, Sequence

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


def constant(graph: torch.fx.GraphModule, batch: int, parts: "Sequence[Sequence[torch.Tensor]]") -> "dict[int, bool]":
    """Of these comparisons, by their numbers, the ones that are the same everywhere in all of the parts; each has the last inputs."""
    places, nodes = [n for n in graph.graph.nodes if n.op == "placeholder"], comparisons(graph, batch)
    found: "list[set[bool]]" = [set() for _ in nodes]
    for part in parts:
        known: "dict[torch.fx.Node, Any]" = dict(zip(places[len(places) - batch:], part))

        def value(node: torch.fx.Node) -> Any:
            if node not in known:
                arguments, keywords = (torch.fx.map_arg(a, value) for a in (node.args, node.kwargs))
                known[node] = node.target(*arguments, **keywords)
            return known[node]
        for values, node in zip(found, nodes):
            values.update(value(node).unique().tolist())
    return {i: values.pop() for i, values in enumerate(found) if len(values) == 1}
