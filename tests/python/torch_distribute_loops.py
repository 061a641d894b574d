# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Training loops as people write them, for torch_distribute_same.py: each comes, on several ranks with a part of each batch, to what one process comes to with the whole."""
import collections
import contextlib
import copy
import io
import itertools
import random

import torch
from torch import nn
from torch.nn import functional as F
from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook
from torch.utils.checkpoint import checkpoint

import commsched.torch

ROWS, STEPS = 18, 8


class Net(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.table = nn.Embedding(20, width)
        self.body = nn.Sequential(nn.Linear(width, 16), nn.Tanh(), nn.Linear(16, width))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, 20, bias=False)
        self.again = None

    def forward(self, x):
        h = self.table(x)
        h = h + (checkpoint(self.body, h, use_reentrant=self.again) if self.again is not None else self.body(h))
        return self.head(self.norm(h))


class Loop:
    """What a loop has: a model, an optimizer, batches; of one rank, or of the one process."""

    def __init__(self, seed, ours, rank, size):
        self.ours, self.rank, self.size = ours, rank, size
        self.draw = random.Random(seed)
        torch.manual_seed(seed)
        self.model = Net()
        self.data = torch.Generator().manual_seed(seed)

    def made(self, model=None, optimizer=None):
        """Distributed, of several ranks."""
        self.model = model or self.model
        make = self.draw.choice((lambda p: torch.optim.SGD(p, 0.1, momentum=0.9, nesterov=True), lambda p: torch.optim.SGD(p, 0.1, momentum=0.8, weight_decay=0.01)))
        optimizer = optimizer or make([{"params": [p for p in self.model.parameters() if p.dim() > 1]}, {"params": [p for p in self.model.parameters() if p.dim() <= 1]}])
        self.no_sync = contextlib.nullcontext
        if self.ours:
            commsched.torch.distribute(self.model, optimizer)
            self.no_sync = optimizer.no_sync
        return self.model, optimizer

    def batch(self, parts=1):
        """The own rows, in parts."""
        x = torch.randint(20, (ROWS, 5), generator=self.data)
        rows = ROWS // self.size
        own = x[self.rank * rows:(self.rank + 1) * rows] if self.ours else x
        if parts > 1 and not self.ours:  # the rows that the ranks have in the same part
            own = torch.cat([x[r * rows:(r + 1) * rows].chunk(parts)[i] for i in range(parts) for r in range(self.size)])
        return own if parts == 1 else own.chunk(parts)


def loss_of(model, x):
    return F.cross_entropy(model(x[:, :-1]).flatten(0, 1), x[:, 1:].flatten())


def nothing(step):
    pass


def trained(loop, made, of=loss_of, between=nothing, after=nothing):
    model, optimizer = made
    for step in range(STEPS):
        optimizer.zero_grad()
        of(model, loop.batch()).backward()
        between(step)
        optimizer.step()
        after(step)
    return made


def plain(loop, of=loss_of, model=None, optimizer=None):
    return trained(loop, loop.made(model, optimizer), of)


def one_cycle(loop):
    model, optimizer = loop.made()
    scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.2, total_steps=STEPS)  # which sets the momentum, too
    for _ in range(STEPS):
        loss_of(model, loop.batch()).backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=loop.draw.random() < 0.5)
        scheduler.step()
    return model, optimizer


def accumulation(loop):
    model, optimizer = loop.made()
    for _ in range(STEPS):
        parts = loop.batch(3)
        for i, part in enumerate(parts):
            with loop.no_sync() if i < len(parts) - 1 else contextlib.nullcontext():
                (loss_of(model, part) / len(parts)).backward()
        optimizer.step()
        optimizer.zero_grad()
    return model, optimizer


def compiled(loop):
    model, optimizer = loop.made()
    run = torch.compile(model, backend="eager")
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss_of(run, loop.batch()).backward()
        optimizer.step()
    return model, optimizer


def recomputed(loop):
    loop.model.again = loop.draw.random() < 0.5
    return plain(loop)


def tied(loop):
    loop.model.head.weight = loop.model.table.weight
    return plain(loop)


class Adapted(nn.Module):
    def __init__(self, layer):
        super().__init__()
        self.layer, self.down, self.up = layer.requires_grad_(False), nn.Linear(layer.in_features, 2, bias=False), nn.Linear(2, layer.out_features, bias=False)

    def forward(self, x):
        return self.layer(x) + self.up(self.down(x))


def adapters(loop):
    loop.model.requires_grad_(False)
    loop.model.body[0], loop.model.body[2] = Adapted(loop.model.body[0]), Adapted(loop.model.body[2])
    return plain(loop, optimizer=torch.optim.SGD([p for p in loop.model.parameters() if p.requires_grad], 0.1, momentum=0.9))


def clamped(loop):
    """Without a function of PyTorch, by the groups of the optimizer."""
    made = loop.made()

    def between(step):
        for group in made[1].param_groups:
            for p in group["params"]:
                p.grad.data.clamp_(-0.02, 0.02)
    return trained(loop, made, between=between)


def average_of_groups(loop):
    """A moving average of weights by the groups of the optimizer, which are gone through in one way or another."""
    made = loop.made()
    ways = (lambda groups: [p for group in groups for p in group["params"]], lambda groups: sum((group["params"] for group in groups), []),
            lambda groups: [*itertools.chain(*(group["params"] for group in groups))], lambda groups: groups[0]["params"] + groups[1]["params"],
            lambda groups: [p for group in groups for p in reversed([*reversed(group["params"])])], lambda groups: [p for group in groups for p in group["params"].copy()],
            lambda groups: [group["params"][i] for group in groups for i in range(len(group["params"]))])
    averages = [p.detach().clone() for p in ways[0](made[1].param_groups)]

    def after(step):
        with torch.no_grad():
            found = ways[step % len(ways)](made[1].param_groups)
            assert type(found) is list
            for average, p in zip(averages, found, strict=True):
                average.lerp_(p, 0.1)
    trained(loop, made, after=after)
    return averages, made[1]


def kept(loop):
    """What has kept the parameters from before distribute(): gradients that are bounded and looked at in one way or another, zeroed by hand; averages of weights."""
    parameters = list(loop.model.parameters())
    averages, seen, made = [p.detach().clone() for p in parameters], [], loop.made()
    bounds = (lambda p: p.grad.data.clamp_(-0.02, 0.02), lambda p: p.grad.clamp_(-0.02, 0.02), lambda p: setattr(p, "grad", p.grad.clamp(-0.02, 0.02)), lambda p: None)
    ways = (lambda p: p.data, lambda p: p.detach())

    def none(p):
        p.grad = None

    def zero(p):
        if p.grad is not None:
            p.grad.detach_().zero_()
    for step in range(STEPS):
        loss_of(made[0], loop.batch()).backward()
        seen.append(torch.stack(torch._foreach_norm([p.grad for p in parameters])))
        bound, way, zeroed = loop.draw.choice(bounds), loop.draw.choice(ways), loop.draw.choice((none, zero))
        for p in parameters:
            bound(p)
        made[1].step()
        for average, p in zip(averages, parameters):
            average.lerp_(way(p), 0.1)
        if step % 3 == 2:
            for p in parameters:
                p.data = way(p).clamp(-0.3, 0.3)
        for p in parameters:
            zeroed(p)
    return [*averages, *seen], made[1]


def by_hand(loop):
    """Updates without an optimizer, by who has kept the parameters."""
    parameters, made = list(loop.model.parameters()), loop.made()
    for _ in range(STEPS):
        loss_of(made[0], loop.batch()).backward()
        with torch.no_grad():
            for p in parameters:
                p -= 0.1 * p.grad
                p.grad = None
    return made


def averaged(loop):
    made = loop.made()
    average = torch.optim.swa_utils.AveragedModel(made[0], multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn(0.8))
    trained(loop, made, after=lambda step: average.update_parameters(made[0]))
    return average.module, made[1]


def new_state(loop):
    """The moments begin again."""
    made = loop.made()

    def after(step):
        if step == 5:
            made[1].state = collections.defaultdict(dict)
        elif step == 6:
            made[1].state.clear()
    return trained(loop, made, after=after)


def read_state(loop):
    """By attributes of the optimizer, before anything else asks for it."""
    made, seen = loop.made(), []
    trained(loop, made, after=lambda step: seen.extend(state["momentum_buffer"].clone() for state in made[1].state.values()))
    return seen, made[1]


def rolled_back(loop):
    """To what was saved some steps before, as one does where a loss has become too large."""
    made, file = loop.made(), io.BytesIO()

    def after(step):
        if step == 4:
            torch.save({"model": made[0].state_dict(), "optimizer": made[1].state_dict()}, file)
        elif step == 6:
            saved = torch.load(io.BytesIO(file.getvalue()))
            made[0].load_state_dict(saved["model"])
            made[1].load_state_dict(saved["optimizer"])
    return trained(loop, made, after=after)


def copied(loop):
    """A copy of the optimizer is one of its own; so is what is loaded of one that was saved."""
    made = loop.made()
    trained(loop, made)
    other, file = copy.deepcopy(made[1]), io.BytesIO()
    torch.save(made[1], file)
    saved = torch.load(io.BytesIO(file.getvalue()), weights_only=False)
    for one in (other, saved):
        assert type(one) is torch.optim.SGD and all(type(group["params"]) is list for group in one.param_groups)
        for p in (p for group in one.param_groups for p in group["params"]):
            p.grad = torch.ones_like(p)
        one.step()
    return [p for one in (other, saved) for group in one.param_groups for p in group["params"]], made[1]


def hooks_of_all(loop):
    """Each runs once in a step, of gradients that are complete, and of all parameters."""
    made, calls = loop.made(), collections.Counter()

    def before(optimizer, arguments, named):
        calls["before"] += 1
        for p in (p for group in optimizer.param_groups for p in group["params"]):
            p.grad.data.clamp_(-0.02, 0.02)

    def behind(optimizer, arguments, named):
        calls["behind"] += 1
        calls["parameters"] += sum(len(group["params"]) for group in optimizer.param_groups)
    handles = [register_optimizer_step_pre_hook(before), register_optimizer_step_post_hook(behind)]
    try:
        for _ in range(2):
            trained(loop, made)
            handles.append(register_optimizer_step_post_hook(lambda *_: None))
    finally:
        for handle in handles:
            handle.remove()
    assert (calls["before"], calls["behind"], calls["parameters"]) == (2 * STEPS, 2 * STEPS, 2 * STEPS * len(list(made[0].parameters()))), calls
    return made


def several_losses(loop):
    model, optimizer = loop.made()
    for _ in range(STEPS):
        optimizer.zero_grad()
        results = model(loop.batch())
        results.pow(2).mean().backward(retain_graph=True)
        (results.logsumexp(-1).mean() * 0.1).backward()
        optimizer.step()
    return model, optimizer


def abandoned(loop):
    """A part of a backward pass, or of a step, that counts for nothing in the end: of a loss of some layers, and of one in which something is raised."""
    model, optimizer = loop.made()

    def broken(gradient):
        raise ValueError("a gradient that somebody does not like")
    for step in range(STEPS):
        x = loop.batch()
        if step > 3:
            model.table(x).sum().backward()
            loop.draw.choice((model, optimizer)).zero_grad()
        if step in (2, 5):
            with contextlib.suppress(ValueError):
                h = model.norm(model.table(x) + model.body(model.table(x)))
                h.register_hook(broken)
                model.head(h).sum().backward()
        elif step == 6:
            with contextlib.suppress(RuntimeError):
                model(x.float())  # no indices
        optimizer.zero_grad()
        loss_of(model, x).backward()
        optimizer.step()
    return model, optimizer


def functional(loop):
    return plain(loop, of=lambda model, x: F.cross_entropy(torch.func.functional_call(model, dict(model.named_parameters()), (x[:, :-1],)).flatten(0, 1), x[:, 1:].flatten()))


def forward_itself(loop):
    return plain(loop, of=lambda model, x: F.cross_entropy(model.forward(x[:, :-1]).flatten(0, 1), x[:, 1:].flatten()))


def penalty(loop):
    """Of the gradient of the input's embedding: a backward pass through one."""
    def of(model, x):
        h = model.table(x)
        result = model.head(model.norm(h + model.body(h)))
        gradient, = torch.autograd.grad(result.pow(2).sum(-1).mean(1).sum(), h, create_graph=True)
        return result.pow(2).mean() + gradient.pow(2).flatten(1).sum(1).mean()
    return plain(loop, of=of)




def two_models(loop):
    critic = nn.Sequential(nn.Linear(20, 8), nn.Tanh(), nn.Linear(8, 1))
    maker, critic = loop.model, critic
    first, second = (loop.made(m, torch.optim.SGD(m.parameters(), 0.05, momentum=0.5))[1] for m in (maker, critic))
    for _ in range(STEPS):
        x = loop.batch()
        for p in critic.parameters():
            p.requires_grad_(True)
        second.zero_grad()
        with torch.no_grad():
            made = maker(x)
        F.softplus(critic(made)).mean().backward()
        F.softplus(-critic(F.one_hot(x, 20).float())).mean().backward()
        second.step()
        for p in critic.parameters():
            p.requires_grad_(False)
        first.zero_grad()
        F.softplus(-critic(maker(x))).mean().backward()
        first.step()
    for p in critic.parameters():
        p.requires_grad_(True)
    if loop.ours:
        second.undistribute()
    return nn.ModuleList([maker, critic]), first


class Spectral(nn.Module):
    """Complex parameters."""

    def __init__(self):
        super().__init__()
        self.filter, self.mix = nn.Parameter(torch.randn(5, dtype=torch.complex64)), nn.Parameter(torch.randn(5, 20, dtype=torch.complex64))
        self.out = nn.Linear(20, 20)

    def forward(self, x):
        h = torch.fft.fft(F.one_hot(x, 20).float(), dim=-1)[..., :5] * self.filter
        return self.out((h @ self.mix.conj()).imag)


def complex_parameters(loop):
    return plain(loop, model=Spectral())


LOOPS = {f.__name__: f for f in (one_cycle, accumulation, compiled, recomputed, tied, adapters, clamped, average_of_groups, kept, by_hand, averaged, new_state, read_state, rolled_back, copied,
                                 hooks_of_all, several_losses, abandoned, functional, forward_itself, penalty, two_models, complex_parameters)}


def results(name, seed, ours, rank, size):
    """Tensors that the loop comes to."""
    of, optimizer = LOOPS[name](Loop(seed, ours, rank, size))
    if ours:
        optimizer.undistribute()
    return [t.detach().clone() for t in (of if isinstance(of, list) else of.parameters())]
