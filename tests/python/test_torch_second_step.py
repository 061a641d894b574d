# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Steps of PyTorch that go on from what they have left in Python, where no attribute of a module tells of it, are refused; those that leave something and do not read
it are not."""

import copy
import itertools
import os
import random
import types

import pytest
from cases import FIRST

torch = pytest.importorskip("torch", reason="needs PyTorch (scripts/setup.sh --bench)")
import numpy as np  # noqa: E402
import torch.nn.functional as F  # noqa: E402
from torch import nn  # noqa: E402

import commsched  # noqa: E402
import commsched.torch  # noqa: E402
from commsched.torch import capture  # noqa: E402
from torch_training import eager, errors  # noqa: E402

pytestmark = pytest.mark.skipif("COMMSCHED_BIN" not in os.environ, reason="COMMSCHED_BIN is not set")
BATCHES = [(torch.randn(6, 3), torch.randn(6, 2)) for _ in range(3)]


def sgd(model):
    return torch.optim.SGD(model.parameters(), lr=0.1)


def attribute():
    kept = types.SimpleNamespace(steps=0)

    def count():
        kept.steps += 1
        return kept.steps
    return count


def nested():
    kept = {"of": [{"steps": 0}]}

    def count():
        kept["of"][0]["steps"] += 1
        return kept["of"][0]["steps"]
    return count


def of_a_class():
    class Kept:
        steps = 0

    def count():
        Kept.steps += 1
        return Kept.steps
    return count


def variable():
    steps = 0

    def count():
        nonlocal steps
        steps += 1
        return steps
    return count


def default():
    def count(kept=[0]):
        kept[0] += 1
        return kept[0]
    return count


def turns():
    return itertools.cycle([1, 3]).__next__


def one_after_another():
    return iter([1, 2, 3]).__next__


def ends():
    return iter([1]).__next__


def generator():
    return random.Random(FIRST).random


def generator_of_numpy():
    drawn = np.random.default_rng(FIRST)
    return lambda: float(drawn.random())


def tensor():
    kept = types.SimpleNamespace(mean=torch.ones(()))

    def average():
        kept.mean = kept.mean * 0.5
        return kept.mean
    return average


# What makes a number that is another one in each step.
WAYS = [attribute, nested, of_a_class, variable, default, turns, one_after_another, generator, generator_of_numpy, tensor]


class Scaled(nn.Module):
    """By what is beside it."""

    def __init__(self, number):
        super().__init__()
        self.inner, self.beside = nn.Linear(3, 2), types.SimpleNamespace(number=number)

    def forward(self, x):
        return self.inner(x) * self.beside.number()


class Rated(torch.optim.Optimizer):
    """By what is beside its state. `this`: as nobody must name it."""

    def __init__(self, params, number):
        super().__init__(params, {"lr": 0.1})
        self.beside = types.SimpleNamespace(number=number)

    @torch.no_grad()
    def step(this, closure=None):
        for group in this.param_groups:
            factor = this.beside.number()
            for p in group["params"]:
                p.add_(p.grad * factor, alpha=-group["lr"])


def in_the_model(way):
    return Scaled(way()), F.mse_loss, sgd, {}


def in_the_loss(way):
    number = way()
    return nn.Linear(3, 2), lambda model, x, y: F.mse_loss(model(x), y) * number(), sgd, {}


def before_the_update(way):
    number = way()

    def change(model):
        factor = number()
        for p in model.parameters():
            p.grad.mul_(factor)
    return nn.Linear(3, 2), F.mse_loss, sgd, {"before_update": change}


def in_the_optimizer(way):
    number = way()
    return nn.Linear(3, 2), F.mse_loss, lambda model: Rated(model.parameters(), number), {}


PLACES = [in_the_model, in_the_loss, before_the_update, in_the_optimizer]


def transpiled(made, workers):
    model, loss, optimizer, options = made
    return commsched.torch.transpile(model, optimizer(model), loss, BATCHES[0], cluster=workers, **options)


@pytest.mark.parametrize("way", WAYS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("place", PLACES, ids=lambda f: f.__name__)
def test_what_a_step_leaves_beside_modules(place, way):
    with pytest.raises(commsched.FrontEndError) as caught:
        transpiled(place(way), random.Random(f"{place}{way}{FIRST}").choice([1, 2]))
    text = str(caught.value)
    assert len(text.splitlines()) == 1 and "the second time" in text and "it goes on from what it has left in Python" in text, text
    assert place is in_the_optimizer or "test_torch_second_step.py:" in text, text


def test_what_is_there_once_only():
    with pytest.raises(commsched.FrontEndError, match=r"test_torch_second_step.py:\d+: the step cannot be traced a second time \(StopIteration\): it goes on from what"):
        transpiled(in_the_loss(ends), 1)


@pytest.mark.parametrize("way", [attribute, turns, generator], ids=lambda f: f.__name__)
def test_without_a_second_look_it_is_another_training(way, monkeypatch):
    """That it is looked for what is there."""
    monkeypatch.setattr(capture, "_refuse_another", lambda *_: None)
    torch.manual_seed(FIRST)
    model, loss, optimizer, _ = in_the_loss(way)
    theirs = copy.deepcopy(model)
    eager(theirs, optimizer(theirs), in_the_loss(way)[1], BATCHES)
    with commsched.torch.transpile(model, mine := optimizer(model), loss, BATCHES[0], cluster=1) as program:
        program.run(BATCHES)
        program.load_into(model, mine)
    assert errors(model, mine, theirs, mine, theirs)["params"] > 1e-3


def test_what_is_left_and_not_read():
    """Of steps that are trained as they are: a log, a cache of what is no tensor, what is made anew by the same numbers."""
    seen, cache = [], {}

    def logged(model, x, y):
        seen.append(len(seen))
        return F.mse_loss(model(x), y)

    def cached(model, x, y):
        cache[x.shape] = cache.get(x.shape) or x.shape[1] * 2
        return F.mse_loss(model(x) * cache[x.shape], y)

    def drawn_anew(model, x, y):
        return F.mse_loss(model(x) * random.Random(3).random() + torch.tensor([float("nan"), 1.0]).nan_to_num(), y)
    for loss in (logged, cached, drawn_anew):
        torch.manual_seed(FIRST)
        model = nn.Linear(3, 2)
        start, theirs, mine = copy.deepcopy(model), copy.deepcopy(model), sgd(model)
        with commsched.torch.transpile(model, mine, loss, BATCHES[0], cluster=2) as program:
            program.run(BATCHES)
            program.load_into(model, mine)
        wanted = sgd(theirs)
        eager(theirs, wanted, loss, BATCHES)
        found = errors(model, mine, theirs, wanted, start)
        assert found["params"] <= 1e-5 and found["moved"] > 1e-3, found


def test_generators_of_their_own():
    own = torch.Generator().manual_seed(FIRST)
    for draw in (lambda y: torch.rand(2, generator=own), lambda y: y[torch.randperm(len(y), generator=own)], lambda y: torch.empty_like(y).normal_(generator=own)):
        with pytest.raises(commsched.FrontEndError, match=r"test_torch_second_step.py:\d+: the step draws numbers by a generator of its own, whose state has no part") as caught:
            transpiled((nn.Linear(3, 2), lambda model, x, y: F.mse_loss(model(x), draw(y)), sgd, {}), 1)
        assert len(str(caught.value).splitlines()) == 1


class Counting(torch.optim.Optimizer):
    """A count of all parameters together, beside their states: of a number or a tensor."""

    def __init__(self, params, begin):
        super().__init__(params, {"lr": 0.1})
        self.begin = begin

    @torch.no_grad()
    def step(self, closure=None):
        if "count" not in self.state:
            self.state["count"] = self.begin()
        self.state["count"] += 1
        for group in self.param_groups:
            for p in group["params"]:
                p.sub_(p.grad * group["lr"] / self.state["count"])


@pytest.mark.parametrize("begin", [int, lambda: torch.zeros(1)], ids=["number", "tensor"])
@pytest.mark.parametrize("steps", [0, 1])
def test_state_that_belongs_to_no_parameter(begin, steps):
    """Whether it is there before transpile(), or made in the step."""
    model = nn.Linear(3, 2)
    optimizer = Counting(model.parameters(), begin)
    eager(model, optimizer, F.mse_loss, BATCHES[:steps])
    with pytest.raises(commsched.FrontEndError, match="^Counting keeps state that belongs to no parameter of the model: count$"):
        commsched.torch.transpile(model, optimizer, F.mse_loss, BATCHES[0], cluster=1)
