# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Swaps the first two neighbouring cs.start of one function, as a person might
by hand: swap_starts.py <function> < in > out. Fails if there are none."""
import re
import sys


def block_end(lines, begin):
    """Index after the closing brace of the op that begins at `begin`."""
    indent = re.match(r" *", lines[begin]).group()
    for end in range(begin + 1, len(lines)):
        if lines[end] == indent + "}":
            return end + 1
    raise ValueError("unclosed op")


def main():
    lines = sys.stdin.read().split("\n")
    inside = False
    for i, line in enumerate(lines):
        if "func.func @" in line:
            inside = f"func.func @{sys.argv[1]}(" in line
        if not inside or "= cs.start " not in line:
            continue
        middle = block_end(lines, i)
        if "= cs.start " in lines[middle]:
            end = block_end(lines, middle)
            lines[i:end] = lines[middle:end] + lines[i:middle]
            sys.stdout.write("\n".join(lines))
            return 0
    sys.exit("no neighbouring cs.start in @" + sys.argv[1])


main()
