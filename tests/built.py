# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The tools that are tested: those of COMMSCHED_BIN (a folder, or several with ":" between), or of the release build."""
import os
import pathlib
import shutil

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[1]


def tool(name):
    """The path of a tool; without it the test fails."""
    path = shutil.which(name, path=os.environ.get("COMMSCHED_BIN", str(ROOT / "build/release/bin")))
    if path is None:
        pytest.fail(f"{name} is not built")
    return path
