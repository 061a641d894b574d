# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Processes of jobs from Python are killed, stopped for a while, or told to end: one, some or all, at drawn moments from their start to their
end. Every process ends soon, with one line; none is left. What the job has saved is whole, and it goes on from there, with as many
workers or others, with this strategy or another, to the bits of threads that go on from the same file."""
import functools
import importlib.util
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import pytest
from cases import cases

from killed_job import EACH, STEPS
from rank_job import CLEAN, free_port, token_file

SEEDS = pytest.mark.parametrize("seed", cases(2))
FRONTS = pytest.mark.parametrize("front", ["mlir", *(
    pytest.param(of, marks=pytest.mark.skipif(importlib.util.find_spec(of) is None, reason=f"needs {of}")) for of in ("torch", "paddle"))])
JOB = pathlib.Path(__file__).parent / "killed_job.py"
DEADLINE, TIME_LIMIT = 8, 180  # seconds: of the job; of a job that ends, beyond which it hangs
SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGSTOP)


@functools.cache
def _token():
    return token_file(tempfile.mkdtemp())


class Job:
    """Processes of their own sessions."""

    def __init__(self, folder, front, strategy, workers, servers=0, threads=False, how="no", more=None):
        self.folder, size = folder, 1 if threads else workers + servers
        (folder / "tmp").mkdir(exist_ok=True)
        env = {**CLEAN, "TMPDIR": str(folder / "tmp"), "PYTHONPATH": os.pathsep.join(sys.path), "GLOG_minloglevel": "3",
               "JAX_PLATFORMS": "cpu", "COMMSCHED_DEADLINE": str(DEADLINE), **(more or {})}
        if not threads:
            env.update(WORLD_SIZE=str(size), MASTER_ADDR="127.0.0.1", MASTER_PORT=str(free_port()), COMMSCHED_TOKEN_FILE=_token())
        command = [sys.executable, JOB, front, strategy, workers, servers, folder / "saved", how]
        self.trainers = 1 if threads else workers
        self.output = [(open(folder / f"out.{rank}", "w+"), open(folder / f"error.{rank}", "w+")) for rank in range(size)]
        self.processes = [subprocess.Popen(list(map(str, command)), stdout=out, stderr=error, start_new_session=True,
                                           env=env if threads else {**env, "RANK": str(rank)}) for rank, (out, error) in enumerate(self.output)]

    def ended(self):
        """(status, output, standard error) of each."""
        end = time.monotonic() + TIME_LIMIT
        try:
            for process in self.processes:
                process.wait(timeout=max(0, end - time.monotonic()))
        finally:
            for process in self.processes:
                process.kill()
                process.wait()
        left = [pid for pid in members({process.pid for process in self.processes})]
        for pid in left:
            os.kill(pid, signal.SIGKILL)
        assert not left, "processes are left"
        results = []
        for process, files in zip(self.processes, self.output):
            texts = []
            for file in files:
                file.seek(0)
                texts.append(file.read())
                file.close()
            results.append((process.returncode, *texts))
        return results

    def result(self):
        """What all trainers of a job that nobody disturbs print."""
        results = self.ended()
        assert all(status == 0 and not error for status, _, error in results), results
        first = results[0][1]
        assert all(out == (first if rank < self.trainers else "") for rank, (_, out, _) in enumerate(results)), results
        return first


def members(sessions):
    """Processes of these sessions that run."""
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                state, _, _, session = pathlib.Path(f"/proc/{entry}/stat").read_text().rsplit(")", 1)[1].split()[:4]
            except (FileNotFoundError, ProcessLookupError):
                continue
            if int(session) in sessions and state != "Z":
                yield int(entry)


def disturb(job, draw):
    """Returns which signal, to whom."""
    saved, processes = job.folder / "saved", job.processes

    def written():
        try:
            return saved.stat().st_ino
        except FileNotFoundError:
            return None
    for _ in range(draw.randrange(STEPS // EACH + 1)):
        before = written()
        while written() == before and all(process.poll() is None for process in processes):
            time.sleep(0.002)
    end = time.monotonic() + draw.choice([0.02, 0.3, 3]) * draw.random()
    while time.monotonic() < end and any(process.poll() is None for process in processes):
        time.sleep(0.002)
    number, count = draw.choice(SIGNALS), draw.choice([1, 1, 2, len(processes)])
    victims = draw.sample(range(len(processes)), min(count, len(processes)))
    victims = [rank for rank in victims if processes[rank].poll() is None]
    for rank in victims:
        processes[rank].send_signal(number)
    if number == signal.SIGSTOP:
        time.sleep(draw.choice([0.1, 1, DEADLINE + 3]))
        for rank in victims:
            processes[rank].send_signal(signal.SIGCONT)
    return number, victims


def wrong_end(rank, result, number, victims, expected):
    """What is not as it must be, in words, of a process of a job that was disturbed."""
    status, out, error = result
    lines = error.splitlines()
    if status == 0:
        return None if out == expected and not lines else "it has succeeded otherwise"
    if rank in victims and number == signal.SIGKILL:
        # Of several, who is killed last may have said by then that others are lost.
        told = len(victims) > 1 and len(lines) == 1 and lines[0].startswith("commsched: ") and status in (-signal.SIGKILL, 1)
        return None if status == -signal.SIGKILL and not lines or told else "it is not killed, or says something"
    if rank in victims and number in (signal.SIGTERM, signal.SIGINT):
        # Beside steps, a signal is what it always is in Python, while that begins, too.
        if status in (-number, 128 + number) and len(lines) <= 1 or lines and lines[-1].startswith("KeyboardInterrupt") and number == signal.SIGINT:
            return None
    told = number in (signal.SIGTERM, signal.SIGINT) and status == 128 + number and len(lines) <= 1
    if not told and not (status == 1 and len(lines) == 1 and lines[0].startswith("commsched: ")):
        return "it does not end with one line"
    return None


@SEEDS
@FRONTS
def test_the_same_bits_after_any_signal(tmp_path, front, seed):
    draw = random.Random(f"{front} {seed}")
    strategies = ("dense", "sparse", "servers")
    first, then = draw.choice(strategies), draw.choice(strategies)
    workers = [draw.choice([1, 2, 4] if front == "mlir" else [1, 2]) for _ in range(2)]
    servers = [draw.choice([0, 1, 2]) if of == "servers" else 0 for of in (first, then)]
    how = ["replan" if draw.random() < 0.3 and of == "dense" and count > 1 else "no" for of, count in zip((first, then), workers)]
    threads = draw.random() < 0.2
    about = f"{first}, workers, servers {workers}, {servers}, {how}, then {then}, threads {threads}"
    folders = [tmp_path / name for name in ("disturbed", "expected", "first", "on")]
    for folder in folders:
        folder.mkdir()
    undisturbed = Job(folders[2], front, first, workers[0], threads=True).result()
    job = Job(folders[0], front, first, workers[0], servers[0], how=how[0], threads=threads and not servers[0])
    number, victims = disturb(job, draw)
    about += f"; signal {number} to {victims}"
    results = job.ended()
    for rank, result in enumerate(results):
        why = wrong_end(rank, result, number, victims, undisturbed if rank < job.trainers else "")
        assert why is None, (why, rank, about, results)
    if (folders[0] / "saved").exists():
        for folder in (folders[1], folders[3]):
            shutil.copy(folders[0] / "saved", folder / "saved")
    assert Job(folders[3], front, first, workers[0], threads=True).result() == undisturbed, about
    expected = Job(folders[1], front, then, workers[1], threads=True).result()
    assert Job(folders[0], front, then, workers[1], servers[1], how=how[1]).result() == expected, about
    left = [name for name in os.listdir(folders[0]) if name.startswith("saved") and name != "saved"]
    assert not left, (left, about)


def test_a_careless_job_is_found(tmp_path):
    """One that is killed while it writes over the file that it would go on from."""
    job = Job(tmp_path, "mlir", "dense", 2, how="careless")
    while not (tmp_path / "saved").exists() or (tmp_path / "saved").stat().st_size == 0:
        assert job.processes[0].poll() is None
        time.sleep(0.002)
    job.processes[0].kill()
    results = job.ended()
    assert wrong_end(1, results[1], signal.SIGKILL, [0], "") is None, results
    assert wrong_end(0, results[0], signal.SIGKILL, [1], "") is not None, results
    with pytest.raises(AssertionError, match="is damaged"):
        Job(tmp_path, "mlir", "dense", 2).result()


@pytest.mark.parametrize("front", FRONTS.args[1][1:])
def test_a_file_of_another_front_end_is_refused(tmp_path, front):
    """In one line that names it and a tensor, by all ranks; servers end."""
    Job(tmp_path, "mlir", "sparse", 2).result()
    before = (tmp_path / "saved").read_bytes()
    *trainers, server = Job(tmp_path, front, "servers", 2, 1).ended()
    for status, out, error in trainers:
        assert status == 1 and not out and f"{tmp_path}/saved" in error.splitlines()[-1] and "must match" in error.splitlines()[-1], error
    assert server[0] in (0, 1) and len(server[2].splitlines()) <= 1, server
    assert (tmp_path / "saved").read_bytes() == before
