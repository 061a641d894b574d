# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import pathlib
import sys

for folder in (pathlib.Path(__file__).parent, pathlib.Path(__file__).resolve().parents[1]):
    sys.path.insert(0, str(folder))
