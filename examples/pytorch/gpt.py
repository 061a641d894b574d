# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A small GPT with tied embeddings that learns to go on with counted sequences, in mixed precision, on two workers, which are threads,
or as many as torchrun (mpirun, Slurm, Kubernetes) starts processes.

    PYTHONPATH=python_api [torchrun --nproc-per-node 2 | python] examples/pytorch/gpt.py [--steps N] [--workers N] [--log FILE]
"""

import argparse

import torch
import torch.nn.functional as F
from torch import nn

import commsched
import commsched.torch


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU("tanh"), nn.Linear(4 * width, width))

    def forward(self, x):
        q, k, v = self.qkv(self.norm1(x)).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        x = x + self.out(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2))
        return x + self.mlp(self.norm2(x))


class GPT(nn.Module):
    def __init__(self, tokens=32, length=16, width=32, layers=2, heads=4):
        super().__init__()
        self.embed, self.position = nn.Embedding(tokens, width), nn.Embedding(length, width)
        self.blocks = nn.Sequential(*[Block(width, heads) for _ in range(layers)])
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, tokens, bias=False)
        nn.init.normal_(self.embed.weight, std=0.1)
        self.head.weight = self.embed.weight

    def forward(self, ids):
        return self.head(self.norm(self.blocks(self.embed(ids) + self.position.weight)))


def loss(model, ids, following):
    with torch.autocast("cpu", torch.bfloat16):
        return F.cross_entropy(model(ids).flatten(0, 1), following.flatten())


def batch(generator, samples=32, length=16, tokens=32):
    """Numbers that go up by a step which the first two show."""
    start, step = (torch.randint(low, high, (samples, 1), generator=generator) for low, high in ((0, tokens), (1, 4)))
    text = (start + step * torch.arange(length + 1)) % tokens
    return text[:, :-1].contiguous(), text[:, 1:].contiguous()


def main(steps=200, workers=2, job=None, log=None):
    """job: of which this process is a rank, if it is of several."""
    rank, ranks = (job.rank, job.size) if job is not None else (0, 1)
    writers = [commsched.JsonLines(log)] if log and rank == 0 else []
    torch.manual_seed(0)
    generator, model = torch.Generator().manual_seed(0), GPT()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    warm_up = torch.optim.lr_scheduler.LinearLR(optimizer, 0.1, 1.0, 20)
    program = commsched.torch.transpile(model, optimizer, loss, batch(generator), cluster=ranks if ranks > 1 else workers)
    # All ranks draw the same global batches, and take their own rows.
    own = ([part.chunk(ranks)[rank] for part in batch(generator)] for _ in range(steps))
    metrics = program.run(own, scheduler=warm_up, log=writers)
    program.load_into(model, optimizer)
    program.close()
    if rank != 0:
        return metrics[-1]["loss"]
    for i in range(0, steps, 40):
        print(f"step {i}: loss {metrics[i]['loss']:.4f}")
    print(f"step {steps - 1}: loss {metrics[-1]['loss']:.4f}")
    return metrics[-1]["loss"]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--workers", type=int, default=2, help="threads of this process, where no launcher has started several")
    parser.add_argument("--log", help="file for the metrics of each step, as JSON lines")
    options = parser.parse_args()
    main(options.steps, options.workers, commsched.init(), options.log)
