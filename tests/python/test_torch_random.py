# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What steps of PyTorch draw: numbers of the ranges and distributions that PyTorch says, of any key, also where a generator gives the least and the largest that it has."""

import math

import pytest
from cases import FIRST

torch = pytest.importorskip("torch", reason="needs PyTorch (scripts/setup.sh --bench)")
import jax  # noqa: E402
import numpy as np  # noqa: E402
import torch.nn.functional as F  # noqa: E402

from commsched.torch import interpret  # noqa: E402
from commsched.torch.capture import graph_of  # noqa: E402
from commsched.torch.rules import RULES  # noqa: E402
from commsched.torch.values import to_numpy  # noqa: E402

COUNT = 40_000
TYPES = [torch.float64, torch.float32, torch.bfloat16, torch.float16]


def drawn(function, dtype, seed=FIRST, count=COUNT):
    """Of rules, in double precision. function: of a tensor of ones."""
    graph = graph_of(lambda xs: [function(xs[0])], [[torch.ones(count, dtype=dtype)]])
    assert interpret.draws(graph)
    with jax.enable_x64(True):
        (found,) = interpret.run(graph, [to_numpy(torch.ones(count, dtype=dtype))], interpret.Located(None), random=jax.random.key(seed))
        return np.asarray(found).astype(np.float64).reshape(-1)


# The function, and the distribution function of what it draws, which is PyTorch's.
DRAWS = {
    "rand_like": (torch.rand_like, lambda x: x), "rand": (lambda x: torch.rand(x.shape, dtype=x.dtype), lambda x: x),
    "uniform_": (lambda x: x.clone().uniform_(-2, 3), lambda x: (x + 2) / 5), "exponential_": (lambda x: x.clone().exponential_(2.0), lambda x: 1 - np.exp(-2 * x)),
    "randn_like": (torch.randn_like, lambda x: np.vectorize(math.erf)(x / math.sqrt(2)) / 2 + 0.5),
    "normal_": (lambda x: x.clone().normal_(1, 3), lambda x: np.vectorize(math.erf)((x - 1) / 3 / math.sqrt(2)) / 2 + 0.5),
    "normal": (lambda x: torch.normal(x, 2 * x), lambda x: np.vectorize(math.erf)((x - 1) / 2 / math.sqrt(2)) / 2 + 0.5),
}


def check_distribution(name, dtype):
    """By the largest distance between distribution functions, which is below this with a probability of one in a billion; and steps of the type."""
    function, wanted = DRAWS[name]
    found = np.sort(drawn(function, dtype))
    step = float(torch.finfo(dtype).eps)
    apart = np.abs(wanted(found) - (np.arange(COUNT) + 0.5) / COUNT).max()
    assert apart < 3.3 / math.sqrt(COUNT) + 2 * step, (name, dtype, apart)


@pytest.mark.parametrize("dtype", TYPES, ids=str)
@pytest.mark.parametrize("name", sorted(DRAWS))
def test_distributions(name, dtype):
    check_distribution(name, dtype)


@pytest.mark.parametrize("draw, mean", [(lambda x: torch.bernoulli(x * 0.25), 0.25), (lambda x: x.clone().bernoulli_(0.75), 0.75), (lambda x: F.dropout(x, 0.25) * 0.75, 0.75),
                                        (lambda x: torch.randint_like(x, 0, 2), 0.5), (lambda x: torch.randint(0, 2, x.shape).to(x.dtype), 0.5)])
def test_two_values(draw, mean):
    found = drawn(draw, torch.float32)
    assert set(np.round(found, 5)) == {0.0, 1.0} and abs(found.mean() - mean) < 6.5 * 0.5 / math.sqrt(COUNT)


def extremes(monkeypatch):
    """Every other number is the least of the generator, and the others are the largest: [0, 1) in the steps that it makes."""
    def uniform(key, shape=(), dtype=float, minval=0.0, maxval=1.0):
        largest = 1 - float(jax.numpy.finfo(dtype).eps)
        flat = jax.numpy.where(jax.numpy.arange(math.prod(shape)) % 2 == 0, 0.0, largest).astype(dtype).reshape(shape)
        return flat * (maxval - minval) + minval
    monkeypatch.setattr(jax.random, "uniform", uniform)


def check_extremes(dtype):
    found = drawn(torch.rand_like, dtype, count=16)
    assert found.min() == 0 and 1 - 2 * torch.finfo(dtype).eps <= found.max() < 1
    for rate in (0.5, 1.0, 3.0):
        found = drawn(lambda x: x.clone().exponential_(rate), dtype, count=16)
        assert (found > 0).all() and np.isfinite(found).all()
        assert np.isfinite(drawn(lambda x: x.clone().exponential_(rate).log(), dtype, count=16)).all()
    for hard in (False, True):
        found = drawn(lambda x: F.gumbel_softmax(x.view(-1, 4), tau=0.5, hard=hard), dtype, count=16).reshape(-1, 4)
        assert np.isfinite(found).all() and np.allclose(found.sum(1), 1, atol=0.01)


@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_none_is_outside_of_its_range(dtype, monkeypatch):
    extremes(monkeypatch)
    check_extremes(dtype)


@pytest.mark.parametrize("dtype, name, fault", [
    (torch.bfloat16, "aten.rand_like", lambda op, *_, **__: jax.random.uniform(op.key(), op.shape, op.wide)),
    (torch.float32, "aten.exponential", lambda op, x, rate=1.0, **_: -jax.numpy.log1p(-jax.random.uniform(op.key(), op.shape, op.wide)) / rate)])
def test_planted_faults_are_found(dtype, name, fault, monkeypatch):
    extremes(monkeypatch)
    monkeypatch.setitem(RULES, name, fault)
    with pytest.raises(AssertionError):
        check_extremes(dtype)


@pytest.mark.parametrize("name, dtype, fault", [("exponential_", torch.float32, ("aten.exponential", lambda op, x, rate=1.0, **_: -jax.numpy.log1p(-jax.random.uniform(op.key(), op.shape, op.wide)))),
                                                ("uniform_", torch.float64, ("aten.uniform", lambda op, x, low=0, high=1, **_: jax.random.uniform(op.key(), op.shape, op.wide) * high))])
def test_other_distributions_are_found(name, dtype, fault, monkeypatch):
    monkeypatch.setitem(RULES, *fault)
    with pytest.raises(AssertionError):
        check_distribution(name, dtype)
