# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What it costs that collectives go in one order that is fixed in the plan, as NCCL's must, and do not overtake at run time.

Predicted by `cs-run --simulate`, not measured: the plan of each model of examples/profiles on 8 ranks with links of
100 Gbit/s, as `--schedule-comm` makes it, with compute scaled so that communication is 0.5, 1 and 1.5 times compute. Each
step's fragments take up to 0, 2 and 10 % longer or shorter, drawn for each rank and step (--jitter). Once urgent messages
overtake others, as with the transports that there are; once a rank's collectives go one at a time in an order that is the
same on all ranks (--in-order). What is overtaken may be long, what is not must be short: of plans whose messages have any
length, or at most 16, 4 or 1 MiB, each way has the one that is best for it without jitter. Links, rounds and packets are those of
our transports in both, not NCCL's: rounds of one collective alone leave gaps on a link, which others fill where several are
under way, so most of what one order costs here is there without jitter; `over_no_jitter` is what jitter adds to it.
"""
import argparse
import json
import pathlib
import statistics
import sys
import tempfile

import _shaped
from _tools import call, tool

MODELS = ["resnet50", "vgg16", "distilbert"]
SHARES = [0.5, 1, 1.5]
JITTERS = [0, 0.02, 0.1]
MESSAGE_MIB = [0, 16, 4, 1]  # at most; 0: any
RANKS, RATE = 8, 100e9


def compile_plan(folder, program, latency_ns, message_mib):
    step, cluster, schedule, plan = (folder / name for name in ("step.mlir", "cluster.mlir", "schedule.mlir", f"step.{message_mib}.plan"))
    step.write_text(program)
    cluster.write_text(f"cs.cluster @nccl nodes = {RANKS} devices = 1 device = <kind = cpu, gflops = 1000, gb_per_s = 1000>\n"
                       f"  intra = <mbit_per_s = 800000, latency_ns = 5000>\n"
                       f"  inter = <mbit_per_s = {round(RATE * _shaped.PAYLOAD / 1e6)}, latency_ns = {latency_ns}>\n")
    call(tool("cs-opt"), step, f"--cs-all-reduce-pipeline=cluster={cluster} algorithm=ring message-bytes={message_mib << 20}", "-o", schedule)
    call(tool("cs-translate"), "--mlir-to-plan", schedule, "-o", plan)
    return plan


def simulate(plan, folder, steps, jitter, seed, in_order):
    out = folder / "simulated.json"
    call(tool("cs-run"), plan, "--simulate", "--steps", steps, "--jitter", f"{jitter}/{seed}", "--metrics-json", out,
         *["--in-order"] * in_order)
    return json.loads(out.read_text())["step_ns"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", help=f"with commas (default {','.join(MODELS)})")
    parser.add_argument("--seeds", type=int, default=3, help="draws of jitter")
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--latency-ns", type=int, default=5000, help="of a link, for plans and simulation (default 5000)")
    parser.add_argument("--quick", action="store_true", help="ResNet-50, communication equal to compute, one draw")
    options = parser.parse_args()
    names = (options.models or ("resnet50" if options.quick else ",".join(MODELS))).split(",")
    shares, seeds = ([1], 1) if options.quick else (SHARES, options.seeds)
    cases = []
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for model in map(_shaped.Model, names):
            for share in shares:
                program, _ = model.scaled(model.factor(RANKS, RATE, share))
                plans = [compile_plan(folder, program, options.latency_ns, mib) for mib in MESSAGE_MIB]
                # Each way with the plan that is best for it.
                best = [min(range(len(plans)), key=lambda i: simulate(plans[i], folder, options.steps, 0, 0, order))
                        for order in (False, True)]
                for jitter in JITTERS:
                    ratios = []
                    for seed in range(seeds if jitter else 1):
                        dynamic, static = (simulate(plans[best[order]], folder, options.steps, jitter, seed, order)
                                           for order in (False, True))
                        ratios.append(static / dynamic)
                    cases.append({"model": model.name, "share": share, "jitter": jitter, "message_mib": [MESSAGE_MIB[i] for i in best],
                                  "dynamic_ms": dynamic / 1e6,
                                  "static_over_dynamic": round(statistics.mean(ratios), 4)})
                    print(f"{model.name:10} communication {share:3g} times compute, jitter {100 * jitter:2g} %: "
                          f"{dynamic / 1e6:8.3f} ms overtaking, in one order {statistics.mean(ratios):.4f} of it (messages of at most "
                          f"{' and '.join(str(MESSAGE_MIB[i] or 'any') for i in best)} MiB)", flush=True)
    def worst(key):
        return {f"{100 * jitter:g}": max(case[key] for case in cases if case["jitter"] == jitter) for jitter in JITTERS}
    for case in cases:
        base = next(c for c in cases if (c["model"], c["share"], c["jitter"]) == (case["model"], case["share"], 0))
        case["over_no_jitter"] = round(case["static_over_dynamic"] / base["static_over_dynamic"], 4)
    print(json.dumps({"benchmark": "nccl_order", "static_over_dynamic": worst("static_over_dynamic"),
                      "over_no_jitter": worst("over_no_jitter"), "measured": False, "cases": cases}))


if __name__ == "__main__":
    sys.exit(main())
