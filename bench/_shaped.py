# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Training that is emulated over links of a chosen speed: profiles of models as
programs, plans for them, and ranks in network namespaces.

Devices wait for the times of the profile, which are scaled so that communication is
`share` times compute; messages are sent for real. Communication is what each link
carries for an all-reduce by P ranks, 2 (P - 1) / P of the gradients' bytes, at what a
link carries of payload: 1448 of 1514 bytes."""
import atexit
import contextlib
import dataclasses
import json
import os
import pathlib
import re
import subprocess
import sys

import _profiles
from _tools import call, tool
from net import hosts

ROOT = pathlib.Path(__file__).resolve().parents[1]
PAYLOAD = 1448 / 1514
PORT = 7000
TIME_LIMIT = 300  # seconds, only ends a hang
CALIBRATIONS = 6  # at most
NEAR = 0.02  # of a link's rate: no need to calibrate again
NS = re.compile(r"ns = (\d+)>")
RANKS = {"all-reduce": (4, 0), "servers": (2, 2)}  # of a way to synchronise, and servers


def measure_in_peace():
    """What else the machine does must not keep emulated devices, or what is measured, waiting. For peers
    and ourselves alike. Not at real-time priority, which the kernel's own threads for
    the network do not have. Where the kernel shares processors between sessions, priorities
    count within one only: then all of this session has it, until this process ends."""
    with contextlib.suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, 0, -15)
    if before := hosts.session_priority():
        hosts.set_session_priority("-15")
        atexit.register(hosts.set_session_priority, before)


class Model:
    """A profile. `layers` are what _profiles reads; `program` is the same at level 0.
    `bytes` of gradients, `compute_ns` of a step with its updates."""

    def __init__(self, name):
        self.name = name
        stem, _, source = name.partition(".")
        if source == "pipedream":
            path = pathlib.Path(os.environ["COMMSCHED_DATA"], "pipedream", f"{stem}.graph.txt")
            self.layers = _profiles.read_pipedream(path)
            self.program = call(tool("cs-translate"), "--import-pipedream", "--profile-activations=false", path)
        else:
            path = ROOT / f"examples/profiles/{name}.txt"
            self.layers = _profiles.read_aicb(path)
            self.program = call(tool("cs-translate"), "--import-aicb", path)
        self.bytes = sum(sum(layer.tensors) for layer in self.layers)
        self.compute_ns = sum(int(ns) for ns in NS.findall(self.program))

    def wire_seconds(self, ranks, rate):
        """That a link of `rate` bits per second is busy in a step."""
        return 2 * (ranks - 1) / ranks * self.bytes * 8 / (rate * PAYLOAD)

    def factor(self, ranks, rate, share):
        """By which times of the profile are multiplied."""
        return self.wire_seconds(ranks, rate) * 1e9 / share / self.compute_ns

    def scaled(self, factor):
        """(program, layers) with times so many times as long."""
        program = NS.sub(lambda match: f"ns = {round(int(match[1]) * factor)}>", self.program)
        layers = [dataclasses.replace(layer, **{field: round(getattr(layer, field) * factor)
                                                for field in ("forward", "inputs", "weights", "update")})
                  for layer in self.layers]
        return program, layers


def cluster(ranks, rate):
    return (f"cs.cluster @shaped nodes = {ranks} devices = 1 device = <kind = cpu, gflops = 1000, gb_per_s = 1000>\n"
            f"  intra = <mbit_per_s = 80000, latency_ns = 5000>\n"
            f"  inter = <mbit_per_s = {round(rate * PAYLOAD / 1e6)}, latency_ns = 50000>\n")


@dataclasses.dataclass
class Plan:
    """period_ns and bound_ns are what the compiler says of the schedule; None if it says nothing."""

    path: pathlib.Path
    schedule: pathlib.Path
    period_ns: int = None
    bound_ns: int = None
    messages: int = 0


def compile_plan(folder, name, program, ranks, rate, policy, calibration=None, algorithm="ring", servers=0, options=""):
    """A plan of the program by a policy of --schedule-comm. `options`: more of the pipeline. Around a ring a host sends to
    one other, so that one queue orders everything on its link. By halving and doubling it
    sends to several, between which the network shares the link as it likes. With `servers`,
    these keep the parameters. A plan that is there already is taken as it is."""
    source, of_cluster = folder / f"{name}.step.mlir", folder / f"{name}.cluster.mlir"
    plan = Plan(folder / f"{name}.{policy}.plan", folder / f"{name}.{policy}.mlir")
    costs = f" calibration={calibration}" if calibration else ""
    way = f"parameter-server-pipeline=servers={servers}" if servers else f"all-reduce-pipeline=algorithm={algorithm}"
    if not plan.path.exists():
        source.write_text(program)
        of_cluster.write_text(cluster(ranks, rate))
        call(tool("cs-opt"), source, f"--cs-{way} cluster={of_cluster} schedule={policy}{costs} {options}", "-o",
             plan.schedule)
        call(tool("cs-translate"), "--mlir-to-plan", plan.schedule, "-o", plan.path)
    text = plan.schedule.read_text()
    record = re.search(r"#cs\.schedule<([^>]*)>", text)
    for field in ("period_ns", "bound_ns"):
        value = re.search(rf"\b{field} = (\d+)", record[1]) if record else None
        setattr(plan, field, int(value[1]) if value else None)
    plan.messages = len(re.findall(r"= cs\.start ", text))
    return plan


class Cluster:
    """Runs plans on the hosts of a network with addresses of loopback, a rank on each; on the last ones
    `servers` parameter servers."""

    def __init__(self, network, folder, servers=0):
        self.network, self.folder, self.servers = network, folder, servers
        self.ranks = len(network.addresses) - servers
        self._port = PORT

    def start(self, plan, *options, of_ranks=(), environment=None):
        """The processes, servers last, which are always emulated. `environment`: of all of them, beside our own; what is None is left out."""
        self._port += 1  # that of the run before may linger
        at = [f"{address}:{self._port}" for address in self.network.addresses]
        common, text = ["--insecure", "--deadline", 60], dict(stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        text["env"] = {name: value for name, value in {**os.environ, **(environment or {})}.items() if value is not None}
        to = ["--role", "trainer", "--servers", ",".join(at[self.ranks:])] if self.servers else []
        if not self.servers or {"--calibrate", "--tune"} & {*options, *of_ranks}:  # else trainers do not talk to each other
            to += ["--peers", ",".join(at[:self.ranks])]
        ranks = [self.network.start(rank, [tool("cs-run"), plan, "--rank", rank, *to, *common, *options, *of_ranks], **text)
                 for rank in range(self.ranks)]
        return ranks + [self.network.start(self.ranks + server, [tool("cs-run"), plan, "--role", "server", "--index", server, "--listen",
                                                                 at[self.ranks + server], *common, "--emulate"], **text)
                        for server in range(self.servers)]

    def run(self, plan, *options, environment=None):
        """Ends the benchmark if a process fails."""
        finish(self.start(plan, *options, environment=environment), self.network)

    def emulate(self, plan, steps, environment=None):
        """The traces of the ranks, in order."""
        path = self.folder / "trace.json"
        self.run(plan, "--emulate", "--steps", steps, "--trace", path, environment=environment)
        paths = [path] + [path.with_suffix(f".rank{rank}.json") for rank in range(1, self.ranks)]
        return [json.loads(each.read_text()) for each in paths]

    def calibrate(self, plan, rate):
        """The file that --calibrate writes, without the slowdown of compute: emulated
        devices are not slowed down. Whatever else the machine does makes links slower
        than they are: the best of a few times counts."""
        path = self.folder / "calibration.json"
        best = None
        for _ in range(CALIBRATIONS):
            self.run(plan, "--calibrate", path)
            measured = json.loads(path.read_text())
            slowest = min(link["bits_per_s"] for link in measured["links"])
            if best is None or slowest > best[0]:
                best = slowest, measured
            if slowest > (1 - NEAR) * rate * PAYLOAD:
                break
        measured = best[1]
        for of_rank in measured["compute"]:
            of_rank.update(communicating_ns=of_rank["quiet_ns"], slowdown_percent=0)
        path.write_text(json.dumps(measured))
        return path, measured


def simulate(plan, steps, calibration, folder):
    """Seconds of a step that cs-run --simulate predicts."""
    path = folder / "simulated.json"
    call(tool("cs-run"), plan, "--simulate", "--steps", steps, "--read-calibration", calibration, "--metrics-json", path)
    return json.loads(path.read_text())["step_ns"] / 1e9


def finish(processes, network):
    """What the processes of all ranks print; ends the benchmark if one fails."""
    texts = []
    try:
        for rank, process in enumerate(processes):
            texts.append(process.communicate(timeout=TIME_LIMIT)[0])
            if process.returncode != 0:
                network.stop(processes)
                others = [other.communicate()[0] for other in processes[rank + 1:]]
                sys.exit(f"{pathlib.Path(sys.argv[0]).stem}: rank {rank} ended with {process.returncode}:\n"
                         + "\n".join(text.strip() for text in [*texts, *others]))
    finally:
        network.stop(processes)
    return texts


def gain(before, after):
    """In percent."""
    return 100 * (1 - after / before)


def in_turn(ways, rounds, measure):
    """What `measure` says of each way, by round; another one is first in each."""
    found = {way: [] for way in ways}
    for number in range(rounds):
        first = number % len(ways)
        for way in ways[first:] + ways[:first]:
            found[way].append(measure(way))
    return found


def step_begins(trace):
    """Seconds at which the compute of each step begins."""
    begins = {}
    for event in trace["traceEvents"]:
        if event.get("cat") == "compute" and not event["name"].startswith("update"):
            number = event["args"]["call"]
            begins[number] = min(begins.get(number, event["ts"]), event["ts"])
    return [begins[number] / 1e6 for number in sorted(begins)]


def step_seconds(traces, warm_up=2):
    """Mean time from the beginning of one step to that of the next; of the ranks the
    longest. The first `warm_up` steps do not count: nothing is in flight when they begin."""
    longest = 0
    for trace in traces:
        begins = step_begins(trace)[warm_up:]
        longest = max(longest, (begins[-1] - begins[0]) / (len(begins) - 1))
    return longest
