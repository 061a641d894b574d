# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What bench/examples.py takes for wrong."""
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))
import _example_jobs  # noqa: E402
import examples  # noqa: E402
from _example_jobs import Ended  # noqa: E402

NAMES = r"\b(peer|rank) 1\b"


@pytest.mark.parametrize("status, errors, fault", [
    (1, ["commsched: rank 0: peer 1: connection lost"], ""),
    (1, ["a warning of something else", "commsched: rank 0: peer 1: connection lost"], ""),
    (0, ["commsched: rank 0: peer 1: connection lost"], "must fail"),
    (1, [], "must say one line"),
    (1, ["commsched: rank 0: peer 1: lost"] * 2, "must say one line"),
    (1, ["commsched: rank 0: peer 2: lost"], "must name who failed"),
    (1, ["Traceback (most recent call last):", "commsched: rank 0: peer 1: lost"], "got a traceback"),
    (-11, ["commsched: rank 0: peer 1: lost"], "ended by signal 11")])
def test_ends(status, errors, fault):
    found = examples.wrong_end(0, Ended(status, errors, 1.0), NAMES, False)
    assert (fault in found and found) if fault else found == ""


def test_who_speaks_is_not_who_is_named():
    assert "must name who failed" in examples.wrong_end(1, Ended(1, ["commsched: rank 1: peer 2: lost"], 1.0), NAMES, False)


def test_a_launcher_may_be_first():
    assert examples.wrong_end(0, Ended(None, [], 1.0), NAMES, True) == ""
    assert "must say one line" in examples.wrong_end(0, Ended(None, ["something"], 1.0), NAMES, True)


def test_losses():
    a = [{"step": 1, "loss": 1.0}, {"step": 2, "loss": 0.5}]
    b = [{"step": 1, "loss": 1.0}, {"step": 2, "loss": 0.5000001}]
    assert examples.differences(a, a, True) == "" and examples.differences(a, b, False) == ""
    assert "must match" in examples.differences(a, b, True)
    assert "must match" in examples.differences(a[:1], a, True) and "2 epochs" in examples.differences(a[:1], a, False)
    assert "differ" in examples.differences([{"loss": 1.0}], [{"loss": 1.1}], False)


def test_processes_that_are_left_are_found_and_ended(tmp_path):
    """Also children of a rank that has ended, and one that is stopped."""
    code = "import os, signal, subprocess, sys; c = subprocess.Popen(['sleep', '100']); os.kill(c.pid, signal.SIGSTOP); sys.exit(3)"
    job = _example_jobs.Job("processes", [sys.executable, "-c", code], 2, tmp_path)
    ended, left = job.ended(30)
    assert [one.status for one in ended] == [3, 3] and left == ["sleep 100"] * 2
    assert list(_example_jobs.marked(job.mark)) == []


def test_every_script_that_trains_is_there():
    scripts = {str(path.relative_to(ROOT / "examples")) for path in (ROOT / "examples").glob("*/*.py")}
    listed = {example.script for example in examples.EXAMPLES}
    assert listed < scripts
    for script in scripts - listed:  # which begin no job
        assert "commsched.init(" not in (ROOT / "examples" / script).read_text(), script
        assert subprocess.run(["grep", "-q", "\\.run(", ROOT / "examples" / script]).returncode, script
