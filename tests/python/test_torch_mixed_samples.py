# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""PyTorch: losses that are no means over the samples warn, and buffers that count the samples of a part are refused (test_mixed_samples.py)."""

import copy
import random
import re
import warnings

import pytest

torch = pytest.importorskip("torch", reason="needs PyTorch (scripts/setup.sh --bench)")
import torch.nn.functional as F  # noqa: E402
from torch import nn  # noqa: E402

import commsched  # noqa: E402
import commsched.torch  # noqa: E402

torch.manual_seed(5)
N = 12
MODEL = nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 5))
X, LABELS, MASK = torch.randn(N, 6), torch.randint(0, 5, (N,)), (torch.arange(N) % 5 < 3).float()
SOME = torch.where(MASK > 0, LABELS, -100)


def shifted(model, x, labels):
    """As language models do: what is ignored is found behind a view."""
    return F.cross_entropy(model(x).view(-1, 5), labels.unsqueeze(1).expand(-1, 1).reshape(-1))


def filled(model, x, labels, before=1, behind=1):
    """As language models do: labels of what has no successor are filled up with ones that are ignored."""
    each = F.pad(torch.stack([labels, (labels + 1) % 5], 1), (before, behind), value=-100)
    return F.cross_entropy(model(x).unsqueeze(2).expand(-1, -1, each.shape[1]), each)


MEANS = {
    "classes": (nn.CrossEntropyLoss(), (X, LABELS)),
    "classes behind views": (shifted, (X, LABELS)),
    "smoothed": (nn.CrossEntropyLoss(label_smoothing=0.1), (X, LABELS)),
    "log likelihood": (lambda m, x, y: F.nll_loss(F.log_softmax(m(x), 1), y), (X, LABELS)),
    "labels that are filled up": (filled, (X, LABELS)),
    "of each": (lambda m, x, y, k: (F.cross_entropy(m(x), y, reduction="none") * k).mean(), (X, LABELS, MASK)),
    "by the number": (lambda m, x, y: F.cross_entropy(m(x), y, reduction="sum") / x.shape[0], (X, LABELS)),
    "squares": (lambda m, x, y: F.mse_loss(m(x), F.one_hot(y, 5).float()), (X, LABELS)),
    "a system of weights": (lambda m, x, y: F.cross_entropy(m(x) @ torch.linalg.solve(torch.eye(5) * 3 + m[2].weight[:, :5], m[2].weight[:, 3:]), y % 5), (X, LABELS)),
    "a system of each": (lambda m, x, y: F.cross_entropy(torch.linalg.solve(torch.eye(5) * 3 + m[2].weight[:, :5], m(x).T).T, y), (X, LABELS)),
}
MIXED = {
    "labels that are ignored": (nn.CrossEntropyLoss(), (X, SOME)),
    "labels that are ignored behind views": (shifted, (X, SOME)),
    "labels that are ignored and filled up": (filled, (X, SOME)),
    "weights of classes": (nn.CrossEntropyLoss(weight=torch.arange(1., 6)), (X, LABELS)),
    "a mask": (lambda m, x, y, k: (F.cross_entropy(m(x), y, reduction="none") * k).sum() / k.sum(), (X, LABELS, MASK)),
    "root": (lambda m, x, y: F.mse_loss(m(x)[:, 0], y.float()).sqrt(), (X, LABELS)),
    "pairs": (lambda m, x, y: F.cross_entropy(m(x) @ m(x).T, torch.arange(len(x))), (X, LABELS)),
    "pairs of two views": (lambda m, x, y: (lambda r: F.cosine_similarity(r.unsqueeze(1), r.unsqueeze(0), dim=2).exp().sum(1).log().mean())(torch.cat([m(x), m(x + 1)])),
                           (X, LABELS)),
    "a system of samples": (lambda m, x, y: F.cross_entropy(torch.linalg.solve(m(x) @ m(x).T + torch.eye(len(x)), m(x)), y), (X, LABELS)),
    "batch norm": (lambda m, x, y: F.cross_entropy(F.batch_norm(m(x), None, None, training=True), y), (X, LABELS)),
}


def gradients(loss, batch):
    model = copy.deepcopy(MODEL)
    (loss(model(*batch[:-1]), batch[-1]) if isinstance(loss, nn.Module) else loss(model, *batch)).backward()
    return [p.grad for p in model.parameters()]


def transpiled(model, loss, batch, workers):
    return commsched.torch.transpile(model, torch.optim.SGD(model.parameters(), lr=0.1), loss, batch, cluster=workers)


@pytest.mark.parametrize("loss, batch, mean", [*((*v, True) for v in MEANS.values()), *((*v, False) for v in MIXED.values())], ids=[*MEANS, *MIXED])
def test_what_warns_is_no_mean(loss, batch, mean):
    parts = [gradients(loss, [t[i:i + N // 3] for t in batch]) for i in range(0, N, N // 3)]
    same = all(torch.allclose(sum(g) / 3, w, rtol=1e-3, atol=1e-6) for *g, w in zip(*parts, gradients(loss, batch)))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        transpiled(copy.deepcopy(MODEL), loss, batch, 3)
        transpiled(copy.deepcopy(MODEL), loss, batch, 1)
    assert same == mean and len([w for w in caught if w.category is commsched.MixedSamples]) == (0 if mean else 1)


def mixed(caught):
    return [w for w in caught if issubclass(w.category, commsched.MixedSamples)]


@pytest.mark.parametrize("seed", range(3))
def test_labels_that_all_samples_have_ignored_alike(seed):
    """Where the example batch itself has them, others may have others; what the step fills up itself is the same of all."""
    draw = random.Random(seed)
    before, behind, ignored = draw.randint(0, 2), draw.randint(1, 2), draw.randint(1, 3)
    words = torch.randint(0, 5, (N, 4))
    words[:, :ignored] = -100

    def both(model, x, words):
        return F.cross_entropy(model(x).unsqueeze(2).expand(-1, -1, words.shape[1]), words)
    for loss, batch, count in ((lambda m, x, y: filled(m, x, y, before, behind), (X, LABELS), 0), (both, (X, words), 1)):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            transpiled(copy.deepcopy(MODEL), loss, batch, draw.choice([2, 3]))
        assert len(mixed(caught)) == count, (before, behind, ignored)


@pytest.mark.parametrize("rows, workers", [(2, 3), (3, 2)])
def test_accumulation_says_nothing(rows, workers):
    """Also where there are as many samples in a part, or twice as many, as features: matrices of them are squares."""
    for width in (2, 3, 4, 6):
        model, batch = nn.Sequential(nn.Linear(4, width), nn.Tanh(), nn.Linear(width, width)), (torch.randn(2 * rows * workers, 4), torch.randn(2 * rows * workers, width))
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            commsched.torch.transpile(model, torch.optim.SGD(model.parameters(), lr=0.1), F.mse_loss, batch, cluster=workers, accumulate=2)
        assert not mixed(caught), (width, mixed(caught))


def of_four(model, x, y):
    assert len(x) == 4, "a batch of four"
    return F.cross_entropy(model(x), y)


UNCHECKED = {
    "a reshape": (lambda m, x, y: F.cross_entropy(m(x).view(4, 5), y), r"it takes no other number of samples than that of a part \("),
    "an assertion": (of_four, r"it takes no other number of samples than that of a part \(.*a batch of four\)"),
    "one by one": (lambda m, x, y: sum(F.cross_entropy(m(x)[i], y[i]) for i in range(len(x))) / len(x), "its operations are others with more samples"),
}


@pytest.mark.parametrize("loss, why", UNCHECKED.values(), ids=UNCHECKED)
def test_what_cannot_be_told_is_said(loss, why):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        transpiled(copy.deepcopy(MODEL), loss, (X, LABELS), 3)
    found = [str(w.message) for w in caught if issubclass(w.category, commsched.MixedSamples)]
    assert len(found) == 1 and re.search(why, found[0]) and "\n" not in found[0], found
    assert [w.category for w in caught if issubclass(w.category, commsched.MixedSamples)] == [commsched.UncheckedSamples]


def test_one_sample_of_each_worker_is_looked_at():
    """A step that is another one with one sample than with two."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        transpiled(copy.deepcopy(MODEL), lambda m, x, y: F.cross_entropy(m(x) if len(x) > 1 else m(x) + 0, y), (X[:3], LABELS[:3]), 3)
    assert not [w for w in caught if issubclass(w.category, commsched.MixedSamples)], caught


class Counting(nn.Module):
    def __init__(self, by):
        super().__init__()
        self.inner, self.by = nn.Linear(6, 5), by
        self.register_buffer("count", torch.zeros((), dtype=torch.long))

    def forward(self, x):
        self.count += self.by(x)
        return self.inner(x)


def test_buffers_may_count_steps_and_not_samples():
    transpiled(Counting(lambda x: 1), nn.CrossEntropyLoss(), (X, LABELS), 3)
    transpiled(Counting(lambda x: x.shape[0]), nn.CrossEntropyLoss(), (X, LABELS), 1)
    with pytest.raises(commsched.FrontEndError, match="^the new value of 'count' must not depend on how many samples the step is given"):
        transpiled(Counting(lambda x: x.shape[0]), nn.CrossEntropyLoss(), (X, LABELS), 3)
