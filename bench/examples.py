# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every script of examples/ that trains, as the ranks of a job, and jobs of it in which something goes wrong.

Started by hand with the environment of a launcher, by torchrun, by mpirun, and on two hosts (network namespaces with shaped
links, TLS). A job that is left alone must have the losses of one process with as many threads, bit for bit (eager PyTorch, whose ranks
average other parts than one process, to 1e-3). Else one rank is killed or stopped, has another token, or somebody has the port: every process that
lives must end in time, with an exit status other than 0 and exactly one line, which names the rank, and none is left behind."""
import argparse
import contextlib
import dataclasses
import json
import os
import pathlib
import re
import signal
import socket
import sys
import tempfile
import time

import _example_jobs
from _example_jobs import ROOT, Job
from _processes import Authority

WAYS = ("processes", "torchrun", "mpirun", "hosts")
CASES = ("alone", "killed", "stopped", "token", "port")
LIMIT = 170  # seconds, or --limit; a job that takes longer hangs
DEADLINE = 6.0
GRACE = 25.0  # beyond the deadline, on a machine that does other things
BEHIND = 4  # lines of the log before something goes wrong
VICTIM = 1


@dataclasses.dataclass(frozen=True)
class Example:
    script: str
    short: str  # options of a run that ends soon; of one that does not, with another first number
    needs: str
    exact: bool = True  # losses are those of threads
    mpi: bool = True    # under mpirun it is connected by MPI

    @property
    def long(self):
        return re.sub(r"\d+", "100000", self.short, count=1)


EXAMPLES = (Example("digits/train.py", "--epochs 1", "jax"), Example("flax/cnn.py", "--epochs 1", "flax"),
            Example("pytorch/ranks.py", "--epochs 1", "torch"), Example("pytorch/eager.py", "--epochs 3", "torch", exact=False),
            Example("pytorch/gpt.py", "--steps 8", "torch"), Example("pytorch/vit.py", "--epochs 1", "torch"),
            Example("paddle/ranks.py", "--epochs 1", "paddle"), Example("paddle/transformer.py", "--steps 12", "paddle", mpi=False),
            Example("paddle/resnet50.py", "--steps 6 --depth 18", "paddle"))


def losses(path):
    """Of each step, all metrics."""
    lines = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    return [{n: v for n, v in line.items() if n != "time"} for line in lines]


def differences(found, expected, exact):
    """What is wrong with metrics; empty if nothing is."""
    if exact:
        return "" if found == expected else f"losses of {len(found)} steps must match those of one process, {len(expected)} steps"
    if len(found) != len(expected):
        return f"losses must be of {len(expected)} epochs, got: {len(found)}"
    worst = max(abs(a["loss"] - b["loss"]) / abs(b["loss"]) for a, b in zip(found, expected))
    return "" if worst < 1e-3 else f"losses differ from those of one process by {worst:.1e}"


def wrong_end(rank, ended, words, launched):
    """What is wrong with how a rank that lives has ended after a fault; empty if nothing is. launched: a launcher ends ranks
    itself when one has failed, so that this one may have come to no line."""
    said = [line for line in ended.errors if line.startswith("commsched: ")]
    if ended.status == 0:
        return f"rank {rank} must fail"
    if any(line.startswith(("Traceback", "terminate called", "Exception ignored", "Fatal Python error")) for line in ended.errors):
        return f"rank {rank} must end with one line, got a traceback: {ended.errors[-1]}"
    if not said and launched and ended.errors == []:
        return ""
    if ended.status is not None and ended.status < 0:
        return f"rank {rank} was ended by signal {-ended.status}"
    if len(said) != 1:
        return f"rank {rank} must say one line, got: {said or ended.errors[-3:]}"
    if not re.search(words, said[0].removeprefix(f"commsched: rank {rank}: ")):  # itself it names anyway
        return f"rank {rank} must name who failed ({words}), got: {said[0]}"
    return ""


class Bench:
    def __init__(self, ranks, rate, folder, limit=LIMIT):
        self.ranks, self.rate, self.folder, self.limit, self.expected, self.number = ranks, rate, folder, limit, {}, 0
        self.authority = None
        self.tokens = []
        for text in "the token of the ranks", "another token than theirs":
            path = folder / f"token{len(self.tokens)}"
            path.write_text(text + "\n")
            path.chmod(0o600)
            self.tokens.append(str(path))

    def command(self, example, options, *more):
        return [sys.executable, ROOT / "examples" / example.script, *options.split(), *more]

    def alone(self, example):
        """The losses of one process."""
        if example.script not in self.expected:
            place = self.place()
            threads = ["--workers", self.ranks] if example.exact else []
            job = Job("processes", self.command(example, example.short, *threads, "--log", place / "log"), 1, place)
            (ended,), _ = job.ended(self.limit)
            if ended.status != 0:
                sys.exit(f"examples: {example.script} alone: {ended.errors}")
            self.expected[example.script] = losses(place / "log")
        return self.expected[example.script]

    def place(self):
        self.number += 1
        place = self.folder / str(self.number)
        place.mkdir()
        return place

    def security(self, how, case, network):
        """By rank, what it has of secrets."""
        if how in ("torchrun", "mpirun") and case not in ("token", "port"):
            return lambda rank: {}
        tls = {}
        if network:
            if self.authority is None:
                self.authority = Authority(self.folder / "tls")
            words = [str(w) for w in self.authority.certificate("rank", ",".join(f"IP:{a}" for a in network.addresses))]
            tls = {f"COMMSCHED_{n[2:].upper().replace('-', '_')}": file for n, file in zip(words[::2], words[1::2])}
        return lambda rank: {"COMMSCHED_TOKEN_FILE": self.tokens[case == "token" and rank == VICTIM], **tls}

    def run(self, example, how, case):
        """What is wrong; empty if nothing is."""
        from net import hosts
        with contextlib.ExitStack() as stack:
            network = stack.enter_context(hosts.Network([self.rate] * 2)) if how == "hosts" else None
            place, port, deadline = self.place(), None, 60.0 if case == "alone" else DEADLINE
            if case == "port":
                if network:
                    port = 29400
                    listener = network.start(0, [sys.executable, "-c", f"import socket; s = socket.create_server(('{network.addresses[0]}', "
                                                 "29400)); print('there', flush=True); s.accept(); input()"], stdout=-1, stdin=-1, text=True)
                    listener.stdout.readline()
                else:
                    listener = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
                    port = listener.getsockname()[1]
            options = example.short if case == "alone" else example.long
            job = Job(how, self.command(example, options, "--log", place / "log"), self.ranks, place,
                      self.security(how, case, network), network, port, deadline)
            stack.callback(job.end)
            if case == "alone":
                return self.judge_alone(job, example, place)
            return self.judge(job, how, case, place, deadline)

    def judge_alone(self, job, example, place):
        ended, left = job.ended(self.limit)
        if left:
            return f"processes are left: {left}"
        for rank, one in enumerate(ended):
            if one.status not in (0, None) or job.launcher_status:
                return f"rank {rank}: status {one.status}, launcher {job.launcher_status}: {one.errors[-3:]}"
        return differences(losses(place / "log"), self.alone(example), example.exact)

    def judge(self, job, how, case, place, deadline):
        launched, since = how in ("torchrun", "mpirun"), None
        words = {"port": r"port|rank 0|peer 0"}.get(case, rf"\b(peer|rank|trainer|server) {VICTIM}\b|the token must match")
        if case in ("killed", "stopped"):
            begun = time.monotonic()
            while len(losses(place / "log")) < BEHIND:
                if time.monotonic() - begun > self.limit or job.processes[0].poll() is not None:
                    return f"it did not begin: {job.ended(0)[0]}"
                time.sleep(0.1)
            pid, since = job.pid(VICTIM), time.monotonic()
            os.kill(pid, signal.SIGKILL if case == "killed" else signal.SIGSTOP)
            if case == "stopped":
                time.sleep(2.5 * deadline)
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGCONT)
        ended, left = job.ended(self.limit if since is None else 3 * deadline + GRACE, since)
        faults = [f"processes are left: {left}"] if left else []
        if launched and not job.launcher_status:
            faults.append("the launcher must fail")
        for rank, one in enumerate(ended):
            if case == "killed" and rank == VICTIM:
                continue
            # A rank that was stopped says what it hears first, when it goes on.
            own = ".*" if case == "stopped" and rank == VICTIM else words
            fault = wrong_end(rank, one, own, launched)
            faults += [fault] if fault else []
        if launched and not any(line.startswith("commsched: ") for one in ended for line in one.errors):
            faults.append("no rank says what is wrong")
        return "; ".join(faults)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="two examples as processes of one machine")
    parser.add_argument("--examples", default="", help="only those whose name matches")
    parser.add_argument("--over", default=",".join(WAYS), help="ways to start them")
    parser.add_argument("--cases", default=",".join(CASES))
    parser.add_argument("--ranks", type=int, default=4)
    parser.add_argument("--limit", type=float, default=LIMIT, help="seconds of a job, on a machine that does other things")
    parser.add_argument("--rate", default="1gbit", help="of links between hosts")
    options = parser.parse_args()
    from net import hosts
    ways, cases = options.over.split(","), options.cases.split(",")
    if options.quick:
        ways, options.examples, options.ranks = ["processes"], options.examples or "train.py|eager.py", 2
    for name, given, known in ("--over", ways, WAYS), ("--cases", cases, CASES):
        if not set(given) <= set(known):
            parser.error(f"{name} must be of {', '.join(known)}, got: {','.join(given)}")
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    done, wrong, skipped = 0, [], 0
    with tempfile.TemporaryDirectory() as name:
        bench = Bench(options.ranks, hosts.bits_per_second(options.rate), pathlib.Path(name), options.limit)
        for example in EXAMPLES:
            if not re.search(options.examples, example.script):
                continue
            for how in ways:
                why = _example_jobs.why_not(how) or missing(example)
                if why:
                    print(f"{example.script} ({how}): {why}: skipped", flush=True)
                    skipped += len(cases)
                    continue
                for case in cases:
                    began = time.monotonic()
                    fault = bench.run(example, how, case)
                    done += 1
                    wrong += [f"{example.script} {how} {case}"] if fault else []
                    print(f"{example.script} ({how}, {case}): {'WRONG: ' + fault if fault else 'as it must be'}, "
                          f"{time.monotonic() - began:.0f} s", flush=True)
    print(json.dumps({"jobs": done, "wrong": wrong, "skipped": skipped}))
    sys.exit(1 if wrong else 0)


def missing(example):
    import importlib.util
    return "" if importlib.util.find_spec(example.needs) else f"needs {example.needs}"


if __name__ == "__main__":
    main()
