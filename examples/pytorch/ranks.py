# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A small convolutional net on handwritten digits, one worker in each process that torchrun (mpirun, Slurm, Kubernetes) starts.

    PYTHONPATH=python_api torchrun --nproc-per-node 2 examples/pytorch/ranks.py [--epochs N] [--saved FILE]

What has been saved in FILE is gone on from, by any number of processes: also after torchrun --max-restarts has started them again.
"""

import argparse
import math
import os

import torch
from torch import nn
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset, default_collate

import commsched
import commsched.torch

GLOBAL_BATCH = 64


def net(classes=10):
    return nn.Sequential(nn.Conv2d(1, 16, 3, padding=1, bias=False), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2),
                         nn.Conv2d(16, 32, 3, padding=1, bias=False), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2),
                         nn.Flatten(), nn.Dropout(0.2), nn.Linear(128, classes))


def data(count=1536):
    from sklearn.datasets import load_digits
    x, y = (torch.tensor(a) for a in load_digits(return_X_y=True))
    order = torch.randperm(len(x), generator=torch.Generator().manual_seed(0))
    x, y = (x[order] / 16).float().reshape(-1, 1, 8, 8), y[order]
    return TensorDataset(x[:count], y[:count]), (x[count:], y[count:])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--saved", help="file that is written after each epoch, and gone on from")
    parser.add_argument("--log", help="file for the metrics of each step, as JSON lines")
    parser.add_argument("--workers", type=int, help="threads of this process, where no launcher has started several")
    options = parser.parse_args()

    job = commsched.init()
    log = [commsched.JsonLines(options.log)] if options.log and job.rank == 0 else []
    torch.manual_seed(0)  # all ranks begin with the same model
    model, (train, (test_x, test_y)) = net(), data()
    sampler = DistributedSampler(train, job.size, job.rank, drop_last=True)
    # Threads of one process are given the rows that ranks take: every so many, beginning with their own number.
    threads = options.workers or 1 if job.size == 1 else 1
    loader = DataLoader(train, GLOBAL_BATCH // job.size, sampler=sampler, drop_last=True,  # the rows of this rank
                        collate_fn=lambda rows: default_collate([row for i in range(threads) for row in rows[i::threads]]))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    program = commsched.torch.transpile(model, optimizer, nn.CrossEntropyLoss(), train[:GLOBAL_BATCH],
                                        cluster=options.workers if job.size == 1 else None,
                                        before_update=lambda m: nn.utils.clip_grad_norm_(m.parameters(), 1.0))
    # Rank 0 reads the file, so it also says whether there is one.
    if job.broadcast("looks for a file", b"yes" if options.saved and os.path.exists(options.saved) else b""):
        program.restore(options.saved)
    for epoch in range(program.steps // len(loader), options.epochs):
        optimizer.param_groups[0]["lr"] = 0.05 * (1 + math.cos(math.pi * epoch / options.epochs))
        sampler.set_epoch(epoch)
        metrics = program.run(loader, log=log)
        if options.saved:
            program.save(options.saved)
        if job.rank == 0:
            print(f"epoch {epoch}: loss {sum(m['loss'] for m in metrics) / len(metrics):.4f}")
    program.load_into(model, optimizer)  # any rank may
    if job.rank == 0:
        model.eval()
        with torch.no_grad():
            accuracy = (model(test_x).argmax(1) == test_y).float().mean().item()
        print(f"accuracy on {len(test_y)} samples not trained on: {accuracy:.3f}")


if __name__ == "__main__":
    main()
