# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""PaddlePaddle: losses and metrics that are no means over the samples warn (test_mixed_samples.py): if and only if Paddle's own gradients of parts have another
mean than those of the whole batch."""
import warnings

import pytest

pytest.importorskip("paddle", reason="needs PaddlePaddle (scripts/setup.sh --bench)")

import numpy as np  # noqa: E402
import paddle  # noqa: E402
from paddle import nn  # noqa: E402
from paddle.nn import functional as F  # noqa: E402

import commsched  # noqa: E402
import commsched.paddle  # noqa: E402
from commsched.paddle import describing  # noqa: E402

paddle.enable_static()
N, PARTS = 12, 3
RNG = np.random.default_rng(3)
BATCH = {"x": RNG.normal(size=(N, 4)).astype(np.float32), "y": RNG.integers(0, 3, (N, 1))}


def network(x):
    return nn.Linear(6, 3, weight_attr=nn.initializer.Assign(np.linspace(-1, 1, 18, dtype=np.float32).reshape(6, 3) ** 3))(
        paddle.tanh(nn.Linear(4, 6, weight_attr=nn.initializer.Assign(np.linspace(1, -1, 24, dtype=np.float32).reshape(4, 6)))(x)))


def each(out, y):
    return F.cross_entropy(out, y, reduction="none")[:, 0]


def numbers(x):
    """Of the samples."""
    return paddle.cumsum(paddle.ones_like(x[:, 0]), axis=0)


# Of the input, the outputs of the network and the labels.
MEANS = {
    "mean": lambda x, out, y: F.cross_entropy(out, y),
    "weights of each": lambda x, out, y: (each(out, y) * (y[:, 0] > 0).astype("float32")).mean(),
    "a mean is added": lambda x, out, y: (each(out, y) + 0.5 * out.mean()).mean(),
    "in another order": lambda x, out, y: paddle.tanh(paddle.flip(out, [0])).mean(),
    "layer norm": lambda x, out, y: F.cross_entropy(F.layer_norm(out, 3), y),
    "places in a sample": lambda x, out, y: ((out + paddle.arange(3, dtype="float32")) ** 2).mean(),
    "as many as there are": lambda x, out, y: each(out, y)[:100].mean(),
    "of each sample": lambda x, out, y: (out[:, 0] ** 2 + paddle.sort(out, 1)[:, 2] + paddle.cumsum(out, 1)[:, 1]).mean(),
}
MIXED = {
    "labels that are ignored": lambda x, out, y: F.cross_entropy(out, y, ignore_index=0),
    "a mask": lambda x, out, y: (each(out, y) * (y[:, 0] > 0).astype("float32")).sum() / (y > 0).astype("float32").sum(),
    "root": lambda x, out, y: paddle.sqrt(each(out, y).mean()),
    "largest": lambda x, out, y: each(out, y).max(),
    "pairs": lambda x, out, y: paddle.exp(paddle.matmul(out, out, transpose_y=True)).mean(),
    "batch norm": lambda x, out, y: F.cross_entropy(nn.BatchNorm1D(3)(out), y),
    "the first": lambda x, out, y: each(out, y)[0],
    "some": lambda x, out, y: each(out, y)[:3].mean(),
    "more than a part has": lambda x, out, y: each(out, y)[:N // PARTS + 2].mean(),
    "neighbours": lambda x, out, y: (each(out, y) * paddle.roll(each(out, y), 1)).mean(),
    "cumulated": lambda x, out, y: paddle.cumsum(each(out, y), axis=0).mean(),
    "weights by place": lambda x, out, y: (each(out, y) * numbers(x)).mean(),
    "minus the first": lambda x, out, y: paddle.abs(out - out[:1]).mean(),
}


def program_of(loss, metric=None):
    main, startup, scope = paddle.static.Program(), paddle.static.Program(), paddle.static.Scope()
    with paddle.utils.unique_name.guard(), paddle.static.program_guard(main, startup):
        x, y = paddle.static.data("x", [None, 4], "float32"), paddle.static.data("y", [None, 1], "int64")
        out = network(x)
        value = loss(x, out, y)
        of = metric(x, out, y) if metric is not None else value
        paddle.optimizer.SGD(1.0).minimize(value)
    with paddle.static.scope_guard(scope):
        paddle.static.Executor(paddle.CPUPlace()).run(startup)
    return main, scope, of


def updated(loss, batch, metric=None):
    """Parameters of the network after Paddle's own step, whose rate is 1, and what the metric was."""
    main, scope, of = program_of(loss, metric)
    with paddle.static.scope_guard(scope):
        names = [p.name for p in main.global_block().all_parameters() if p.trainable]
        value = paddle.static.Executor(paddle.CPUPlace()).run(main, feed=batch, fetch_list=[of])[0]
        return [np.asarray(scope.find_var(n).get_tensor()) for n in names], float(value)


def parts():
    return [{n: a[i:i + N // PARTS] for n, a in BATCH.items()} for i in range(0, N, N // PARTS)]


def warned(loss, metric=None, trainers=PARTS):
    main, scope, of = program_of(loss, metric)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        commsched.paddle.transpile(main, BATCH, scope=scope, trainers=trainers, metrics={"it": of} if metric else ())
    return [str(w.message) for w in caught if issubclass(w.category, commsched.MixedSamples)]


@pytest.mark.parametrize("loss, mean", [(loss, mean) for of, mean in ((MEANS, True), (MIXED, False)) for loss in of.values()], ids=[*MEANS, *MIXED])
def test_what_warns_is_no_mean(loss, mean):
    whole, each_part = updated(loss, BATCH)[0], [updated(loss, part)[0] for part in parts()]
    assert mean == all(np.allclose(sum(own) / PARTS, w, rtol=1e-4, atol=1e-5) for *own, w in zip(*each_part, whole))
    found = warned(loss)
    assert len(found) == (0 if mean else 1) and not warned(loss, trainers=1)
    assert all("test_paddle_mixed_samples.py:" in text and "the gradients are not a mean over the samples" in text and "\n" not in text for text in found)


METRICS = {
    "a share": (lambda x, out, y: (out.argmax(1) == y[:, 0]).astype("float32").mean(), True),
    "a mean": (lambda x, out, y: paddle.abs(out).mean(), True),
    "a count": (lambda x, out, y: (out.argmax(1) == y[:, 0]).astype("float32").sum(), False),
    "the largest": (lambda x, out, y: out.max(), False),
    "perplexity": (lambda x, out, y: paddle.exp(each(out, y).mean()), False),
}


@pytest.mark.parametrize("metric, mean", METRICS.values(), ids=METRICS)
def test_metrics_that_are_no_means_warn(metric, mean):
    loss = MEANS["mean"]
    values = [updated(loss, part, metric)[1] for part in parts()]
    assert mean == np.allclose(sum(values) / PARTS, updated(loss, BATCH, metric)[1], rtol=1e-4)
    found = warned(loss, metric)
    assert len(found) == (0 if mean else 1) and all("the metric 'it' is not a mean over the samples" in text for text in found)


# Of nll_loss, by which Paddle's own executor writes beyond its memory now and then: the label that is ignored, and the loss.
NUMBERS = {
    "none is ignored": (-100, lambda out, y: F.nll_loss(F.log_softmax(out, 1), y[:, 0])),
    "none is ignored of a row": (7, lambda out, y: F.nll_loss(F.log_softmax(out, 1), paddle.flatten(y), ignore_index=7)),
    "some are ignored": (0, lambda out, y: F.nll_loss(F.log_softmax(out, 1), y[:, 0], ignore_index=0)),
    "some that are computed are ignored": (0, lambda out, y: F.nll_loss(F.log_softmax(out, 1), paddle.where(y == 0, paddle.full_like(y, -100), y)[:, 0])),
}


@pytest.mark.parametrize("ignored, loss", NUMBERS.values(), ids=NUMBERS)
def test_labels_that_are_ignored_warn_if_there_are_any(ignored, loss):
    values, counts = np.random.default_rng(4).normal(size=N), BATCH["y"][:, 0] != ignored
    each_part = [values[i:i + N // PARTS][counts[i:i + N // PARTS]].mean() for i in range(0, N, N // PARTS)]
    mean = np.isclose(np.mean(each_part), values[counts].mean())
    assert len(warned(lambda x, out, y: loss(out, y))) == (0 if mean else 1)


def no_label(captured, example, f=describing.none_ignored):
    return f(captured, {n: np.full_like(a, -1) for n, a in example.items()})


@pytest.mark.parametrize("fault, name", [(lambda captured, example: captured, "none is ignored"), (no_label, "some are ignored")], ids=["all may be", "none is"])
def test_faults_in_what_is_ignored_are_found(fault, name, monkeypatch):
    monkeypatch.setattr(describing, "none_ignored", fault)
    with pytest.raises(AssertionError):
        test_labels_that_are_ignored_warn_if_there_are_any(*NUMBERS[name])
