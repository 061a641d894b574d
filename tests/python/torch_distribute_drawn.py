# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models and training loops that are drawn, for torch_distribute_cases.py: weights that are tied, modules that are used several
times, in another order in each step, parts that are computed again in the backward pass, parameters that are not used, buffers."""
import contextlib
import random

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

import commsched.torch

WORDS = 24


class Drawn(nn.Module):
    def __init__(self, draw):
        super().__init__()
        self.width = draw.choice((4, 12))
        self.table = nn.Embedding(WORDS, self.width)
        self.layers = nn.ModuleList(self._layer(draw) for _ in range(draw.randrange(2, 6)))
        linear = [module for module in self.layers if isinstance(module, nn.Linear)]
        for module in linear[1:]:
            if draw.random() < 0.4:
                module.weight = linear[0].weight
        self.places = [i for i in range(len(self.layers)) for _ in range(draw.choice((1, 1, 2, 3)))]
        draw.shuffle(self.places)
        self.again = {i for i, layer in enumerate(self.layers) if not isinstance(layer, nn.BatchNorm1d) and draw.random() < 0.3}
        self.reorders, self.looks = draw.random() < 0.5, draw.random() < 0.3
        self.head = None if draw.random() < 0.6 else nn.Linear(self.width, WORDS)
        if self.head is not None and draw.random() < 0.5:
            self.head.weight = self.table.weight
        self.unused = nn.Linear(3, 3) if draw.random() < 0.5 else None

    def _layer(self, draw):
        return draw.choice((lambda: nn.Linear(self.width, self.width), lambda: nn.LayerNorm(self.width),
                            lambda: nn.BatchNorm1d(self.width, momentum=0.5),
                            lambda: nn.Sequential(nn.Linear(self.width, 9), nn.GELU(), nn.Linear(9, self.width))))()

    def forward(self, tokens, step):
        x, places = self.table(tokens), list(self.places)
        if self.reorders:
            random.Random(step).shuffle(places)
        for place in places:
            layer = self.layers[place]
            x = torch.tanh(x + (checkpoint(layer, x, use_reentrant=False) if place in self.again else layer(x)))
        if self.looks:  # at buffers that nothing of this pass may have used
            x = x + 1e-3 * sum(buffer.float().mean() for buffer in self.buffers())
        return x @ self.table.weight.T if self.head is None else self.head(x)


def drawn(seed, ours, rank):
    """What training it comes to."""
    draw = random.Random(seed)
    torch.manual_seed(seed)
    model = Drawn(draw)
    make = draw.choice((lambda p: torch.optim.SGD(p, lr=0.05, momentum=0.9), lambda p: torch.optim.AdamW(p, lr=1e-2)))
    accumulates, to_none, clips = draw.random() < 0.3, draw.random() < 0.7, draw.random() < 0.2
    twice = draw.random() < 0.2  # two forward passes, one backward pass
    asks = draw.random() < 0.2  # for gradients beside the backward pass, on one rank
    optimizer = make(model.parameters())
    if ours:
        optimizer = commsched.torch.distribute(model, optimizer)
        trained, no_sync = model, optimizer.no_sync
    else:
        trained = nn.parallel.DistributedDataParallel(model, find_unused_parameters=True)
        no_sync = trained.no_sync
    batches, losses = torch.Generator().manual_seed(100 * seed + rank), []
    for step in range(8):
        optimizer.zero_grad(set_to_none=to_none)
        for part in range(2 if accumulates else 1):
            with no_sync() if accumulates and part == 0 else contextlib.nullcontext():
                tokens = torch.randint(draw.choice((3, WORDS)), (7,), generator=batches)
                if twice:  # DistributedDataParallel would prepare the second one anew
                    with no_sync():
                        nn.functional.cross_entropy(trained(tokens, step), tokens.flip(0)).backward()
                loss = nn.functional.cross_entropy(trained(tokens, step), tokens)
                if asks and ours and rank == 0:
                    torch.autograd.grad(loss, model.table.weight, retain_graph=True)
                loss.backward()
        if clips:
            nn.utils.clip_grad_norm_(model.parameters(), 0.3)
        optimizer.step()
        losses.append(loss.item())
    result = losses, dict(model.state_dict()), optimizer.state_dict()
    early = False
    if ours:
        gradients = optimizer._commsched.gradients
        early = any(unit.early for unit in gradients.units)
        assert model.looks or model not in gradients._buffers.users  # which its parts wait for, not itself
        optimizer.undistribute()
    return result, early
