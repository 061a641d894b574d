# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The program of a PyTorch step in a job of several ranks: this process is one of its workers."""

from __future__ import annotations

from ..rates import RatedRankProgram
from .program import Program


class RankProgram(Program, RatedRankProgram):
    """As commsched.torch.Program and commsched.rank_program.RankProgram. The optimizer's rates are each rank's own, and must
    be those of rank 0 in every step; load_into and check are for any rank alone."""
