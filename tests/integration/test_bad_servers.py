# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Jobs with parameter servers that cannot begin, or lose a process: every process
ends with one error that says whose fault it is."""
import os
import pathlib
import signal

import numpy as np
import pytest
from conftest import EXAMPLES, addresses, expect_error, expect_success, finish, run, secret, write_token
from servers import DIGITS_DATA, Authority, Job, compile_servers, digits_plan
from test_lost_peers import children, wait_for

INPUTS = pathlib.Path(__file__).parent / "Inputs"
INIT = ["--init", EXAMPLES / "digits.init.safetensors"]


@pytest.fixture(scope="module")
def plan(folder):
    return digits_plan(folder)


@pytest.fixture(scope="module")
def authorities(tmp_path_factory):
    folder = tmp_path_factory.mktemp("authorities")
    return [Authority(folder / name) for name in ("ours", "theirs")]


def server(plan, index=0, *arguments):
    begins = [] if "--resume" in arguments else INIT
    return run(plan, "--role", "server", "--index", index, "--listen", addresses(1)[0], *begins, *secret(), *arguments)


def test_plan_without_servers(linear, linear_data):
    expect_error(server(linear[2]), "plan has no parameter servers", "--role server")
    expect_error(run(linear[2], "--role", "trainer", "--rank", 0, "--peers", ",".join(addresses(2)), "--servers",
                     addresses(1)[0], *linear_data, *secret()), "plan has no parameter servers", "--servers")


def test_numbers_that_do_not_fit(plan):
    expect_error(server(plan, 2), "--index", "below the number of servers 2", "got: 2")
    trainer = [plan, "--role", "trainer", "--rank", 0, "--peers", ",".join(addresses(2)), *DIGITS_DATA, *secret()]
    expect_error(run(*trainer), "2 parameter servers", "got: 0")
    expect_error(run(*trainer, "--servers", addresses(1)[0]), "2 parameter servers", "got: 1")
    expect_error(run(plan, *DIGITS_DATA, "--spawn", 2), "2 trainers and 2 servers", "4 processes", "got: 2")


@pytest.mark.parametrize("arguments, words", [
    (["--role", "helper"], ["--role", "trainer or server", "helper"]),
    (["--role", "server"], ["--index", "--listen"]),
    (["--role", "trainer"], ["--rank"]),
    (["--role", "server", "--index", "0", "--listen", "127.0.0.1:1", "--steps", "3"], ["--role server"]),
    (["--role", "server", "--index", "0", "--listen", "127.0.0.1:1", "--checkpoint", "x"], ["--checkpoint-every"]),
    (["--rank", "0", "--servers", "127.0.0.1:1", "--resume", "x"], ["--resume", "--resume-job"]),
    (["--spawn", "--resume-job", "x"], ["--resume-job", "--role server"]),
    (["--resume-job", "x"], ["--resume-job", "--role server"]),
    (["--listen", "127.0.0.1:1"], ["--role server"]),
    (["--spawn", "--insecure"], ["--insecure", "--spawn"]),
    (["--role", "server", "--index", "0", "--listen", "127.0.0.1:1"], ["share a secret", "--token-file", "--insecure"]),
    (["--rank", "0", "--servers", "127.0.0.1:1,127.0.0.1:2"], ["share a secret", "--token-file", "--insecure"]),
    (["--rank", "0", "--servers", "127.0.0.1:1,127.0.0.1:2", "--insecure", "--token-file", "x"], ["--insecure"]),
    (["--spawn", "--listen-any"], ["--listen-any", "--tls-ca"]),
    (["--simulate", "--token-file", "x"], ["--token-file", "other processes"]),
    (["--simulate", "--no-shared-memory"], ["--no-shared-memory", "gRPC"]),
    (["--transport", "in-process", "--no-shared-memory"], ["--no-shared-memory", "gRPC"]),
    (["--spawn", "--tls-ca", "x"], ["--tls-cert"]),
])
def test_options_that_do_not_fit(plan, arguments, words):
    result = run(plan, *arguments)
    expect_error(result, *words)
    assert result[2] == 2


def test_token_that_nobody_needs(plan):
    expect_error(run(plan, *DIGITS_DATA, "--token-file", "x"), "--token-file", "other processes")
    expect_error(run(plan, *DIGITS_DATA, "--no-shared-memory"), "--no-shared-memory", "gRPC", "none")


def test_unsafe_address(plan):
    expect_error(run(plan, "--role", "server", "--index", 0, "--listen", "0.0.0.0:9", *INIT, *secret()), "server 0",
                 "without TLS certificates", "0.0.0.0")


def test_missing_files(plan, tmp_path):
    expect_error(server(plan, 1, "--token-file", tmp_path / "nothing"), "server 1", "nothing")
    expect_error(server(plan, 1, "--resume", tmp_path / "nothing"), "nothing: must be a folder")
    expect_error(run(plan, "--role", "server", "--index", 1, "--listen", addresses(1)[0], *INIT, *secret(), "--resume", tmp_path),
                 "--resume and --init exclude each other")
    expect_error(server(plan, 0, "--tls-ca", tmp_path / "a", "--tls-cert", tmp_path / "b", "--tls-key", tmp_path / "c"),
                 "server 0", str(tmp_path))


def test_wrong_token(plan, cluster, tmp_path):
    for name in ("right", "wrong"):
        write_token(tmp_path / name, f"the {name} token of the job")
    job = Job(cluster, plan, security=lambda role, index: [
        "--token-file", tmp_path / ("wrong" if (role, index) == ("trainer", 1) else "right")])
    job.start(of_trainers=DIGITS_DATA, of_servers=INIT, of_all=["--deadline", 5])
    results = job.finish()
    expect_error(results["trainer", 1], "rank 1", "token does not match")
    expect_error(results["trainer", 0])
    for index in range(2):
        expect_error(results["server", index])
    # It gives up when the first of them has refused it.
    assert any("refused a connection of ipv4:127.0.0.1:" in results["server", index][1] for index in range(2))


def test_wrong_certificate(plan, cluster, authorities):
    ours, theirs = authorities
    job = Job(cluster, plan, security=lambda role, index: (
        theirs if (role, index) == ("trainer", 1) else ours).certificate(f"{role}.{index}"))
    job.start(of_trainers=DIGITS_DATA, of_servers=INIT, of_all=["--deadline", 5])
    results = job.finish()
    expect_error(results["trainer", 1], "rank 1", "server ")
    for who in (("trainer", 0), ("server", 0), ("server", 1)):
        expect_error(results[who])


def test_servers_in_another_order(plan, cluster):
    job = Job(cluster, plan)
    for index in range(2):
        job.start_server(index, *INIT, "--deadline", 5)
    job.listen.reverse()
    for rank in range(2):
        job.start_trainer(rank, *DIGITS_DATA, "--deadline", 5)
    results = job.finish()
    for rank in range(2):
        expect_error(results["trainer", rank], f"rank {rank}", "index of the server must match")


def test_server_that_never_comes(plan, cluster):
    job = Job(cluster, plan)
    job.start_server(0, *INIT, "--deadline", 3)
    for rank in range(2):
        job.start_trainer(rank, *DIGITS_DATA, "--deadline", 3)
    results = job.finish()
    for rank in range(2):
        expect_error(results["trainer", rank], f"rank {rank}", f"server 1 ({job.listen[1]})")
    expect_error(results["server", 0], "server 0")


def running(cluster, plan, tmp_path, deadline):
    """A job without end, after some steps."""
    job = Job(cluster, plan).start(
        of_all=["--deadline", deadline], of_trainers=[*DIGITS_DATA, "--steps", 10**9],
        of_servers=[*INIT, "--checkpoint", tmp_path / "saved", "--checkpoint-every", 5])
    wait_for(lambda: all((tmp_path / "saved" / f"server.{index}.checkpoint").exists() for index in range(2)),
             job.trainers.values())
    return job


def test_server_killed_for_good(plan, cluster, tmp_path):
    job = running(cluster, plan, tmp_path, 3)
    job.servers.pop(1).kill()
    results = job.finish()
    for rank in range(2):
        expect_error(results["trainer", rank], f"rank {rank}", "server 1")
    expect_error(results["server", 0], "server 0")


def test_server_that_stops(plan, cluster, tmp_path):
    job = running(cluster, plan, tmp_path, 3)
    job.servers.pop(1).send_signal(signal.SIGSTOP)
    results = job.finish()
    # The other server, too: it must not blame trainers, which only wait.
    for role, index in (("trainer", 0), ("trainer", 1), ("server", 0)):
        expect_error(results[role, index], f"server 1 ({job.listen[1]}): is lost")


def test_trainer_killed(plan, cluster, tmp_path):
    job = running(cluster, plan, tmp_path, 5)
    job.trainers.pop(1).kill()
    results = job.finish()
    expect_error(results["trainer", 0], "rank 0", " 1")
    for index in range(2):
        expect_error(results["server", index], f"server {index}: trainer ")


@pytest.mark.parametrize("bad", range(2))
def test_trainer_that_cannot_go_on_tells_why(folder, linear_data, cluster, tmp_path, bad):
    """All have joined, as each step needs them, and then its file cannot be written."""
    np.savez(tmp_path / "initial.npz", w=np.zeros(8, np.float32), seen=np.full(8, 2, np.float32))
    own = compile_servers((INPUTS / "linear-statistics.mlir").read_text(), folder / "own-statistics.plan", 2, 2, "min-block-elements=2")
    blocked = tmp_path / "saved" / f"rank.{bad}.step3.checkpoint"
    (blocked / "full").mkdir(parents=True)
    saving = ["--checkpoint", tmp_path / "saved", "--checkpoint-every", 3]
    job = Job(cluster, own).start(of_all=["--init", tmp_path / "initial.npz", *saving], of_trainers=[*linear_data[2:], "--steps", 10**9])
    for (role, index), result in job.finish().items():
        expect_error(result, f"server {index}" if role == "server" else f"rank {index}" if index != bad else "", str(blocked))


def test_spawned_checkpoints_that_make_no_sense(plan, folder, tmp_path):
    """Said at once, by no other process than this."""
    job = ["--spawn", plan, *DIGITS_DATA]
    expect_error(run(*job, "--checkpoint", tmp_path / "k"), "--checkpoint", "--checkpoint-every")
    every = ["--checkpoint-every", 3]
    expect_error(run(*job, "--checkpoint", "/nonexistent/k", *every), "--checkpoint /nonexistent/k", "folder")
    (tmp_path / "file").write_text("")
    expect_error(run(*job, "--checkpoint", tmp_path / "file", *every), "folder")
    expect_error(run(*job, "--resume", tmp_path / "file"), "must be a folder")
    expect_error(run("--spawn", plan, *DIGITS_DATA[2:], "--resume", tmp_path / "none"), "none: must be a folder")
    (tmp_path / "empty").mkdir()
    expect_error(run("--spawn", plan, *DIGITS_DATA[2:], "--resume", tmp_path / "empty"), "empty: has no checkpoint", "--init")
    expect_error(run(*job, "--congestion-control", "cubic"), "--congestion-control", "none")
    merged = digits_plan(folder, options="sync-mode=half-async merge=2")
    expect_error(run("--spawn", merged, *DIGITS_DATA, "--checkpoint", tmp_path / "k", *every), "multiple", "merge 2", "got: 3")
    expect_success(run(*job, "--steps", 3, "--checkpoint", tmp_path / "k", *every))
    expect_error(run(*job, "--steps", 3, "--checkpoint", tmp_path / "k", *every), "has checkpoints of a job already", "--resume")


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_checkpoints_of_another_plan_stay(plan, folder, tmp_path):
    """Of more servers, of which some have none: they are not what was half finished. Nor are those of a job that cannot begin removed."""
    saved, saving = tmp_path / "saved", ["--checkpoint", tmp_path / "saved", "--checkpoint-every", 3]
    expect_success(run("--spawn", plan, *DIGITS_DATA, "--steps", 3, *saving))
    before = contents(saved)
    for other in (digits_plan(folder, servers=3), digits_plan(folder, trainers=3), digits_plan(folder, options="")):
        again = run("--spawn", other, *DIGITS_DATA, "--steps", 3, *saving, "--resume", saved)
        expect_error(again, str(saved), "is of another plan: digest must match")
        expect_error(server(other, 1, *saving, "--resume-job", saved), "server 1", str(saved), "is of another plan: digest must match")
        assert contents(saved) == before
    part = saved / "server.1.step3.checkpoint"
    part.rename(tmp_path / part.name)
    before.pop(part.name)
    expect_error(run("--spawn", plan, *DIGITS_DATA[2:], *saving, "--resume", saved), "saved: has no whole checkpoint of a job: give --init to begin")
    nothing = run(plan, "--role", "server", "--index", 0, "--listen", addresses(1)[0], *saving, "--resume-job", saved, *secret())
    expect_error(nothing, "server 0", "has no initial value")
    assert contents(saved) == before
    (tmp_path / part.name).rename(part)
    assert "resumes after step 3" in expect_success(run("--spawn", plan, *DIGITS_DATA[2:], "--steps", 3, *saving, "--resume", saved))


def test_checkpoints_of_others(plan, folder, cluster, tmp_path):
    job = running(cluster, plan, tmp_path, 3)
    for process in (*job.servers.values(), *job.trainers.values()):
        process.kill()
        process.wait()
    saved = tmp_path / "saved"
    first, second = (saved / f"server.{index}.checkpoint" for index in range(2))
    expect_error(server(digits_plan(folder, options=""), 0, "--resume", saved), "server 0", str(first),
                 "plan")
    data = first.read_bytes()
    first.write_bytes(second.read_bytes())
    expect_error(server(plan, 0, "--resume", saved), "server 0", str(first), "server 1")
    first.write_bytes(data[:-100])
    expect_error(server(plan, 0, "--resume", saved), "server 0", str(first))


def test_spawned_server_killed(plan, cluster, tmp_path):
    parent = cluster.start(plan, "--spawn", *DIGITS_DATA, "--steps", 10**9, "--deadline", 3, "--checkpoint",
                           tmp_path / "saved", "--checkpoint-every", 5)
    wait_for(lambda: (tmp_path / "saved" / "server.0.checkpoint").exists(), [parent])
    processes = children(parent.pid)
    assert len(processes) == 4
    os.kill(processes[0], signal.SIGKILL)  # servers begin first
    expect_error(finish(parent), "server 0 was killed by signal 9")
    for pid in processes:
        assert not pathlib.Path(f"/proc/{pid}").exists(), "a process is left"
