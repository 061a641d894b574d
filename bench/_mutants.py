# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Faults to build into a copy of the sources one at a time, as replacements of text."""
import contextlib
import dataclasses
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(os.environ.get("COMMSCHED_ROOT", "."))
BUILD_LIMIT = 3600  # seconds, only ends a hang


@dataclasses.dataclass(frozen=True)
class Fault:
    name: str  # what is wrong
    file: str
    old: str  # stands exactly once in the file
    new: str
    mode: str = ""  # if it is in one mode only: see cs-differential --mode; of jobs: a subject of job_mutants

    def built_into(self, text):
        """The file's text with the fault; ValueError where it does not fit any more."""
        if text.count(self.old) != 1:
            raise ValueError(f'"{self.name}": {self.file} must have its text once, got: {text.count(self.old)} times')
        return text.replace(self.old, self.new)


class Copy:
    """The sources that git knows, and a build folder of their own."""

    def __init__(self, folder, targets, *options):
        self.folder, self.targets = folder, targets.split()
        tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True)
        for name in tracked.stdout.split("\n"):
            source, target = ROOT / name, folder / name
            if name and source.is_file():
                target.parent.mkdir(parents=True, exist_ok=True)
                if not target.exists() or target.read_bytes() != source.read_bytes():
                    shutil.copy(source, target)  # with the time of now: it may replace a fault that was built
        cmake = "/usr/bin/cmake" if pathlib.Path("/usr/bin/cmake").exists() else "cmake"
        self.run([cmake, "--preset", "release", f"-DPython3_EXECUTABLE={sys.executable}", "--log-level=WARNING", *options])

    def run(self, command):
        done = subprocess.run(command, cwd=self.folder, capture_output=True, text=True, timeout=BUILD_LIMIT)
        if done.returncode:
            sys.exit(f"{' '.join(map(str, command))}: {(done.stdout + done.stderr)[-2000:]}")

    def build(self, *options):
        self.run(["ninja", "-C", "build/release", *options, *self.targets])

    @contextlib.contextmanager
    def built_with(self, fault, *options):
        path = self.folder / fault.file
        text = path.read_text()
        path.write_text(fault.built_into(text))
        try:
            self.build(*options)
            yield
        finally:
            path.write_text(text)


def chosen(faults, parser):
    """What the command line asks for, with --quick and --only: the faults, and all options.

    Ends with an error if one of them does not fit the sources any more.
    """
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", default="", help="a regular expression: faults whose names match")
    options = parser.parse_args()
    faults = [f for f in faults if re.search(options.only, f.name)][:3 if options.quick else None]
    try:
        for fault in faults:
            fault.built_into((ROOT / fault.file).read_text())
    except ValueError as error:
        sys.exit(str(error))
    return faults, options


def report(faults, failures):
    """A line of each fault, and by what it was found (None: nothing), as these come; JSON. Ends with 1 if one was not."""
    found = 0
    print(f"{'fault':<68}  found by")
    for fault, failure in zip(faults, failures):
        found += failure is not None
        print(f"{fault.name:<68}  {failure or 'nothing'}", flush=True)
    end(faults, found)


def end(faults, found):
    print(json.dumps({"mutants": len(faults), "found": found}))
    sys.exit(0 if found == len(faults) else 1)
