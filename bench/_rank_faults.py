# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What becomes of an all-reduce over TLS when something goes wrong.

Two ranks, each a process, with certificates and a job token. A rank is not
replaced: if one is lost, the other ends with an error that names it. A job that
survives must leave both with the same parameters, in which every update is once."""
import re
import signal
import threading
import time

import _counting
import numpy as np
from _processes import Processes, Proxy, free_addresses
from safetensors.numpy import load_file

STEPS = 400  # of a job that survives; takes some seconds
LONG = 10**6  # of one that must not end before it fails
TIME_LIMIT = 90  # seconds; a process that runs longer hangs


class RankJob(Processes):
    """`proxied`: rank 1 reaches rank 0 through a proxy."""

    def __init__(self, tool, plan, folder, case, secure, network):
        super().__init__(tool, plan, 30 if case.survives else 8, network)
        self.folder, self.case, self.secure = folder, case, secure
        count = _counting.TRAINERS
        self.listen = [f"{a}:7000" for a in network.addresses[:count]] if network else free_addresses(count)
        self.proxies = [Proxy(self.listen[0])] if case.proxied else []

    def start_rank(self, rank, steps, name=None, security=None):
        """`name` and `security`: of one that is not the job's own."""
        peers = [self.proxies[0].address, *self.listen[1:]] if self.proxies and rank == 1 else self.listen
        if name is not None:
            peers = [*peers[:rank], *free_addresses(1), *peers[rank + 1:]]  # it cannot listen there too
        saving = [] if name is not None else ["--save-params", self.folder / f"rank {rank}.safetensors", "--checkpoint",
                                              self.folder / f"saved {rank}", "--checkpoint-every", 20]
        self._start(name or f"rank {rank}", [
            "--rank", rank, "--peers", ",".join(peers), "--batch", self.folder / "batch.npz", "--steps", steps, *saving,
            *(self.secure(rank) if security is None else security)], host=rank)

    def wait_for_steps(self, limit=60):
        end = time.monotonic() + limit
        while not (self.folder / "saved 0").exists():
            if time.monotonic() > end or self.ended:
                return False
            time.sleep(0.02)
        return True


class Case:
    """As in faults.py."""

    def __init__(self, name, survives, inject=None, says=None, security=None, others=(), proxied=False, cut=False,
                 quick=True):
        self.name, self.survives, self.inject, self.says = name, survives, inject, says
        self.security, self.others, self.proxied, self.cut = security, others, proxied, cut
        self.quick = quick


def kill(job):
    job.kill("rank 1")
    return "rank 1 killed"


def stop(seconds):
    def inject(job):
        job.processes["rank 1"].send_signal(signal.SIGSTOP)
        threading.Timer(seconds, job.processes["rank 1"].send_signal, [signal.SIGCONT]).start()
        return f"rank 1 stopped for {seconds} s"
    return inject


def cut(seconds):
    def inject(job):
        job.network.cut(1)
        if seconds:
            time.sleep(seconds)
            if job.ended:
                return None
            job.network.mend(1)
        return "link of rank 1 down" + (f" for {seconds} s" if seconds else "")
    return inject


def spoil(kind):
    return lambda job: "a message to rank 0" if job.proxies[0].spoil(kind, True) else None


def intrude(security):
    """Another process says that it is rank 1, before and after it is there."""
    def inject(job):
        job.start_rank(1, LONG, name="other", security=security)
        return "a second process as rank 1"
    return inject


def make_cases(ours, theirs, token, wrong, garbage, tls):
    """The authorities' and tokens' options; garbage(wrap)(job) sends it to job.listen."""
    elsewhere = ours.certificate("rank-elsewhere", hosts="DNS:elsewhere.example")
    expired = ours.certificate("rank-expired", days=-1)

    def only(which, options):
        return lambda rank: options if rank == which else [*ours.options, *token]

    lost = "peer 1.*(connection lost|no progress)|peer 0.*lost"
    strangers = [
        Case("stranger with another token", True, intrude([*ours.options, *wrong]), "refus|token", others=("other",)),
        Case("stranger without a certificate", True, intrude(token), "peer 0", others=("other",)),
        Case("stranger with another job's certificate", True, intrude([*theirs.options, *token]), "peer 0",
             others=("other",)),
        Case("stranger with all that the job has", True, intrude([*ours.options, *token]), "expects nobody any more", others=("other",)),
        Case("strangers speak garbage", True, garbage(lambda s: s)),
        Case("strangers speak garbage inside TLS", True, garbage(tls), quick=False),
    ]
    return [
        Case("rank killed", False, kill, "peer 1"),
        Case("rank stopped for 3 s", True, stop(3)),
        Case("rank stopped for 40 s", False, stop(40), "peer 1", quick=False),
        Case("network of a rank cut for 3 s", True, cut(3), cut=True),
        Case("network of a rank cut for good", False, cut(0), lost, cut=True),
        Case("message truncated", False, spoil("cut"), "peer 1", proxied=True),
        Case("100 bytes of a message lost", False, spoil("loss"), "peer 1", proxied=True, quick=False),
        Case("wrong token", False, says="token|peer", security=only(1, [*ours.options, *wrong])),
        Case("certificate of another authority", False, says="peer 0.*certificate verify failed", security=only(1, [*theirs.options, *token])),
        Case("no certificate", False, says="peer 0.*did not join.*last error", security=only(1, token)),
        Case("certificate expired", False, says="peer 1.*did not join", security=only(1, [*expired, *token]), quick=False),
        Case("certificate for another host", False, says="peer 0.*did not join.*last error", security=only(0, [*elsewhere, *token]), quick=False),
        *strangers,
    ]


def account(job):
    """(lost, doubled) updates of a job that ended well: of each rank's parameters."""
    lost = doubled = 0
    for rank in range(_counting.TRAINERS):
        values = load_file(job.folder / f"rank {rank}.safetensors")["w"]
        updates = -values / (sum(_counting.PUSHED) / _counting.TRAINERS)
        lost += int(np.ceil(max(0, STEPS - updates.min())))
        doubled += int(np.ceil(max(0, updates.max() - STEPS)))
    return lost, doubled


def run(tool, case, plan, folder, secure, network):
    """(hangs, lost, doubled, whether everything is as it must be)."""
    folder.mkdir()
    _counting.save_batches(folder / "batch.npz")
    job = RankJob(tool, plan, folder, case, case.security or secure, network)
    began, seen, wrong = time.monotonic(), None, []
    try:
        for rank in range(_counting.TRAINERS):
            job.start_rank(rank, STEPS if case.survives else LONG)
        if case.inject:
            if job.wait_for_steps():
                began = time.monotonic()
                seen = case.inject(job)
            if not seen:
                wrong.append("the fault could not be made")
        hanging = job.finish(TIME_LIMIT)
    finally:
        job.finish(0)
    own = {name: result for name, result in job.results.items() if name not in case.others}
    killed = {name for name, result in own.items() if result[2] < 0 and name not in hanging}
    well = all(result[2] == 0 for result in own.values())
    if well != case.survives:
        wrong.append(f"must {'survive' if case.survives else 'fail'}")
    for name, (_, errors, status) in job.results.items():
        # The job says in a line more whom it has refused.
        lines = [line for line in errors.splitlines() if "refused a connection" not in line]
        if (name in case.others or not case.survives) and name not in killed and (
                status != 1 or len(lines) != 1 or not lines[0].startswith("cs-run: ")):
            wrong.append(f"{name} must say what is wrong, in one line, and end with status 1")
    if case.says and not any(re.search(case.says, result[1]) for result in job.results.values()):
        wrong.append(f"nobody says '{case.says}'")
    lost, doubled = account(job) if well and case.survives else (0, 0)
    print(f"all-reduce: {case.name}: {'goes on' if well else 'fails'}; {lost} updates lost, {doubled} doubled"
          + "".join(f"; WRONG: {what}" for what in wrong) + (f"; HANGING: {', '.join(hanging)}" if hanging else "")
          + (f"\n  fault: {seen}" if seen else ""))
    for name, (out, errors, status) in sorted(job.results.items()):
        lines = errors.strip() or (out.strip().splitlines() or ["nothing"])[-1]
        print(f"  {name:10} status {status:2}, after {job.ended[name] - began:5.1f} s: " + lines.replace("\n", "\n      "),
              flush=True)
    return len(hanging), lost, doubled, not wrong
