# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Static programs drawn from a seed: a few dozen operations each, of all families, on tensors that later ones use again.

Each form takes what is drawn so far and one tensor, and gives a tensor of any shape with samples first, or None where it
does not fit the shape. Functions are written such that they have no corners and poles where values are likely.
"""

import numpy as np
import paddle
from paddle import nn
from paddle.nn import functional as F

CLASSES, WORDS, LENGTH, WIDTH = 3, 11, 4, 6
INPUTS = {"x": ((LENGTH, WIDTH), "float64"), "ids": ((LENGTH,), "int64"), "y": ((1,), "int64")}
MOST = 512  # elements of a sample


def batches(seed, steps, samples):
    random = np.random.default_rng([seed, 1])
    return [{"x": random.standard_normal((samples, LENGTH, WIDTH)), "ids": random.integers(0, WORDS, (samples, LENGTH)),
             "y": random.integers(0, CLASSES, (samples, 1))} for _ in range(steps)]


ELEMENTWISE = {
    "exp": lambda t: paddle.exp(paddle.tanh(t)), "expm1": lambda t: paddle.expm1(paddle.tanh(t)), "log": lambda t: paddle.log(1 + t * t),
    "log1p": lambda t: paddle.log1p(t * t), "log2": lambda t: paddle.log2(1.5 + t * t), "log10": lambda t: paddle.log10(1.5 + t * t),
    "sqrt": lambda t: paddle.sqrt(0.5 + t * t), "rsqrt": lambda t: paddle.rsqrt(0.5 + t * t), "square": lambda t: 0.3 * paddle.square(t),
    "abs": paddle.abs, "sin": paddle.sin, "cos": paddle.cos, "tan": lambda t: paddle.tan(paddle.tanh(t)), "atan": paddle.atan,
    "asin": lambda t: paddle.asin(0.9 * paddle.tanh(t)), "acos": lambda t: paddle.acos(0.9 * paddle.tanh(t)),
    "sinh": lambda t: paddle.sinh(paddle.tanh(t)), "cosh": lambda t: paddle.cosh(paddle.tanh(t)), "asinh": paddle.asinh,
    "atanh": lambda t: paddle.atanh(0.9 * paddle.tanh(t)), "acosh": lambda t: paddle.acosh(1.5 + t * t), "tanh": paddle.tanh, "erf": paddle.erf,
    "reciprocal": lambda t: paddle.reciprocal(1 + t * t), "sigmoid": F.sigmoid, "stanh": paddle.stanh, "pow": lambda t: paddle.pow(t * t + 0.5, 1.5),
    "cube": lambda t: 0.1 * t ** 3, "scale": lambda t: paddle.scale(t, 0.7, 0.1, False), "clip": lambda t: paddle.clip(t, -0.7, 0.9),
    "lerp": lambda t: paddle.lerp(t, paddle.sin(t), 0.3), "neg": lambda t: -t, "logit": lambda t: paddle.logit(0.3 + 0.2 * paddle.tanh(t)),
    "relu": F.relu, "relu6": lambda t: F.relu6(4 * t), "leaky": lambda t: F.leaky_relu(t, 0.1), "elu": lambda t: F.elu(t, 0.7), "celu": lambda t: F.celu(t, 0.8),
    "selu": F.selu, "gelu": F.gelu, "gelu tanh": lambda t: F.gelu(t, True), "silu": F.silu, "swish": F.swish, "mish": F.mish, "hardswish": F.hardswish,
    "hardsigmoid": F.hardsigmoid, "hardtanh": F.hardtanh, "hardshrink": F.hardshrink, "softshrink": F.softshrink, "tanhshrink": F.tanhshrink,
    "softplus": lambda t: F.softplus(t, 2, 5), "softsign": F.softsign, "log sigmoid": F.log_sigmoid, "thresholded": F.thresholded_relu,
    "cast": lambda t: t * paddle.cast(t > 0.1, "float64"), "floor": lambda t: t - paddle.floor(3 * t) * 0.1, "sign": lambda t: t * paddle.sign(t),
    "round": lambda t: t + 0.1 * paddle.round(t), "remainder": lambda t: t + 0.1 * paddle.cast(paddle.cast(5 * t, "int64") % 3, "float64"),
    "stop": lambda t: t * t.detach(), "isfinite": lambda t: paddle.where(paddle.isfinite(t), t, 0.5 * t), "full like": lambda t: t + paddle.full_like(t, 0.3),
    "masked fill": lambda t: paddle.masked_fill(t, t > 1, 0.5), "logical": lambda t: paddle.where(paddle.logical_and(t > -1, paddle.logical_not(t > 1)), t, 0.2 * t)}
BINARY = {
    "add": lambda a, b: a + b, "subtract": lambda a, b: a - b, "multiply": lambda a, b: a * b, "divide": lambda a, b: a / (1 + b * b),
    "maximum": paddle.maximum, "minimum": paddle.minimum, "fmax": paddle.fmax, "fmin": paddle.fmin, "where": lambda a, b: paddle.where(a > b, a, 0.5 * b),
    "power": lambda a, b: paddle.pow(a * a + 0.5, paddle.tanh(b)), "atan2": lambda a, b: paddle.atan2(a, b * b + 0.5), "add_n": lambda a, b: paddle.add_n([a, b, a])}


def _inner(d, t):
    """A dimension that is not that of samples."""
    return int(d.random.integers(1, t.ndim)) if t.ndim > 1 else None


def _matmul(d, t):
    out = int(d.random.choice([3, 5]))
    if d.flip():
        return paddle.matmul(t, d.param([out, t.shape[-1]]), transpose_y=True)
    return F.linear(t, d.param([t.shape[-1], out]), d.param([out]))


def _gram(d, t):
    return 0.2 * (paddle.matmul(t, t, transpose_y=True) if d.flip() else paddle.bmm(paddle.transpose(t, [0, 2, 1]), t)) if t.ndim == 3 else None


def _einsum(d, t):
    return 0.3 * paddle.einsum("nij,jk->nki", t, d.param([t.shape[2], 3])) if t.ndim == 3 else None


def _broadcast(d, t):
    return t * d.param([t.shape[-1]]) if d.flip() or t.ndim < 3 else t + d.param([t.shape[1]] + [1] * (t.ndim - 2))


def _reduced(d, t):
    dim = _inner(d, t)
    how = {"sum": lambda **k: 0.3 * paddle.sum(t, **k), "mean": lambda **k: paddle.mean(t, **k), "max": lambda **k: paddle.max(t, **k),
           "min": lambda **k: paddle.min(t, **k), "amax": lambda **k: paddle.amax(t, **k), "prod": lambda **k: paddle.prod(paddle.tanh(t) + 1.2, **k),
           "logsumexp": lambda **k: paddle.logsumexp(t, **k), "std": lambda **k: paddle.std(t + 0.1 * d.param(t.shape[1:]), **k), "var": lambda **k: paddle.var(t, **k),
           "norm": lambda **k: paddle.linalg.norm(t + 0.1, 2, **k), "one norm": lambda **k: 0.3 * paddle.linalg.norm(t, 1, **k)}
    name = d.choice(list(how))
    if dim is None or t.shape[dim] < 2:
        return None
    found = how[name](axis=dim, keepdim=True)
    d.said(name)
    return t - found if d.flip() else paddle.squeeze(found, dim) if t.ndim > 2 else found


def _shaped(d, t):
    size = int(np.prod(t.shape[1:]))
    dim = _inner(d, t)
    how = {"flatten": lambda: paddle.flatten(t, 1) if t.ndim > 2 else None, "unsqueeze": lambda: paddle.unsqueeze(t, -1) if t.ndim < 4 else None,
           "halves": lambda: paddle.reshape(t, [-1, 2, size // 2]) if size % 2 == 0 and size > 2 else None,
           "turned": lambda: paddle.transpose(t, [0, *[int(i) for i in 1 + d.random.permutation(t.ndim - 1)]]) if t.ndim > 2 else None,
           "flip": lambda: paddle.flip(t, [dim]), "roll": lambda: paddle.roll(t, 1, dim), "tile": lambda: paddle.tile(t, [1] * (t.ndim - 1) + [2]),
           "slice": lambda: paddle.slice(t, [dim], [1], [10 ** 6]) if t.shape[dim] > 1 else None,
           "strided": lambda: paddle.strided_slice(t, [dim], [0], [t.shape[dim]], [2]) if t.shape[dim] > 2 else None,
           "ends": lambda: t[:, -1] if t.ndim > 2 else None, "reversed": lambda: t[:, ::-1] if t.ndim > 1 else None,
           "split": lambda: (lambda p: p[0] * p[-1])(paddle.split(t, 2, dim)) if t.shape[dim] % 2 == 0 else None,
           "uneven": lambda: paddle.split(t, [1, -1], dim)[1] if t.shape[dim] > 1 else None,
           "chunk": lambda: paddle.concat(paddle.chunk(t, 2, dim)[::-1], dim) if t.shape[dim] % 2 == 0 else None,
           "unbind": lambda: sum(paddle.unbind(t, 1)) if t.ndim > 2 and t.shape[1] < 8 else None,
           "stack": lambda: paddle.stack([t, paddle.sin(t)], 1) if t.ndim < 4 else None, "concat": lambda: paddle.concat([t, 0.5 * t], -1),
           "expand": lambda: paddle.expand(paddle.unsqueeze(t, 1), [-1, 2, *t.shape[1:]]) if t.ndim < 4 else None,
           "pad": lambda: F.pad(t, [0, 0] * (t.ndim - 1) + [1, 1], value=0.2) if t.ndim in (2, 3) else None,
           "lower": lambda: paddle.tril(t) if t.ndim > 2 else None, "upper": lambda: paddle.triu(t, 1) if t.ndim > 2 else None,
           "take": lambda: paddle.index_select(t, paddle.to_tensor(d.ids(t.shape[dim], 3)), dim),
           "gather": lambda: paddle.gather(t, paddle.to_tensor(d.ids(t.shape[dim], 2)), axis=dim),
           "along": lambda: paddle.take_along_axis(t, paddle.argsort(t, -1)[..., :2], -1) if t.shape[-1] > 1 else None,
           "sort": lambda: paddle.sort(t, -1, descending=d.flip()), "topk": lambda: paddle.topk(t, 2, -1)[0] if t.shape[-1] > 1 else None,
           "cumsum": lambda: 0.5 * paddle.cumsum(t, dim), "repeat": lambda: paddle.repeat_interleave(t, 2, dim),
           "unfold": lambda: F.unfold(t, 2) if t.ndim == 4 and min(t.shape[2:]) > 1 else None,
           "diagonal": lambda: paddle.diagonal(t, 0, 1, 2) if t.ndim == 3 else None,
           "one hot": lambda: paddle.unsqueeze(t[..., 0], -1) * F.one_hot(paddle.argmax(t, -1), t.shape[-1]).astype("float64")}
    name = d.choice(list(how))
    d.said(name)
    return how[name]()


def _normed(d, t):
    name = d.choice(["softmax", "log softmax", "layer norm", "normalize", "group norm", "batch norm", "instance norm"])
    d.said(name)
    last = t.shape[-1]
    if name in ("softmax", "log softmax"):
        return (F.softmax if name == "softmax" else F.log_softmax)(t, int(d.random.choice([-1, t.ndim - 1])))
    if last < 2 or name in ("group norm", "instance norm") and (t.ndim != 4 or t.shape[2] * last < 3) or name == "batch norm" and t.ndim not in (2, 3):
        return None
    if name == "layer norm":
        return F.layer_norm(t, [last], d.param([last]), d.param([last]), 1e-3)
    if name == "normalize":
        return F.normalize(t + 0.1, axis=-1)
    if name == "group norm":
        return F.group_norm(t, 1, 1e-3, d.param([t.shape[1]]), d.param([t.shape[1]]))
    if name == "instance norm":
        return F.instance_norm(t, eps=1e-3)
    layer = d.layer(lambda: nn.BatchNorm1D(t.shape[1], momentum=0.7, epsilon=1e-3))
    return layer(t)


def _image(d, t):
    """Convolutions and pooling, of [N, C, L] and [N, C, H, W]."""
    if t.ndim not in (3, 4) or min(t.shape[2:]) < 2 or t.shape[1] > 8:
        return None
    channels, flat = t.shape[1], t.ndim == 3
    name = d.choice(["conv", "conv", "same", "depthwise", "transposed", "max", "average", "adaptive", "up", "bilinear", "shuffle", "reflect"])
    d.said(f"{name} {t.ndim - 2}d")
    size = [2] * (t.ndim - 2)
    if name in ("conv", "same"):
        padding = "SAME" if name == "same" else int(d.random.integers(0, 2))
        return (F.conv1d if flat else F.conv2d)(t, d.param([4, channels, *size]), d.param([4]), stride=int(d.random.integers(1, 3)), padding=padding)
    if name == "depthwise":
        return None if flat else F.conv2d(t, d.param([2 * channels, 1, 2, 2]), groups=channels, padding=[0, 1])
    if name == "transposed":
        return (F.conv1d_transpose if flat else F.conv2d_transpose)(t, d.param([channels, 2, *size]), stride=2)
    if name == "max":
        return (F.max_pool1d if flat else F.max_pool2d)(t, 2, 1, 1)
    if name == "average":
        return (F.avg_pool1d if flat else F.avg_pool2d)(t, 2, 1, 1, exclusive=d.flip())
    if name == "adaptive":
        return (F.adaptive_avg_pool1d if flat else F.adaptive_avg_pool2d)(t, 2)
    if flat:
        return None
    if name == "up":
        return F.interpolate(t, scale_factor=2, mode="nearest")
    if name == "bilinear":
        return F.interpolate(t, size=[3, 5], mode="bilinear", align_corners=d.flip())
    if name == "shuffle":
        return F.pixel_shuffle(t, 2) if channels % 4 == 0 else F.pixel_unshuffle(t, 2) if t.shape[2] % 2 == t.shape[3] % 2 == 0 else None
    return F.pad(t, [1, 0, 1, 1], mode=d.choice(["reflect", "replicate", "circular"]))


def _sequence(d, t):
    if t.ndim != 3 or t.shape[1] > 8 or t.shape[2] > 12:
        return None
    name = d.choice(["attention", "LSTM", "GRU", "RNN"])
    d.said(name)
    width = t.shape[2]
    if name == "attention":
        layer = d.layer(lambda: nn.MultiHeadAttention(4, 2))
        q = F.linear(t, d.param([width, 4]))
        return layer(q, q, q)
    make = {"LSTM": nn.LSTM, "GRU": nn.GRU, "RNN": nn.SimpleRNN}[name]
    direction, layers = d.choice(["forward", "bidirect"]), int(d.random.integers(1, 3))
    return d.layer(lambda: make(width, 3, layers, direction))(t)[0]


def _loss_like(d, t):
    """Losses as further operations, which end as a part of the loss."""
    name = d.choice(["mse", "l1", "smooth l1", "bce logits", "bce", "kl", "nll", "soft labels", "weighted", "smoothing", "margin", "cosine"])
    d.said(name)
    flat = paddle.flatten(t, 1)
    scores = F.linear(flat, d.param([flat.shape[1], CLASSES]))
    target = paddle.tanh(F.linear(flat, d.param([flat.shape[1], CLASSES])))
    y = paddle.squeeze(d.y, -1)
    ones = F.one_hot(y, CLASSES).astype("float64")
    value = {"mse": lambda: F.mse_loss(scores, target), "l1": lambda: F.l1_loss(scores, target), "smooth l1": lambda: F.smooth_l1_loss(scores, target, delta=0.7),
             "bce logits": lambda: F.binary_cross_entropy_with_logits(scores, ones), "bce": lambda: F.binary_cross_entropy(F.sigmoid(scores), ones),
             "kl": lambda: F.kl_div(F.log_softmax(scores), ones), "nll": lambda: F.nll_loss(F.log_softmax(scores), y),
             "soft labels": lambda: F.cross_entropy(scores, 0.8 * ones + 0.1, soft_label=True),
             "weighted": lambda: paddle.mean(F.cross_entropy(scores, d.y, weight=paddle.to_tensor(np.array([0.5, 1.0, 2.0])), reduction="none")),
             "smoothing": lambda: F.cross_entropy(scores, F.label_smooth(ones, epsilon=0.2), soft_label=True),
             "margin": lambda: F.margin_ranking_loss(scores, target, 2 * ones - 1, 0.1), "cosine": lambda: paddle.mean(F.cosine_similarity(scores, target + 2, axis=-1))}
    d.losses.append(value[name]())
    return t


def _elementwise(d, t):
    name = d.choice(list(ELEMENTWISE))
    d.said(name)
    return ELEMENTWISE[name](t)


def _binary(d, t):
    name, same = d.choice(list(BINARY)), [u for u in d.tensors if list(u.shape) == list(t.shape)]
    d.said(name)
    return BINARY[name](t, same[int(d.random.integers(len(same)))])


def _glu(d, t):
    return F.glu(t, -1) if t.shape[-1] % 2 == 0 else F.prelu(t, d.param([1]))


FORMS = [(_elementwise, 6), (_binary, 3), (_shaped, 6), (_matmul, 2), (_gram, 1), (_einsum, 1), (_broadcast, 2), (_reduced, 3), (_normed, 3), (_image, 4),
         (_sequence, 1), (_loss_like, 1), (_glu, 1)]


class Drawn(nn.Layer):
    """The same program with each call, with the same parameters."""

    def __init__(self, seed, count=24):
        super().__init__()
        self.seed, self.count, self.made, self.names = seed, count, nn.LayerList(), []
        self.given = nn.ParameterList()
        self.table = nn.Embedding(WORDS, WIDTH)

    # ---- of one call
    def flip(self):
        return bool(self.random.random() < 0.5)

    def choice(self, of):
        return of[int(self.random.integers(len(of)))]

    def said(self, name):
        self.names.append(name)

    def ids(self, most, count):
        return self.random.integers(0, most, count)

    def param(self, shape):
        self.used += 1
        if self.used > len(self.given):
            scale = 1 / np.sqrt(max(shape[0], 1))
            self.given.append(self.create_parameter(list(shape), dtype="float64", default_initializer=nn.initializer.Uniform(-scale, scale)))
        return self.given[self.used - 1]

    def layer(self, make):
        self.layers += 1
        if self.layers > len(self.made):
            self.made.append(make())
        return self.made[self.layers - 1]

    def forward(self, x, ids, y):
        self.random, self.used, self.layers, self.losses, self.names, self.y = np.random.default_rng([self.seed, 0]), 0, 0, [], [], y
        self.tensors = [x, F.linear(self.table(ids), self.param([WIDTH, WIDTH])), F.linear(x, self.param([WIDTH, WIDTH]), self.param([WIDTH]))]
        weights = np.array([w for _, w in FORMS]) / sum(w for _, w in FORMS)
        done = 0
        while done < self.count:
            form = FORMS[int(self.random.choice(len(FORMS), p=weights))][0]
            t = self.tensors[-1 - int(self.random.integers(min(4, len(self.tensors))))]
            found = form(self, t)
            if found is None or -1 in found.shape[1:] or found.ndim < 2 or found.ndim > 4 or int(np.prod(found.shape[1:])) > MOST:
                continue
            done += 1
            if found is not t:
                self.tensors.append(paddle.tanh(found) if self.random.random() < 0.3 else found)
        ends = [paddle.mean(paddle.flatten(t, 1), 1, keepdim=True) for t in self.tensors]
        scores = F.linear(paddle.tanh(paddle.concat(ends, 1)), self.param([len(ends), CLASSES]))
        return sum(self.losses, F.cross_entropy(scores, y))


def loss(net, x, ids, y):
    return net(x, ids, y)
