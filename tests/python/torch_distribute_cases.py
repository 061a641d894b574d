# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A rank of test_torch_distribute.py: CASE FILE. Trains a model by DistributedDataParallel over gloo and by distribute(), and
compares all that comes of it, to the bit."""
import contextlib
import copy
import gc
import io
import os
import signal
import sys
import time
from datetime import timedelta

import torch
import torch.distributed as dist
from torch import nn

import commsched.torch
from cases import FIRST, TIMES, cases
from commsched.torch import first_use, gradients, watching
from torch_distribute_drawn import drawn
from torch_distribute_passes import several_passes, two_optimizers

first_use.SPREAD = 10.0  # what goes together depends on no clock here
first_use.EARLY, first_use.EARLY_BYTES = 0.0, 0  # nor of which gradients a part is sent early
CASE, FILE = sys.argv[1:]
GETATTR = nn.Module.__getattr__  # as it is while nothing is distributed


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.attention = nn.MultiheadAttention(width, 4, batch_first=True)  # whose out_proj is never called
        self.norm, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.inner = nn.Sequential(nn.Linear(width, 2500), nn.GELU(), nn.Linear(2500, width))

    def forward(self, x):
        h = self.norm(x)
        x = x + self.attention(h, h, h, need_weights=False)[0]
        return x + self.inner(self.norm2(x))


class Net(nn.Module):
    """Tied weights, a convolution with batch norm, an LSTM, parameters of the root, frozen and unused ones; a layer's
    weight that another one reads before it."""

    def __init__(self, width=32):
        super().__init__()
        self.table = nn.Embedding(50, width)
        self.convolution, self.batch_norm = nn.Conv1d(width, width, 3, padding=1), nn.BatchNorm1d(width)
        self.lstm = nn.LSTM(width, width, batch_first=True)
        self.blocks = nn.ModuleList(Block(width) for _ in range(2))
        self.early, self.late = nn.Linear(width, width), nn.Linear(width, width)
        self.scale, self.backwards = nn.Parameter(torch.ones(width)), False
        self.unused, self.frozen = nn.Linear(3, 3), nn.Linear(width, width).requires_grad_(False)

    def forward(self, tokens):
        x = self.table(tokens)
        x = self.batch_norm(self.convolution(x.transpose(1, 2))).transpose(1, 2)
        x = x + 0.1 * x @ self.late.weight  # before late is called
        x = x + self.lstm(x)[0]
        for block in reversed(self.blocks) if self.backwards else self.blocks:
            x = block(x)
        return (self.late(self.early(self.frozen(x))) * self.scale) @ self.table.weight.T


OPTIMIZERS = {"adamw": lambda groups: torch.optim.AdamW(groups, lr=1e-2, fused=True),
              "sgd": lambda groups: torch.optim.SGD(groups, lr=0.01, momentum=0.9, nesterov=True),
              "rmsprop": lambda groups: torch.optim.RMSprop(groups, lr=1e-3, foreach=True)}


def train(ours, rank, optimizer="adamw", clip="", accumulate=False, to_none=True, scheduled="after", look=False, peek=False, compiled=""):
    torch.manual_seed(0 if ours or rank == 0 else 1)  # the values are those of rank 0
    model = Net()
    groups = [{"params": [p for p in model.parameters() if p.dim() > 1], "weight_decay": 0.1},
              {"params": [p for p in model.parameters() if p.dim() <= 1]}]
    optimizer = OPTIMIZERS[optimizer](groups)

    def schedule():
        return torch.optim.lr_scheduler.StepLR(optimizer, 3, 0.5)
    scheduler = schedule() if scheduled == "before" else None
    if ours:
        assert commsched.torch.distribute(model, optimizer) is optimizer
        trained, no_sync = model, optimizer.no_sync
    else:
        trained = nn.parallel.DistributedDataParallel(model, find_unused_parameters=True)
        no_sync = trained.no_sync
    if ours and compiled == "whole":
        trained = torch.compile(model, backend="eager")
    elif ours and compiled == "part":
        model.blocks[1].compile(backend="eager")
    scheduler = scheduler or schedule()
    listed, looks = list(model.parameters()), []
    average = torch.optim.swa_utils.AveragedModel(model)
    random = torch.Generator().manual_seed(rank + 1)
    losses = []
    for step in range(9):
        if peek:
            model.backwards = step > 5  # in another order than before
            model.zero_grad(to_none)
        else:
            optimizer.zero_grad(set_to_none=to_none)
        for part in range(3 if accumulate else 1):
            tokens = torch.randint(50, (3, 9), generator=random)
            with no_sync() if accumulate and part == 0 else contextlib.nullcontext():
                loss = nn.functional.cross_entropy(trained(tokens[:, :-1]).flatten(0, 1), tokens[:, 1:].flatten())
                loss.backward()
        if clip == "norm":
            looks.append(nn.utils.clip_grad_norm_(listed, 0.5).item())
        elif clip == "value":
            nn.utils.clip_grad_value_(model.parameters(), 0.01)
        if peek and step == 4:
            optimizer.zero_grad(to_none)  # this step is left out
            continue
        if peek and step == 3:
            looks.append(model.early.weight.grad.double().sum().item())
        optimizer.step()
        scheduler.step()
        losses.append(loss.item())
        if peek:
            looks += peeked(model, average, tokens, step)
        if look and step % 2:
            looks.append(sum(p.double().sum().item() for p in model.blocks.parameters()))
            model.eval()
            with torch.no_grad():
                looks.append(model(tokens).double().sum().item())
                looks.append(model.blocks[0](torch.ones(1, 2, 32)).double().sum().item())
            model.train()
    result = losses, looks, dict(model.state_dict()), optimizer.state_dict()
    if compiled == "whole" and rank != 0:  # buffers are already those of rank 0, which they become later elsewhere
        result = losses, looks, dict(model.named_parameters()), optimizer.state_dict()
    if ours:
        units = optimizer._commsched.gradients.units
        assert any(len(unit.members) > 1 for unit in units) and any(len(unit.members) == 1 for unit in units)
        assert compiled or any(unit.early for unit in units)
        optimizer.undistribute()
        assert type(optimizer).__name__ in ("AdamW", "SGD", "RMSprop") and nn.Module.__getattr__ is GETATTR
    return result


def peeked(model, average, tokens, step):
    """What copies and single parameters have after the optimizer's step, and a change of one."""
    def total(of):
        return sum(p.double().sum().item() for p in of.parameters())
    if step % 4 == 0:
        average.update_parameters(model)
        return [total(average)]
    if step % 4 == 1:
        copied = copy.deepcopy(model)
        assert not {id(p) for p in copied.parameters()} & {id(p) for p in model.parameters()}
        return [copied(tokens).double().sum().item(), total(copied)]
    if step % 4 == 2:
        file = io.BytesIO()
        torch.save(model, file)
        return [total(torch.load(io.BytesIO(file.getvalue()), weights_only=False))]
    model.late.weight.data.clamp_(-0.05, 0.05)
    return [model.scale.double().sum().item()]


def same(one, other, at):
    if isinstance(one, torch.Tensor):
        assert torch.equal(one, other), f"{at}: {(one - other).abs().max()}"
    elif isinstance(one, dict):
        assert list(one) == list(other), at
        for key in one:
            same(one[key], other[key], f"{at}.{key}")
    elif isinstance(one, (list, tuple)):
        assert len(one) == len(other), at
        for i, (a, b) in enumerate(zip(one, other)):
            same(a, b, f"{at}[{i}]")
    else:
        assert one == other, f"{at}: {one}, {other}"


def refused(call, line):
    try:
        call()
    except Exception as error:
        assert line in str(error), error
    else:
        raise AssertionError(line)


def refusals():
    def small():
        model = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 2))
        return model, torch.optim.SGD(model.parameters(), lr=0.1)
    model, optimizer = small()
    distribute = commsched.torch.distribute
    refused(lambda: distribute(nn.parallel.DistributedDataParallel(model), optimizer), "got: DistributedDataParallel")
    refused(lambda: distribute(model, small()[1]), "parameters of the optimizer must be the model's, got: another one of (4, 3)")
    refused(lambda: distribute(model, torch.optim.LBFGS(model.parameters())), "got: LBFGS")
    distribute(model, optimizer)
    refused(lambda: distribute(model, optimizer), "must not be distributed already")
    refused(lambda: optimizer.step(lambda: 0), "must be called without arguments, got: closure")
    refused(lambda: optimizer.add_param_group({"params": [nn.Parameter(torch.ones(1))]}), "must have its groups before")
    x, kept = torch.ones(2, 3), model[0].weight
    for step in range(5):
        optimizer.zero_grad()
        model(x).sum().backward()
        optimizer.step()
    # Whose update is waited for where the model is asked for it.
    refused(lambda: (x @ kept.T).sum().backward(), "parameter '0.weight' must be used in the forward pass of the model")
    optimizer.synchronize()
    optimizer.zero_grad()
    model[1](torch.ones(2, 4)).sum().backward()
    refused(optimizer.step, "parameter '0.weight' must have a gradient in every step or in none, got: none in step 5")
    optimizer.undistribute()
    model, optimizer = nn.Embedding(5, 2, sparse=True), None
    optimizer = distribute(model, torch.optim.SGD(model.parameters(), lr=0.1))
    refused(lambda: model(torch.tensor([1])).sum().backward(), "gradient of 'weight' must be dense, got: torch.sparse_coo")


def buffers(rank):
    """Whether running statistics are those of rank 0, as broadcast_buffers says."""
    for value in (True, False):
        model = nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2))
        optimizer = commsched.torch.distribute(model, torch.optim.SGD(model.parameters(), lr=0.0), broadcast_buffers=value)
        for x in (torch.ones(2, 3) * rank + torch.eye(2, 3), torch.eye(2, 3)):
            optimizer.zero_grad()
            model(x).sum().backward()
            optimizer.step()
        optimizer.synchronize()
        means = [torch.zeros(2) for _ in range(2)]
        dist.all_gather(means, model[1].running_mean)
        assert torch.equal(*means) == value, means
        optimizer.undistribute()


def lost(rank, signal_number):
    """A rank ends, or stands still for longer than the timeout of init_process_group."""
    model = nn.Linear(3, 3)
    optimizer = commsched.torch.distribute(model, torch.optim.SGD(model.parameters(), lr=0.1))
    for step in range(100):
        if rank == 1 and step == 10:
            os.kill(os.getpid(), signal_number)
        optimizer.zero_grad()
        model(torch.ones(2, 3)).sum().backward()
        optimizer.step()


def trained(steps=6, late=False):
    torch.manual_seed(0)
    model = nn.Linear(3, 3)
    optimizer = commsched.torch.distribute(model, torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9))
    for step in range(steps):
        optimizer.zero_grad()
        loss = model(torch.ones(2, 3)).sum()
        if late and step == steps - 1:
            time.sleep(1)  # meanwhile the others end
        loss.backward()
        optimizer.step()
    return model, optimizer


def dropped():
    """Nobody keeps the optimizer, nor in the end the model: what is under way is completed all the same."""
    expected, optimizer = trained()
    optimizer.synchronize()
    model, _ = trained()
    del _
    gc.collect()
    same(dict(model.state_dict()), dict(expected.state_dict()), "values")
    late = os.environ["RANK"] == "0"
    model, _ = trained(late=late)
    del _
    if late:
        same(model(torch.ones(2, 3)), expected(torch.ones(2, 3)), "results")
    del model
    gc.collect()


def left():
    """The job is left while updates wait; distribute was imported before there was one."""
    from commsched.torch import distribute  # noqa: F401
    with commsched.init() as job:
        model, optimizer = trained(late=job.rank == 0)
        if job.rank == 0:
            print(model.weight.sum().item())


def others():
    """A rank with another rate, and with moments that the others have not."""
    commsched.init()
    for what, change in (("'lr' of the optimizer's group 0 must match 0.1", lambda o: o.param_groups[0].update(lr=0.2)),
                         ("state 'momentum_buffer' of 'weight' in the optimizer must match none", lambda o: o.step())):
        model = nn.Linear(3, 3)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
        if os.environ["RANK"] == "1":
            model(torch.ones(2, 3)).sum().backward()
            change(optimizer)
        refused(lambda: commsched.torch.distribute(model, optimizer), f"{what} of rank 0 on all ranks, got: ")


def passes(rank, seeds, of):
    """Asserts that training comes to the reference, and to the same bits on all ranks."""
    for seed in seeds:
        found, wanted = (torch.cat([p.flatten() for p in of(seed, ours, rank)]) for ours in (True, False))
        of_rank_0 = found.clone()
        dist.broadcast(of_rank_0, 0)
        close, equal = torch.allclose(found, wanted, rtol=1e-4, atol=1e-5), torch.equal(found, of_rank_0)
        all_ranks = [None] * dist.get_world_size()
        dist.all_gather_object(all_ranks, (close, equal))
        assert all(map(all, all_ranks)), (seed, all_ranks, (found - wanted).abs().max())


def planted(rank, seeds):
    """Faults that passes() finds: nobody waits where another optimizer makes its step, or for messages of which some gradients lack where gradients are clipped."""
    look = gradients.Gradients.look
    watching._stepping.__code__ = (lambda optimizer, *_: None).__code__
    watching._seen.__code__ = (lambda value: None).__code__
    refused(lambda: passes(rank, seeds, two_optimizers), "")
    gradients.Gradients.look = lambda self, what, everywhere=False: look(self, what)
    refused(lambda: passes(rank, seeds, several_passes), "")


def main():
    if CASE in ("dropped", "left", "others"):
        return globals()[CASE]()
    if CASE == "launched":  # torch.distributed is not used at all
        torch.manual_seed(0)
        model = nn.Linear(3, 3)
        optimizer = commsched.torch.distribute(model, torch.optim.SGD(model.parameters(), lr=0.1))
        for _ in range(6):
            optimizer.zero_grad()
            model(torch.ones(2, 3)).sum().backward()
            optimizer.step()
        print(sum(p.sum().item() for p in model.parameters()))
        return
    dist.init_process_group("gloo", timeout=timedelta(seconds=5) if CASE == "stopped" else None)
    rank = dist.get_rank()
    if CASE in ("killed", "stopped"):
        return lost(rank, signal.SIGKILL if CASE == "killed" else signal.SIGSTOP)
    if CASE == "refusals":
        refusals()
    elif CASE == "buffers":
        buffers(dist.get_rank())
    elif CASE in ("passes", "planted"):
        if CASE == "planted":
            return planted(rank, range(FIRST, FIRST + 20))
        passes(rank, cases(20), several_passes)
        passes(rank, cases(20), two_optimizers)
    elif CASE == "drawn":
        some_early = 0
        for seed in cases(40):
            own, early = drawn(seed, True, rank)
            same(own, drawn(seed, False, rank)[0], f"seed {seed}")
            some_early += early
        assert TIMES < 1 or some_early > 10, some_early
    else:
        for options in ({}, {"optimizer": "sgd", "clip": "norm"}, {"accumulate": True, "to_none": False},
                        {"optimizer": "rmsprop", "clip": "value", "scheduled": "before"}, {"optimizer": "sgd", "look": True}, {"peek": True}, {"peek": True, "to_none": False, "optimizer": "sgd"}, {"compiled": "whole"}, {"compiled": "part"}):
            same(train(True, rank, **options), train(False, rank, **options), str(options))
    dist.destroy_process_group()


main()
