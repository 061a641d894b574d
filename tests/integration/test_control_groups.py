# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Jobs in a control group with a limit of memory, as containers and jobs of Slurm are: what does not fit is refused before it runs, and where the
system kills a process for want of memory, that is said."""
import os
import pathlib
import random
import re
import signal
import subprocess
import sys
import time
import uuid

import numpy as np
import pytest
from cases import cases
from conftest import CLUSTER, TIME_LIMIT, addresses, compile_plan, expect_error, expect_success, finish, secret
from servers import DIGITS_DATA, digits_plan
from test_lost_peers import children

SEEDS = pytest.mark.parametrize("seed", cases(2))
MIB = 1 << 20
WHY = "the memory of this host, or of its container, was used up"
# Takes memory, a bit at a time, while a process lives.
HOG = f"""
import sys
taken = []
while open(f"/proc/{{sys.argv[1]}}/stat").read().rsplit(")", 1)[1].split()[0] not in "ZX":
    taken.append(b"x" * {MIB})
"""


class Group:
    """A group of processes, by either version of cgroups."""

    def __init__(self, path, limit, usage, events):
        self.path, self._limit, self._usage, self._events = path, limit, usage, events
        path.mkdir()
        try:
            counts = "oom_kill" in (path / events).read_text()
        except OSError:  # a folder of another file system
            counts = False
        if not counts:
            path.rmdir()
            raise OSError(f"{path}: must be a control group that counts what is killed")

    def limit(self, size):
        (self.path / self._limit).write_text(str(size))

    def usage(self):
        return int((self.path / self._usage).read_text())

    def join(self):
        (self.path / "cgroup.procs").write_text(str(os.getpid()))

    def end(self):
        for pid in (self.path / "cgroup.procs").read_text().split():
            os.kill(int(pid), signal.SIGKILL)
        end = time.monotonic() + TIME_LIMIT
        while True:
            try:
                return self.path.rmdir()
            except OSError:
                assert time.monotonic() < end
                time.sleep(0.01)


@pytest.fixture
def group():
    name = f"commsched-{uuid.uuid4().hex[:8]}"
    made = None
    for base, files in (("/sys/fs/cgroup/memory", ("memory.limit_in_bytes", "memory.usage_in_bytes", "memory.oom_control")),
                        ("/sys/fs/cgroup", ("memory.max", "memory.current", "memory.events"))):
        try:
            made = Group(pathlib.Path(base) / name, *files)
            made.limit(1 << 40)
            break
        except OSError:
            if made:
                made.path.rmdir()
            made = None
    if made is None:
        pytest.skip("needs root and control groups of memory")
    yield made
    made.end()


ALL_REDUCE = "--cs-all-reduce-pipeline=schedule="


def large_plan(folder, pipeline, million=16):
    """A plan of two ranks that needs some memory, for a parameter of so many times 2^20 elements, and what it is run with."""
    elements = million * MIB
    kind = f"tensor<{elements}xf32>"
    source = f"""
func.func @step(%w: {kind} {{cs.param = "w"}}, %x: tensor<2xf32> {{cs.batch = "x"}}) -> ({kind} {{cs.updates = "w"}}) attributes {{cs.step}} {{
  %g = cs.gradient %w of "w" : {kind}
  %new = arith.subf %w, %g : {kind}
  return %new : {kind}
}}
"""
    initial, batches = folder / f"large.{million}.npz", folder / f"large.{million}.train.npz"
    plan = folder / f"{re.sub('[^a-z]+', '-', pipeline)}.{million}.plan"
    np.savez(initial, w=np.zeros(elements, np.float32))
    np.savez(batches, x=np.zeros(16, np.float32))
    compile_plan(CLUSTER.format(nodes=2) + source, plan, pipeline)
    return [plan, "--init", initial, "--batch", batches, "--steps", 2]


@pytest.fixture(scope="module")
def large(folder):
    return large_plan(folder, ALL_REDUCE + "priority")


@pytest.fixture(scope="module")
def large_served(folder):
    return large_plan(folder, "--cs-parameter-server-pipeline=servers=2", 32)


@pytest.mark.parametrize("how", [[], ["--spawn"]], ids=["threads", "processes"])
def test_what_does_not_fit_is_refused(large, cluster, group, how):
    expect_success(finish(cluster.start(*large, *how, preexec_fn=group.join)))
    group.limit(100 * MIB)
    _, err, status = finish(cluster.start(*large, *how, preexec_fn=group.join))
    # Each process sees what is left for it, which is one line all the same.
    line = r"cs-run: (all ranks: )?the plan needs \d+ bytes of memory.*, the host, or its container, has \d+ available\n"
    assert status == 1 and re.fullmatch(line, err), err


@pytest.mark.parametrize("few", range(2))
def test_the_others_hear_of_what_does_not_fit(large, cluster, group, few):
    """Which they would wait for until the deadline, that is longer than a test may take."""
    group.limit(100 * MIB)
    peers = ",".join(addresses(2))
    ranks = [cluster.start(large[0], "--rank", rank, "--peers", peers, *secret(), "--deadline", 600, *large[1:],
                           preexec_fn=group.join if rank == few else None) for rank in range(2)]
    for rank, process in enumerate(ranks):
        expect_error(finish(process), f"rank {rank}: ", "the plan needs", "bytes of memory", *([] if rank == few else [f"peer {few} "]))


@pytest.mark.parametrize("how", [[], ["--spawn"]], ids=["threads", "processes"])
def test_servers_that_do_not_fit_are_refused(large_served, cluster, group, how):
    expect_success(finish(cluster.start(*large_served, *how, preexec_fn=group.join)))
    # Enough for each of them, and not for all.
    group.limit(800 * MIB)
    _, err, status = finish(cluster.start(*large_served, *how, preexec_fn=group.join))
    line = r"cs-run: the plan needs (\d+) bytes of memory for the 4 ranks and servers here \(.*, sums of gradients \d+\), the host, or its container, has \d+ available\n"
    said = re.fullmatch(line, err)
    assert status == 1 and said and 800 * MIB < int(said[1]) < 1000 * MIB, err


@pytest.mark.parametrize("few", range(2))
def test_the_others_hear_of_a_server_that_does_not_fit(large_served, cluster, group, few):
    plan, *data = large_served
    group.limit(100 * MIB)
    listen = addresses(2)
    servers = [cluster.start(plan, "--role", "server", "--index", index, "--listen", listen[index], *secret(), "--deadline", 600, *data[:2],
                             preexec_fn=group.join if index == few else None) for index in range(2)]
    trainers = [cluster.start(plan, "--role", "trainer", "--rank", rank, "--servers", ",".join(listen), *secret(), "--deadline", 600, *data)
                for rank in range(2)]
    for process in (*servers, *trainers):
        expect_error(finish(process), "the plan needs", "bytes of memory", *([f"server {few}"] if process in (servers[few], *trainers) else []))


@SEEDS
@pytest.mark.parametrize("kind", ["ranks", "servers"])
def test_who_was_killed_for_want_of_memory(digits, folder, cluster, group, kind, seed):
    draw = random.Random(f"{kind} {seed}")
    plan = digits[0] if kind == "ranks" else digits_plan(folder)
    job = cluster.start("--spawn", plan, *DIGITS_DATA, "--steps", 10**9, "--metrics-every", 1, preexec_fn=group.join)
    while "step 1:" not in job.stdout.readline():
        assert job.poll() is None
    named = {}
    for pid in children(job.pid):
        words = pathlib.Path(f"/proc/{pid}/cmdline").read_text().split("\0")
        named[pid] = f"server {words[words.index('--index') + 1]}" if "--index" in words else f"rank {words[words.index('--rank') + 1]}"
    victim = draw.choice(sorted(named))
    pathlib.Path(f"/proc/{victim}/oom_score_adj").write_text("1000")
    group.limit(group.usage() + 64 * MIB)
    hog = subprocess.Popen([sys.executable, "-c", HOG, str(victim)], stderr=subprocess.DEVNULL, preexec_fn=group.join)
    try:
        out, err, status = finish(job)
    finally:
        hog.kill()
        hog.wait()
    assert (status, err) == (1, f"cs-run: {named[victim]} was killed by signal 9 (Killed): {WHY}\n")


def test_another_kill_is_none(digits, cluster, group):
    job = cluster.start("--spawn", *digits, "--steps", 10**9, "--metrics-every", 1, preexec_fn=group.join)
    while "step 1:" not in job.stdout.readline():
        assert job.poll() is None
    os.kill(children(job.pid)[1], signal.SIGKILL)
    _, err, status = finish(job)
    assert status == 1 and err.endswith("was killed by signal 9 (Killed)\n"), err


@pytest.mark.parametrize("room", [1.5, 3])
@pytest.mark.parametrize("how", [[], ["--spawn"]], ids=["threads", "processes"])
def test_a_plan_that_does_not_fit_beside_the_other_is_not_tried(folder, cluster, group, how, room):
    """What is left is `room` times what one rank needs, for the two that are here: for one plan more it is three times, and for a third one
    there is what the second had."""
    (first, *data, _), (second, *_), (third, *_) = (large_plan(folder, ALL_REDUCE + policy, 32) for policy in ("priority", "bytescheduler", "solver"))
    group.limit(100 * MIB)
    _, err, _ = finish(cluster.start(first, *data, 1, preexec_fn=group.join))
    needs = int(re.search(r"the plan needs (\d+) bytes of memory for each of 2 ranks here", err)[1])
    group.limit(1 << 40)
    steps = 60 if room < 2 else 300
    job = cluster.start(*how, first, *data, steps, "--metrics-every", 1, "--tune", second if room < 2 else f"{second},{third}", "--tune-steps", 5, preexec_fn=group.join)
    while job.stdout.readline().strip() != "step 4":
        assert job.poll() is None
    group.limit(group.usage() + round(room * needs))
    out, err, status = finish(job)
    assert status == 0 and f"step {steps}\n" in out, err
    if room > 2:
        assert err == "" and re.search(rf"tuning: ms of a step: {first.stem} [\d.]+, {second.stem} [\d.]+, {third.stem} [\d.]+; ", out), (out, err)
        return
    assert re.fullmatch(rf"cs-run: warning: tuning: going on with the old plan: {second.stem}: (rank 0: )?the plan needs {needs} bytes of memory for each of "
                        r"2 ranks here \(.*\), the host, or its container, has \d+ available\n", err), err
    assert re.search(rf"tuning: ms of a step: {first.stem} [\d.]+, {second.stem} refused; {first.stem} is kept after \d+ steps, ", out), out
