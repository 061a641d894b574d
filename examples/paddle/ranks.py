# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A small convolutional net on handwritten digits, one worker in each process that mpirun (torchrun, Slurm, Kubernetes) starts.

    PYTHONPATH=python_api mpirun -n 2 python examples/paddle/ranks.py [--epochs N]

On its own, it is a job of one.
"""

import argparse

import numpy as np
import paddle
from paddle import nn
from paddle.nn import functional as F

import commsched
import commsched.paddle

GLOBAL_BATCH = 64


def net(x):
    return nn.Sequential(nn.Conv2D(1, 16, 3, padding=1, bias_attr=False), nn.BatchNorm2D(16), nn.ReLU(), nn.MaxPool2D(2),
                         nn.Conv2D(16, 32, 3, padding=1, bias_attr=False), nn.BatchNorm2D(32), nn.ReLU(), nn.MaxPool2D(2),
                         nn.Flatten(), nn.Dropout(0.2), nn.Linear(128, 10))(x)


def data(count=1536):
    from sklearn.datasets import load_digits
    x, y = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(x))
    x, y = (x[order] / 16).astype(np.float32).reshape(-1, 1, 8, 8), y[order].reshape(-1, 1)
    return {"x": x[:count], "y": y[:count]}, {"x": x[count:], "y": y[count:]}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--log", help="file for the metrics of each step, as JSON lines")
    parser.add_argument("--workers", type=int, help="threads of this process, where no launcher has started several")
    options = parser.parse_args()

    job = commsched.init()
    log = [commsched.JsonLines(options.log)] if options.log and job.rank == 0 else []
    paddle.enable_static()
    paddle.seed(0)  # all ranks begin with the same values
    train, test = data()
    x, y = paddle.static.data("x", [None, 1, 8, 8]), paddle.static.data("y", [None, 1], "int64")
    output = net(x)
    loss = F.cross_entropy(output, y)
    right = paddle.static.accuracy(output, y)
    testing = paddle.static.default_main_program().clone()  # the same without update, and with running statistics
    testing.set_is_test_attr()
    steps = len(train["x"]) // GLOBAL_BATCH
    scheduler = paddle.optimizer.lr.CosineAnnealingDecay(0.1, steps * options.epochs)
    paddle.optimizer.Momentum(scheduler, 0.9, grad_clip=nn.ClipGradByGlobalNorm(1.0)).minimize(loss)
    executor = paddle.static.Executor(paddle.CPUPlace())
    executor.run(paddle.static.default_startup_program())

    program = commsched.paddle.transpile(example_batch={n: a[:GLOBAL_BATCH] for n, a in train.items()}, metrics={"accuracy": right},
                                         trainers=options.workers if job.size == 1 else None)
    rows = GLOBAL_BATCH // job.size
    for epoch in range(options.epochs):
        order = np.random.default_rng(epoch).permutation(steps * GLOBAL_BATCH).reshape(steps, job.size, rows)
        metrics = program.run(({n: a[order[i, job.rank]] for n, a in train.items()} for i in range(steps)), scheduler=scheduler,
                              log=log)
        if job.rank == 0:
            print(f"epoch {epoch}: loss {np.mean([m['loss'] for m in metrics]):.4f}, accuracy {np.mean([m['accuracy'] for m in metrics]):.3f}")
    program.load_into()  # any rank may
    if job.rank == 0:
        # Found by name in the scope: what load_into has written.
        (accuracy,) = executor.run(testing, feed=test, fetch_list=[testing.global_block().ops[-1].results()[0]])
        print(f"accuracy on {len(test['y'])} samples not trained on: {float(accuracy):.3f}")


if __name__ == "__main__":
    main()
