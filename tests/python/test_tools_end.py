# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A process that is killed at a drawn moment while a tool runs for it leaves no tool behind."""
import os
import pathlib
import random
import subprocess
import sys
import time

import pytest
from cases import FIRST, count
from commsched import tools

TIME_LIMIT = 120  # seconds; only ends a hang
RUNS = """
import sys
from commsched import tools
print(flush=True)
tools.call([tools.find(sys.argv[1]), *sys.argv[2:]])
"""


def children(pid):
    found = []
    for task in pathlib.Path(f"/proc/{pid}/task").glob("*/children"):
        found += map(int, task.read_text().split())
    return found + [grandchild for child in found for grandchild in children(child)]


def started(pid):
    """Of what `pid` has started, with the times at which they began, by which a number is not taken for that of another."""
    processes = {}
    for child in children(pid):
        try:
            processes[child] = pathlib.Path(f"/proc/{child}/stat").read_text().rsplit(")", 1)[1].split()[19]
        except FileNotFoundError:
            pass
    return processes


def runs(child, began):
    try:
        stat = pathlib.Path(f"/proc/{child}/stat").read_text().rsplit(")", 1)[1].split()
    except FileNotFoundError:
        return False
    return stat[19] == began and stat[0] not in "ZX"


def wait_for(condition):
    end = time.monotonic() + TIME_LIMIT
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.001)


TOOLS = pytest.mark.parametrize("tool, options", [("cs-opt", ["--insert-dist-comm"]), ("cs-translate", ["--mlir-to-plan"]),
                                                   ("cs-run", ["--simulate"])], ids=["cs-opt", "cs-translate", "cs-run"])


@TOOLS
def test_a_tool_ends_with_who_has_started_it(tmp_path, tool, options):
    # Nobody writes to it: whoever opens it waits.
    os.mkfifo(tmp_path / "waits")
    draw = random.Random(f"{FIRST} {tool}")
    for _ in range(count(6)):
        starter = subprocess.Popen([sys.executable, "-c", RUNS, tool, *options, str(tmp_path / "waits")], stdout=subprocess.PIPE,
                                   env={**os.environ, "PYTHONPATH": str(pathlib.Path(tools.__file__).parents[1])})
        starter.stdout.readline()
        wait_for(lambda: starter.poll() is not None or children(starter.pid))
        time.sleep(draw.choice([0, 0.001, 0.01, 0.1]))
        left = started(starter.pid)
        assert left, "the tool has not waited"
        starter.kill()
        starter.wait()
        starter.stdout.close()
        wait_for(lambda: not any(runs(child, began) for child, began in left.items()))


@TOOLS
def test_a_tool_may_be_in_a_wrapper(tmp_path, monkeypatch, tool, options):
    (tmp_path / tool).write_text(f'#!/bin/sh\n{tools.find(tool)} "$@"\n')
    (tmp_path / tool).chmod(0o755)
    monkeypatch.setenv("COMMSCHED_BIN", str(tmp_path))
    done = tools.call([tools.find(tool), "--version"])
    assert done.returncode == 0 and b"CommSched" in done.stdout, done
