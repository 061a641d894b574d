# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The mark of a parameter's gradient, and what has no effect here: profiles, and assertions about data."""

from __future__ import annotations

from ...frontend.jax_gradient import gradient_p
from .table import Operation, rule


@rule("commsched.gradient")
def _gradient(op: Operation, gradient, parameter):
    """parameter: the argument of the step itself."""
    return gradient_p.bind(gradient, parameter)


@rule("profiler._record_function_enter_new", "profiler._record_function_exit", "profiler._record_function_enter",
      "aten._assert_async", "aten._functional_assert_async", "aten._assert_scalar", "aten._assert_tensor_metadata",
      "aten.sym_constrain_range", "aten.sym_constrain_range_for_size")
def _nothing(op: Operation, *_):
    return None


@rule("commsched.within")
def _within(op: Operation, index, least, end):
    """An index that must be at least `least` and below `end` (indices.py)."""
    return index
