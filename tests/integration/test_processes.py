# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a process has from who started it, and what becomes of its files while it runs."""
import os
import resource
import signal
import subprocess

import numpy as np
import pytest
from conftest import EXAMPLES, TIME_LIMIT, expect_error, expect_success, finish, run, tool
from safetensors.numpy import load_file, save_file
from servers import DIGITS_DATA, digits_plan
from test_lost_peers import children, wait_for

HOW = pytest.mark.parametrize("how", [[], ["--spawn"]], ids=["threads", "spawned"])


def prepared(arguments, before):
    """As run(), with `before` in the process first."""
    process = subprocess.run([tool("cs-run"), *map(str, arguments)], capture_output=True, text=True, timeout=TIME_LIMIT,
                             preexec_fn=before)
    return process.stdout, process.stderr, process.returncode


@HOW
def test_data_that_becomes_shorter(linear, linear_data, cluster, tmp_path, how):
    arrays = dict(np.load(linear_data[3]))
    arrays["x"], arrays["y"] = np.tile(arrays["x"], (20, 1)), np.tile(arrays["y"], 20)
    for pad in range(0, 64, 4):  # rows in place: what is copied at the start cannot go
        save_file(arrays, tmp_path / "data", {"pad": "x" * pad})
        header = int.from_bytes((tmp_path / "data").read_bytes()[:8], "little")
        if (header + 8) % 64 == 0:
            break
    process = cluster.start(linear[2], *how, *linear_data[:2], "--batch", tmp_path / "data", "--steps", 10**9,
                            "--metrics-every", 1)
    while "step 1" not in process.stdout.readline():
        assert process.poll() is None
    os.truncate(tmp_path / "data", 1000)
    expect_error(finish(process), str(tmp_path / "data"), "has become shorter")


@HOW
@pytest.mark.parametrize("stream", [1, 2])
def test_no_file_takes_the_place_of_a_closed_stream(linear, linear_data, tmp_path, how, stream):
    arguments = [linear[2], *how, *linear_data, "--steps", 30, "--metrics-every", 1, "--checkpoint", tmp_path / "c",
                 "--checkpoint-every", 1]
    result = prepared(arguments, lambda: os.close(stream))
    if stream == 1:
        expect_error(result, "cannot write to stdout")
    else:
        expect_success(result)
    assert load_file(tmp_path / "c")["w"].shape == (8,)


@HOW
def test_a_full_stdout_is_one_error(linear, linear_data, how):
    with open("/dev/full", "w") as full:
        done = subprocess.run([tool("cs-run"), *map(str, [linear[2], *how, *linear_data, "--steps", 3])], stdout=full,
                              stderr=subprocess.PIPE, text=True, timeout=TIME_LIMIT)
    expect_error(("", done.stderr, done.returncode), "cannot write to stdout")


def test_files_that_may_not_grow(linear, linear_data, tmp_path):
    size = 1 << 16  # of the code of plans, too, which is in nameless files
    result = prepared([linear[2], *linear_data, "--steps", 5000, "--trace", tmp_path / "out"],
                      lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size)))
    expect_error(result, "cannot be written: File too large")


def test_a_hangup_that_is_ignored(linear, linear_data, cluster, tmp_path):
    process = cluster.start(linear[2], "--spawn", *linear_data, "--steps", 10**9, "--checkpoint", tmp_path / "c",
                            "--checkpoint-every", 20, preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
    wait_for((tmp_path / "c").exists, [process])
    process.send_signal(signal.SIGHUP)
    (tmp_path / "c").unlink()
    wait_for((tmp_path / "c").exists, [process])  # it goes on
    process.terminate()
    assert finish(process)[2] == 128 + signal.SIGTERM


@pytest.mark.parametrize("ignored", [signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGPIPE])
def test_signals_that_who_starts_it_ignores(linear, linear_data, ignored):
    """Of children that end, whether well or not, a parent hears all the same."""
    def before():
        signal.signal(ignored, signal.SIG_IGN)
    expect_success(prepared([linear[4], "--spawn", *linear_data, "--steps", 3], before))
    expect_error(prepared([linear[4], "--spawn", *linear_data[2:], "--steps", 3], before), '"w"')
    source = EXAMPLES / "linear.mlir"
    assert "within bounds" in expect_success(prepared([linear[2], *linear_data, "--steps", 2, "--check-against", source], before))


def test_processes_that_cannot_be_started(linear, linear_data):
    result = prepared([linear[4], "--spawn", *linear_data, "--steps", 3],
                      lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (8, 8)))
    expect_error(result, "cannot start rank", "Too many open files")


@pytest.mark.parametrize("option", ["--checkpoint", "--save-params", "--batch", "--trace", "--eval", "--replan"])
def test_a_variable_that_is_not_set(linear, linear_data, option):
    expect_error(run(linear[2], *linear_data, "--steps", 1, option, ""), f"{option} needs a value")


def test_more_epochs_than_steps_can_be_counted(linear, linear_data, cluster, tmp_path):
    process = cluster.start(linear[2], *linear_data, "--epochs", 2**62, "--checkpoint", tmp_path / "c", "--checkpoint-every", 20)
    wait_for((tmp_path / "c").exists, [process])
    process.terminate()
    assert finish(process)[2] == 128 + signal.SIGTERM


@HOW
@pytest.mark.parametrize("one, other", [("--save-params", "--metrics-json"), ("--checkpoint", "--save-params"),
                                        ("--trace", "--profile")])
def test_two_outputs_are_two_files(linear, linear_data, tmp_path, how, one, other):
    (tmp_path / "folder").mkdir()
    expect_error(run(linear[2], *how, *linear_data, one, tmp_path / "f", other, tmp_path / "folder/../f"), one, other,
                 "must be another file")
    assert not (tmp_path / "f").exists()


@pytest.mark.parametrize("option", ["--save-params", "--metrics-json", "--trace"])
def test_outputs_are_not_what_is_read(linear, linear_data, option):
    before = linear_data[3].read_bytes()
    expect_error(run(linear[2], *linear_data, option, linear_data[3]), option, "must be another file than --batch")
    assert linear_data[3].read_bytes() == before
    expect_error(run(linear[2], *linear_data, option, linear[2]), option, "must be another file than the plan")


def test_two_jobs_do_not_share_a_folder(folder, cluster, tmp_path):
    """Such as one that is begun again though it still runs."""
    job = ["--spawn", digits_plan(folder), *DIGITS_DATA, "--steps", 10**9, "--checkpoint", tmp_path / "saved",
           "--checkpoint-every", 5, "--resume", tmp_path / "saved"]
    first = cluster.start(*job)
    wait_for(lambda: (tmp_path / "saved/server.0.checkpoint").exists(), [first])
    expect_error(run(*job), str(tmp_path / "saved"), "another job writes its checkpoints there")
    assert first.poll() is None
    first.terminate()
    assert finish(first)[2] == 128 + signal.SIGTERM
    expect_success(run(*[3 if argument == 10**9 else argument for argument in job]))


def shared_between(processes):
    """The nameless files of connections that two of the processes have in their memory."""
    maps = {pid: {line.split()[4] for line in open(f"/proc/{pid}/maps") if "/memfd:commsched" in line} for pid in processes}
    return {file for a in maps for b in maps if a < b for file in maps[a] & maps[b]}


@pytest.mark.parametrize("options, shares", [([], True), (["--no-shared-memory"], False)], ids=["shared", "not-shared"])
@pytest.mark.parametrize("kind", ["ranks", "servers"])
def test_memory_of_a_host_is_shared_unless_that_is_turned_off(linear, linear_data, cluster, tmp_path, kind, options, shares):
    plan, data = (linear[2], linear_data) if kind == "ranks" else (digits_plan(tmp_path), DIGITS_DATA)
    job = cluster.start(plan, "--spawn", *data, "--steps", 10**9, "--metrics-every", 1, *options)
    while "step 1" not in job.stdout.readline():
        assert job.poll() is None, job.stderr.read()
    assert bool(shared_between(children(job.pid))) == shares
    job.kill()
