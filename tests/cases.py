# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How many random cases a property test tries, as tests/cases.h for Python.

A test names its budget; COMMSCHED_TEST_SEED (default 0) gives others, and COMMSCHED_TEST_TIMES (default 1) as many times
as many: less than 1 leaves one case at least. scripts/test.sh tries fewer, scripts/soak.sh more."""
import os
import re


def _first():
    text = os.environ.get("COMMSCHED_TEST_SEED", "0")
    if not re.fullmatch("[0-9]+", text) or int(text) >= 2**31:
        raise ValueError(f"COMMSCHED_TEST_SEED must be a whole number below 2^31, got: '{text}'")
    return int(text)


def _times():
    text = os.environ.get("COMMSCHED_TEST_TIMES", "1")
    if not re.fullmatch(r"[0-9]+\.?[0-9]*|\.[0-9]+", text) or not 0 < float(text) <= 1e5:
        raise ValueError(f"COMMSCHED_TEST_TIMES must be a number above 0, 100000 at most, got: '{text}'")
    return float(text)


FIRST, TIMES = _first(), _times()


def count(budget):
    return max(1, int(budget * TIMES))


def cases(budget, first=FIRST):
    """The seeds."""
    return range(first, first + count(budget))
