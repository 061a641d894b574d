# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operations that are written in JAX: what JAX makes of them is walked in their place."""

from __future__ import annotations

from typing import Callable, Sequence

import jax

from .ir import DType, Value
from .walker import Walker


def inline(w: Walker, function: Callable, operands: Sequence[Value]) -> list[Value]:
    """The results of a function of arrays, which are of the operands' shapes and element types. It is traced with
    numbers of 64 bits, and must name the types of what it makes."""
    arguments = [jax.ShapeDtypeStruct(v.shape, _numpy(v.dtype)) for v in operands]
    with jax.enable_x64(True):
        module = jax.jit(function).lower(*arguments).compiler_ir("stablehlo")
    saved = w.functions, w.locate
    # The lines of such a function are none of the user's: what it makes is at the line of the operation.
    w.functions, w.locate = w.functions_of(module), lambda text: None
    try:
        return w.function("main", operands)
    finally:
        w.functions, w.locate = saved


def _numpy(dtype: DType):
    if dtype.is_bool:
        return jax.numpy.bool_
    kind = "float" if dtype.is_float else "uint" if dtype.unsigned else "int"
    return jax.numpy.dtype("bfloat16" if dtype.mlir == "bf16" else f"{kind}{dtype.width}")
