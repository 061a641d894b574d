# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models that are drawn: towers of operations from a pool (torch_pool.py), each with a loss of its own, in double precision.

What a tower computes depends on all its parameters, and its parameters on no other tower, so that a difference names the
towers whose operations may be wrong. As a program:

    python tests/python/torch_drawn.py --seed 7 --times 3     # seeds 7, 8, 9, on workers
    python tests/python/torch_drawn.py --seed 7 --shrink      # the fewest operations that still differ
    python tests/python/torch_drawn.py --plant                # faults in rules, and the seeds that find them
"""

import copy
import math
import os
import sys
import warnings

import numpy as np
import torch
from torch import nn

import torch_pool

BATCH, WIDTH = 4, 12
# Of how far the parameter that went furthest has gone; both compute in double precision.
BOUND = 1e-7


class Random:
    """What choices are drawn from; tensors come from torch's generator, which it seeds."""

    def __init__(self, seed):
        self.random = np.random.default_rng(seed)
        torch.manual_seed(seed)

    def n(self, low, high):
        return int(self.random.integers(low, high + 1))

    def choice(self, *values):
        return values[self.n(0, len(values) - 1)]

    def chance(self, of=2):
        return self.n(1, of) == 1

    def number(self, low, high):
        return round(float(self.random.uniform(low, high)), 2)


class Linear(nn.Module):
    """To a shape, of whatever there is."""

    def __init__(self, size, shape):
        super().__init__()
        self.linear, self.shape = nn.Linear(size, math.prod(shape)), tuple(shape)

    def forward(self, h):
        return torch.tanh(self.linear(h.flatten(1))).unflatten(1, self.shape)


class Tower(nn.Module):
    def __init__(self, r, length, names=None):
        super().__init__()
        self.names, self.steps, kept = [], nn.ModuleList(), []
        h = torch.tanh(torch.randn(BATCH, WIDTH))
        names = list(names or [r.choice(*torch_pool.POOL) for _ in range(length)])
        for name in names:
            rank, make = torch_pool.POOL[name]
            wanted = rank(r) if callable(rank) else rank
            if wanted is not None and not (h.dim() - 1 == len(wanted) and h.shape[1] > 1 and all(n > 2 for n in h.shape[2:])):
                self._add("to", Linear(h[0].numel(), wanted), [], kept, h)
                h = kept[-1]
            step = make(r, h)
            others = [r.n(0, len(kept) - 1) if kept else -1] if getattr(step, "binary", False) else []
            self._add(name, step, others, kept, h)
            h = kept[-1]
            if h[0].numel() > 48 or h[0].numel() < 4:
                self._add("to", Linear(h[0].numel(), (r.n(4, 12),)), [], kept, h)
                h = kept[-1]
        self.register_buffer("weights", torch.cos(torch.arange(h[0].numel(), dtype=torch.float64) * 1.3) + 0.2)

    def _add(self, name, step, others, kept, h):
        self.names.append(name)
        step = step if isinstance(step, nn.Module) else torch_pool.Call(step)
        step.others = others
        self.steps.append(step)
        with torch.no_grad():
            kept.append(self._apply_step(step, h, kept).detach())

    @staticmethod
    def _apply_step(step, h, kept):
        if step.others:
            other = kept[step.others[0]] if step.others[0] >= 0 else h
            return step(h, other)
        return step(h)

    def forward(self, h):
        kept = []
        for step in self.steps:
            kept.append(self._apply_step(step, h, kept))
            h = kept[-1]
        return (h.flatten(1) * self.weights).mean()


class Drawn(nn.Module):
    def __init__(self, towers):
        super().__init__()
        self.first = nn.ModuleList(nn.Linear(WIDTH, WIDTH) for _ in towers)
        self.towers = nn.ModuleList(towers)

    def forward(self, x):
        return sum(torch.sin(tower(torch.tanh(first(x)))) for first, tower in zip(self.first, self.towers))


def drawn(seed, towers=4, length=5, names=None):
    """(model, makes its optimizer, batches)."""
    r = Random(seed)
    saved = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        model = Drawn([Tower(r, length, names) for _ in range(towers)]).train()
        batches = [torch.randn(BATCH * 2, WIDTH) for _ in range(2)]
    finally:
        torch.set_default_dtype(saved)
    optimizer = r.choice(lambda m: torch.optim.SGD(m.parameters(), lr=0.05, momentum=0.9), lambda m: torch.optim.AdamW(m.parameters(), lr=1e-3, eps=1e-4),
                         lambda m: torch.optim.RMSprop(m.parameters(), lr=1e-3, eps=1e-3))
    return model, optimizer, batches


def loss(model, x):
    return model(x)


def differences(model, found, wanted):
    """[(how far apart, name)] of tensors that differ by more than the bound."""
    import torch_training
    start, named = dict(model.named_parameters()), dict(wanted.named_parameters())
    furthest = max(torch_training.distance(named[n], p) for n, p in start.items())
    assert 1e-4 < furthest < 1e3, f"a model that goes {furthest} shows nothing"
    pairs = [(n, p, named[n]) for n, p in found.named_parameters()]
    pairs += list(zip([n for n, _ in found.named_buffers()], found.buffers(), wanted.buffers()))
    apart = [(torch_training.distance(a, b) / max(furthest, 1e-2), n) for n, a, b in pairs]
    return sorted(((d, n) for d, n in apart if d > BOUND), reverse=True)


def trained(seed, workers, **options):
    """A line for each tower that workers train in another way than eager PyTorch, and the names of all operations."""
    import commsched.torch
    import torch_training
    model, optimizer_of, batches = drawn(seed, **options)
    mine, theirs = copy.deepcopy(model), copy.deepcopy(model)
    optimizer, wanted = optimizer_of(mine), optimizer_of(theirs)
    torch_training.eager(theirs, wanted, loss, batches, workers)
    with commsched.torch.transpile(mine, optimizer, loss, batches[0], cluster=workers) as program:
        program.run(batches)
        program.load_into(mine, optimizer)
    return explained(model, differences(model, mine, theirs)), [n for t in model.towers for n in t.names]


def explained(model, apart):
    lines = {}
    for distance, name in apart:
        part, number = name.split(".")[:2]
        lines.setdefault(number, f"tower {number} ({', '.join(model.towers[int(number)].names)}): '{name}' is {distance:.1e} apart")
    return list(lines.values())


def by_rules(seed, used=None, **options):
    """As trained(), of one worker and one step whose graph JAX runs; used: a set that gets the names of rules."""
    import jax
    from commsched.torch import interpret
    from commsched.torch.capture import graph_of
    from commsched.torch.places import Places
    from commsched.torch.values import to_numpy, to_torch
    model, _, batches = drawn(seed, **options)
    names = [n for n, _ in model.named_parameters()]
    buffers = [n for n, _ in model.named_buffers()]

    def gradients(params, own, batch):
        params = [p.detach().clone().requires_grad_() for p in params]
        own = [b.clone() for b in own]
        tensors = {**dict(zip(names, params)), **dict(zip(buffers, own))}
        with Places(gradients.__code__):
            value = torch.func.functional_call(model, tensors, tuple(batch))
        of = torch.autograd.grad(value, params, allow_unused=True)
        return [*[torch.zeros_like(p) if g is None else g for p, g in zip(params, of)], *[tensors[n] for n in buffers]]
    inputs = [list(model.parameters()), list(model.buffers()), [batches[0]]]
    wanted = gradients(*inputs)
    graph = graph_of(gradients, [[t.detach() for t in part] for part in inputs])
    if used is not None:
        used.update(str(n.target) for n in graph.graph.nodes if n.op == "call_function")
    with jax.enable_x64(True):
        found = jax.jit(lambda *xs: interpret.run(graph, xs, interpret.Located(None), random=jax.random.key(0)))(
            *[to_numpy(t) for part in inputs for t in part])
    size = max(float(w.detach().abs().max()) for w in wanted[:len(names)])
    apart = []
    for name, a, b in zip([*names, *buffers], found, wanted):
        a, b = to_torch(np.asarray(a)).double(), b.detach().double()
        d = float(torch.where((a == b) | (a.isnan() & b.isnan()), 0.0, (a - b).abs()).nan_to_num(nan=float("inf")).max()) / size
        if d > BOUND:
            apart.append((d, name))
    return explained(model, sorted(apart, reverse=True))


def shrunk(seed, towers, length):
    """Names of few operations that still make a difference, of one tower."""
    model, _, _ = drawn(seed, towers, length)
    for tower in model.towers:
        names = [n for n in tower.names if n != "to"]
        if not by_rules(seed, towers=1, names=names):
            continue
        for i in reversed(range(len(names))):
            fewer = names[:i] + names[i + 1:]
            if fewer and by_rules(seed, towers=1, names=fewer):
                names = fewer
        return names
    return None


# What a rule might get wrong: name of the rule, what it gives instead.
FAULTS = {
    "aten.gelu": lambda right: lambda op, x, **_: right(op, x),
    "aten.cumsum": lambda right: lambda op, x, d, **k: right(op, x, -1, **k),
    "aten.roll": lambda right: lambda op, x, shifts, dims=(): right(op, x, [-n for n in shifts], dims),
    "aten.constant_pad_nd": lambda right: lambda op, x, pad, value=0: right(op, x, pad, 0),
    "aten.index_add": lambda right: lambda op, x, d, i, s, **k: right(op, x, d, i, s),
    "aten.scatter_reduce": lambda right: lambda op, *a, include_self=True: right(op, *a),
    "aten.baddbmm": lambda right: lambda op, c, a, b, **k: right(op, c, a, b),
    "aten.avg_pool2d": lambda right: lambda op, x, *a: right(op, x, *a[:4], True, *a[5:]),
    "aten.embedding_dense_backward": lambda right: lambda op, g, i, rows, padding, scale: right(op, g, i, rows, -1, scale),
    "aten.grid_sampler_2d_backward": lambda right: lambda op, g, x, grid, m, p, corners, mask: right(op, g, x, grid, m, 0, corners, mask),
    "aten.logcumsumexp": lambda right: lambda op, x, d: right(op, x, d) + 1e-5 * x,
    "aten._fft_r2c": lambda right: lambda op, x, d, n, o: right(op, x, d, 0, o),
    "aten._weight_norm_interface_backward": lambda right: lambda op, *a: (right(op, *a)[0] * 1.0001, right(op, *a)[1]),
    "aten.convolution_backward": lambda right: lambda op, *a: tuple(None if r is None else r[..., ::-1] for r in right(op, *a)),
    "aten._log_softmax_backward_data": lambda right: lambda op, g, o, d, t: right(op, g, o, -1, t),
    "aten.median.dim": lambda right: lambda op, x, d, k=False: tuple(v if v.ndim == 0 else v[::-1] for v in right(op, x, d, k)),
}


def planted(name, seeds):
    """The first seed of which a difference is seen, with the rule wrong, and how many seeds have it."""
    from commsched.errors import UnsupportedOp
    from commsched.torch.rules import RULES
    right, having = RULES[name], 0
    for seed in seeds:
        called = []

        def wrong(op, *a, **k):
            called.append(op)
            return FAULTS[name](right)(op, *a, **k)
        RULES[name] = wrong
        try:
            lines = by_rules(seed, towers=3, length=5)
        except (UnsupportedOp, TypeError):
            lines = ["refused"]
        finally:
            RULES[name] = right
        having += bool(called)
        if called and lines:
            return seed, having
    return None, having


def main():
    import argparse
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--times", type=int, default=1)
    parser.add_argument("--shrink", action="store_true")
    parser.add_argument("--plant", nargs="*", choices=list(FAULTS), metavar="RULE")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    failed = 0
    if arguments.plant is not None:
        for name in arguments.plant or FAULTS:
            seed, having = planted(name, range(arguments.seed, arguments.seed + 60))
            print(f"{name:40} {'nothing notices' if seed is None else f'found by seed {seed}'}, of {having} that have it", flush=True)
            failed += seed is None
    else:
        for seed in range(arguments.seed, arguments.seed + arguments.times):
            lines, names = (shrunk(seed, 5, 4) or [], []) if arguments.shrink else trained(seed, 1 + seed % 2, towers=5, length=4)
            print(f"seed {seed}: {'; '.join(lines) or 'the same'}", flush=True)
            failed += bool(lines)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "python_api"))
    main()
