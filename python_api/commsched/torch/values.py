# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tensors of PyTorch as arrays, and back, bit for bit."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import torch

from ..errors import FrontEndError

_ELEMENTS = {torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.int64, torch.int32, torch.int8, torch.uint8, torch.bool}


def check(tensor: Any, what: str) -> torch.Tensor:
    """A dense tensor on the CPU of an element type that programs have."""
    if not isinstance(tensor, torch.Tensor):
        raise FrontEndError(f"{what} must be a tensor, got: {type(tensor).__name__}")
    if tensor.layout != torch.strided or tensor.is_quantized:
        raise FrontEndError(f"{what} must be a dense tensor, got: {str(tensor.layout).removeprefix('torch.')}")
    if tensor.device.type != "cpu":
        raise FrontEndError(f"{what} must be on the CPU, got: {tensor.device}")
    if tensor.dtype not in _ELEMENTS:
        raise FrontEndError(f"{what} must have an element type of f64, f32, f16, bf16, i64, i32, i8, u8 or bool, got: "
                            f"{str(tensor.dtype).removeprefix('torch.')}")
    return tensor


def of_array(array: np.ndarray, what: str) -> torch.Tensor:
    """An array of a batch, if it can be in its memory. Raises FrontEndError."""
    for convert in (torch.from_numpy, to_torch):  # bfloat16 and strides that go backwards are copied
        try:
            return convert(array)
        except (TypeError, ValueError):
            pass
    raise FrontEndError(f"{what} must be an array of numbers, got: {array.dtype}{list(array.shape)}")


def to_numpy(tensor: torch.Tensor) -> np.ndarray:
    """A copy."""
    tensor = tensor.detach().resolve_conj().contiguous()
    if tensor.dtype == torch.bfloat16:
        return tensor.view(torch.int16).numpy().view(ml_dtypes.bfloat16).copy()
    return np.array(tensor.numpy())


def to_torch(array: np.ndarray) -> torch.Tensor:
    """A copy."""
    array = np.array(array, order="C")
    if array.dtype == ml_dtypes.bfloat16:
        return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(array.view(np.int32)) if array.dtype == np.uint32 else torch.from_numpy(array)
