# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How long the solver takes for steps of 100 to 100,000 tensors, on one thread.

Layers with a tensor of 1 KB to 4 MB each and ops of 10 to 200 us, by a fixed sequence
of numbers, all-reduced over a link as busy as compute. Reading the problem does not
count.
"""
import argparse
import json
import os
import pathlib
import subprocess

import _profiles

GOALS = {1_000: 1.0, 100_000: 60.0}


def problem(count):
    state = 12345

    def number(least, most):
        nonlocal state
        state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
        return least + (state >> 33) % (most - least + 1)

    layers = []
    for _ in range(count):
        size = 4 << number(8, 19)
        times = [number(10_000, 200_000) for _ in range(3)]
        layers.append(_profiles.Layer(*times, size // 100, [size + 4 * number(0, size // 8)]))
    compute = sum(layer.forward + layer.inputs + layer.weights for layer in layers)
    rate = 2 * sum(sum(layer.tensors) for layer in layers) * 1_000_000_000 // compute
    return _profiles.to_text(f"layers{count}", layers, [("network", rate)],
                             lambda size: [(0, size, 20_000, 60_000)] * 2, updates=True)


parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("--quick", action="store_true", help="up to 10,000 tensors")
arguments = parser.parse_args()
driver = pathlib.Path(os.environ["COMMSCHED_BIN"]) / "schedule_driver"
seconds = {}
print(f"{'tensors':>8}{'seconds':>10}{'over the bound':>16}{'goal':>6}")
for count in (100, 1_000, 10_000) if arguments.quick else (100, 1_000, 10_000, 100_000):
    done = subprocess.run([driver, "--solve-only"], input=problem(count), stdout=subprocess.PIPE,
                          text=True, check=True)
    row = json.loads(done.stdout)
    seconds[count] = row["seconds"]
    print(f"{count:8}{row['seconds']:10.3f}{row['period'] / row['bound']:16.4f}{GOALS.get(count, ''):>6}", flush=True)
sizes = sorted(seconds)
print(json.dumps({
    "seconds_1k": seconds[1_000],
    "seconds_100k": seconds.get(100_000),
    # From 1,000 on: smaller problems are searched for as long as those.
    "growth_per_10x": round(max(seconds[large] / seconds[small]
                                for small, large in zip(sizes, sizes[1:]) if small >= 1_000), 2),
}))
