# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How fast the kernels select the elements of largest magnitude, on one thread.

Everything works on the same arrays in one process, in turn; figures are medians over
the rounds. Ours give values and indices. Against the time to read the array once (the
faster of a maximum and of a sum, both of vectors), std::nth_element with a scan for the
indices, numpy.partition of magnitudes that are there already (its result has no
indices; `numpy_select` is all of it), and torch.topk of magnitudes (without torch: left
out). `add` is an array added to another in place, which error feedback cannot do without;
`between` selects with feedback by the threshold of an earlier step (into other memory, as
`fused_apart`). Every answer of ours is compared with NumPy's.
"""
import argparse
import ctypes
import json
import os
import pathlib
import statistics
import sys
import time

import numpy as np

try:
    import torch
    torch.set_num_threads(1)
except ImportError:
    torch = None
    print("top_k: PyTorch is missing (scripts/setup.sh --bench): left out", file=sys.stderr)

F32, F16, BF16 = 2, 3, 4
HISTOGRAM, SAMPLED, MS_TOP_K = 1, 2, 3


def load():
    path = pathlib.Path(os.environ.get("COMMSCHED_BIN", "build/release/bin")) / "../lib/libtop_k_driver.so"
    if not path.exists():
        sys.exit(f"top_k: {path} is missing; build the target top_k_driver")
    library = ctypes.CDLL(str(path))
    for name in ("ReadMax", "ReadSum", "Add", "Select", "SelectAbove", "NthElement"):
        getattr(library, "TopKDriver" + name).restype = ctypes.c_double
    return library


LIBRARY = load()


def pointer(array):
    return None if array is None else array.ctypes.data_as(ctypes.c_void_p)


def call(name, *arguments):
    words = [pointer(a) if a is None or isinstance(a, np.ndarray) else ctypes.c_int64(a[0]) if isinstance(a, tuple)
             else ctypes.c_float(a) if isinstance(a, np.float32) else ctypes.c_int(a) for a in arguments]
    seconds = getattr(LIBRARY, "TopKDriver" + name)(*words)
    if seconds < 0:
        sys.exit(f"top_k: {name} failed")
    return seconds


def ours(element, method, x, residual, new_residual, values, indices, repeats, early=0, threads=1):
    return call("Select", element, method, early, threads, x, residual, new_residual, (x.size,), (values.size,),
                values, indices, repeats)


def timed(repeats, work):
    begin = time.perf_counter()
    for _ in range(repeats):
        work()
    return (time.perf_counter() - begin) / repeats


def reference(x, k):
    """The k places of largest magnitude, of equal ones the first, ascending."""
    keys = np.abs(x)
    kth = np.partition(keys, keys.size - k)[keys.size - k]
    above = np.flatnonzero(keys > kth)
    return np.sort(np.concatenate([above, np.flatnonzero(keys == kth)[:k - above.size]]))


def numpy_select(x, k):
    keys = np.abs(x)
    kth = np.partition(keys, keys.size - k)[keys.size - k]
    indices = np.flatnonzero(keys >= kth)[:k]
    return x[indices], indices


def torch_select(x, k):
    indices = torch.topk(x.abs(), k, sorted=False).indices
    return x[indices], indices


def check(what, x, indices, values):
    wanted = reference(x, values.size)
    if not (np.array_equal(indices, wanted) and np.array_equal(values, x[wanted])):
        sys.exit(f"top_k: {what}: the answer is not NumPy's")


def bench(size, density, rounds, slow_rounds, random):
    k = int(size * density)
    x = random.standard_normal(size, dtype=np.float32)
    residual = random.standard_normal(size, dtype=np.float32)
    kept = np.empty_like(x)
    magnitudes, scratch = np.abs(x), np.empty_like(x)
    values, indices = np.empty(k, np.float32), np.empty(k, np.int32)
    repeats = max(1, 2_000_000 // size)

    for method, name in ((SAMPLED, "sampled"), (HISTOGRAM, "histogram")):
        ours(F32, method, x, None, None, values, indices, 1)
        check(name, x, indices, values)
        ours(F32, method, x, residual, kept, values, indices, 1)
        total = x + residual
        check(f"{name} with feedback", total, indices, values)
        threshold = np.abs(values).min()
        call("SelectAbove", threshold, x, residual, kept, (size,), (k,), values, indices, 1)
        check(f"{name} by a threshold", total, indices, values)
        total[indices] = 0
        if not np.array_equal(total, kept):
            sys.exit(f"top_k: {name}: the new residual is wrong")

    still = residual.copy()
    work = {
        "read_max": lambda: call("ReadMax", x, (x.nbytes,), repeats),
        "read_sum": lambda: call("ReadSum", x, (x.nbytes,), repeats),
        "exact": lambda: ours(F32, SAMPLED, x, None, None, values, indices, repeats),
        "histogram": lambda: ours(F32, HISTOGRAM, x, None, None, values, indices, repeats),
        "add": lambda: call("Add", x, total, (size,), repeats),
        # In place, as a state that is carried from step to step; and into other memory.
        "fused": lambda: ours(F32, SAMPLED, x, residual, residual, values, indices, repeats),
        "fused_apart": lambda: ours(F32, SAMPLED, x, residual, kept, values, indices, repeats),
        "between": lambda: call("SelectAbove", threshold, x, still, kept, (size,), (k,), values, indices, repeats),
        "fused_histogram": lambda: ours(F32, HISTOGRAM, x, residual, residual, values, indices, repeats),
    }
    slow = {
        "ms_top_k": lambda: ours(F32, MS_TOP_K, x, None, None, values, indices, 1),
        "ms_top_k_early": lambda: ours(F32, MS_TOP_K, x, None, None, values, indices, 1, early=1),
        "nth_element": lambda: call("NthElement", x, (size,), (k,), values, indices, scratch, 1),
        "numpy_partition": lambda: timed(1, lambda: np.partition(magnitudes, size - k)),
        "numpy_select": lambda: timed(1, lambda: numpy_select(x, k)),
    }
    if torch is not None:
        tensor = torch.from_numpy(x)
        slow["torch_topk"] = lambda: timed(1, lambda: torch_select(tensor, k))
    # bf16: half the bytes.
    halves = (x.view(np.uint32) >> 16).astype(np.uint16)
    half_values = np.empty(k, np.uint16)
    work["bf16_read"] = lambda: call("ReadMax", halves, (halves.nbytes,), repeats)
    work["bf16_exact"] = lambda: ours(BF16, SAMPLED, halves, None, None, half_values, indices, repeats)

    seconds = {name: [] for name in [*work, *slow]}
    for number in range(rounds):
        for name, run in work.items():
            seconds[name].append(run())
        if number < slow_rounds:
            for name, run in slow.items():
                seconds[name].append(run())
    median = {name: statistics.median(s) for name, s in seconds.items()}
    read = min(median["read_max"], median["read_sum"])
    row = {"size": size, "density": density, "read_ms": round(1e3 * read, 4),
           "read_gb_per_s": round(x.nbytes / read / 1e9, 1)}
    row |= {name + "_reads": round(median[name] / read, 3) for name in median if "read" not in name}
    row["bf16_exact_reads"] = round(median["bf16_exact"] / median["bf16_read"], 3)
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="up to 25,000,000 elements, fewer rounds")
    parser.add_argument("--sizes", help="other numbers of elements, separated by commas")
    arguments = parser.parse_args()
    sizes = [100_000, 1_000_000, 25_000_000] + ([] if arguments.quick else [100_000_000])
    if arguments.sizes:
        sizes = [int(float(word)) for word in arguments.sizes.split(",")]
    rounds, slow_rounds = (5, 1) if arguments.quick else (15, 3)
    random = np.random.default_rng(1)
    names = ["exact", "histogram", "add", "fused", "fused_apart", "between", "fused_histogram", "ms_top_k", "ms_top_k_early",
             "nth_element", "numpy_partition", "numpy_select", "torch_topk", "bf16_exact"]
    print(f"numpy {np.__version__}, torch {torch.__version__ if torch else 'missing'}; times of one read of the array")
    print("     size density read ms  GB/s" + "".join(f"{name:>16}" for name in names))
    rows = []
    for size in sizes:
        for density in (0.001, 0.01):
            row = bench(size, density, rounds, slow_rounds, random)
            rows.append(row)
            print(f"{size:9}{density:8}{row['read_ms']:8.3f}{row['read_gb_per_s']:6}"
                  + "".join(f"{row.get(name + '_reads', float('nan')):16.2f}" for name in names), flush=True)
    goal = [row for row in rows if row["size"] == 25_000_000] or rows
    print(json.dumps({
        "exact_reads": max(row["exact_reads"] for row in goal),
        "fused_reads": max(row["fused_reads"] for row in goal),
        "over_nth_element": round(min(row["nth_element_reads"] / row["exact_reads"] for row in goal), 2),
        "over_numpy": round(min(row["numpy_partition_reads"] / row["exact_reads"] for row in goal), 2),
        "fused_over_exact": round(max(row["fused_reads"] / row["exact_reads"] for row in goal), 2),
        "fused_over_add": round(max(row["fused_reads"] / row["add_reads"] for row in goal), 2),
        "over_torch": round(min(row["torch_topk_reads"] / row["exact_reads"] for row in goal), 2) if torch else None,
        "ms_top_k_reads": max(row["ms_top_k_reads"] for row in goal),
        "cases": rows,
    }))


if __name__ == "__main__":
    main()
