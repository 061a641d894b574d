# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The simulator: how fast, how large, and how near to what a network does.

Speed: a ring all-reduce of which every rank is simulated for itself, against SimGrid on
the same ring (bench/simgrid/ring.cpp, S4U, bandwidth and latency only), messages a
second of either, in turn, the median of the pairs' ratios. SimGrid must find the same
time for the all-reduce: that is checked.

Size: a step of ResNet-50 (examples/profiles) on 10,000 ranks.

Error: all-reduces of 64 MiB that are measured between hosts with links of 1 Gbit/s
(net/hosts.py, cubic), on 2 and 4 ranks, with the gRPC transport, in one message and in
8. What is predicted knows the rate of the links (of payload: 1448 of 1514 bytes), the
bucket and the queue with which they are shaped, and what `cs-run --calibrate` has
measured of latency and overhead.

SimGrid is installed by `scripts/setup.sh --bench`; what is missing is skipped, with a
message.
"""
import argparse
import json
import os
import pathlib
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile

import _shaped
from _tools import call, tool
from net import hosts

HERE = pathlib.Path(__file__).resolve().parent
# Parts of a ring of 64 and more need no announcement, which SimGrid does not know.
RING_BYTES, RING_MBIT, RING_LATENCY_NS, RING_STEPS = 4 << 20, 10_000, 20_000, 2
PAYLOAD = 1448 / 1514
MIB = 64


def ring_program(elements, pieces=1):
    """A step that updates parameters of so many floats together, and takes 1 us for each."""
    kind = f"tensor<{elements // pieces}xf32>"
    lines = []
    for i in range(pieces):
        lines += [f'  %b{i} = cs.profiled "backward{i}" (%p{i}) cost <flops = 0, bytes = 0, ns = 1000> : ({kind}) -> {kind}',
                  f'  %g{i} = cs.gradient %b{i} of "p{i}" : {kind}',
                  f'  %n{i} = cs.profiled "update{i}" (%g{i}) cost <flops = 0, bytes = 0, ns = 1000> : ({kind}) -> {kind}']
    arguments = ", ".join(f'%p{i}: {kind} {{cs.param = "p{i}"}}' for i in range(pieces))
    results = ", ".join(f'{kind} {{cs.updates = "p{i}"}}' for i in range(pieces))
    values = ", ".join(f"%n{i}" for i in range(pieces))
    return "\n".join([f"func.func @step({arguments}) -> ({results}) attributes {{cs.step}} {{", *lines,
                      f"  return {values} : {', '.join([kind] * pieces)}", "}"]) + "\n"


def simulate(plan, *options):
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        call(tool("cs-run"), plan, "--simulate", *options, "--metrics-json", file.name)
        return json.loads(pathlib.Path(file.name).read_text())


def build_simgrid():
    """The driver; None with a message if SimGrid is not there."""
    compiler, source = shutil.which("g++"), HERE / "simgrid/ring.cpp"
    driver = pathlib.Path(tool("simgrid-ring"))  # kept beside the tools
    if driver.exists() and driver.stat().st_mtime > source.stat().st_mtime:
        return driver
    if compiler is None:
        print("no SimGrid: needs g++")
        return None
    done = subprocess.run([compiler, "-O2", "-std=c++17", source, "-lsimgrid", "-o", driver],
                          capture_output=True, text=True)
    if done.returncode != 0:
        missing = "simgrid" in done.stderr and ("No such file" in done.stderr or "cannot find" in done.stderr)
        if not missing:
            sys.exit(f"simulator: {done.stderr}")
        print("no SimGrid: needs libsimgrid-dev (scripts/setup.sh --bench)")
        return None
    return driver


def compare_speed(folder, ranks, pairs):
    """Messages a second of both, and the median ratio."""
    elements = RING_BYTES // 4
    plan = _shaped.compile_plan(folder, "ring", ring_program(elements), 4, RING_MBIT * 10**6 / PAYLOAD, "priority",
                                algorithm="ring")
    driver = build_simgrid()
    ours, theirs, ratios = [], [], []
    for _ in range(pairs):
        mine = simulate(plan.path, "--every-rank", "--steps", RING_STEPS, "--what-if", f"workers={ranks}",
                        "--link-latency-ns", RING_LATENCY_NS)
        ours.append(mine["messages"] / mine["seconds"])
        if driver is None:
            continue
        other = json.loads(call(driver, ranks, RING_BYTES, mine["ranks"][0]["send"]["mbit_per_s"], RING_LATENCY_NS,
                                RING_STEPS))
        theirs.append(other["messages"] / other["seconds"])
        ratios.append(ours[-1] / theirs[-1])
        if other["messages"] != mine["messages"]:
            sys.exit(f"simulator: SimGrid sends {other['messages']} messages, we {mine['messages']}")
        difference = (mine["total_ns"] / 1e9) / other["simulated_s"] - 1
        if abs(difference) > 0.01:
            sys.exit(f"simulator: we find {mine['total_ns'] / 1e9} s, SimGrid {other['simulated_s']} s")
    line = f"ring of {ranks}: {statistics.median(ours):,.0f} messages/s"
    if theirs:
        line += (f", SimGrid {statistics.median(theirs):,.0f}, {statistics.median(ratios):.1f} times as many; its time "
                 f"for the ring is {difference:+.3%} from ours")
    print(line, flush=True)
    return statistics.median(ours), statistics.median(ratios) if ratios else None


def ten_thousand(folder):
    """Wall-clock seconds for a ResNet-50 step on 10,000 ranks: ring and halving-doubling."""
    model = _shaped.Model("resnet50")
    plan = _shaped.compile_plan(folder, "resnet50", model.program, 4, 100 * 10**9, "solver", algorithm="ring")
    seconds = {}
    for algorithm in ("ring", "halving-doubling"):
        found = simulate(plan.path, "--what-if", f"workers=10000,algorithm={algorithm}", "--steps", 2)
        seconds[algorithm] = found["seconds"]
        print(f"ResNet-50 on 10,000 ranks, {algorithm}: {found['seconds']:.2f} s for {found['steps']} steps of "
              f"{found['step_ns'] / 1e6:.1f} ms, {len(found['ranks'])} kinds of ranks, {found['messages']:,} messages",
              flush=True)
    return seconds


def step_seconds(traces):
    """Of each step but the first, from the ends of compute on rank 0."""
    ends = {}
    for span in traces[0]["traceEvents"]:
        if span.get("cat") == "compute":
            call_number = span["args"]["call"]
            ends[call_number] = max(ends.get(call_number, 0), span["ts"] + span["dur"])
    ends = [ends[key] for key in sorted(ends)]
    return [(after - before) / 1e6 for before, after in zip(ends, ends[1:])]


def prediction_errors(folder, rate, rank_counts, steps):
    """Of predicted against measured, by ranks and messages."""
    errors = {}
    for ranks in rank_counts:
        for pieces in (1, 8):
            plan = _shaped.compile_plan(folder, f"ring{ranks}-{pieces}", ring_program(MIB << 18, pieces), ranks, rate,
                                        "priority", algorithm="ring")
            with hosts.Network([rate] * ranks, loopback=True) as network:
                cluster = _shaped.Cluster(network, folder)
                _, calibration = cluster.calibrate(plan.path, rate)
                measured = statistics.median(step_seconds(cluster.emulate(plan.path, steps)))
            for link in calibration["links"]:
                link["bits_per_s"] = round(rate * PAYLOAD)  # known, whatever else the machine does meanwhile
            known = folder / "known.json"
            known.write_text(json.dumps(calibration))
            predicted = simulate(plan.path, "--read-calibration", known, "--link-burst", hosts.burst_bytes(rate),
                                 "--link-queue-ns", hosts.QUEUE_MS * 10**6)["step_ns"] / 1e9
            floor = 2 * (ranks - 1) / ranks * (MIB << 20) * 8 / (rate * PAYLOAD)
            errors[f"{ranks} ranks, {pieces} messages"] = predicted / measured - 1
            print(f"{MIB} MiB in {pieces} messages on {ranks} ranks: measured {measured * 1e3:.1f} ms, predicted "
                  f"{predicted * 1e3:.1f} ms ({predicted / measured - 1:+.1%}); bytes alone {floor * 1e3:.1f} ms",
                  flush=True)
    return errors


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="smaller rings, fewer runs, 2 ranks on the network")
    parser.add_argument("--rate", default="1gbit", help="of the network's links (default 1gbit)")
    parser.add_argument("--ranks", type=int, help="of the ring (default 256, 64 with --quick)")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    result = {"events_per_s": None, "over_simgrid": None, "seconds_10k_ranks": None, "seconds_10k_halving": None,
              "error": None}
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        ranks = options.ranks or (64 if options.quick else 256)
        result["events_per_s"], result["over_simgrid"] = compare_speed(folder, ranks, 3 if options.quick else 5)
        seconds = ten_thousand(folder)
        result["seconds_10k_ranks"] = seconds["ring"]
        result["seconds_10k_halving"] = seconds["halving-doubling"]
        if why := hosts.why_unavailable():
            print(f"no network: {why}")
        else:
            _shaped.measure_in_peace()
            errors = prediction_errors(folder, hosts.bits_per_second(options.rate), [2] if options.quick else [2, 4],
                                       6 if options.quick else 12)
            result["error"] = max((abs(error) for error in errors.values()))
            result["errors"] = {key: round(error, 4) for key, error in errors.items()}
    print(json.dumps(result))
    return 0


if __name__ == "__main__":
    sys.exit(main())
