# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One system call of a job from Python that touches a file fails, or does only a part, or is the last one: a drawn one, with a drawn
error, once or from then on. The job comes to what it would have come to, or ends with one line that names a file and the reason; what
it has saved is whole, and it goes on from there to the bits of an undisturbed job."""
import dataclasses
import errno
import functools
import importlib.util
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile

import pytest
from cases import cases

from rank_job import CLEAN, free_port, token_file
from storage import Fault, Storage, drawn

SEEDS = pytest.mark.parametrize("seed", cases(2))
TIME_LIMIT = 600  # seconds; only ends a hang
JOB = pathlib.Path(__file__).parent / "storage_job.py"
# Processes, and how many of them, the last ones, are servers, which print nothing.
RANKS = {"rank": 2, "served": 2, "serving": 4, "torch_rank": 2, "distribute": 2, "paddle_rank": 2}
SERVERS = {"serving": 2}
FRAMEWORKS = {"torch": "torch", "torch_rank": "torch", "distribute": "torch", "paddle": "paddle", "paddle_rank": "paddle"}
KINDS = ("sparse", "written", "data", "replanned", "tuned", "measured", "checked", "simulated", "rank", "served", "serving",
         *(pytest.param(kind, marks=pytest.mark.skipif(importlib.util.find_spec(of) is None, reason=f"needs {of}")) for kind, of in FRAMEWORKS.items()))
# What a job can do without: training goes on, and a line says that it is not there.
WARNS = ("the trace is not written: ", "no more samples are kept there", "the sample is read from its source")


@dataclasses.dataclass
class Result:
    status: int
    out: str
    error: str


def run(name, folder, decide=lambda call: None):
    """The results of the job's processes, and the calls."""
    os.makedirs(folder / "tmp", exist_ok=True)
    size, seen = RANKS.get(name, 1), Storage([folder], decide)
    env = {**CLEAN, "TMPDIR": str(folder / "tmp"), "HOME": str(folder / "home"), "PYTHONPATH": os.pathsep.join(sys.path), "GLOG_minloglevel": "3",
           "JAX_PLATFORMS": "cpu"}
    if size > 1:
        env.update(WORLD_SIZE=str(size), MASTER_ADDR="127.0.0.1", MASTER_PORT=str(free_port()), COMMSCHED_TOKEN_FILE=_token())
    processes = [seen.start([sys.executable, JOB, name, folder], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                            env={**env, "RANK": str(rank)} if size > 1 else env) for rank in range(size)]
    try:
        results = []
        for process in processes:
            out, error = process.communicate(timeout=TIME_LIMIT)
            results.append(Result(process.returncode, out, error))
    finally:
        for process in processes:
            process.kill()
    seen.wait()
    return results, seen.calls


@functools.cache
def _token():
    return token_file(tempfile.mkdtemp())


def whole(name, out):
    """The results of a job that has printed this."""
    servers = SERVERS.get(name, 0)
    return [Result(0, out, "")] * (RANKS.get(name, 1) - servers) + [Result(0, "", "")] * servers


@functools.cache
def undisturbed(name):
    """What it prints, and its calls."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="commsched-test-"))
    try:
        results, calls = run(name, folder)
        assert all(result.status == 0 and not result.error for result in results), results
        assert results == whole(name, results[0].out), results
        return results[0].out, calls
    finally:
        shutil.rmtree(folder)


def wrong(name, folder, fault):
    """What is not as it must be, in words."""
    expected, _ = undisturbed(name)
    found, (results, _) = [], run(name, folder, fault)
    if fault.call is None:  # it was over before
        return found
    errors = [error for error in (result.error for result in results) if error]
    for result, right in zip(results, whole(name, expected)):
        killed = fault.what == "kill" and result.status in (-9, 1)
        lines = [line for line in result.error.splitlines() if not any(text in line for text in WARNS) and not line.startswith("  ")]
        if result.status == 0 and (result.out != right.out or lines):
            found.append(f"it has succeeded otherwise: {result}")
        elif result.status != 0 and result.status != 1 and not killed:
            found.append(f"it has ended otherwise: {result}")
        elif result.status == 1 and len(lines) != 1:
            found.append(f"there is not one line: {result}")
    if any(result.status == 1 for result in results) and isinstance(fault.what, int):
        if not any(os.strerror(fault.what) in error for error in errors):
            found.append(f"no line says why: {errors}")
        if not any(str(folder) in error for error in errors):
            found.append(f"no line says what: {errors}")
    results, _ = run(name, folder)
    if results != whole(name, expected):
        found.append(f"it does not go on as if nothing had been: {results}")
    # What a killed process has begun to write goes when the same file is written again, which a plan's measurements may not be.
    passed = [folder / "tmp", *([folder / "plans"] if fault.what == "kill" else [])]
    left = [str(path) for path in folder.rglob("*") if (".part" in path.name or ".unfinished" in path.name) and not set(passed) & set(path.parents)]
    if left:
        found.append(f"half files are left: {left}")
    return found


@SEEDS
@pytest.mark.parametrize("name", KINDS)
def test_a_call_fails(tmp_path, name, seed):
    random_ = random.Random(f"{name} {seed}")
    fault = drawn(random_, len(undisturbed(name)[1]))
    assert not wrong(name, tmp_path, fault), str(fault)


@pytest.mark.parametrize("what", ["kill", errno.ENOSPC])
def test_a_careless_job_is_found(tmp_path, what):
    """One that writes over the file that it would go on from."""
    _, calls = undisturbed("careless")
    writes = [number for number, call in enumerate(calls) if call.does == "write" and call.path.endswith("/saved")]
    found = []
    for number in writes[-2:]:
        folder = tmp_path / str(number)
        folder.mkdir()
        found += wrong("careless", folder, Fault(number, lambda call: what, True))
    assert found
