# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
for folder in (ROOT / "python_api", ROOT / "tests", ROOT / "tests" / "python"):
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))
