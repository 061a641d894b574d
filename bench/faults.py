# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What becomes of a job with parameter servers when something goes wrong.

2 trainers and 2 servers, four processes over TLS with a job token; the trainers
push gradients of 1, so that a parameter counts its updates. Each case is run in
sync and in async mode (--quick: sync). Network faults come from a proxy between
trainer 1 and the servers. For each case: what each process printed, its exit
status, the time from the fault to the end of the last process, and whether an
update was lost or applied twice: after jobs that end well by the parameter and
by what the servers' checkpoints say was taken, after others by comparing both in
the last checkpoints. A process that has to be ended counts as a hang. Ends with
status 1 if a job that should survive its fault did not, or the other way round.
"""
import argparse
import json
import os
import pathlib
import socket
import sys
import tempfile
import time

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import _counting  # noqa: E402

STEPS = 600
TIME_LIMIT = 150  # seconds; a process that runs longer hangs


def tool(name):
    return str(pathlib.Path(os.environ.get("COMMSCHED_BIN", "build/release/bin")) / name)


def checkpoint(path):
    """[(value of the block's elements, updates, taken by trainer, updates that wait)] by block."""
    from safetensors import safe_open
    with safe_open(path, "np") as file:
        tensors = {name: file.get_tensor(name) for name in file.keys()}
        lines = [line.split() for line in file.metadata()["counts"].splitlines()]
    slots = [value for name, value in tensors.items() if name.startswith("slot/") and value.size > 1]
    blocks = [line for line in lines if line[0] == "block"]
    if len(slots) != 1 or len(blocks) != 1:
        sys.exit(f"faults: {path} must have one slot and one block")
    taken = {int(line[2]): int(line[3]) for line in lines if line[0] == "trainer"}
    waiting = sum(line[0] == "ready" for line in lines)
    return slots[0].astype(np.float64).ravel(), int(blocks[0][2]), taken, waiting


def account(job, steps, mode, ended_well):
    """(lost, doubled) updates, of elements that differ most."""
    lost = doubled = 0

    def compare(found, wanted):
        nonlocal lost, doubled
        lost, doubled = max(lost, int(np.ceil(wanted - found))), max(doubled, int(np.ceil(found - wanted)))

    wanted = max(steps) if mode == "sync" else sum(steps)
    for index in range(_counting.SERVERS):
        if not job.checkpoint(index).exists():
            continue
        value, updates, taken, waiting = checkpoint(job.checkpoint(index))
        for extreme in (-value.min(), -value.max()):
            compare(extreme, updates)
        if ended_well:
            compare(updates + waiting, wanted)
            for trainer, count in enumerate(steps):
                compare(taken[trainer], count)
    if ended_well and mode == "sync":
        from safetensors.numpy import load_file
        value = load_file(job.folder / "params")["w"]
        for extreme in (-value.min(), -value.max()):
            compare(extreme, wanted)
    return lost, doubled


class Case:
    """survives: whether the job is to go on; inject(job): makes the fault, once
    the job runs, and returns; others: processes that are to fail nevertheless."""

    def __init__(self, name, survives, inject=None, steps=(STEPS, STEPS), security=None, **options):
        self.name, self.survives, self.inject, self.steps = name, survives, inject, steps
        self.security, self.options = security, options


def kill_and_restart(job):
    # At several moments: while gradients arrive, between a sum and its update, while values are sent.
    for index in (1, 0, 1):
        job.kill(f"server {index}")
        del job.processes[f"server {index}"], job.results[f"server {index}"]
        job.ended.pop(f"server {index}")
        job.start_server(index, resume=True)
        time.sleep(0.3 + 0.17 * index)
        if job.ended:
            return


def cut(seconds):
    def inject(job):
        for proxy in job.proxies:
            proxy.open.clear()
        if seconds:
            time.sleep(seconds)
            for proxy in job.proxies:
                proxy.open.set()
    return inject


def truncate(job):
    for proxy in job.proxies:
        proxy.truncate()
        time.sleep(0.3)


def garbage(job):
    noise = np.random.default_rng(0).bytes(1 << 16)
    for address in job.listen:
        host, port = address.split(":")
        for data in (noise, b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + noise, b""):
            with socket.create_connection((host, int(port)), timeout=5) as s:
                try:
                    s.sendall(data)
                except OSError:
                    pass


def cases(folder, ours, theirs, token, wrong_token):
    def security(role, index):
        return [*ours.options, "--token-file", token]

    def bad_token(role, index):
        return [*ours.options, "--token-file", wrong_token if (role, index) == ("trainer", 1) else token]

    def bad_certificate(role, index):
        return [*(theirs if (role, index) == ("trainer", 1) else ours).options, "--token-file", token]

    made = [
        Case("trainer killed in its step", False, lambda job: job.kill("trainer 1"), steps=(10**6, 10**6)),
        Case("server killed, comes back", True, kill_and_restart),
        Case("server killed for good", False, lambda job: job.kill("server 1"), steps=(10**6, 10**6), deadline=8),
        Case("network cut for 10 s", True, cut(10), proxied=True),
        Case("network cut for good", False, cut(0), steps=(10**6, 10**6), proxied=True, deadline=8),
        Case("messages truncated", True, truncate, proxied=True),
        Case("client speaks garbage", True, garbage),
        Case("wrong token", False, security=bad_token, deadline=8),
        Case("wrong certificate", False, security=bad_certificate, deadline=8),
        Case("one trainer with one batch less", True, steps=(STEPS, STEPS - 1)),
    ]
    for case in made:
        case.security = case.security or security
    return made


def run(case, mode, plan, folder):
    """(hangs, lost, doubled, whether the outcome is the expected one)."""
    folder.mkdir()
    job = _counting.Job(tool, plan, folder, case.security, **case.options)
    job.start(case.steps)
    began = time.monotonic()
    if case.inject:
        if not job.wait_for_steps(60):
            print(f"{case.name} ({mode}): the job has not begun: {job.results}")
            job.finish(0)
            return 0, 0, 0, False
        began = time.monotonic()
        before = set(job.ended)
        case.inject(job)
        if before or (case.survives and case.name != "server killed, comes back" and
                      {"trainer 0", "trainer 1"} <= set(job.ended) and min(job.ended.values()) < began):
            print(f"{case.name} ({mode}): the job was over before the fault")
    hanging = job.finish(TIME_LIMIT)
    seconds = max(job.ended.values()) - began
    well = all(result[2] == 0 for result in job.results.values())
    lost, doubled = account(job, case.steps, mode, well)
    print(f"{case.name} ({mode}): {'ended well' if well else 'failed'}, "
          f"{'as it must' if well == case.survives else 'which it must not'}; {seconds:.1f} s to the end of the last "
          f"process; {lost} updates lost, {doubled} doubled" + (f"; HANGING: {', '.join(hanging)}" if hanging else ""))
    for name, (out, errors, status) in sorted(job.results.items()):
        lines = (errors.strip() or (out.strip().splitlines() or [""])[-1]).replace("\n", "\n      ")
        print(f"  {name}: status {status}: {lines}", flush=True)
    return len(hanging), lost, doubled, well == case.survives


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--case", help="only cases whose name has this in it")
    arguments = parser.parse_args()
    totals, count, expected = [0, 0, 0], 0, True
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        ours, theirs = (_counting.Authority(folder / which) for which in ("ours", "theirs"))
        for which in ("token", "wrong-token"):
            (folder / which).write_text(f"the {which} of a job\n")
        for mode in ("sync",) if arguments.quick else ("sync", "async"):
            plan = folder / f"{mode}.plan"
            _counting.make_plan(tool, plan, mode)
            for number, case in enumerate(cases(folder, ours, theirs, folder / "token", folder / "wrong-token")):
                if arguments.case and arguments.case not in case.name:
                    continue
                *found, as_expected = run(case, mode, plan, folder / f"{mode}-{number}")
                totals = [a + b for a, b in zip(totals, found)]
                count, expected = count + 1, expected and as_expected
    print(json.dumps({"cases": count, "hangs": totals[0], "lost_updates": totals[1], "doubled_updates": totals[2],
                      "as_expected": expected}))
    sys.exit(0 if expected and not any(totals) else 1)


if __name__ == "__main__":
    main()
