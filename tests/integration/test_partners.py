# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Ranks that are left of a job before it was begun again, and ranks that only neighbours are connected with."""
import os
import pathlib
import signal

import pytest
from conftest import CLUSTER, EXAMPLES, addresses, compile_plan, expect_error, expect_success, finish, run
from test_lost_peers import wait_for
from test_signals import expect_stopped, saved_step


def test_a_rank_of_the_time_before_is_refused(linear, linear_data, cluster):
    peers = addresses(2)
    again = [*linear_data, "--steps", 3, "--deadline", 60, "--membership", 2]
    first = cluster.join(linear[2], [0], peers, *again)[0]
    left = cluster.join(linear[2], [1], peers, *linear_data, "--steps", 3, "--deadline", 60, "--membership", 1)[1]
    expect_error(finish(left), "peer 0", "membership epoch must match 2, got: 1")
    second = cluster.join(linear[2], [1], peers, *again)[1]
    for rank in (first, second):
        expect_success(finish(rank))


def test_a_rank_of_a_later_time_waits_for_its_own(linear, linear_data, cluster):
    peers = addresses(2)
    left = cluster.join(linear[2], [0], peers, *linear_data, "--steps", 3, "--deadline", 60)[0]
    again = [*linear_data, "--steps", 3, "--deadline", 60, "--membership", 7]
    second = cluster.join(linear[2], [1], peers, *again)[1]
    expect_error(finish(left), "peer 1", "membership epoch must match 0, got: 7")
    first = cluster.join(linear[2], [0], peers, *again)[0]
    for rank in (first, second):
        expect_success(finish(rank))


@pytest.mark.parametrize("how", [[], ["--spawn"]])
def test_without_connections_it_is_refused(linear, linear_data, how):
    expect_error(run(linear[2], *how, *linear_data, "--steps", 1, "--membership", 1), "--membership")


@pytest.fixture(scope="module")
def ring(folder):
    """A plan of eight ranks, of which each talks with its neighbours."""
    source = CLUSTER.format(nodes=8) + (EXAMPLES / "linear.mlir").read_text()
    return compile_plan(source, folder / "ring8.plan", "--cs-all-reduce-pipeline=algorithm=ring")


def sockets(process):
    """Connections that the process has dialled or accepted."""
    mine = {os.readlink(entry) for entry in pathlib.Path(f"/proc/{process.pid}/fd").iterdir() if entry.is_symlink()}
    lines = [line.split() for name in ("tcp", "tcp6") for line in pathlib.Path(f"/proc/net/{name}").read_text().splitlines()[1:]]
    return sum(f"socket:[{words[9]}]" in mine and words[3] == "01" for words in lines)


def test_neighbours_only_are_connected_and_all_hear_who_is_lost(ring, linear_data, cluster, tmp_path):
    peers = addresses(8)
    ranks = cluster.join(ring, range(8), peers, "--steps", 10**9, "--checkpoint", tmp_path / "checkpoint",
                         "--checkpoint-every", 20, "--deadline", 30, *linear_data)
    wait_for(lambda: (tmp_path / "checkpoint").exists(), ranks.values())
    # The two of the ring, and with whom a rank agrees on the last step.
    for rank, process in ranks.items():
        tree = {(rank - 1) // 2, 2 * rank + 1, 2 * rank + 2} & set(range(8)) if rank else {1, 2}
        assert sockets(process) == len({(rank + 1) % 8, (rank - 1) % 8} | tree)
    ranks.pop(5).kill()
    for process in ranks.values():
        _, err, status = finish(process)
        assert status > 0 and f"peer 5 ({peers[5]})" in err, err
        assert err.count("aborted") <= 1, err


def test_all_stop_after_the_same_step(ring, linear_data, cluster, tmp_path):
    ranks = cluster.join(ring, range(8), addresses(8), "--steps", 10**9, "--checkpoint", tmp_path / "checkpoint",
                         "--checkpoint-every", 20, "--deadline", 30, *linear_data)
    wait_for(lambda: (tmp_path / "checkpoint").exists(), ranks.values())
    ranks[6].terminate()
    results = {rank: finish(process) for rank, process in ranks.items()}
    # Else some would wait for others, for ever or until these are gone.
    step = expect_stopped(results[0], signal.SIGTERM)
    for rank in range(1, 8):
        expect_stopped(results[rank], signal.SIGTERM, of_all=False)
    assert saved_step(tmp_path / "checkpoint") == step
