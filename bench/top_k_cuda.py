# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How fast the CUDA kernels select the elements of largest magnitude.

2^20 to 2^30 float32, densities 0.001 and 0.01: exact (with a threshold from a sample, and
without: histogram), with error feedback, and MSTopK of 30 steps, as captured graphs, against
half the time of a copy of the same array (the time to read it once), in turn; the goal of exact
selection is two reads and 20 us. Up to 2^26
elements the answers are compared with the CPU's. cub::DeviceTopK where nvcc has it, and
torch.topk, of magnitudes, where PyTorch has CUDA. Status 77 without a device, or a build
without CUDA.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys


def torch_microseconds(size, k, rounds):
    """torch.topk, with values and indices, on an array of the same kind; None without."""
    try:
        import torch
    except ImportError:
        return None
    if not torch.cuda.is_available():
        return None
    x = torch.randn(size, device="cuda")
    times = []
    for _ in range(rounds + 2):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        indices = torch.topk(x.abs(), k, sorted=False).indices
        x[indices]
        end.record()
        torch.cuda.synchronize()
        times.append(1e3 * begin.elapsed_time(end))
    return statistics.median(times[2:])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="2^20, 2^24 and 2^28, fewer rounds")
    arguments = parser.parse_args()
    driver = pathlib.Path(os.environ.get("COMMSCHED_BIN", "build/release/bin")) / "top_k_cuda_driver"
    if not driver.exists():
        print(f"top_k_cuda: {driver} is missing: a build with CUDA has it", file=sys.stderr)
        sys.exit(77)
    rounds = 5 if arguments.quick else 25
    rows = []
    for power in (20, 24, 28) if arguments.quick else (20, 22, 24, 26, 28, 30):
        for density in (0.001, 0.01):
            done = subprocess.run([driver, str(1 << power), str(density), str(rounds)], stdout=subprocess.PIPE, text=True)
            if done.returncode != 0:
                sys.exit(done.returncode)
            row = json.loads(done.stdout)
            row["density"] = density
            row["read_us"] = round(row["copy_us"] / 2, 2)
            row["torch_us"] = torch_microseconds(1 << power, row["k"], rounds)
            rows.append(row)
            print(f"2^{power} {density}: read {row['read_us']} us, exact {row['exact_us']}, histogram "
                  f"{row['histogram_us']}, with feedback {row['fused_us']}, MSTopK {row['mstopk_us']}, "
                  f"cub::DeviceTopK {row.get('cub_us')}, torch.topk {row['torch_us']}", flush=True)
    goal = [row for row in rows if row["size"] == 1 << 28]

    def over(key):
        ratios = [row[key] / row["exact_us"] for row in goal if row.get(key)]
        return round(min(ratios), 2) if ratios else None

    print(json.dumps({
        "exact_over_read": round(max(row["exact_us"] / row["read_us"] for row in goal), 3),
        "over_torch": over("torch_us"),
        "over_cub": over("cub_us"),
        "over_mstopk": over("mstopk_us"),
        "over_goal": round(max(row["exact_us"] / (2 * row["read_us"] + 20) for row in rows), 3),
        "device": rows[0]["device"],
        "cases": rows,
    }))


if __name__ == "__main__":
    main()
