# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Fused messages whose tensors are used as soon as they are there (`parts=true`), against the same without.

Two policies, each without and with parts: `pace`, which fuses most and as its publication says, with the same messages
both times but for the order in them; and `solver`, which finds a schedule for either.

Where communication takes longer than compute the link decides, whatever is read when. Predicted: profiles of models (examples/profiles, and COMMSCHED_DATA where set) on 2 to 64 workers at 1 to 100 Gbit/s, costs as
`bench/run schedule_table` has them: by how much a step is shorter with parts, in the solver's model.

Emulated: ResNet-50, VGG-16 and DistilBERT on 2 ranks, a host and a link for each (_shaped.py: devices wait for the times
of the profile, messages are sent for real), communication 0.5 and 1 times compute. Real: the Transformer of examples/ trained
by 2 workers over slow links (scheduled_training.py). Costs of links, and of the Transformer's fragments, are measured first. All plans
run in turn, --rounds times; a gain is the median over the rounds. Losses and parameters of the real ones must be equal
bit for bit; what is emulated has no values.

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
from _shaped import gain, in_turn
from _tools import call, steady_step_ms, tool
from net import hosts

RANKS, STEPS = 2, 10
MODELS = ["resnet50", "vgg16", "distilbert"]
POLICIES = ["pace", "solver"]
WAYS = [(policy, parts) for policy in POLICIES for parts in ("false", "true")]
PARTS = re.compile(r" parts \[[0-9, ]*\]")
PERIOD = re.compile(r"\bperiod_ns = (\d+)")


def report(name, times, plans, simulated=None):
    """`times`: seconds by way and round. `plans`: by way, its period as the compiler says and how many messages have parts.
    `simulated`: by way, seconds of a step as cs-run predicts them."""
    result = {}
    for policy in POLICIES:
        without, with_parts = (policy, "false"), (policy, "true")
        percent = statistics.median(gain(a, b) for a, b in zip(times[without], times[with_parts]))
        medians = [1e3 * statistics.median(times[way]) for way in (without, with_parts)]
        predicted = gain(plans[without][0], plans[with_parts][0])
        by_run = f", simulated {gain(simulated[without], simulated[with_parts]):+.2f}" if simulated else ""
        print(f"  {name:24} {policy:8}{medians[0]:9.2f} ms, with parts {medians[1]:9.2f}: {percent:+.2f} % (predicted {predicted:+.2f}{by_run}); "
              f"{plans[with_parts][1]} messages have parts", flush=True)
        result[policy] = {"gain_percent": round(percent, 2), "predicted_percent": round(predicted, 2),
                          "ms": [round(ms, 2) for ms in medians], "fused": plans[with_parts][1]}
        if simulated:
            result[policy]["simulated_percent"] = round(gain(simulated[without], simulated[with_parts]), 2)
    return result


def emulated(name, rate, share, rounds, folder):
    model = _shaped.Model(name)
    program, _ = model.scaled(model.factor(RANKS, rate, share))
    with hosts.Network([rate] * RANKS, loopback=True) as network:
        cluster = _shaped.Cluster(network, folder)
        first = _shaped.compile_plan(folder, "first", program, RANKS, rate, "fifo")
        calibration, _ = cluster.calibrate(first.path, rate)
        paths, plans = {}, {}
        for policy, parts in WAYS:
            plan = _shaped.compile_plan(folder, parts, program, RANKS, rate, policy, calibration, options=f"parts={parts}")
            paths[policy, parts] = plan.path
            plans[policy, parts] = plan.period_ns, len(PARTS.findall(plan.schedule.read_text()))
        simulated = {way: _shaped.simulate(path, STEPS, calibration, folder) for way, path in paths.items()}
        times = in_turn(WAYS, rounds, lambda way: _shaped.step_seconds(cluster.emulate(paths[way], STEPS)))
    return report(f"{name}.{rate / 1e9:g}gbit.{share:g}", times, plans, simulated)


def trained(rate, steps, rounds, folder):
    # Inputs are written by scheduled_training itself, in a process of its own.
    job = scheduled_training.Job(steps, rate, folder)
    first, _, _ = job.compile("priority")
    job.train(first, "--profile", folder / "profile.json")
    job.run(first, "--calibrate", folder / "calibration.json")
    costs = " ".join(f"{what}={','.join(map(str, sorted(folder.glob(what + '*.json'))))}" for what in ("profile", "calibration"))
    paths, plans = {}, {}
    for policy, parts in WAYS:
        plan, _, record = job.compile(policy, f"{costs} parts={parts}")
        paths[policy, parts] = plan.rename(folder / f"{policy}.{parts}.kept.plan")
        plans[policy, parts] = (int(PERIOD.search(record)[1]), len(PARTS.findall((folder / f"{policy}.mlir").read_text())))
    seen = []

    def measure(way):
        metrics, final = job.train(paths[way])
        seen.append(([step["loss"] for step in metrics["steps"]], final))
        if len(seen[0][0]) != steps or seen[-1] != seen[0]:
            sys.exit(f"part_release: {way}: losses or parameters differ from those of {WAYS[0]}")
        return steady_step_ms(metrics["summary"]) / 1e3
    return report(f"transformer.{rate / 1e6:g}mbit", in_turn(WAYS, rounds, measure), plans)


def predicted(arguments):
    """Of each policy: gains over models, rates and numbers of workers, in the solver's model."""
    data = "" if arguments.quick else os.environ.get("COMMSCHED_DATA", "")
    profiles = _shipped.profiles([_shipped.ROOT / "examples/profiles", *filter(None, [data])])
    if arguments.quick:
        profiles = {name: profiles[name] for name in ("resnet50", "bert_large")}
    rates, workers = ((10,), (2, 8)) if arguments.quick else ((1, 10, 40, 100), (2, 4, 16, 64))

    def one(case):
        name, path, gbit, nodes, policy = case
        alpha = 30_000 if gbit <= 25 else 8_000
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            (folder / "program.mlir").write_text(_shipped.program(path))
            (folder / "cluster.mlir").write_text(_shipped.cluster(nodes, gbit, alpha // 3, alpha - alpha // 3))
            periods = [int(PERIOD.search(call(tool("cs-opt"), folder / "program.mlir", f"--cs-all-reduce-pipeline=cluster={folder / 'cluster.mlir'} "
                                              f"schedule={policy} parts={parts}"))[1]) for parts in ("false", "true")]
            return policy, f"{name}.{gbit}gbit.{nodes}", gain(*periods)
    cases = [(name, path, gbit, nodes, policy) for name, path in profiles.items() for gbit in rates for nodes in workers for policy in POLICIES]
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        rows = list(pool.map(one, cases))
    result = {}
    for policy in POLICIES:
        of = sorted(((percent, name) for own, name, percent in rows if own == policy), reverse=True)
        gains = [percent for percent, _ in of]
        print(f"  predicted, {policy:8} {len(of)} cases: median {statistics.median(gains):+.2f} %, least {min(gains):+.2f} %; most: "
              + ", ".join(f"{name} {percent:+.2f} %" for percent, name in of[:4]), flush=True)
        result[policy] = {"cases": len(of), "median_percent": round(statistics.median(gains), 2), "most_percent": round(max(gains), 2),
                          "least_percent": round(min(gains), 2), "above_1_percent": sum(percent > 1 for percent in gains)}
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="two predicted models, ResNet-50 emulated, the Transformer at 250 Mbit/s; one round")
    parser.add_argument("--models", help=f"emulated, with commas (default {','.join(MODELS)}); none: nothing is emulated")
    parser.add_argument("--rates", default="1gbit", help="of emulated steps, with commas (default 1gbit)")
    parser.add_argument("--shares", help="communication over compute, with commas (default 0.5,1)")
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
            for share in map(float, chosen(options.shares, "0.5", "0.5,1")):
                with tempfile.TemporaryDirectory() as folder:
                    cases[f"{name}.{rate / 1e9:g}gbit.{share:g}"] = emulated(name, rate, share, rounds, pathlib.Path(folder))
    for rate in map(hosts.bits_per_second, chosen(options.real, "250mbit", "500mbit,250mbit")):
        with tempfile.TemporaryDirectory() as folder:
            real[f"transformer.{rate / 1e6:g}mbit"] = trained(rate, options.steps, rounds, pathlib.Path(folder))
    result = {}
    for policy, prefix in ("pace", ""), ("solver", "solver_"):
        for key in "gain_percent", "predicted_percent":
            of = [case[policy][key] for case in [*cases.values(), *real.values()]]
            result[prefix + key] = round(statistics.median(of), 2) if of else None
    if real:
        result["bitwise_equal"] = True
    print(json.dumps({**result, "table": table, "emulated": cases, "real": real}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
