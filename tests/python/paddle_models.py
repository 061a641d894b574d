# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Networks and batches for the tests of PaddlePaddle, and layer stacks drawn from a seed."""

import numpy as np
import paddle
from paddle import nn
from paddle.nn import functional as F

CLASSES = 5


def cross_entropy(net, x, y):
    return F.cross_entropy(net(x), y)


def images(seed, steps, samples, channels=3, size=16, dtype="float32"):
    random = np.random.default_rng(seed)
    return [{"x": random.standard_normal((samples, channels, size, size)).astype(dtype), "y": random.integers(0, CLASSES, (samples, 1))}
            for _ in range(steps)]


def image_inputs(channels=3, size=16, dtype="float32"):
    return {"x": ((channels, size, size), dtype), "y": ((1,), "int64")}


def texts(seed, steps, samples=8, length=6, words=20):
    random = np.random.default_rng(seed)
    return [{"x": random.integers(0, words, (samples, length)), "y": random.integers(0, words, (samples, length, 1))} for _ in range(steps)]


TEXT_INPUTS = {"x": ((6,), "int64"), "y": ((6, 1), "int64")}


def lenet():
    return nn.Sequential(nn.Conv2D(1, 6, 3, padding=1), nn.ReLU(), nn.MaxPool2D(2, 2), nn.Conv2D(6, 16, 5), nn.ReLU(), nn.MaxPool2D(2, 2),
                         nn.Flatten(), nn.Linear(400, 120), nn.Linear(120, 84), nn.Linear(84, CLASSES))


def vgg16(width=64, dropout=0.0, size=32):
    """The layers of VGG-16, with batch norm or not, `width` channels in the first."""
    layers, channels = [], 3
    for step in (1, 1, 0, 2, 2, 0, 4, 4, 4, 0, 8, 8, 8, 0, 8, 8, 8, 0):
        if step == 0:
            layers.append(nn.MaxPool2D(2, 2))
        else:
            layers += [nn.Conv2D(channels, width * step, 3, padding=1), nn.ReLU()]
            channels = width * step
    final = channels * (size // 32) ** 2
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(final, 8 * width), nn.ReLU(), nn.Dropout(dropout), nn.Linear(8 * width, 8 * width),
                         nn.ReLU(), nn.Dropout(dropout), nn.Linear(8 * width, CLASSES))


def resnet(depth):
    return getattr(paddle.vision.models, f"resnet{depth}")(num_classes=CLASSES)


def mobilenet():
    return nn.Sequential(*[layer for layer in paddle.vision.models.mobilenet_v2(scale=0.25, num_classes=0).children()], nn.Flatten(),
                         nn.Linear(1280, CLASSES))


def transformer(words=20, width=16, sparse=False):
    return nn.Sequential(nn.Embedding(words, width, sparse=sparse), nn.TransformerEncoderLayer(width, 2, 2 * width, dropout=0.0, activation="gelu"),
                         nn.Linear(width, words))


def tower(seed):
    """A stack of layers drawn from a seed, for images [3, 12, 12]: (make, layers by name)."""
    random = np.random.default_rng(seed)
    names, channels, size, makes = [], 3, 12, []

    def add(name, make):
        names.append(name)
        makes.append(make)
    activations = {"relu": nn.ReLU, "relu6": nn.ReLU6, "gelu": nn.GELU, "tanh": nn.Tanh, "sigmoid": nn.Sigmoid, "silu": nn.Silu,
                   "swish": nn.Swish, "hardswish": nn.Hardswish, "leaky": nn.LeakyReLU, "elu": nn.ELU, "softplus": nn.Softplus,
                   "mish": nn.Mish, "hardsigmoid": nn.Hardsigmoid, "softsign": nn.Softsign, "logsigmoid": nn.LogSigmoid}
    for _ in range(int(random.integers(3, 7))):
        kind = random.choice(["conv", "conv", "conv", "depthwise", "norm", "activation", "activation", "max", "average", "transposed"])
        if kind == "conv":
            out, kernel, stride = int(random.choice([4, 6, 8])), int(random.choice([1, 3])), int(random.choice([1, 1, 2]))
            dilation = int(random.choice([1, 1, 2])) if kernel == 3 and size >= 6 else 1
            groups, bias = 2 if channels % 2 == 0 and random.random() < 0.3 else 1, bool(random.random() < 0.5)
            padding = dilation * (kernel // 2)
            add(f"conv{kernel}/{stride}", lambda c=channels, o=out, k=kernel, s=stride, d=dilation, g=groups, b=bias, p=padding: nn.Conv2D(
                c, o, k, stride=s, padding=p, dilation=d, groups=g, bias_attr=None if b else False))
            channels, size = out, (size - 1) // stride + 1
        elif kind == "depthwise":
            add("depthwise", lambda c=channels: nn.Conv2D(c, c, 3, padding=1, groups=c))
        elif kind == "norm":
            which = random.choice(["batch", "group", "instance-free"])
            if which == "group":
                add("group norm", lambda c=channels: nn.GroupNorm(1, c))
            else:
                add("batch norm", lambda c=channels: nn.BatchNorm2D(c, momentum=0.8))
        elif kind == "activation":
            name = str(random.choice(list(activations)))
            add(name, activations[name])
        elif kind == "transposed" and size <= 6:
            add("transposed", lambda c=channels: nn.Conv2DTranspose(c, 4, 2, stride=2))
            channels, size = 4, 2 * size
        elif kind in ("max", "average") and size >= 4:
            layer, ceil = nn.MaxPool2D if kind == "max" else nn.AvgPool2D, bool(random.random() < 0.5)
            add(kind, lambda l=layer, c=ceil: l(3, 2, padding=1, ceil_mode=c))
            size = -(-(size - 1) // 2) + 1 if ceil else (size - 1) // 2 + 1
    if random.random() < 0.5:
        add("adaptive", lambda: nn.AdaptiveAvgPool2D(2))
        size = 2
    head = str(random.choice(["plain", "layer norm", "hidden"]))
    features = channels * size * size
    add("flatten", nn.Flatten)
    if head == "layer norm":
        add(head, lambda f=features: nn.LayerNorm(f))
    if head == "hidden":
        add(head, lambda f=features: nn.Linear(f, 7))
        features = 7
    add("linear", lambda f=features: nn.Linear(f, CLASSES))
    return (lambda: nn.Sequential(*[make() for make in makes])), names


def optimizer(name, clip=None, decay=None, rate=0.02, **more):
    """parameters -> optimizer."""
    clips = {None: None, "norm": nn.ClipGradByNorm(0.1), "global": nn.ClipGradByGlobalNorm(0.3)}
    how = dict(grad_clip=clips[clip], weight_decay=decay, **more)
    o = paddle.optimizer
    return {"sgd": lambda p: o.SGD(rate, parameters=p, **how), "momentum": lambda p: o.Momentum(rate, 0.9, parameters=p, **how),
            "nesterov": lambda p: o.Momentum(rate, 0.9, parameters=p, use_nesterov=True, **how),
            "adam": lambda p: o.Adam(1e-3, epsilon=1e-6, parameters=p, **how),
            "adamw": lambda p: o.AdamW(1e-3, epsilon=1e-6, parameters=p, **{**how, "weight_decay": decay or 0.01}),
            "amsgrad": lambda p: o.Adam(1e-3, epsilon=1e-6, amsgrad=True, parameters=p, **how),
            "adagrad": lambda p: o.Adagrad(rate, parameters=p, **how), "rmsprop": lambda p: o.RMSProp(1e-3, epsilon=1e-5, parameters=p, **how),
            "centered": lambda p: o.RMSProp(1e-3, epsilon=1e-4, momentum=0.5, centered=True, parameters=p, **how),
            "adamax": lambda p: o.Adamax(1e-3, parameters=p, **how), "adadelta": lambda p: o.Adadelta(rate, parameters=p, **how),
            "nadam": lambda p: o.NAdam(1e-3, epsilon=1e-6, parameters=p, **how), "radam": lambda p: o.RAdam(1e-3, epsilon=1e-6, parameters=p, **how),
            "lamb": lambda p: o.Lamb(1e-3, lamb_weight_decay=decay or 0.0, parameters=p, grad_clip=how["grad_clip"]),
            "rprop": lambda p: o.Rprop(1e-3, parameters=p, grad_clip=how["grad_clip"])}[name]
