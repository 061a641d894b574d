# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The plan that `cs-run --tune` keeps against each policy, measured on real networks.

Emulated steps of ResNet-50, VGG-16, DistilBERT and, with COMMSCHED_DATA, GNMT as PipeDream measured it (_shaped.py: 4 ranks around a ring, devices wait for the
times of a profile, messages are sent for real), communication 0.5, 1 and 2 times compute, at 1 and 2 Gbit/s; and the
Transformer of examples/ trained for real by 2 workers at 1 Gbit/s, 500 and 250 Mbit/s (scheduled_training.py). A
host for each rank (net/hosts.py); plans are made of what --calibrate, and for real training --profile, measure, with
the tools' defaults:

    solver           where a run begins
    priority         a message per tensor, by first consumer
    bytescheduler    slices and credit found by Bayesian optimisation
    fifo             a message per tensor, first come, first served
    fixed-buckets    buckets as in PyTorch DDP, and its barrier
    latency-hiding   as Inductor's and XLA's schedulers interleave

First a run with --tune tries all but the last on its own steps, and says which one it keeps: ours. Then runs of
ours and of every policy follow in turn, --rounds times; a policy's time is the median over them. So what
was measured to choose is not what is compared, and ours has a run of its own.

The bound is that of the compiler for the program's order of ops and the links as calibrated; a measurement is below it if
it is shorter by more than the clocks' error, a thousandth. Needs root and iproute2.
"""
import argparse
import json
import os
import pathlib
import re
import signal
import statistics
import subprocess
import sys
import tempfile

import _shaped
import scheduled_training
from _tools import tool
from net import hosts

TRIED = ["solver", "bytescheduler", "priority", "fixed-buckets", "fifo"]
POLICIES = [*TRIED, "latency-hiding"]
MODELS = ["resnet50", "vgg16", "distilbert", *(["gnmt.pipedream"] if "COMMSCHED_DATA" in os.environ else [])]
RANKS, STEPS, TRIAL_STEPS = 4, 8, 5
CLOCK_ERROR = 1e-3
KEPT = re.compile(r"tuning: ms of a step: (.*); (\S+) is kept after (\d+) steps, in which trials cost (\S+) s")


def tune(network, port, plans, *options):
    """Which plan a run keeps, and the line that says so; the run ends then."""
    peers = ",".join(f"{address}:{port}" for address in network.addresses)
    tried = ",".join(str(plans[policy]) for policy in TRIED[1:])
    processes = [network.start(rank, [tool("cs-run"), plans["solver"], "--rank", rank, "--peers", peers, "--insecure", "--deadline", 60,
                                      "--tune", tried, "--steps", 100000, "--metrics-every", 100000, *options],
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
                 for rank in range(len(network.addresses))]
    lines = []
    try:
        for line in processes[0].stdout:
            lines.append(line.strip())
            if said := KEPT.search(line):
                policy = next((p for p in TRIED if said[2].endswith(f".{p}") or said[2] == p), None)
                return policy or sys.exit(f"measured_policies: no policy in: {line}"), line.strip()
    finally:
        network.stop(processes)
    sys.exit("measured_policies: the run has ended without a choice:\n" + "\n".join(lines[-20:]))


def in_turn(rounds, kept, measure):
    """Seconds of ours and each policy, by round; ours takes another turn in each."""
    times = {name: [] for name in ["tuned", *POLICIES]}
    for number in range(rounds):
        order = list(times)
        for name in order[number % len(order):] + order[:number % len(order)]:
            times[name].append(measure(kept if name == "tuned" else name))
    return times


def report(name, kept, said, times, bound):
    medians = {policy: statistics.median(each) for policy, each in times.items()}
    best = min((p for p in medians if p != "tuned"), key=medians.get)
    below = sum(seconds < bound * (1 - CLOCK_ERROR) for each in times.values() for seconds in each)
    print(f"  {said}")
    for policy, each in times.items():
        print(f"  {policy:14} {1e3 * medians[policy]:9.2f} ms ({1e3 * min(each):.2f} to {1e3 * max(each):.2f}), "
              f"{medians[policy] / bound:6.3f} of the bound")
    print(f"  {name}: ours ({kept}) over the best, {best}: {medians['tuned'] / medians[best]:.4f}; below the bound: {below}", flush=True)
    return {"kept": kept, "ms": {policy: round(1e3 * s, 2) for policy, s in medians.items()}, "bound_ms": round(1e3 * bound, 2),
            "over_best": round(medians["tuned"] / medians[best], 4), "below_bound": below, "tuning": said}


def emulated(model, rate, share, rounds, folder):
    name = f"{model.name}.{rate / 1e9:g}gbit.{share:g}"
    print(f"{name}, {rounds} rounds of {STEPS} steps", flush=True)
    program, _ = model.scaled(model.factor(RANKS, rate, share))
    with hosts.Network([rate] * RANKS, loopback=True) as network:
        cluster = _shaped.Cluster(network, folder)
        first = _shaped.compile_plan(folder, "first", program, RANKS, rate, "fifo")
        calibration, _ = cluster.calibrate(first.path, rate)
        plans = {policy: _shaped.compile_plan(folder, name, program, RANKS, rate, policy, calibration) for policy in POLICIES}
        kept, said = tune(network, _shaped.PORT - 1, {policy: plan.path for policy, plan in plans.items()}, "--emulate",
                          "--tune-steps", TRIAL_STEPS)
        times = in_turn(rounds, kept, lambda policy: _shaped.step_seconds(cluster.emulate(plans[policy].path, STEPS)))
    return report(name, kept, said, times, plans["fifo"].bound_ns / 1e9)


def trained(rate, rounds, steps, folder):
    name = f"transformer.{rate / 1e6:g}mbit"
    print(f"{name}, {rounds} rounds of {steps} steps", flush=True)
    job = scheduled_training.Job(steps, rate, folder)
    plan, _, _ = job.compile("priority")
    profile, calibration = folder / "profile.json", folder / "calibration.json"
    job.train(plan, "--profile", profile)
    job.run(plan, "--calibrate", calibration)
    costs = f"profile={','.join(map(str, sorted(folder.glob('profile*.json'))))} calibration={calibration}"
    plans, records = {}, {}
    for policy in POLICIES:
        plans[policy], _, records[policy] = job.compile(policy, costs)
    with hosts.Network([rate] * scheduled_training.WORKERS, loopback=True) as network:
        kept, said = tune(network, _shaped.PORT - 1, plans, "--init", folder / "init.safetensors", "--batch",
                          folder / "batch.npz")
    times = in_turn(rounds, kept, lambda policy: job.train(plans[policy])[0]["summary"]["step_ms"] / 1e3)
    return report(name, kept, said, times, int(re.search(r"\bbound_ns = (\d+)", records["fifo"])[1]) / 1e9)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="ResNet-50 at 2 Gbit/s, communication equal to compute, one round")
    parser.add_argument("--models", help=f"emulated, with commas (default {','.join(MODELS)}); none: nothing is emulated")
    parser.add_argument("--rates", help="of emulated steps, with commas (default 1gbit,2gbit)")
    parser.add_argument("--shares", help="communication over compute, with commas (default 0.5,1,2)")
    parser.add_argument("--real", help="rates of the trained Transformer, with commas (default 1gbit,500mbit,250mbit); none")
    parser.add_argument("--steps", type=int, default=20, help="of a run of real training (default 20)")
    parser.add_argument("--rounds", type=int, help="default 5; 1 with --quick")
    options = parser.parse_args()
    if why := hosts.why_unavailable():
        print(f"measured_policies: {why}: skipped")
        return hosts.SKIPPED
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))

    def chosen(given, quick, default):
        text = given or (quick if options.quick else default)
        return [] if text == "none" else text.split(",")
    rounds = options.rounds or (1 if options.quick else 5)
    _shaped.measure_in_peace()
    cases = {}
    for name in chosen(options.models, "resnet50", ",".join(MODELS)):
        model = _shaped.Model(name)
        for rate in map(hosts.bits_per_second, chosen(options.rates, "2gbit", "1gbit,2gbit")):
            for share in map(float, chosen(options.shares, "1", "0.5,1,2")):
                with tempfile.TemporaryDirectory() as folder:
                    cases[f"{name}.{rate / 1e9:g}gbit.{share:g}"] = emulated(model, rate, share, rounds, pathlib.Path(folder))
    for rate in map(hosts.bits_per_second, chosen(options.real, "none", "1gbit,500mbit,250mbit")):
        with tempfile.TemporaryDirectory() as folder:
            cases[f"transformer.{rate / 1e6:g}mbit"] = trained(rate, rounds, options.steps, pathlib.Path(folder))
    ratios = [case["over_best"] for case in cases.values()]
    print(json.dumps({"worst_over_best": max(ratios), "median_over_best": round(statistics.median(ratios), 4),
                      "below_bound": sum(case["below_bound"] for case in cases.values()), "cases": cases}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
