# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How jobs begin and end: what happens before the first step or behind the last one, on one process, is heard of by the others at once,
and nothing that can still be written is lost."""
import errno
import os
import pathlib
import random
import shutil
import signal
import subprocess
import threading
import time

import pytest
from cases import cases
from conftest import CLUSTER, EXAMPLES, addresses, compile_plan, expect_error, expect_success, finish, run, secret, tool
from servers import DIGITS_DATA, Job, connections, digits_plan
from storage import Storage, _group
from test_lost_peers import children, wait_for
from test_signals import expect_stopped

SEEDS = pytest.mark.parametrize("seed", cases(3))
LATE = ["--deadline", 600]  # longer than a test may take: who waits for that is not told


class Holding:
    """Stops the process that is the first to make a call which `at` is true of. Other calls fail with what fails(call) gives."""

    def __init__(self, folder, at, fails=lambda call: None):
        self.process, self._at, self._fails = None, at, fails
        self.storage = Storage([folder], self)

    def __call__(self, call):
        if self.process is None and self._at(call):
            self.process = _group(call.process)
            os.kill(self.process, signal.SIGSTOP)
        return self._fails(call)

    def start(self, cluster, *arguments):
        process = self.storage.start([tool("cs-run"), *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        cluster.processes.append(process)
        return process

    def go_on(self):
        os.kill(self.process, signal.SIGCONT)


@pytest.mark.parametrize("how", ["--spawn", "by hand"])
def test_a_signal_while_some_evaluate(digits, folder, cluster, tmp_path, how):
    """Rank 1 still writes what is its own of the last checkpoint: rank 0 is not left alone with the evaluation that it has begun."""
    saved = tmp_path / "saved" / "checkpoint"
    saved.parent.mkdir()
    plan = compile_plan((EXAMPLES / "digits.mlir").read_text(), folder / "sparse-digits.plan", "--cs-all-reduce-pipeline=density=0.25 min-elements=1")
    training = [plan, *digits[1:], "--steps", 5, "--checkpoint", saved, "--checkpoint-every", 5, "--eval", "eval"]
    holding = Holding(saved.parent, lambda call: call.does == "rename" and "rank1" in call.path)
    if how == "--spawn":
        told = parent = holding.start(cluster, *training, "--spawn")
        ranks = {0: parent}
    else:
        peers = addresses(4)
        second = holding.start(cluster, *training, "--rank", 1, "--peers", ",".join(peers), *secret())
        ranks = {**cluster.join(plan, (0, 2, 3), peers, *training[1:]), 1: second}
        told = ranks[0]
    wait_for(lambda: holding.process, ranks.values())
    time.sleep(1)  # by then rank 0 evaluates; where it does not yet, it does not begin
    told.send_signal(signal.SIGTERM)
    time.sleep(0.3)
    holding.go_on()
    results = {rank: finish(process) for rank, process in ranks.items()}
    for rank, result in results.items():
        if rank == 0 or result[2] != 0:  # ranks 2 and 3, which wait for nobody, may have gone
            expect_stopped(result, signal.SIGTERM, of_all=rank == 0)
    assert "stopped after step 5" in results[0][0]


def test_who_still_writes_is_not_ended_with_one_that_failed(digits, cluster, tmp_path):
    """Not before it has written, however long that takes, what it needs no other rank for."""
    whole, folder = tmp_path / "whole", tmp_path / "out"
    folder.mkdir()
    expect_success(run("--spawn", *digits, "--steps", 5, "--save-params", whole))
    params, trace = folder / "params", folder / "trace.json"

    def fails(call):
        name = pathlib.Path(call.path).name
        return errno.ENOSPC if call.does == "create" and call.path.startswith(f"{folder}/") and name.split(".")[0] == "1" else None
    holding = Holding(folder, lambda call: call.does == "rename" and "params" in call.path, fails)
    parent = holding.start(cluster, *digits, "--spawn", "--steps", 5, "--save-params", params, "--trace", trace)
    wait_for(lambda: holding.process, [parent])
    wait_for(lambda: len(children(parent.pid)) == 1, [parent])
    time.sleep(6)  # longer than the others are given
    holding.go_on()
    expect_error(finish(parent), str(trace), os.strerror(errno.ENOSPC))
    assert params.read_bytes() == whole.read_bytes()


@pytest.mark.parametrize("way", ["--init", "--resume"])
def test_a_server_that_cannot_begin(folder, cluster, tmp_path, way):
    """Trainers that look for it hear why it does not come."""
    job = Job(cluster, digits_plan(folder))
    for rank in range(2):
        job.start_trainer(rank, *DIGITS_DATA, "--steps", 3, *LATE)
    job.start_server(0, *DIGITS_DATA[:2], *LATE)
    wait_for(lambda: connections(job.listen[0]) >= 2, job.trainers.values())
    (tmp_path / "damaged").mkdir()
    (tmp_path / "damaged" / "server.1.checkpoint").write_bytes(b"nothing")
    bad = tmp_path / "none.npz" if way == "--init" else tmp_path / "damaged"
    job.start_server(1, way, bad, *LATE)
    for (role, index), result in job.finish().items():
        expect_error(result, str(bad), "server 1" if (role, index) != ("server", 0) else "server 0")


def test_servers_end_when_trainers_need_them_no_more(folder, cluster, tmp_path):
    """Not when these have written: what they still do does not fail with a server."""
    plan, params = digits_plan(folder), tmp_path / "params"
    job = Job(cluster, plan)
    for index in range(2):
        job.start_server(index, *DIGITS_DATA[:2], *LATE)
    job.start_trainer(1, *DIGITS_DATA, "--steps", 3, *LATE)
    holding = Holding(tmp_path, lambda call: call.does == "rename")
    job.trainers[0] = holding.start(cluster, plan, "--role", "trainer", "--rank", 0, "--servers", ",".join(job.listen), *secret(), *DIGITS_DATA,
                                    "--steps", 3, "--save-params", params, *LATE)
    wait_for(lambda: holding.process, [job.trainers[0]])
    for index in range(2):
        expect_success(finish(job.servers[index]))
    holding.go_on()
    for rank in range(2):
        expect_success(finish(job.trainers[rank]))
    assert params.exists()


def test_the_checkpoint_before_by_its_name(folder, linear_data, tmp_path):
    """A job goes on from it to the bits that it had, in the place of the one behind it, and the other way round."""
    plan = compile_plan(CLUSTER.format(nodes=3) + (EXAMPLES / "linear.mlir").read_text(), folder / "before.plan",
                        "--cs-all-reduce-pipeline=density=0.25 sparse-method=allgather min-elements=1")
    saved = tmp_path / "saved"
    job = [plan, *linear_data[2:], "--checkpoint", saved, "--checkpoint-every", 5, "--spawn"]
    expect_success(run(*job, *linear_data[:2], "--steps", 10))
    before = tmp_path / "saved.step5"
    assert before.exists(), list(tmp_path.iterdir())
    expect_success(run(*job, "--resume", before, "--steps", 10, "--save-params", tmp_path / "again"))
    expect_success(run(plan, *linear_data, "--steps", 15, "--save-params", tmp_path / "whole"))
    assert (tmp_path / "again").read_bytes() == (tmp_path / "whole").read_bytes()
    # What is saved behind it is of the same job: it goes on from there as well.
    expect_success(run(*job, "--resume", saved, "--steps", 5))
    out = run(*job, "--resume", tmp_path / "saved.step15", "--steps", 0)
    expect_success(out)
    for path in tmp_path.glob("saved.step15.rank1"):
        path.unlink()
    expect_error(run(*job, "--resume", tmp_path / "saved.step15", "--steps", 0), "saved.step15: not all ranks have written what belongs to it")


FAULTS = {  # of one rank: its options, and what all say
    "other data": (["--seed", 7, "--shuffle"], "plan digest must match"), "no data": (["--batch", "none.npz"], "none.npz: cannot be opened"),
    "no place": (["--trace", "/nonexistent/trace.json"], "cannot be written"), "no plan": (["--steps", 6], "plan digest must match")}


@SEEDS
@pytest.mark.parametrize("fault", FAULTS)
def test_who_comes_later(linear, linear_data, cluster, fault, seed):
    """To a job that cannot begin: it hears why, from whichever of the others it has a connection with. A drawn rank is at fault, in a drawn order."""
    draw = random.Random(f"{fault} {seed}")
    count = draw.randrange(3, 5)
    bad, order, peers, (options, said) = draw.randrange(count), list(range(count)), addresses(count), FAULTS[fault]
    draw.shuffle(order)
    ranks = {}
    for rank in order:
        ranks |= cluster.join(linear[count], [rank], peers, *linear_data, "--steps", 5, *LATE, *(options if rank == bad else []))
        time.sleep(draw.choice((0, 0, 0.3, 0.6)))
    for rank, process in ranks.items():
        expect_error(finish(process), said)


@pytest.mark.parametrize("who", ["server", "trainer"])
def test_a_folder_that_cannot_be_used(folder, cluster, tmp_path, who):
    """One process cannot write its checkpoints, or would write over those of another job: it comes to say so."""
    job, saved = Job(cluster, digits_plan(folder)), tmp_path / "saved"
    saved.mkdir()
    (saved / "server.1.step3.checkpoint").write_bytes(b"of another job")
    every = ["--checkpoint-every", 3, "--checkpoint"]
    bad = saved if who == "server" else tmp_path / "none" / "none"
    for index in range(2):
        job.start_server(index, *DIGITS_DATA[:2], *LATE, *every, saved if (who, index) == ("server", 1) else tmp_path / "good")
    for rank in range(2):
        job.start_trainer(rank, *DIGITS_DATA, "--steps", 10**9, *LATE, *every, bad if (who, rank) == ("trainer", 1) else tmp_path / "good")
    for (role, index), result in job.finish().items():
        expect_error(result, str(bad), *([] if (role, index) == (who, 1) else [f"{who} 1"] if who == "server" or role == "server" else []))


class Silent(Storage):
    """A disk that does not answer a call that `at` is true of, before `until`."""

    def __init__(self, folder, at):
        self.until, self.asked = threading.Event(), threading.Event()

        def decide(call):
            if self.asked.is_set() or not at(call):
                return None
            self.asked.set()
            return self.until
        super().__init__([folder], decide)


def test_a_disk_that_does_not_answer(folder, cluster, tmp_path):
    """With the last checkpoint of a server, which the others wait for: not for ever."""
    job, saved = Job(cluster, digits_plan(folder)), tmp_path / "saved"
    saved.mkdir()
    disk = Silent(saved, lambda call: call.does == "keep" and "server.1." in call.path)
    options = [*DIGITS_DATA[:2], "--deadline", 3, "--checkpoint", saved, "--checkpoint-every", 1000]
    job.start_server(0, *options)
    server = disk.start([tool("cs-run"), job.plan, "--role", "server", "--index", 1, "--listen", job.listen[1], *secret(), *options],
                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    cluster.processes.append(server)
    for process in (job.servers[0], server):
        assert "listens on" in process.stdout.readline()
    for rank in range(2):
        job.start_trainer(rank, *DIGITS_DATA, "--steps", 3, "--deadline", 3)
    try:
        for rank in range(2):
            expect_error(finish(job.trainers[rank]), "server 1 cannot save its state: ", "server.1.checkpoint: the disk has not answered within 15s")
        expect_error(finish(server), "server 1 cannot save its state: ")
    finally:
        disk.until.set()


@pytest.mark.skipif(shutil.which("mpirun") is None, reason="needs Open MPI")
def test_a_slow_disk_of_one_rank_of_mpi(linear, linear_data, cluster, tmp_path):
    """Its last checkpoint takes longer than the others wait for one that says nothing."""
    saved = tmp_path / "saved" / "checkpoint"
    saved.parent.mkdir()
    disk = Silent(saved.parent, lambda call: call.does == "rename")
    job = disk.start(["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", 2, tool("cs-run"), linear[2], *linear_data, "--steps", 5,
                      "--checkpoint", saved, "--deadline", 2], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    cluster.processes.append(job)
    wait_for(disk.asked.is_set, [job])
    time.sleep(6)
    disk.until.set()
    expect_success(finish(job))
    assert saved.exists()


def test_one_full_disk_of_all_servers(folder, tmp_path):
    """Is one error, which names one of the files."""
    saved = tmp_path / "saved"
    saved.mkdir()
    disk = Storage([saved], lambda call: errno.ENOSPC if call.does == "write" else None)
    job = disk.start([tool("cs-run"), "--spawn", digits_plan(folder), *DIGITS_DATA, "--steps", 3, "--checkpoint", saved, "--checkpoint-every", 3],
                     stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    expect_error(finish(job), "cannot save its state: ", os.strerror(errno.ENOSPC))


def test_other_data_of_a_job_without_a_token(folder, cluster):
    """Who is refused says it to the other servers, although it does not hear why."""
    job = Job(cluster, digits_plan(folder))
    job.security = lambda role, index: ["--insecure"]
    for index in range(2):
        job.start_server(index, *DIGITS_DATA[:2], *LATE)
    for rank in range(2):
        job.start_trainer(rank, *DIGITS_DATA, "--seed", rank, "--steps", 10**9, *LATE)
    for result in job.finish().values():
        expect_error(result)
