# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Processes that may have little memory, or few threads: a job runs as without the limit, or every process ends by itself, with one line that
says what is missing; never by a signal, never later than the deadline, and no part of a file is left."""
import functools
import os
import pathlib
import random
import resource
import subprocess

import pytest
from cases import cases
from conftest import EXAMPLES, TIME_LIMIT, addresses, expect_success, finish, run, secret
from servers import DIGITS_DATA, Job, digits_plan
from built import tool

SEEDS = pytest.mark.parametrize("seed", cases(3))
DEADLINE = ["--deadline", 5]
MEMORY = "out of memory"
MISSING = (MEMORY, "bytes of memory", "cannot start a thread", "cannot start rank", "cannot start server", "within 5s", "gRPC has failed")


def limited(size):
    return lambda: resource.setrlimit(resource.RLIMIT_AS, (size, size))


@functools.cache
def least(name):
    """Bytes with which a tool can be loaded, to one MiB."""
    low, high = 0, 1 << 34
    while high - low > 1 << 20:
        middle = (low + high) // 2
        process = subprocess.run([tool(name), "--version"], preexec_fn=limited(middle), capture_output=True)
        low, high = (low, middle) if process.returncode == 0 else (middle, high)
    return high


def drawn(draw, name, times):
    """Of so many times what it takes at least; more often few."""
    return int(least(name) * times ** draw.random())


def expect_ended(results, limited_one):
    """All have succeeded, or all have failed, with one line each; that of the limited process has the cause, or that its gRPC did nothing until the
    deadline. It alone may fail when the others have ended."""
    states = {status for _, _, status in results.values()}
    errors = {who: err for who, (_, err, _) in results.items()}
    if {who for who, (_, _, status) in results.items() if status} == {limited_one}:
        results, errors, states = {limited_one: results[limited_one]}, {limited_one: errors[limited_one]}, {1}
    assert states in ({0}, {1}), (states, errors)
    if states == {1}:
        for who, err in errors.items():
            lines = [line for line in err.splitlines() if not line.startswith("cs-run: warning: ")]
            assert lines and all(line.startswith("cs-run: ") for line in lines), (who, err)
            if who == limited_one:
                assert all(any(what in line for what in MISSING) for line in lines), errors
            else:
                assert len(lines) == 1, (who, err)
    return states == {0}


@pytest.fixture(params=["threads", "ranks", "servers"])
def training(request, linear, linear_data, folder, tmp_path):
    plan, data = (digits_plan(folder), DIGITS_DATA) if request.param == "servers" else (linear[3], linear_data)
    arguments = [plan, *data, "--steps", 7, "--save-params"]
    expect_success(run(*arguments, tmp_path / "expected"))
    return request.param, [*arguments, tmp_path / "params", *([] if request.param == "threads" else ["--spawn", *DEADLINE])]


def expect_job(job, tmp_path):
    if expect_ended({"job": finish(job)}, "job"):
        assert (tmp_path / "params").read_bytes() == (tmp_path / "expected").read_bytes()
    assert not list(pathlib.Path(tmp_path).glob("cs-run.job-*"))


@SEEDS
def test_whole_job(training, cluster, tmp_path, seed):
    kind, arguments = training
    size = drawn(random.Random(f"{kind} {seed}"), "cs-run", 16)
    expect_job(cluster.start(*arguments, preexec_fn=limited(size), env={**os.environ, "TMPDIR": str(tmp_path)}), tmp_path)


@SEEDS
def test_one_rank(linear, linear_data, cluster, seed):
    draw = random.Random(seed)
    size, few, peers = drawn(draw, "cs-run", 16), draw.randrange(3), ",".join(addresses(3))
    ranks = {rank: cluster.start(linear[3], "--rank", rank, "--peers", peers, *secret(), *linear_data, "--steps", 7, *DEADLINE,
                                 preexec_fn=limited(size) if rank == few else None) for rank in range(3)}
    expect_ended({rank: finish(process) for rank, process in ranks.items()}, few)


@SEEDS
def test_one_of_a_job_with_servers(folder, cluster, seed):
    draw = random.Random(seed)
    size, few = drawn(draw, "cs-run", 16), draw.choice([("server", 0), ("server", 1), ("trainer", 0), ("trainer", 1)])
    job, start = Job(cluster, digits_plan(folder)), cluster.start
    for role, index in (("server", 0), ("server", 1), ("trainer", 0), ("trainer", 1)):
        cluster.start = functools.partial(start, preexec_fn=limited(size)) if (role, index) == few else start
        if role == "server":
            job.start_server(index, *DIGITS_DATA[:2], *DEADLINE)
        else:
            job.start_trainer(index, *DIGITS_DATA, "--steps", 7, *DEADLINE)
    cluster.start = start
    expect_ended(job.finish(), few)


@SEEDS
@pytest.mark.parametrize("name", ["cs-opt", "cs-translate"])
def test_tools(name, tmp_path, seed):
    lowered, out = tmp_path / "lowered.mlir", tmp_path / "out"
    pipeline = [tool("cs-opt"), "--cs-all-reduce-pipeline", EXAMPLES / "transformer.mlir", "-o", lowered]
    subprocess.run(pipeline, check=True, timeout=TIME_LIMIT)
    command = [*pipeline[:-1], out] if name == "cs-opt" else [tool(name), "--mlir-to-plan", lowered, "-o", out]
    subprocess.run(command, check=True, timeout=TIME_LIMIT)
    whole = out.read_bytes()
    out.unlink()
    # Few of the limits are between what loads it and what is enough.
    size = drawn(random.Random(f"{name} {seed}"), name, 1.2)
    process = subprocess.run(command, preexec_fn=limited(size), capture_output=True, text=True, timeout=TIME_LIMIT)
    if process.returncode == 0:
        assert out.read_bytes() == whole
        return
    assert process.returncode == 1 and not out.exists(), (size, process)
    (line,) = process.stderr.splitlines()
    assert line.startswith(f"error: {MEMORY}"), (size, process.stderr)


@pytest.fixture
def few_threads():
    """(threads) -> what a process calls to be limited, with all that it starts."""
    group = next((folder for folder in (pathlib.Path("/sys/fs/cgroup/pids"), pathlib.Path("/sys/fs/cgroup")) if (folder / "cgroup.procs").exists()), None)
    own = None if group is None else group / f"commsched-test-{os.getpid()}"
    try:
        own.mkdir()
        (own / "pids.max").write_text("max")
    except (AttributeError, OSError) as error:
        if own is not None and own.exists():
            own.rmdir()
        pytest.skip(f"needs a group of processes with a limit: {error}")

    def limit(threads):
        (own / "pids.max").write_text(str(threads))
        return lambda: (own / "cgroup.procs").write_text(str(os.getpid()))
    try:
        yield limit
    finally:
        own.rmdir()


@SEEDS
def test_few_threads(training, cluster, tmp_path, few_threads, seed):
    kind, arguments = training
    threads = int(2 * 60 ** random.Random(f"{kind} {seed}").random())
    job = cluster.start(*arguments, preexec_fn=few_threads(threads), env={**os.environ, "TMPDIR": str(tmp_path)})
    expect_job(job, tmp_path)
