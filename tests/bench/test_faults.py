# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whether the faults of bench/run compiler_mutants, job_mutants and machine_mutants fit the sources as they are."""
import pathlib
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))
import _compiler_faults  # noqa: E402
import _job_faults  # noqa: E402
import _machine_faults  # noqa: E402

FAULTS = _compiler_faults.FAULTS + _job_faults.FAULTS + _machine_faults.FAULTS


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_it_can_be_built_in(fault):
    text = (ROOT / fault.file).read_text()
    assert fault.built_into(text) != text
