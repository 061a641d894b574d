# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The plan that `cs-run --tune` keeps against each policy, measured on real networks.

Emulated steps of ResNet-50, VGG-16, DistilBERT and, with COMMSCHED_DATA, GNMT as PipeDream measured it (_shaped.py: devices wait for the
times of a profile, messages are sent for real), communication 0.5, 1 and 2 times compute, at 1 and 2 Gbit/s, by all-reduce of 4 ranks
around a ring and by 2 trainers with 2 parameter servers; and the Transformer of examples/ trained for real by 2 workers
at 1 Gbit/s, 500 and 250 Mbit/s (scheduled_training.py). A host for each process (net/hosts.py); plans are made of what --calibrate, and
for real training --profile, measure, with the tools' defaults:

    solver           ours, and where a run begins
    priority         a message per tensor, by first consumer
    bytescheduler    slices and credit found by Bayesian optimisation
    fifo             a message per tensor, first come, first served
    fixed-buckets    buckets as in PyTorch DDP, and its barrier
    latency-hiding   as Inductor's and XLA's schedulers interleave

First a run with --tune tries all but the last on its own steps (with servers on blocks as the solver cuts them, which stay), and says
which one it keeps: ours. Then runs of ours and of every other policy follow in turn, --rounds times; what is compared is ours over
each other policy in the same round, in the median over the rounds, and the best other is the one that ours is furthest behind, or least ahead of. So what was measured to choose is not what is compared, and ours has a run of its own. The solver's own plan is ours too,
and no other. A policy whose best time is a quarter behind another's worst after one round, a tenth after two, is left out of further ones. Where rounds differ so much
that this median is not known to 0.4 %, those two, and whoever is within 2 % of them, have more rounds: three
times as many at most. That does not look at which of them is ahead.

The bound is that of the compiler for the program's order of ops and the links as calibrated; a measurement is below it if
it is shorter by more than the clocks' error, a thousandth. Needs root and iproute2.

Cases are named MODEL.WAY.RATE.SHARE (resnet50.servers.1gbit.0.5), and transformer.RATE. With --save, what was measured is in a folder as
soon as it is, and another call goes on there.
"""
import argparse
import json
import math
import os
import pathlib
import re
import signal
import statistics
import sys
import tempfile
import time

import _shaped
import scheduled_training
from _tools import steady_step_ms
from net import hosts

TRIED = ["solver", "bytescheduler", "priority", "fixed-buckets", "fifo"]
OTHERS = ["priority", "bytescheduler", "fifo", "fixed-buckets", "latency-hiding"]
MODELS = ["resnet50", "vgg16", "distilbert", *(["gnmt.pipedream"] if "COMMSCHED_DATA" in os.environ else [])]
RATES, SHARES, REAL_RATES = ["1gbit", "2gbit"], ["0.5", "1", "2"], ["1gbit", "500mbit", "250mbit"]
QUICK = ["resnet50.all-reduce.2gbit.1", "resnet50.servers.1gbit.1", "transformer.500mbit"]
STEPS = [(1.5, 8), (3, 6), (6, 5), (math.inf, 4)]  # seconds that a step takes at most, and steps of runs then
CLOCK_ERROR = 1e-3
BEHIND = {1: 1.25, 2: 1.1}  # after so many rounds: left out
UNCLEAR, NEAR, MORE = 0.004, 1.02, 3  # standard error of a ratio; over the fastest; so many times the rounds
KEPT = re.compile(r"tuning: ms of a step: (.*); (\S+) is kept after (\d+) steps, in which trials cost (\S+) s")


class OutOfTime(Exception):
    """--minutes are over. What was measured is kept."""


class Case:
    """What has been measured of a case, in a folder, which may be there from an earlier call."""

    def __init__(self, name, folder, until):
        self.name, self.folder, self.until = name, folder, until
        folder.mkdir(parents=True, exist_ok=True)
        self._file = folder / "measured.json"
        self.found = json.loads(self._file.read_text()) if self._file.exists() else {"times": {}}

    def save(self, **more):
        self.found.update(more)
        text = self._file.with_suffix(".new")
        text.write_text(json.dumps(self.found))
        text.rename(self._file)

    def tuned(self, tune):
        """The policy that a run keeps; tune() gives it, and what the run says."""
        if "kept" not in self.found:
            self._check_time()
            kept, said = tune()
            self.save(kept=kept, said=said)
        return self.found["kept"]

    def in_turn(self, rounds, measure):
        """Seconds of "tuned" and each other policy, by round; each takes another turn in each."""
        times = self.found["times"]
        for number in range(MORE * rounds if rounds > 1 else 1):
            order, near = ["tuned", *OTHERS], None
            if number >= rounds and not (near := self._unclear()):
                return
            for name in order[number % len(order):] + order[:number % len(order)]:
                if len(times.get(name, [])) > number or self._behind(name, number) or (near and name not in near):
                    continue
                if number > 0 and time.monotonic() > self.until:
                    return
                self._check_time()
                times.setdefault(name, []).append(measure(name))
                self.save()

    def _behind(self, name, rounds):
        times = self.found["times"]
        return rounds > 0 and min(times[name]) > BEHIND[min(rounds, max(BEHIND))] * min(max(times[other]) for other in times)

    def _unclear(self):
        """Those who need another round: none, if the ratio that counts is known well enough."""
        best, over = self.best()
        ratios = self._ratios(best)
        # Of the median of a normal distribution, half of which is within 1.349 of its deviation: one slow round of many tells nothing.
        quarters = statistics.quantiles(ratios, n=4, method="inclusive")
        if math.sqrt(math.pi / 2 / len(ratios)) * (quarters[2] - quarters[0]) / 1.349 / over <= UNCLEAR:
            return set()
        return {"tuned"} | {name for name in OTHERS if statistics.median(self._ratios(name)) >= over / NEAR}

    def _ratios(self, name):
        """Of ours over another policy, by round: a machine that becomes faster or slower does so for both."""
        return [ours / other for ours, other in zip(self.found["times"]["tuned"], self.found["times"][name])]

    def best(self):
        """The best other policy, and ours over it."""
        over = {name: statistics.median(self._ratios(name)) for name in self.found["times"] if name != "tuned"}
        best = max(over, key=over.get)
        return best, over[best]

    def _check_time(self):
        if time.monotonic() > self.until:
            raise OutOfTime

    def report(self, bound):
        times = self.found["times"]
        medians = {name: statistics.median(each) for name, each in times.items()}
        best, over = self.best()
        below = sum(seconds < bound * (1 - CLOCK_ERROR) for each in times.values() for seconds in each)
        print(f"  {self.found['said']}")
        for name, each in times.items():
            print(f"  {name:14} {1e3 * medians[name]:9.2f} ms ({1e3 * min(each):.2f} to {1e3 * max(each):.2f}, {len(each)} runs), "
                  f"{medians[name] / bound:6.3f} of the bound")
        print(f"  {self.name}: ours ({self.found['kept']}) over the best other, {best}: {over:.4f}; below the bound: {below}", flush=True)
        return {"kept": self.found["kept"], "best": best, "over_best": round(over, 4), "below_bound": below,
                "rounds": len(times["tuned"]), "bound_ms": round(1e3 * bound, 2),
                "ms": {name: round(1e3 * s, 2) for name, s in medians.items()}, "tuning": self.found["said"]}


def tune(cluster, plans, *options):
    """Which plan a run keeps, and the line that says so; the run ends then."""
    processes = cluster.start(plans["solver"], *options, of_ranks=["--tune", ",".join(str(plans[name]) for name in TRIED[1:]),
                                                                   "--steps", 100000, "--metrics-every", 100000])
    lines = []
    try:
        for line in processes[0].stdout:
            lines.append(line.strip())
            if said := KEPT.search(line):
                policy = next((name for name in TRIED if said[2].endswith(f".{name}") or said[2] == name), None)
                return policy or sys.exit(f"measured_policies: no policy in: {line}"), line.strip()
    finally:
        cluster.network.stop(processes)
    sys.exit("measured_policies: the run has ended without a choice:\n" + "\n".join(lines[-20:]))


def emulated(case, model, way, rate, share, rounds):
    (ranks, servers), folder = _shaped.RANKS[way], case.folder
    program, _ = model.scaled(model.factor(ranks, rate, share))
    seconds = model.wire_seconds(ranks, rate) * max(1, 1 / share)
    steps = next(steps for most, steps in STEPS if seconds <= most)
    with hosts.Network([rate] * (ranks + servers), loopback=True) as network:
        cluster = _shaped.Cluster(network, folder, servers)

        def compiled(name, policy, *more, options=""):
            return _shaped.compile_plan(folder, name, program, ranks, rate, policy, *more, servers=servers, options=options)
        calibration = folder / "calibration.json"
        if "calibrated" not in case.found:
            cluster.calibrate(compiled("first", "fifo").path, rate)
            case.save(calibrated=True)
        plans = {policy: compiled("case", policy, calibration) for policy in ["solver", *OTHERS]}
        tried = plans if not servers else {"solver": plans["solver"], **{
            policy: compiled("tried", policy, calibration, options="cut-as=solver") for policy in TRIED[1:]}}
        kept = case.tuned(lambda: tune(cluster, {policy: plan.path for policy, plan in tried.items()}, "--emulate"))
        plans["tuned"] = tried[kept]
        case.in_turn(rounds, lambda name: _shaped.step_seconds(cluster.emulate(plans[name].path, steps)))
    return case.report(plans["fifo"].bound_ns / 1e9)


def trained(case, rate, rounds, steps):
    folder = case.folder
    job = scheduled_training.Job(steps, rate, folder)
    calibration = folder / "calibration.json"
    if "calibrated" not in case.found:
        plan, _, _ = job.compile("priority")
        job.train(plan, "--profile", folder / "profile.json")
        job.run(plan, "--calibrate", calibration)
        case.save(calibrated=True)
    profiles = ",".join(map(str, sorted(folder.glob("profile*.json"))))
    plans, records = {}, {}
    for policy in ["solver", *OTHERS]:
        plans[policy], _, records[policy] = job.compile(policy, f"profile={profiles} calibration={calibration}")

    def tuned():
        with hosts.Network([rate] * scheduled_training.WORKERS, loopback=True) as network:
            return tune(_shaped.Cluster(network, folder), plans, "--init", folder / "init.safetensors", "--batch", folder / "batch.npz")
    plans["tuned"] = plans[case.tuned(tuned)]
    case.in_turn(rounds, lambda name: steady_step_ms(job.train(plans[name])[0]["summary"]) / 1e3)
    return case.report(int(re.search(r"\bbound_ns = (\d+)", records["fifo"])[1]) / 1e9)


def names():
    return [f"{model}.{way}.{rate}.{share}" for model in MODELS for way in _shaped.RANKS for rate in RATES for share in SHARES] + [
        f"transformer.{rate}" for rate in REAL_RATES]


def measured(name, folder, options, rounds):
    """The result of a case, or None if there was no time to measure anything of it."""
    print(f"{name}, {rounds} rounds", flush=True)
    case = Case(name, folder, options.until)
    try:
        if name.startswith("transformer."):
            rate = hosts.bits_per_second(name.split(".")[1])
            return trained(case, rate, rounds, options.steps or max(20, round(60 * rate / 1e9)))
        model, way, rate, share = re.fullmatch(r"(.*?)\.(all-reduce|servers)\.([\d.]+[kmg]bit)\.([\d.]+)", name).groups()
        return emulated(case, _shaped.Model(model), way, hosts.bits_per_second(rate), float(share), rounds)
    except OutOfTime:
        print("  to be gone on with: --minutes are over", flush=True)
        return None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help=f"{', '.join(QUICK)}; one round")
    parser.add_argument("--cases", help="names, with commas (default all)")
    parser.add_argument("--only", help="of the cases, those whose names have this regular expression in them")
    parser.add_argument("--save", type=pathlib.Path, help="folder where plans and measurements are kept, and gone on with")
    parser.add_argument("--minutes", type=float, help="after which no run begins any more")
    parser.add_argument("--steps", type=int, help="of a run of real training (default 60 at 1 Gbit/s, in proportion to the rate, 20 at least)")
    parser.add_argument("--rounds", type=int, help="default 5; 1 with --quick")
    parser.add_argument("--list", action="store_true", help="prints the names of cases")
    options = parser.parse_args()
    chosen = options.cases.split(",") if options.cases else QUICK if options.quick else names()
    chosen = [name for name in chosen if re.search(options.only or "", name)]
    if unknown := [name for name in chosen if name not in names()]:
        parser.error(f"cases must be some of --list, got: {', '.join(unknown)}")
    if options.list:
        print("\n".join(chosen))
        return 0
    if why := hosts.why_unavailable():
        print(f"measured_policies: {why}: skipped")
        return hosts.SKIPPED
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    options.until = time.monotonic() + 60 * options.minutes if options.minutes else float("inf")
    _shaped.measure_in_peace()
    cases = {}
    with tempfile.TemporaryDirectory() as folder:
        for name in chosen:
            if found := measured(name, (options.save or pathlib.Path(folder)) / name, options, options.rounds or (1 if options.quick else 5)):
                cases[name] = found
    ratios = [case["over_best"] for case in cases.values()]
    print(json.dumps({"worst_over_best": max(ratios, default=None), "median_over_best": round(statistics.median(ratios), 4) if ratios else None,
                      "below_bound": sum(case["below_bound"] for case in cases.values()), "cases": cases}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
