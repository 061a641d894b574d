# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Steps of several backward passes, for torch_distribute_cases.py: losses of heads that share a body, each with a backward pass of its own, as one writes them for one device. Their
reference are gradients that are averaged by hand after each pass. And models whose parameters two optimizers have."""
import random

import torch
import torch.distributed as dist
from torch import nn

import commsched.torch


class Heads(nn.Module):
    def __init__(self, draw):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 8))
        self.heads = nn.ModuleList(nn.Linear(8, 2) for _ in range(draw.randrange(2, 5)))

    def forward(self, x, which):
        x = self.body(x)
        return [self.heads[i](x).pow(2).mean() * (i + 1) for i in which]


def _passes(draw, count):
    """Which heads have a part in each; the first has all of them, or all have one."""
    every = list(range(count))
    some = [sorted(draw.sample(every, draw.randrange(1, count + 1))) for _ in range(draw.randrange(1, 3))]
    return [every, *some] if draw.random() < 0.6 else [[i] for i in every] + some


def _average(model):
    for p in model.parameters():
        if p.grad is not None:
            dist.all_reduce(p.grad)
            p.grad.div_(dist.get_world_size())


def several_passes(seed, ours, rank):
    """What training it comes to."""
    draw = random.Random(seed)
    torch.manual_seed(seed)
    model = Heads(draw)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    to_none, clips = draw.random() < 0.7, draw.random() < 0.3
    between = draw.random() < 0.4  # clips what the passes so far have made, too
    if ours:
        commsched.torch.distribute(model, optimizer)
    data = torch.Generator().manual_seed(100 * seed + rank)
    for _ in range(8):
        optimizer.zero_grad(set_to_none=to_none)
        x = torch.randn(3, 6, generator=data)
        passes, kept = _passes(draw, len(model.heads)), draw.random() < 0.5
        losses = model(x, range(len(model.heads))) if kept else None
        for number, which in enumerate(passes):
            # Of one forward pass, or each of its own.
            of = [losses[i] for i in which] if losses is not None else model(x, which)
            sum(of).backward(retain_graph=kept)
            if not ours:
                _average(model)
            if between and number < len(passes) - 1:
                nn.utils.clip_grad_norm_(model.parameters(), 0.1)
        if clips:
            nn.utils.clip_grad_norm_(model.parameters(), 0.1)
        optimizer.step()
    if ours:
        optimizer.undistribute()
    return [p.detach().clone() for p in model.parameters()]


def two_optimizers(seed, ours, rank):
    """The same, of a model whose parameters two optimizers have, one of which is distributed; in any order of their steps."""
    draw = random.Random(seed)
    torch.manual_seed(seed)
    model = Heads(draw)
    parameters = list(model.parameters())
    draw.shuffle(parameters)
    cut = draw.randrange(1, len(parameters))
    optimizer = torch.optim.SGD(parameters[:cut], lr=0.05, momentum=0.9)
    other = draw.choice((torch.optim.Adam, torch.optim.SGD))(parameters[cut:], lr=0.02)
    clips, every = draw.random() < 0.2, range(len(model.heads))
    if ours:
        commsched.torch.distribute(model, optimizer)
    data = torch.Generator().manual_seed(100 * seed + rank)
    for _ in range(8):
        for one in draw.sample((optimizer, other), 2):
            one.zero_grad()
        sum(model(torch.randn(3, 6, generator=data), every)).backward()
        if not ours:
            _average(model)
        if clips:
            nn.utils.clip_grad_norm_(model.parameters(), 0.1)
        for one in draw.sample((optimizer, other), 2):
            one.step()
    if ours:
        optimizer.undistribute()
    return [p.detach().clone() for p in model.parameters()]
