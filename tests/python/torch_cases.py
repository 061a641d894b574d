# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions of PyTorch on drawn tensors, and whether the rules of their operations say the same, gradients included."""

import jax
import numpy as np
import torch
import torch.nn.functional as F

from commsched.torch import interpret
from commsched.torch.capture import graph_of
from commsched.torch.values import to_numpy

CASES = {}


def case(name, gradient=True, smooth=True):
    """Registers make(draw) -> (function, *inputs). smooth: halves of it can be compared."""
    def register(make):
        assert name not in CASES, name
        CASES[name] = (make, gradient, smooth)
        return make
    return register


class Draw:
    """Random tensors of one floating type."""

    def __init__(self, seed, dtype=torch.float32):
        self.random, self.dtype = np.random.default_rng(seed), dtype
        self.torch = torch.Generator().manual_seed(seed)

    def n(self, low, high):
        return int(self.random.integers(low, high + 1))

    def shape(self, rank, low=1, high=5):
        return tuple(self.n(low, high) for _ in range(rank))

    def t(self, *shape):
        return torch.randn(shape, generator=self.torch, dtype=torch.float64).to(self.dtype)

    def any(self, low=1):
        return self.t(*self.shape(self.n(1, 4), low))

    def positive(self, *shape):
        return self.t(*shape).abs() + 0.3

    def inside(self, *shape):
        """Between -1 and 1."""
        return torch.tanh(self.t(*shape)) * 0.95

    def tied(self, *shape):
        """With many equal elements."""
        return torch.randint(-2, 3, shape, generator=self.torch).to(self.dtype)

    def ids(self, high, *shape):
        return torch.randint(0, high, shape, generator=self.torch)

    def mask(self, *shape):
        return torch.randint(0, 2, shape, generator=self.torch).bool()

    def choice(self, *values):
        return values[self.n(0, len(values) - 1)]


def _floating(x):
    return isinstance(x, torch.Tensor) and x.is_floating_point()


def results(function, inputs, weights, gradient):
    """What it returns, and gradients of a weighted sum of that."""
    inputs = [x.detach().clone().requires_grad_(gradient and _floating(x)) for x in inputs]
    outputs = function(*inputs)
    outputs = list(outputs) if isinstance(outputs, (tuple, list)) else [outputs]
    if not gradient:
        return outputs
    floating = [o for o in outputs if _floating(o) and o.requires_grad]
    if not floating:
        return [o.detach() for o in outputs]
    total = sum((o * w).sum() for o, w in zip(floating, weights))
    wanted = [x for x in inputs if x.requires_grad]
    return [o.detach() for o in outputs] + [g for g in torch.autograd.grad(total, wanted, allow_unused=True) if g is not None]


def by_rules(function, inputs, used=None):
    """The same of torch and of the rules, as arrays. used: a set that gets the names of the operations."""
    graph = graph_of(function, inputs)
    if used is not None:
        used.update(str(n.target) for n in graph.graph.nodes if n.op == "call_function")
    located = interpret.Located(None)
    with jax.enable_x64(True):
        given = [to_numpy(x) for part in inputs for x in (part if isinstance(part, list) else [part])]
        found = jax.jit(lambda *xs: interpret.run(graph, xs, located, random=jax.random.key(0)))(*given)
    return [np.asarray(f) for f in found]


TOLERANCE = {torch.float64: 1e-9, torch.float32: 2e-5, torch.bfloat16: 2e-2}


def check(name, seed, dtype=torch.float32, used=None):
    """Asserts that they agree."""
    make, gradient, _ = CASES[name]
    function, *inputs = make(Draw(seed, dtype))
    with torch.no_grad():
        outputs = function(*[x.clone() for x in inputs])
    outputs = list(outputs) if isinstance(outputs, (tuple, list)) else [outputs]
    draw = Draw(seed + 1000, dtype)
    weights = [draw.t(*o.shape).to(o.dtype) for o in outputs if _floating(o)]

    def whole(inputs, weights):
        return results(function, inputs, weights, gradient)
    wanted = [to_numpy(w) for w in whole(inputs, weights)]
    found = by_rules(whole, [list(inputs), list(weights)], used)
    assert len(found) == len(wanted)
    for i, (a, b) in enumerate(zip(found, wanted)):
        assert (a.shape, a.dtype) == (b.shape, b.dtype), f"result {i}: {a.dtype}{a.shape}, not {b.dtype}{b.shape}"
        if b.dtype.kind in "iub":
            np.testing.assert_array_equal(a, b, err_msg=f"result {i}")
            continue
        a, b = a.astype(np.float64), b.astype(np.float64)
        size = max(float(np.abs(b[np.isfinite(b)]).max(initial=0)), 1.0)
        np.testing.assert_allclose(a, b, rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype] * size, err_msg=f"result {i}")


# ---- element by element --------------------------------------------------------------------------------------

for _name in ("abs neg exp expm1 exp2 sin cos tanh sinh cosh atan asinh erf erfc sigmoid relu sign floor ceil trunc frac square silu "
              "round isnan isinf isfinite logical_not").split():
    case(f"elementwise/{_name}")(lambda r, f=getattr(torch, _name, None) or getattr(F, _name): (f, r.any()))
for _name in "log log1p log2 log10 sqrt rsqrt reciprocal lgamma digamma".split():
    case(f"elementwise/{_name}")(lambda r, f=getattr(torch, _name): (f, r.positive(*r.shape(2))))
for _name in "asin acos atanh erfinv tan".split():
    case(f"elementwise/{_name}", smooth=_name != "erfinv")(lambda r, f=getattr(torch, _name): (f, r.inside(*r.shape(2))))
case("elementwise/acosh")(lambda r: (torch.acosh, r.positive(3) + 1))
for _name in ("gelu hardswish hardsigmoid hardtanh mish softplus elu selu celu leaky_relu softsign tanhshrink softshrink hardshrink relu6 "
              "logsigmoid").split():
    case(f"elementwise/{_name}")(lambda r, f=getattr(F, _name): (f, r.any() * 4))
case("elementwise/rrelu")(lambda r: (lambda x: F.rrelu(x, 0.1, 0.4), r.any()))
case("elementwise/gelu_tanh")(lambda r: (lambda x: F.gelu(x, approximate="tanh"), r.any()))
case("elementwise/prelu")(lambda r: (F.prelu, r.t(2, 3, 4), r.t(3)))
for _name in "add sub mul maximum minimum fmax fmin atan2 hypot".split():
    case(f"elementwise/{_name}")(lambda r, f=getattr(torch, _name): (f, r.t(3, 1, 4), r.t(2, 1)))
for _name in "eq ne lt le gt ge".split():
    case(f"elementwise/{_name}", False)(lambda r, f=getattr(torch, _name): (f, r.tied(4, 3), r.tied(3)))
    case(f"elementwise/{_name}_scalar", False)(lambda r, f=getattr(torch, _name): (lambda x: f(x, 1), r.tied(4, 3)))
for _name in "logical_and logical_or logical_xor bitwise_and bitwise_or bitwise_xor".split():
    case(f"elementwise/{_name}", False)(lambda r, f=getattr(torch, _name): (f, r.mask(4, 3), r.mask(3)))
for _name in "bitwise_and bitwise_or bitwise_xor bitwise_left_shift bitwise_right_shift floor_divide remainder fmod".split():
    case(f"elementwise/{_name}_ints", False)(lambda r, f=getattr(torch, _name): (f, r.ids(9, 4, 3) - (4 if "shift" not in f.__name__ else 0), r.ids(3, 3) + 1))
for _name in "floor_divide remainder fmod".split():
    case(f"elementwise/{_name}", _name == "fmod", smooth=False)(lambda r, f=getattr(torch, _name): (f, r.t(4, 3) * 5, r.choice(1, -1) * r.positive(3)))
for _mode in ("floor", "trunc"):
    case(f"elementwise/div_{_mode}", False, smooth=False)(lambda r, m=_mode: (lambda a, b: torch.div(a, b, rounding_mode=m), r.t(4, 3) * 5, r.t(3)))
case("elementwise/div")(lambda r: (torch.div, r.t(4, 3), r.positive(3)))
case("elementwise/div_ints", False)(lambda r: (lambda a, b: (a / b, torch.div(a, b, rounding_mode="trunc")), r.ids(9, 4) - 4, r.ids(3, 4) + 1))
case("elementwise/alpha")(lambda r: (lambda a, b: (torch.add(a, b, alpha=0.3), torch.sub(a, b, alpha=2), torch.rsub(a, b, alpha=0.5)), r.t(2, 3), r.t(3)))
case("elementwise/numbers")(lambda r: (lambda x: (x + 1, 2 - x, x * 0.3, x / 3, 3 / (x * x + 1), x ** 2, x ** 3, (x * x + 1) ** -1.5, 2.0 ** x), r.t(2, 3)))
case("elementwise/pow")(lambda r: (torch.pow, r.positive(4, 3), r.t(3)))
case("elementwise/pow_of_integers", False)(lambda r: (lambda x: (x ** 2, x ** 3, 2 ** x.abs()), r.ids(5, 4) - 2))
case("elementwise/promotion", False)(lambda r: (lambda i, x, b: (i + x, i * 0.5, b + i, b * x, i / 2, x + torch.tensor(2.0, dtype=torch.float64), i == x, i > 1.5),
                                              r.ids(4, 3), r.t(3), r.mask(3)))
case("elementwise/where")(lambda r: (torch.where, r.mask(2, 3), r.t(2, 3), r.t(3)))
case("elementwise/masked_fill")(lambda r: (lambda x, m: x.masked_fill(m, -1e9), r.t(2, 3), r.mask(3)))
case("elementwise/clamp")(lambda r: (lambda x, l: (x.clamp(-0.5, 0.5), x.clamp(min=0.1), x.clamp(max=0.1), torch.clamp_max(x, 0.2), torch.clamp_min(x, 0.1), torch.clamp(x, l, l + 1)), r.t(4, 3), r.t(3)))
case("elementwise/addcmul")(lambda r: (lambda x, a, b: (torch.addcmul(x, a, b, value=0.3), torch.addcmul(x, a, b)), r.t(2, 3), r.t(2, 3), r.t(3)))
case("elementwise/addcdiv")(lambda r: (lambda x, a, b: torch.addcdiv(x, a, b, value=-0.3), r.t(2, 3), r.t(2, 3), r.positive(3)))
case("elementwise/lerp")(lambda r: (lambda a, b, w: (torch.lerp(a, b, 0.1), torch.lerp(a, b, 0.9), torch.lerp(a, b, w)), r.t(2, 3), r.t(2, 3), r.t(2, 3)))
case("elementwise/xlogy")(lambda r: (torch.xlogy, r.tied(3), r.positive(3)))
case("elementwise/copysign")(lambda r: (torch.copysign, r.t(3), r.t(3)))
case("elementwise/not_numbers", False)(lambda r: (lambda x: (x.sign(), x.relu(), torch.maximum(x, -x), x.clamp(-1, 1), torch.nan_to_num(x), x != x, x.floor()),
                                                torch.tensor([float("nan"), float("inf"), -float("inf"), 0.0, -0.0, 1.5], dtype=r.dtype)))
case("elementwise/types", False)(lambda r: (lambda x, i, b: (x.to(torch.int64), x.bool(), i.to(torch.float64), b.to(torch.float32), i.int(), x.double(), i.bool(), b.long()),
                                          r.t(4) * 3, r.ids(5, 3), r.mask(3)))
case("elementwise/bitwise_not", False)(lambda r: (lambda i, b: (~i, ~b), r.ids(5, 3), r.mask(3)))

# ---- reductions ----------------------------------------------------------------------------------------------

for _name in "sum mean amax amin logsumexp prod".split():
    case(f"reductions/{_name}")(lambda r, f=getattr(torch, _name): (lambda x: (f(x, dim=1), f(x, dim=-1, keepdim=True)), r.t(3, 4, 2)))
case("reductions/all_of_them")(lambda r: (lambda x: (x.sum(), x.mean(), x.prod(), x.max(), x.min(), x.sum((0, 2)), x.mean((0, -1), keepdim=True), x.norm(), x.std(), x.var()), r.t(3, 4, 2)))
case("reductions/of_scalars")(lambda r: (lambda x: (x.sum(), x.mean(), x.max(), x.softmax(0), x.cumsum(0), x.sum(0)), r.t()))
case("reductions/of_integers", False)(lambda r: (lambda x, b: (x.sum(), x.sum(1), x.max(), x.amin(0), x.prod(), b.sum(0), x.cumsum(0), b.any(), b.all(1), b.any(0), x.any(1, keepdim=True)),
                                                r.ids(5, 3, 4), r.mask(3, 4)))
case("reductions/of_nothing", False)(lambda r: (lambda x: (x.sum(0), x.sum(), torch.cat([x, x]), x.prod()), r.t(0, 3)))
case("reductions/var")(lambda r: (lambda x: (x.var(1), x.var((0, 2), correction=0), x.std(-1, keepdim=True), *torch.var_mean(x, 1, correction=0)), r.t(3, 4, 5)))
for _p in (0, 1, 2, 3, 0.5, float("inf"), -float("inf")):
    case(f"reductions/norm_{_p}", _p != 0, smooth=_p != 0.5)(lambda r, p=_p: (lambda x: (torch.linalg.vector_norm(x, p), torch.linalg.vector_norm(x, p, dim=1, keepdim=True)), r.positive(3, 4)))
case("reductions/argmax", False)(lambda r: (lambda x: (x.argmax(), x.argmax(1), x.argmin(-1, keepdim=True), x.argmin()), r.tied(3, 6)))
case("reductions/max_dim")(lambda r: (lambda x: (*x.max(1), *x.min(0, keepdim=True)), r.t(3, 5)))
case("reductions/max_dim_ties", False)(lambda r: (lambda x: (*x.max(1), *x.min(0)), r.tied(3, 7)))
case("reductions/cumsum")(lambda r: (lambda x: (x.cumsum(1), x.cumsum(-2)), r.t(2, 3, 4)))
case("reductions/cumprod")(lambda r: (lambda x: x.cumprod(1), r.positive(2, 3)))
case("reductions/sort")(lambda r: (lambda x: (*x.sort(1), *x.sort(0, descending=True)), r.t(4, 5)))
case("reductions/sort_ties", False)(lambda r: (lambda x: (*torch.sort(x, dim=1, stable=True), *torch.sort(x, dim=0, descending=True, stable=True), x.argsort(dim=1, stable=True)), r.tied(4, 9)))
case("reductions/topk")(lambda r: (lambda x: (*x.topk(2, 1), *x.topk(3, 0, largest=False)), r.t(4, 5)))
case("orders/median")(lambda r: (lambda x: (*x.median(1), *x.median(0, True), x.median(), *x.kthvalue(2, 1), *x.kthvalue(1, 0, True)), r.t(4, 5)))
case("orders/median_of_nan", False)(lambda r: (lambda x: (*x.masked_fill(x > 1, float("nan")).median(1), x.masked_fill(x > 1, float("nan")).median()), r.t(4, 5)))
case("orders/running")(lambda r: (lambda x: (*x.cummax(1), *x.cummin(0), x.logcumsumexp(1), x.logcumsumexp(0)), r.t(4, 5)))
case("orders/running_ties", False)(lambda r: (lambda x: (*x.cummax(1), *x.cummin(0)), r.tied(4, 7)))
case("orders/belongs", False, smooth=False)(lambda r: (lambda b, x: (torch.searchsorted(b, x), torch.searchsorted(b, x, right=True), torch.searchsorted(b.expand(3, -1).contiguous(), x[:3], side="right"), torch.bucketize(x, b), torch.bucketize(x, b, right=True)),
                                                       r.tied(6).sort()[0], r.tied(4, 5)))
case("reductions/softmax")(lambda r: (lambda x: (x.softmax(1), x.log_softmax(-1), F.softmin(x, 0)), r.t(3, 4, 2) * 3))
case("reductions/masked_softmax")(lambda r: (lambda x, m: x.masked_fill(m, -float("inf")).softmax(-1), r.t(3, 4), torch.tensor([True, False, False, True])))
case("reductions/losses")(lambda r: (lambda x, y: (F.mse_loss(x, y), F.l1_loss(x, y), F.smooth_l1_loss(x, y), F.huber_loss(x, y), F.binary_cross_entropy_with_logits(x, y.sigmoid()),
                                                  F.kl_div(x.log_softmax(1), y.softmax(1)), F.mse_loss(x, y, reduction="sum"), F.cosine_similarity(x, y).mean()), r.t(3, 4), r.t(3, 4)))
case("reductions/cross_entropy")(lambda r: (lambda x, y, w: (F.cross_entropy(x, y), F.cross_entropy(x, y, w.detach()), F.cross_entropy(x, y, label_smoothing=0.1),
                                                            F.nll_loss(x.log_softmax(1), y, reduction="sum"), F.cross_entropy(x, y, ignore_index=1)), r.t(6, 4), torch.cat([r.ids(4, 5), torch.tensor([0])]), r.positive(4)))

# ---- shapes --------------------------------------------------------------------------------------------------

case("shapes/views")(lambda r: (lambda x: (x.view(6, 4), x.reshape(-1), x.permute(2, 0, 1), x.transpose(0, -1), x[0].t(), x.unsqueeze(1), x[:, :1].squeeze(1), x.flatten(1), x.movedim(0, 2), x.mT), r.t(2, 3, 4)))
case("shapes/slices")(lambda r: (lambda x: (x[1:], x[:, -2:], x[..., ::2], x[0], x[:, -1], x[1:100], x[:, 2:1].sum(), x.narrow(1, 1, 2), x[None, ..., 0]), r.t(3, 4, 5)))
case("shapes/split")(lambda r: (lambda x: (*x.split(2, 1), *x.split([1, 4], 1), *x.chunk(3, 1), *x.unbind(0), *torch.tensor_split(x, 3, 1)), r.t(2, 5)))
case("shapes/cat")(lambda r: (lambda a, b: (torch.cat([a, b], 1), torch.stack([a, a], -1), torch.cat([a, torch.zeros(0, dtype=a.dtype)]), torch.hstack([a, b])), r.t(2, 3), r.t(2, 2)))
case("shapes/expand")(lambda r: (lambda x: (x.expand(4, 3, 2), x.repeat(2, 1, 3), x[:, :1].expand(-1, 5), x.repeat_interleave(2, 0), x.tile(2)), r.t(3, 2)))
case("shapes/flip")(lambda r: (lambda x: (x.flip(0), x.flip(0, -1), x.roll(1, 0), x.roll((1, -2), (0, 1)), x.roll(3), x.rot90()), r.t(3, 4)))
case("shapes/pad")(lambda r: (lambda x: (F.pad(x, (1, 2)), F.pad(x, (0, 1, 2, 0), value=3.0), F.pad(x, (-1, 1)), F.pad(x, (1, 1, 2, 1), mode="reflect"), F.pad(x, (1, 2, 1, 1), mode="replicate"),
                                         F.pad(x, (1, 2, 1, 1), mode="circular")), r.t(2, 2, 4, 5)))
case("shapes/borders")(lambda r: (lambda a, b: (F.pad(a, (1, 2), mode="reflect"), F.pad(a, (2, 1), mode="replicate"), F.pad(b, (1, 0, 0, 1, 1, 1), mode="reflect"),
                                            F.pad(b, (1, 0, 2, 1, 1, 1), mode="replicate")), r.t(1, 2, 5), r.t(1, 2, 3, 3, 4)))
case("shapes/triangles")(lambda r: (lambda x: (x.tril(), x.triu(1), x.tril(-1), x.triu(-2)), r.t(2, 4, 5)))
case("shapes/diagonal")(lambda r: (lambda x: (x.diagonal(0, 1, 2), x.diagonal(1, -2, -1), torch.diag_embed(x[0]), x[0].diagonal(-1)), r.t(2, 4, 5)))
case("shapes/unfold")(lambda r: (lambda x: (x.unfold(2, 3, 2), F.unfold(x, 2), F.unfold(x, 2, stride=2, padding=1)), r.t(1, 2, 5, 6)))
case("shapes/fold")(lambda r: (lambda x: F.fold(x, (4, 5), 2), r.t(1, 8, 12)))
case("shapes/pixel_shuffle")(lambda r: (lambda x: (F.pixel_shuffle(x, 2), F.pixel_unshuffle(x, 2), F.channel_shuffle(x, 2)), r.t(1, 4, 4, 6)))


@case("shapes/written_into_views")
def _written(r):
    def f(x, y):
        a = x.clone()
        a[1] = y[0]
        a[:, 1:3] += y[:, :2]
        a[..., 0].mul_(2)
        b = x.clone()
        b.diagonal().add_(1)
        b[::2].zero_()
        c = x.clone().view(-1)
        c[2:5] = y[0, :3]
        d = x.clone().t()
        d[0] = y[0, :3]
        e = x.clone()
        e.as_strided((2, 2), (4, 1), 1).add_(1)
        return a, b, c, d, e
    return f, r.t(3, 4), r.t(3, 4)


case("shapes/creation", False)(lambda r: (lambda x: (torch.arange(5) + x.sum().long() * 0, torch.arange(1, 9, 3), torch.arange(0, 1, 0.3), torch.linspace(0, 1, 5), torch.eye(3), torch.full((2,), 1.5),
                                                    torch.zeros_like(x), x.new_ones(2), torch.ones(2, dtype=torch.int64), x.new_full((2,), 2.0), torch.tensor([1.0, 2.0]), torch.full_like(x, 3.0)), r.t(2)))
case("shapes/meshgrid")(lambda r: (lambda a, b: (*torch.meshgrid(a, b, indexing="ij"), torch.cartesian_prod(a, b), torch.outer(a, b)), r.t(3), r.t(2)))

# ---- indices -------------------------------------------------------------------------------------------------

case("indexing/index")(lambda r: (lambda x, i, j: (x[i], x[:, j], x[i, j], x[i[:, None], j], x[-i - 1]), r.t(4, 5, 2), r.ids(4, 3), r.ids(5, 3)))
case("indexing/index_put")(lambda r: (lambda x, y, i: (x.index_put((i,), y, accumulate=True), x.index_put((torch.tensor([0, 2, 3]),), y)), r.t(4, 5), r.t(3, 5), r.ids(4, 3)))
case("indexing/masks")(lambda r: (lambda x, m: (x.masked_fill(m, 0), x.index_put((m,), torch.tensor(2.0, dtype=x.dtype)), torch.where(m, x, 0)), r.t(4, 5), r.mask(4, 5)))
case("indexing/index_select")(lambda r: (lambda x, i: (x.index_select(0, i), x.index_select(-1, i)), r.t(4, 5), r.ids(4, 6)))
case("indexing/gather")(lambda r: (lambda x, i: (x.gather(1, i), x.gather(0, i[:2] % 4), torch.take_along_dim(x, i, 1)), r.t(4, 5), r.ids(5, 4, 3)))
case("indexing/scatter")(lambda r: (lambda x, y: (x.scatter(1, torch.tensor([[0, 2], [3, 1]]), y), x.scatter(1, torch.tensor([[0], [3]]), 1.5)), r.t(3, 5), r.t(2, 2)))
case("indexing/scatter_add")(lambda r: (lambda x, i, y: (x.scatter_add(1, i, y), x.scatter_add(0, i % 3, y)), r.t(3, 5), r.ids(5, 3, 4), r.t(3, 4)))
case("indexing/scatter_reduce", False)(lambda r: (lambda x, i, y: (x.scatter_reduce(1, i, y, "sum"), x.scatter_reduce(1, i, y, "amax"), x.scatter_reduce(1, i, y, "amin"), x.scatter_reduce(1, i, y, "prod")),
                                                r.t(3, 5), r.ids(5, 3, 4), r.t(3, 4)))
for _how in ("sum", "mean", "amax", "amin", "prod"):
    case(f"indexing/scatter_reduce_{_how}", smooth=False)(lambda r, h=_how: (lambda x, y, i: (x.scatter_reduce(1, i, y, h), x.scatter_reduce(1, i, y, h, include_self=False), x.scatter_reduce(0, i % 3, y, h, include_self=False)), r.t(3, 5), r.t(3, 4), r.ids(5, 3, 4)))
case("indexing/scatter_mean_of_ints", False)(lambda r: (lambda x, y, i: (x.scatter_reduce(1, i, y, "mean"), x.scatter_reduce(1, i, y, "mean", include_self=False)), r.ids(9, 3, 5) - 4, r.ids(9, 3, 4) - 4, r.ids(5, 3, 4)))
case("indexing/renormed", smooth=False)(lambda r: (lambda t, i: F.embedding(i, t * 1, max_norm=0.7, norm_type=r.choice(2.0, 1.0)), r.t(5, 3), r.ids(5, 2, 4)))
case("indexing/put")(lambda r: (lambda x, y, i: (x.put(i, y, accumulate=True), x.put(torch.tensor([3, 0, 7]), y), x.take(i)), r.t(4, 5), r.t(3), r.ids(20, 3)))
case("indexing/masked_scatter", smooth=False)(lambda r: (lambda x, y, m: (x.masked_scatter(m, y), x.masked_scatter(m[0], y)), r.t(3, 4), r.t(5, 4), r.mask(3, 4)))
case("indexing/index_add")(lambda r: (lambda x, i, y: (x.index_add(0, i, y), x.index_add(0, i, y, alpha=0.5)), r.t(4, 3), r.ids(4, 5), r.t(5, 3)))
case("indexing/index_copy")(lambda r: (lambda x, y: (x.index_copy(0, torch.tensor([2, 0]), y), x.index_fill(1, torch.tensor([1]), 3.0)), r.t(4, 3), r.t(2, 3)))
case("indexing/embedding")(lambda r: (lambda t, i: (F.embedding(i, t), F.embedding(i, t, padding_idx=1), F.embedding(i, t, scale_grad_by_freq=True)), r.t(5, 3), r.ids(5, 2, 4)))
case("indexing/one_hot", False)(lambda r: (lambda i: F.one_hot(i, 5), r.ids(5, 2, 3)))
for _mode in ("nearest", "bilinear", "bicubic", "nearest-exact"):
    case(f"indexing/interpolate_{_mode}")(lambda r, m=_mode: (lambda x: (F.interpolate(x, scale_factor=2, mode=m), F.interpolate(x, size=(3, 7), mode=m)), r.t(1, 2, 4, 5)))
case("indexing/interpolate_corners")(lambda r: (lambda x: F.interpolate(x, size=(3, 7), mode="bilinear", align_corners=True), r.t(1, 2, 4, 5)))
case("indexing/interpolate_line")(lambda r: (lambda x: (F.interpolate(x, scale_factor=2, mode="linear"), F.interpolate(x, scale_factor=3)), r.t(1, 2, 4)))

for _mode in ("bilinear", "bicubic"):
    case(f"sampling/antialias_{_mode}")(lambda r, m=_mode: (lambda x: (F.interpolate(x, size=(3, 5), mode=m, antialias=True), F.interpolate(x, size=(9, 4), mode=m, antialias=True, align_corners=True),
                                                                   F.interpolate(x, scale_factor=0.6, mode=m, antialias=True)), r.t(1, 2, 6, 7)))
for _mode in ("bilinear", "nearest", "bicubic"):
    for _padding in ("zeros", "border", "reflection"):
        case(f"sampling/grid_{_mode}_{_padding}", smooth=False)(lambda r, m=_mode, p=_padding: (lambda x, g: F.grid_sample(x, g, m, p, p != "border"), r.t(2, 3, 4, 5), r.t(2, 3, 4, 2)))
case("sampling/grid_of_volumes", smooth=False)(lambda r: (lambda x, g: (F.grid_sample(x, g, align_corners=True), F.grid_sample(x, g, "nearest", "border", False)), r.t(2, 2, 3, 4, 3), r.t(2, 2, 2, 3, 3)))
# Where places are exactly at borders.
case("sampling/whole_grid", smooth=False)(lambda r: (lambda x, t: F.grid_sample(x, F.affine_grid(t, (2, 2, 4, 5), align_corners=True), align_corners=True, padding_mode="border"), r.t(2, 2, 4, 5),
                                                     torch.eye(2, 3, dtype=r.dtype).repeat(2, 1, 1)))

# ---- complex numbers -----------------------------------------------------------------------------------------

for _norm in ("backward", "ortho", "forward"):
    case(f"complex/fourier_{_norm}", smooth=False)(lambda r, n=_norm: (lambda x: (torch.view_as_real(torch.fft.fft(x, norm=n)), torch.view_as_real(torch.fft.rfft2(x, norm=n)), torch.fft.irfft(torch.fft.rfft(x, norm=n), n=x.shape[-1], norm=n),
                                                                              torch.fft.irfft2(torch.fft.rfft2(x)[..., :3] * 2, s=(4, 5), norm=n), torch.fft.ifft2(torch.fft.fft2(x), norm=n).real), r.t(2, 4, r.choice(5, 6))))
case("complex/products", smooth=False)(lambda r: (lambda x, y: (torch.view_as_real(torch.complex(x, y) * torch.polar(y.abs() + 1, x)), torch.complex(x, y).abs(), torch.complex(x, y).angle(), (torch.complex(x, y).conj() @ torch.complex(y, x).mT).real,
                                                                torch.view_as_complex(torch.stack([x, y], -1)).imag, (torch.complex(x, y) / torch.complex(y, x + 3)).sum().real, torch.complex(x, y).exp().mean(0).imag, x.angle().detach()), r.t(3, 4), r.t(3, 4)))

# ---- products, convolutions, pooling -------------------------------------------------------------------------

case("products/matmul")(lambda r: (lambda a, b, v: (a @ b, a[0] @ b[0], a @ v, v @ v, torch.mv(a[0], v), b.transpose(1, 2) @ v), r.t(2, 3, 4), r.t(2, 4, 5), r.t(4)))
case("products/addmm")(lambda r: (lambda c, a, b: (torch.addmm(c, a, b), torch.addmm(c, a, b, beta=0.5, alpha=2), torch.addmm(c, a, b, beta=0), torch.addmm(c[0], a, b)), r.t(3, 5), r.t(3, 4), r.t(4, 5)))
case("products/baddbmm")(lambda r: (lambda c, a, b: (torch.baddbmm(c, a, b, beta=0.5, alpha=2), torch.baddbmm(c[:1], a, b)), r.t(2, 3, 5), r.t(2, 3, 4), r.t(2, 4, 5)))
case("products/others")(lambda r: (lambda m, a, b: (torch.addmv(b, m, a), torch.addr(m, b, a), torch.outer(a, b), torch.dot(a, a), torch.inner(m, a), torch.tensordot(m, m, ([0], [0]))), r.t(3, 4), r.t(4), r.t(3)))
case("products/einsum")(lambda r: (lambda a, b: (torch.einsum("bij,bjk->bik", a, b), torch.einsum("bij,bjk->i", a, b), torch.einsum("bii->b", a[:, :, :3])), r.t(2, 3, 4), r.t(2, 4, 5)))
case("products/integers", False)(lambda r: (lambda a, b: a @ b, r.ids(5, 3, 4), r.ids(5, 4, 2)))
case("products/linear")(lambda r: (lambda x, w, b: (F.linear(x, w, b), F.linear(x, w), F.bilinear(x, x, r_weight(w), b)), r.t(2, 4), r.t(3, 4), r.t(3)))


def r_weight(w):
    return w[:, :, None] * w[:, None, :]


case("products/weight_norm")(lambda r: (lambda v, g: (torch._weight_norm(v, g, 0), torch._weight_norm(v, g.mT, 1)), r.t(3, 3), r.positive(3, 1)))
case("products/attention")(lambda r: (lambda q, k, v: (F.scaled_dot_product_attention(q, k, v), F.scaled_dot_product_attention(q, k, v, is_causal=True),
                                                     F.scaled_dot_product_attention(q, k, v, attn_mask=torch.ones(4, 4, dtype=torch.bool).tril())), r.t(2, 2, 4, 3), r.t(2, 2, 4, 3), r.t(2, 2, 4, 3)))


def _convolution(rank, transposed):
    def make(r):
        groups = r.choice(1, 2)
        channels, features = groups * r.n(1, 2), groups * r.n(1, 2)
        kernel, extent = r.shape(rank, 1, 3), r.shape(rank, 5, 7)
        options = dict(stride=r.shape(rank, 1, 2), padding=r.shape(rank, 0, 1), dilation=r.shape(rank, 1, 2), groups=groups)
        if transposed:
            options["output_padding"] = tuple(r.n(0, max(s, d) - 1) for s, d in zip(options["stride"], options["dilation"]))
        f = getattr(F, f"conv{'_transpose' if transposed else ''}{rank}d")
        weight = r.t(channels, features // groups, *kernel) if transposed else r.t(features, channels // groups, *kernel)
        return (lambda x, w, b: (f(x, w, b, **options), f(x, w, **options))), r.t(2, channels, *extent), weight, r.t(features)
    return make


for _rank in (1, 2, 3):
    case(f"products/conv{_rank}d")(_convolution(_rank, False))
    case(f"products/conv_transpose{_rank}d")(_convolution(_rank, True))
case("products/conv_same")(lambda r: (lambda x, w: (F.conv2d(x, w, padding="same"), F.conv2d(x[0], w)), r.t(2, 2, 6, 5), r.t(3, 2, 2, 3)))


def _pool(rank, kind, tied):
    def make(r):
        kernel = r.shape(rank, 2, 3)
        options = dict(stride=r.choice(None, r.shape(rank, 1, 3)), padding=tuple(r.n(0, k // 2) for k in kernel), ceil_mode=bool(r.n(0, 1)))
        if kind == "max":
            options["dilation"] = r.shape(rank, 1, 2)
        else:
            options["count_include_pad"] = bool(r.n(0, 1))
        f = getattr(F, f"{kind}_pool{rank}d")
        extent = r.shape(rank, 6, 8)
        return (lambda x: f(x, kernel, **options)), (r.tied if tied else r.t)(2, 2, *extent)
    return make


for _rank in (1, 2, 3):
    for _kind in ("max", "avg"):
        case(f"pooling/{_kind}_pool{_rank}d")(_pool(_rank, _kind, False))
    case(f"pooling/max_pool{_rank}d_ties")(_pool(_rank, "max", True))
    case(f"pooling/adaptive_avg_pool{_rank}d")(lambda r, n=_rank: (lambda x: (getattr(F, f"adaptive_avg_pool{n}d")(x, 1), getattr(F, f"adaptive_avg_pool{n}d")(x, 3), getattr(F, f"adaptive_avg_pool{n}d")(x, 4)),
                                                                  r.t(2, 2, *r.shape(n, 6, 7))))
case("pooling/adaptive_max_pool2d")(lambda r: (lambda x: (F.adaptive_max_pool2d(x, 1), F.adaptive_max_pool2d(x, (2, 3))), r.t(2, 2, 4, 6)))
case("pooling/indices", False)(lambda r: (lambda x: F.max_pool2d(x, 2, return_indices=True), r.tied(2, 2, 5, 6)))
case("pooling/lp_pool")(lambda r: (lambda x: F.lp_pool2d(x.abs() + 0.1, 2, 2), r.t(1, 2, 4, 6)))
case("pooling/divisor")(lambda r: (lambda x: F.avg_pool2d(x, 2, divisor_override=3), r.t(1, 2, 4, 6)))

# ---- layers that normalise -----------------------------------------------------------------------------------

case("normalisation/layer_norm")(lambda r: (lambda x, w, b: (F.layer_norm(x, (4,), w, b), F.layer_norm(x, (3, 4))), r.t(2, 3, 4), r.t(4), r.t(4)))
case("normalisation/rms_norm")(lambda r: (lambda x, w: F.rms_norm(x, (4,), w), r.t(2, 3, 4), r.t(4)))
case("normalisation/group_norm")(lambda r: (lambda x, w, b: (F.group_norm(x, 2, w, b), F.group_norm(x, 4)), r.t(2, 4, 3, 3), r.t(4), r.t(4)))
case("normalisation/instance_norm")(lambda r: (lambda x: F.instance_norm(x), r.t(2, 3, 4, 4)))
case("normalisation/batch_norm")(lambda r: (lambda x, w, b: F.batch_norm(x, None, None, w, b, training=True), r.t(4, 3, 5), r.t(3), r.t(3)))
case("normalisation/local_response_norm")(lambda r: (lambda x: F.local_response_norm(x, 3), r.t(2, 4, 3, 3)))
case("normalisation/normalize")(lambda r: (lambda x: (F.normalize(x), F.normalize(x, p=1, dim=0)), r.t(3, 4)))


@case("normalisation/running_statistics")
def _running(r):
    def f(x, w, b, mean, var):
        mean, var = mean.detach().clone(), var.detach().clone()
        trained = F.batch_norm(x, mean, var, w, b, training=True, momentum=0.3)
        return trained, F.batch_norm(x, mean, var, w, b, training=False), mean, var
    return f, r.t(4, 3, 2, 2), r.t(3), r.t(3), r.t(3), r.positive(3)


@case("lists/foreach")
def _foreach(r):
    def f(a, b):
        xs, ys = [a, b], [b * b + 1, a * a + 1]
        zs = torch._foreach_add(xs, ys, alpha=0.5)
        zs = torch._foreach_mul(zs, [0.5, 2.0])
        zs = torch._foreach_div(zs, ys)
        zs = torch._foreach_addcmul(zs, xs, ys, value=0.1)
        torch._foreach_mul_(zs, 3)
        return (*zs, *torch._foreach_norm(xs), *torch._foreach_sqrt(ys), *torch._foreach_lerp(xs, ys, 0.3), *torch._foreach_neg(xs))
    return f, r.t(2, 3), r.t(2, 3)


# ---- linear algebra ------------------------------------------------------------------------------------------

def _regular(r, *batch):
    """Matrices that are far from singular, whose pivots are elsewhere than on the diagonal; now and then in the other order of elements."""
    n = r.n(2, 4)
    order = torch.randperm(n, generator=r.torch)
    a = (r.t(*batch, n, n) * 0.4 + 3 * torch.eye(n, dtype=r.dtype))[..., order, :]
    return a.mT.contiguous().mT if r.choice(True, False) else a


@case("linear algebra/solve", smooth=False)
def _solve(r):
    a, b = _regular(r, 2), _regular(r)
    n, m = a.shape[-1], b.shape[-1]

    def f(a, b, x, y, v):
        return (torch.linalg.solve(a, x), torch.linalg.solve(a.mT, x), torch.linalg.solve(b, v), torch.linalg.solve(b, y, left=False), torch.linalg.inv(a),
                torch.linalg.lu_solve(*torch.linalg.lu_factor(b), y.mT), torch.linalg.lu_solve(*torch.linalg.lu_factor(b), y, left=False, adjoint=True))
    return f, a, b, r.t(2, n, 3), r.t(3, m), r.t(m)


@case("linear algebra/determinants", smooth=False)
def _determinants(r):
    return lambda a, b: (torch.linalg.det(a), torch.linalg.slogdet(b)[1], torch.linalg.det(b), torch.linalg.slogdet(b.mT)[0].detach()), _regular(r, 2), _regular(r)


@case("linear algebra/cholesky", smooth=False)
def _cholesky(r):
    def f(a, b):
        p = a @ a.mT + torch.eye(a.shape[-1], dtype=a.dtype)
        low, up = torch.linalg.cholesky(p), torch.linalg.cholesky(p, upper=True)
        return (low, up, torch.cholesky_solve(b, low), torch.cholesky_solve(b, up, upper=True), torch.cholesky_inverse(low[0]), torch.cholesky_inverse(up[0], upper=True),
                torch.linalg.solve_triangular(low, b, upper=False), torch.linalg.solve_triangular(up, b.mT, upper=True, left=False, unitriangular=True),
                torch.triangular_solve(b, up, transpose=True)[0])
    a = r.t(2, 3, 3)
    return f, a, r.t(2, 3, 3)


@case("linear algebra/factors", smooth=False)
def _factored(r):
    def f(a, b):
        q, u = torch.linalg.qr(b)
        p, low, up = torch.linalg.lu(a)
        own, *others = torch.lu_unpack(*torch.linalg.lu_factor(a))
        return low, up, *others, q, u, torch.linalg.qr(a, mode="complete")[0], p, own, torch.linalg.qr(a[0], mode="r")[1].detach()
    return f, _regular(r, 2), r.t(4, 3)


@case("linear algebra/exponential", smooth=False)
def _exponential(r):
    return lambda a, b: (torch.linalg.matrix_exp(a), torch.linalg.matrix_exp(b - b.mT), torch.linalg.householder_product(b[:, :2], b[0, :2])), r.t(2, 3, 3), r.t(4, 4) * 2
