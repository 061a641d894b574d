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
import re
import shutil
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from _compiler_faults import FAULTS  # noqa: E402

ROOT = pathlib.Path(os.environ.get("COMMSCHED_ROOT", "."))
BUILD_LIMIT, RUN_LIMIT = 3600, 7200  # seconds, only end a hang


class Copy:
    """The sources that git knows, and a build folder of their own."""

    def __init__(self, folder):
        self.folder = folder
        tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True)
        for name in tracked.stdout.split("\n"):
            source, target = ROOT / name, folder / name
            if name and source.is_file():
                target.parent.mkdir(parents=True, exist_ok=True)
                if not target.exists() or target.read_bytes() != source.read_bytes():
                    shutil.copy(source, target)  # with the time of now: it may replace a fault that was built
        cmake = "/usr/bin/cmake" if pathlib.Path("/usr/bin/cmake").exists() else "cmake"
        self.run([cmake, "--preset", "release", f"-DPython3_EXECUTABLE={sys.executable}", "--log-level=WARNING"])

    def run(self, command):
        done = subprocess.run(command, cwd=self.folder, capture_output=True, text=True, timeout=BUILD_LIMIT)
        if done.returncode:
            sys.exit(f"compiler_mutants: {' '.join(map(str, command))}: {(done.stdout + done.stderr)[-2000:]}")

    def build(self):
        self.run(["ninja", "-C", "build/release", "cs-differential"])

    def replace(self, fault):
        path = self.folder / fault.file
        text = path.read_text()
        path.write_text(fault.built_into(text))
        return lambda: path.write_text(text)

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
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--runs", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="a regular expression: faults whose names match")
    options = parser.parse_args()
    faults = [f for f in FAULTS if re.search(options.only, f.name)][:3 if options.quick else None]
    try:
        for fault in faults:
            fault.built_into((ROOT / fault.file).read_text())
    except ValueError as error:
        sys.exit(f"compiler_mutants: {error}")
    copy = Copy(ROOT / "out/mutants")
    copy.build()
    found, programs, _ = copy.fuzz(options.seed, 200 if options.quick else 1000, "")
    if found:
        sys.exit(f"compiler_mutants: without a fault there is a finding: {found}")
    print(f"without a fault: {programs} programs, nothing found\n")
    print(f"{'fault':<76} {'programs':>8} {'s':>6}  found by")
    count = 0
    for fault in faults:
        restore = copy.replace(fault)
        try:
            copy.build()
            found, programs, seconds = copy.fuzz(options.seed, options.runs, fault.mode)
        finally:
            restore()
        count += found is not None
        by = "nothing" if found is None else "a check" if "internal error" in found else "values"
        print(f"{fault.name:<76} {programs:>8} {seconds:>6.1f}  {by}", flush=True)
    print(json.dumps({"mutants": len(faults), "found": count}))


if __name__ == "__main__":
    main()
