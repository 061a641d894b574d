# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""From a live StableHLO module to the text of a level-0 function.

No op set of its own: linalg, tensor, arith, math, scf and cs. What is not
covered is refused by name (errors.UnsupportedOp).
"""

from . import (bits, calls, complex_numbers, contraction, control, convolution,  # noqa: F401  (handlers)
               elementwise, factors, indexing, random_bits, reduction, shape, sorting)
from .function import level0_function, level0_module

__all__ = ["level0_function", "level0_module"]
