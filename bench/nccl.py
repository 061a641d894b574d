# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What all-reduces by NCCL take, beside what is predicted for them (docs/cuda.md, "What NCCL takes").

float32, in place, 8 bytes to 256 MiB, over all CUDA devices of the machine, against NCCL's own model for devices that are
linked by --intra-mbit-per-s. Needs two devices and NCCL: ends with status 77 and a line that says why without them.
"""
import argparse
import json
import subprocess
import sys

from _tools import tool


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--intra-mbit-per-s", type=int, default=2_880_000,
                        help="payload that a device sends, as cs.cluster's intra says it (default 2880000: 18 links of NVLink 4)")
    parser.add_argument("--quick", action="store_true", help="up to 16 MiB, fewer rounds")
    options = parser.parse_args()
    most, iterations = (16 << 20, 5) if options.quick else (256 << 20, 20)
    done = subprocess.run([tool("nccl_driver"), str(options.intra_mbit_per_s), str(most), str(iterations)],
                          stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        sys.exit(done.returncode)
    cases = [json.loads(line) for line in done.stdout.splitlines()]
    print(f"{'bytes':>12} {'measured us':>12} {'predicted us':>12} {'ratio':>6}")
    for case in cases:
        case["predicted_over_measured"] = round(case["model_us"] / case["us"], 3)
        print(f"{case['bytes']:12} {case['us']:12.2f} {case['model_us']:12.2f} {case['predicted_over_measured']:6.2f}")
    ratios = sorted(case["predicted_over_measured"] for case in cases)
    print(json.dumps({"predicted_over_measured": [ratios[0], ratios[len(ratios) // 2], ratios[-1]],
                      "largest": cases[-1]["predicted_over_measured"], "ranks": cases[0]["ranks"],
                      "intra_mbit_per_s": options.intra_mbit_per_s, "cases": cases}))


if __name__ == "__main__":
    main()
