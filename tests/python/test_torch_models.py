# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models of PyTorch, known ones and drawn ones, trained on workers and by eager PyTorch."""

import pytest

pytest.importorskip("torch", reason="needs PyTorch (scripts/setup.sh --bench)")

import torch  # noqa: E402
from torch import nn  # noqa: E402

import torch_models as models  # noqa: E402
from torch_training import assert_close, train_both  # noqa: E402

CE = nn.CrossEntropyLoss()


def sgd(model):
    return torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)


def adamw(model):
    return torch.optim.AdamW(model.parameters(), lr=1e-3, eps=1e-6)


KNOWN = {
    "cnn": (models.cnn, models.images), "lstm": (models.Recurrent, models.texts), "encoder": (models.Encoder, models.texts),
    "gru in both directions": (lambda: models.Recurrent(nn.GRU, bidirectional=True), models.texts),
    "vit": (models.vit, models.images), "mixer": (models.mixer, models.images), "convnext": (models.convnext, models.images),
}


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("name", sorted(KNOWN))
def test_known(name, workers):
    make, data = KNOWN[name]
    torch.manual_seed(1)
    found, program = train_both(make(), sgd, CE, data(1, 3), workers)
    assert_close(found)
    assert program.mlir(0).count("cs.gradient ") == sum(p.requires_grad for p in make().parameters())


@pytest.mark.parametrize("name", sorted(KNOWN))
def test_known_by_adamw(name):
    make, data = KNOWN[name]
    torch.manual_seed(2)
    found, _ = train_both(make(), adamw, CE, data(2, 3), 2)
    assert_close(found, params=5e-5)


@pytest.mark.parametrize("seed", range(6))
def test_drawn_image_models(seed):
    torch.manual_seed(seed)
    found, _ = train_both(models.drawn_image_model(seed), lambda m: torch.optim.SGD(m.parameters(), lr=0.05), CE, models.images(seed, 2, 4), 1 + seed % 2)
    assert_close(found, params=2e-6, buffers=5e-6, loss=2e-5)


@pytest.mark.parametrize("seed", range(6))
def test_drawn_text_models(seed):
    torch.manual_seed(seed)
    found, _ = train_both(models.drawn_text_model(seed), lambda m: torch.optim.SGD(m.parameters(), lr=0.2), CE, models.texts(seed, 2), 1 + seed % 2)
    assert_close(found, params=2e-6, loss=2e-5)


@pytest.mark.parametrize("name, options, better", [("gpt", dict(steps=60), lambda loss: loss < 3.0), ("vit", dict(epochs=4), lambda accuracy: accuracy > 0.6)])
def test_examples(name, options, better, monkeypatch):
    import importlib
    import pathlib
    monkeypatch.syspath_prepend(str(pathlib.Path(__file__).resolve().parents[2] / "examples" / "pytorch"))
    assert better(importlib.import_module(name).main(**options))
