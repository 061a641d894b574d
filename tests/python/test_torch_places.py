# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""PyTorch: samples that count by their places, rules of torch.autograd.Function, and metrics (test_places.py)."""

import copy
import warnings

import pytest

torch = pytest.importorskip("torch", reason="needs PyTorch (scripts/setup.sh --bench)")
import torch.nn.functional as F  # noqa: E402

import commsched  # noqa: E402
from test_torch_mixed_samples import LABELS, MODEL, N, X, test_what_warns_is_no_mean as compared, transpiled  # noqa: E402


def per(m, x, y):
    return F.cross_entropy(m(x), y, reduction="none")


class Clipped(torch.autograd.Function):
    @staticmethod
    def forward(context, x):
        return x.clone()

    @staticmethod
    def backward(context, gradient):
        return gradient.clamp(-0.01, 0.01)


class Halved(Clipped):
    @staticmethod
    def backward(context, gradient):
        return gradient / 2


TABLE = torch.randn(64)
MEANS = {
    "in another order": lambda m, x, y: m(x).flip(0).tanh().mean(),
    "weights that come again": lambda m, x, y: (per(m, x, y) * (torch.arange(len(x)) % 2)).mean(),
    "each its own": lambda m, x, y: -F.log_softmax(m(x), 1)[torch.arange(len(x)), y].mean(),
    "pairs of neighbours": lambda m, x, y: F.softplus(per(m, x, y)[::2] - per(m, x, y)[1::2]).mean(),
    "halves one after the other": lambda m, x, y: sum(h.tanh().mean() for h in m(x).chunk(2)) / 2,
    "places in a sample": lambda m, x, y: (m(x) + torch.arange(5.)).square().mean(),
    "as many as there are": lambda m, x, y: per(m, x, y)[-100:100].mean(),
    "a rule that is linear": lambda m, x, y: per(lambda x: Halved.apply(m(x)), x, y).mean(),
}
BY_PLACE = {
    "weights by number": lambda m, x, y: (per(m, x, y) * torch.arange(len(x))).mean(),
    "weights of a line": lambda m, x, y: (per(m, x, y) * torch.linspace(0, 1, len(x))).mean(),
    "weights of a table": lambda m, x, y: (per(m, x, y) * TABLE[:len(x)]).mean(),
    "the first": lambda m, x, y: per(m, x, y)[0],
    "the last": lambda m, x, y: per(m, x, y)[-1],
    "some": lambda m, x, y: per(m, x, y)[:3].mean(),
    "more than a part has": lambda m, x, y: per(m, x, y)[:6].mean(),
    "the last of more": lambda m, x, y: per(m, x[-7:], y[-7:]).mean(),
    "of some numbers": lambda m, x, y: per(m, x, y)[[0, 2]].mean(),
    "halves beside each other": lambda m, x, y: torch.mul(*m(x).chunk(2)).mean(),
    "neighbours": lambda m, x, y: (per(m, x, y) * per(m, x, y).roll(1)).mean(),
    "cumulated": lambda m, x, y: per(m, x, y).cumsum(0).mean(),
    "sorted, by place": lambda m, x, y: (per(m, x, y).sort()[0] * torch.arange(len(x))).mean(),
    "one-hot of places": lambda m, x, y: ((m(x) * F.one_hot(torch.arange(len(x)) % 5, 5)).sum(1) ** 2).mean(),
    "a rule that clips": lambda m, x, y: per(lambda x: Clipped.apply(m(x)), x, y).mean(),
}


@pytest.mark.parametrize("loss, batch, mean", [(case, (X, LABELS), mean) for of, mean in ((MEANS, True), (BY_PLACE, False)) for case in of.values()], ids=[*MEANS, *BY_PLACE])
def test_what_warns_is_no_mean(loss, batch, mean):
    compared(loss, batch, mean)


METRICS = {
    "a share": (lambda m, x, y: (m(x).argmax(1) == y).float().mean(), True),
    "a mean": (lambda m, x, y: m(x).abs().mean(), True),
    "a norm of parameters": (lambda m, x, y: m[0].weight.norm(), True),
    "a count": (lambda m, x, y: (m(x).argmax(1) == y).float().sum(), False),
    "the largest": (lambda m, x, y: per(m, x, y).max(), False),
    "the smallest": (lambda m, x, y: m(x).amin(), False),
    "perplexity": (lambda m, x, y: per(m, x, y).mean().exp(), False),
    "of the first": (lambda m, x, y: per(m, x, y)[0], False),
    "a median": (lambda m, x, y: per(m, x, y).sort()[0][len(x) // 2], False),
}


@pytest.mark.parametrize("metric, mean", METRICS.values(), ids=METRICS)
def test_metrics_that_are_no_means_warn(metric, mean):
    with torch.no_grad():
        values = [metric(MODEL, X[i:i + 4], LABELS[i:i + 4]) for i in range(0, N, 4)]
        assert mean == torch.allclose(sum(values) / 3, metric(MODEL, X, LABELS), rtol=1e-4)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        transpiled(copy.deepcopy(MODEL), lambda m, x, y: (per(m, x, y).mean(), metric(m, x, y)), (X, LABELS), 3)
    found = [str(w.message) for w in caught if w.category is commsched.MixedSamples]
    assert len(found) == (0 if mean else 1) and all("the metric 'metric.1' is not a mean over the samples" in text for text in found)
