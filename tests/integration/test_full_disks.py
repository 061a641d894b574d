# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The disk is full from a drawn moment on, after as many bytes as is drawn, for one process of a job: the job ends with one line that
names the file and why, nothing half written is left, and from the checkpoint before the job goes on to the bits of an undisturbed run.
A limit of what a process may write stands for the disk: writing fails in the same places."""
import os
import random
import resource
import shutil
import subprocess
import time

import pytest
from cases import cases
from conftest import EXAMPLES, TIME_LIMIT, expect_error, expect_success, finish, run, tool
from servers import DIGITS_DATA, digits_plan
from test_killed_jobs import listing, wait_while
from test_lost_peers import children

SEEDS = pytest.mark.parametrize("seed", cases(3))
FULL = "File too large"
EPOCHS = 8


@pytest.fixture(scope="module")
def undisturbed(folder, digits):
    """Plan, data and the parameters of a run without faults, by kind."""
    found = {}
    for kind, plan in (("ranks", digits[0]), ("servers", digits_plan(folder))):
        expect_success(run("--spawn", plan, *DIGITS_DATA, "--epochs", EPOCHS, "--save-params", folder / f"{kind}.whole"))
        found[kind] = plan, (folder / f"{kind}.whole").read_bytes()
    return found


def fill_disk(pid, size):
    _, hard = resource.prlimit(pid, resource.RLIMIT_FSIZE)
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (size, hard))


def left_in(folder):
    return [name for name in os.listdir(folder) if not name.endswith(".checkpoint") and name != "checkpoint"]


@SEEDS
@pytest.mark.parametrize("kind, how", [("ranks", []), ("ranks", ["--spawn"]), ("servers", ["--spawn"])],
                         ids=["threads", "ranks", "servers"])
def test_the_checkpoint_before_stays(undisturbed, cluster, tmp_path, kind, how, seed):
    plan, expected = undisturbed[kind]
    draw = random.Random(f"{kind} {how} {seed}")
    saved, other = tmp_path / "saved", tmp_path / "other"
    saved.mkdir()
    other.mkdir()
    checkpoint = saved if kind == "servers" else saved / "checkpoint"
    training = [plan, *how, *DIGITS_DATA[2:], "--epochs", EPOCHS, "--checkpoint", checkpoint, "--checkpoint-every", 3]
    init = DIGITS_DATA[:2]
    again = ["--resume", checkpoint, *init] if kind == "servers" else ["--resume", checkpoint]
    job = cluster.start(*training, *(again if kind == "servers" else init), cwd=other)
    for _ in range(draw.randrange(1, 4)):
        before = listing(saved)
        wait_while(lambda: listing(saved) == before, job)
    wait_while(lambda: not any(name.endswith("checkpoint") for name, _ in listing(saved)), job)
    moment = time.monotonic() + draw.uniform(0, 0.02)
    wait_while(lambda: time.monotonic() < moment, job)
    # Of the parts that a job with servers has, the one of server 0 is the largest; servers begin first.
    writer = children(job.pid)[0] if how else job.pid
    fill_disk(writer, draw.randrange(4096, 8192))
    result = finish(job)
    if result[2] != 0:  # else it was over before
        expect_error(result, str(saved), FULL)
    assert not left_in(saved), "what was half written is left"
    for kept in other.iterdir():
        assert ".saved." in kept.name
    expect_success(run(*training, *again, "--save-params", tmp_path / "params"))
    assert (tmp_path / "params").read_bytes() == expected


@pytest.mark.parametrize("how, option", [
    *(([], option) for option in ("--trace", "--profile", "--metrics-json", "--save-params")),
    (["--spawn"], "--trace"), (["--spawn"], "--profile")])
def test_other_files(linear, linear_data, cluster, tmp_path, how, option):
    """The file that was asked for is named, not the parts of which it is made, and nothing is left."""
    path = tmp_path / "whole" / "file"
    path.parent.mkdir()
    job = cluster.start(linear[3], *how, *linear_data, "--steps", 10**9, "--metrics-every", 1, option, path, cwd=tmp_path)
    while "step 3" not in job.stdout.readline():
        assert job.poll() is None, job.stderr.read()
    # Processes that another one has started write what went wrong into a file too, in memory.
    for pid in children(job.pid) if how else [job.pid]:
        fill_disk(pid, 300 if how else 16)
    job.terminate()
    result = finish(job)
    expect_error((result[0], result[1].split("cs-run: ended by")[0], result[2]), f"{path}: cannot be written", FULL)
    assert not list(path.parent.iterdir())


def test_a_part_and_the_whole_of_a_trace(linear, linear_data, cluster, tmp_path):
    """Neither that of one rank can be written nor what the others have: that is one error."""
    path = tmp_path / "whole" / "trace.json"
    path.parent.mkdir()
    job = cluster.start(linear[3], "--spawn", *linear_data, "--steps", 10**9, "--metrics-every", 1, "--trace", path, cwd=tmp_path)
    while "step 3" not in job.stdout.readline():
        assert job.poll() is None, job.stderr.read()
    for pid in (children(job.pid)[1], job.pid):
        fill_disk(pid, 300)
    job.terminate()
    result = finish(job)
    expect_error((result[0], result[1].split("cs-run: ended by")[0], result[2]), f"{path}: cannot be written", FULL)
    assert not list(path.parent.iterdir())


def compile_with(command, **keywords):
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=TIME_LIMIT, **keywords)


def limited(size):
    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


@SEEDS
def test_tools_keep_the_old_file(tmp_path, seed):
    """Of what cs-opt and cs-translate write, there is the old file or the new one, whole; and no temporary one."""
    draw = random.Random(seed)
    folder, temporary = tmp_path / "out", tmp_path / "tmp"
    folder.mkdir()
    temporary.mkdir()
    scheduled, plan = tmp_path / "scheduled.mlir", tmp_path / "plan"
    lower = [tool("cs-opt"), "--cs-all-reduce-pipeline", EXAMPLES / "digits.mlir", "-o"]
    assert compile_with([*lower, scheduled]).returncode == 0
    translate = [tool("cs-translate"), "--mlir-to-plan", scheduled, "-o"]
    assert compile_with([*translate, plan]).returncode == 0
    problem = [tool("cs-opt"), "--cs-all-reduce-pipeline", EXAMPLES / "digits.mlir", "-o", "/dev/null"]
    report = folder / "report.html"
    for command, output in ((lower, scheduled), (translate, plan), ([*problem, f"--report={report}"], None)):
        file = report if output is None else folder / "file"
        file.write_text("old")
        given = command if output is None else [*command, file]
        whole = output.read_bytes() if output else b""
        size = draw.randrange(1, len(whole) if output else 20000)
        done = compile_with(given, env={**os.environ, "TMPDIR": str(temporary)}, preexec_fn=limited(size))
        # The compiler's own temporary files may be the ones that do not fit.
        assert done.returncode == 1 and done.stderr.count("\n") == 1, done.stderr
        assert FULL in done.stderr and (str(file) in done.stderr or str(temporary) in done.stderr) or (
            "linking fragments failed" in done.stderr), done.stderr
        assert file.read_text() == "old"
        assert os.listdir(folder) == [file.name] and not os.listdir(temporary)
        file.unlink()


def test_no_folder_for_temporary_files(tmp_path):
    plain = [tool("cs-opt"), "--cs-all-reduce-pipeline", EXAMPLES / "linear.mlir", "-o", tmp_path / "scheduled.mlir"]
    assert compile_with(plain).returncode == 0
    done = compile_with([tool("cs-translate"), "--mlir-to-plan", tmp_path / "scheduled.mlir", "-o", tmp_path / "plan"],
                        env={**os.environ, "TMPDIR": str(tmp_path / "nowhere")})
    assert done.returncode == 1 and done.stderr.count("\n") == 1
    assert f"{tmp_path}/nowhere: No such file or directory" in done.stderr
    assert not (tmp_path / "plan").exists()


@pytest.mark.parametrize("how", [[], ["--spawn"]], ids=["threads", "ranks"])
def test_folder_of_traces_removed(linear, linear_data, cluster, tmp_path, how):
    path = tmp_path / "gone" / "trace.json"
    path.parent.mkdir()
    job = cluster.start(linear[3], *how, *linear_data, "--steps", 10**9, "--metrics-every", 1, "--trace", path, cwd=tmp_path)
    while "step 3" not in job.stdout.readline():
        assert job.poll() is None, job.stderr.read()
    shutil.rmtree(path.parent)
    job.terminate()
    result = finish(job)
    expect_error((result[0], result[1].split("cs-run: ended by")[0], result[2]), f"{path}: cannot be written: No such file")
