# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What each ATen operation is in JAX."""

from . import (creation, elementwise, indexing, lists, marks, pooling, products, random, reductions,  # noqa: F401
               shapes)
from .table import RULES, Operation, rule_of

__all__ = ["RULES", "Operation", "rule_of"]
