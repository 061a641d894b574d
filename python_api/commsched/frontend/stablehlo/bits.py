# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""bitcast_convert between types of different widths: the narrow ones lie along a last dimension, the lowest first."""

from __future__ import annotations

from .elementwise import elementwise
from .ir import DType, Value
from .scalar import INDEX, RULES
from .walker import Walker, handles


@handles("stablehlo.bitcast_convert")
def _bitcast_convert(w: Walker, op):
    value = w.get(op.operands[0])
    shape, dtype = w.type_of(op.results[0])
    if value.dtype.is_bool or dtype.is_bool:
        if value.dtype.is_bool != dtype.is_bool:
            w.refuse(op, "booleans")
    if value.dtype.width == dtype.width:
        elementwise(w, op, RULES[op.name])
    elif value.dtype.width > dtype.width:
        w.set(op, _narrowed(w, value, shape, dtype))
    else:
        w.set(op, _widened(w, value, shape, dtype))


def _cast(body, name: str, source: DType, target: DType) -> str:
    return name if source.mlir == target.mlir else body.op(f"arith.bitcast {name} : {source.mlir} to {target.mlir}")


def _integer(dtype: DType) -> DType:
    return DType(f"i{dtype.width}")


def _narrowed(w: Walker, value: Value, shape, dtype: DType) -> Value:
    wide, narrow = _integer(value.dtype), _integer(dtype)

    def write(body, ins):
        bits = _cast(body, ins[0], value.dtype, wide)
        place = body.op(f"linalg.index {len(shape) - 1} : index")
        shift = body.binary("arith.muli", place, body.constant(narrow.width, INDEX), INDEX)
        shift = body.op(f"arith.index_cast {shift} : index to {wide.mlir}")
        bits = body.binary("arith.shrui", bits, shift, wide)
        return _cast(body, body.op(f"arith.trunci {bits} : {wide.mlir} to {narrow.mlir}"), narrow, dtype)
    return w.e.parallel([(value, [f"d{i}" for i in range(value.rank)])], shape, dtype, write)


def _widened(w: Walker, value: Value, shape, dtype: DType) -> Value:
    narrow, wide = _integer(value.dtype), _integer(dtype)
    rank = len(shape)

    def write(body, ins):
        index = [body.op(f"linalg.index {i} : index") for i in range(rank)]
        result = ""
        for part in range(value.shape[-1]):
            bits = body.extract(value, [*index, body.constant(part, INDEX)])
            bits = body.op(f"arith.extui {_cast(body, bits, value.dtype, narrow)} : {narrow.mlir} to {wide.mlir}")
            if part:
                bits = body.binary("arith.shli", bits, body.constant(part * narrow.width, wide), wide)
                bits = body.binary("arith.ori", result, bits, wide)
            result = bits
        return _cast(body, result, wide, dtype)
    return w.e.parallel([], shape, dtype, write)
