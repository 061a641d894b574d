# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A small Transformer that learns to go on with counted sequences, by two trainers and two parameter servers, which hold its
table of words row by row.

    PYTHONPATH=python_api python examples/paddle/transformer.py
"""

import numpy as np
import paddle
from paddle import nn
from paddle.nn import functional as F

import commsched
import commsched.paddle

WORDS, LENGTH, WIDTH = 32, 12, 32


def batch(random, samples=32):
    """Numbers that go up by a step which the first two show."""
    start, step = random.integers(0, WORDS, (samples, 1)), random.integers(1, 4, (samples, 1))
    text = (start + step * np.arange(LENGTH + 1)) % WORDS
    return {"words": text[:, :-1].copy(), "following": text[:, 1:, None].copy()}


def build():
    """The loss and the scheduler of the default program."""
    words = paddle.static.data("words", [None, LENGTH], "int64")
    following = paddle.static.data("following", [None, LENGTH, 1], "int64")
    position = paddle.static.create_parameter([LENGTH, WIDTH], "float32")
    hidden = nn.Embedding(WORDS, WIDTH, weight_attr=paddle.ParamAttr(name="table"))(words) + position
    mask = paddle.assign(np.triu(np.full((LENGTH, LENGTH), -1e9, np.float32), 1))
    hidden = nn.TransformerEncoder(nn.TransformerEncoderLayer(WIDTH, 4, 4 * WIDTH, dropout=0.0, activation="gelu"), 2)(hidden, mask)
    loss = F.cross_entropy(nn.Linear(WIDTH, WORDS)(hidden), following)
    scheduler = paddle.optimizer.lr.LinearWarmup(5e-3, 20, 0.0, 5e-3)
    paddle.optimizer.Adam(scheduler).minimize(loss)
    return loss, scheduler


def main(steps=120):
    paddle.enable_static()
    paddle.seed(0)
    _, scheduler = build()
    paddle.static.Executor(paddle.CPUPlace()).run(paddle.static.default_startup_program())
    random = np.random.default_rng(0)
    strategy = commsched.ParameterServers(servers=2, row_sparse=["table"])
    trainer = commsched.paddle.transpile(example_batch=batch(random), trainers=2, strategy=strategy)
    metrics = trainer.run((batch(random) for _ in range(steps)), scheduler=scheduler)
    for i in [*range(0, steps, 30), steps - 1]:
        print(f"step {i}: loss {metrics[i]['loss']:.4f}")
    print("a trainer fetches", trainer.get_trainer_program().count("cs.fetch_rows"), "table by rows")
    trainer.load_into()
    trainer.close()
    return metrics[-1]["loss"]


if __name__ == "__main__":
    main()
