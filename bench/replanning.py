# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A link that becomes slow in the middle of a run, and the new plan that comes of it.

The Transformer of examples/ is trained by two workers, each on a host of its own
(net/hosts.py), with a plan made for their links of --rate, from measured costs.
After --change steps the links have --slow. cs-run --replan notices by the time of
steps, measures fragments and links in passing, has a plan made beside the run, and
both workers change to it. In turn with it, the same run without --replan.

Losses and final parameters must be the same, bit for bit. Steps lost: how much
longer the steps around the change of plan took than they take before and after
it, in steps of the new plan. Times are those at which rank 0 prints metrics, which
it does a constant number of steps later.

Needs root and iproute2 (see net/hosts.py).
"""
import argparse
import json
import pathlib
import re
import shlex
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from _tools import call, tool  # noqa: E402
from net import hosts  # noqa: E402
from scheduled_training import PORT, TIME_LIMIT, WORKERS, Job  # noqa: E402

AROUND = 8  # steps before and after the change of plan that are looked at


class Run:
    """What rank 0 of a run says, and when. `slow_after`: steps, then the links get `slow`."""

    def __init__(self, job, plan, slow_after, slow, *options):
        self.at, self.lines = {}, []
        job.folder.joinpath("final.safetensors").unlink(missing_ok=True)
        metrics, final = job.folder / "metrics.json", job.folder / "final.safetensors"
        with hosts.Network([job.rate] * WORKERS, loopback=True) as network:
            peers = ",".join(f"{address}:{PORT}" for address in network.addresses)
            processes = []
            for rank in range(WORKERS):
                own = ["--metrics-every", 1, "--metrics-json", metrics, "--save-params", final] if rank == 0 else []
                processes.append(network.start(
                    rank, [tool("cs-run"), plan, "--rank", rank, "--peers", peers, "--insecure", "--deadline", 60,
                           "--init", job.folder / "init.safetensors", "--batch", job.folder / "batch.npz", "--steps",
                           job.steps, *own, *options],
                    stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True))
            for line in processes[0].stdout:
                self.lines.append(line.rstrip())
                found = re.match(r"step (\d+):", line)
                if found:
                    self.at[int(found[1])] = time.monotonic()
                if found and int(found[1]) == slow_after:
                    for rank in range(WORKERS):
                        network.set_rate(rank, slow)
            for rank, process in enumerate(processes):
                rest = process.communicate(timeout=TIME_LIMIT)[0]
                if process.returncode:
                    sys.exit(f"replanning: rank {rank}: {' '.join(self.lines[-2:])} {rest}")
        self.losses = [step["loss"] for step in json.loads(metrics.read_text())["steps"]]
        self.final = final.read_bytes()

    def step_ms(self, first, last):
        """Median time of these steps."""
        return statistics.median(1e3 * (self.at[s] - self.at[s - 1]) for s in range(first, last + 1))


def instructions(plan):
    """Of the step: another schedule has other messages."""
    return int(re.search(r"@step: .* (\d+) instructions", call(tool("cs-run"), plan, "--arena-info"))[1])


def measure(job, options, result):
    plan, messages, record = job.compile("solver")
    profile, calibration = job.folder / "profile.json", job.folder / "calibration.json"
    job.train(plan, "--profile", profile)
    job.run(plan, "--calibrate", calibration)
    profiles = ",".join(map(str, sorted(job.folder.glob("profile*.json"))))
    plan, messages, record = job.compile("solver", f"profile={profiles} calibration={calibration}")
    print(f"  first plan: {messages} messages; {record}", flush=True)
    job.steps = options.steps
    slow = hosts.bits_per_second(options.slow)
    kept = job.folder / "kept"
    pipeline = f"--cs-all-reduce-pipeline=cluster={job.folder / 'cluster.mlir'} schedule=solver"
    command = shlex.join(["env", f"PYTHONPATH={pathlib.Path(__file__).resolve().parents[1] / 'python_api'}",
                          sys.executable, "-m", "commsched.replan", str(job.folder / "step.mlir"),
                          f"--pipeline={pipeline}", "--base", str(calibration)])
    command += " --profile {profile} --calibration {calibration} --plan {plan}"
    without = Run(job, plan, options.change, slow)
    run = Run(job, plan, options.change, slow, "--replan", command, "--replan-when-off", 25, "--replan-window", 6,
              "--replan-folder", kept)
    events = [json.loads(line) for line in (kept / "events.json").read_text().splitlines()]
    for event in events:
        print(f"  {event['kind']}: {event['text']}", flush=True)
    switches = [event for event in events if event["kind"] == "switched"]
    result["switches"] = len(switches)
    result["loss_equal"] = (run.losses == without.losses and run.final == without.final
                            and len(run.losses) == options.steps)
    if not switches:
        return
    call_number = switches[0]["call"]
    result["instructions"] = [instructions(plan), instructions(kept / f"plan.{switches[0]['attempt']}")]
    measured = json.loads((kept / f"calibration.{switches[0]['attempt']}.json").read_text())
    result["measured_mbit_per_s"] = [round(link["bits_per_s"] / 1e6, 1) for link in measured["links"]]
    # Step s, counted from 1, is call s - 1.
    first, last = call_number + 1 - AROUND, call_number + 1 + AROUND
    if last + AROUND > options.steps:
        sys.exit(f"replanning: the plan changed at step {call_number + 1} of {options.steps}: give more --steps")
    slow_steps = [s for s in range(options.change + 8, first) if s in run.at]
    old = run.step_ms(slow_steps[0], slow_steps[-1])
    new = run.step_ms(last + 1, options.steps - 1)
    took = 1e3 * (run.at[last] - run.at[first])
    lost = (took - AROUND * old - AROUND * new) / new
    result["steps_lost"] = round(lost, 2)
    result["moved_ms"] = round(switches[0]["moved_ms"], 1)
    result["step_ms"] = {
        "fast_link": round(run.step_ms(5, options.change - 2), 1), "old_plan": round(old, 1),
        "new_plan": round(new, 1),
        "without_replanning": round(without.step_ms(options.change + 8, options.steps - 1), 1)}
    result["planned_s"] = round(next(e["planned_ms"] for e in events if e["kind"] == "decided") / 1e3, 2)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer steps")
    parser.add_argument("--rate", default="1gbit", help="of the links at first (default 1gbit)")
    parser.add_argument("--slow", default="200mbit", help="and later (default 200mbit)")
    parser.add_argument("--change", type=int, default=20, help="steps before that (default 20)")
    parser.add_argument("--steps", type=int, help="of a run (default 100; 75 with --quick)")
    options = parser.parse_args()
    options.steps = options.steps or (75 if options.quick else 100)
    why = hosts.why_unavailable()
    if why:
        print(f"replanning: {why}: skipped")
        return hosts.SKIPPED
    result = {"switches": 0, "loss_equal": False, "steps_lost": None}
    with tempfile.TemporaryDirectory() as name:
        job = Job(options.steps, hosts.bits_per_second(options.rate), pathlib.Path(name))
        job.steps = 12  # to measure
        measure(job, options, result)
    print(json.dumps(result))
    return 0 if result["switches"] and result["loss_equal"] else 1


if __name__ == "__main__":
    sys.exit(main())
