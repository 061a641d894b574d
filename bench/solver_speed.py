# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How long --schedule-comm takes for steps of 100 to 100,000 tensors, on one thread.

Layers with a tensor of 1 KB to 4 MB each and ops of 10 to 200 us, by a fixed sequence
of numbers, all-reduced by two workers over a link as busy as compute. The whole pass
counts, of cs-opt with its defaults; reading and writing the module does not.
"""
import argparse
import json
import pathlib
import tempfile

import _shipped

GOALS = {1_000: 1.0, 100_000: 60.0}
OVERHEAD, LATENCY = 20_000, 60_000


def profile(count):
    """A workload as AICB writes it, and the rate (bits/s) of a link that is as busy as compute."""
    state = 12345

    def number(least, most):
        nonlocal state
        state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
        return least + (state >> 33) % (most - least + 1)

    lines, compute, sent = ["made up", str(count)], 0, 0
    for layer in range(count):
        size = 4 << number(8, 19)
        forward, inputs, weights = (number(10_000, 200_000) for _ in range(3))
        update = max(1, size // 100)
        size += 4 * number(0, size // 8)
        lines.append("\t".join(map(str, [f"layer{layer}", -1, forward, "NONE", 0, inputs, "NONE", 0,
                                         weights, "ALLREDUCE", size, update])))
        compute += forward + inputs + weights
        sent += size
    # Of two workers each sends half in both halves of the all-reduce.
    return "\n".join(lines) + "\n", sent * 8 * 1_000_000_000 / compute


def measure(count):
    text, rate = profile(count)
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "layers.txt")
        path.write_text(text)
        program = _shipped.program(path)
    return _shipped.compiled(program, _shipped.cluster(2, rate / 1e9, OVERHEAD, LATENCY), alone=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="up to 10,000 tensors")
    arguments = parser.parse_args()
    rows = {}
    print(f"{'tensors':>8}{'seconds':>10}{'over the bound':>16}{'goal':>6}")
    for count in (100, 1_000, 10_000) if arguments.quick else (100, 1_000, 10_000, 100_000):
        rows[count] = row = measure(count)
        print(f"{count:8}{row['seconds']:10.3f}{row['period'] / row['bound']:16.4f}{GOALS.get(count, ''):>6}  "
              f"{row['policy']}", flush=True)
    sizes = sorted(rows)
    print(json.dumps({
        "path": "cs-opt",
        "seconds_1k": rows[1_000]["seconds"],
        "seconds_100k": rows[100_000]["seconds"] if 100_000 in rows else None,
        # From 1,000 on: smaller problems are searched for as long as those.
        "growth_per_10x": round(max(rows[large]["seconds"] / rows[small]["seconds"]
                                    for small, large in zip(sizes, sizes[1:]) if small >= 1_000), 2),
        # Larger steps get priorities only.
        "solved": max(count for count in sizes if rows[count]["policy"] == "solver"),
    }))


if __name__ == "__main__":
    main()
