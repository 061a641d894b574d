# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What each operation of PaddlePaddle is in JAX."""

from . import elementwise, images, layers, optimizers, products, random, recurrent, reductions, shapes  # noqa: F401
from .table import RULES, NoRule, Operation, pullback

__all__ = ["RULES", "NoRule", "Operation", "pullback"]
