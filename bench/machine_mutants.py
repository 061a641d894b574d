# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whether the tests of the machines of runtime/core find faults in them.

Builds each fault of bench/_machine_faults.py into a copy of the sources, one at a time, and runs `core_tests` with it:
it must fail. Without a fault it must pass. --quick: the first three faults only.
"""
import argparse
import os
import pathlib
import queue
import re
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from _machine_faults import FAULTS  # noqa: E402
from _mutants import ROOT, Copy, chosen, report  # noqa: E402

RUN_LIMIT = 60  # seconds, and four times what it takes without a fault: a fault may be one that never ends


def first_failure(copy, limit):
    """The first test that fails, or None."""
    try:
        done = subprocess.run([copy.folder / "build/release/bin/core_tests", "--gtest_fail_fast"], capture_output=True,
                              text=True, timeout=limit)
    except subprocess.TimeoutExpired:
        return "it does not end"
    if done.returncode == 0:
        return None
    failed = re.search(r"\[  FAILED  \] (\S+)", done.stdout)
    running = re.findall(r"\[ RUN      \] (\S+)", done.stdout)
    return failed[1] if failed else f"{running[-1]} (crashed)" if running else "it does not begin"


def main():
    faults, _ = chosen(FAULTS, argparse.ArgumentParser())
    copies = queue.SimpleQueue()
    workers = max(1, min(os.cpu_count(), len(faults)))
    for worker in range(workers):
        # One thread compiles in each: batches of sources would be compiled again for one of them.
        copy = Copy(ROOT / f"out/mutants-{worker}", "core_tests", "-DCOMMSCHED_UNITY=OFF",
                    "-DCOMMSCHED_PRECOMPILED=ON")
        copy.build()
        copies.put(copy)
    begin = time.monotonic()
    failure = first_failure(copy, 3600)
    if failure:
        sys.exit(f"machine_mutants: without a fault a test fails: {failure}")
    limit = max(RUN_LIMIT, 4 * (time.monotonic() - begin))

    def found_by(fault):
        copy = copies.get()
        try:
            with copy.built_with(fault, "-j1"):
                return first_failure(copy, limit)
        finally:
            copies.put(copy)

    with ThreadPoolExecutor(workers) as pool:
        report(faults, pool.map(found_by, faults))


if __name__ == "__main__":
    main()
