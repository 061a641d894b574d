# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Peers that do not come, die, or stop in the middle of a run: every other
process ends with an error that names the peer, within the deadline."""
import os
import pathlib
import signal
import time

import pytest
from conftest import TIME_LIMIT, addresses, expect_error, finish


@pytest.mark.parametrize("missing", [0, 2, 3])
def test_peer_that_never_comes(linear, linear_data, cluster, missing):
    peers = addresses(4)
    ranks = cluster.join(linear[4], [r for r in range(4) if r != missing], peers, "--deadline", 3, *linear_data)
    for rank, process in ranks.items():
        expect_error(finish(process), f"rank {rank}", f"{missing} ({peers[missing]})")


def steady(cluster, linear, linear_data, tmp_path, deadline):
    """Four ranks in the middle of a run without end."""
    peers = addresses(4)
    ranks = cluster.join(linear[4], range(4), peers, "--steps", 10**9, "--checkpoint", tmp_path / "checkpoint",
                         "--checkpoint-every", 20, "--deadline", deadline, *linear_data)
    wait_for(lambda: (tmp_path / "checkpoint").exists(), ranks.values())
    return peers, ranks


def wait_for(condition, processes):
    end = time.monotonic() + TIME_LIMIT
    while not condition():
        assert time.monotonic() < end, "the run has not begun"
        for process in processes:
            assert process.poll() is None, process.stderr.read()
        time.sleep(0.02)


@pytest.mark.parametrize("lost", [0, 1, 3])
def test_peer_killed_in_the_middle(linear, linear_data, cluster, tmp_path, lost):
    peers, ranks = steady(cluster, linear, linear_data, tmp_path, 30)
    ranks.pop(lost).kill()
    for process in ranks.values():
        expect_error(finish(process), f"peer {lost} ({peers[lost]})")


def test_peer_that_stops(linear, linear_data, cluster, tmp_path):
    peers, ranks = steady(cluster, linear, linear_data, tmp_path, 3)
    stopped = ranks.pop(2)
    stopped.send_signal(signal.SIGSTOP)
    for process in ranks.values():
        expect_error(finish(process), f"peer 2 ({peers[2]})")


def children(pid):
    return [int(child) for child in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


@pytest.mark.parametrize("lost", [0, 3])
def test_spawned_process_killed(linear, linear_data, cluster, tmp_path, lost):
    parent = cluster.start(linear[4], "--spawn", 4, "--steps", 10**9, "--checkpoint", tmp_path / "checkpoint",
                           "--checkpoint-every", 20, *linear_data)
    wait_for(lambda: (tmp_path / "checkpoint").exists(), [parent])
    ranks = children(parent.pid)
    assert len(ranks) == 4
    os.kill(ranks[lost], signal.SIGKILL)
    expect_error(finish(parent), f"rank {lost} was killed by signal 9")
    for pid in ranks:
        assert not pathlib.Path(f"/proc/{pid}").exists(), "a process is left"


def test_spawned_process_that_stops(linear, linear_data, cluster, tmp_path):
    parent = cluster.start(linear[4], "--spawn", 4, "--steps", 10**9, "--checkpoint", tmp_path / "checkpoint",
                           "--checkpoint-every", 20, "--deadline", 3, *linear_data)
    wait_for(lambda: (tmp_path / "checkpoint").exists(), [parent])
    ranks = children(parent.pid)
    os.kill(ranks[2], signal.SIGSTOP)
    expect_error(finish(parent), "peer 2: ")
    for pid in ranks:
        assert not pathlib.Path(f"/proc/{pid}").exists(), "a process is left"


def test_spawned_processes_end_with_their_parent(linear, linear_data, cluster, tmp_path):
    parent = cluster.start(linear[4], "--spawn", 4, "--steps", 10**9, "--checkpoint", tmp_path / "checkpoint",
                           "--checkpoint-every", 20, *linear_data)
    wait_for(lambda: (tmp_path / "checkpoint").exists(), [parent])
    ranks = children(parent.pid)
    parent.kill()
    end = time.monotonic() + TIME_LIMIT
    while any(pathlib.Path(f"/proc/{pid}").exists() for pid in ranks):
        assert time.monotonic() < end, "a process is left"
        time.sleep(0.02)
