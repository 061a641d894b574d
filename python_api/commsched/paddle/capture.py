# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A static program of PaddlePaddle (PIR) after minimize(), read into plain records: operations, what is carried from step
to step, and where the gradients are. The program is only read, and nothing of it is kept.

Values of PIR are told apart by `id`; comparing them with == would add operations to the program.
"""

from __future__ import annotations

import dataclasses
import os
import re
from typing import Any, Mapping, Optional, Sequence

import numpy as np
import paddle

from ..errors import FrontEndError, UnsupportedOp
from ..frontend.located import best, shown
from . import values

_PADDLE = os.path.dirname(os.path.abspath(paddle.__file__)) + os.sep
_SOURCES = ("builtin.parameter", "pd_op.data")
_OF_ROWS = ("sgd_", "momentum_", "adam_")  # of these, rows without a gradient are as with one that is zero
_OPTIMIZERS = ("param", "grad", "learning_rate")  # operands that an operation of an optimizer has


@dataclasses.dataclass(frozen=True)
class Result:
    """name: as the operation calls it; shape: None of what is no dense tensor; -1: a dimension that is not known."""

    name: str
    id: int
    shape: Optional[tuple[int, ...]]
    dtype: Optional[np.dtype]


@dataclasses.dataclass(frozen=True)
class Op:
    """inputs: ids of operands, None where one is left out. place: "file:line" of the user, or None."""

    name: str
    inputs: Mapping[str, Optional[int]]
    outputs: Sequence[Optional[Result]]
    attributes: Mapping[str, Any]
    place: Optional[str]


@dataclasses.dataclass(frozen=True)
class Source:
    """A parameter, a persistable variable or a batch: name, id, declared shape, element type."""

    name: str
    id: int
    shape: tuple[int, ...]
    dtype: np.dtype


@dataclasses.dataclass
class Captured:
    """ops: those that compute, in order. params: sources that an optimizer updates; state: other persistable ones; batches.
    updates: name of a param or state -> id of its new value. gradients: id of a raw gradient -> id of its parameter; they
    are marked before operation `boundary`, with which the update begins. metrics: name -> id. rates: names among state.
    lazy: tables that an optimizer updates where a batch reads them only."""

    ops: list[Op]
    params: list[Source]
    state: list[Source]
    batches: list[Source]
    updates: dict[str, int]
    gradients: dict[int, int]
    boundary: int
    metrics: dict[str, int]
    rates: list[str]
    lazy: list[str]


def _frames(op: Any) -> list[tuple[str, int]]:
    """Innermost first."""
    found = re.findall(r'File "([^"]+)", line (\d+)', "\n".join(op.callstack))
    return [(file, int(line)) for file, line in reversed(found)]


class _Reader:
    def __init__(self, program: Any):
        self.program = program
        self.ids: dict[Any, int] = {}
        self.results: dict[int, Result] = {}
        self.maker: dict[int, int] = {}  # id -> position of its operation
        self.sources: list[tuple[str, Source, bool, bool]] = []  # operation, source, persistable, trainable
        self.ops: list[Op] = []
        self.frames: list[list] = []
        self.named_updates: dict[str, int] = {}
        self._forward: dict[tuple[str, int], str] = {}
        for op in program.global_block().ops:
            self._read(op)

    def _id(self, value: Any) -> Optional[int]:
        if value is None or not value.initialized():
            return None
        return self.ids.setdefault(value.id, len(self.ids))

    def _result(self, name: str, value: Any, what: str) -> Optional[Result]:
        number = self._id(value)
        if number is None:
            return None
        try:
            shape = tuple(int(n) for n in value.shape)
            dtype = values.dtype_of(value.dtype, what)
        except ValueError as error:
            if isinstance(error, FrontEndError):
                raise
            shape, dtype = None, None  # a list of tensors
        result = Result(name, number, shape, dtype)
        self.results[number] = result
        return result

    def _read(self, op: Any) -> None:
        name, attributes = op.name(), dict(op.attrs())
        frames = _frames(op)
        place = best(frames, _PADDLE)
        what = f"{shown(place)}: {name}" if place else name
        if op.num_regions():
            raise UnsupportedOp(name, shown(place) if place else None)
        operands = [self._id(v) for v in op.operands_source()]
        if name in _SOURCES:
            self._source(op, name, attributes)
            return
        if name in ("builtin.set_parameter", "builtin.shadow_output"):
            self.named_updates[attributes.get("parameter_name") or attributes.get("output_name")] = operands[0]
            return
        if name == "pd_op.fetch":
            return
        try:
            input_names, output_names = list(op.get_input_names()), list(op.get_output_names())
        except ValueError:  # of the dialect builtin
            input_names, output_names = [f"x{i}" for i in range(len(operands))], []
        outputs = [self._result(output_names[i] if i < len(output_names) else f"out{i}", v, what) for i, v in enumerate(op.results())]
        place = place or self._forward_place(name, operands)
        for number in [*operands, *(o.id for o in outputs if o)]:
            if number is not None and place:
                self._forward.setdefault((name, number), place)
        for o in outputs:
            if o is not None:
                self.maker[o.id] = len(self.ops)
        self.ops.append(Op(name, dict(zip(input_names, operands)), outputs, attributes, place))
        self.frames.append(frames)

    def _forward_place(self, name: str, operands: Sequence[Optional[int]]) -> Optional[str]:
        """Backward operations have no place: that of the operation whose gradient they are."""
        forward = name.removesuffix("_grad")
        for kind in (forward, forward + "_"):
            for number in operands:
                if number is not None and (kind, number) in self._forward:
                    return self._forward[kind, number]
        return None

    def _source(self, op: Any, kind: str, attributes: Mapping[str, Any]) -> None:
        value = op.results()[0]
        name = attributes.get("parameter_name") or attributes.get("name")
        what = f"variable '{name}'"
        result = self._result("out", value, what)
        persistable = kind == "builtin.parameter" or bool(np.any(attributes.get("persistable", False)))
        trainable = bool(np.all(attributes.get("trainable", False)))
        self.sources.append((kind, Source(name, result.id, result.shape, result.dtype), persistable, trainable))

    # ---- the seam ----------------------------------------------------------------------------------------
    def is_optimizer(self, op: Op) -> bool:
        return op.name.endswith("_") and all(n in op.inputs for n in _OPTIMIZERS)

    def boundary(self) -> int:
        """The position after the last operation of the backward pass: these are made by ir_backward.py, or in C++, where
        they have no place."""
        last = -1
        for i, (op, frames) in enumerate(zip(self.ops, self.frames)):
            made = any(f.endswith(os.path.join("autograd", "ir_backward.py")) for f, _ in frames)
            if made or not frames and op.name not in ("pd_op.full", "pd_op.full_int_array") and not op.name.startswith("builtin."):
                last = i
        return last + 1

    def loss(self) -> int:
        """What the backward pass begins with ones of the shape of."""
        for op, frames in zip(self.ops, self.frames):
            if op.name == "pd_op.full_like" and any(f.endswith(os.path.join("autograd", "ir_backward.py")) for f, _ in frames):
                return op.inputs["x"]
        raise FrontEndError("the program must have a backward pass: call optimizer.minimize(loss) first")

    def gradient_of(self, op: Op, boundary: int) -> Optional[int]:
        """The raw gradient that an operation of an optimizer uses: what the backward pass has left, before clipping and
        regularisation, which have the gradient as their first operand."""
        of = self.results[op.inputs["param"]]

        def find(number: Optional[int], seen: set) -> Optional[int]:
            if number is None or number in seen or number not in self.maker:
                return None
            seen.add(number)
            if self.maker[number] < boundary:
                own = self.results[number]
                return number if (own.shape, own.dtype) == (of.shape, of.dtype) else None
            for operand in self.ops[self.maker[number]].inputs.values():
                found = find(operand, seen)
                if found is not None:
                    return found
            return None
        return find(op.inputs["grad"], set())


def capture(program: Any, metrics: "Mapping[str, Any] | Sequence[Any]" = ()) -> Captured:
    """Reads a program. metrics: Values of it beside the loss. Raises FrontEndError."""
    reader = _Reader(program)
    loss, boundary = reader.loss(), reader.boundary()
    by_id = {s.id: s for _, s, _, _ in reader.sources}
    persistable = {s.name for _, s, p, _ in reader.sources if p}
    updated: dict[int, Source] = {}
    updates, gradients, rates, lazy = dict(reader.named_updates), {}, [], []
    for name in updates:
        if name not in persistable:
            raise FrontEndError(f"variable '{name}', which the program sets, must be one that it reads as well")
    for i, op in enumerate(reader.ops):
        if not op.name.endswith("_"):
            continue
        where = f"{shown(op.place)}: " if op.place else ""
        for o in op.outputs:  # <input>_out is the input, in its place
            source = by_id.get(op.inputs.get(o.name.removesuffix("_out"))) if o is not None and o.name.endswith("_out") else None
            if source is not None and source.name in persistable:
                if source.name in updates:
                    raise FrontEndError(f"{where}'{source.name}' must be updated once in a step, got: a second time by {op.name}")
                updates[source.name] = o.id
        if not reader.is_optimizer(op):
            _changed_in_place(reader, i, by_id, updates, where)
            continue
        if i < boundary:
            raise FrontEndError(f"{where}the program must have one backward pass with its update behind it, got: several")
        param = by_id.get(op.inputs["param"])
        if param is None:
            raise FrontEndError(f"{where}{op.name} must update a parameter, got: a computed tensor")
        raw = reader.gradient_of(op, boundary)
        if raw is None:
            raise FrontEndError(f"{where}no gradient of '{param.name}' was found that the backward pass makes and {op.name} uses")
        # As Paddle has it with op-by-op execution; in programs of 3.3, sparse=True of an embedding changes nothing.
        of_rows = reader.ops[reader.maker[raw]].name == "pd_op.embedding_sparse_grad"
        if of_rows and op.name.removeprefix("pd_op.") not in _OF_ROWS:
            raise FrontEndError(f"{where}the embedding of '{param.name}' must have sparse=False with {op.name}")
        if raw in gradients:
            raise FrontEndError(f"{where}'{param.name}' and '{by_id[gradients[raw]].name}' have one gradient in common, which must be two")
        gradients[raw] = param.id
        updated[param.id] = param
        rate = by_id.get(op.inputs["learning_rate"])
        if rate is None or rate.name not in persistable:
            raise FrontEndError(f"{where}the rate of {op.name} is computed in the program, where it would be one more part of the step; use "
                                "a number or a paddle.optimizer.lr scheduler")
        if rate.name not in rates:
            rates.append(rate.name)
        if of_rows and op.attributes.get("lazy_mode"):  # which does nothing to other gradients
            lazy.append(param.name)
    if not updated:
        raise FrontEndError("the program must have operations of an optimizer: call optimizer.minimize(loss) first")
    pairs = list(metrics.items()) if isinstance(metrics, Mapping) else [(_name_of(v, i), v) for i, v in enumerate(metrics)]
    found = {"loss": loss}
    for name, value in pairs:
        number = reader.ids.get(getattr(value, "id", None))
        if number is None or number not in reader.results:
            raise FrontEndError(f"metric '{name}' must be a variable of the program, got: {type(value).__name__}")
        if number != loss:
            found[name] = number
    order = [s for _, s, _, _ in reader.sources]
    return Captured(reader.ops, [s for s in order if s.id in updated], [s for s in order if s.name in persistable and s.id not in updated],
                    [s for s in order if s.name not in persistable], updates, gradients, boundary, found, rates, lazy)


def _changed_in_place(reader: _Reader, position: int, by_id: Mapping[int, Source], updates: dict[str, int], where: str) -> None:
    """An operation that changes its operand x, a variable that is carried, becomes its update; others like it are refused."""
    op = reader.ops[position]
    changed = [by_id[n] for n in op.inputs.values() if n in by_id and by_id[n].name not in updates]
    if not changed or any(o is not None and o.name.endswith("_out") for o in op.outputs):
        return
    source, out = by_id.get(op.inputs.get("x")), op.outputs[0]
    later = any(source is not None and source.id in other.inputs.values() for other in reader.ops[position + 1:])
    if source is None or later or len(op.outputs) != 1 or out is None:
        raise FrontEndError(f"{where}{op.name} changes '{changed[0].name}' in its place; use the form that returns another tensor")
    updates[source.name] = out.id


def _name_of(value: Any, position: int) -> str:
    name = value.name if getattr(value, "has_name", False) else None
    return name or f"metric.{position + 1}"
