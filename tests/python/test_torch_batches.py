# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Batches of any structure: tuples, lists, dictionaries and named tuples within each other, as data sets and loaders make them. What they hold counts, not the order in which a
dictionary was filled, nor whether a loader has made a list of a tuple."""

import collections
import os
import random

import pytest
from cases import FIRST

torch = pytest.importorskip("torch", reason="needs PyTorch (scripts/setup.sh --bench)")
import torch.nn.functional as F  # noqa: E402
from torch import nn  # noqa: E402

import commsched  # noqa: E402
import commsched.torch  # noqa: E402
from commsched.torch import describing  # noqa: E402

pytestmark = pytest.mark.skipif("COMMSCHED_BIN" not in os.environ, reason="COMMSCHED_BIN is not set")
Pair = collections.namedtuple("Pair", "first second")


def leaves(value):
    """In one order, whatever the structure is made of."""
    if isinstance(value, dict):
        value = [value[k] for k in sorted(value)]
    return [leaf for part in value for leaf in leaves(part)] if isinstance(value, (tuple, list)) else [value]


def loss(model, *batch):
    first, *others = leaves(batch)
    return F.mse_loss(model(first), sum(leaf * (i + 1) for i, leaf in enumerate(others)) * 0.1)


def structure(draw, depth=0):
    """With at least two tensors, if depth is 0. Seldom too deep."""
    if depth and draw.random() < 0.3 * depth:
        return None
    kind = draw.choice(["tuple", "list", "dictionary", "named tuple"])
    parts = [structure(draw, depth + 1) for _ in range(2 if kind == "named tuple" else draw.randrange(2, 4))]
    if kind == "dictionary":
        return dict(zip(draw.sample("abcd", len(parts)), parts))
    return Pair(*parts) if kind == "named tuple" else (tuple if kind == "tuple" else list)(parts)


def mapped(value, of):
    if isinstance(value, dict):
        return {k: mapped(v, of) for k, v in value.items()}
    if isinstance(value, Pair):
        return Pair(*(mapped(v, of) for v in value))
    return type(value)(mapped(v, of) for v in value) if isinstance(value, (tuple, list)) else of(value)


def filled(shape, generator):
    return mapped(shape, lambda _: torch.randn(4, 2, generator=generator))


def otherwise(value, draw):
    """The same in other words."""
    if isinstance(value, dict):
        return {k: otherwise(value[k], draw) for k in draw.sample(sorted(value), len(value))}
    if isinstance(value, Pair):
        return Pair(*(otherwise(v, draw) for v in value))
    return draw.choice([tuple, list])(otherwise(v, draw) for v in value) if isinstance(value, (tuple, list)) else value


def check_structure(seed):
    draw, generator = random.Random(seed), torch.Generator().manual_seed(seed)
    shape = structure(draw)
    batches = [filled(shape, generator) for _ in range(3)]
    torch.manual_seed(seed)
    model = nn.Linear(2, 2)
    wanted = [float(loss(model, batch)) for batch in batches]
    with commsched.torch.transpile(model, torch.optim.SGD(model.parameters(), lr=0.0), loss, batches[0], cluster=draw.choice([1, 2])) as program:
        for change in (lambda b: b, lambda b: otherwise(b, draw), lambda b: otherwise(mapped(b, lambda t: t.numpy()), draw)):
            assert [m["loss"] for m in program.run(map(change, batches))] == pytest.approx(wanted, abs=1e-5), shape
        for wrong in ((batches[0],), (batches[0], batches[0]), {"a": batches[0]}):
            with pytest.raises(commsched.FrontEndError, match="^a batch must have the structure of its example, got: ") as caught:
                program.run([wrong])
            assert len(str(caught.value).splitlines()) == 1


@pytest.mark.filterwarnings("ignore::commsched.GuessedCosts")
@pytest.mark.parametrize("seed", range(FIRST, FIRST + 8))
def test_structures(seed):
    check_structure(seed)


def test_names_are_those_of_arguments_and_fields():
    x = torch.ones(4, 2)
    assert describing.Batch(Pair(x, {"b": x, "a": (x, x)}), ["one", "two"]).names == ["first", "second.a.0", "second.a.1", "second.b"]
    assert describing.Batch((x, {"b": x, "a": [x, x]}), ["one"]).names == ["one", "batch.1.a.0", "batch.1.a.1", "batch.1.b"]
    assert describing.Batch({2: x, 1: x}).names == ["batch.1", "batch.2"]


@pytest.mark.filterwarnings("ignore::commsched.GuessedCosts")
@pytest.mark.parametrize("name, fault", [("_ordered", lambda value: value), ("_of_tuples", lambda value: value)])
def test_planted_faults_are_found(name, fault, monkeypatch):
    monkeypatch.setattr(describing, name, fault)
    with pytest.raises((AssertionError, commsched.FrontEndError)):
        for seed in range(FIRST, FIRST + 8):
            check_structure(seed)
