# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The time of day is set, by hours and at drawn moments, while ranks of jobs from Python run: neither results nor deadlines depend on it."""
import os
import pathlib
import random
import signal
import time

import pytest

from test_killed_jobs import DEADLINE, SEEDS, TIME_LIMIT, Job, wrong_end

CLOCK = pathlib.Path(os.environ.get("COMMSCHED_BIN", "")).parent / "lib" / "libjumping_clock.so"
HOURS = 3600
needs_clock = pytest.mark.skipif(not CLOCK.exists(), reason="needs a build without sanitizers")


def set_clock(path, seconds):
    path.with_suffix(".new").write_text(str(seconds))
    path.with_suffix(".new").replace(path)


def preloaded(clock):
    return {"LD_PRELOAD": str(CLOCK), "COMMSCHED_TEST_CLOCK": str(clock)}


@needs_clock
@SEEDS
@pytest.mark.parametrize("strategy, servers, how", [("dense", 0, "replan"), ("sparse", 0, "no"), ("servers", 0, "no"), ("servers", 2, "no")])
def test_the_clock_is_set_while_a_job_runs(tmp_path, strategy, servers, how, seed):
    draw, ahead = random.Random(f"{strategy} {servers} {seed}"), 0
    for name in ("expected", "set"):
        (tmp_path / name).mkdir()
    expected = Job(tmp_path / "expected", "mlir", strategy, 2, threads=True).result()
    set_clock(tmp_path / "clock", ahead)
    job = Job(tmp_path / "set", "mlir", strategy, 2, servers, how=how, more=preloaded(tmp_path / "clock"))
    while job.processes[0].poll() is None:
        time.sleep(draw.choice([0.01, 0.1, 0.5]))
        ahead += draw.choice((-1, 1)) * draw.randrange(1, 9) * HOURS
        set_clock(tmp_path / "clock", ahead)
    assert job.result() == expected


@needs_clock
@pytest.mark.parametrize("jump", [-1, 1])
@pytest.mark.parametrize("servers", [0, 2])
def test_the_clock_is_set_before_a_process_stops(tmp_path, servers, jump):
    """The others end at their deadline all the same."""
    set_clock(tmp_path / "clock", 0)
    job = Job(tmp_path, "mlir", "servers", 2, servers, how="careless", more=preloaded(tmp_path / "clock"))
    while not (tmp_path / "saved").exists():
        assert job.processes[0].poll() is None
        time.sleep(0.002)
    victim, begin = job.processes[-1], time.monotonic()
    victim.send_signal(signal.SIGSTOP)
    set_clock(tmp_path / "clock", jump * 5 * HOURS)
    for process in job.processes[:-1]:
        process.wait(timeout=TIME_LIMIT)
    # A peer that is stopped is told after half of it, since its last message: where it had no processor, that was some time before.
    assert time.monotonic() - begin > DEADLINE / 2 - 1
    victim.send_signal(signal.SIGCONT)
    for rank, result in enumerate(job.ended()):
        assert wrong_end(rank, result, signal.SIGSTOP, [len(job.processes) - 1], "") is None, result
