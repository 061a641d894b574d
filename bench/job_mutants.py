# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whether the tests of groups of ranks and of roles find faults in them.

Builds each fault of bench/_job_faults.py into a copy of the sources, one at a time, and runs random jobs with it
against NumPy (tests/integration/test_groups.py, test_roles.py), and the tests of the compiler: one must fail. Without
a fault all must pass. --quick: the first three faults only.
"""
import argparse
import os
import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from _job_faults import FAULTS  # noqa: E402
from _mutants import ROOT, Copy, chosen, report  # noqa: E402

RUN_LIMIT = 3600  # seconds, only ends a hang
JOBS = ["tests/integration/test_groups.py", "tests/integration/test_roles.py"]


class Jobs(Copy):
    def __init__(self):
        super().__init__(ROOT / "out/mutants-jobs", "cs-opt cs-run cs-translate runtime_tests")

    def first_failure(self):
        """The first test that fails, or None."""
        build = self.folder / "build/release"
        lit = subprocess.run(["/usr/lib/llvm-22/bin/lit", "-v", "--filter=groups|roles|levels|translate/invalid",
                              build / "tests"], capture_output=True, text=True, timeout=RUN_LIMIT)
        if failed := re.search(r"^FAIL: (.*?) \(", lit.stdout, re.M):
            return failed[1]
        loader = subprocess.run([build / "bin/runtime_tests", "--gtest_filter=*Group*:*Role*"], capture_output=True,
                                text=True, timeout=RUN_LIMIT)
        if failed := re.search(r"\[  FAILED  \] (\S+)", loader.stdout):
            return failed[1]
        jobs = subprocess.run([sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *JOBS], cwd=self.folder,
                              env=os.environ | {"COMMSCHED_BIN": str(build / "bin"), "PYTHONPATH": str(self.folder / "tests")},
                              capture_output=True, text=True, timeout=RUN_LIMIT)
        if failed := re.search(r"^(?:FAILED|ERROR) \S*?(\w+\.py\S*)", jobs.stdout, re.M):
            return failed[1]
        broken = lit.returncode or loader.returncode or jobs.returncode
        return f"they do not run: {(lit.stdout + loader.stdout + jobs.stdout)[-300:]}" if broken else None


def main():
    faults, _ = chosen(FAULTS, argparse.ArgumentParser())
    copy = Jobs()
    copy.build()
    if failure := copy.first_failure():
        sys.exit(f"job_mutants: without a fault a test fails: {failure}")

    def found_by(fault):
        with copy.built_with(fault):
            return copy.first_failure()

    report(faults, map(found_by, faults))


if __name__ == "__main__":
    main()
