# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Known networks beside PaddlePaddle's own executor, and what of them travels."""
import re

import pytest

pytest.importorskip("paddle", reason="needs PaddlePaddle (scripts/setup.sh --bench)")

import numpy as np  # noqa: E402
import paddle_models as models  # noqa: E402
import paddle_training as training  # noqa: E402


@pytest.mark.parametrize("how", ["all-reduce", "servers"])
def test_a_transformer_layer(how):
    training.assert_same(*training.compare(models.transformer, models.cross_entropy, models.TEXT_INPUTS, models.optimizer("momentum", "global"), models.texts(1, 3),
                            workers=2, **({"pservers": 2} if how == "servers" else {})), bound=1e-6)


def test_mobilenet():
    training.assert_same(*training.compare(models.mobilenet, models.cross_entropy, models.image_inputs(size=32, dtype="float64"),
                            models.optimizer("momentum", "global"), models.images(1, 2, 4, size=32, dtype="float64"), workers=2,
                            dtype="float64"), bound=1e-6)


def test_all_reduces_are_of_the_parameters():
    single = training.build(models.lenet, models.cross_entropy, models.image_inputs(1, 28), models.optimizer("momentum"))
    program = training.commsched.paddle.transpile(single.main, models.images(0, 1, 4, 1, 28)[0], trainers=2, scope=training.start(single, 0))
    found = re.findall(r'cs\.all_reduce "([^"]*)" mean .*: !cs\.placed<tensor<((?:\d+x)*)f32>', program.mlir(1))
    sizes = {name: int(np.prod([int(n) for n in shape.split("x") if n])) for name, shape in found if name in program.params}
    assert sizes == {name: value.size for name, value in program.params.items()}
