# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Indices that a step makes of its batch: PyTorch refuses those outside of a tensor, of which a program takes the last element.

What a graph makes of integers of the batch alone (slices, sums, comparisons with the label that a loss ignores) is computed beside it for each batch,
and so are the indices among it, exactly as the step does. What depends on parameters, buffers or floating-point numbers is not looked at.
"""

from __future__ import annotations

import dataclasses
import math
from typing import Any, Callable, Iterator, Sequence

import torch

from ..errors import FrontEndError


def _shape(node: torch.fx.Node) -> "tuple[int, ...]":
    return tuple(node.meta["val"].shape)


def _all(x: torch.fx.Node, indices: Sequence[Any], *_: Any) -> "Iterator[tuple[Any, int, int]]":
    """Of each dimension, from the end too."""
    for index, size in zip(indices, _shape(x)):
        yield index, -size, size


def _one(x: torch.fx.Node, dim: int, index: Any, *_: Any) -> "Iterator[tuple[Any, int, int]]":
    yield index, 0, _shape(x)[dim] if _shape(x) else 1


def _rows(table: torch.fx.Node, ids: Any, *_: Any) -> "Iterator[tuple[Any, int, int]]":
    yield ids, 0, _shape(table)[0]


def _flat(x: torch.fx.Node, index: Any, *_: Any) -> "Iterator[tuple[Any, int, int]]":
    size = math.prod(_shape(x))
    yield index, -size, size


def _given(index: Any, least: int, end: int) -> "Iterator[tuple[Any, int, int]]":
    yield index, least, end


# What an operation takes its indices of -> them, each with its least and the one above its largest.
_INDICES: "dict[str, Callable[..., Iterator[tuple[Any, int, int]]]]" = {
    **{f"aten.{op}": _all for op in ("index", "_unsafe_index", "index_put", "_unsafe_index_put", "_index_put_impl")},
    **{f"aten.{op}": _one for op in ("index_select", "gather", "scatter", "scatter_add", "scatter_reduce", "index_add", "index_copy", "index_fill")},
    **{f"aten.{op}": _rows for op in ("embedding", "embedding_renorm")},
    "aten.put": _flat, "commsched.within": _given}
_SAID = {"commsched.within": "one_hot"}  # substitutes.py


@dataclasses.dataclass
class _Index:
    """An index that must be at least `least` and below `end`. what: made by which operation, where. of: of which tensors of the batch, by their numbers."""

    node: torch.fx.Node
    least: int
    end: int
    what: str
    of: "tuple[int, ...]"


def _integers(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and not value.is_floating_point() and not value.is_complex()


class Indices:
    """Those of a graph whose last `batch` inputs are the tensors of a part of a batch. where(node) -> "file:line: ", or nothing."""

    def __init__(self, graph: torch.fx.GraphModule, batch: int, where: Callable[[torch.fx.Node], str]):
        self._graph = graph
        places = [n for n in graph.graph.nodes if n.op == "placeholder"]
        self._inputs = places[len(places) - batch:]
        self._made = self._of_the_batch()
        found: "dict[tuple[torch.fx.Node, int, int], _Index]" = {}
        for node in graph.graph.nodes:
            name = str(getattr(node.target, "overloadpacket", None))
            if name not in _INDICES:
                continue
            for index, least, end in _INDICES[name](*node.args):
                if index in self._made and index.meta["val"].dtype not in (torch.bool, torch.uint8):
                    said = f"{where(node)}an index of {_SAID.get(name, name)}"
                    found.setdefault((index, least, end), _Index(index, least, end, said, tuple(sorted(self._made[index]))))
        self._found = [each for each in found.values() if each.of]

    def _of_the_batch(self) -> "dict[torch.fx.Node, frozenset[int]]":
        """What is made of integers of the batch, and of nothing else that is given: of which of its tensors."""
        made = {n: frozenset([i]) for i, n in enumerate(self._inputs) if _integers(n.meta.get("val"))}
        for node in self._graph.graph.nodes:
            if node.op == "get_attr" and _integers(getattr(self._graph, node.target, None)):
                made[node] = frozenset()
            elif node.op == "call_function" and isinstance(node.target, torch._ops.OpOverload) and _integers(node.meta.get("val")) and \
                    torch.Tag.nondeterministic_seeded not in node.target.tags and node.target.namespace in ("aten", "prims") and \
                    all(n in made for n in node.all_input_nodes):
                made[node] = frozenset().union(*(made[n] for n in node.all_input_nodes))
        return made

    def check(self, names: Sequence[str], tensors: Sequence[torch.Tensor], rows: int) -> None:
        """Raises FrontEndError if a batch, of parts of `rows` samples, has an index that is outside. names: of the tensors."""
        if not self._found:
            return
        for begin in range(0, len(tensors[0]), rows):
            known: "dict[torch.fx.Node, Any]" = {n: t[begin:begin + rows] for n, t in zip(self._inputs, tensors)}
            for index in self._found:
                value = self._value(index.node, known)
                if value.numel() == 0:
                    continue
                least, most = (int(x) for x in torch.aminmax(value))
                if least < index.least or most >= index.end:
                    of = " and ".join(f"'{names[i]}'" for i in index.of)
                    raise FrontEndError(f"{index.what} that is made of batch {of} must be at least {index.least} and below {index.end}, got: "
                                        f"{least if least < index.least else most}")

    def _value(self, node: torch.fx.Node, known: "dict[torch.fx.Node, Any]") -> Any:
        ahead = [node]
        while ahead:  # graphs are deep
            last = ahead[-1]
            missing = [n for n in last.all_input_nodes if n not in known]
            if last in known or missing:
                ahead += missing
                if last in known:
                    ahead.pop()
                continue
            if last.op == "get_attr":
                known[last] = getattr(self._graph, last.target)
            else:
                arguments, keywords = (torch.fx.map_arg(a, known.__getitem__) for a in (last.args, last.kwargs))
                known[last] = last.target(*arguments, **keywords)
            ahead.pop()
        return known[node]
