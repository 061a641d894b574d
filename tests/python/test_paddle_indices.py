# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Indices outside of a tensor, which Paddle's executor refuses: a batch that has them is refused before a step."""
import random

import pytest

pytest.importorskip("paddle", reason="needs PaddlePaddle (scripts/setup.sh --bench)")

import numpy as np  # noqa: E402
import paddle  # noqa: E402
from paddle import nn  # noqa: E402
from paddle.nn import functional as F  # noqa: E402

import commsched  # noqa: E402
import commsched.paddle  # noqa: E402

paddle.enable_static()
WORDS, CLASSES = 7, 5


def words(x, y):
    return F.cross_entropy(nn.Linear(3, CLASSES)(nn.Embedding(WORDS, 3)(x).mean(1)), y)


def negative_log_likelihood(x, y):
    return F.nll_loss(F.log_softmax(nn.Linear(3, CLASSES)(nn.Embedding(WORDS, 3)(x).mean(1))), paddle.squeeze(y, 1))


def columns(x, y):
    """The words in another shape, one at a time."""
    return F.cross_entropy(nn.Linear(3, CLASSES)(nn.Embedding(WORDS, 3)(paddle.reshape(x, [-1])).reshape([-1, 2, 3]).mean(1)), y)


def first_word(x, y):
    """What is looked up is not all of the batch, so that nothing is known of the rest."""
    return F.cross_entropy(nn.Linear(3, CLASSES)(nn.Embedding(WORDS, 3)(x[:, 0])), y)


@pytest.mark.parametrize("body", [words, negative_log_likelihood, columns, first_word])
@pytest.mark.parametrize("trainers", [1, 2])
def test_drawn_batches_are_refused_where_the_executor_refuses_them(body, trainers):
    main, startup, scope = paddle.static.Program(), paddle.static.Program(), paddle.static.Scope()
    with paddle.utils.unique_name.guard(), paddle.static.program_guard(main, startup):
        loss = body(paddle.static.data("x", [None, 2], "int64"), paddle.static.data("y", [None, 1], "int64"))
        paddle.optimizer.SGD(0.1).minimize(loss)
    executor, draw = paddle.static.Executor(paddle.CPUPlace()), random.Random(trainers)
    with paddle.static.scope_guard(scope):
        executor.run(startup)
    refused = taken = 0
    with commsched.paddle.transpile(main, {"x": np.zeros((4, 2), np.int64), "y": np.zeros((4, 1), np.int64)}, trainers=trainers, scope=scope) as program:
        for _ in range(16):
            batch = {"x": np.array([[draw.randrange(WORDS) for _ in range(2)] for _ in range(4)]), "y": np.array([[draw.randrange(CLASSES)] for _ in range(4)])}
            if draw.random() < 0.6:
                name, most = draw.choice([("x", WORDS), ("y", CLASSES)])
                batch[name][draw.randrange(4), draw.randrange(batch[name].shape[1])] = draw.choice([-1, most, most + 40, -100])
            try:
                with paddle.static.scope_guard(scope):
                    executor.run(main, feed=batch, fetch_list=[loss])
                fine = True
            except Exception:
                fine = False
            steps = program.steps
            try:
                program.step(batch)
                assert fine or body is first_word, batch
                taken += 1
            except commsched.FrontEndError as error:
                assert not fine, (batch, error)
                assert len(str(error).splitlines()) == 1 and "test_paddle_indices.py" in str(error) and program.steps == steps
                refused += 1
    assert taken and (refused or body is first_word)
