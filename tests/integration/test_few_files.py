# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Processes that may open few files: a job runs as without the limit, or every process ends by itself, with one line that says what
is missing; never by a signal, never later than the deadline, and nothing is left."""
import os
import pathlib
import random
import resource

import pytest
from cases import cases
from conftest import addresses, expect_success, finish, free_port, run, secret
from servers import DIGITS_DATA, Job, digits_plan

SEEDS = pytest.mark.parametrize("seed", cases(2))
LEAST, ENOUGH = 5, 64  # below LEAST, the program cannot be loaded
DEADLINE = ["--deadline", 5]


def limited(files):
    return lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))


def job_folders(base):
    return list(pathlib.Path(base).glob("cs-run.job-*"))


def expect_ended(results, limited_one, files):
    """All have succeeded, or all have failed, with one line each; that of the limited process has the cause."""
    states = {status for _, _, status in results.values()}
    errors = {who: err for who, (_, err, _) in results.items()}
    assert states in ({0}, {1}), (files, states, errors)
    if states == {1}:
        for who, err in errors.items():
            lines = [line for line in err.splitlines() if not line.startswith("cs-run: warning: ")]
            assert lines and all(line.startswith("cs-run: ") for line in lines), (files, who, err)
            if who == limited_one:  # ranks that one process has started may each have another number of connections
                assert all("open files" in line or "ulimit -n is" in line for line in lines), (files, errors)
            else:
                assert len(lines) == 1, (files, who, err)
    return states == {0}


@SEEDS
@pytest.mark.parametrize("kind", ["threads", "ranks", "servers"])
def test_whole_job(linear, linear_data, folder, cluster, tmp_path, kind, seed):
    files = random.Random(f"{kind} {seed}").randrange(LEAST, ENOUGH)
    plan, data = (digits_plan(folder), DIGITS_DATA) if kind == "servers" else (linear[3], linear_data)
    training = [plan, *data, "--steps", 7, "--save-params"]
    expect_success(run(*training, tmp_path / "expected"))
    job = cluster.start(*training, tmp_path / "params", *([] if kind == "threads" else ["--spawn", *DEADLINE]),
                        preexec_fn=limited(files), env={**os.environ, "TMPDIR": str(tmp_path)})
    if expect_ended({"job": finish(job)}, "job", files):
        assert (tmp_path / "params").read_bytes() == (tmp_path / "expected").read_bytes()
    assert not job_folders(tmp_path)


@SEEDS
@pytest.mark.parametrize("how", ["peers", "meeting"])
def test_one_rank(linear, linear_data, cluster, how, seed):
    draw = random.Random(f"{how} {seed}")
    files, few = draw.randrange(LEAST, ENOUGH), draw.randrange(3)
    peers, port, ranks = ",".join(addresses(3)), free_port(), {}
    for rank in range(3):
        env = {**os.environ, "RANK": str(rank), "WORLD_SIZE": "3", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
        place = ["--rank", rank, "--peers", peers] if how == "peers" else []
        ranks[rank] = cluster.start(linear[3], *place, *secret(), *linear_data, "--steps", 7, *DEADLINE, env=None if place else env,
                                    preexec_fn=limited(files) if rank == few else None)
    expect_ended({rank: finish(process) for rank, process in ranks.items()}, few, files)


@SEEDS
def test_one_of_a_job_with_servers(folder, cluster, seed):
    draw = random.Random(seed)
    files, few = draw.randrange(LEAST, ENOUGH), draw.choice([("server", 0), ("server", 1), ("trainer", 0), ("trainer", 1)])
    job = Job(cluster, digits_plan(folder))
    for role, index in (("server", 0), ("server", 1), ("trainer", 0), ("trainer", 1)):
        start = cluster.start
        if (role, index) == few:
            cluster.start = lambda *arguments, **keywords: start(*arguments, preexec_fn=limited(files), **keywords)
        if role == "server":
            job.start_server(index, *DIGITS_DATA[:2], *DEADLINE)
        else:
            job.start_trainer(index, *DIGITS_DATA, "--steps", 7, *DEADLINE)
        cluster.start = start
    expect_ended(job.finish(), few, files)
