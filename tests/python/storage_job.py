# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What test_storage.py runs: NAME FOLDER. A job that begins, or goes on from what there is in the folder, and prints what it has come
to; an error of CommSched's, or of the system, is one line."""
import os
import sys
import warnings
import zlib

import numpy as np

import commsched
import mlir_step
from commsched import following
from commsched import saved as saved_file
from commsched.data import DataCache, Loader

STEPS = 6
SPARSE = commsched.AllReduce(sparse=commsched.Sparse(0.25, "allgather", min_elements=8))


def result(program):
    return program.steps, {name: zlib.crc32(value.tobytes()) for name, value in program.slots().items()}


def train(program, saved, batches=mlir_step.batch, each=2, job=None, steps=STEPS, **options):
    """In pieces, behind each of which it is saved; by this rank of a job, too."""
    with program:
        there = os.path.exists(saved)
        if job.broadcast("looks for a file", b"yes" if there else b"") if job is not None else there:
            program.restore(saved)
        while program.steps < steps:
            first = program.steps
            program.run([batches(i) for i in range(first, first + each)], **options)
            program.save(saved)
    return result(program)


def rows_of(job, arrays):
    """This rank's rows of a global batch's arrays; without a job, all."""
    if job is None:
        return list(arrays)
    return [array[job.rank * len(array) // job.size:(job.rank + 1) * len(array) // job.size] for array in arrays]


def open_job(**options):
    return commsched.init(deadline=20, **options)


def sparse(path):
    return train(mlir_step.make(strategy=SPARSE), path("saved"))


def written(path):
    """With all files that follow a run."""
    program = mlir_step.make()
    program.trace(path("trace"))
    logs = [following.JsonLines(path("log")), following.TensorBoard(path("events"))]
    try:
        return train(program, path("saved"), log=logs)
    finally:
        for log in logs:
            log.close()


def data(path):
    """Batches by a cache on disk, which goes on where it was."""
    class Source:
        identity = "numbers"

        def __len__(self):
            return 4 * mlir_step.ROWS

        def __getitem__(self, i):
            random = np.random.default_rng(i)
            return random.standard_normal(mlir_step.SIZE).astype(np.float32), np.float32(random.standard_normal())
    program = mlir_step.make()
    with DataCache(Source(), disk=1 << 20, folder=path("cache")) as cache, program:
        loader = Loader(cache, mlir_step.ROWS, threads=1)
        position = program.restore(path("saved")) if os.path.exists(path("saved")) else None
        for epoch in range((position or {"epoch": 0})["epoch"], 2):
            program.run(loader.epoch(epoch))
            program.save(path("saved"))
    return result(program)


def careless(path):
    """Writes no file as Program.save does."""
    def write(file, saved):
        with open(file, "wb") as to:
            to.write(b"".join(before(saved)))
    before, saved_file.write = saved_file.pieces_of, write
    return train(mlir_step.make(), path("saved"))


def replanned(path):
    return train(mlir_step.make(), path("saved"), each=3, replan=commsched.Replan(every=2, window=1, folder=path("plans")))


def tuned(path):
    return train(mlir_step.make(strategy=commsched.AllReduce(schedule="tuned")), path("saved"), each=6)


def measured(path):
    return train(mlir_step.make(costs=commsched.costs.Costs(calibrate=True)), path("saved"), each=6)


def checked(path):
    with mlir_step.make() as program:
        return [(row.name, row.outside) for row in program.check([mlir_step.batch(0)])]


def simulated(path):
    with mlir_step.make() as program:
        return commsched.simulate(program, trace=path("trace")).steps


def of_rank(path, strategy, **options):
    """One of several, with what each has of its own."""
    job = open_job(**options)
    return train(mlir_step.make(strategy=strategy, job=job), path("saved"), lambda number: tuple(rows_of(job, mlir_step.batch(number))), job=job)


def rank(path):
    return of_rank(path, SPARSE)


def served(path):
    """Servers within the ranks."""
    return of_rank(path, commsched.ParameterServers(servers=3, min_block_elements=8))


def serving(path):
    """Servers as processes of their own, the last two."""
    return of_rank(path, commsched.ParameterServers(servers=3, min_block_elements=8), servers=2)


def main():
    name, folder = sys.argv[1:]
    for category in (commsched.GuessedCosts, commsched.MixedSamples):
        warnings.simplefilter("ignore", category)
    warnings.filterwarnings("ignore", "Tensor do not have 'place'")  # of PaddlePaddle
    try:
        if name not in globals():
            import storage_frameworks
        job = globals().get(name) or getattr(storage_frameworks, name)
        print(job(lambda file: os.path.join(folder, file)), flush=True)
    except (commsched.CommSchedError, OSError) as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        sys.exit(1)


if __name__ == "__main__":
    main()
