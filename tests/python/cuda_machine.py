# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A machine with CUDA devices for processes that do not know that it is none: tests/cuda/Machine.cpp, found as NVIDIA's libraries
are. The kernels of a plan are written for it beforehand."""
import collections
import json
import os
import pathlib
import subprocess
import sys

import pytest

from rank_job import CLEAN, ROOT

sys.path.insert(0, str(ROOT / "tests"))
from built import tool  # noqa: E402

TIME_LIMIT = 300  # seconds; only ends a hang
SAYS = "fake CUDA: "  # a line of standard error: what is wrong, or left


class Machine:
    """The devices, with a folder of kernels. Programs become plans that run there."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.libraries = pathlib.Path(tool("cs-run")).parents[1] / "tests/cuda/machine"
        if not self.libraries.exists():
            pytest.skip("needs the fake machine, which builds with sanitizers do not have")

    def environment(self, **more):
        return {**CLEAN, "LD_LIBRARY_PATH": str(self.libraries), "COMMSCHED_FAKE_CUDA_KERNELS": str(self.folder),
                "PYTHONPATH": f"{ROOT}/python_api:{ROOT}/tests/python", "JAX_PLATFORMS": "cpu", "PYTHONWARNINGS": "ignore", **more}

    def add(self, program, name):
        """Writes the program's kernels, and its plan, whose path is returned."""
        module, plan = self.folder / f"{name}.mlir", self.folder / f"{name}.plan"
        module.write_text(program.mlir(2))
        plan.write_bytes(program.plan)
        subprocess.run([tool("cuda_kernels_writer"), module, plan, self.folder], check=True, timeout=TIME_LIMIT)
        return plan

    def start(self, *command, **environment):
        return subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                env=self.environment(**environment), start_new_session=True)

    def run(self, *command, **environment):
        """Its output. It has to succeed, and leave nothing on its devices."""
        done = finish(self.start(*command, **environment))
        assert done[0] == 0 and SAYS not in done[2], done
        return done[1]

    def cs_run(self, plan, *arguments, **environment):
        return self.run(tool("cs-run"), plan, *arguments, **environment)

    def python(self, script, **environment):
        path = self.folder / "script.py"
        path.write_text(script)
        return self.run(sys.executable, path, **environment)


def rows_of(path):
    """By rank and row: events, in their order."""
    rows, names = collections.defaultdict(list), {}
    for event in json.loads(path.read_text())["traceEvents"]:
        if event["ph"] == "M" and event["name"] == "thread_name":
            names[event["pid"], event["tid"]] = event["args"]["name"]
        elif event["ph"] == "X":
            rows[event["pid"], names[event["pid"], event["tid"]]].append(event)
    return rows


def finish(process):
    """(status, output, errors)"""
    try:
        out, errors = process.communicate(timeout=TIME_LIMIT)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, 9)
    return process.returncode, out, errors
