# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Variables of a PaddlePaddle scope as arrays, and back, bit for bit."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import paddle

from ..arguments import shown
from ..errors import FrontEndError

_ELEMENTS = {"float64": np.float64, "float32": np.float32, "int64": np.int64, "int32": np.int32, "int8": np.int8, "uint8": np.uint8,
             "bool": np.bool_, "bool_": np.bool_, "bfloat16": ml_dtypes.bfloat16, "float16": np.float16}
HALVES = (np.dtype(ml_dtypes.bfloat16), np.dtype(np.float16))  # of what is computed, but of no variable


def dtype_of(dtype: Any, what: str) -> np.dtype:
    """Of a paddle.dtype. Raises FrontEndError for one that programs have not."""
    name = str(dtype).rpartition(".")[2].lower()
    if name not in _ELEMENTS:
        raise FrontEndError(f"{what} must have an element type of f64, f32, bf16, f16, i64, i32, i8, u8 or bool, got: {name}")
    return np.dtype(_ELEMENTS[name])


def check_scope(scope: Any) -> Any:
    """A scope of Paddle's. Raises FrontEndError."""
    if not callable(getattr(scope, "find_var", None)):
        raise FrontEndError(f"scope must be a paddle.static.Scope, got: {shown(scope)}")
    return scope


def read(scope: Any, name: str, what: str) -> np.ndarray:
    """A copy of a variable's value. Raises FrontEndError where there is none."""
    variable = scope.find_var(name)
    tensor = variable.get_tensor() if variable is not None else None
    if tensor is None or not tensor._is_initialized():
        raise FrontEndError(f"{what} '{name}' must have a value in the scope, got none: run the startup program first")
    return np.array(tensor)


def write(scope: Any, name: str, value: np.ndarray) -> None:
    """Gives a variable another value, in its place."""
    scope.find_var(name).get_tensor().set(np.ascontiguousarray(value).reshape(value.shape), paddle.CPUPlace())
