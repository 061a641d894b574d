# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models of stock modules, small, and batches for them; and models that are drawn."""

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn


class Lambda(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *x):
        return self.function(*x)


class Residual(nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, x):
        return x + self.inner(x)


class Recurrent(nn.Module):
    """Next tokens, by LSTM, GRU or RNN."""

    def __init__(self, kind=nn.LSTM, tokens=20, width=8, hidden=12, **options):
        super().__init__()
        self.embed = nn.Embedding(tokens, width)
        self.recurrent = kind(width, hidden, batch_first=True, **options)
        self.out = nn.Linear(hidden * (2 if self.recurrent.bidirectional else 1), tokens)

    def forward(self, x):
        return self.out(self.recurrent(self.embed(x))[0]).transpose(1, 2)


class Encoder(nn.Module):
    """A Transformer of torch.nn."""

    def __init__(self, tokens=20, length=7, width=16, dropout=0.0, causal=True, tied=False):
        super().__init__()
        self.embed = nn.Embedding(tokens, width)
        self.position = nn.Parameter(torch.randn(length, width) * 0.1)
        layer = nn.TransformerEncoderLayer(width, 4, 2 * width, dropout, "gelu", batch_first=True, norm_first=True)
        self.layers = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.out = nn.Linear(width, tokens, bias=False)
        if tied:
            self.out.weight = self.embed.weight
        self.register_buffer("mask", nn.Transformer.generate_square_subsequent_mask(length) if causal else None)

    def forward(self, x):
        return self.out(self.layers(self.embed(x) + self.position, mask=self.mask, is_causal=self.mask is not None)).transpose(1, 2)


class Attention(nn.Module):
    def __init__(self, width, heads, bias=False):
        super().__init__()
        self.heads, self.qkv, self.out = heads, nn.Linear(width, 3 * width, bias=bias), nn.Linear(width, width)

    def forward(self, x):
        q, k, v = self.qkv(x).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        return self.out(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2))


def mlp(width, factor=2, bias=True):
    return nn.Sequential(nn.Linear(width, factor * width), nn.GELU(), nn.Linear(factor * width, width, bias))


def transposed(inner):
    return nn.Sequential(Lambda(lambda x: x.transpose(1, 2)), inner, Lambda(lambda x: x.transpose(1, 2)))


class Patches(nn.Module):
    def __init__(self, width, size, positions=None):
        super().__init__()
        self.project = nn.Conv2d(3, width, size, size)
        self.position = nn.Parameter(torch.randn(positions, width) * 0.1) if positions else None

    def forward(self, x):
        x = self.project(x).flatten(2).transpose(1, 2)
        return x if self.position is None else x + self.position


def vit(width=16, classes=5):
    """Of images of 12 x 12."""
    blocks = [nn.Sequential(Residual(nn.Sequential(nn.LayerNorm(width), Attention(width, 4))),
                            Residual(nn.Sequential(nn.LayerNorm(width), mlp(width)))) for _ in range(2)]
    return nn.Sequential(Patches(width, 4, 9), *blocks, nn.LayerNorm(width), Lambda(lambda x: x.mean(1)), nn.Linear(width, classes))


def mixer(width=16, classes=5):
    """What is the same for all channels goes away in the norms that follow, as the gradient of such a bias would."""
    blocks = [nn.Sequential(Residual(nn.Sequential(nn.LayerNorm(width), transposed(mlp(9, bias=False)))),
                            Residual(nn.Sequential(nn.LayerNorm(width), mlp(width)))) for _ in range(2)]
    return nn.Sequential(Patches(width, 4), *blocks, nn.LayerNorm(width), Lambda(lambda x: x.mean(1)), nn.Linear(width, classes))


class Scale(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.gamma = nn.Parameter(torch.full((width,), 0.5))

    def forward(self, x):
        return x * self.gamma


def convnext(width=8, classes=5):
    def last(inner):
        return nn.Sequential(Lambda(lambda x: x.permute(0, 2, 3, 1)), *inner, Lambda(lambda x: x.permute(0, 3, 1, 2)))

    def block(width):
        return Residual(nn.Sequential(nn.Conv2d(width, width, 7, padding=3, groups=width), last([nn.LayerNorm(width), mlp(width, 4), Scale(width)])))
    return nn.Sequential(nn.Conv2d(3, width, 2, 2), last([nn.LayerNorm(width)]), block(width), last([nn.LayerNorm(width)]),
                         nn.Conv2d(width, 2 * width, 2, 2), block(2 * width), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.LayerNorm(2 * width),
                         nn.Linear(2 * width, classes))


def cnn(classes=5):
    """Convolutions before batch norm have no bias, as its gradient would be rounding alone."""
    return nn.Sequential(nn.Conv2d(3, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2),
                         nn.Conv2d(8, 12, 3, stride=2, bias=False), nn.BatchNorm2d(12), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
                         nn.Linear(12, classes))


def images(seed, count=5, samples=8, classes=5, size=12):
    g = torch.Generator().manual_seed(seed)
    return [(torch.randn(samples, 3, size, size, generator=g), torch.randint(0, classes, (samples,), generator=g)) for _ in range(count)]


def texts(seed, count=5, samples=4, tokens=20, length=7):
    g = torch.Generator().manual_seed(seed)
    return [tuple(torch.randint(0, tokens, (samples, length), generator=g) for _ in range(2)) for _ in range(count)]


# ---- drawn ---------------------------------------------------------------------------------------------------

def drawn_image_model(seed):
    """Stock layers in a random order, of images of 12 x 12 to 5 classes."""
    rng = np.random.default_rng(seed)

    def one(*values):
        return values[rng.integers(len(values))]
    layers, width, size = [], 3, 12
    for _ in range(rng.integers(2, 5)):
        new, groups = int(4 * rng.integers(1, 4)), 1
        kernel = int(one(1, 3, 3, 5))
        if width % 2 == 0 and rng.random() < 0.3:
            groups = 2
        normalised = one("batch", "group", "instance", "none")
        layers.append(nn.Conv2d(width, new, kernel, stride=int(one(1, 1, 2)), padding=kernel // 2, groups=groups, bias=normalised == "none",
                                dilation=int(one(1, 1, 2)) if kernel == 3 and size > 5 else 1))
        layers += {"batch": [nn.BatchNorm2d(new, momentum=one(0.1, 0.3, None))], "group": [nn.GroupNorm(2, new)],
                   "instance": [nn.InstanceNorm2d(new, affine=True)], "none": []}[normalised] if size > 3 else []
        layers.append(one(nn.ReLU(), nn.GELU(), nn.SiLU(), nn.Hardswish(), nn.LeakyReLU(0.1), nn.ELU(), nn.Mish(), nn.Softplus(), nn.Tanh(),
                          nn.PReLU(new), nn.ReLU6(), nn.SELU()))
        width = new
        with torch.no_grad():
            size = nn.Sequential(*layers).eval()(torch.zeros(2, 3, 12, 12)).shape[-1]
        if size > 4 and rng.random() < 0.6:
            layers.append(one(nn.MaxPool2d(2), nn.AvgPool2d(2), nn.MaxPool2d(3, 2, 1), nn.AvgPool2d(3, 1, 1, count_include_pad=False),
                              nn.Upsample(scale_factor=2, mode="nearest"), nn.ZeroPad2d(1), nn.ReflectionPad2d(1)))
            with torch.no_grad():
                size = nn.Sequential(*layers).eval()(torch.zeros(2, 3, 12, 12)).shape[-1]
        if rng.random() < 0.3:
            layers.append(Residual(nn.Sequential(nn.Conv2d(width, width, 3, padding=1), nn.Tanh())))
    layers += [one(nn.AdaptiveAvgPool2d(1), nn.AdaptiveMaxPool2d(1), nn.AdaptiveAvgPool2d(2)), nn.Flatten()]
    with torch.no_grad():
        features = nn.Sequential(*layers).eval()(torch.zeros(2, 3, 12, 12)).shape[-1]
    return nn.Sequential(*layers, nn.Linear(features, 5))


def drawn_text_model(seed):
    """Of 7 of 20 tokens, to tokens."""
    rng = np.random.default_rng(seed)
    width = int(8 * rng.integers(1, 3))

    class Last(nn.Module):
        def __init__(self, recurrent):
            super().__init__()
            self.recurrent = recurrent

        def forward(self, x):
            return self.recurrent(x)[0]
    layers = [nn.Embedding(20, width)]
    for _ in range(rng.integers(1, 4)):
        kind = rng.integers(6)
        if kind == 0:
            layers.append(Last(nn.LSTM(width, width, batch_first=True)))
        elif kind == 1:
            layers.append(Last(nn.GRU(width, width, batch_first=True)))
        elif kind == 2:
            layers.append(Residual(nn.Sequential(nn.LayerNorm(width), Attention(width, int(rng.choice([1, 2, 4]))))))
        elif kind == 3:
            layers.append(Residual(nn.Sequential(nn.RMSNorm(width), mlp(width))))
        elif kind == 4:
            layers.append(transposed(nn.Sequential(nn.Conv1d(width, width, 3, padding=1), nn.ReLU())))
        else:
            layers.append(nn.Sequential(nn.Linear(width, 2 * width), nn.GLU()))
    return nn.Sequential(*layers, nn.LayerNorm(width), nn.Linear(width, 20), Lambda(lambda x: x.transpose(1, 2)))
