# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How jobs begin and end: what happens before the first step or behind the last one, on one process, is heard of by the others at once,
and nothing that can still be written is lost."""
import errno
import os
import pathlib
import signal
import subprocess
import time

import pytest
from conftest import CLUSTER, EXAMPLES, addresses, compile_plan, expect_error, expect_success, finish, run, secret, tool
from servers import DIGITS_DATA, Job, connections, digits_plan
from storage import Storage, _group
from test_lost_peers import children, wait_for
from test_signals import expect_stopped

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
