# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whether the tests of the machines of runtime/core find faults in them.

Builds each fault of bench/_machine_faults.py into a copy of the sources, one at a time, and runs `core_tests` with it:
it must fail. Without a fault it must pass. --quick: the first three faults only.
"""
import argparse
import json
import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from _machine_faults import FAULTS  # noqa: E402
from _mutants import ROOT, Copy, check  # noqa: E402

RUN_LIMIT = 60  # seconds: a fault may be one that never ends


def first_failure(copy):
    """The first test that fails, or None."""
    try:
        done = subprocess.run([copy.folder / "build/release/bin/core_tests", "--gtest_fail_fast"], capture_output=True,
                              text=True, timeout=RUN_LIMIT)
    except subprocess.TimeoutExpired:
        return "it does not end"
    if done.returncode == 0:
        return None
    failed = re.search(r"\[  FAILED  \] (\S+)", done.stdout)
    running = re.findall(r"\[ RUN      \] (\S+)", done.stdout)
    return failed[1] if failed else f"{running[-1]} (crashed)" if running else "it does not begin"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", default="", help="a regular expression: faults whose names match")
    options = parser.parse_args()
    faults = [f for f in FAULTS if re.search(options.only, f.name)][:3 if options.quick else None]
    check(faults)
    copy = Copy(ROOT / "out/mutants", "core_tests")
    copy.build()
    failure = first_failure(copy)
    if failure:
        sys.exit(f"machine_mutants: without a fault a test fails: {failure}")
    print(f"{'fault':<68}  found by")
    found = 0
    for fault in faults:
        with copy.built_with(fault):
            failure = first_failure(copy)
        found += failure is not None
        print(f"{fault.name:<68}  {failure or 'nothing'}", flush=True)
    print(json.dumps({"mutants": len(faults), "found": found}))


if __name__ == "__main__":
    main()
