# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Jobs with parameter servers that are killed as a whole, at any moment, go on from
what they have written: bitwise as if nothing had been, and each update counts once."""
import json
import os
import pathlib
import random
import re
import shutil
import signal
import time

import numpy as np
import pytest
from conftest import TIME_LIMIT, expect_success, run
from safetensors.numpy import load_file
from servers import DIGITS_DATA, Job, compile_servers, digits_plan

INPUTS = pathlib.Path(__file__).parent / "Inputs"


@pytest.fixture(scope="module")
def ones(folder):
    """Data and initial values of Inputs/constant-gradient.mlir: a gradient of ones."""
    np.savez(folder / "ones.npz", x=np.full((16 * 60, 8), 1 / 16, np.float32))
    np.savez(folder / "zeros.npz", w=np.zeros(8, np.float32))
    return ["--init", folder / "zeros.npz", "--batch", folder / "ones.npz"]


def constant_plan(folder, trainers, options, least=2):
    return compile_servers((INPUTS / "constant-gradient.mlir").read_text(),
                           folder / f"constant-{trainers}-{options}-{least}.plan", trainers, 2,
                           f"min-block-elements={least} {options}")


def listing(folder):
    found = []
    for entry in os.scandir(folder) if folder.exists() else []:
        try:
            found.append((entry.name, entry.stat().st_mtime_ns))
        except FileNotFoundError:  # it has got another name, or is gone
            pass
    return sorted(found)


def wait_while(condition, process):
    end = time.monotonic() + TIME_LIMIT
    while condition() and process.poll() is None:
        assert time.monotonic() < end, "the run does not go on"
        time.sleep(0.002)


def kill_and_resume(cluster, plan, arguments, folder, seed, every):
    """Kills the job at random moments, at last lets it go to its end."""
    moments = random.Random(seed)
    command = ["--spawn", plan, *arguments, "--resume", folder, "--checkpoint", folder, "--checkpoint-every", every]
    for _ in range(6):
        process = cluster.start(*command, start_new_session=True)
        # Some checkpoints more, or while it begins; then somewhat later.
        for _ in range(moments.randrange(4)):
            before = listing(folder)
            wait_while(lambda: listing(folder) == before, process)
        moment = time.monotonic() + moments.uniform(0, 0.03)
        wait_while(lambda: time.monotonic() < moment, process)
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait(timeout=TIME_LIMIT)
        else:  # it was over before
            assert process.returncode == 0, process.stderr.read()
    out = expect_success(run(*command))
    left = [name for name, _ in listing(folder) if not name.endswith(".checkpoint")]
    assert not left, f"killed processes have left {left}"
    return out


@pytest.mark.parametrize("seed", range(4))
def test_the_same_bits_after_any_kill(folder, cluster, tmp_path, seed):
    plan = digits_plan(folder)
    how = [*DIGITS_DATA, "--epochs", 6, "--save-params"]
    expect_success(run("--spawn", plan, *how, tmp_path / "undisturbed"))
    kill_and_resume(cluster, plan, [*how, tmp_path / "disturbed"], tmp_path / "saved", seed, 4)
    assert (tmp_path / "disturbed").read_bytes() == (tmp_path / "undisturbed").read_bytes()


@pytest.mark.parametrize("seed", range(2))
def test_the_same_bits_where_blocks_share_messages(folder, cluster, tmp_path, seed):
    """As those of blocks that go alone; a message is applied for all that it has, once."""
    alone = digits_plan(folder, options="min-block-elements=1024 fuse-blocks=false")
    shared = digits_plan(folder, options="min-block-elements=1024 schedule=fixed-buckets")
    for plan, shares in ((alone, False), (shared, True)):
        assert bool(re.search(rb"\+\d+\.new", pathlib.Path(plan).read_bytes())) == shares
    how = [*DIGITS_DATA, "--epochs", 6, "--save-params"]
    expect_success(run("--spawn", alone, *how, tmp_path / "undisturbed"))
    kill_and_resume(cluster, shared, [*how, tmp_path / "disturbed"], tmp_path / "saved", seed, 4)
    assert (tmp_path / "disturbed").read_bytes() == (tmp_path / "undisturbed").read_bytes()


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("mode", ["sync", "async"])
def test_state_of_the_trainers_goes_on(folder, linear_data, cluster, tmp_path, mode, seed):
    """A running mean of the data that only trainers have: metrics of the last step tell."""
    np.savez(folder / "statistics.npz", w=np.zeros(8, np.float32), seen=np.full(8, 2, np.float32))
    plan = compile_servers((INPUTS / "linear-statistics.mlir").read_text(), folder / f"killed-{mode}.plan", 2, 2,
                           f"min-block-elements=2 sync-mode={mode}")
    how = ["--init", folder / "statistics.npz", *linear_data[2:], "--epochs", 9, "--metrics-every", 1, "--metrics-json"]
    expect_success(run("--spawn", plan, *how, tmp_path / "undisturbed"))
    kill_and_resume(cluster, plan, [*how, tmp_path / "disturbed"], tmp_path / "saved", seed, 3)
    ends = [json.loads((tmp_path / name).read_text())["steps"] for name in ("undisturbed", "disturbed")]
    if ends[1]:  # else the last one to be killed was at its end
        assert ends[0][-1]["drift"] == ends[1][-1]["drift"]
        assert mode == "async" or ends[0][-1]["loss"] == ends[1][-1]["loss"]


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("trainers, options, least", [
    (2, "sync-mode=async", 2), (3, "sync-mode=async", 2), (2, "sync-mode=half-async merge=2", 2),
    (2, "sync-mode=async", 8)])  # the last one: server 1 holds nothing
def test_every_update_counts_once_after_any_kill(folder, ones, cluster, tmp_path, trainers, options, least, seed):
    plan = constant_plan(folder, trainers, options, least)
    epochs = 12
    kill_and_resume(cluster, plan, [*ones, "--epochs", epochs, "--save-params", tmp_path / "params"],
                    tmp_path / "saved", seed, 4)
    pushes = epochs * (60 // trainers) * trainers // (2 if "half" in options else 1)
    np.testing.assert_array_equal(load_file(tmp_path / "params")["w"], np.full(8, -pushes, np.float32))


@pytest.mark.parametrize("comes_back", [None, 0, 1])
def test_processes_by_hand_begin_again(folder, cluster, tmp_path, comes_back):
    """`comes_back`: a server that is killed once more, before it has written anything since."""
    plan = digits_plan(folder)
    epochs = 6 if comes_back is None else 40
    expect_success(run("--spawn", plan, *DIGITS_DATA, "--epochs", epochs, "--save-params", tmp_path / "undisturbed"))
    saving = ["--checkpoint", tmp_path / "saved", "--checkpoint-every"]
    training = [*DIGITS_DATA[2:], "--epochs", epochs, "--save-params", tmp_path / "disturbed"]
    first = Job(cluster, plan).start(of_all=[*DIGITS_DATA[:2], *saving, 4], of_trainers=training)
    wait_while(lambda: len(listing(tmp_path / "saved")) < 4, first.trainers[0])
    for process in (*first.trainers.values(), *first.servers.values()):
        process.kill()
        process.wait(timeout=TIME_LIMIT)
    every = 4 if comes_back is None else 10**6
    second = Job(cluster, plan).start(of_all=[*DIGITS_DATA[:2], *saving, every, "--resume-job", tmp_path / "saved"],
                                      of_trainers=training)
    if comes_back is not None:
        time.sleep(0.5)
        assert all(trainer.poll() is None for trainer in second.trainers.values()), "the job was over before"
        second.servers[comes_back].kill()
        second.servers[comes_back].wait(timeout=TIME_LIMIT)
        second.start_server(comes_back, *saving, every, "--resume", tmp_path / "saved")
    for result in second.finish().values():
        expect_success(result)
    assert (tmp_path / "disturbed").read_bytes() == (tmp_path / "undisturbed").read_bytes()


def test_what_a_job_by_hand_left_of_later_steps_goes(folder, linear_data, cluster, tmp_path):
    """It is of another life of the job, and would make a checkpoint of this one look whole."""
    np.savez(folder / "statistics.npz", w=np.zeros(8, np.float32), seen=np.full(8, 2, np.float32))
    plan = compile_servers((INPUTS / "linear-statistics.mlir").read_text(), folder / "by-hand-async.plan", 2, 2,
                           "min-block-elements=2 sync-mode=async")
    saved, saving = tmp_path / "saved", ["--checkpoint", tmp_path / "saved", "--checkpoint-every", 3]
    expect_success(run("--spawn", plan, "--init", folder / "statistics.npz", *linear_data[2:], "--steps", 6, *saving))
    for process in ("server.0", "rank.1"):
        shutil.copy(saved / f"{process}.step6.checkpoint", saved / f"{process}.step9.checkpoint")
    job = Job(cluster, plan).start(of_all=[*saving, "--resume-job", saved], of_trainers=[*linear_data[2:], "--steps", 1])
    for result in job.finish().values():
        expect_success(result)
    left = {name.split(".step")[1] for name, _ in listing(saved) if ".step" in name}
    assert "7.checkpoint" in left and "9.checkpoint" not in left


@pytest.mark.parametrize("trainers_too", [False, True])
@pytest.mark.parametrize("source, own", [("linear-statistics", "seen"), ("constant-gradient", None)])
def test_trainers_without_their_part_of_checkpoints_say_so(folder, linear_data, ones, cluster, tmp_path, source, own, trainers_too):
    """Where there is such a part: the job cannot begin again without it."""
    np.savez(folder / "statistics.npz", w=np.zeros(8, np.float32), seen=np.full(8, 2, np.float32))
    data = ["--init", folder / "statistics.npz", *linear_data[2:]] if own else ones
    plan = compile_servers((INPUTS / f"{source}.mlir").read_text(), folder / f"by-hand-{source}.plan", 2, 2, "min-block-elements=2")
    saving = ["--checkpoint", tmp_path / "saved", "--checkpoint-every", 3]
    job = Job(cluster, plan).start(of_servers=[*data[:2], *saving], of_trainers=[*data, "--steps", 6, *(saving if trainers_too else [])])
    for (role, index), result in job.finish().items():
        assert ("checkpoints will never be whole" in expect_success(result) + result[1]) == (
            own is not None and not trainers_too and (role, index) == ("trainer", 0)), result


@pytest.mark.parametrize("trainers, options, each", [(1, "sync-mode=half-async merge=4", 3), (3, "sync-mode=async", 10),
                                                     (2, "sync-mode=half-async merge=3", 4), (2, "sync-mode=sync", 5)])
@pytest.mark.parametrize("how", [[], ["--spawn"]])
def test_what_is_saved_has_all_updates(folder, ones, tmp_path, trainers, options, each, how):
    """The last ones of all trainers too; half-asynchronous: means of 4, 4 and 2 gradients."""
    plan = constant_plan(folder, trainers, options)
    expect_success(run(plan, *how, *ones, "--steps", 10, "--save-params", tmp_path / "params"))
    pushes = 10 if "mode=sync" in options else each * trainers
    np.testing.assert_array_equal(load_file(tmp_path / "params")["w"], np.full(8, -pushes, np.float32))
