# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What each ATen operation is in JAX."""

from . import (complex_numbers, creation, elementwise, indexing, linear_algebra, lists, marks, orders, pooling, products, random,  # noqa: F401
               reductions, sampling, shapes)
from .table import RULES, Operation, rule_of

__all__ = ["RULES", "Operation", "rule_of"]
