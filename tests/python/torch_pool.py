# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What drawn models are made of: operations of PyTorch with drawn options.

POOL has, by name, the rank that one wants (None: any; a shape, or draw -> shape, to which others are brought first) and
make(draw, example) -> a function or module of a tensor [batch, ...] (of two, if it has `binary`). Results stay of moderate
size where their argument does.
"""


import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils import parametrizations
from torch.utils.checkpoint import checkpoint

POOL = {}


class Call(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function, self.binary = function, getattr(function, "binary", False)

    def forward(self, *x):
        return self.function(*x)


class With(Call):
    """A function of its modules (or parameters) too."""

    def __init__(self, function, **parts):
        super().__init__(function)
        for name, part in parts.items():
            if isinstance(part, torch.Tensor) and not isinstance(part, nn.Parameter):
                self.register_buffer(name, part)
            else:
                setattr(self, name, part)

    def forward(self, *x):
        return self.function(self, *x)


def op(name, rank=None):
    def register(make):
        assert name not in POOL, name
        POOL[name] = (rank, make)
        return make
    return register


def line(r):
    return (r.n(2, 4), r.n(3, 5))


def image(r):
    return (r.choice(2, 4), r.n(4, 5), r.n(4, 5))


def dim(r, h):
    """One that is no batch."""
    d = r.n(1, h.dim() - 1)
    return d - h.dim() if r.chance() else d


def some(r, h):
    dims = [d for d in range(1, h.dim()) if r.chance()] or [h.dim() - 1]
    return dims


# ---- element by element ----------------------------------------------------------------------------------------

for _name, _f in {
        "gelu": F.gelu, "tanh": torch.tanh, "silu": F.silu, "mish": F.mish, "logsigmoid": F.logsigmoid, "hardswish": F.hardswish, "relu6": lambda x: F.relu6(x * 4),
        "sin": torch.sin, "cos": torch.cos, "erf": torch.erf, "abs": torch.abs, "square": torch.square, "atan": torch.atan, "sigmoid": torch.sigmoid, "selu": F.selu,
        "log1p": lambda x: x.abs().log1p(), "exp": lambda x: (-x.abs()).exp(), "sqrt": lambda x: (x.abs() + 0.1).sqrt(), "rsqrt": lambda x: (x.abs() + 0.2).rsqrt(),
        "reciprocal": lambda x: 1 / (1 + x.abs()), "cube": lambda x: torch.tanh(x) ** 3, "softsign": F.softsign, "tanhshrink": F.tanhshrink, "relu": F.relu, "expm1": lambda x: torch.tanh(x).expm1(),
        "asinh": torch.asinh, "acos": lambda x: torch.acos(torch.tanh(x) * 0.9), "lgamma": lambda x: torch.lgamma(x.abs() + 1),
        "xlogy": lambda x: torch.xlogy(torch.sigmoid(x), x.abs() + 0.1), "sinc": torch.sinc, "logit": lambda x: torch.logit(torch.sigmoid(x)), "frac": lambda x: torch.frac(x * 3)}.items():
    op(_name)(lambda r, h, f=_f: f)


@op("options of activations")
def _activations(r, h):
    a, b = r.number(0.1, 2), r.number(-1, 1)
    return r.choice(lambda x: F.gelu(x, approximate="tanh"), lambda x: F.softplus(x, a, 1), lambda x: F.elu(x, a), lambda x: F.celu(x, a), lambda x: F.leaky_relu(x, a / 4),
                    lambda x: F.hardtanh(x, -a, a / 2), lambda x: F.softshrink(x, a / 4), lambda x: F.hardshrink(x, a / 4), lambda x: F.threshold(x, b, a), lambda x: x.clamp(b, b + a),
                    lambda x: x.clamp_min(b), lambda x: x.clamp(max=b), lambda x: (x.abs() + 0.1) ** a, lambda x: a ** torch.tanh(x), lambda x: torch.rsub(x, b, alpha=a), lambda x: F.rrelu(x, a / 8, a / 4, training=False))


@op("remainders")
def _remainders(r, h):
    by = r.choice(0.3, -0.7)
    return r.choice(lambda x: torch.remainder(x, by), lambda x: torch.fmod(x, by), lambda x: x - torch.div(x, by, rounding_mode=r_mode) * 0.1)


r_mode = "floor"


@op("rounded, straight through")
def _rounded(r, h):
    f = r.choice(torch.round, torch.floor, torch.ceil, torch.trunc, torch.sign)
    return lambda x: x + (f(x * 2) / 2 - x).detach()


def two(name):
    def register(make):
        def made(r, h):
            function, size = make(r), h[0].numel()

            def forward(self, x, y):
                y = self.other(y.flatten(1)).view_as(x) if self.other is not None else x.flip(-1)
                if self.over is not None:
                    y = y.mean(self.over, keepdim=True)  # to be broadcast
                return function(x, y)
            part = Lazy(forward, size, some(r, h) if r.chance(3) else None)
            part.binary = True
            return part
        POOL[name] = (None, made)
        return make
    return register


class Lazy(nn.Module):
    """With a product that brings the other operand to the size of the first; made at the first call."""

    def __init__(self, function, size, over):
        super().__init__()
        self.function, self.size, self.over, self.other = function, size, over, None

    def forward(self, x, y):
        if self.other is None:
            self.other = nn.Linear(y[0].numel(), self.size, dtype=x.dtype)
        return self.function(self, x, y)


for _name, _f in {"add": lambda x, y: torch.add(x, y, alpha=0.7), "sub": lambda x, y: torch.sub(x, y, alpha=-0.3), "mul": lambda x, y: torch.tanh(x) * y, "div": lambda x, y: x / (1 + y.abs()), "maximum": torch.maximum,
                  "minimum": torch.minimum, "atan2": lambda x, y: torch.atan2(x, y.abs() + 0.2), "lerp": lambda x, y: torch.lerp(x, y, 0.3), "lerp by a tensor": lambda x, y: torch.lerp(x, y, torch.sigmoid(y)),
                  "where": lambda x, y: torch.where(x > y, x, y * 0.5), "logaddexp": torch.logaddexp, "hypot": lambda x, y: torch.hypot(x, y + 2), "addcmul": lambda x, y: torch.addcmul(x, torch.tanh(x), y, value=0.4),
                  "addcdiv": lambda x, y: torch.addcdiv(x, y, x.abs() + 1, value=0.4), "copysign": torch.copysign, "fmax": torch.fmax, "masked": lambda x, y: x.masked_fill(y > 0.3, 0.2),
                  "power": lambda x, y: (x.abs() + 0.5) ** torch.tanh(y), "huber": lambda x, y: F.huber_loss(x, y.expand_as(x), reduction="none", delta=0.3),
                  "cross": lambda x, y: torch.cat([x, (y + x) * 0.5], -1), "stacked": lambda x, y: torch.stack([x, y.expand_as(x)], 1)}.items():
    two(_name)(lambda r, f=_f: f)

# ---- over a dimension ------------------------------------------------------------------------------------------


@op("reduced")
def _reduced(r, h):
    d, keep = some(r, h), r.chance()
    f = r.choice(torch.mean, torch.sum, torch.amax, torch.amin, torch.logsumexp, lambda x, d, k: torch.var(x, d, correction=0, keepdim=k), lambda x, d, k: torch.linalg.vector_norm(x + 0.3, 3, d, k),
                 lambda x, d, k: torch.linalg.vector_norm(x, 2, d, k), lambda x, d, k: torch.std(x + torch.arange(x.shape[-1]), d, correction=0, keepdim=k), lambda x, d, k: torch.nansum(x, d, k))
    return lambda x: x + f(x, d, True) if keep else torch.cat([x.flatten(1), f(x, d, False).reshape(len(x), -1)], 1)


@op("one of a dimension")
def _one_of(r, h):
    d = dim(r, h)
    k = r.n(1, h.shape[d])
    f = r.choice(lambda x: x.max(d, True)[0], lambda x: x.min(d, True)[0], lambda x: x.median(d, True)[0], lambda x: x.kthvalue(k, d, True)[0], lambda x: x.gather(d, x.argmax(d, True)),
                 lambda x: x.quantile(0.4, d, True), lambda x: x.take_along_dim(x.argsort(d)[..., :1] if d in (-1, x.dim() - 1) else x.argmin(d, True), d))
    return lambda x: x * 0.5 + f(x)


@op("along")
def _along(r, h):
    d = dim(r, h)
    k = r.n(1, h.shape[d])
    return r.choice(lambda x: x.cumsum(d) / 4, lambda x: torch.sigmoid(x).cumprod(d), lambda x: torch.logcumsumexp(x, d), lambda x: torch.cummax(x, d)[0], lambda x: torch.cummin(x, d)[0], lambda x: x.flip(d), lambda x: x.roll(1, d),
                    lambda x: x.sort(d)[0], lambda x: x.sort(d, descending=True)[0], lambda x: x.topk(k, d)[0], lambda x: x.topk(k, d, largest=False)[0], lambda x: x.softmax(d), lambda x: x.log_softmax(d) / 3, lambda x: F.normalize(x + 0.2, p=2, dim=d),
                    lambda x: F.normalize(x + 0.2, p=1, dim=d), lambda x: F.softmin(x, d), lambda x: torch.cat([x.narrow(d, 0, 1), x.diff(dim=d)], d))


@op("normalised")
def _normalised(r, h):
    channels, last = h.shape[1], tuple(h.shape[r.n(1, h.dim() - 1):])
    affine = r.chance()
    kinds = [nn.LayerNorm(last, elementwise_affine=affine, eps=0.01), nn.RMSNorm(last, eps=0.01), nn.GroupNorm(r.choice(*[g for g in range(1, channels + 1) if channels % g == 0]), channels, affine=affine, eps=0.1)]
    if h.dim() < 5:
        kinds.append((None, None, nn.BatchNorm1d, nn.BatchNorm1d, nn.BatchNorm2d)[h.dim()](channels, affine=affine, momentum=r.choice(0.1, 0.5, None), eps=0.1))
    if h.dim() == 4:
        kinds.append(nn.InstanceNorm2d(channels, affine=affine, track_running_stats=True, eps=0.1))
    return kinds[r.n(0, len(kinds) - 1)]


# ---- shapes and indices ----------------------------------------------------------------------------------------

@op("moved")
def _moved(r, h):
    a, b = dim(r, h), dim(r, h)
    halves = [n for n in range(1, h[0].numel() + 1) if h[0].numel() % n == 0]
    n = halves[r.n(0, len(halves) - 1)]
    return r.choice(lambda x: x.transpose(a, b), lambda x: x.reshape(len(x), n, -1), lambda x: x.flatten(1), lambda x: x.movedim(a, b).contiguous(), lambda x: x.unsqueeze(1).expand(-1, 2, *[-1] * (x.dim() - 1)).flatten(1, 2),
                    lambda x: x.repeat_interleave(2, b), lambda x: torch.cat([x, x.flip(a)], b), lambda x: x.unflatten(1, (1, -1)).squeeze(1), lambda x: torch.stack(x.unbind(b), a), lambda x: x.tile(*[1] * (x.dim() - 1), 2) * 0.5)


@op("cut")
def _cut(r, h):
    d = dim(r, h)
    size = h.shape[d]
    begin = r.n(0, size - 1)
    step = r.n(1, 2)
    index = torch.randint(0, size, (r.n(1, 4),))
    return r.choice(lambda x: x.narrow(d, begin, size - begin), lambda x: x.movedim(d, -1)[..., begin::step], lambda x: x.index_select(d, index), lambda x: x.movedim(d, 1)[:, index], lambda x: x.movedim(d, 1)[:, -index - 1],
                    lambda x: torch.cat([p * (i + 1) for i, p in enumerate(x.split(2, d))], d), lambda x: sum(p.sum(d, True) * (i - 1) for i, p in enumerate(x.chunk(3, d))) + x)


@op("scattered")
def _scattered(r, h):
    d = dim(r, h)
    size = h.shape[d]
    index = torch.randint(0, size, h.shape[1:])
    line_ = torch.randint(0, size, (size,))
    how = r.choice("sum", "mean", "amax", "amin")
    own = r.chance()

    def wide(x):
        return index.expand_as(x)
    return r.choice(lambda x: x.gather(d, wide(x)), lambda x: torch.zeros_like(x).scatter_add(d, wide(x), x), lambda x: (x * 0.5).scatter_reduce(d, wide(x), x, how, include_self=own), lambda x: x.index_add(d, line_, x, alpha=0.3),
                    lambda x: x.movedim(d, 0).index_put((line_,), x.movedim(d, 0) * 0.3, accumulate=True).movedim(0, d), lambda x: x.index_copy(d, torch.arange(size).flip(0), x * x), lambda x: x.index_fill(d, line_[:1], 0.4))


@op("written into views")
def _written(r, h):
    d, e = dim(r, h), dim(r, h)

    def one(x):
        a = x.clone()
        a.select(d, 0).mul_(0.5)
        a.narrow(e, 0, 1).add_(x.narrow(e, a.shape[e] - 1, 1))
        return a.clamp_(-2, 2)

    def another(x):
        a = torch.zeros_like(x)
        a[:, :1] = x[:, -1:]
        a[x > 0.2] = 0.3
        a[..., ::2] += x[..., ::2]
        b = a.view(-1)
        b[2:5].mul_(2)
        return a + F.relu(x.clone(), inplace=True)
    return r.choice(one, another)


@op("padded", line)
def _padded(r, h):
    widths = [r.n(0, 2), r.n(0, 2)]
    return r.choice(lambda x: F.pad(x, widths, value=0.4), lambda x: F.pad(x, widths, mode="reflect"), lambda x: F.pad(x, widths, mode="replicate"), lambda x: F.pad(x, [-1, 1]), lambda x: F.pad(x, [1, 1], mode="circular"))


@op("triangles", line)
def _triangles(r, h):
    k = r.n(-1, 1)
    return r.choice(lambda x: x.tril(k), lambda x: x.triu(k), lambda x: torch.cat([x.flatten(1), x.diagonal(k, 1, 2)], 1), lambda x: x.unfold(2, 2, 1).flatten(2), lambda x: torch.diag_embed(x[:, 0]))


# ---- products and layers ---------------------------------------------------------------------------------------

@op("linear")
def _linear(r, h):
    layer = nn.Linear(h.shape[-1], r.n(2, 6), bias=r.chance())
    kind = r.choice("", "", "weight_norm", "spectral_norm", "used twice")
    if kind == "used twice":
        layer = nn.Linear(h.shape[-1], h.shape[-1])
        return With(lambda self, x: self.layer(torch.tanh(self.layer(x))), layer=layer)
    return getattr(parametrizations, kind)(layer) if kind else layer


@op("products", line)
def _products(r, h):
    k = h.shape[-1]
    return r.choice(lambda x: x @ x.mT / 3, lambda x: torch.einsum("bij,bkj,bk->bik", x, x, x.mean(2)), lambda x: torch.baddbmm(x, x @ x.mT, x, beta=0.5, alpha=0.2), lambda x: torch.cdist(x, x.flip(1) * 0.5 + 1),
                    lambda x: F.cosine_similarity(x.unsqueeze(1), x.unsqueeze(2) + 0.3, dim=-1), lambda x: torch.tensordot(x, torch.ones(k, 3, dtype=x.dtype), 1) / 2, lambda x: torch.vmap(lambda m: m @ m.t())(x) / 3)


@op("attention", lambda r: (r.n(2, 4), 4))
def _attention(r, h):
    causal = r.chance()
    heads = r.choice(1, 2) if h.shape[-1] % 2 == 0 else 1
    if r.chance():
        return With(lambda self, x: self.of(x, x, x, need_weights=False)[0], of=nn.MultiheadAttention(h.shape[-1], heads, batch_first=True, add_zero_attn=r.chance()))
    return With(lambda self, x: F.scaled_dot_product_attention(*self.of(x).unsqueeze(1).chunk(3, -1), is_causal=causal).squeeze(1), of=nn.Linear(h.shape[-1], 3 * h.shape[-1]))


@op("recurrent", line)
def _recurrent(r, h):
    kind = r.choice(nn.LSTM, nn.GRU, nn.RNN)
    return With(lambda self, x: self.of(x)[0], of=kind(h.shape[-1], 3, batch_first=True, bidirectional=r.chance(), num_layers=r.n(1, 2), bias=r.chance()))


@op("convolution", image)
def _convolution(r, h):
    kernel, stride, dilation = (r.n(1, 3), r.n(1, 3)), r.n(1, 2), r.n(1, 2)
    groups = 2 if h.shape[1] % 2 == 0 and r.chance() else 1
    if r.chance(3):
        return nn.ConvTranspose2d(h.shape[1], 2 * groups, kernel, stride, groups=groups, output_padding=stride - 1, bias=r.chance())
    padding = tuple(dilation * (k - 1) for k in kernel)
    return nn.Conv2d(h.shape[1], groups * r.n(1, 2), kernel, stride, padding, dilation, groups, r.chance(), r.choice("zeros", "zeros", "circular") if min(h.shape[2:]) >= max(padding) else "zeros")


@op("convolution of a line", line)
def _convolution_of_line(r, h):
    return r.choice(nn.Conv1d(h.shape[1], 3, 3, padding=1), nn.Conv1d(h.shape[1], h.shape[1], 2, padding="same", groups=h.shape[1]), nn.ConvTranspose1d(h.shape[1], 2, 3, 2, 1, 1))


@op("pooling", image)
def _pooling(r, h):
    kernel, stride, ceil = r.n(2, 3), r.n(1, 2), r.chance()
    size = (r.n(1, 3), r.n(1, 3))
    inside = r.chance()
    whole = h.shape[2] % 2 == 0 and h.shape[3] % 2 == 0
    return r.choice(lambda x: F.max_pool2d(x, kernel, stride, 1, 1, ceil), lambda x: F.avg_pool2d(x, kernel, stride, 1, ceil, inside), lambda x: F.adaptive_avg_pool2d(x, size), lambda x: F.lp_pool2d(x.abs() + 0.1, 2, kernel, stride),
                    lambda x: F.adaptive_max_pool2d(x, 2 if whole else 1), lambda x: F.max_pool2d(x, 2, dilation=2))


@op("resized", image)
def _resized(r, h):
    mode = r.choice("nearest", "bilinear", "bicubic", "area", "nearest-exact")
    how = dict(align_corners=r.chance()) if mode.startswith("bi") else {}
    size = (r.n(2, 6), r.n(2, 6))
    edge = dict(antialias=True) if how == dict(align_corners=False) and r.chance() else {}
    return lambda x: F.interpolate(x, size=size, mode=mode, **how, **edge)


@op("sampled", image)
def _sampled(r, h):
    how = dict(mode=r.choice("bilinear", "nearest", "bicubic"), padding_mode=r.choice("zeros", "border", "reflection"), align_corners=r.chance())
    return lambda x: F.grid_sample(x, torch.tanh(x[:, :2]).permute(0, 2, 3, 1) * 1.3, **how)


@op("folded", lambda r: (4, 4, 4))
def _folded(r, h):
    even = h.shape[2] % 2 == 0 and h.shape[3] % 2 == 0
    kinds = [lambda x: F.unfold(x, 2, stride=2), lambda x: F.fold(F.unfold(x, 2), x.shape[2:], 2), lambda x: F.local_response_norm(x, 2)]
    if h.shape[1] % 4 == 0:
        kinds += [lambda x: F.pixel_shuffle(x, 2), lambda x: F.channel_shuffle(x, 2)]
    return kinds[r.n(0, len(kinds) - 1)] if not even or r.chance() else lambda x: F.pixel_unshuffle(x, 2)


@op("looked up")
def _looked_up(r, h):
    table, bag = nn.Embedding(5, 3, padding_idx=r.choice(None, 1), scale_grad_by_freq=r.chance()), r.chance()
    if bag:
        table = nn.EmbeddingBag(5, 3, mode=r.choice("sum", "mean", "max"), padding_idx=r.choice(None, 1))

    def forward(self, x):
        ids = torch.bucketize(x.flatten(1)[:, :4].detach(), torch.tensor([-0.6, -0.1, 0.2, 0.7], dtype=x.dtype))
        return torch.cat([self.table(ids).flatten(1), x.flatten(1)], 1)
    return With(forward, table=table)


@op("spectrum", line)
def _spectrum(r, h):
    norm = r.choice("ortho", "forward", "backward")
    k = h.shape[-1]
    return r.choice(lambda x: torch.fft.fft2(x, norm="ortho").real, lambda x: torch.fft.rfft(x, norm="ortho").abs(), lambda x: torch.fft.irfft(torch.fft.rfft(x, norm=norm) * torch.polar(torch.ones(k // 2 + 1, dtype=x.dtype), torch.arange(k // 2 + 1, dtype=x.dtype)), n=k, norm=norm),
                    lambda x: torch.view_as_real(torch.complex(x, x.flip(1)) * torch.complex(x, x + 1)).flatten(2), lambda x: torch.fft.fftshift(torch.fft.fft(x, norm="ortho")).imag)


# ---- autograd, state, in other ways ------------------------------------------------------------------------------

class Reversed(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, by):
        ctx.by = by
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        return -gradient * x * ctx.by, None


def _hooked(x):
    y = torch.tanh(x)
    if y.requires_grad:
        y.register_hook(lambda g: g * 0.5)
    return y


def _steepness(x):
    with torch.enable_grad():
        x = x if x.requires_grad else x.requires_grad_()
        return x + torch.autograd.grad(torch.tanh(x).pow(2).sum(), x, create_graph=True)[0]


@op("autograd")
def _autograd(r, h):
    return r.choice(lambda x: Reversed.apply(x, 0.7), _hooked, _steepness, lambda x: x + x.detach() * x, lambda x: checkpoint(lambda y: torch.sin(y) * y, x, use_reentrant=False),
                    lambda x: F.one_hot(x.flatten(1).argmax(1), x[0].numel()).to(x.dtype) * x.flatten(1) + x.flatten(1).mean(1, keepdim=True))


@op("checkpointed")
def _checkpointed(r, h):
    return With(lambda self, x: checkpoint(self.of, x, use_reentrant=False), of=nn.Sequential(nn.Linear(h.shape[-1], 4), nn.Tanh()))


@op("running mean")
def _running(r, h):
    def forward(self, x):
        if r_set:
            self.mean = 0.8 * self.mean + 0.2 * x.detach().mean(0)
        else:
            with torch.no_grad():
                self.mean.mul_(0.8).add_(x.mean(0), alpha=0.2)
        return x - self.mean
    r_set = r.chance()
    return With(forward, mean=torch.zeros(h.shape[1:]))


@op("losses", lambda r: (r.n(2, 4), 3))
def _losses(r, h):
    classes = h.shape[1]
    target = torch.arange(h.shape[2]) % classes
    weight = torch.arange(1, classes + 1, dtype=torch.float64)
    half = h.shape[2] // 2 or 1

    def per_class(x):
        options = dict(weight=weight if r_weight else None, ignore_index=1 if r_ignore else -100, reduction="none", label_smoothing=0.1 if r_smooth else 0.0)
        return F.cross_entropy(x, target.expand(len(x), -1), **options)
    r_weight, r_ignore, r_smooth = r.chance(), r.chance(), r.chance()
    kind = r.choice(per_class, lambda x: F.binary_cross_entropy_with_logits(x, torch.sigmoid(x.flip(1)).detach(), pos_weight=torch.full((x.shape[-1],), 2.0, dtype=x.dtype), reduction="none"),
                    lambda x: F.kl_div(x.log_softmax(1), x.flip(2).softmax(1), reduction="none"), lambda x: F.smooth_l1_loss(x, x.flip(1), reduction="none", beta=0.3),
                    lambda x: F.triplet_margin_loss(x[:, 0], x[:, 1], x[:, -1] + 0.3, reduction="none")[:, None] + x[:, :, 0], lambda x: F.gaussian_nll_loss(x, x.flip(1).detach(), x.exp(), reduction="none"),
                    lambda x: F.ctc_loss(x.permute(2, 0, 1).log_softmax(2), torch.ones(len(x), half, dtype=torch.int64), (x.shape[2],) * len(x), (half,) * len(x), reduction="none")[:, None] + x[:, 0],
                    lambda x: F.nll_loss(x.log_softmax(1), target.expand(len(x), -1), weight=weight, reduction="none"), lambda x: F.soft_margin_loss(x, torch.sign(x.flip(1)).detach(), reduction="none"))
    return lambda x: torch.cat([x.flatten(1), kind(x).flatten(1)], 1)


