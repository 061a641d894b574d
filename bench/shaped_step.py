# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How long emulated steps take on a real network, against the bound and the prediction.

Profiles of ResNet-50, VGG-16 and DistilBERT, a Transformer (examples/profiles), on 4
ranks, each on a host of its own with a link of 1 or 2 Gbit/s (net/hosts.py). Devices
wait for the times of the profile, scaled so that communication is 0.5, 1 or 2 times
compute (_shaped.py); messages are sent by the gRPC transport, without TLS. --calibrate
measures the links on the same network, once for each rate; plans of each policy are
made with these costs, run in turn, and compared:

    fifo            a message per tensor, first come, first served
    fixed-buckets   buckets as in PyTorch DDP, and its barrier
    bytescheduler   slices and credit found by Bayesian optimisation
    solver          ours

All-reduce is around a ring, for all policies. A step's time is the mean from the
beginning of one step to that of the next, without the first two, of the rank where it is
longest. The bound is the certified one (`bound_ns`) for the program's order of ops and the
links as calibrated; the prediction that of `cs-run --simulate`, with the same.
Buckets and ByteScheduler run where communication equals compute only; --all-policies
runs them everywhere.

Needs root and iproute2. With COMMSCHED_DATA and --models, profiles that PipeDream has
measured, too: vgg16.pipedream, resnet50.pipedream.
"""
import argparse
import json
import pathlib
import signal
import statistics
import sys
import tempfile

import _shaped
from net import hosts, traces

MODELS = ["resnet50", "vgg16", "distilbert"]
POLICIES = ["solver", "fifo", "fixed-buckets", "bytescheduler"]
RANKS = 4
SECONDS = 10  # that a run takes, at most MOST_STEPS and at least LEAST_STEPS steps
LEAST_STEPS, MOST_STEPS = 5, 8


def case(cluster, calibration, model, rate, share, policies, keep):
    """What of each policy was measured and predicted."""
    program, _ = model.scaled(model.factor(RANKS, rate, share))
    name = f"{model.name}.{rate / 1e9:g}gbit.{share:g}"
    bound_ns = _shaped.compile_plan(cluster.folder, name, program, RANKS, rate, "fifo", calibration).bound_ns
    rows = {}
    for policy in policies:
        plan = _shaped.compile_plan(cluster.folder, name, program, RANKS, rate, policy, calibration)
        steps = max(LEAST_STEPS, min(MOST_STEPS, 2 + round(SECONDS * 1e9 / plan.period_ns)))
        predicted = _shaped.simulate(plan.path, steps, calibration, cluster.folder)
        measured = cluster.emulate(plan.path, steps)
        seconds = _shaped.step_seconds(measured)
        rows[policy] = {"seconds": seconds, "bound": bound_ns / 1e9, "period": plan.period_ns / 1e9,
                        "predicted": predicted, "error": seconds / predicted - 1, "messages": plan.messages}
        print(f"  {policy:14} {1e3 * seconds:8.1f} ms, {1e9 * seconds / bound_ns:6.3f} of the bound; predicted "
              f"{1e3 * predicted:8.1f} ({100 * (seconds / predicted - 1):+5.1f} %), by the solver's model "
              f"{plan.period_ns / 1e6:8.1f}; {plan.messages} messages", flush=True)
        if keep:
            traces.write(traces.merge(measured), keep / f"{name}.{policy}.trace.json")
        plan.schedule.unlink()
        plan.path.unlink()
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="ResNet-50, 1 Gbit/s, communication equal to compute")
    parser.add_argument("--models", help=f"with commas (default {','.join(MODELS)})")
    parser.add_argument("--rates", help="with commas (default 1gbit,2gbit)")
    parser.add_argument("--shares", help="communication over compute, with commas (default 0.5,1,2)")
    parser.add_argument("--policies", help=f"with commas (default {','.join(POLICIES)})")
    parser.add_argument("--all-policies", action="store_true", help="all of them in all cases")
    parser.add_argument("--keep", type=pathlib.Path, help="folder for the traces, of all ranks with clocks aligned")
    options = parser.parse_args()
    if why := hosts.why_unavailable():
        print(f"shaped_step: {why}: skipped")
        return hosts.SKIPPED
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    names = (options.models or ("resnet50" if options.quick else ",".join(MODELS))).split(",")
    rates = (options.rates or ("1gbit" if options.quick else "1gbit,2gbit")).split(",")
    shares = (options.shares or ("1" if options.quick else "0.5,1,2")).split(",")
    chosen = (options.policies or ",".join(POLICIES)).split(",")
    if options.keep:
        options.keep.mkdir(parents=True, exist_ok=True)
    models = [_shaped.Model(name) for name in names]
    _shaped.measure_in_peace()
    cases = {}
    with tempfile.TemporaryDirectory() as name:
        for rate in map(hosts.bits_per_second, rates):
            with hosts.Network([rate] * RANKS, loopback=True) as network:
                cluster = _shaped.Cluster(network, pathlib.Path(name))
                program, _ = models[0].scaled(1)
                plan = _shaped.compile_plan(cluster.folder, "calibrate", program, RANKS, rate, "priority")
                calibration, measured = cluster.calibrate(plan.path, rate)
                links = [f"{link['bits_per_s'] / 1e6:.0f}" for link in measured["links"]]
                print(f"links of {rate / 1e9:g} Gbit/s: {', '.join(links)} Mbit/s measured; a round takes "
                      f"{statistics.median(e['round_ns'] for e in measured['exchanges']) / 1e3:.0f} us, each further message "
                      f"{statistics.median(e['message_ns'] for e in measured['exchanges']) / 1e3:.0f} us", flush=True)
                for model in models:
                    for share in map(float, shares):
                        print(f"{model.name}, {model.bytes / 1e6:.0f} MB, {rate / 1e9:g} Gbit/s, communication "
                              f"{share:g} times compute", flush=True)
                        policies = chosen if options.all_policies or share == 1 else chosen[:2]
                        cases[model.name, rate, share] = case(cluster, calibration, model, rate, share, policies, options.keep)
    print(json.dumps(summary(cases)))
    return 0


def summary(cases):
    ours = [rows["solver"] for rows in cases.values() if "solver" in rows]
    over = [row["seconds"] / row["bound"] for row in ours]
    errors = [row["error"] for rows in cases.values() for row in rows.values()]
    behind = [rows["solver"]["seconds"] / min(row["seconds"] for policy, row in rows.items() if policy != "solver")
              for rows in cases.values() if "solver" in rows and len(rows) > 1]
    gains = [rows["fifo"]["seconds"] / rows["solver"]["seconds"] for rows in cases.values() if {"fifo", "solver"} <= rows.keys()]

    def rounded(values, of):
        return round(of(values), 4) if values else None

    return {"over_bound": rounded(over, max), "median_over_bound": rounded(over, statistics.median),
            "over_fifo": rounded(gains, statistics.median),
            "prediction_error": rounded([abs(error) for error in errors], max),
            "prediction_error_of_ours": rounded([abs(row["error"]) for row in ours], max),
            "over_best_other": rounded(behind, max), "cases": len(cases)}


if __name__ == "__main__":
    sys.exit(main())
