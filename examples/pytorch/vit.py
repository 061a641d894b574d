# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A small vision transformer on handwritten digits: AdamW, clipping, a rate that falls as a cosine; on two workers, which are threads,
or as many as torchrun (mpirun, Slurm, Kubernetes) starts processes.

    PYTHONPATH=python_api [torchrun --nproc-per-node 2 | python] examples/pytorch/vit.py [--epochs N] [--workers N] [--log FILE]
"""

import argparse

import numpy as np
import torch
from torch import nn

import commsched
import commsched.torch


class ViT(nn.Module):
    def __init__(self, width=32, layers=2, classes=10):
        super().__init__()
        self.patches = nn.Conv2d(1, width, 2, 2)
        self.position = nn.Parameter(torch.randn(16, width) * 0.02)
        layer = nn.TransformerEncoderLayer(width, 4, 2 * width, dropout=0.1, activation="gelu", batch_first=True, norm_first=True)
        self.encoder = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.head = nn.Linear(width, classes)

    def forward(self, x):
        x = self.patches(x).flatten(2).transpose(1, 2) + self.position
        return self.head(self.encoder(x).mean(1))


def data(count=1536):
    from sklearn.datasets import load_digits
    x, y = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(x))
    x, y = torch.tensor(x[order] / 16, dtype=torch.float32).reshape(-1, 1, 8, 8), torch.tensor(y[order])
    return (x[:count], y[:count]), (x[count:], y[count:])


def main(epochs=20, workers=2, job=None, log=None):
    """job: of which this process is a rank, if it is of several."""
    rank, ranks = (job.rank, job.size) if job is not None else (0, 1)
    writers = [commsched.JsonLines(log)] if log and rank == 0 else []
    torch.manual_seed(0)
    model = ViT()
    (x, y), (test_x, test_y) = data()
    batches = [(x[i:i + 64], y[i:i + 64]) for i in range(0, len(x), 64)]
    own = [tuple(part.chunk(ranks)[rank] for part in batch) for batch in batches]  # this rank's rows
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=0.01)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, epochs)
    program = commsched.torch.transpile(model, optimizer, nn.CrossEntropyLoss(label_smoothing=0.05), batches[0],
                                        cluster=ranks if ranks > 1 else workers,
                                        before_update=lambda m: nn.utils.clip_grad_norm_(m.parameters(), 1.0))
    for epoch in range(epochs):
        losses = [m["loss"] for m in program.run(own, log=writers)]
        scheduler.step()
        if rank == 0:
            print(f"epoch {epoch}: loss {np.mean(losses):.4f}")
    program.load_into(model, optimizer)
    program.close()
    model.eval()
    with torch.no_grad():
        accuracy = (model(test_x).argmax(1) == test_y).float().mean().item()
    if rank == 0:
        print(f"accuracy on {len(test_y)} samples not trained on: {accuracy:.3f}")
    return accuracy


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--workers", type=int, default=2, help="threads of this process, where no launcher has started several")
    parser.add_argument("--log", help="file for the metrics of each step, as JSON lines")
    options = parser.parse_args()
    main(options.epochs, options.workers, commsched.init(), options.log)
