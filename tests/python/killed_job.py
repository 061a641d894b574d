# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What test_killed_jobs.py runs: FRONT STRATEGY WORKERS SERVERS FILE HOW. A job that begins, or goes on from the file, as threads, or as
this rank where a launcher has started it; each save goes over the one before. It prints what it has come to."""
import os
import sys
import time
import warnings

import commsched
import mlir_step
import storage_frameworks as frameworks
from commsched import saved as saved_file
from storage_job import SPARSE, rows_of, train

STEPS, EACH = 12, 2


def drawn_strategy(name):
    return {"dense": commsched.AllReduce(), "sparse": SPARSE, "servers": commsched.ParameterServers(servers=3, min_block_elements=8)}[name]


def careless(path, saved):
    """Writes no file as Program.save does."""
    content = b"".join(saved_file.pieces_of(saved))
    with open(path, "wb", buffering=0) as file:
        file.write(content[:len(content) // 2])
        time.sleep(1)
        file.write(content[len(content) // 2:])


def main():
    front, strategy, workers, servers, file, how = sys.argv[1:]
    workers, strategy = int(workers), drawn_strategy(strategy)
    for category in (commsched.GuessedCosts, commsched.MixedSamples):
        warnings.simplefilter("ignore", category)
    warnings.filterwarnings("ignore", "Tensor do not have 'place'")  # of PaddlePaddle
    job = commsched.init(servers=int(servers)) if "WORLD_SIZE" in os.environ else None
    if front == "mlir":
        def batches(number):
            return tuple(rows_of(job, mlir_step.batch(number)))
        program = mlir_step.make(strategy=strategy, **({"job": job} if job is not None and job.size > 1 else {"workers": workers}))
    elif front == "torch":
        def batches(number):
            return tuple(rows_of(job, frameworks.drawn(number)))
        program = frameworks.torch_program(strategy=strategy, cluster=workers)
    else:
        def batches(number):
            return dict(zip("xy", rows_of(job, frameworks.drawn(number))))
        program = frameworks.paddle_program(strategy=strategy, cluster=workers)
    options = {"replan": commsched.Replan(every=2, window=1)} if how == "replan" else {}
    if how == "careless":
        saved_file.write = careless
    print(train(program, file, batches, EACH, job, steps=STEPS, **options), flush=True)


if __name__ == "__main__":
    main()
