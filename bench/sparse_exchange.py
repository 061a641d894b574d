# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What sparse gradients save on the links between nodes, counted, emulated and simulated.

Profiles of ResNet-50 (25.6 M parameters) and BERT-base (110 M), with densities 0.01 and
0.001, exchanged densely (scheduled, as everything here), by flat top-k (allgather), by
HiTopKComm (hitopk), by gTop-k (gtopk), by Ok-Topk (oktopk), and by what the compiler
takes (auto):

counted: the bytes that a node of 4 sends in a step, by cs-run, against the formulas of
docs/sparse.md; they must be equal.

emulated: 4 nodes of 2 devices, each node a process on a host of its own, with links of
100 Mbit/s and 1 Gbit/s (net/hosts.py). Devices wait for the times of the profile and
for the predicted times of selection; messages are real. The times of the profile are
scaled so that dense communication takes twice as long as compute. Methods run in turn;
beside each what cs-run --simulate predicts, with links as --calibrate measures them.
What would take longer than --most-seconds is predicted only.

simulated: 16 nodes of 8 devices with links of 25 Gbit/s, times of the profile as they
are: ResNet-50, and BERT-large as the Transformer. Published for HiTopKComm on such a
cluster of V100: 25 to 40 % faster than the best dense systems.

The emulation needs root and iproute2; without them only the rest is done.
"""
import argparse
import importlib.util
import json
import pathlib
import signal
import statistics
import sys
import tempfile

import _shaped
from _shaped import ROOT
from _tools import call, tool
from net import hosts

METHODS = ["dense", "allgather", "hitopk", "gtopk", "oktopk", "auto"]
NODES, DEVICES, DENSITIES, LEAST = 4, 2, (0.01, 0.001), 16384
RATES = ["100mbit", "1gbit"]
MOST_STEPS, WARM_UP = 5, 1
SIMULATED_STEPS = 8


class Model:
    """A profile: a program of level 0, the elements of its gradients, and compute in ns."""

    def __init__(self, name):
        self.name = name
        path = ROOT / f"examples/profiles/{name}.txt"
        with tempfile.TemporaryDirectory() as folder:
            if name == "bert_base":
                spec = importlib.util.spec_from_file_location("generate", ROOT / "examples/profiles/generate.py")
                generate = importlib.util.module_from_spec(spec)
                sys.modules["generate"] = generate  # dataclasses look there
                spec.loader.exec_module(generate)
                model, title = generate.bert("BERT-base", 12, 768, 12, 16, 512)
                path = pathlib.Path(folder, "bert_base.txt")
                path.write_text(model.text(title))
            self.elements = [size // 4 for layer in _shaped._profiles.read_aicb(path) for size in layer.tensors]
            self.program = call(tool("cs-translate"), "--import-aicb", path)
        self.compute_ns = sum(int(ns) for ns in _shaped.NS.findall(self.program))

    def scaled(self, factor):
        return _shaped.NS.sub(lambda match: f"ns = {round(int(match[1]) * factor)}>", self.program)


def cluster(nodes, devices, mbit_per_s, gb_per_s, intra_mbit_per_s, latency_ns):
    return (f"cs.cluster @sparse nodes = {nodes} devices = {devices} device = <kind = cuda, gflops = 15700, "
            f"gb_per_s = {gb_per_s}>\n  intra = <mbit_per_s = {intra_mbit_per_s}, latency_ns = 5000>\n"
            f"  inter = <mbit_per_s = {mbit_per_s}, latency_ns = {latency_ns}>\n")


def compile_plan(folder, program, of_cluster, method, density, policy="solver", algorithm="ring"):
    """Path of the plan. Around a ring a host sends to one other (_shaped.compile_plan)."""
    (folder / "step.mlir").write_text(program)
    (folder / "cluster.mlir").write_text(of_cluster)
    plan = folder / f"{method}.{density}.plan"
    sparse = "" if method == "dense" else f" density={density} sparse-method={method} min-elements={LEAST}"
    call(tool("cs-opt"), folder / "step.mlir",
         f"--cs-all-reduce-pipeline=cluster={folder / 'cluster.mlir'} schedule={policy} algorithm={algorithm}{sparse}", "-o",
         folder / "schedule.mlir")
    call(tool("cs-translate"), "--mlir-to-plan", folder / "schedule.mlir", "-o", plan)
    return plan


def simulate(plan, *options):
    path = plan.with_suffix(".json")
    call(tool("cs-run"), plan, "--simulate", "--steps", SIMULATED_STEPS, "--metrics-json", path, *options)
    ends = json.loads(path.read_text())["ends_ns"]
    # The first step begins with nothing in flight, and the last has nothing behind it. Of the
    # others long and short ones may take turns.
    return (ends[-2] - ends[0]) / (len(ends) - 2) / 1e9


def find(value, name):
    if isinstance(value, dict):
        if name in value:
            return value[name]
        value = list(value.values())
    if isinstance(value, list):
        for inner in value:
            if (found := find(inner, name)) is not None:
                return found
    return None


# ---- bytes ------------------------------------------------------------------------------------


def formula(elements, method, density, nodes, devices):
    """Bytes that a node sends; docs/sparse.md."""
    total = 0
    for count in elements:
        if method == "dense" or count < LEAST:
            # Around a ring each node sends 2 (nodes - 1) parts of `nodes`, which differ by an element: of each
            # phase all but one.
            begins = [part * count // nodes for part in range(nodes + 1)]
            sizes = [b - a for a, b in zip(begins, begins[1:])]
            total += 4 * (2 * count - sizes[1 % nodes] - sizes[2 % nodes])
            continue
        parts = [count] * devices
        if method != "allgather":
            parts = [count * (d + 1) // devices - count * d // devices for d in range(devices)]
        selected = [max(1, int(density * part + 0.5)) for part in parts]
        if method == "oktopk":  # to the owners of regions, and from them, each with a count
            total += sum((nodes - 1) * (8 * (min(k, -(-5 * k // (4 * nodes))) - (-k // nodes)) + 8) for k in selected)
            continue
        total += 8 * sum(selected) * {"allgather": nodes - 1, "hitopk": nodes - 1, "gtopk": nodes.bit_length() - 1}[method]
    return total


def count_bytes(model, methods, densities, folder):
    """Whether all are equal; prints them."""
    equal = True
    program = model.scaled(0)
    for density in densities:
        for method in methods:
            if method == "auto" or (method == "dense" and density != densities[0]):
                continue
            # In the order of tensors: pieces of tensors would differ by an element.
            plan = compile_plan(folder, program, cluster(NODES, DEVICES, 100_000, 900, 1_000_000, 1000), method, density,
                                "priority")
            call(tool("cs-run"), plan, "--emulate", "--steps", 1, "--deadline", 120, "--metrics-json", folder / "metrics.json")
            sent = find(json.loads((folder / "metrics.json").read_text()), "sent_bytes_per_step")
            want = formula(model.elements, method, density, NODES, DEVICES)
            # Of a profile there is no metric.
            print(f"  {method:10} {'' if method == 'dense' else density:5} {sent / 1e6:9.3f} MB sent by node 0, "
                  f"{want / 1e6:9.3f} by the formula", flush=True)
            equal &= sent == want
    return equal


# ---- time -------------------------------------------------------------------------------------


def emulate(model, rate, network, folder, most_seconds, methods, densities):
    """Rows: density -> method -> (measured or None, predicted)."""
    hosts_of = _shaped.Cluster(network, folder)
    wire = _shaped.PAYLOAD * rate
    seconds = 2 * (NODES - 1) / NODES * 4 * sum(model.elements) * 8 / wire
    program = model.scaled(seconds / 2 * 1e9 / model.compute_ns)
    of_cluster = cluster(NODES, DEVICES, round(wire / 1e6), 900, 80_000, 50_000)
    calibration, _ = hosts_of.calibrate(compile_plan(folder, program, of_cluster, "gtopk", 0.001, "priority"), rate)
    rows = {}
    for density in densities:
        rows[density] = {}
        for method in methods:
            if method == "dense" and density != densities[0]:
                rows[density][method] = rows[densities[0]][method]
                continue
            plan = compile_plan(folder, program, of_cluster, method, density)
            predicted = simulate(plan, "--read-calibration", calibration)
            measured = None
            if predicted * (1 + WARM_UP) < most_seconds:
                steps = max(2 + WARM_UP, min(MOST_STEPS, round(most_seconds / predicted)))
                measured = _shaped.step_seconds(hosts_of.emulate(plan, steps), WARM_UP)
            rows[density][method] = (measured, predicted)
            error = "" if measured is None else f" ({100 * (measured / predicted - 1):+5.1f} %)"
            shown = "not measured" if measured is None else f"{1e3 * measured:9.1f} ms"
            print(f"  {method:10} {'' if method == 'dense' else density:5} {shown}, predicted {1e3 * predicted:9.1f} ms{error}",
                  flush=True)
    return rows


def simulate_large(model, methods, densities, folder):
    """Seconds of a step by density and method, on 16 nodes of 8 devices."""
    of_cluster = cluster(16, 8, 25_000, 900, 1_200_000, 20_000)
    rows = {}
    for density in densities:
        rows[density] = {method: simulate(compile_plan(folder, model.program, of_cluster, method, density,
                                                        algorithm="auto"))
                         for method in methods}
        print(f"  density {density}: " + ", ".join(f"{method} {1e3 * s:.1f} ms" for method, s in rows[density].items()),
              flush=True)
    return rows


def summary(rows):
    """Of {case: {method: seconds}}; what methods that were left out say is None."""
    ratios = [row["hitopk"] / row["dense"] for row in rows if {"hitopk", "dense"} <= set(row)]
    best = [row["auto"] / min(row[m] for m in METHODS[:-1]) for row in rows if set(METHODS) <= set(row)]
    return {"hitopk_over_dense": round(statistics.median(ratios), 4) if ratios else None,
            "auto_over_best": round(max(best), 4) if best else None}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="ResNet-50 over 1 Gbit/s")
    parser.add_argument("--models", help="with commas (default resnet50,bert_base)")
    parser.add_argument("--rates", help=f"with commas (default {','.join(RATES)})")
    parser.add_argument("--methods", help=f"with commas (default {','.join(METHODS)})")
    parser.add_argument("--densities", help=f"with commas (default {','.join(map(str, DENSITIES))})")
    parser.add_argument("--most-seconds", type=float, default=40, help="that a run may take (default 40)")
    parser.add_argument("--only", choices=["counted", "emulated", "simulated"])
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    models = [Model(name) for name in (options.models or ("resnet50" if options.quick else "resnet50,bert_base")).split(",")]
    rates = (options.rates or ("1gbit" if options.quick else ",".join(RATES))).split(",")
    methods = (options.methods or ",".join(METHODS)).split(",")
    if unknown := set(methods) - set(METHODS):
        parser.error(f"methods must be some of {', '.join(METHODS)}, got: {', '.join(sorted(unknown))}")
    densities = [float(density) for density in options.densities.split(",")] if options.densities else DENSITIES
    result, equal, measured_rows, errors = {}, None, [], []
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        if options.only in (None, "counted"):
            equal = True
            for model in models:
                print(f"{model.name}, {sum(model.elements) / 1e6:.1f} M parameters, {NODES} nodes of {DEVICES} devices: bytes")
                equal &= count_bytes(model, methods, densities, folder)
        why = hosts.why_unavailable()
        if options.only in (None, "emulated"):
            if why:
                print(f"sparse_exchange: {why}: nothing is emulated")
            for rate in [] if why else map(hosts.bits_per_second, rates):
                _shaped.measure_in_peace()
                with hosts.Network([rate] * NODES, loopback=True) as network:
                    for model in models:
                        print(f"{model.name}, {NODES} nodes of {DEVICES} devices, {rate / 1e6:g} Mbit/s")
                        for row in emulate(model, rate, network, folder, options.most_seconds, methods, densities).values():
                            errors += [m / p - 1 for m, p in row.values() if m is not None]
                            measured_rows.append({method: p if m is None else m for method, (m, p) in row.items()})
        simulated = {}
        if options.only in (None, "simulated"):
            for model in [models[0]] + ([] if options.quick else [Model("bert_large")]):
                print(f"{model.name}, 16 nodes of 8 devices, 25 Gbit/s, simulated")
                for density, row in simulate_large(model, methods, densities, folder).items():
                    simulated[f"{model.name} {density}"] = {m: round(s, 5) for m, s in row.items()}
    if measured_rows:
        result = summary(measured_rows)
        result["prediction_error"] = round(max(abs(e) for e in errors), 4) if errors else None
    print(json.dumps({"hitopk_over_dense": None, "auto_over_best": None, **result, "bytes_equal": equal,
                      "cases": len(measured_rows), "simulated": simulated}))
    return 1 if equal is False else 0


if __name__ == "__main__":
    sys.exit(main())
