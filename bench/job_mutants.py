# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whether the tests of groups of ranks and of roles, of servers' messages and of copies find faults in them.

Builds each fault of bench/_job_faults.py into a copy of the sources, one at a time, and runs the checks of its subject:
one must fail. Without a fault all must pass. Of groups and roles: random jobs against NumPy
(tests/integration/test_groups.py, test_roles.py), and the tests of the compiler; of messages that tensors share, and of
staging and copies: properties of drawn servers, streams and steps; of limits of memory and threads: processes that have little.
--quick: the first three faults only.
"""
import argparse
import dataclasses
import os
import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from _job_faults import FAULTS  # noqa: E402
from _mutants import ROOT, Copy, chosen, report  # noqa: E402

RUN_LIMIT = 3600  # seconds, only ends a hang


@dataclasses.dataclass(frozen=True)
class Checks:
    targets: str
    binaries: tuple = ()  # of GoogleTest, each with a filter
    lit: str = ""  # a filter of tests
    jobs: tuple = ()  # files of pytest


CHECKS = {  # by Fault.mode; "": groups and roles
    "": Checks("cs-opt cs-run cs-translate runtime_tests", (("runtime_tests", "*Group*:*Role*"),),
               "groups|roles|levels|translate/invalid",
               ("tests/integration/test_groups.py", "tests/integration/test_roles.py")),
    "servers": Checks("runtime_tests grpc_tests",
                      (("runtime_tests", "*Server*:BlocksTogether*:PlanLoader*"),
                       ("grpc_tests", "FrameStream*:Credit*:ParameterService*:*BadTrainer*:ParameterNetwork*"))),
    "copies": Checks("passes_tests runtime_tests",
                     (("passes_tests", "Staging*"), ("runtime_tests", "Devices*:Simulator*"))),
    "limits": Checks("cs-opt cs-run cs-translate", jobs=("tests/integration/test_little_memory.py",)),
}


class Jobs(Copy):
    def __init__(self, subjects):
        super().__init__(ROOT / "out/mutants-jobs", " ".join(CHECKS[subject].targets for subject in subjects))

    def run_check(self, command, **options):
        return subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=RUN_LIMIT, **options)

    def first_failure(self, checks):
        """The first test that fails, or None."""
        build = self.folder / "build/release"
        for binary, tests in checks.binaries:
            done = self.run_check([build / "bin" / binary, f"--gtest_filter={tests}", "--gtest_fail_fast"])
            if failed := re.search(r"\[  FAILED  \] (\S+)", done.stdout):
                return failed[1]
            if done.returncode:
                running = re.findall(r"\[ RUN      \] (\S+)", done.stdout)
                return f"{running[-1]} (crashed)" if running else f"{binary} does not begin"
        done = []
        if checks.lit:
            done.append(self.run_check(["/usr/lib/llvm-22/bin/lit", "-v", f"--filter={checks.lit}", build / "tests"]))
            if failed := re.search(r"^FAIL: (.*?) \(", done[-1].stdout, re.M):
                return failed[1]
        if checks.jobs:
            done.append(self.run_check(
                [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *checks.jobs], cwd=self.folder,
                env=os.environ | {"COMMSCHED_BIN": str(build / "bin"), "PYTHONPATH": str(self.folder / "tests")}))
            if failed := re.search(r"^(?:FAILED|ERROR) \S*?(\w+\.py\S*)", done[-1].stdout, re.M):
                return failed[1]
        broken = next((one for one in done if one.returncode), None)
        return f"it does not run: {broken.stdout[-300:]}" if broken else None


def main():
    faults, _ = chosen(FAULTS, argparse.ArgumentParser())
    subjects = [subject for subject in CHECKS if any(fault.mode == subject for fault in faults)]
    copy = Jobs(subjects)
    copy.build()
    for subject in subjects:
        if failure := copy.first_failure(CHECKS[subject]):
            sys.exit(f"job_mutants: without a fault a test of {subject or 'groups'} fails: {failure}")

    def found_by(fault):
        with copy.built_with(fault):
            return copy.first_failure(CHECKS[fault.mode])

    report(faults, map(found_by, faults))


if __name__ == "__main__":
    main()
