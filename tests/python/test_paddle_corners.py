# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Gradients where a function has a corner, of equal elements, of norms of nothing; indices from the end, and what of an image
is padding: as PaddlePaddle's own executor has them. Elements are of a coarse grid, so that corners and equal elements are common."""
import pytest

pytest.importorskip("paddle", reason="needs PaddlePaddle (scripts/setup.sh --bench)")

import numpy as np  # noqa: E402
import paddle  # noqa: E402
import paddle_training as training  # noqa: E402
from paddle.nn import functional as F  # noqa: E402

import commsched.paddle  # noqa: E402

ROWS, COLUMNS = 4, 6


def ids(*numbers):
    return paddle.to_tensor(np.array(numbers))


def image(x):
    return paddle.reshape(x, [1, 1, ROWS, COLUMNS])


def ramp(shape):
    return paddle.to_tensor(np.linspace(-1.0, 1.5, int(np.prod(shape))).reshape(shape))


ONE = {
    "hardtanh": F.hardtanh, "hardtanh of a half": lambda x: F.hardtanh(x, -0.5, 0.5), "hardshrink": F.hardshrink, "softshrink": F.softshrink,
    "leaky relu": F.leaky_relu, "leaky relu that falls": lambda x: F.leaky_relu(x, -0.5), "celu": F.celu, "celu of 0.3": lambda x: F.celu(x, 0.3),
    "elu": F.elu, "selu": F.selu, "relu": F.relu, "relu6": lambda x: F.relu6(6 * x), "hardswish": lambda x: F.hardswish(3 * x), "hardsigmoid": lambda x: F.hardsigmoid(3 * x),
    "thresholded": lambda x: F.thresholded_relu(x, 0.5, 0.25), "softplus": lambda x: F.softplus(x, 1, 0.5), "softsign": F.softsign, "log sigmoid": F.log_sigmoid,
    "abs": paddle.abs, "power 0": lambda x: paddle.pow(x, 0), "power 2": lambda x: paddle.pow(x, 2), "clip": lambda x: paddle.clip(x, -0.5, 0.5),
    "clip below": lambda x: paddle.clip(x, min=0.0), "logit": lambda x: paddle.logit((x + 2) / 4, 0.25), "trunc": paddle.trunc, "floor": paddle.floor,
    "round": paddle.round, "round to tenths": lambda x: paddle.round(0.37 * x, 1) * x, "round to tens": lambda x: paddle.round(17 * x, -1) * x,
    "max": paddle.max, "max of rows": lambda x: paddle.max(x, 1), "min of columns": lambda x: paddle.min(x, 0, keepdim=True), "amax": lambda x: paddle.amax(x, 1),
    "amin": paddle.amin, "1 norm": lambda x: paddle.linalg.norm(x, 1, 1), "1 norm of all": lambda x: paddle.linalg.norm(x, 1), "2 norm": lambda x: paddle.linalg.norm(x, 2, 1),
    "norm of nothing": lambda x: paddle.linalg.norm(0 * x, 2), "norms of nothing": lambda x: paddle.linalg.norm(x * (x > 1).astype("float64"), 2, 0, keepdim=True),
    "normalize": lambda x: F.normalize(x * (x[:, :1] > 0).astype("float64"), axis=1), "cosine": lambda x: F.cosine_similarity(x, 0 * x + 0.5, axis=1),
    "smooth l1": lambda x: F.smooth_l1_loss(x, paddle.zeros_like(x), delta=0.5), "l1": lambda x: F.l1_loss(x, paddle.zeros_like(x)),
    "gather": lambda x: paddle.gather(x, ids(-1, 0, -2)), "gather of columns": lambda x: paddle.gather(x, ids(-1, 2), axis=1),
    "gather nd": lambda x: paddle.gather_nd(x, ids([-1, 2], [0, -3])), "along": lambda x: paddle.take_along_axis(x, ids([-1, 0], [2, 1], [0, -6], [3, 3]), 1),
    "class weights": lambda x: F.cross_entropy(x, ids(0, 5, 2, 1), weight=paddle.to_tensor(np.array([0.5, 1.0, 2.0, 3.0, 1.0, 0.1]))),
    "indices": lambda x: x[:, [-1, 0, 2]], "maximum pool": lambda x: F.max_pool2d(image(x), 2),
    "dilated, of the same size": lambda x: F.conv2d(image(x), ramp([1, 1, 3, 3]), padding="SAME", dilation=2),
    "mean pool with padding behind": lambda x: F.avg_pool2d(image(x), 3, 2, [0, 1, 1, 0], exclusive=False),
    "mean pool of the same size": lambda x: F.avg_pool2d(image(x), [3, 2], [1, 2], "SAME", exclusive=False),
    "mean pool over the end": lambda x: F.avg_pool2d(image(x), 3, 2, 1, ceil_mode=True, exclusive=False)}
TWO = {"maximum": paddle.maximum, "minimum": paddle.minimum, "fmax": paddle.fmax, "fmin": paddle.fmin, "maximum of a row": lambda x, y: paddle.maximum(x, y[:1]),
       "where": lambda x, y: paddle.where(x > y, x, y)}


@pytest.mark.parametrize("seed", range(3))
def test_corners(seed):
    random = np.random.default_rng([seed, 4])
    names = [*ONE, *TWO]
    given = {f"{of}.{name}": np.round(2 * random.standard_normal((ROWS, COLUMNS))) / 2 for of in ("x", "y") for name in names if of == "x" or name in TWO}
    weights = {name: random.standard_normal(24) for name in names}
    main, startup = paddle.static.Program(), paddle.static.Program()
    with paddle.utils.unique_name.guard(), paddle.static.program_guard(main, startup):
        params = {name: paddle.create_parameter(list(v.shape), "float64", name=name) for name, v in given.items()}
        loss = paddle.mean(paddle.static.data("d", [2, 1], "float64"))
        for name in names:
            out = ONE[name](params[f"x.{name}"]) if name in ONE else TWO[name](params[f"x.{name}"], params[f"y.{name}"])
            weight = weights[name][:int(np.prod(out.shape))].reshape(out.shape)
            loss = loss + paddle.sum(out * paddle.to_tensor(weight))
        for p in params.values():
            loss = loss + 0.01 * paddle.sum(p)
        paddle.optimizer.SGD(1.0).minimize(loss)
    scope, executor = paddle.static.Scope(), paddle.static.Executor(paddle.CPUPlace())
    with paddle.static.scope_guard(scope):
        executor.run(startup)
        training.set_values(scope, given)
        batch = {"d": np.zeros((2, 1))}
        with commsched.paddle.transpile(main, batch, trainers=1) as program:
            found, mine = program.step(batch)["loss"], program.params
        wanted = float(executor.run(main, feed=batch, fetch_list=[loss])[0])
    wrong = {}
    for name in given:
        his = np.array(scope.find_var(name).get_tensor())
        same = np.isclose(mine[name], his, rtol=1e-6, atol=1e-7)  # constants that Paddle rounds to f32
        if not same.all():
            at = tuple(int(i) for i in np.argwhere(~same)[0])
            wrong[name] = f"at {given[name][at]}: {given[name][at] - mine[name][at]}, Paddle {given[name][at] - his[at]}"
    assert not wrong
    np.testing.assert_allclose(found, wanted, rtol=1e-6)
