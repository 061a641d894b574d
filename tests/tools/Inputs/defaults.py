# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Usage: defaults.py HELP PASSES REFERENCE: fails if an option in the help of cs-opt or in the reference has no default."""
import pathlib
import re
import sys

help_text, passes, reference = (pathlib.Path(argument) for argument in sys.argv[1:])
ours = set()
for file in passes.glob("*/Passes.td"):
    ours |= set(re.findall(r'def \w+ : CsPass<"([^"]+)"', file.read_text()))
assert len(ours) > 10, ours
wrong, seen, inside = [], 0, ""
for line in help_text.read_text().splitlines():
    if name := re.match(r"      --([\w-]+)", line):
        inside = name[1]
    option = re.match(r"        --([\w-]+)\S* +- (.*)", line)
    if not option or not (inside in ours or inside.startswith("cs-")) or inside == "cs-opt":
        continue
    seen += 1
    is_list = option[1] in ("profile", "calibration", "schedule-calibration", "rules", "sparse-rules")
    if not is_list and "(default " not in option[2]:
        wrong.append(f"--{inside}={option[1]}: {option[2]}")
assert seen > 60, seen
for file in reference.glob("passes-*.md"):
    for option in re.findall(r"^-(\S+)\s+: (.*)", file.read_text(), re.M):
        if option[0] not in ("profile", "calibration", "rules") and "(default " not in option[1]:
            wrong.append(f"{file.name}: {option[0]}: {option[1]}")
assert not wrong, "\n".join(wrong)
