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

from ..arguments import shown as shown_value
from ..errors import FrontEndError, UnsupportedOp
from ..frontend.located import best, shown
from . import values

_PADDLE = os.path.dirname(os.path.abspath(paddle.__file__)) + os.sep
_SOURCES = ("builtin.parameter", "pd_op.data")
_OF_ROWS = ("sgd_", "momentum_", "adam_")  # of these, rows without a gradient are as with one that is zero
_SUMS = ("sum_1", "sum_2", "sum_3", "num_accumulates", "old_num_accumulates", "num_updates")
_IN_PLACE: "dict[str, dict[str, Optional[str]]]" = {  # of these operations, results that are not named after what they replace, if they do
    "pd_op.batch_norm_": {"out": None},
    "pd_op.assign_out_": {"out": "output"},
    "pd_op.average_accumulates_": {f"out_{n}": f"in_{n}" for n in _SUMS},
    "pd_op.cross_entropy_with_softmax_": {"softmax": "input"},
    "pd_op.adadelta_": {"moment_out": "avg_squared_grad", "inf_norm_out": "avg_squared_update"},
    "pd_op.update_loss_scaling_": {"loss_scaling": "prev_loss_scaling", "out_good_steps": "in_good_steps", "out_bad_steps": "in_bad_steps"}}
_SAID = (*_IN_PLACE, "pd_op.check_finite_and_unscale_", "pd_op.increment_")  # which change what `replaced` says, and nothing else
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

    def input(self, name: str) -> int:
        """The id of an operand that is not left out."""
        number = self.inputs[name]
        assert number is not None, (self.name, name)
        return number


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


def replaced(op: Op, result: Optional[Result]) -> Optional[int]:
    """The operand of which a result is the new value, in its place: who reads that one later reads the result."""
    if result is None or not op.name.endswith("_"):
        return None
    usual = "x" if result.name == "out" else result.name.removesuffix("_out") if result.name.endswith("_out") else None
    name = _IN_PLACE.get(op.name, {}).get(result.name, usual)
    return None if name is None else op.inputs.get(name)


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
        # Control flow has no place, but what is in it has one.
        inside = (best(_frames(o), _PADDLE) for block in (op.blocks() if op.num_regions() else ()) for o in block.ops)
        place = best(frames, _PADDLE) or next((p for p in inside if p), None)
        what = f"{shown(place)}: {name}" if place else name
        if op.num_regions():
            raise UnsupportedOp(name, shown(place) if place else None)
        operands = [self._id(v) for v in op.operands_source()]
        if name in _SOURCES:
            self._source(op, name, attributes)
            return
        if name in ("builtin.set_parameter", "builtin.shadow_output"):
            named, number = attributes.get("parameter_name") or attributes.get("output_name"), operands[0]
            assert named is not None and number is not None, name
            self.named_updates[named] = number
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
        for _, known, *_ in self.sources:
            if known.name == name:  # recurrent layers share one, which the program reads for each
                self.ids[value.id] = known.id
                return
        result = self._result("out", value, what)
        assert name is not None and result is not None and result.shape is not None and result.dtype is not None, what
        if result.dtype in values.HALVES:
            raise FrontEndError(f"{what} must have an element type of f64, f32 or integers, got: {result.dtype}; at level O1 of mixed precision "
                                "parameters stay in f32")
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
        # What takes the last list of gradients apart has no place either.
        while last + 1 < len(self.ops) and self.ops[last + 1].name == "builtin.split" and self._made_before(self.ops[last + 1], last + 1):
            last += 1
        return last + 1

    def _made_before(self, op: Op, position: int) -> bool:
        return all(self.maker.get(n, position) < position for n in op.inputs.values() if n is not None)

    def loss(self) -> int:
        """What the backward pass begins with ones of the shape of; where that is a loss times the scale of mixed precision, the
        loss. Gradients that the loss is made of (paddle.static.gradients) begin in the same way, before it."""
        scales = {op.inputs["scale"] for op in self.ops if op.name == "pd_op.check_finite_and_unscale_"}
        begun = [op for op, frames in zip(self.ops, self.frames)
                 if op.name == "pd_op.full_like" and any(f.endswith(os.path.join("autograd", "ir_backward.py")) for f, _ in frames)]
        if not begun:
            raise FrontEndError("the program must have a backward pass: call optimizer.minimize(loss) first")
        op = ([op for op in begun if self._is_one(op)] or begun[:1])[-1]
        number = op.input("x")
        made = self.ops[self.maker[number]] if number in self.maker else None
        scaled = made is not None and made.name == "pd_op.multiply" and made.inputs["y"] in scales
        return made.input("x") if made is not None and scaled else number

    def _is_one(self, op: Op) -> bool:
        """Whether an operation full_like makes one element that is 1."""
        result, value = op.outputs[0], self.ops[self.maker[op.input("value")]] if op.input("value") in self.maker else None
        return result is not None and result.shape in ((), (1,)) and value is not None and value.attributes.get("value") == 1.0

    def leaves(self, number: Optional[int]) -> list[str]:
        """Names of the sources that a value is made of."""
        names = {s.id: s.name for _, s, _, _ in self.sources}
        found: list[str] = []
        seen, left = set(), [number]
        while left:
            number = left.pop()
            if number is None or number in seen:
                continue
            seen.add(number)
            if number in names:
                found.append(names[number])
            elif number in self.maker:
                left += self.ops[self.maker[number]].inputs.values()
        return found

    def in_list(self, split: Op, number: int) -> Optional[int]:
        """Of what becomes the value `number` of a list, the element before the operation that makes the list."""
        at = [o.id if o is not None else None for o in split.outputs].index(number)
        (of,) = split.inputs.values()
        if of not in self.maker or self.ops[self.maker[of]].name == "builtin.combine":
            lists = [of]
        else:
            lists = list(self.ops[self.maker[of]].inputs.values())
        for operand in lists:
            if operand in self.maker and self.ops[self.maker[operand]].name == "builtin.combine":
                elements = list(self.ops[self.maker[operand]].inputs.values())
                return elements[at] if at < len(elements) else None
        return None

    def gradient_of(self, op: Op, boundary: int) -> Optional[int]:
        """The raw gradient that an operation of an optimizer uses: what the backward pass has left, before clipping and
        regularisation: the nearest one, as norms are made of the gradients of all."""
        of, seen, left = self.results[op.input("param")], set(), [op.inputs["grad"]]
        while left:
            following: "list[Optional[int]]" = []
            for number in left:
                if number is None or number in seen or number not in self.maker:
                    continue
                seen.add(number)
                maker = self.ops[self.maker[number]]
                if self.maker[number] < boundary:
                    own = self.results[number]
                    if (own.shape, own.dtype) == (of.shape, of.dtype):
                        return number
                elif maker.name == "builtin.split":  # one of the list that an operation makes of a list
                    following.append(self.in_list(maker, number))
                else:
                    following += maker.inputs.values()
            left = following
        return None


def capture(program: Any, metrics: "Mapping[str, Any] | Sequence[Any]" = ()) -> Captured:
    """Reads a program. metrics: Values of it beside the loss. Raises FrontEndError."""
    reader = _Reader(program)
    loss, boundary = reader.loss(), reader.boundary()
    by_id = {s.id: s for _, s, _, _ in reader.sources}
    persistable = {s.name for _, s, p, _ in reader.sources if p}
    updated: dict[int, Source] = {}
    updates, rates, lazy = dict(reader.named_updates), [], []
    gradients: dict[int, int] = {}
    for name in updates:
        if name not in persistable:
            raise FrontEndError(f"variable '{name}', which the program sets, must be one that it reads as well")
    for i, op in enumerate(reader.ops):
        if not op.name.endswith("_"):
            continue
        where = f"{shown(op.place)}: " if op.place else ""
        for o in op.outputs:
            number = replaced(op, o)
            source = None if number is None else by_id.get(number)
            if o is not None and source is not None and source.name in persistable:
                if source.name in updates and reader.is_optimizer(op) and number == op.inputs["param"]:
                    raise FrontEndError(f"{where}'{source.name}' must be updated once in a step, got: a second time by {op.name}")
                updates[source.name] = o.id  # the last one, which has read those before
        if not reader.is_optimizer(op):
            _changed_in_place(reader, i, by_id, updates, where)
            continue
        if i < boundary:
            raise FrontEndError(f"{where}the program must have one backward pass with its update behind it, got: several")
        param = by_id.get(op.input("param"))
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
        rates += [n for n in reader.leaves(op.input("learning_rate")) if n not in rates]
        if of_rows and op.attributes.get("lazy_mode"):  # which does nothing to other gradients
            lazy.append(param.name)
    rates = [n for n in rates if n in persistable and n not in updates]  # what the step changes itself is state
    if not updated:
        raise FrontEndError("the program must have operations of an optimizer: call optimizer.minimize(loss) first")
    found = {"loss": loss}
    for name, value in _pairs(metrics):
        number = reader.ids.get(getattr(value, "id", None)) if isinstance(value, paddle.pir.Value) else None
        if number is None or number not in reader.results:
            raise FrontEndError(f"metric '{name}' must be a variable of the program, got: {type(value).__name__}")
        if found.get(name, number) != number:
            raise FrontEndError(f"metric '{name}' must have a name of its own, got: two of one name")
        if number != loss or isinstance(metrics, Mapping):  # which says what it is to be called
            found[name] = number
    order = [s for _, s, _, _ in reader.sources]
    return Captured(reader.ops, [s for s in order if s.id in updated], [s for s in order if s.name in persistable and s.id not in updated],
                    [s for s in order if s.name not in persistable], updates, gradients, boundary, found, rates, lazy)


def _changed_in_place(reader: _Reader, position: int, by_id: Mapping[int, Source], updates: dict[str, int], where: str) -> None:
    """An operation that changes its operand x, a variable that is carried, becomes its update; others like it are refused."""
    op = reader.ops[position]
    if op.name in _SAID:
        return
    changed = [by_id[n] for n in op.inputs.values() if n is not None and n in by_id and by_id[n].name not in updates]
    if not changed or any(o is not None and o.name.endswith("_out") for o in op.outputs):
        return
    number, out = op.inputs.get("x"), op.outputs[0]
    source = None if number is None else by_id.get(number)
    later = any(source is not None and source.id in other.inputs.values() for other in reader.ops[position + 1:])
    if source is None or later or len(op.outputs) != 1 or out is None:
        raise FrontEndError(f"{where}{op.name} changes '{changed[0].name}' in its place; use the form that returns another tensor")
    updates[source.name] = out.id


def _pairs(metrics: Any) -> "list[tuple[str, Any]]":
    """Names of metrics and what they are."""
    if isinstance(metrics, Mapping):
        for name in metrics:
            if not isinstance(name, str) or not name or not name.isprintable():
                raise FrontEndError(f"metrics must have names, got: {shown_value(name)}")
        return list(metrics.items())
    if not isinstance(metrics, (tuple, list)):  # one variable can be iterated over, which adds operations to the program
        raise FrontEndError(f"metrics must be a list or a dictionary of variables, got: {type(metrics).__name__}")
    return [(_name_of(v, i), v) for i, v in enumerate(metrics)]


def _name_of(value: Any, position: int) -> str:
    name = value.name if getattr(value, "has_name", False) else None
    return name or f"metric.{position + 1}"
