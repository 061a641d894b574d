# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One process of gloo's own all-reduce, for all_reduce.py: RANK, WORLD_SIZE, MASTER_ADDR
and MASTER_PORT are in the environment; arguments: seconds, sizes in bytes. Rank 0 prints
a line "BYTES MICROSECONDS" for each, the mean time of a call in a loop."""
import os
import sys
import time

import torch
import torch.distributed as dist


def loop(values, calls):
    dist.barrier()
    begin = time.perf_counter()
    for _ in range(calls):
        dist.all_reduce(values)
    return (time.perf_counter() - begin) / calls


def main():
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    for size in map(int, sys.argv[2:]):
        values = torch.zeros(size // 4)
        loop(values, 1)
        one = torch.tensor([loop(values, 3 if size < 1 << 20 else 1)])
        dist.broadcast(one, 0)
        calls = min(1000000, max(1, int(float(sys.argv[1]) / one.item())))
        mean = loop(values, calls)
        if os.environ["RANK"] == "0":
            print(size, f"{mean * 1e6:.3f}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
