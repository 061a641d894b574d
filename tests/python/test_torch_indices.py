# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Indices outside of a tensor, which eager PyTorch refuses: a batch that has them is refused where eager PyTorch does, and nothing happens."""

import random
import warnings

import numpy as np
import pytest
from cases import cases

pytest.importorskip("torch", reason="needs PyTorch (scripts/setup.sh --bench)")

import torch  # noqa: E402
import torch.nn.functional as F  # noqa: E402
from torch import nn  # noqa: E402

import commsched  # noqa: E402
import commsched.torch  # noqa: E402

ROWS, WORDS, CLASSES, WIDTH, LENGTH = 8, 11, 5, 6, 4


class Words(nn.Module):
    """A table of words, some of which are looked up in another way."""

    def __init__(self, draw):
        super().__init__()
        self.table, self.out, self.how = nn.Embedding(WORDS, WIDTH), nn.Linear(WIDTH, CLASSES), draw.choice(list(LOOKUPS))

    def forward(self, ids):
        return self.out(LOOKUPS[self.how](self.table, ids))


# Of ids [rows, LENGTH], each with features [rows, WIDTH].
LOOKUPS = {
    "embedding": lambda table, ids: table(ids).mean(1),
    "its first words": lambda table, ids: table(ids[:, :-1]).mean(1),
    "brackets": lambda table, ids: table.weight[ids].mean(1),
    "select": lambda table, ids: table.weight.index_select(0, ids[:, 1]),
    "gather": lambda table, ids: table.weight[:, 0].expand(len(ids), -1).gather(1, ids).mean(1, keepdim=True).expand(-1, WIDTH),
    "counted from one": lambda table, ids: table(ids - 1).mean(1),
    "clamped": lambda table, ids: table(ids.clamp(0, WORDS - 1)).mean(1),
    "filled up": lambda table, ids: table(ids.masked_fill(ids < 0, 0)).mean(1),
    "one hot": lambda table, ids: F.one_hot(ids[:, 0], WORDS).to(torch.float32) @ table.weight,
    "added": lambda table, ids: torch.zeros(len(ids), WORDS).scatter_add(1, ids, torch.ones(ids.shape)) @ table.weight,
    "rows in a table": lambda table, ids: table.weight.reshape(-1)[ids[:, :1] * WIDTH + torch.arange(WIDTH)],
}
LOSSES = {
    "classes": lambda out, y: F.cross_entropy(out, y),
    "some ignored": lambda out, y: F.cross_entropy(out, y, ignore_index=-100, reduction="sum") / len(y),
    "gather": lambda out, y: -F.log_softmax(out, 1).gather(1, y[:, None]).mean(),
    "margins": lambda out, y: F.multi_margin_loss(out, y),
}


def drawn_batch(draw, low, high, least, most):
    """Now and then with one that is drawn from least to most."""
    values = np.array([[draw.randrange(low, high) for _ in range(LENGTH)] for _ in range(ROWS)])
    if draw.random() < 0.6:
        values[draw.randrange(ROWS), draw.randrange(LENGTH)] = draw.randrange(least, most)
    return torch.from_numpy(values)


@pytest.mark.parametrize("seed", cases(12))
@pytest.mark.parametrize("workers", [1, 2])
def test_drawn_batches_are_refused_where_eager_pytorch_refuses_them(seed, workers):
    draw = random.Random(1000 * seed + workers)
    model, way = Words(draw), draw.choice(list(LOSSES))
    loss = LOSSES[way]

    def step(model, ids, y):
        return loss(model(ids), y)
    ids, y = torch.ones(ROWS, LENGTH, dtype=torch.int64), torch.ones(ROWS, dtype=torch.int64)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        program = commsched.torch.transpile(model, torch.optim.SGD(model.parameters(), lr=0.1), step, (ids, y), cluster=workers)
    taken = refused = 0
    with program:
        for _ in range(12):
            batch = drawn_batch(draw, 1, WORDS, -3, WORDS + 3), drawn_batch(draw, 0, CLASSES, -2, CLASSES + 2)[:, 0].clone()
            if way == "some ignored" and draw.random() < 0.5:
                batch[1][draw.randrange(ROWS)] = -100
            try:
                step(model, *batch)
                expected = None
            except (IndexError, RuntimeError) as error:
                expected = str(error)
            steps, params = program.steps, program.params
            try:
                program.step(batch)
                assert expected is None, (model.how, way, expected, batch)
                taken += 1
            except commsched.FrontEndError as error:
                assert expected is not None, (model.how, way, error, batch)
                assert len(str(error).splitlines()) == 1 and "test_torch_indices.py" in str(error), error
                assert program.steps == steps and all(torch.equal(v, program.params[n]) for n, v in params.items())
                refused += 1
    assert taken, "nothing was tried"


def test_what_is_said():
    model = nn.Linear(3, CLASSES)
    with commsched.torch.transpile(model, torch.optim.SGD(model.parameters(), lr=0.1), nn.CrossEntropyLoss(), (torch.randn(4, 3), torch.tensor([0, 1, 2, 3])),
                                   cluster=2) as program:
        with pytest.raises(commsched.FrontEndError, match=r"index of aten.gather that is made of batch 'batch.1' must be at least 0 and below 5, got: 5$"):
            program.run([(torch.randn(4, 3), torch.tensor([0, 1, 2, 5]))])
        assert program.steps == 0
        program.run([(torch.randn(4, 3), torch.tensor([0, 1, 2, 4]))])


def test_micro_batches():
    model = Words(random.Random(3))
    model.how = "embedding"
    ids, y = torch.ones(ROWS, LENGTH, dtype=torch.int64), torch.ones(ROWS, dtype=torch.int64)
    with commsched.torch.transpile(model, torch.optim.SGD(model.parameters(), lr=0.1), nn.CrossEntropyLoss(), (ids, y), cluster=2, accumulate=2) as program:
        for row in range(ROWS):
            wrong = ids.clone()
            wrong[row, -1] = WORDS
            with pytest.raises(commsched.FrontEndError, match=f"below {WORDS}, got: {WORDS}"):
                program.step((wrong, y))
        program.step((ids, y))
