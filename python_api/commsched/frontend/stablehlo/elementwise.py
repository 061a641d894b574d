# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Elementwise operations, constants and iota."""

from __future__ import annotations

from typing import Optional

import numpy as np

from .emitter import Mapped
from .ir import DType
from .scalar import RULES
from .walker import Walker, constant_array, handles


@handles(*(name for name in RULES if name != "stablehlo.bitcast_convert"))
def _elementwise(w: Walker, op):
    if op.name == "chlo.erf_inv" and w.type_of(op.results[0])[1].mlir == "f64" and w.decompose(op):
        return
    elementwise(w, op, RULES[op.name])


def elementwise(w: Walker, op, rule) -> None:
    """One linalg.generic; repeated and constant operands are folded into it."""
    shape, dtype = w.type_of(op.results[0])
    operands = w.operands(op)
    if op.name in ("stablehlo.convert", "stablehlo.bitcast_convert") and operands[0].dtype.mlir == dtype.mlir:
        w.set(op, operands[0])
        return
    if op.name == "stablehlo.convert" and operands[0].splat is not None:
        value = operands[0].splat
        if dtype.is_bool or not isinstance(value, float) or dtype.is_float or np.isfinite(value):
            w.set(op, w.e.splat(bool(value) if dtype.is_bool else value, shape, dtype))
            return
    # select and clamp take tensors of rank 0 as conditions and bounds.
    operands = [o if o.shape == shape else w.e.broadcast(o, shape, []) for o in operands]
    inputs: list[Mapped] = []
    position: list[Optional[int]] = []
    for value in operands:
        if value.splat is not None:
            position.append(None)
            continue
        mapped = w.e.mapped(value)
        key = (mapped[0].id, tuple(mapped[1]))
        known = [i for i, m in enumerate(inputs) if (m[0].id, tuple(m[1])) == key]
        position.append(known[0] if known else len(inputs))
        if not known:
            inputs.append(mapped)

    def write(body, ins):
        names = [body.constant(v.splat, v.dtype) if p is None else ins[p] for v, p in zip(operands, position)]
        return rule(body, names, [v.dtype for v in operands], dtype, op)
    w.set(op, w.e.parallel(inputs, shape, dtype, write))


@handles("stablehlo.constant")
def _constant(w: Walker, op):
    shape, dtype = w.type_of(op.results[0])
    array = constant_array(op, dtype)
    flat = array.reshape(-1)
    if flat.size == 0:  # which literals cannot say in all shapes
        w.set(op, w.e.splat(0, shape, dtype))
    elif flat.size == 1 or bool(np.all((flat == flat[0]) & (np.signbit(flat) == np.signbit(flat[0])) if dtype.is_float
                                       else flat == flat[0])):
        w.set(op, w.e.splat(flat[0].item(), shape, dtype))
    else:
        w.set(op, w.e.constant(array, dtype))


@handles("stablehlo.iota")
def _iota(w: Walker, op):
    shape, dtype = w.type_of(op.results[0])
    dimension = op.attributes["iota_dimension"].value

    def write(body, ins):
        index = body.op(f"linalg.index {dimension} : index")
        integer = DType("i64") if dtype.is_float or dtype.width == 64 else dtype
        value = body.op(f"arith.index_cast {index} : index to {integer.mlir}")
        return body.op(f"arith.sitofp {value} : i64 to {dtype.mlir}") if dtype.is_float else value
    w.set(op, w.e.parallel([], shape, dtype, write))
