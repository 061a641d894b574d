# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""An eager training loop on several ranks, by one line:

    torchrun --nproc-per-node 2 examples/pytorch/eager.py

Trains a small network on sums of random numbers, and prints its loss on all of them after each epoch, on rank 0."""
import argparse

import torch
from torch import nn

import commsched
import commsched.torch


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--log", help="file for the losses, as JSON lines")
    options = parser.parse_args()
    job = commsched.init()
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(16, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    optimizer = commsched.torch.distribute(model, optimizer)  # the line
    scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.9)
    x = torch.randn(1024, 16)
    y = x.abs().sum(1, keepdim=True)
    log = commsched.JsonLines(options.log) if options.log and job.rank == 0 else None
    for epoch in range(options.epochs):
        order = torch.randperm(len(x), generator=torch.Generator().manual_seed(epoch))
        for batch in order.split(64):
            own = batch.chunk(job.size)[job.rank]
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(model(x[own]), y[own])
            loss.backward()
            optimizer.step()
        scheduler.step()
        if job.rank == 0:
            with torch.no_grad():
                loss = nn.functional.mse_loss(model(x), y).item()
            print(f"epoch {epoch}: loss {loss:.3f}", flush=True)
            if log:
                log.write(epoch + 1, {"loss": loss})


if __name__ == "__main__":
    main()
