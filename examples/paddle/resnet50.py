# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""ResNet-50 of paddle.vision on handwritten digits, made as large and coloured as photographs of 32 x 32, by all-reduce.

    PYTHONPATH=python_api python examples/paddle/resnet50.py [--steps N] [--batch N] [--depth 18] [--workers N] [--log FILE]
    PYTHONPATH=python_api torchrun --nproc-per-node 2 examples/paddle/resnet50.py
    PYTHONPATH=python_api python -m paddle.distributed.launch --nproc_per_node 2 examples/paddle/resnet50.py
    PYTHONPATH=python_api mpirun -n 2 python examples/paddle/resnet50.py

Alone, workers are threads; started several times, each process is a worker, with its part of each global batch.
"""

import argparse
import time

import numpy as np
import paddle
from paddle import nn
from paddle.nn import functional as F

import commsched
import commsched.paddle


def data():
    """x: [samples, 3, 32, 32], in 0 to 1; y: [samples, 1]."""
    from sklearn.datasets import load_digits
    x, y = load_digits(return_X_y=True)
    x = np.kron((x / 16).reshape(-1, 1, 8, 8), np.ones((1, 1, 4, 4)))
    return (x * np.array([1.0, 0.7, 0.4]).reshape(1, 3, 1, 1)).astype(np.float32), y.reshape(-1, 1)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--batch", type=int, default=16, help="samples of all workers together")
    parser.add_argument("--depth", type=int, default=50, choices=[18, 34, 50, 101, 152])
    parser.add_argument("--workers", type=int, default=1, help="where no launcher has started several processes")
    parser.add_argument("--log", help="file for the metrics of each step, as JSON lines")
    options = parser.parse_args()

    job = commsched.init()
    writers = [commsched.JsonLines(options.log)] if options.log and job.rank == 0 else []
    paddle.enable_static()
    paddle.seed(0)  # all ranks begin with the same values
    x, y = paddle.static.data("x", [None, 3, 32, 32]), paddle.static.data("y", [None, 1], "int64")
    loss = F.cross_entropy(getattr(paddle.vision.models, f"resnet{options.depth}")(num_classes=10)(x), y)
    scheduler = paddle.optimizer.lr.LinearWarmup(0.02, 5, 0.0, 0.02)
    paddle.optimizer.Momentum(scheduler, 0.9, weight_decay=1e-4, grad_clip=nn.ClipGradByGlobalNorm(5.0)).minimize(loss)
    paddle.static.Executor(paddle.CPUPlace()).run(paddle.static.default_startup_program())

    images, labels = data()
    random, rows = np.random.default_rng(0), options.batch // job.size
    program = commsched.paddle.transpile(example_batch={"x": images[:options.batch], "y": labels[:options.batch]},
                                         trainers=job.size if job.size > 1 else options.workers)
    began = time.monotonic()
    for step in range(options.steps):
        at = random.integers(0, len(images), options.batch)[job.rank * rows:(job.rank + 1) * rows]  # this rank's
        (metrics,) = program.run([{"x": images[at], "y": labels[at]}], scheduler=scheduler, log=writers)
        if step == 0:
            began = time.monotonic()  # the first one compiles
        if job.rank == 0 and (step % 5 == 0 or step == options.steps - 1):
            print(f"step {step}: loss {metrics['loss']:.4f}", flush=True)
    if job.rank == 0 and options.steps > 1:
        print(f"{options.batch * (options.steps - 1) / (time.monotonic() - began):.1f} images a second")
    program.load_into()  # any rank may
    program.close()


if __name__ == "__main__":
    main()
