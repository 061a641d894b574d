# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which line of the user an operation comes from, forward and backward."""

from __future__ import annotations

import os
import sys
import traceback
import types
from typing import Any, Optional

import torch
from torch.fx import traceback as fx_traceback
from torch.overrides import TorchFunctionMode

from ..frontend.located import best, shown
from .substitutes import SUBSTITUTES

_TORCH = os.path.dirname(os.path.abspath(torch.__file__)) + os.sep


def _frames(below: Any):
    frame: Optional[types.FrameType] = sys._getframe(2)
    while frame is not None and frame.f_code is not below:
        yield os.path.abspath(frame.f_code.co_filename) if frame.f_code.co_filename[0] != "<" else "<", frame.f_lineno
        frame = frame.f_back


def of_error(error: BaseException) -> str:
    """"file:line: " of what raised it, or nothing."""
    frames = [(os.path.abspath(f.filename), f.lineno or 0) for f in reversed(traceback.extract_tb(error.__traceback__))]
    found = best(frames, _TORCH)
    return f"{shown(found)}: " if found else ""


def here() -> str:
    """"file:line: " of the caller that is the user's, or nothing."""
    found = best(_frames(None), _TORCH)
    return f"{shown(found)}: " if found else ""


class Places(TorchFunctionMode):
    """Within it, the nodes of a graph that is traced get the line they come from (fx's "stack_trace"); those of the
    backward graph that of the operation they are the gradient of. below: the code of the function whose callers are
    not the user's. Functions with a substitute are that."""

    def __init__(self, below: Any):
        super().__init__()
        self._below = below
        self._known: set[Any] = set()

    def __torch_function__(self, function, types, arguments=(), keywords=None):
        place = best(_frames(self._below), _TORCH)
        saved = fx_traceback.current_meta.get("stack_trace")
        if place:
            fx_traceback.current_meta["stack_trace"] = place
        try:
            result = SUBSTITUTES.get(function, function)(*arguments, **(keywords or {}))
        finally:
            if saved is None:
                fx_traceback.current_meta.pop("stack_trace", None)
            else:
                fx_traceback.current_meta["stack_trace"] = saved
        if place:
            self._remember(result, place)
        return result

    def _remember(self, result: Any, place: str) -> None:
        tensors = result if isinstance(result, (tuple, list)) else [result]
        ahead = [t.grad_fn for t in tensors if isinstance(t, torch.Tensor) and t.grad_fn is not None]
        while ahead:
            node = ahead.pop()
            if node in self._known:
                continue
            self._known.add(node)
            node.register_prehook(lambda _, place=place: fx_traceback.current_meta.__setitem__("stack_trace", place))
            ahead += [n for n, _ in node.next_functions if n is not None]
