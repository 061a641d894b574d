# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What it gains that connections have little on their way (grpc/base/send_queue.h, docs/transports.md).

Emulated steps (_shaped.py: devices wait for the times of a profile, messages are sent for real) of ResNet-50, communication as long as
compute, by 2 trainers with 2 parameter servers and by all-reduce of 4 ranks around a ring, a host with a link of 1 or 2 Gbit/s for each
process (net/hosts.py). One plan of the solver for each case, from the links as the network is told to have them, not as measured.
Runs of it with the bound and without it (COMMSCHED_SEND_QUEUE=0) go in turn on the same network, --rounds times, each first in every
second round. The gain of a case is the median over the rounds of what a step is shorter by with the bound.

A run's time is the mean from the beginning of one step to that of the next, without the first two steps, of the rank where it is longest. The
bound on a step is that of the compiler for the links as the plan has them. Needs root and iproute2.
"""
import argparse
import json
import pathlib
import signal
import statistics
import sys
import tempfile

import _shaped
from net import hosts

ENVIRONMENT = {"without": {"COMMSCHED_SEND_QUEUE": "0"}, "with": {"COMMSCHED_SEND_QUEUE": None}}
WARM_UP = 2  # steps


def case(model, way, rate, rounds, steps, folder):
    """Seconds of a step of both, by round, and the bound on a step."""
    ranks, servers = _shaped.RANKS[way]
    program, _ = model.scaled(model.factor(ranks, rate, 1))
    plan = _shaped.compile_plan(folder, "case", program, ranks, rate, "solver", servers=servers)
    with hosts.Network([rate] * (ranks + servers), loopback=True) as network:
        cluster = _shaped.Cluster(network, folder, servers)
        times = _shaped.in_turn([*ENVIRONMENT], rounds, lambda which: _shaped.step_seconds(
            cluster.emulate(plan.path, steps, ENVIRONMENT[which]), WARM_UP))
    return times, plan.bound_ns / 1e9


def report(name, times, bound):
    """What the case gains, in percent."""
    percent = statistics.median(_shaped.gain(*pair) for pair in zip(times["without"], times["with"]))
    said = "; ".join(f"{which} it {', '.join(f'{1e3 * seconds:.1f}' for seconds in each)} ms" for which, each in times.items())
    print(f"  {name}: {said}; the bound on a step is {1e3 * bound:.1f} ms: {percent:+.2f} %", flush=True)
    return round(percent, 2)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="servers at 2 Gbit/s; one round")
    parser.add_argument("--model", default="resnet50", help="as shaped_step has them (default resnet50)")
    parser.add_argument("--ways", help=f"with commas (default {','.join(sorted(_shaped.RANKS, reverse=True))})")
    parser.add_argument("--rates", help="with commas (default 1gbit,2gbit)")
    parser.add_argument("--steps", type=int, default=8, help="of a run (default 8)")
    parser.add_argument("--rounds", type=int, help="default 6; 1 with --quick")
    options = parser.parse_args()
    ways = (options.ways or ("servers" if options.quick else ",".join(sorted(_shaped.RANKS, reverse=True)))).split(",")
    rounds = options.rounds if options.rounds is not None else 1 if options.quick else 6
    if unknown := [way for way in ways if way not in _shaped.RANKS]:
        parser.error(f"--ways must be some of {', '.join(_shaped.RANKS)}, got: {', '.join(unknown)}")
    if options.steps < WARM_UP + 2 or rounds < 1:
        parser.error(f"--steps must be at least {WARM_UP + 2} and --rounds 1, got: {options.steps} and {rounds}")
    if why := hosts.why_unavailable():
        print(f"send_queue: {why}: skipped")
        return hosts.SKIPPED
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    model = _shaped.Model(options.model)
    _shaped.measure_in_peace()
    gains = {}
    for way in ways:
        for rate in map(hosts.bits_per_second, (options.rates or ("2gbit" if options.quick else "1gbit,2gbit")).split(",")):
            name = f"{model.name}.{way}.{rate / 1e9:g}gbit"
            with tempfile.TemporaryDirectory() as folder:
                gains[name] = report(name, *case(model, way, rate, rounds, options.steps, pathlib.Path(folder)))
    print(json.dumps({"gain_percent": gains, "worst_gain_percent": min(gains.values())}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
