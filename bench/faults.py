# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What becomes of a job when something goes wrong: with parameter servers, and (_rank_faults.py)
with an all-reduce over TLS.

2 trainers and 2 servers, four processes over TLS with a job token, in sync and
in async mode (--quick: the cases that take little time, in sync mode). The
parameter counts its updates, and tells whose they are (_counting.py). What is
cut is the link of a host (net/hosts.py); messages are spoilt by a proxy between
trainer 1 and the servers.

For each case and process: the exit status, the time from the fault to its end,
and what it printed. Whether an update was lost or applied twice: from every
server's checkpoint, in jobs that end badly too (its value must have the updates
that it says it has, and what it has taken must be in it); after jobs that end
well, all updates must be there, and in the trainer's parameters. A process that
has to be ended counts as a hang. Status 1 if anything is lost, doubled or
hangs, or if a job that must survive its fault does not, or the other way round,
or an error does not say what it must.
"""
import argparse
import json
import pathlib
import re
import signal
import socket
import ssl
import sys
import tempfile
import time

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import _counting  # noqa: E402
import _rank_faults  # noqa: E402
from _processes import Authority, Job, new_token  # noqa: E402
from _tools import tool  # noqa: E402
from net import hosts  # noqa: E402

STEPS = 120  # of a job that survives; takes some seconds
MORE_STEPS = 240  # of one with faults one after the other
LONG = 10**6  # of one that must not end before it fails
SLOW_STEPS, SLOW = 9, 8192  # with a backward pass or update of so many additions
TIME_LIMIT = 90  # seconds; a process that runs longer hangs
SHORT = 5  # seconds, as the deadline of what must fail


class CountingJob(Job):
    """A job whose servers save what they have. `began`: when the fault was made."""

    began = 0.0

    def __init__(self, plan, folder, case, network):
        saving = ["--checkpoint", folder / "saved", "--checkpoint-every", case.checkpoint_every]
        super().__init__(tool, plan, folder, case.security, (_counting.TRAINERS, _counting.SERVERS), saving,
                         ["--batch", folder / "batch.npz"], network=network, **case.options)

    def checkpoint(self, index):
        return self.folder / "saved" / f"server.{index}.checkpoint"

    def begin(self, steps):
        for index in range(self.servers):
            self.start_server(index)
        for rank, count in enumerate(steps):
            self.start_trainer(rank, "--steps", count, "--save-params", self.folder / f"trainer {rank}.params")

    def wait_for_steps(self, limit=60):
        """Until all servers have saved something; False if that does not come."""
        end = time.monotonic() + limit
        while not all(self.checkpoint(k).exists() for k in range(self.servers)):
            if time.monotonic() > end or self.ended:
                return False
            time.sleep(0.02)
        return True

    def restore_server(self, index):
        self.restart_server(index, "--resume", self.folder / "saved")


class Case:
    """survives: whether the job is to go on; says: what its errors must have in
    them, of any process; inject(job): makes the fault while the job runs and
    returns what it saw, or None if it could not; without it, the fault is there
    from the start. lengths: of the plan; others: names of processes besides the
    job's, which must fail."""

    def __init__(self, name, survives, inject=None, says=None, steps=None, security=None, lengths=None,
                 others=(), quick=True, cut=False, checkpoint_every=10, **options):
        self.name, self.survives, self.inject, self.says = name, survives, inject, says
        self.steps = steps or ((STEPS, STEPS) if survives else (LONG, LONG))
        self.security, self.lengths, self.others = security, lengths or {}, others
        self.quick, self.cut, self.checkpoint_every, self.options = quick, cut, checkpoint_every, options


def shares(found):
    return found and ", ".join(f"{name} runnable {min(share, 1):.0%} of the time" for name, share in found.items())


def kill_in_backward(job):
    # Nothing of it is on its way: the servers wait.
    found = job.wait_until_computing("trainer 1", ["server 0", "server 1"])
    job.began = time.monotonic()
    job.kill("trainer 1")
    return shares(found)


def kill_in_update(index, restart):
    """When the trainers have sent everything and wait, and the server's update runs."""
    def inject(job):
        found = job.wait_until_computing(f"server {index}", ["trainer 0", "trainer 1"])
        job.began = time.monotonic()
        job.kill(f"server {index}")
        if restart:
            job.restore_server(index)
        return shares(found)
    return inject


def kill_often(job):
    # At any moments: while gradients arrive, values are sent, checkpoints are written.
    for number, index in enumerate((1, 0, 1)):
        if job.ended:
            return None
        job.kill(f"server {index}")
        job.restore_server(index)
        time.sleep(0.3 + 0.17 * number)
    return "server 1, server 0 and server 1 again"


def cut(host, seconds):
    def inject(job):
        job.network.cut(host)
        if seconds:
            time.sleep(seconds)
            # Without gradients to wait for, the other trainer may be through already.
            if {"trainer 0", "trainer 1"} <= set(job.ended):
                return None
            job.network.mend(host)
        return f"link of host {host} down" + (f" for {seconds} s" if seconds else "")
    return inject


def spoil(kind):
    def inject(job):
        for proxy in job.proxies:
            for to_server in (True, False):
                if job.ended or not proxy.spoil(kind, to_server):
                    return None
                time.sleep(0.1)
        return "a message to and one from each server"
    return inject


def connect(address):
    host, port = address.split(":")
    return socket.create_connection((host, int(port)), timeout=5)


NOISE = np.random.default_rng(0).bytes(1 << 16)
GARBAGE = (NOISE, b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + NOISE,
           b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes([255, 255, 255, 0, 4, 0, 0, 0, 1]), b"")


def send_garbage(wrap):
    def inject(job):
        for address in job.listen:
            for data in GARBAGE:
                try:
                    with wrap(connect(address)) as s:
                        s.settimeout(1)
                        s.sendall(data)
                        s.recv(1 << 16)
                except OSError:
                    pass  # refused, ended or left alone
        return f"{len(GARBAGE)} connections to each server"
    return inject


def intrude(security):
    """Another process of cs-run says that it is trainer 1."""
    def inject(job):
        job.start_trainer(1, name="other", security=security, deadline=3)
        return "a second process as trainer 1"
    return inject


def make_cases(folder):
    """Of the job with parameter servers, and of the all-reduce; how a rank of that proves who it is."""
    ours, theirs = (Authority(folder / which) for which in ("ours", "theirs"))
    token, wrong = (new_token(folder / which) for which in ("token", "wrong-token"))
    elsewhere = ours.certificate("elsewhere", hosts="DNS:elsewhere.example")
    expired = ours.certificate("expired", days=-1)

    def secure(role, index):
        return [*ours.options, *token]

    def but(which, options):
        return lambda role, index: options if f"{role} {index}" == which else secure(role, index)

    tls = ssl.create_default_context(cafile=ours.options[1])
    tls.load_cert_chain(ours.options[3], ours.options[5])
    tls.set_alpn_protocols(["h2"])

    def inside_tls(s):
        return tls.wrap_socket(s, server_hostname="localhost")

    slow = dict(lengths={"update": SLOW}, checkpoint_every=3)
    refused = "did not accept trainer|did not join"
    cases = [
        Case("trainer killed in backward", False, kill_in_backward, "trainer 1.*lost", lengths={"backward": SLOW},
             checkpoint_every=1, deadline=SHORT),
        Case("server killed between sum and update, comes back", True, kill_in_update(1, True),
             steps=(SLOW_STEPS, SLOW_STEPS), **slow),
        Case("server killed between sum and update, for good", False, kill_in_update(1, False), "server 1.*is lost",
             deadline=SHORT, **slow),
        Case("servers killed at any time, come back", True, kill_often, steps=(MORE_STEPS, MORE_STEPS)),
        Case("network of a trainer cut for 10 s", True, cut(1, 10), cut=True, quick=False),
        Case("network of a server cut for 10 s", True, cut(3, 10), cut=True, quick=False),
        Case("network of a trainer cut for good", False, cut(1, 0), "trainer 1.*lost", cut=True, deadline=SHORT),
        Case("network of a server cut for good", False, cut(3, 0), "server 1.*is lost", cut=True, deadline=SHORT,
             quick=False),
        Case("message truncated", True, spoil("cut"), steps=(MORE_STEPS, MORE_STEPS), proxied=True),
        Case("100 bytes of a message lost", True, spoil("loss"), steps=(MORE_STEPS, MORE_STEPS), proxied=True,
             quick=False),
        Case("wrong token", False, says="refused trainer 1: the job token does not match",
             security=but("trainer 1", [*ours.options, *wrong]), deadline=SHORT),
        Case("certificate of another authority", False, says=refused,
             security=but("trainer 1", [*theirs.options, *token]), deadline=SHORT),
        Case("certificate expired", False, says=refused, security=but("trainer 1", [*expired, *token]),
             deadline=SHORT, quick=False),
        Case("server's certificate for another host", False, says=refused,
             security=but("server 1", [*elsewhere, *token]), deadline=SHORT, quick=False),
        Case("client speaks garbage", True, send_garbage(lambda s: s)),
        Case("client speaks garbage inside TLS", True, send_garbage(inside_tls), quick=False),
        Case("client speaks gRPC without TLS", True, intrude(token), refused, others=("other",)),
        Case("second trainer 1", True, intrude([*ours.options, *token]),
             "refused trainer 1: another process has joined", others=("other",), quick=False),
        Case("one trainer with one batch less", True, steps=(STEPS, STEPS - 1), lengths={"metric": True}),
    ]
    for case in cases:
        case.security = case.security or secure
    of_ranks = _rank_faults.make_cases(ours, theirs, token, wrong, send_garbage, inside_tls)
    return cases, of_ranks, lambda rank: [*ours.options, *token]


def run(case, mode, plan, folder, network):
    """(hangs, lost, doubled, whether everything is as it must be)."""
    folder.mkdir()
    _counting.save_batches(folder / "batch.npz")
    job = CountingJob(plan, folder, case, network)
    job.began = time.monotonic()
    seen, wrong = None, []
    try:
        job.begin(case.steps)
        if case.inject:
            if job.wait_for_steps():
                job.began = time.monotonic()
                seen = case.inject(job)
            if not seen:
                wrong.append("the fault could not be made")
        hanging = job.finish(TIME_LIMIT)
    finally:
        job.finish(0)  # leaves nothing behind if it was interrupted
    own = {name: result for name, result in job.results.items() if name not in case.others}
    killed = {name for name, result in own.items() if result[2] < 0 and name not in hanging}
    well = all(result[2] == 0 for result in own.values())
    if well != case.survives:
        wrong.append(f"must {'survive' if case.survives else 'fail'}")
    for name, (_, errors, status) in job.results.items():
        if (name in case.others or not case.survives) and name not in killed and (
                status != 1 or not errors.startswith("cs-run: ") or errors.count("\n") != 1):
            wrong.append(f"{name} must say what is wrong, in one line, and end with status 1")
    if case.says and not any(re.search(case.says, result[1]) for result in job.results.values()):
        wrong.append(f"nobody says '{case.says}'")
    counts = _counting.account([job.checkpoint(k) for k in range(_counting.SERVERS)],
                               folder / "trainer 0.params", case.steps, mode, well)
    print(f"{case.name} ({mode}): {'goes on' if well else 'fails'}; {counts.lost} updates lost, {counts.doubled} "
          "doubled" + "".join(f"; WRONG: {what}" for what in wrong)
          + (f"; HANGING: {', '.join(hanging)}" if hanging else "") + (f"\n  fault: {seen}" if seen else ""))
    for name, (out, errors, status) in sorted(job.results.items()):
        lines = errors.strip() or (out.strip().splitlines() or ["nothing"])[-1]
        print(f"  {name:10} status {status:2}, after {job.ended[name] - job.began:5.1f} s: "
              + lines.replace("\n", "\n      "), flush=True)
    return len(hanging), counts.lost, counts.doubled, not wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--case", help="only cases whose name has this in it")
    parser.add_argument("--mode", choices=("sync", "async", "all-reduce"))
    arguments = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    totals, count, expected, skipped = [0, 0, 0], 0, True, 0
    no_network = hosts.why_unavailable()
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        cases, of_ranks, secure = make_cases(folder)
        modes = (arguments.mode,) if arguments.mode else ("sync", "all-reduce") if arguments.quick else (
            "sync", "async", "all-reduce")
        for mode in modes:
            for number, case in enumerate(of_ranks if mode == "all-reduce" else cases):
                if (arguments.case or "") not in case.name or (arguments.quick and not case.quick):
                    continue
                if case.cut and no_network:
                    print(f"{case.name} ({mode}): {no_network}: skipped")
                    skipped += 1
                    continue
                plan = folder / f"{mode}-{number}.plan"
                place = folder / f"{mode}-{number}"
                if mode == "all-reduce":
                    _counting.make_plan(tool, plan, None)
                    hosts_needed = _counting.TRAINERS

                    def one(network, case=case, plan=plan, place=place):
                        return _rank_faults.run(tool, case, plan, place, secure, network)
                else:
                    _counting.make_plan(tool, plan, mode, **case.lengths)
                    hosts_needed = _counting.TRAINERS + _counting.SERVERS

                    def one(network, case=case, plan=plan, place=place, mode=mode):
                        return run(case, mode, plan, place, network)
                if case.cut:
                    with hosts.Network([0] * hosts_needed) as network:
                        *found, right = one(network)
                else:
                    *found, right = one(None)
                totals = [a + b for a, b in zip(totals, found)]
                count, expected = count + 1, expected and right
    print(json.dumps({"cases": count, "hangs": totals[0], "lost_updates": totals[1], "doubled_updates": totals[2],
                      "as_expected": expected, "skipped": skipped, "seconds": round(time.monotonic() - start)}))
    sys.exit(0 if expected and not any(totals) else 1)


if __name__ == "__main__":
    main()
