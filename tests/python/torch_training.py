# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Training by eager PyTorch, as several workers do it, to compare with.

Each part of a batch goes through the model on its own; gradients, metrics and running statistics are means of what the
parts make of them. Then the stock optimizer makes its step.
"""

import copy

import numpy as np
import pytest
import torch
from torch.utils import _pytree as pytree

import commsched.torch
from commsched.torch.describing import is_criterion


def loss_of(loss_fn, model, batch):
    if is_criterion(loss_fn):
        value = loss_fn(model(*batch[:-1]), batch[-1])
    else:
        value = loss_fn(model, *batch) if isinstance(batch, (tuple, list)) else loss_fn(model, batch)
    if isinstance(value, torch.Tensor):
        return value
    return list(value.values())[0] if isinstance(value, dict) else value[0]


def eager(model, optimizer, loss_fn, batches, workers=1, before_update=None, after_step=None):
    """Trains in place; returns the losses."""
    losses = []
    for batch in batches:
        start = [b.clone() for b in model.buffers()]
        gradients, buffers, values = [], [], []
        for w in range(workers):
            for b, s in zip(model.buffers(), start):
                b.data.copy_(s)
            part = pytree.tree_map(lambda t: t[w * len(t) // workers:(w + 1) * len(t) // workers], batch)
            optimizer.zero_grad()
            loss = loss_of(loss_fn, model, part)
            loss.backward()
            values.append(loss.item())
            gradients.append([p.grad if p.grad is None else p.grad.clone() for p in model.parameters()])
            buffers.append([b.clone() for b in model.buffers()])
        for p, *of in zip(model.parameters(), *gradients):
            p.grad = None if of[0] is None else sum(of) / workers
        for b, *of in zip(model.buffers(), *buffers):
            b.data.copy_(sum(of) / workers if b.is_floating_point() else of[0])
        if before_update is not None:
            before_update(model)
        optimizer.step()
        losses.append(float(np.mean(values)))
        if after_step is not None:
            after_step()
    return losses


def distance(a, b):
    a, b = a.detach().double(), b.detach().double()
    assert a.shape == b.shape
    apart = torch.where(a == b, 0.0, (a - b).abs())  # infinities of a mask are equal
    value = float(apart.max()) if a.numel() else 0.0
    return value if np.isfinite(value) else float("inf")


def errors(model, optimizer, wanted, wanted_optimizer, start):
    """Largest differences of parameters, buffers and the optimizer's state; and how far the parameters went from `start`."""
    pairs = list(zip(model.parameters(), wanted.parameters(), start.parameters(), strict=True))
    result = {"params": max(distance(a, b) for a, b, _ in pairs), "moved": max(distance(b, c) for _, b, c in pairs), "state": 0.0,
              "buffers": max((distance(a, b) for a, b in zip(model.buffers(), wanted.buffers(), strict=True)), default=0.0)}
    for a, b, _ in pairs:
        mine, theirs = ({k: v for k, v in o.state.get(p, {}).items() if v is not None} for o, p in ((optimizer, a), (wanted_optimizer, b)))
        assert mine.keys() == theirs.keys(), (mine.keys(), theirs.keys())
        for key in mine:
            if not isinstance(theirs[key], torch.Tensor):
                same = type(mine[key]) is type(theirs[key]) and mine[key] == (pytest.approx(theirs[key]) if isinstance(theirs[key], float) else theirs[key])
                assert same, (key, mine[key], theirs[key])
                continue
            assert (mine[key].dtype, mine[key].shape) == (theirs[key].dtype, theirs[key].shape), key
            result["state"] = max(result["state"], distance(mine[key], theirs[key]))
    return result


def train_both(model, optimizer_of, loss_fn, batches, workers=1, scheduler_of=None, **options):
    """(errors, program), after both have taken all batches."""
    mine, theirs = copy.deepcopy(model), copy.deepcopy(model)
    optimizer, wanted = optimizer_of(mine), optimizer_of(theirs)
    program = commsched.torch.transpile(mine, optimizer, loss_fn, batches[0], cluster=workers, **options)
    scheduler, other = (scheduler_of(o) if scheduler_of else None for o in (optimizer, wanted))
    losses = eager(theirs, wanted, loss_fn, batches, workers, options.get("before_update"), other.step if other else None)
    metrics = program.run(batches, scheduler=scheduler)
    program.load_into(mine, optimizer)
    found = errors(mine, optimizer, theirs, wanted, model)
    found["loss"] = max(abs(m[next(iter(m))] - l) for m, l in zip(metrics, losses, strict=True))
    program.close()
    return found, program


def assert_close(found, params=1e-6, buffers=2e-6, state=2e-6, loss=5e-6, moved=1e-3):
    assert found["moved"] >= moved, found
    assert found["params"] <= params and found["buffers"] <= buffers and found["state"] <= state and found.get("loss", 0) <= loss, found
