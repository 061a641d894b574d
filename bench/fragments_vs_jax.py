# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Step time of one worker against jax.jit of the same step, on one core.

Both run in this process, which is bound to one core, in turn: a round is some
steps of ours and as many of JAX's. The keys are of the fastest rounds, the ones
that nothing else on the machine disturbed; medians are printed beside them. A trace
of a few more steps says where our time goes.
"""
import argparse
import collections
import json
import os
import pathlib
import statistics
import sys
import tempfile
import time

os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
os.environ["OMP_NUM_THREADS"] = "1"
_CORE = max(os.sched_getaffinity(0))
os.sched_setaffinity(0, {_CORE})  # before any thread starts

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from _examples import Example, unpacked  # noqa: E402


class Ours:
    def __init__(self, example):
        self.program = example.program(1)

    def run(self, batches):
        return self.program.run(unpacked(batches))[-1]["loss"]


class Jax:
    """Arguments are donated, so that JAX may update in place as we do."""

    def __init__(self, example):
        import jax
        self.state = jax.device_put(example.state())
        self.step = jax.jit(example.step, donate_argnums=(0, 1))

    def run(self, batches):
        for batch in batches:
            *self.state, loss = self.step(*self.state, *batch)
        return float(loss)


def time_of(runner, batches):
    start = time.perf_counter()
    runner.run(batches)
    return (time.perf_counter() - start) / len(batches)


def measure(example, rounds, steps):
    """Seconds per step of every round: (ours, JAX's)."""
    ours, theirs, batches = Ours(example), Jax(example), example.batches(steps)
    for runner in (ours, theirs):
        runner.run(batches[:3])
    times = {ours: [], theirs: []}
    for i in range(rounds):
        for runner in ((ours, theirs) if i % 2 == 0 else (theirs, ours)):
            times[runner].append(time_of(runner, batches))
    ours.program.close()
    return times[ours], times[theirs]


def where(example, steps):
    """[(name of a fragment, seconds per step)], longest first."""
    program = example.program(1)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "trace.json")
        program.trace(path)
        program.run(unpacked(example.batches(steps)))
        program.close()
        events = json.loads(pathlib.Path(path).read_text())
    events = events["traceEvents"] if isinstance(events, dict) else events
    total = collections.Counter()
    for event in events:
        if event.get("ph") == "X":
            total[event["name"]] += event["dur"] * 1e-6 / steps
    return total.most_common()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--examples", nargs="*", default=["digits", "transformer"])
    parser.add_argument("--top", type=int, default=12, help="fragments to list")
    arguments = parser.parse_args()
    result = {}
    for name in arguments.examples:
        example = Example(name)
        rounds, steps = {"digits": (15, 40), "transformer": (7, 4)}[name]
        if arguments.quick:
            rounds, steps = 3, max(2, steps // 4)
        ours, theirs = measure(example, rounds, steps)
        print(f"{name}: per step on one core, {rounds} rounds of {steps} steps")
        for what, pick in (("median round", statistics.median), ("fastest round", min)):
            a, b = pick(ours), pick(theirs)
            result[name] = a / b
            print(f"  {what:14} ours {a * 1e3:9.3f} ms   JAX {b * 1e3:9.3f} ms   ratio {a / b:.3f}", flush=True)
        parts = where(example, min(steps, 20))
        whole = sum(seconds for _, seconds in parts)
        for label, seconds in parts[:arguments.top]:
            print(f"  {label:40} {seconds * 1e3:9.3f} ms {seconds / whole:7.1%}")
        rest = sum(seconds for _, seconds in parts[arguments.top:])
        if rest:
            print(f"  {f'{len(parts) - arguments.top} others':40} {rest * 1e3:9.3f} ms {rest / whole:7.1%}", flush=True)
    print(json.dumps({name: round(value, 4) for name, value in result.items()}))


if __name__ == "__main__":
    main()
