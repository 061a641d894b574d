# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""SIGINT and SIGTERM, however ranks run: all stop after the same step, files are written as at the end, the exit
status is 128 and the signal."""
import os
import re
import shutil
import signal
import subprocess

import pytest
from conftest import addresses, expect_success, finish, run, tool
from safetensors import safe_open
from servers import DIGITS_DATA, Job, digits_plan
from test_lost_peers import children, wait_for

FOREVER = ["--steps", 10**9, "--metrics-every", 10]
SIGNALS = pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])


def saved_step(path):
    with safe_open(path, "np") as file:
        return int(file.metadata()["step"])


def expect_stopped(result, number, of_all=True):
    out, err, status = result
    assert status == 128 + number, err
    assert err == f"cs-run: ended by signal {int(number)} ({signal.strsignal(number)})\n", err
    return int(re.search("stopped after step ([0-9]+)", out)[1]) if of_all else None


def expect_as_if_it_had_ended_there(plan, data, steps, found, tmp_path):
    expect_success(run(plan, *data, "--steps", steps, "--save-params", tmp_path / "expected"))
    assert found.read_bytes() == (tmp_path / "expected").read_bytes()


@SIGNALS
@pytest.mark.parametrize("how", [[], ["--spawn"]])
def test_whole_cluster(linear, linear_data, cluster, tmp_path, how, number):
    checkpoint = tmp_path / "checkpoint"
    process = cluster.start(linear[4], *how, *linear_data, *FOREVER, "--checkpoint", checkpoint, "--checkpoint-every", 50,
                            "--save-params", tmp_path / "params")
    wait_for(checkpoint.exists, [process])
    process.send_signal(number)
    step = expect_stopped(finish(process), number)
    assert saved_step(checkpoint) == step
    expect_as_if_it_had_ended_there(linear[4], linear_data, step, tmp_path / "params", tmp_path)


@SIGNALS
@pytest.mark.parametrize("how", [[], ["--spawn"]])
def test_a_launcher_tells_the_process_and_its_group(linear, linear_data, cluster, tmp_path, how, number):
    checkpoint = tmp_path / "checkpoint"
    process = cluster.start(linear[4], *how, *linear_data, *FOREVER, "--checkpoint", checkpoint, "--checkpoint-every", 50,
                            start_new_session=True)
    wait_for(checkpoint.exists, [process])
    process.send_signal(number)
    os.killpg(process.pid, number)
    step = expect_stopped(finish(process), number)
    assert saved_step(checkpoint) == step


def test_one_rank_of_a_parent_asks_all(linear, linear_data, cluster, tmp_path):
    checkpoint = tmp_path / "checkpoint"
    parent = cluster.start(linear[4], "--spawn", *linear_data, *FOREVER, "--checkpoint", checkpoint, "--checkpoint-every", 50)
    wait_for(checkpoint.exists, [parent])
    os.kill(children(parent.pid)[1], signal.SIGTERM)
    step = expect_stopped(finish(parent), signal.SIGTERM)
    assert saved_step(checkpoint) == step


@SIGNALS
@pytest.mark.parametrize("asked", [0, 2])
def test_one_rank_by_hand_asks_all(linear, linear_data, cluster, tmp_path, asked, number):
    checkpoint = tmp_path / "checkpoint"
    ranks = cluster.join(linear[4], range(4), addresses(4), *linear_data, *FOREVER, "--checkpoint", checkpoint,
                         "--checkpoint-every", 50, "--save-params", tmp_path / "params")
    wait_for(checkpoint.exists, ranks.values())
    ranks[asked].send_signal(number)
    results = {rank: finish(process) for rank, process in ranks.items()}
    step = expect_stopped(results[0], number)
    for rank in (1, 2, 3):
        expect_stopped(results[rank], number, of_all=False)
    assert saved_step(checkpoint) == step
    expect_as_if_it_had_ended_there(linear[4], linear_data, step, tmp_path / "params", tmp_path)


@SIGNALS
def test_a_job_with_servers(folder, cluster, tmp_path, number):
    plan, saved = digits_plan(folder), tmp_path / "saved"
    job = ["--spawn", plan, *DIGITS_DATA, "--checkpoint", saved, "--checkpoint-every", 5]
    parent = cluster.start(*job, *FOREVER, "--save-params", tmp_path / "params")
    wait_for(lambda: (saved / "server.0.checkpoint").exists(), [parent])
    processes = children(parent.pid)
    parent.send_signal(number)
    step = expect_stopped(finish(parent), number)
    assert sorted(path.name for path in saved.iterdir() if "step" in path.name) == [
        f"server.{k}.step{step}.checkpoint" for k in range(2)]
    assert not any(os.path.exists(f"/proc/{pid}") for pid in processes), "a process is left"
    expect_as_if_it_had_ended_there(plan, DIGITS_DATA, step, tmp_path / "params", tmp_path)
    out = expect_success(run(*job, "--resume", saved, "--steps", 3, "--save-params", tmp_path / "params"))
    assert f"resumes after step {step}\n" in out
    expect_as_if_it_had_ended_there(plan, DIGITS_DATA, step + 3, tmp_path / "params", tmp_path)


@SIGNALS
def test_trainers_by_hand_finish_each_for_itself(folder, cluster, tmp_path, number):
    plan, saved = digits_plan(folder), tmp_path / "saved"
    job = Job(cluster, plan).start(of_all=[*DIGITS_DATA[:2], "--checkpoint", saved, "--checkpoint-every", 5],
                                   of_trainers=[*DIGITS_DATA[2:], *FOREVER])
    wait_for(lambda: (saved / "server.0.checkpoint").exists(), job.trainers.values())
    for trainer in job.trainers.values():
        trainer.send_signal(number)
    for (role, index), result in job.finish().items():
        if role == "trainer":
            expect_stopped(result, number, of_all=index == 0)
        else:
            expect_success(result)


def test_a_second_signal_ends_at_once(linear, linear_data, cluster, tmp_path):
    """A rank that hangs keeps the others from the last step."""
    parent = cluster.start(linear[4], "--spawn", *linear_data, *FOREVER, "--checkpoint", tmp_path / "checkpoint",
                           "--checkpoint-every", 20, "--deadline", 600)
    wait_for((tmp_path / "checkpoint").exists, [parent])
    ranks = children(parent.pid)
    os.kill(ranks[2], signal.SIGSTOP)
    parent.terminate()
    with pytest.raises(subprocess.TimeoutExpired):
        parent.wait(timeout=1.5)
    parent.terminate()
    out, err, status = finish(parent)
    assert status == 128 + signal.SIGTERM and f"ended by signal {int(signal.SIGTERM)}" in err
    assert not any(os.path.exists(f"/proc/{pid}") for pid in ranks), "a process is left"


@pytest.mark.skipif(shutil.which("mpirun") is None, reason="Open MPI is not installed")
def test_a_job_of_mpi(linear, linear_data, cluster, tmp_path):
    checkpoint = tmp_path / "checkpoint"
    command = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", "4", tool("cs-run"), linear[4], *linear_data, *FOREVER,
               "--checkpoint", checkpoint, "--checkpoint-every", 50, "--save-params", tmp_path / "params"]
    process = subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    cluster.processes.append(process)
    wait_for(checkpoint.exists, [process])
    # Of rank 1 alone: what mpirun is told it tells all.
    ranks = [pid for pid in children(process.pid) if "cs-run" in open(f"/proc/{pid}/cmdline").read()]
    os.kill(ranks[1], signal.SIGTERM)
    out, err, status = finish(process)
    assert status == 128 + signal.SIGTERM, err
    step = int(re.search("stopped after step ([0-9]+)", out)[1])
    assert saved_step(checkpoint) == step
    expect_as_if_it_had_ended_there(linear[4], linear_data, step, tmp_path / "params", tmp_path)
