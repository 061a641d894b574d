# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Networks drawn from seeds, and all optimizers, beside PaddlePaddle's own executor. Networks are in float64, where
rounding is out of the way, so that what differs is another function."""
import pytest

pytest.importorskip("paddle", reason="needs PaddlePaddle (scripts/setup.sh --bench)")

import numpy as np  # noqa: E402
import paddle_models as models  # noqa: E402
import paddle_training as training  # noqa: E402

STEPS = 3
OPTIMIZERS = ["sgd", "momentum", "nesterov", "adam", "adamw", "amsgrad", "adagrad", "rmsprop", "centered", "adamax", "adadelta", "nadam", "radam",
              "lamb", "rprop"]


@pytest.mark.parametrize("seed", range(12))
def test_drawn_layers(seed):
    random = np.random.default_rng(1000 + seed)
    make, layers = models.tower(seed)
    optimizer = str(random.choice(OPTIMIZERS))
    clip = random.choice([None, None, "value", "global"])
    decay = random.choice([None, 0.01])
    servers = {} if seed % 3 else {"pservers": 2, "min_block_size": 16}
    try:
        result = training.compare(make, models.cross_entropy, models.image_inputs(size=12, dtype="float64"),
                                  models.optimizer(optimizer, None if clip == "value" else clip, decay), models.images(seed, STEPS, 8, size=12, dtype="float64"),
                                  workers=1 + seed % 2, seed=seed, dtype="float64", value=0.01 if clip == "value" else None, **servers)
    except Exception as error:
        raise AssertionError(f"{layers} {optimizer} {clip} {decay}: {error}") from error
    # Rates and constants are f32 in Paddle, so both sides have the same roundings of them.
    training.assert_same(*result, bound=2e-7)


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_optimizers(name):
    result = training.compare(lambda: models.nn.Sequential(models.nn.Linear(4, 6), models.nn.Tanh(), models.nn.Linear(6, models.CLASSES)),
                              models.cross_entropy, {"x": ((4,), "float32"), "y": ((1,), "int64")},
                              models.optimizer(name, "norm", 0.02), [{"x": b["x"].reshape(8, -1)[:, :4], "y": b["y"]}
                                                                   for b in models.images(3, 5, 8, size=4)], workers=2)
    training.assert_same(*result, bound=2e-6)
