# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A small Transformer that learns to go on with counted sequences, by two parameter servers, which hold its table of words row by
row, and two trainers, which are threads, or as many as torchrun (mpirun, Slurm, Kubernetes) starts processes.

    PYTHONPATH=python_api [mpirun -n 2] python examples/paddle/transformer.py [--steps N] [--workers N] [--log FILE]
    PYTHONPATH=python_api torchrun --nproc-per-node 2 examples/paddle/transformer.py
    PYTHONPATH=python_api python -m paddle.distributed.launch --nproc_per_node 2 examples/paddle/transformer.py

Started several times, each process is a trainer, and the servers are within them.
"""

import argparse

import numpy as np
import paddle
from paddle import nn
from paddle.nn import functional as F

import commsched
import commsched.paddle

WORDS, LENGTH, WIDTH = 32, 12, 32


def batch(random, samples=32):
    """Numbers that go up by a step which the first two show."""
    start, step = random.integers(0, WORDS, (samples, 1)), random.integers(1, 4, (samples, 1))
    text = (start + step * np.arange(LENGTH + 1)) % WORDS
    return {"words": text[:, :-1].copy(), "following": text[:, 1:, None].copy()}


def build():
    """The loss and the scheduler of the default program."""
    words = paddle.static.data("words", [None, LENGTH], "int64")
    following = paddle.static.data("following", [None, LENGTH, 1], "int64")
    position = paddle.static.create_parameter([LENGTH, WIDTH], "float32")
    hidden = nn.Embedding(WORDS, WIDTH, weight_attr=paddle.ParamAttr(name="table"))(words) + position
    mask = paddle.assign(np.triu(np.full((LENGTH, LENGTH), -1e9, np.float32), 1))
    hidden = nn.TransformerEncoder(nn.TransformerEncoderLayer(WIDTH, 4, 4 * WIDTH, dropout=0.0, activation="gelu"), 2)(hidden, mask)
    loss = F.cross_entropy(nn.Linear(WIDTH, WORDS)(hidden), following)
    scheduler = paddle.optimizer.lr.LinearWarmup(5e-3, 20, 0.0, 5e-3)
    paddle.optimizer.Adam(scheduler).minimize(loss)
    return loss, scheduler


def main(steps=120, workers=2, job=None, log=None):
    """job: of which this process is a rank, if it is of several."""
    rank, ranks = (job.rank, job.size) if job is not None else (0, 1)
    writers = [commsched.JsonLines(log)] if log and rank == 0 else []
    paddle.enable_static()
    paddle.seed(0)  # all ranks begin with the same values
    _, scheduler = build()
    paddle.static.Executor(paddle.CPUPlace()).run(paddle.static.default_startup_program())
    random = np.random.default_rng(0)
    strategy = commsched.ParameterServers(servers=2, row_sparse=["table"])
    trainer = commsched.paddle.transpile(example_batch=batch(random), trainers=ranks if ranks > 1 else workers, strategy=strategy)
    # All ranks draw the same global batches, and take their own rows.
    own = ({n: np.split(a, ranks)[rank] for n, a in batch(random).items()} for _ in range(steps))
    metrics = trainer.run(own, scheduler=scheduler, log=writers)
    if rank != 0:
        return metrics[-1]["loss"]
    for i in [*range(0, steps, 30), steps - 1]:
        print(f"step {i}: loss {metrics[i]['loss']:.4f}")
    print("a trainer fetches", trainer.get_trainer_program().count("cs.fetch_rows"), "table by rows")
    trainer.load_into()
    trainer.close()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--steps", type=int, default=120)
    parser.add_argument("--workers", type=int, default=2, help="trainers, where no launcher has started several processes")
    parser.add_argument("--log", help="file for the metrics of each step, as JSON lines")
    options = parser.parse_args()
    # MPI connects no parameter servers.
    main(options.steps, options.workers, commsched.init(transport="grpc"), options.log)
