#!/usr/bin/env python3
# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""All-reduce of float32, 4 KiB to 256 MiB, by 2 and 4 processes, over loopback and over
links of 1 Gbit/s: plans run by cs-run over MPI and over gRPC, against Open MPI's own
MPI_Allreduce (its choice and each of its algorithms) and gloo's (PyTorch).

Everything runs in network namespaces with cubic: loopback in one, 1 Gbit/s with one
process in each. On loopback, MPI uses shared memory, for us as for itself. Calls follow
each other in a loop in every case: in ours, a chain of all-reduces, of which each needs
the result of the one before, so long that the end of a step, which wakes who waits for
it, hardly counts.

A round launches everybody once, peers and ourselves in turn, in the other order every
second time; medians over rounds count, and the spread is printed. A ratio is that of one
round, the best peer's time over our best transport's: more than 1 is faster; its median
counts. Who is best is who has the least median. Of a virtual machine, processors may come
to lie near to each other or far from each other, which changes what is short by three
times: so a round begins with the time that a line of the cache takes between them.

At last the 214 gradients of ResNet-50 (of COMMSCHED_DATA, else those of
examples/profiles) on 4 ranks at 1 Gbit/s, as scheduled, against the floor on the wire:
2 (n - 1) / n of the bytes at the rate of payload.

Needs root, iproute2, Open MPI and PyTorch; without one of the last two its peer is left
out, without root or with no peer at all the status is 77."""
import argparse
import json
import math
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile

import _mpi
from _shaped import measure_in_peace
from _tools import call, tool
from net.hosts import SKIPPED, Network, why_unavailable

KIB, MIB = 1 << 10, 1 << 20
SIZES = [4 * KIB, 16 * KIB, 64 * KIB, 256 * KIB, MIB, 4 * MIB, 16 * MIB, 64 * MIB, 256 * MIB]
QUICK = [4 * KIB, 64 * KIB, MIB, 16 * MIB]
RATE = 10**9
PAYLOAD = RATE * 1448 / 1514 / 8  # bytes per second
# Of MPI_Allreduce, by Open MPI's numbers: recursive doubling, ring, segmented ring,
# reduce-scatter and all-gather by halving and doubling.
ALGORITHMS = [0, 3, 4, 5, 6]
PORT = 7100
TIME_LIMIT = 600

# What links and nodes are to the compiler: near to what --calibrate measures.
CLUSTER = """cs.cluster @lab nodes = {nodes} devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = {mbit}, latency_ns = {latency}>
"""


def chain(nodes, size, length, mbit, latency):
    """A scheduled step of `length` all-reduces, one after the other."""
    value = f"!cs.placed<tensor<{size // 4}xf32>, device 0>"
    lines = [CLUSTER.format(nodes=nodes, mbit=mbit, latency=latency),
             f'func.func @step(%w0: {value} {{cs.param = "w"}}) -> ({value} {{cs.updates = "w"}}) '
             "attributes {cs.step} {"]
    for i in range(length):
        lines += [f'  %f{i} = cs.start "r{i}" (%w{i}) : ({value}) -> !cs.future<{value}> {{', f"  ^bb0(%x: {value}):",
                  f'    %r = cs.all_reduce "r{i}" mean %x : {value}', f"    cs.return %r : {value}", "  }",
                  f"  %w{i + 1} = cs.await %f{i} : !cs.future<{value}>"]
    return "\n".join([*lines, f"  return %w{length} : {value}", "}"]) + "\n"


class Bench:
    def __init__(self, folder, seconds):
        self.folder, self.seconds = pathlib.Path(folder), seconds
        self.peers = []
        self._line_time = self.folder / "line_time"
        subprocess.run(["cc", "-O2", "-pthread", pathlib.Path(__file__).with_name("line_time.c"), "-o",
                        self._line_time], check=True)
        if not _mpi.why_unavailable():
            self.driver = self.folder / "all_reduce_driver"
            source = pathlib.Path(__file__).with_name("all_reduce_driver.c")
            subprocess.run(["mpicc", "-O2", source, "-o", self.driver], check=True)
            self.peers.append("Open MPI")
        else:
            print(f"all_reduce: {_mpi.why_unavailable()}: left out")
        if subprocess.run([sys.executable, "-c", "import torch"], capture_output=True).returncode == 0:
            self.peers.append("gloo")
        else:
            print("all_reduce: needs PyTorch (scripts/setup.sh --bench): gloo is left out")

    def plan(self, nodes, size, length, fast):
        path = self.folder / f"{nodes}-{size}-{length}-{fast}.plan"
        if not path.exists():
            mbit, latency = (20000, 10000) if fast else (957, 50000)
            source = path.with_suffix(".mlir")
            source.write_text(chain(nodes, size, length, mbit, latency))
            call(tool("cs-opt"), "--expand-collectives", "--verify-distributed", source, "-o", f"{path}.2.mlir")
            call(tool("cs-translate"), "--mlir-to-plan", f"{path}.2.mlir", "-o", path)
        return path

    def init(self, size):
        """What a chain begins with."""
        path = self.folder / f"init-{size}.npz"
        if not path.exists():
            import numpy
            numpy.savez(path, w=numpy.zeros(size // 4, numpy.float32))
        return path

    def line_ns(self):
        return int(call(self._line_time))


class Case:
    """Processes on one kind of network."""

    def __init__(self, bench, nodes, fast):
        self.bench, self.nodes, self.fast = bench, nodes, fast
        self.network = Network([0] if fast else [RATE] * nodes)
        # For ranks that gRPC connects: without TLS only on loopback, of which MPI makes nothing.
        self.loopback = Network([0] if fast else [RATE] * nodes, loopback=True)

    def __enter__(self):
        self.network.__enter__()
        try:
            self.loopback.__enter__()
        except BaseException:
            self.network.close()
            raise
        self.folder = pathlib.Path(tempfile.mkdtemp(dir=self.bench.folder))
        self.hosts = _mpi.Hosts(self.network, self.folder)
        return self

    def __exit__(self, *_):
        self.loopback.close()
        self.network.close()

    def mpirun(self, *options):
        if not self.fast:
            return self.hosts.mpirun(*options)
        return ["env", *(f"{k}={v}" for k, v in _mpi.ENVIRONMENT.items()), "mpirun", "-n", str(self.nodes),
                "--mca", "btl", "vader,self", "--mca", "oob_tcp_if_include", "lo", *map(str, options)]

    def run(self, commands, network=None):
        """Starts a command in each host (on loopback, all in one); the output of the first."""
        network = network or self.network
        running = [network.start(0 if self.fast else i, command, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                 text=True) for i, command in enumerate(commands)]
        try:
            outputs = [process.communicate(timeout=TIME_LIMIT) for process in running]
            for process, (_, errors) in zip(running, outputs):
                if process.returncode != 0:
                    sys.exit(f"all_reduce: {process.args}: status {process.returncode}: {errors}")
            return outputs[0][0]
        finally:
            network.stop(running)

    def cs_run(self, transport, plan, options):
        metrics = self.folder / "metrics.json"
        common = [tool("cs-run"), plan, *options, "--metrics-every", 10**6, "--deadline", TIME_LIMIT]
        if transport == "mpi":
            self.run([[*self.mpirun(), *common, "--transport", "mpi", "--metrics-json", metrics]])
        else:
            # Ports below those that are given to outgoing connections.
            address = (lambda i: f"127.0.0.1:{PORT + i}") if self.fast else (lambda i: f"{self.loopback.addresses[i]}:{PORT}")
            peers = ",".join(address(i) for i in range(self.nodes))
            self.run([[*common, "--rank", i, "--peers", peers, "--insecure",
                       *(["--metrics-json", metrics] if i == 0 else [])] for i in range(self.nodes)], self.loopback)
        return json.loads(metrics.read_text())["summary"]["step_ms"] * 1e3

    def ours(self, transport, size):
        """Microseconds of one all-reduce."""
        # What one takes, roughly: only says how many to run.
        if self.fast:
            guess = self.nodes / 2 * (2e-6 + size / 5e9) * (1 if transport == "mpi" else 6)
            length = max(3, min(500, int(2e-3 / (2e-6 + size / 5e9))))
        else:
            guess = 50e-6 + 2 * size / PAYLOAD
            length = max(3, min(100, int(0.05 / guess)))
        steps = max(1, int(self.bench.seconds / (guess * length)))
        plan = self.bench.plan(self.nodes, size, length, self.fast)
        # The first step touches memory for the first time; the peers' do that too before they are measured.
        return self.cs_run(transport, plan, ["--init", self.bench.init(size), "--call", "step", "--steps", steps]) / length

    def open_mpi(self, sizes, algorithm):
        chosen = ["--mca", "coll_tuned_use_dynamic_rules", 1, "--mca", "coll_tuned_allreduce_algorithm",
                  algorithm] if algorithm else []
        return dict(_lines(self.run([[*self.mpirun(*chosen), self.bench.driver, self.bench.seconds, *sizes]])))

    def gloo(self, sizes):
        command = [sys.executable, pathlib.Path(__file__).with_name("_gloo_all_reduce.py"), self.bench.seconds, *sizes]
        commands = []
        for rank in range(self.nodes):
            settings = {"RANK": rank, "WORLD_SIZE": self.nodes, "MASTER_PORT": PORT - 1,
                        "MASTER_ADDR": "127.0.0.1" if self.fast else "10.0.0.1",
                        "GLOO_SOCKET_IFNAME": "lo" if self.fast else "eth0"}
            commands.append(["env", *(f"{k}={v}" for k, v in settings.items()), *command])
        return dict(_lines(self.run(commands)))

    def measure(self, sizes, rounds):
        """By size: {"mpi": us of each round, "grpc", "gloo", ("Open MPI", algorithm)}."""
        theirs, ours = [], []
        if "Open MPI" in self.bench.peers:
            theirs += [lambda a=a: {("Open MPI", a): self.open_mpi(sizes, a)} for a in ALGORITHMS]
        if "gloo" in self.bench.peers:
            theirs.append(lambda: {"gloo": self.gloo(sizes)})
        for size in sizes:
            for transport in ("mpi", "grpc") if "Open MPI" in self.bench.peers else ("grpc",):
                ours.append(lambda t=transport, s=size: {t: {s: self.ours(t, s)}})
        # In turn: by how much of their own is before them.
        launches = [launch for _, launch in sorted(
            [((i + 0.5) / len(part), launch) for part in (theirs, ours) for i, launch in enumerate(part)],
            key=lambda entry: entry[0])]
        times = {size: {} for size in sizes}
        self.line_ns = []
        for number in range(rounds):
            self.line_ns.append(self.bench.line_ns())
            for launch in launches[::-1] if number % 2 else launches:
                for who, by_size in launch().items():
                    for size, time in by_size.items():
                        times[size].setdefault(who, []).append(time)
        return times

    def gradients(self, rounds):
        """The gradients of ResNet-50 in one scheduled step, around a ring: its time over the
        floor. By halving and doubling, which sends to two peers in turn, it takes 1 % longer."""
        data = os.environ.get("COMMSCHED_DATA")
        source = pathlib.Path(data or "", "kungfu", "resnet50_gradients.json")
        if data and source.exists():
            imported, bytes_ = ["--import-kungfu", source], 4 * sum(json.loads(source.read_text())["elements"])
        else:
            source = pathlib.Path(os.environ["COMMSCHED_ROOT"], "examples", "profiles", "resnet50.txt")
            imported, bytes_ = ["--import-aicb", source], None
        floor = None
        cluster = self.folder / "cluster.mlir"
        cluster.write_text(CLUSTER.format(nodes=self.nodes, mbit=957, latency=50000))
        program, scheduled, plan = (self.folder / f"resnet50.{end}" for end in ("mlir", "2.mlir", "plan"))
        program.write_text(call(tool("cs-translate"), *imported))
        scheduled.write_text(call(tool("cs-opt"), f"--cs-all-reduce-pipeline=cluster={cluster} algorithm=ring", program))
        call(tool("cs-translate"), "--mlir-to-plan", scheduled, "-o", plan)
        if bytes_ is None:
            bytes_ = 4 * 25557032
        floor = 2 * (self.nodes - 1) / self.nodes * bytes_ / PAYLOAD * 1e6
        found = {}
        for transport in ("mpi", "grpc"):
            if transport == "mpi" and "Open MPI" not in self.bench.peers:
                continue
            found[transport] = statistics.median(
                self.cs_run(transport, plan, ["--emulate", "--call", "step", "--steps", 4]) for _ in range(rounds)) / floor
        print(f"ResNet-50's gradients, {bytes_ / 1e6:.1f} MB, {self.nodes} ranks at 1 Gbit/s: floor {floor / 1e3:.0f} ms; "
              + ", ".join(f"over {who} {ratio:.3f} of it" for who, ratio in found.items()), flush=True)
        return found


def _best(times):
    """Of who has the least median."""
    return min(times, key=statistics.median)


def _result(part, nodes, size, times):
    """Of one size, from the times of each round."""
    shown = {who: times[who] for who in ("mpi", "grpc", "gloo") if who in times}
    peers = [of for who, of in times.items() if who not in ("mpi", "grpc")]
    algorithms = {who[1]: of for who, of in times.items() if isinstance(who, tuple)}
    result = {"network": part, "ranks": nodes, "bytes": size}
    if algorithms:
        shown["Open MPI"] = _best(algorithms.values())
        result["algorithm"] = min(algorithms, key=lambda a: statistics.median(algorithms[a]))
    ours = _best([times[who] for who in ("mpi", "grpc") if who in times])
    ratios = [peer / own for peer, own in zip(_best(peers), ours)]
    result["ratio"] = round(statistics.median(ratios), 3)
    result["ratios"] = [round(min(ratios), 3), round(max(ratios), 3)]
    result["us"] = {who: round(statistics.median(of), 2) for who, of in shown.items()}
    result["least_to_most_us"] = {who: [round(min(of), 2), round(max(of), 2)] for who, of in shown.items()}
    if "grpc" in times and "gloo" in times:
        result["grpc_over_gloo"] = round(statistics.median([g / o for g, o in zip(times["gloo"], times["grpc"])]), 3)
    return result


def _print(result):
    def column(who, width):
        if who not in result["us"]:
            return " " * width
        least, most = result["least_to_most_us"][who]
        return f"{result['us'][who]:.1f} ({least:.1f}-{most:.1f})".rjust(width)
    least, most = result["ratios"]
    print(f"{result['network']:8} {result['ranks']:5} {result['bytes']:10} " + " ".join(
        column(who, width) for who, width in (("mpi", 28), ("grpc", 30), ("Open MPI", 30), ("gloo", 32)))
        + f" {result['ratio']:6.2f} ({least:.2f}-{most:.2f})", flush=True)


def _lines(text):
    for line in text.splitlines():
        size, time = line.split()
        yield int(size), float(time)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer sizes, shorter, 3 rounds")
    parser.add_argument("--only", choices=["loopback", "1gbit", "gradients"], action="append", help="parts of it")
    parser.add_argument("--ranks", type=int, choices=[2, 4], action="append", help="default: both")
    parser.add_argument("--sizes", help="bytes, with commas")
    parser.add_argument("--rounds", type=int)
    options = parser.parse_args()
    why = why_unavailable()
    if why:
        print(f"all_reduce: {why}: skipped")
        return SKIPPED
    measure_in_peace()
    parts = options.only or ["loopback", "1gbit", "gradients"]
    sizes = [int(s) for s in options.sizes.split(",")] if options.sizes else QUICK if options.quick else SIZES
    rounds = options.rounds or (3 if options.quick else 5)
    folder = tempfile.mkdtemp(prefix="commsched-all-reduce-")
    results, gradients, line_ns = [], {}, []
    try:
        bench = Bench(folder, 0.05 if options.quick else 0.1)
        if not bench.peers:
            print("all_reduce: neither Open MPI nor PyTorch is there: skipped")
            return SKIPPED
        print("network  ranks      bytes " + " ".join(name.rjust(width) for name, width in (
            ("ours over MPI", 28), ("over gRPC", 30), ("Open MPI", 30), ("gloo", 32)))
            + "  ratio   (microseconds, medians and the least and most of rounds)")
        for part in parts:
            for nodes in options.ranks or ([4] if part == "gradients" else [2, 4]):
                with Case(bench, nodes, fast=part == "loopback") as case:
                    if part == "gradients":
                        gradients = case.gradients(rounds)
                        continue
                    for size, times in case.measure(sizes, rounds).items():
                        results.append(_result(part, nodes, size, times))
                        _print(results[-1])
                    print(f"a line of the cache between two processors, by round: {case.line_ns} ns", flush=True)
                    line_ns += case.line_ns
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    large = [r["ratio"] for r in results if r["bytes"] >= MIB]
    print(json.dumps({
        "worst_ratio": min((r["ratio"] for r in results), default=None),
        "worst_ratio_from_1mib": min(large, default=None),
        "gradients_over_floor": {who: round(ratio, 4) for who, ratio in gradients.items()} or None,
        "worst_grpc_over_gloo": min((r["grpc_over_gloo"] for r in results if "grpc_over_gloo" in r), default=None),
        "peers": bench.peers, "line_ns": line_ns, "cases": results}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
