# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A small GPT with tied embeddings that learns to go on with counted sequences, on two workers, in mixed precision.

    PYTHONPATH=python_api python examples/pytorch/gpt.py
"""

import torch
import torch.nn.functional as F
from torch import nn

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


def main(steps=200, workers=2):
    torch.manual_seed(0)
    generator, model = torch.Generator().manual_seed(0), GPT()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    warm_up = torch.optim.lr_scheduler.LinearLR(optimizer, 0.1, 1.0, 20)
    program = commsched.torch.transpile(model, optimizer, loss, batch(generator), cluster=workers)
    metrics = program.run((batch(generator) for _ in range(steps)), scheduler=warm_up)
    for i in range(0, steps, 40):
        print(f"step {i}: loss {metrics[i]['loss']:.4f}")
    print(f"step {steps - 1}: loss {metrics[-1]['loss']:.4f}")
    program.load_into(model, optimizer)
    program.close()
    return metrics[-1]["loss"]


if __name__ == "__main__":
    main()
