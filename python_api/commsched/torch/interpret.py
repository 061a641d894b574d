# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A captured graph as a function of JAX arrays, by the table of rules."""

from __future__ import annotations

import math
import operator
from typing import Any, Callable, Mapping, Optional, Sequence

import jax
import jax.numpy as jnp
import torch

from ..errors import UnsupportedOp
from ..frontend.located import Located
from ..frontend.rules import applied, keys
from .rules import Operation, rule_of
from .rules.table import dtype_of
from .values import to_numpy

# What is computed of numbers that are only known in a run.
_NUMBERS: dict[Any, Callable] = {
    f: f for f in (operator.add, operator.sub, operator.mul, operator.truediv, operator.neg, operator.pow, operator.floordiv,
                   operator.mod, operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne, operator.abs)}
_NUMBERS.update({torch.sym_max: jnp.maximum, torch.sym_min: jnp.minimum, torch.sym_not: jnp.logical_not, math.sqrt: jnp.sqrt,
                 torch.sym_float: lambda x: jnp.asarray(x, jnp.float64), torch.sym_int: lambda x: jnp.asarray(x, jnp.int64),
                 torch._sym_sqrt: jnp.sqrt, torch.sym_ite: lambda holds, a, b: jnp.where(holds, a, b)})


def draws(graph: torch.fx.GraphModule) -> bool:
    """Whether it draws random numbers."""
    return any(torch.Tag.nondeterministic_seeded in n.target.tags for n in graph.graph.nodes
               if n.op == "call_function" and isinstance(n.target, torch._ops.OpOverload))


def _described(value: Any) -> Any:
    return value.meta.get("val") if isinstance(value, torch.fx.Node) else value


def run(graph: torch.fx.GraphModule, inputs: Sequence[Any], located: Located, params: Sequence[Any] = (),
        random: "Optional[jax.Array]" = None, assumed: "Mapping[torch.fx.Node, torch.Tensor]" = {}) -> list:
    """The outputs. params: what marks of gradients name by position. random: the key that all numbers are drawn from. assumed: what nodes are taken
    to be."""
    known: dict[torch.fx.Node, Any] = {}
    given, key = iter(inputs), keys(random)
    for node in graph.graph.nodes:
        if node.op == "placeholder":
            known[node] = next(given)
        elif node in assumed:
            known[node] = jnp.asarray(to_numpy(assumed[node]))
        elif node.op == "get_attr":
            known[node] = jnp.asarray(to_numpy(getattr(graph, node.target)))
        elif node.op == "output":
            return list(torch.fx.map_arg(node.args[0], known.__getitem__))
        else:
            arguments, keywords = (torch.fx.map_arg(a, known.__getitem__) for a in (node.args, node.kwargs))
            with located.scope(node.meta.get("stack_trace")):
                known[node] = _apply(node, arguments, keywords, located, params, key)
    raise AssertionError("a graph without an output")


def _apply(node: torch.fx.Node, arguments: tuple, keywords: dict, located: Located, params: Sequence[Any], key: Callable) -> Any:
    target, name = node.target, str(node.target)
    if target is operator.getitem:
        return arguments[0][arguments[1]]
    if target in _NUMBERS:
        return _NUMBERS[target](*arguments)
    if target is torch.ops.aten._local_scalar_dense.default:
        x = jnp.asarray(arguments[0]).reshape(())
        return x if x.dtype == jnp.bool_ else x.astype(jnp.float64 if jnp.issubdtype(x.dtype, jnp.floating) else jnp.int64)
    place = located.text(node.meta.get("stack_trace"))
    rule = rule_of(target) if isinstance(target, torch._ops.OpOverload) else None
    shown = name.removesuffix(".default")
    if rule is None:
        raise UnsupportedOp(shown, place)
    if name.startswith("commsched.gradient"):
        arguments = (arguments[0], params[arguments[1]])
    out = node.meta.get("val")
    operation = Operation(name, out, [_map(a) for a in node.args], key)
    with applied(shown, place):
        return _checked(rule(operation, *arguments, **keywords), out)


def _map(argument: Any) -> Any:
    if isinstance(argument, (tuple, list)):
        return [_map(a) for a in argument]
    return _described(argument)


def _checked(value: Any, out: Any) -> Any:
    """With the shapes and element types that PyTorch says."""
    if isinstance(out, (tuple, list)):
        if not isinstance(value, (tuple, list)) or len(value) != len(out):
            raise AssertionError(f"{len(out)} results")
        return tuple(_checked(v, o) for v, o in zip(value, out))
    if not isinstance(out, torch.Tensor) or value is None:
        return value
    value = jnp.asarray(value)
    if value.shape != tuple(out.shape):
        raise AssertionError(f"the rule gives {list(value.shape)}, not {list(out.shape)}")
    if jnp.iscomplexobj(value) and not out.is_complex():
        raise AssertionError("the rule gives complex numbers")
    return value.astype(dtype_of(out.dtype))
