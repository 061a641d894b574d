# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The time of day is set, by hours and at drawn moments, while jobs begin and run; and each process has another steady clock, as on
machines that were started at other times. Nothing of a job depends on either: neither results nor deadlines."""
import os
import pathlib
import random
import shutil
import signal
import subprocess
import time

import pytest
from cases import FIRST, cases
from conftest import TIME_LIMIT, addresses, expect_error, expect_success, finish, run, secret, tool
from servers import DIGITS_DATA, Job, digits_plan
from test_killed_jobs import wait_while
from test_lost_peers import children

SEEDS = pytest.mark.parametrize("seed", cases(2))
HOURS = 3600
KINDS = pytest.mark.parametrize("kind", ["ranks", "ranks-not-shared", "servers"])


class Day:
    """A clock that can be set: see jumping_clock.c."""

    def __init__(self, folder):
        shim = pathlib.Path(tool("cs-run")).parent.parent / "lib" / "libjumping_clock.so"
        if not shim.exists():
            pytest.skip("needs a build without sanitizers")
        self.path = folder / "clock"
        self.env = {**os.environ, "LD_PRELOAD": str(shim), "COMMSCHED_TEST_CLOCK": str(self.path)}
        self.set(0)

    def set(self, seconds):
        self.ahead = seconds
        new = self.path.with_suffix(".new")
        new.write_text(str(seconds))
        new.replace(self.path)


@pytest.fixture
def day(tmp_path):
    return Day(tmp_path)


def job_of(kind, folder, linear, linear_data):
    plan, data = (digits_plan(folder), DIGITS_DATA) if kind == "servers" else (linear[3], linear_data)
    return [plan, *data], ["--no-shared-memory"] if kind == "ranks-not-shared" else []


def test_the_clock_is_set(day):
    read = ["date", "+%s"]
    day.set(-5 * HOURS)
    then = int(subprocess.run(read, env=day.env, capture_output=True, text=True, check=True, timeout=TIME_LIMIT).stdout)
    assert abs(then - (time.time() - 5 * HOURS)) < HOURS


@SEEDS
@KINDS
def test_set_while_a_job_runs(folder, linear, linear_data, cluster, day, tmp_path, kind, seed):
    draw = random.Random(f"{kind} {seed}")
    training, how = job_of(kind, folder, linear, linear_data)
    training += ["--epochs", 4 if kind == "servers" else 1, "--save-params"]
    expect_success(run(*training, tmp_path / "expected"))
    job = cluster.start(*training, tmp_path / "params", "--spawn", *how, "--deadline", 20, "--metrics-every", 10,
                        "--trace", tmp_path / "trace.json", env=day.env)
    while job.poll() is None and "step" in job.stdout.readline():
        day.set(day.ahead + draw.choice((-1, 1)) * draw.randrange(1, 9) * HOURS)
    expect_success(finish(job))
    assert (tmp_path / "params").read_bytes() == (tmp_path / "expected").read_bytes()


@SEEDS
@KINDS
@pytest.mark.parametrize("jump", [-1, 1])
def test_set_while_processes_come(folder, linear, linear_data, cluster, day, kind, jump, seed):
    """Some have tried to reach others already, and try again."""
    draw = random.Random(f"{kind} {jump} {seed}")
    (plan, *data), how = job_of(kind, folder, linear, linear_data)
    options = [*how, "--deadline", 30]
    if kind == "servers":
        job = Job(cluster, plan)
        begin = [lambda i=i: job.start_trainer(i, *data, *options, "--steps", 5) for i in range(2)]
        begin += [lambda i=i: job.start_server(i, *data[:2], *options) for i in range(2)]
    else:
        peers = ",".join(addresses(3))
        begin = [lambda i=i: cluster.start(plan, "--rank", i, "--peers", peers, *secret(), *data, *options, "--steps", 5, env=day.env)
                 for i in range(2, -1, -1)]
    start = cluster.start
    cluster.start = lambda *arguments, **keywords: start(*arguments, **{**keywords, "env": day.env})
    processes = [begin.pop(0)()]
    for one in begin:
        time.sleep(draw.uniform(0.3, 0.8))
        day.set(day.ahead + jump * draw.randrange(1, 9) * HOURS)
        processes.append(one())
    for process in processes:
        expect_success(finish(process))


@KINDS
@pytest.mark.parametrize("jump", [-1, 1])
def test_set_before_a_process_stops(folder, linear, linear_data, cluster, day, kind, jump):
    draw = random.Random(f"{kind} {jump} {FIRST}")
    training, how = job_of(kind, folder, linear, linear_data)
    job = cluster.start(*training, *how, "--spawn", "--steps", 10**9, "--deadline", 3, "--metrics-every", 1, env=day.env)
    while "step 2" not in job.stdout.readline():
        assert job.poll() is None, job.stderr.read()
    day.set(jump * draw.randrange(1, 9) * HOURS)
    moment = time.monotonic() + draw.uniform(0, 0.3)
    wait_while(lambda: time.monotonic() < moment, job)
    processes = children(job.pid)
    os.kill(draw.choice(processes), signal.SIGSTOP)
    expect_error(finish(job))
    for pid in processes:
        assert not pathlib.Path(f"/proc/{pid}").exists(), "a process is left"


@SEEDS
@pytest.mark.parametrize("kind", ["ranks", "servers"])
def test_another_steady_clock_each(folder, linear, linear_data, cluster, tmp_path, kind, seed):
    """Of a job that is interrupted and goes on, with other clocks then."""
    draw = random.Random(f"{kind} {seed}")

    def elsewhen():
        return ["unshare", "--time", "--fork", "--kill-child", "--monotonic", str(draw.randrange(10**6)), "--boottime", str(draw.randrange(10**6))]

    if shutil.which("unshare") is None or subprocess.run([*elsewhen(), "true"], capture_output=True, check=False).returncode != 0:
        pytest.skip("needs the right to make time namespaces")
    (plan, *data), _ = job_of(kind, folder, linear, linear_data)
    expect_success(run(plan, *data, "--epochs", 2, "--save-params", tmp_path / "expected"))

    def start(*arguments):
        process = subprocess.Popen([*elsewhen(), tool("cs-run"), plan, *map(str, arguments)], stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True)
        cluster.processes.append(process)
        return process

    for first in (True, False):
        steps = ["--steps", draw.randrange(1, 20)] if first else ["--epochs", 2, "--save-params", tmp_path / "params"]
        saving = ["--checkpoint", tmp_path / "saved", *([] if kind == "ranks" else ["--checkpoint-every", 10**6 if first else 10**9])]
        if kind == "ranks":
            peers = ",".join(addresses(3))
            begin = data[:2] if first else ["--resume", tmp_path / "saved"]
            processes = [start("--rank", i, "--peers", peers, *secret(), *begin, *data[2:], *steps, *saving, "--trace", tmp_path / "t.json")
                         for i in range(3)]
        else:
            listen = addresses(2)
            again = [] if first else ["--resume-job", tmp_path / "saved"]
            processes = [start("--role", "server", "--index", i, "--listen", listen[i], *secret(), *data[:2], *saving, *again)
                         for i in range(2)]
            processes += [start("--role", "trainer", "--rank", i, "--servers", ",".join(listen), *secret(), *data, *steps, *saving, *again)
                          for i in range(2)]
        for process in processes:
            expect_success(finish(process))
    assert (tmp_path / "params").read_bytes() == (tmp_path / "expected").read_bytes()
