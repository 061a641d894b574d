# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What it gains that all devices of a node reduce a gradient, each a shard of it.

Profiles of ResNet-50, VGG-16 and DistilBERT (examples/profiles), compiled with the
defaults of the pipeline: gradients that are large for the links inside a node are
reduce-scattered between its devices, all-reduced between nodes by every device, and
all-gathered again (docs/devices.md). Compared with `hierarchical=false`, where each gradient is
copied whole to one owner, combined, all-reduced and updated there, and copied back whole; all
else is the same. And with the bound that the compiler certifies for the schedule that is
measured.

emulated: 4 nodes of 4 devices, each node a process on a host of its own with a link of 1
Gbit/s (net/hosts.py). Inside a node links have 3.84 times as much for each device: what PCIe 3
(12 GB/s) is to 25 Gbit/s. Times of the profile are scaled so that communication between nodes
takes as long as compute (_shaped.py). Plans are made with links as --calibrate measures them on
the same network. All-reduces go around a ring, as in shaped_step: a host sends to one other
then, so that one queue orders everything on its link.

simulated: 16 nodes of 8 devices, 25 Gbit/s between nodes, times of the profile as they are; inside
a node PCIe 3 (96 Gbit/s), and NVLink (1.2 Tbit/s).

The emulation needs root and iproute2; without them only the rest is done.
"""
import argparse
import json
import pathlib
import re
import signal
import sys
import tempfile

import _shaped
from _tools import call, tool
from net import hosts

MODELS = ["resnet50", "vgg16", "distilbert"]
NODES, DEVICES, RATE = 4, 4, "1gbit"
INSIDE = 12e9 * 8 / 25e9  # of a device, over the rate between nodes
LINKS = {"pcie": 96_000, "nvlink": 1_200_000}  # Mbit/s, of the simulated nodes
STEPS, WARM_UP = 6, 2
WAYS = {"ours": "", "flat": " hierarchical=false"}


def cluster(nodes, devices, mbit_per_s, intra_mbit_per_s):
    return (f"cs.cluster @nodes nodes = {nodes} devices = {devices} device = <kind = cuda, gflops = 15700, gb_per_s = 900>\n"
            f"  intra = <mbit_per_s = {round(intra_mbit_per_s)}, latency_ns = 5000>\n"
            f"  inter = <mbit_per_s = {round(mbit_per_s)}, latency_ns = 20000, overhead_ns = 20000>\n")


class Plan:
    """A plan of the program, and what its schedule says: bound_ns, and how many gradients are in shards."""

    def __init__(self, folder, program, of_cluster, way, calibration=None, algorithm="auto"):
        (folder / "step.mlir").write_text(program)
        (folder / "cluster.mlir").write_text(of_cluster)
        self.path, schedule = folder / f"{way}.plan", folder / f"{way}.schedule.mlir"
        costs = f" calibration={calibration}" if calibration else ""
        call(tool("cs-opt"), folder / "step.mlir",
             f"--cs-all-reduce-pipeline=cluster={folder / 'cluster.mlir'}{WAYS[way]}{costs} algorithm={algorithm}", "-o", schedule)
        call(tool("cs-translate"), "--mlir-to-plan", schedule, "-o", self.path)
        text = schedule.read_text()
        self.bound_ns = int(re.search(r"#cs\.schedule<[^>]*\bbound_ns = (\d+)", text)[1])
        self.shards = len(re.findall(r'"sum\.[^"]*\.shard0"', text))


def simulate(plan, *options):
    """Seconds of a step in the long run."""
    path = plan.path.with_suffix(".json")
    call(tool("cs-run"), plan.path, "--simulate", "--metrics-json", path, *options)
    return json.loads(path.read_text())["step_ns"] / 1e9


class Figures:
    def __init__(self):
        self.rows = []

    def add(self, where, model, seconds, bound_ns, shards, predicted=None):
        row = {"where": where, "model": model, **{way: round(s, 5) for way, s in seconds.items()},
               "over_flat": round(seconds["flat"] / seconds["ours"], 4),
               "over_bound": round(seconds["ours"] * 1e9 / bound_ns, 4)}
        said = "" if predicted is None else f" (predicted {1e3 * predicted:9.1f})"
        print(f"  {model:11} {where:16} flat {1e3 * seconds['flat']:9.1f} ms, ours {1e3 * seconds['ours']:9.1f} ms{said}: "
              f"{row['over_flat']:.3f} times as fast, {row['over_bound']:.4f} of the bound; {shards} gradients in shards",
              flush=True)
        self.rows.append(row)


def emulate(model, network, folder, figures, algorithm):
    hosts_of = _shaped.Cluster(network, folder)
    rate = hosts.bits_per_second(RATE)
    program, _ = model.scaled(model.factor(NODES, rate, 1))
    wire = rate * _shaped.PAYLOAD
    of_cluster = cluster(NODES, DEVICES, wire / 1e6, INSIDE * wire / 1e6)
    calibration, _ = hosts_of.calibrate(Plan(folder, program, of_cluster, "ours", algorithm=algorithm).path, rate)
    plans = {way: Plan(folder, program, of_cluster, way, calibration, algorithm) for way in WAYS}
    seconds = {way: _shaped.step_seconds(hosts_of.emulate(plan.path, STEPS), WARM_UP) for way, plan in plans.items()}
    figures.add("emulated", model.name, seconds, plans["ours"].bound_ns, plans["ours"].shards,
                simulate(plans["ours"], "--read-calibration", calibration))


def simulate_large(model, link, folder, figures):
    of_cluster = cluster(16, 8, 25_000, LINKS[link])
    plans = {way: Plan(folder, model.program, of_cluster, way) for way in WAYS}
    figures.add(f"simulated {link}", model.name, {way: simulate(plan) for way, plan in plans.items()},
                plans["ours"].bound_ns, plans["ours"].shards)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="VGG-16")
    parser.add_argument("--models", help=f"with commas (default {','.join(MODELS)})")
    parser.add_argument("--only", choices=["emulated", "simulated"])
    parser.add_argument("--algorithm", default="ring", help="of the emulated all-reduces (default ring)")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    models = [_shaped.Model(name) for name in (options.models or ("vgg16" if options.quick else ",".join(MODELS))).split(",")]
    figures = Figures()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        if options.only != "emulated":
            print("16 nodes of 8 devices, 25 Gbit/s, simulated")
            for model in models:
                for link in LINKS:
                    simulate_large(model, link, folder, figures)
        why = hosts.why_unavailable()
        if options.only != "simulated" and why:
            print(f"hierarchical: {why}: nothing is emulated")
        elif options.only != "simulated":
            _shaped.measure_in_peace()
            print(f"{NODES} nodes of {DEVICES} devices, {RATE}, emulated")
            with hosts.Network([hosts.bits_per_second(RATE)] * NODES, loopback=True) as network:
                for model in models:
                    emulate(model, network, folder, figures, options.algorithm)

    def worst(key, choose, where):
        values = [row[key] for row in figures.rows if row["where"].startswith(where)]
        return choose(values) if values else None
    print(json.dumps({"over_flat": worst("over_flat", min, ""), "over_bound": worst("over_bound", max, ""),
                      **{where: {"over_flat": worst("over_flat", min, where), "over_bound": worst("over_bound", max, where)}
                         for where in ("emulated", "simulated")}, "cases": figures.rows}))


if __name__ == "__main__":
    sys.exit(main())
