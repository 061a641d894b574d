# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Networks drawn from seeds, and known ones, beside PaddlePaddle's own executor. In float64, where rounding is out of the
way, so that what differs is another function."""
import re

import pytest

pytest.importorskip("paddle", reason="needs PaddlePaddle (scripts/setup.sh --bench)")

import numpy as np  # noqa: E402
import paddle_models as models  # noqa: E402
import paddle_training as training  # noqa: E402

STEPS = 3
OPTIMIZERS = ["sgd", "momentum", "nesterov", "adam", "adamw", "amsgrad", "adagrad", "rmsprop", "centered", "adamax"]


def check(apart, moved, program, losses, bound):
    worst = max(apart, key=apart.get)
    assert apart[worst] <= bound, (worst, apart[worst], moved)
    assert moved >= 1e-4
    np.testing.assert_allclose(losses[0], losses[1], rtol=1e-4)
    text = program.mlir(0)
    assert text.count("= cs.gradient ") == len(program.params)
    program.close()


@pytest.mark.parametrize("seed", range(16))
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
    check(*result, bound=2e-7)


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_optimizers(name):
    result = training.compare(lambda: models.nn.Sequential(models.nn.Linear(4, 6), models.nn.Tanh(), models.nn.Linear(6, models.CLASSES)),
                              models.cross_entropy, {"x": ((4,), "float32"), "y": ((1,), "int64")},
                              models.optimizer(name, "norm", 0.02), [{"x": b["x"].reshape(8, -1)[:, :4], "y": b["y"]}
                                                                   for b in models.images(3, 5, 8, size=4)], workers=2)
    check(*result, bound=2e-6)


@pytest.mark.parametrize("name,make,inputs,batches", [
    ("mobilenet", models.mobilenet, models.image_inputs(size=32, dtype="float64"), lambda: models.images(1, 2, 4, size=32, dtype="float64")),
    ("transformer", models.transformer, models.TEXT_INPUTS, lambda: models.texts(1, 3)),
])
@pytest.mark.parametrize("how", ["all-reduce", "servers"])
def test_known_networks(name, make, inputs, batches, how):
    dtype = "float64" if name == "mobilenet" else "float32"
    result = training.compare(make, models.cross_entropy, inputs, models.optimizer("momentum", "global"), batches(), workers=2, dtype=dtype,
                              **({"pservers": 2} if how == "servers" else {}))
    check(*result, bound=1e-6)


def test_all_reduces_are_of_the_parameters():
    single = training.build(models.lenet, models.cross_entropy, models.image_inputs(1, 28), models.optimizer("momentum"))
    program = training.commsched.paddle.transpile(single.main, models.images(0, 1, 4, 1, 28)[0], trainers=2, scope=training.start(single, 0))
    found = re.findall(r'cs\.all_reduce "([^"]*)" mean .*: !cs\.placed<tensor<((?:\d+x)*)f32>', program.mlir(1))
    sizes = {name: int(np.prod([int(n) for n in shape.split("x") if n])) for name, shape in found if name in program.params}
    assert sizes == {name: value.size for name, value in program.params.items()}
