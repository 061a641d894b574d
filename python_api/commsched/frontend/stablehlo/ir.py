# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Level-0 text: values, operations and blocks, printed as upstream MLIR.

Operations are kept as text with references to values, so that dead ones can be
dropped before anything is printed. Nothing here knows StableHLO.
"""

from __future__ import annotations

import dataclasses
import math
import re
from typing import TYPE_CHECKING, Any, Iterable, Optional, Sequence

import ml_dtypes
import numpy as np

if TYPE_CHECKING:
    from .contraction import Contraction

_REFERENCE = re.compile(r"\u27e6(\d+)\u27e7")


@dataclasses.dataclass(frozen=True)
class DType:
    """An element type. MLIR's integers are signless here; the sign is kept aside."""

    mlir: str
    unsigned: bool = False

    @property
    def is_float(self) -> bool:
        return "f" in self.mlir

    @property
    def is_bool(self) -> bool:
        return self.mlir == "i1"

    @property
    def width(self) -> int:
        return 64 if self.mlir == "index" else int(re.sub(r"\D", "", self.mlir))

    def number(self, value) -> str:
        """The literal of a number of this type, exact."""
        if self.is_bool:
            return "true" if value else "false"
        if not self.is_float:
            value = int(value)
            limit = 1 << self.width
            value &= limit - 1
            return str(value - limit if value >= limit // 2 else value)
        return _float_literal(float(value), self.mlir)

    def rounded(self, value: Any) -> Any:
        """The number of this type that a number of another one becomes: what a constant of it is."""
        if self.is_bool:
            return bool(value)
        if self.is_float:
            with np.errstate(over="ignore"):
                return float(_FLOATS[self.mlir](value))
        value = int(value) & (1 << self.width) - 1
        return value if self.unsigned or value < 1 << self.width - 1 else value - (1 << self.width)


_FLOATS: "dict[str, Any]" = {"f64": np.float64, "f32": np.float32, "f16": np.float16, "bf16": ml_dtypes.bfloat16}


def _float_literal(value: float, kind: str) -> str:
    if math.isnan(value) or math.isinf(value):
        bits = {"f64": (0x7FF0000000000000, 0x7FF8000000000000), "f32": (0x7F800000, 0x7FC00000),
                "f16": (0x7C00, 0x7E00), "bf16": (0x7F80, 0x7FC0)}[kind]
        pattern = bits[1] if math.isnan(value) else bits[0]
        width = {"f64": 64, "f32": 32, "f16": 16, "bf16": 16}[kind]
        if value < 0:
            pattern |= 1 << (width - 1)
        return f"0x{pattern:0{width // 4}X}"
    if kind == "f64":
        for digits in (6, 12, 16):
            text = f"{value:.{digits}e}"
            if float(text) == value:
                return text
        return f"{value:.17e}"
    for digits in (6, 8):
        text = f"{value:.{digits}e}"
        if np.float32(text) == np.float32(value):
            return text
    return f"{value:.9e}"


class Value:
    """An SSA value: a tensor, or (shape None) a scalar.

    `view` (source, dims): this tensor is `source` read with source dimension i at this
    tensor's index dims[i]; consumers that take indexing maps use the source instead.
    `splat` is the number that fills a constant tensor.
    `contraction` is what is needed to emit the same contraction with its result permuted.
    `reshaped` is the tensor whose elements these are, in another shape.
    """

    __slots__ = ("id", "shape", "dtype", "view", "splat", "contraction", "reshaped")
    _next = 0

    def __init__(self, shape: Optional[Sequence[int]], dtype: DType):
        self.id = Value._next
        Value._next += 1
        # None of a scalar: it is no tensor of rank 0, and what copies the shape of a value makes one of its kind.
        self.shape: Any = None if shape is None else tuple(int(s) for s in shape)
        self.dtype = dtype
        self.view: Optional[tuple[Value, Sequence[int]]] = None
        self.splat: Optional[float] = None
        self.contraction: Optional[Contraction] = None
        self.reshaped: Optional[Value] = None

    @classmethod
    def of(cls, reference: str, dtype: DType) -> "Value":
        """The scalar with this ref."""
        value = cls(None, dtype)
        value.id = int(reference[1:-1])
        return value

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def type(self) -> str:
        return self.dtype.mlir if self.shape is None else tensor_type(self.shape, self.dtype)

    @property
    def ref(self) -> str:
        return f"\u27e6{self.id}\u27e7"


def tensor_type(shape: Sequence[int], dtype: DType) -> str:
    return "tensor<" + "".join(f"{s}x" for s in shape) + dtype.mlir + ">"


class Block:
    def __init__(self, arguments: Sequence[Value] = ()):
        self.arguments = list(arguments)
        self.ops: list[Op] = []
        self.terminator = ""  # text with references


class Op:
    """text: everything after "=". Regions, if any, are spliced in at "\x01"."""

    def __init__(self, text: str, results: Sequence[Value], regions: Sequence[Block] = (),
                 location: Optional[str] = None, pinned: bool = False, name: Optional[str] = None):
        self.text = text
        self.results = list(results)
        self.regions = list(regions)
        self.location = location
        self.pinned = pinned
        self.name = name


def quoted(text: str) -> str:
    """A string as MLIR reads it."""
    return '"' + "".join(c if " " <= c <= "~" and c not in '"\\' else "".join(f"\\{b:02X}" for b in c.encode())
                         for c in text) + '"'


def references(text: str) -> Iterable[int]:
    return (int(m) for m in _REFERENCE.findall(text))


def drop_dead(block: Block, live: set[int]) -> None:
    """Removes operations without live results. `live` holds ids and grows."""
    live.update(references(block.terminator))
    kept = []
    for op in reversed(block.ops):
        if not op.pinned and not any(r.id in live for r in op.results):
            continue
        live.update(references(op.text))
        for region in op.regions:
            drop_dead(region, live)
        kept.append(op)
    block.ops = kept[::-1]


class Printer:
    """Prints functions of one module; maps and locations become aliases."""

    def __init__(self):
        self.maps: dict[str, str] = {}
        self.locations: dict[str, str] = {}
        self.names: dict[int, str] = {}
        self.counter = 0
        self.region_arguments = 0

    def map(self, text: str) -> str:
        return self.maps.setdefault(text, f"#map{len(self.maps)}")

    def location(self, text: str) -> str:
        return self.locations.setdefault(text, f"#loc{len(self.locations)}")

    def resolve(self, text: str) -> str:
        text = _REFERENCE.sub(lambda m: self.names[int(m.group(1))], text)
        return re.sub(r"affine_map<[^>]*->[^>]*>", lambda m: self.map(m.group(0)), text)

    def begin_function(self) -> None:
        self.counter = 0
        self.region_arguments = 0

    def block(self, block: Block, indent: int) -> list[str]:
        lines = []
        for op in block.ops:
            lines += self.op(op, indent)
        if block.terminator:
            lines += self._indented(self.resolve(block.terminator), indent)
        return lines

    def op(self, op: Op, indent: int) -> list[str]:
        text = op.text
        prefix = ""
        if op.results:
            name = f"%{op.name}" if op.name else f"%{self.counter}"
            self.counter += 0 if op.name else 1
            if len(op.results) == 1:
                self.names[op.results[0].id] = name
                prefix = f"{name} = "
            else:
                for i, result in enumerate(op.results):
                    self.names[result.id] = f"{name}#{i}"
                prefix = f"{name}:{len(op.results)} = "
        suffix = f" loc({self.location(op.location)})" if op.location else ""
        if not op.regions:
            return self._indented(prefix + self.resolve(text) + suffix, indent)
        pieces = text.split("\x01")
        for region in op.regions:
            for argument in region.arguments:
                self.names[argument.id] = f"%r{self.region_arguments}"
                self.region_arguments += 1
        lines = self._indented(prefix + self.resolve(pieces[0]), indent)
        for piece, region in zip(pieces[1:], op.regions):
            lines += self.block(region, indent + 1)
            lines += self._indented(self.resolve(piece), indent)
        lines[-1] += suffix
        return lines

    @staticmethod
    def _indented(text: str, indent: int) -> list[str]:
        pad = "  " * indent
        return [pad + line if line else line for line in text.split("\n")]
