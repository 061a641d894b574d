# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whole steps of the examples, and of a net of convolutions, on CUDA devices of a machine that has none (tests/cuda/cuda_steps_driver.cpp): 4 ranks, 50 steps,
100 orders of what runs (--seeds), by NCCL, by messages and by parameter servers. What has been done to the same bytes is known from the
first order on; one work of fifty is done again, and must write the same (RememberedWorks.h). Findings, whether all orders give the same bits, and the largest
relative difference of a loss from JAX. It measures no time."""
import argparse
import json
import sys
import tempfile

from _cuda_steps import WAYS, Steps, gap


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--examples", nargs="*", default=["digits", "transformer", "convolutions"])
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--seeds", type=int, default=100)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--whole", action="store_true", help="the Transformer with its own batches, 16 sequences of 64 bytes, not 4 of 16: "
                        "4 seconds for each step and order")
    parser.add_argument("--quick", action="store_true", help="5 steps, 3 seeds")
    arguments = parser.parse_args()
    steps, seeds = (5, 3) if arguments.quick else (arguments.steps, arguments.seeds)
    findings, equal, worst = 0, True, 0.0
    for name in arguments.examples:
        with tempfile.TemporaryDirectory() as folder:
            try:
                example = Steps(name, steps, folder, whole=arguments.whole)
            except LookupError as missing:
                sys.exit(f"{name} needs {missing}")
            wanted = example.jax_losses()
            for way in WAYS:
                first, count, found = None, 0, 0
                for row in example.run(way, range(arguments.first_seed, arguments.first_seed + seeds)):
                    first, count = first or row, count + 1
                    found += len(row["findings"]) + row["left"] + sum(map(bool, row["errors"]))
                    equal &= all(row[what] == first[what] for what in ("losses", "digests", "served"))
                worst, findings = max(worst, gap(first["losses"], wanted)), findings + found
                print(f"{name:12} {way:7} {count:4} seeds of {steps} steps: findings {found}, "
                      f"largest relative difference {gap(first['losses'], wanted):.2e}", flush=True)
    print(json.dumps({"findings": findings, "bitwise_equal": equal, "worst_relative_difference": worst}))


if __name__ == "__main__":
    main()
