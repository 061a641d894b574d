# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The Transformer of examples/ trained for real over a slow link: FIFO against scheduled.

Two workers, each on a host of its own (net/hosts.py) with a link of 1 Gbit/s, and
of others of --rates, train the same steps from the same values. First a run with
--profile measures the fragments, and one with --calibrate the link; both go into
the compiler. Then the same step is compiled once for each policy, and the plans
run in turn, --rounds times:

    fifo      what is ready first is sent first, tensor by tensor
    priority  what is needed first is sent first, tensor by tensor
    solver    what --schedule-comm makes of it

A step's time is the median over the rounds of the mean that cs-run reports. Losses
and final parameters must be the same, bit for bit, whatever the policy: a sum of
two does not depend on the order.

Needs root and iproute2 (see net/hosts.py).
"""
import argparse
import json
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from _tools import call, steady_step_ms, tool  # noqa: E402
from net import hosts  # noqa: E402

POLICIES = ["fifo", "priority", "solver"]
WORKERS = 2
PORT = 7000
TIME_LIMIT = 300  # seconds, only ends a hang


def write_inputs(steps, folder):
    """The step for one device, its initial values and batches."""
    import numpy as np
    from _examples import Example
    from safetensors.numpy import save_file
    example = Example("transformer")
    program = example.program(WORKERS)
    (folder / "step.mlir").write_text(program.mlir(cluster=False))
    save_file(program.slots(), folder / "init.safetensors")
    program.close()
    batches = example.batches(steps)
    np.savez(folder / "batch.npz", **{name: np.concatenate([b[i] for b in batches])
                                      for i, name in enumerate(example.batch_names)})


class Job:
    """Inputs of the example in a folder, and its runs on hosts with links of `rate`."""

    def __init__(self, steps, rate, folder):
        self.folder, self.rate, self.steps = folder, rate, steps
        # JAX has threads, beside which no process can be started in a host.
        if not (folder / "batch.npz").exists():
            call(sys.executable, __file__, "--steps", steps, "--inputs", folder)

    def compile(self, policy, costs=""):
        """The plan, and what the compiler says of the schedule."""
        scheduled, plan = self.folder / f"{policy}.mlir", self.folder / f"{policy}.plan"
        cluster = self.folder / "cluster.mlir"
        cluster.write_text(f"cs.cluster @hosts nodes = {WORKERS} devices = 1\n"
                           "    device = <kind = cpu, gflops = 40, gb_per_s = 20>\n"
                           "    intra = <mbit_per_s = 80000, latency_ns = 5000>\n"
                           f"    inter = <mbit_per_s = {self.rate // 10**6}, latency_ns = 50000>\n")
        call(tool("cs-opt"), self.folder / "step.mlir",
             f"--cs-all-reduce-pipeline=cluster={cluster} schedule={policy} {costs}", "-o", scheduled)
        call(tool("cs-translate"), "--mlir-to-plan", scheduled, "-o", plan)
        record = re.search(r"#cs\.schedule<([^>]*)>", scheduled.read_text())
        starts = len(re.findall(r"= cs\.start ", scheduled.read_text()))
        return plan, starts, record[1] if record else ""

    def run(self, plan, *options, outputs=()):
        """Runs the plan on both hosts; `outputs`: options of rank 0."""
        with hosts.Network([self.rate] * WORKERS, loopback=True) as network:
            peers = ",".join(f"{address}:{PORT}" for address in network.addresses)
            processes = [network.start(rank, [tool("cs-run"), plan, "--rank", rank, "--peers", peers, "--insecure",
                                              "--deadline", 60, *options,
                                              *(outputs if rank == 0 else ())],
                                       stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
                         for rank in range(WORKERS)]
            outputs = [process.communicate(timeout=TIME_LIMIT)[0] for process in processes]
            for rank, (process, text) in enumerate(zip(processes, outputs)):
                if process.returncode:
                    sys.exit(f"scheduled_training: rank {rank}: {text.strip()}")

    def train(self, plan, *extra):
        """What rank 0 has written to --metrics-json, and its final parameters."""
        metrics, final = self.folder / "metrics.json", self.folder / "final.safetensors"
        self.run(plan, "--init", self.folder / "init.safetensors", "--batch", self.folder / "batch.npz", "--steps",
                 self.steps, *extra, outputs=["--metrics-json", metrics, "--save-params", final])
        return json.loads(metrics.read_text()), final.read_bytes()


def compare(job, steps, rounds):
    """Times of each policy in milliseconds, in turn; ends the benchmark if what is
    trained differs."""
    plan, _, _ = job.compile("priority")
    profile, calibration = job.folder / "profile.json", job.folder / "calibration.json"
    job.train(plan, "--profile", profile)
    job.run(plan, "--calibrate", calibration)
    profiles = ",".join(map(str, sorted(job.folder.glob("profile*.json"))))
    calibrations = ",".join(map(str, sorted(job.folder.glob("calibration*.json"))))
    plans, times, trained = {}, {policy: [] for policy in POLICIES}, None
    for policy in POLICIES:
        plans[policy], starts, record = job.compile(policy, f"profile={profiles} calibration={calibrations}")
        print(f"  {policy:9} {starts} messages; {record}", flush=True)
    for _ in range(rounds):
        for policy in POLICIES:
            metrics, final = job.train(plans[policy])
            times[policy].append(steady_step_ms(metrics["summary"]))
            found = [step["loss"] for step in metrics["steps"]], final
            trained = trained or found
            if len(found[0]) != steps or found != trained:
                sys.exit(f"scheduled_training: {policy}: losses or parameters differ from those of {POLICIES[0]}")
    return times


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="1gbit only, fewer steps, one round")
    parser.add_argument("--rates", help="of the links, with commas (default 1gbit,500mbit,250mbit)")
    parser.add_argument("--steps", type=int, help="of a run (default 20; 6 with --quick)")
    parser.add_argument("--rounds", type=int, help="default 3; 1 with --quick")
    parser.add_argument("--inputs", type=pathlib.Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.inputs:
        write_inputs(options.steps, options.inputs)
        return 0
    why = hosts.why_unavailable()
    if why:
        print(f"scheduled_training: {why}: skipped")
        return hosts.SKIPPED
    steps = options.steps or (6 if options.quick else 20)
    rounds = options.rounds or (1 if options.quick else 3)
    rates = (options.rates or ("1gbit" if options.quick else "1gbit,500mbit,250mbit")).split(",")
    result = {}
    for rate in rates:
        with tempfile.TemporaryDirectory() as name:
            print(f"{rate}, {steps} steps, {rounds} rounds", flush=True)
            times = compare(Job(steps, hosts.bits_per_second(rate), pathlib.Path(name)), steps,
                            rounds)
        medians = {policy: statistics.median(each) for policy, each in times.items()}
        gain = statistics.median(f / s for f, s in zip(times["fifo"], times["solver"])) - 1
        for policy, each in times.items():
            print(f"  {policy:9} {medians[policy]:8.2f} ms a step ({min(each):.2f} to {max(each):.2f})")
        print(f"  solver gains {100 * gain:.1f} % on fifo; losses and parameters equal bit for bit", flush=True)
        result[rate] = {"fifo_ms": round(medians["fifo"], 2), "priority_ms": round(medians["priority"], 2),
                        "scheduled_ms": round(medians["solver"], 2), "gain_percent": round(100 * gain, 1)}
    print(json.dumps({**result[rates[0]], "bitwise_equal": True, "rates": result}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
