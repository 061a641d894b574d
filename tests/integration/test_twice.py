# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The same rank or server started twice, at once or when the first one has died, at ports and at socket files: the job has one of them,
the other one is told so; socket files that killed processes have left are in nobody's way."""
import os
import random
import signal
import time

import pytest
from cases import cases
from conftest import addresses, expect_error, expect_success, finish, free_port, secret
from servers import DIGITS_DATA, Job, digits_plan
from test_lost_peers import wait_for

SEEDS = pytest.mark.parametrize("seed", cases(3))
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


def start_by_environment(cluster, plan, data, rank, port, deadline, ranks=3):
    env = {**os.environ, "RANK": str(rank), "WORLD_SIZE": str(ranks), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    return cluster.start(plan, *secret(), *data, "--steps", 3, "--deadline", deadline, env=env)


@SEEDS
def test_ranks_that_come_again_to_the_meeting(linear, linear_data, cluster, seed):
    """Any that waited for the others and were killed; their launchers start them once more, in any order with who is still to come."""
    draw, port = random.Random(seed), free_port()
    waits = {}

    def start(rank):
        waits[rank] = start_by_environment(cluster, linear[4], linear_data, rank, port, 30, ranks=4)
        time.sleep(draw.uniform(0, 0.4))

    def kill(rank):
        waits[rank].kill()
        waits.pop(rank).wait()

    last, *others = draw.sample(range(4), 4)  # nobody can begin before `last` has come
    for rank in others:
        start(rank)
    for _ in range(draw.randrange(2)):
        again = draw.choice(others)
        kill(again)
        start(again)
    guests = [rank for rank in others if rank != 0]
    for rank in others if draw.random() < 0.2 else draw.sample(guests, draw.randint(1, len(guests))):
        kill(rank)
    to_come = [rank for rank in range(4) if rank not in waits]
    for rank in draw.sample(to_come, len(to_come)):
        start(rank)
    for process in waits.values():
        expect_success(finish(process))


def test_rank_that_came_and_died_is_missing(linear, linear_data, cluster):
    port = free_port()
    waits, died = (start_by_environment(cluster, linear[3], linear_data, rank, port, 3) for rank in range(2))
    time.sleep(1)
    died.kill()
    expect_error(finish(waits), "ranks 1, 2 did not come to")


def test_two_at_the_meeting(linear, linear_data, cluster):
    port = free_port()
    ranks = [start_by_environment(cluster, linear[3], linear_data, rank, port, 60) for rank in (0, 1, 1)]
    for process in ranks:
        expect_error(finish(process), "two processes are rank 1")
