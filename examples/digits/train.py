# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Trains the digits net from a folder of compressed images, with samples kept decoded in memory and on disk.

[torchrun --nproc-per-node 4 | python] examples/digits/train.py [--samples FOLDER] [--memory BYTES] [--cache FOLDER --disk BYTES] ...

Started by torchrun, mpirun, Slurm or Kubernetes, each process is one worker; else --workers are threads of this one.
FOLDER of --samples stands for slow storage: one compressed file for each sample, made if it is not there. Without
it, samples are taken from arrays in memory. The losses are the same bits in every case, for the same number of workers.
"""

import argparse
import json
import os
import pathlib
import sys

import numpy as np

import commsched

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import digits  # noqa: E402
import make  # noqa: E402


class Arrays:
    """Samples (x, y) of two arrays."""

    def __init__(self, x, y):
        self.x, self.y = x, y

    def __len__(self):
        return len(self.x)

    def __getitem__(self, index):
        return self.x[index], self.y[index]


def write_samples(folder, samples):
    """One compressed file for each sample."""
    folder.mkdir(parents=True, exist_ok=True)
    for i in range(len(samples)):
        x, y = samples[i]
        part = folder / f"{i:05}.part"
        with open(part, "wb") as file:
            np.savez_compressed(file, x=x, y=y)
        os.replace(part, folder / f"{i:05}.npz")


def decode(path):
    with np.load(path) as sample:
        return sample["x"], sample["y"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--samples", type=pathlib.Path, help="folder of one compressed file for each sample")
    parser.add_argument("--memory", type=int, default=0, help="bytes of decoded samples in memory")
    parser.add_argument("--cache", type=pathlib.Path, help="folder for decoded samples on disk")
    parser.add_argument("--disk", type=int, default=1 << 30, help="bytes of decoded samples there")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=pathlib.Path, help="file for losses and statistics")
    parser.add_argument("--log", help="file for the metrics of each step, as JSON lines")
    options = parser.parse_args()

    job = commsched.init()
    workers = job.size if job.size > 1 else options.workers
    rank = dict(ranks=job.size, rank=job.rank) if job.size > 1 else {}
    x, y, test_x, test_y = digits.data()
    source = Arrays(x, y)
    if options.samples:
        paths = [options.samples / f"{i:05}.npz" for i in range(len(x))]
        if not all(p.exists() for p in paths):
            write_samples(options.samples, source)
        source = commsched.data.Files(paths, decode)
    cached = dict(disk=options.disk, folder=options.cache, name="digits") if options.cache else {}
    cache = commsched.DataCache(source, memory=options.memory, **cached)
    loader = commsched.Loader(cache, digits.GLOBAL_BATCH, seed=options.seed, threads=options.threads, **rank)
    program = make.program(workers)
    rows = slice(job.rank * len(test_x) // job.size, (job.rank + 1) * len(test_x) // job.size)
    log = [commsched.JsonLines(options.log)] if options.log and job.rank == 0 else []
    losses = []
    for epoch in range(options.epochs):
        own = [m["loss"] for m in program.run(loader.epoch(epoch), log=log)]
        losses += own
        measured = program.call("eval", [(test_x[rows], test_y[rows])])[0]
        if job.rank == 0:
            print(f"epoch {epoch + 1}: loss {np.mean(own):.6f}, accuracy {measured['accuracy']:.4f}")
    s = cache.statistics
    if job.rank == 0:
        print(f"samples from memory {s.memory}, disk {s.disk}, source {s.source}; waited {loader.waited_seconds:.3f} s")
    if options.json and job.rank == 0:
        options.json.write_text(json.dumps({"losses": [v.hex() for v in losses], "memory": s.memory, "disk": s.disk,
                                            "source": s.source, "memory_bytes": s.memory_bytes}))
    program.close()
    cache.close()


if __name__ == "__main__":
    main()
