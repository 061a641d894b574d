# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Static programs drawn from seeds, of operations of all families, train as PaddlePaddle's own executor trains them. In
float64, so that what differs is another function.

COMMSCHED_TEST_SEED: the first seed, and COMMSCHED_TEST_TIMES: how many times as many.
"""

import pytest
from cases import cases

pytest.importorskip("paddle", reason="needs PaddlePaddle (scripts/setup.sh --bench)")

import numpy as np  # noqa: E402
import paddle_drawn as drawn  # noqa: E402
import paddle_models as models  # noqa: E402
import paddle_training as training  # noqa: E402

STEPS = 2


@pytest.mark.parametrize("seed", cases(10))
def test_drawn_programs(seed):
    random = np.random.default_rng([seed, 2])
    optimizer, clip = str(random.choice(["sgd", "momentum", "adamw"])), [None, "global"][int(random.integers(2))]  # Paddle has clip_by_norm in f32 only
    made = []

    def make():
        made.append(drawn.Drawn(seed))
        return made[-1]
    try:
        result = training.compare(make, drawn.loss, drawn.INPUTS, models.optimizer(optimizer, clip), drawn.batches(seed, STEPS, 4),
                                  workers=1 + seed % 2, seed=seed, dtype="float64", **({"pservers": 2} if seed % 5 == 0 else {}))
        training.assert_same(*result, bound=2e-7)
    except Exception as error:
        raise AssertionError(f"{made[0].names if made else ''} {optimizer} {clip}: {error}") from error
