# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Walks a live StableHLO module and writes its level-0 function."""

from __future__ import annotations

import re
from typing import Any, Callable, Sequence

import numpy as np

from ...errors import FrontEndError, UnsupportedOp
from .emitter import Emitter
from .ir import DType, Value
from .scalar import RULES, Body

ELEMENTS = {"f64", "f32", "f16", "bf16", "i1", "i8", "i32", "i64", "ui8", "ui32", "ui64"}

# stablehlo/chlo op name -> handler(walker, op); filled by the modules of this package.
HANDLERS: dict[str, Callable] = {}


def numbers(attribute) -> list[int]:
    """A dense array attribute of integers."""
    return [int(x) for x in attribute]


def handles(*names: str):
    def register(function):
        for name in names:
            HANDLERS[name] = function
        return function
    return register


# The same of operations on complex numbers.
COMPLEX_HANDLERS: dict[str, Callable] = {}

# The same by the target of a stablehlo.custom_call.
CALL_HANDLERS: dict[str, Callable] = {}


def handles_call(*targets: str):
    def register(function):
        for target in targets:
            CALL_HANDLERS[target] = function
        return function
    return register


def is_complex(op) -> bool:
    """Whether an operand or a result is a tensor of complex elements."""
    return any("complex<" in str(v.type) for values in (op.operands, op.results) for v in values)


class Walker:
    """Turns the functions of one module into operations of an Emitter.

    carried: the Values that are parameters, mapped to their names (for gradients).
    locate: JAX location text -> "file":line:col or None.
    """

    def __init__(self, module, carried: dict[int, str], locate: Callable[[str], str | None]):
        self.functions = self.functions_of(module)
        self.e = Emitter()
        self.carried = carried
        self.gradients: dict[str, str] = {}
        # What has a gradient and is no parameter itself, and where it is taken.
        self.differentiated: list[tuple[Value, str]] = []
        # By their ids, what gradients are taken of.
        self.losses: set[int] = set()
        # Parameters with row-sparse gradients: their Values, and shape and element type.
        self.tables: dict[int, tuple[tuple[int, ...], DType]] = {}
        self.locate = locate
        self.values: dict = {}
        self.parts = 0  # while positive, complex elements are taken for their real or imaginary parts

    @staticmethod
    def functions_of(module) -> dict:
        """Its functions by name."""
        return {str(f.attributes["sym_name"]).strip('"'): f for f in module.body.operations}

    # ---- what handlers use ---------------------------------------------------------------
    def get(self, value) -> Any:
        """What stands for a value: a Value, or a complex_numbers.Pair."""
        return self.values[value]

    def operands(self, op) -> list[Any]:
        """Values; in COMPLEX_HANDLERS also Pairs."""
        return [self.values[o] for o in op.operands]

    def set(self, op, *results: Any) -> None:
        for jax_value, ours in zip(op.results, results, strict=True):
            if not isinstance(ours, Value):  # complex numbers
                self.values[jax_value] = ours
                continue
            # Reading one bit pattern as signed or unsigned is a matter of the user only.
            dtype = self.type_of(jax_value)[1]
            if dtype != ours.dtype:
                ours = self._retyped(ours, dtype)
            self.values[jax_value] = ours

    @staticmethod
    def _retyped(value: Value, dtype: DType) -> Value:
        if value.dtype.mlir != dtype.mlir:
            raise AssertionError(f"{value.dtype} became {dtype}")
        other = Value(value.shape, dtype)
        other.id, other.view, other.splat = value.id, value.view, None if value.splat is None else dtype.rounded(value.splat)
        return other

    def type_of(self, jax_value) -> tuple[tuple[int, ...], DType]:
        return self.parse_type(jax_value.type)

    def parse_type(self, type_) -> tuple[tuple[int, ...], DType]:
        text = str(type_)
        if self.parts:
            text = re.sub(r"complex<(\w+)>", r"\1", text)
        match = re.fullmatch(r"tensor<((?:\d+x)*)(\w+)>", text)
        if not match:
            if "?" in text:
                raise FrontEndError(f"{self.where()}dynamic shape: {text}; every shape must be static")
            calls = " of calls of Python in their order while the step runs (jax.debug.print and io_callback with ordered=True)," if text == "!stablehlo.token" else ""
            raise UnsupportedOp(f"type {text}{calls}", self.e.location)
        if match[2] not in ELEMENTS:
            raise UnsupportedOp(f"element type {match[2]}", self.e.location)
        shape = tuple(int(x) for x in match[1].split("x") if x)
        return shape, DType(match[2].removeprefix("u"), match[2].startswith("u"))

    def where(self) -> str:
        return f"{self.e.location}: ".replace('"', "") if self.e.location else ""

    def refuse(self, op, detail: str = ""):
        raise UnsupportedOp(op.name + (f" with {detail}" if detail else ""), self.e.location)

    @staticmethod
    def refuse_complex(w: "Walker", op):
        w.refuse(op, "complex numbers")

    # ---- walking -----------------------------------------------------------------------------
    def function(self, name: str, arguments: Sequence[Value]) -> list[Value]:
        function = self.functions[name]
        block = function.regions[0].blocks[0]
        outer, self.values = self.values, {}
        try:
            return self.run_block(block, arguments)
        finally:
            self.values = outer

    def run_block(self, block, arguments: Sequence[Value]) -> list[Value]:
        """Emits a block's operations in place; returns what its terminator returns."""
        for jax_value, ours in zip(block.arguments, arguments, strict=True):
            self.values[jax_value] = ours
        for view in block.operations:
            op = view.operation
            if op.name in ("func.return", "stablehlo.return"):
                return self.operands(op)
            self.run_op(op)
        raise AssertionError("a block without a terminator")

    def decompose(self, op) -> bool:
        from .decomposition import decompose
        return decompose(self, op)

    def run_op(self, op) -> None:
        outer = self.e.location
        self.e.location = self.locate(str(op.location)) or outer
        try:
            handler = HANDLERS.get(op.name)
            if not self.parts and op.name.startswith("stablehlo.") and op.name != "stablehlo.composite" and is_complex(op):
                handler = COMPLEX_HANDLERS.get(op.name, self.refuse_complex)
            try:
                if handler is not None:
                    handler(self, op)
                elif not self.decompose(op):
                    self.refuse(op)
            except NotImplementedError as error:
                self.refuse(op, str(error))
            except (AssertionError, AttributeError, IndexError, KeyError, TypeError) as error:
                # A form of the operation that its handler did not think of: still its name and the line.
                raise UnsupportedOp(f"{op.name} in this form", self.e.location) from error
        finally:
            self.e.location = outer

    # ---- scalar regions (of reduce, scatter, ...) ------------------------------------------------
    def scalar_region(self, region, body: Body, arguments: Sequence[str]) -> list[str]:
        """Writes a region of tensors of rank 0 as scalar operations."""
        block = region.blocks[0]
        names = dict(zip(block.arguments, arguments, strict=True))

        def run(operations):
            for view in operations:
                op = view.operation
                if op.name == "stablehlo.return":
                    return [names[o] for o in op.operands]
                if op.name == "stablehlo.constant":
                    shape, dtype = self.type_of(op.results[0])
                    array = constant_array(op, dtype)
                    names[op.results[0]] = body.constant(array.reshape(-1)[0].item(), dtype)
                    continue
                if op.name not in RULES:
                    self.refuse(op, "a place in a region of scalars")
                for o in op.operands:  # values from outside: numbers only
                    if o not in names:
                        outside = self.get(o)
                        names[o] = body.op(f"tensor.extract {outside.ref}[] : {outside.type}")
                types = [self.type_of(o)[1] for o in op.operands]
                out = self.type_of(op.results[0])[1]
                names[op.results[0]] = RULES[op.name](body, [names[o] for o in op.operands], types, out, op)
            raise AssertionError("a region without a terminator")
        return run(block.operations)

    def region_kind(self, region) -> str:
        """The name of the only operation of a two-argument region, e.g. "stablehlo.add", or ""."""
        names = [o.operation.name for o in region.blocks[0].operations]
        return names[0] if len(names) == 2 else ""


def constant_array(op, dtype: DType) -> np.ndarray:
    """The elements of a stablehlo.constant."""
    from jax.extend.mlir import ir

    attribute = op.attributes["value"]
    shape = tuple(ir.RankedTensorType(op.results[0].type).shape)
    if attribute.is_splat:
        return np.full(shape, attribute.get_splat_value().value)
    if dtype.mlir == "bf16":
        return bf16_elements(str(attribute)).reshape(shape)
    if dtype.mlir == "i1":
        return np.array([attribute[i] for i in range(len(attribute))]).reshape(shape)
    return np.array(attribute).reshape(shape)


def bf16_elements(text: str) -> np.ndarray:
    """The numbers in the text of a dense attribute, which is all that the bindings give of bf16."""
    text = text[text.index("<") + 1:text.rindex(" : tensor<")]
    if text.startswith('"0x'):
        bits = np.frombuffer(bytes.fromhex(text[3:text.index('"', 1)]), "<u2")
        return (bits.astype(np.uint32) << 16).view(np.float32)
    numbers = re.findall(r"0x[0-9A-F]{4}|[-+\d.e]+", text)  # what is not finite is written as its bits
    return np.array([np.uint32(int(n, 16) << 16).view(np.float32) if n.startswith("0x") else np.float32(n)
                     for n in numbers], np.float32)
