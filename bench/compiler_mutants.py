# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whether differential fuzzing and the checks of memory find faults of the compiler.

Builds each fault of bench/_compiler_faults.py into a copy of the sources, one at a time, and runs `cs-differential`
with it until it reports something: a wrong value, a crash, or an internal error of a check. Without a fault it must
report nothing. --runs: programs for each fault at most (--quick: the first three faults only).
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from _compiler_faults import FAULTS  # noqa: E402
from _mutants import ROOT, Copy, chosen, end  # noqa: E402

RUN_LIMIT = 7200  # seconds, only ends a hang


class Fuzzer(Copy):
    def __init__(self):
        super().__init__(ROOT / "out/mutants", "cs-differential")

    def fuzz(self, seed, runs, mode):
        """What is found first, or None; programs; seconds."""
        command = [self.folder / "build/release/bin/cs-differential", "--runs", str(runs), "--seed", str(seed),
                   "--jobs", str(os.cpu_count()), "--stop-after", "1", "--shrink", "0"]
        if mode:
            command += ["--mode", mode]
        begin = time.monotonic()
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=RUN_LIMIT)
        seconds = time.monotonic() - begin
        counts = json.loads(done.stdout.strip().split("\n")[-1])
        found = None
        if done.returncode:
            lines = [line for line in done.stderr.split("\n") if line.strip()]
            found = next((line for line in lines if "error" in line), lines[0] if lines else "a finding")
        return found, counts["programs"], seconds


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=1)
    faults, options = chosen(FAULTS, parser)
    copy = Fuzzer()
    copy.build()
    found, programs, _ = copy.fuzz(options.seed, 200 if options.quick else 1000, "")
    if found:
        sys.exit(f"compiler_mutants: without a fault there is a finding: {found}")
    print(f"without a fault: {programs} programs, nothing found\n")
    print(f"{'fault':<76} {'programs':>8} {'s':>6}  found by")
    count = 0
    for fault in faults:
        with copy.built_with(fault):
            found, programs, seconds = copy.fuzz(options.seed, options.runs, fault.mode)
        count += found is not None
        by = "nothing" if found is None else "a check" if "internal error" in found else "values"
        print(f"{fault.name:<76} {programs:>8} {seconds:>6.1f}  {by}", flush=True)
    end(faults, count)


if __name__ == "__main__":
    main()
