# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A captured program as a function of JAX arrays, by the table of rules."""

from __future__ import annotations

import contextlib
from typing import Any, Callable, Iterator, Mapping, Optional

import jax
import jax.numpy as jnp
import numpy as np

from ..errors import FrontEndError, UnsupportedOp
from ..frontend.jax_gradient import gradient_p
from ..frontend.located import Located
from ..frontend.rules import applied, keys
from .capture import Captured, Op, replaced
from .rules import RULES, Operation, pullback

_DRAWING = tuple(f"pd_op.{n}" for n in ("dropout", "uniform", "gaussian", "bernoulli", "randint", "randperm", "gumbel_softmax"))
_SHAPED = ("pd_op.reshape", "pd_op.reshape_", "pd_op.view_shape", "pd_op.expand")


def draws(captured: Captured) -> bool:
    """Whether it draws random numbers."""
    return any(op.name in _DRAWING and not op.attributes.get("is_test") for op in captured.ops)


def run(captured: Captured, inputs: Mapping[int, Any], located: Located, rows: "tuple[int, int]",
        random: "Optional[jax.Array]" = None) -> dict[int, Any]:
    """All values by id. inputs: of the sources. rows: samples of the global batch, and of what is given here. random: the
    key that all numbers are drawn from."""
    found: dict[int, Any] = dict(inputs)
    key, lists = keys(random), {}
    for i, op in enumerate(captured.ops):
        if i == captured.boundary:
            _mark(captured, inputs, found)
        with located.scope(op.place):
            for result, value in zip(op.outputs, _apply(op, found, located, key, rows)):
                if result is not None:
                    found[result.id] = value
        if op.name == "builtin.combine":
            (result,) = op.outputs
            assert result is not None
            lists[result.id] = list(op.inputs.values())
        _replace(op, found, lists)
    return found


def _replace(op: Op, found: "dict[int, Any]", lists: "Mapping[int, list]") -> None:
    """What an operation changes in its place is so for all who read it later, by whichever name. lists: the elements of each."""
    for result in op.outputs:
        number = replaced(op, result)
        if result is None or number is None:
            continue
        new = found[result.id]
        for old, value in zip(lists[number], new) if number in lists else [(number, new)]:
            if old in found and value is not None and getattr(found[old], "shape", None) == value.shape:
                found[old] = value


def _mark(captured: Captured, inputs: Mapping[int, Any], found: dict[int, Any]) -> None:
    for gradient, param in captured.gradients.items():
        found[gradient] = gradient_p.bind(jnp.asarray(found[gradient]), inputs[param])


def _is_known(value: Any) -> bool:
    return value is None or isinstance(value, np.ndarray) or isinstance(value, list) and all(map(_is_known, value))


def _apply(op: Op, found: Mapping[int, Any], located: Located, key: Callable, rows: "tuple[int, int]") -> "tuple[Any, ...]":
    operands = {n: found[i] if i is not None else None for n, i in op.inputs.items()}
    if op.name == "builtin.combine":
        return (list(operands.values()),)
    if op.name in ("builtin.split", "builtin.slice"):
        value: Any = next(iter(operands.values()))
        return tuple(value) if op.name == "builtin.split" else (value[op.attributes["index"]],)
    place = located.text(op.place)
    dialect, _, name = op.name.partition(".")
    operation = Operation(name, op.attributes, [o.name if o else "" for o in op.outputs],
                          [None if o is None else o.shape or () for o in op.outputs], [None if o is None else o.dtype for o in op.outputs], key)
    rule = RULES.get(name) if dialect == "pd_op" else None
    if rule is None and not (name.endswith("_grad") and name.removesuffix("_grad") in RULES):
        raise UnsupportedOp(op.name, place)
    with _of_one_batch(op, operands, rows, place), applied(op.name, place):
        if rule is None:
            value = pullback(operation, operands)
            if value is None:
                raise UnsupportedOp(op.name, place)
        elif all(map(_is_known, operands.values())) and op.name not in _DRAWING:
            with jax.ensure_compile_time_eval():
                value = jax.tree_util.tree_map(np.asarray, rule(operation, **operands))
        else:
            value = rule(operation, **operands)
        values = value if isinstance(value, tuple) else (value,)
        if len(values) != len(op.outputs):
            raise AssertionError(f"{len(op.outputs)} results")
        return tuple(_checked(op, v, o, operands, rows, place) for v, o in zip(values, op.outputs))


def _constant_size(what: str, rows: "tuple[int, int]", place: Optional[str]) -> FrontEndError:
    return FrontEndError(f"{place.replace(chr(34), '') + ': ' if place else ''}{what} the batch size {rows[0]} as a constant, where each "
                         f"worker has {rows[1]} samples; have it be -1, and the first dimension of data None")


@contextlib.contextmanager
def _of_one_batch(op: Op, operands: Mapping[str, Any], rows: "tuple[int, int]", place: Optional[str]) -> Iterator[None]:
    """Says so where an operation fails as one operand has the samples of the whole batch, and another those of a worker."""
    try:
        yield
    except UnsupportedOp as error:
        sizes = {getattr(v, "shape", ())[:1] for v in jax.tree_util.tree_leaves(list(operands.values()))}
        if rows[0] == rows[1] or not isinstance(error.__cause__, (TypeError, ValueError)) or not {(n,) for n in rows} <= sizes:
            raise
        raise _constant_size(f"an operand of {op.name} has", rows, place) from error


def _checked(op: Op, value: Any, result: Any, operands: Mapping[str, Any], rows: "tuple[int, int]", place: Optional[str]) -> Any:
    """With the shape and element type that Paddle says, at the batch that is given here."""
    if result is None or value is None or result.shape is None or result.dtype is None:
        return value
    samples, local = rows
    if isinstance(value, np.ndarray):
        return value.astype(result.dtype)
    # The first dimension of what each worker has a part of is smaller here, and an operation may hold the other size.
    first = next((v for v in operands.values() if v is not None), None)
    if (samples != local and op.name in _SHAPED and getattr(first, "shape", ())[:1] == (local,) and value.shape[:1] == (samples,)
            and result.shape[:1] == (samples,)):
        raise _constant_size(f"{op.name} has", rows, place)
    for own, said in zip(value.shape, result.shape):
        if said not in (-1, own) and said * local != own * samples:
            raise AssertionError(f"the rule gives {list(value.shape)}, not {list(result.shape)}")
    if len(value.shape) != len(result.shape):
        raise AssertionError(f"the rule gives {list(value.shape)}, not {list(result.shape)}")
    # What is updated in its place keeps its type, whatever Paddle notes (f32 of momentum_ in f64).
    number = replaced(op, result)
    old = None if number is None else next(v for n, v in operands.items() if op.inputs[n] == number)
    return value.astype(result.dtype if old is None else old.dtype)
