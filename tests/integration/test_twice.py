# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The same rank or server started twice, at once or when the first one has died, at ports and at socket files: the job has one of them,
the other one is told so; socket files that killed processes have left are in nobody's way."""
import os
import random
import signal
import time

import pytest
from conftest import addresses, expect_error, expect_success, finish, free_port, secret
from servers import DIGITS_DATA, Job, digits_plan
from test_lost_peers import wait_for

SEED, TIMES = int(os.environ.get("COMMSCHED_TEST_SEED", "0")), int(os.environ.get("COMMSCHED_TEST_TIMES", "1"))
SEEDS = pytest.mark.parametrize("seed", range(SEED, SEED + 3 * TIMES))
AT = pytest.mark.parametrize("at", ["ports", "sockets"])


def places(at, count, tmp_path):
    return addresses(count) if at == "ports" else [f"unix:{tmp_path}/{i}" for i in range(count)]


@AT
@pytest.mark.parametrize("twice", range(3))
def test_rank_of_a_job_that_runs(linear, linear_data, cluster, tmp_path, at, twice):
    peers = places(at, 3, tmp_path)
    ranks = cluster.join(linear[3], range(3), peers, *linear_data, "--steps", 10**9, "--checkpoint", tmp_path / "checkpoint",
                         "--checkpoint-every", 20)
    wait_for((tmp_path / "checkpoint").exists, ranks.values())
    (again,) = cluster.join(linear[3], [twice], peers, *linear_data, "--steps", 3, "--deadline", 20).values()
    expect_error(finish(again), f"rank {twice} cannot listen on {peers[twice]}: Address already in use")
    ranks[1].terminate()
    for process in ranks.values():
        out, err, status = finish(process)
        assert status == 128 + 15, err


@AT
@pytest.mark.parametrize("twice", range(2))
def test_server_of_a_job_that_runs(folder, cluster, tmp_path, at, twice):
    job = Job(cluster, digits_plan(folder))
    job.listen = places(at, 2, tmp_path)
    job.start(of_all=["--deadline", 20], of_trainers=[*DIGITS_DATA, "--epochs", 8], of_servers=[
        *DIGITS_DATA[:2], "--checkpoint", tmp_path / "saved", "--checkpoint-every", 5])
    wait_for((tmp_path / f"saved/server.{twice}.checkpoint").exists, job.trainers.values())
    again = Job(cluster, job.plan)
    again.listen = job.listen
    expect_error(finish(again.start_server(twice, *DIGITS_DATA[:2])), f"server {twice} cannot listen on {job.listen[twice]}: Address")
    for result in job.finish().values():
        expect_success(result)


@SEEDS
def test_socket_files_of_killed_processes(linear, linear_data, cluster, tmp_path, seed):
    peers = places("sockets", 3, tmp_path)
    ranks = cluster.join(linear[3], range(3), peers, *linear_data, "--steps", 10**9)
    wait_for(lambda: all((tmp_path / str(rank)).exists() for rank in range(3)), ranks.values())
    time.sleep(random.Random(seed).uniform(0, 0.2))
    for process in ranks.values():  # before any of them can end in good order
        process.send_signal(signal.SIGSTOP)
    for process in ranks.values():
        process.kill()
        process.wait()
    assert all((tmp_path / str(rank)).exists() for rank in range(3))
    for process in cluster.join(linear[3], range(3), peers, *linear_data, "--steps", 3).values():
        expect_success(finish(process))


@SEEDS
def test_rank_that_comes_again_to_the_meeting(linear, linear_data, cluster, seed):
    """One that waited for the others and was killed; its launcher starts it once more."""
    draw, port = random.Random(seed), free_port()

    def start(rank):
        env = {**os.environ, "RANK": str(rank), "WORLD_SIZE": "3", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
        return cluster.start(linear[3], *secret(), *linear_data, "--steps", 3, "--deadline", 30, env=env)

    died, last = draw.sample(range(3), 2)
    before = [start(rank) for rank in range(3) if rank not in (died, last)]
    for _ in range(draw.randrange(1, 3)):
        first = start(died)
        time.sleep(draw.uniform(0, 0.6))
        first.kill()
        first.wait()
    for process in (start(died), *before, start(last)):
        expect_success(finish(process))


def test_two_at_the_meeting(linear, linear_data, cluster):
    port = free_port()
    env = {**os.environ, "WORLD_SIZE": "3", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    ranks = [cluster.start(linear[3], *secret(), *linear_data, "--steps", 3, "--deadline", 60, env={**env, "RANK": rank})
             for rank in ("0", "1", "1")]
    for process in ranks:
        expect_error(finish(process), "two processes are rank 1")
