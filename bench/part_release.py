# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Fused messages whose tensors are used as soon as they are there (`parts=true`), against the same without.

Three plans of a step, all of the solver:

    without   its schedule where a message is there at its end
    fused     the messages of `with`, in their order, but all of each at its end
    with      its schedule where parts are released one by one

Predicted: profiles of models (examples/profiles, and COMMSCHED_DATA where set) on 2 to 64 workers at 1 to 100 Gbit/s, as
`bench/run schedule_table` has them: by how much `with` is shorter than `without` in the solver's model, and `fused` than `with`.

Emulated: ResNet-50, VGG-16 and DistilBERT on 2 ranks, a host and a link for each (_shaped.py: devices wait for the times
of the profile, messages are sent for real), communication 1 and 2 times compute. Real: the Transformer of examples/ trained
by 2 workers over slow links (scheduled_training.py), with measured costs. All plans run in turn, --rounds times; a gain is
the median over the rounds. Losses and parameters of the real ones must be equal bit for bit; what is emulated has no values.

Needs root and iproute2, but for --predict-only.
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import signal
import statistics
import sys
import tempfile

import _shaped
import _shipped
import scheduled_training
from _tools import call, tool
from net import hosts

RANKS, STEPS = 2, 10
MODELS = ["resnet50", "vgg16", "distilbert"]
WAYS = ["without", "fused", "with"]
PARTS = re.compile(r" parts \[[0-9, ]*\]")
PERIOD = re.compile(r"\bperiod_ns = (\d+)")


def whole(schedule, target):
    """The same schedule, whose messages are there as a whole: its plan. How many were not."""
    text, count = PARTS.subn("", schedule.read_text())
    module = target.with_suffix(".mlir")
    module.write_text(text)
    call(tool("cs-translate"), "--mlir-to-plan", module, "-o", target)
    return count


def gain(before, after):
    """In percent."""
    return 100 * (1 - after / before)


def in_turn(rounds, measure):
    """What `measure` says of each way, by round; another one is first in each."""
    found = {way: [] for way in WAYS}
    for number in range(rounds):
        for way in WAYS[number % len(WAYS):] + WAYS[:number % len(WAYS)]:
            found[way].append(measure(way))
    return found


def report(name, times, periods, count):
    """`times`: seconds by way and round. `periods`: what the compiler says, without and with."""
    medians = {way: statistics.median(each) for way, each in times.items()}
    gains = {way: statistics.median(gain(a, b) for a, b in zip(times[way], times["with"])) for way in ("without", "fused")}
    predicted = gain(*periods)
    print(f"  {name:28}{count:4} fused; ms " + ", ".join(f"{way} {1e3 * medians[way]:.2f}" for way in WAYS)
          + f"; gains {gains['without']:+.2f} % (predicted {predicted:+.2f}), {gains['fused']:+.2f} % with the same messages", flush=True)
    return {"gain_percent": round(gains["without"], 2), "predicted_percent": round(predicted, 2),
            "same_messages_percent": round(gains["fused"], 2), "fused_messages": count,
            "ms": {way: round(1e3 * seconds, 2) for way, seconds in medians.items()}}


def emulated(name, rate, share, rounds, folder):
    model = _shaped.Model(name)
    program, _ = model.scaled(model.factor(RANKS, rate, share))
    with hosts.Network([rate] * RANKS, loopback=True) as network:
        cluster = _shaped.Cluster(network, folder)
        first = _shaped.compile_plan(folder, "first", program, RANKS, rate, "fifo")
        calibration, _ = cluster.calibrate(first.path, rate)
        plans, periods = {}, []
        for way, options in ("without", ""), ("with", "parts=true"):
            plan = _shaped.compile_plan(folder, way, program, RANKS, rate, "solver", calibration, options=options)
            plans[way] = plan.path
            periods.append(plan.period_ns)
        plans["fused"] = folder / "fused.plan"
        count = whole(plan.schedule, plans["fused"])
        times = in_turn(rounds, lambda way: _shaped.step_seconds(cluster.emulate(plans[way], STEPS)))
    return report(f"{name}.{rate / 1e9:g}gbit.{share:g}", times, periods, count)


def trained(rate, steps, rounds, folder):
    # Inputs are written by scheduled_training itself, in a process of its own.
    job = scheduled_training.Job(steps, rate, folder)
    first, _, _ = job.compile("priority")
    job.train(first, "--profile", folder / "profile.json")
    job.run(first, "--calibrate", folder / "calibration.json")
    costs = " ".join(f"{what}={','.join(map(str, sorted(folder.glob(what + '*.json'))))}" for what in ("profile", "calibration"))
    plans, periods = {}, []
    for way, options in ("without", ""), ("with", "parts=true"):
        plan, _, record = job.compile("solver", f"{costs} {options}")
        plans[way] = plan.rename(folder / f"{way}.plan")
        periods.append(int(PERIOD.search(record)[1]))
    plans["fused"] = folder / "fused.plan"
    count = whole(folder / "solver.mlir", plans["fused"])
    seen = []

    def measure(way):
        metrics, final = job.train(plans[way])
        seen.append(([step["loss"] for step in metrics["steps"]], final))
        if len(seen[0][0]) != steps or seen[-1] != seen[0]:
            sys.exit(f"part_release: {way}: losses or parameters differ from those of {WAYS[0]}")
        return metrics["summary"]["step_ms"] / 1e3
    times = in_turn(rounds, measure)
    return report(f"transformer.{rate / 1e6:g}mbit", times, periods, count)


def predicted(arguments):
    """By model, rate and workers: gains in the solver's model."""
    data = "" if arguments.quick else os.environ.get("COMMSCHED_DATA", "")
    profiles = _shipped.profiles([_shipped.ROOT / "examples/profiles", *filter(None, [data])])
    if arguments.quick:
        profiles = {name: profiles[name] for name in ("resnet50", "bert_large")}
    rates, workers = ((10,), (2, 8)) if arguments.quick else ((1, 10, 40, 100), (2, 4, 16, 64))

    def one(case):
        name, path, gbit, nodes = case
        alpha = 30_000 if gbit <= 25 else 8_000
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            (folder / "program.mlir").write_text(_shipped.program(path))
            (folder / "cluster.mlir").write_text(_shipped.cluster(nodes, gbit, alpha // 3, alpha - alpha // 3))
            periods = []
            for parts in "false", "true":
                text = call(tool("cs-opt"), folder / "program.mlir",
                            f"--cs-all-reduce-pipeline=cluster={folder / 'cluster.mlir'} parts={parts}")
                periods.append(int(PERIOD.search(text)[1]))
            return f"{name}.{gbit}gbit.{nodes}", gain(*periods), len(PARTS.findall(text))
    cases = [(name, path, gbit, nodes) for name, path in profiles.items() for gbit in rates for nodes in workers]
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        rows = list(pool.map(one, cases))
    for nodes in workers:
        of = [percent for name, percent, _ in rows if name.endswith(f".{nodes}")]
        print(f"  predicted, {nodes:2} workers: median {statistics.median(of):+.2f} %, least {min(of):+.2f} %, most {max(of):+.2f} %")
    for name, percent, count in sorted(rows, key=lambda row: -row[1])[:5]:
        print(f"    {name:36}{percent:+.2f} %, {count} messages fused")
    gains = [percent for _, percent, _ in rows]
    return {"cases": len(rows), "median_percent": round(statistics.median(gains), 3), "most_percent": round(max(gains), 2),
            "least_percent": round(min(gains), 2), "longer": sum(percent < -0.005 for percent in gains)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="two predicted models, ResNet-50 emulated, the Transformer at 250 Mbit/s; one round")
    parser.add_argument("--models", help=f"emulated, with commas (default {','.join(MODELS)}); none: nothing is emulated")
    parser.add_argument("--rates", default="1gbit", help="of emulated steps, with commas (default 1gbit)")
    parser.add_argument("--shares", help="communication over compute, with commas (default 1,2)")
    parser.add_argument("--real", help="rates of the trained Transformer, with commas (default 500mbit,250mbit); none")
    parser.add_argument("--steps", type=int, default=20, help="of a run of real training (default 20)")
    parser.add_argument("--rounds", type=int, help="default 5; 1 with --quick")
    parser.add_argument("--predict-only", action="store_true", help="nothing is run")
    parser.add_argument("--no-predict", action="store_true", help="without the table of profiles")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="profiles that are compiled at once")
    options = parser.parse_args()
    why = "" if options.predict_only else hosts.why_unavailable()
    if why:
        print(f"part_release: {why}: skipped")
        return hosts.SKIPPED
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))

    def chosen(given, quick, default):
        text = "none" if options.predict_only else given or (quick if options.quick else default)
        return [] if text == "none" else text.split(",")
    table = {} if options.no_predict else predicted(options)
    rounds = options.rounds or (1 if options.quick else 5)
    if not options.predict_only:
        _shaped.measure_in_peace()
    cases, real = {}, {}
    for name in chosen(options.models, "resnet50", ",".join(MODELS)):
        for rate in map(hosts.bits_per_second, options.rates.split(",")):
            for share in map(float, chosen(options.shares, "1", "1,2")):
                with tempfile.TemporaryDirectory() as folder:
                    cases[f"{name}.{rate / 1e9:g}gbit.{share:g}"] = emulated(name, rate, share, rounds, pathlib.Path(folder))
    for rate in map(hosts.bits_per_second, chosen(options.real, "250mbit", "500mbit,250mbit")):
        with tempfile.TemporaryDirectory() as folder:
            real[f"transformer.{rate / 1e6:g}mbit"] = trained(rate, options.steps, rounds, pathlib.Path(folder))
    result = {"table": table, "emulated": cases, "real": real}
    for key in ("gain_percent", "predicted_percent", "same_messages_percent"):
        of = [case[key] for case in [*cases.values(), *real.values()]]
        result[key] = round(statistics.median(of), 2) if of else table.get("median_percent") if key != "same_messages_percent" else None
    if real:
        result["bitwise_equal"] = True
    print(json.dumps(result))
    return 0


if __name__ == "__main__":
    sys.exit(main())
