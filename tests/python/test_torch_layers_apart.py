# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""PyTorch: of ordinary layers it is known that their samples stay apart. Behind each, a mean over the samples is not warned of, and a loss of pairs of
samples is. The reference is PyTorch alone: gradients of the whole batch, and of its parts."""

import copy
import warnings

import pytest

torch = pytest.importorskip("torch", reason="needs PyTorch (scripts/setup.sh --bench)")
import torch.nn.functional as F  # noqa: E402
from torch import nn  # noqa: E402

import commsched  # noqa: E402
import commsched.torch  # noqa: E402
from commsched.frontend import doubling, doubling_rules, mixing_rules, trial  # noqa: E402

N, L, D, PARTS = 6, 5, 4, 2


class Layer(nn.Module):
    """Of (n, L, D), behind a linear layer; `of` takes the modules, and that."""

    def __init__(self, of, *modules):
        super().__init__()
        self.first, self.inner, self.of = nn.Linear(D, D), nn.ModuleList(modules), of

    def forward(self, x):
        return self.of(self.first(x), *self.inner).flatten(1)


def tokens_first(x, m):
    return m(x.transpose(0, 1)).transpose(0, 1)


def pictures(x):
    return x.unsqueeze(1).repeat(1, 2, 1, 1)  # (n, 2, L, D)


LAYERS = {
    "attention": lambda: Layer(lambda x, m: m(x, x, x)[0], nn.MultiheadAttention(D, 2, batch_first=True)),
    "attention, tokens first": lambda: Layer(lambda x, m: tokens_first(x, lambda t: m(t, t, t)[0]), nn.MultiheadAttention(D, 2)),
    "attention, weights": lambda: Layer(lambda x, m: m(x, x, x, need_weights=True)[1], nn.MultiheadAttention(D, 2, batch_first=True)),
    "attention, masked": lambda: Layer(lambda x, m: m(x, x, x, attn_mask=torch.ones(L, L).triu(1).bool(), key_padding_mask=x[..., 0] > 100, need_weights=False)[0], nn.MultiheadAttention(D, 2, batch_first=True)),
    "encoder": lambda: Layer(lambda x, m: m(x), nn.TransformerEncoderLayer(D, 2, 8, dropout=0.0, batch_first=True)),
    "encoder, tokens first": lambda: Layer(tokens_first, nn.TransformerEncoder(nn.TransformerEncoderLayer(D, 2, 8, dropout=0.0, norm_first=True), 2)),
    "decoder": lambda: Layer(lambda x, m: m(x, x[:, :3]), nn.TransformerDecoderLayer(D, 2, 8, dropout=0.0, batch_first=True)),
    "linear, tokens first": lambda: Layer(tokens_first, nn.Linear(D, 3)),
    "tokens in one": lambda: Layer(lambda x, m: m(x.transpose(0, 1).reshape(-1, D)).reshape(L, -1, 3).permute(1, 2, 0), nn.Linear(D, 3)),
    "LSTM": lambda: Layer(lambda x, m: m(x)[0], nn.LSTM(D, 3, batch_first=True)),
    "LSTM, tokens first": lambda: Layer(tokens_first, type("Outputs", (nn.LSTM,), {"forward": lambda self, x: nn.LSTM.forward(self, x)[0]})(D, 3, bidirectional=True)),
    "GRU": lambda: Layer(lambda x, m: m(x)[1].transpose(0, 1), nn.GRU(D, 3, num_layers=2, batch_first=True)),
    "rotary": lambda: Layer(lambda x: torch.stack((-x[..., 1::2], x[..., ::2]), -1).flatten(-2)),
    "repeated": lambda: Layer(lambda x: torch.tile(x, (1, 2, 1)).tanh()),
    "unbound": lambda: Layer(lambda x: sum(t.tanh() for t in x.unbind(1))),
    "convolution": lambda: Layer(lambda x, m: m(pictures(x)), nn.Conv2d(2, 4, 3)),
    "convolution of groups": lambda: Layer(lambda x, m: m(pictures(x)), nn.Conv2d(2, 4, 3, groups=2)),
    "convolution back": lambda: Layer(lambda x, m: m(pictures(x)), nn.ConvTranspose2d(2, 4, 2, stride=2, groups=2)),
    "convolution of tokens": lambda: Layer(lambda x, m: m(x.transpose(1, 2)), nn.Conv1d(D, D, 3, padding=1, groups=D)),
    "norms": lambda: Layer(lambda x, a, b, c: a(x) + b(x) + c(x.transpose(1, 2)).transpose(1, 2), nn.LayerNorm(D), nn.RMSNorm(D), nn.GroupNorm(2, D)),
    "instance norm": lambda: Layer(lambda x, m: m(pictures(x)), nn.InstanceNorm2d(2, affine=True)),
    "pools": lambda: Layer(lambda x: torch.cat([F.max_pool2d(pictures(x), 2).flatten(1), F.avg_pool2d(pictures(x), 2).flatten(1), F.adaptive_avg_pool2d(pictures(x), (2, 3)).flatten(1)], 1)),
    "adaptive maximum": lambda: Layer(lambda x: F.adaptive_max_pool2d(pictures(x), (1, 2))),
    "of one adaptive pool": lambda: Layer(lambda x: F.adaptive_avg_pool1d(x, 1)),
    "folds": lambda: Layer(lambda x: F.fold(F.unfold(pictures(x), 2), (L, D), 2)),
    "interpolated": lambda: Layer(lambda x: F.interpolate(pictures(x), size=(7, 3), mode="bilinear")),
    "nearest": lambda: Layer(lambda x: F.interpolate(pictures(x), scale_factor=2)),
    "sampled": lambda: Layer(lambda x: F.grid_sample(pictures(x), torch.tanh(x[:, :, :2])[:, None], align_corners=False)),
    "shuffled pixels": lambda: Layer(lambda x: F.pixel_shuffle(pictures(x).repeat(1, 2, 1, 1), 2)),
    "frequencies": lambda: Layer(lambda x: torch.fft.ifft(torch.fft.fft(x, dim=1) * 2j, dim=1).imag),
    "real frequencies": lambda: Layer(lambda x: torch.fft.rfft2(x).abs()),
    "complex numbers": lambda: Layer(lambda x: torch.complex(x[..., :2], x[..., 2:]).abs()),
    "sorted": lambda: Layer(lambda x: x.sort(1)[0] * x.topk(2, 2)[0].sum(2, keepdim=True)),
    "running": lambda: Layer(lambda x: x.cumsum(1) + x.tanh().cumprod(2)),
    "taken": lambda: Layer(lambda x: x.gather(1, x.argsort(1))),
    "scattered": lambda: Layer(lambda x: torch.zeros_like(x).scatter_add(1, x.argsort(1), x)),
    "where it is largest": lambda: Layer(lambda x: x[torch.arange(len(x)), x[..., 0].argmax(1)]),
    "rolled": lambda: Layer(lambda x: x.roll(1, 1) * x.flip(2)),
    "windows": lambda: Layer(lambda x: x[:, :4].reshape(-1, 2, 2, D).flatten(0, 1).softmax(1).reshape(len(x), -1)),
    "windows in front": lambda: Layer(lambda x: torch.cat(x[:, :4].chunk(2, 1)).softmax(1).unflatten(0, (2, -1)).transpose(0, 1)),
    "distances": lambda: Layer(lambda x: torch.cdist(x, x[:, :2] + 1)),
    "solved": lambda: Layer(lambda x: torch.linalg.solve(x[:, :4] @ x[:, :4].mT + torch.eye(4), x[:, :4])),
    "products": lambda: Layer(lambda x, m: torch.einsum("nld,nmd->nlm", x, m(x, x)), nn.Bilinear(D, D, D)),
    "special": lambda: Layer(lambda x: torch.lgamma(x ** 2 + 1) + torch.erfinv(x.tanh() / 2)),
    "strided": lambda: Layer(lambda x: x.contiguous().as_strided((len(x), 2, D), (L * D, 2 * D, 1), D)),
    "dropout": lambda: Layer(lambda x, m: m(x), nn.Dropout(0.5)),
}


def mean(m, x):
    return (m(x) ** 2).mean()


def pairs(m, x):
    h = F.normalize(m(x), dim=1)
    return F.cross_entropy(h @ h.T, torch.arange(len(x)))


def gradients(model, loss, x):
    model = copy.deepcopy(model)
    loss(model, x).backward()
    return [p.grad for p in model.parameters() if p.grad is not None]


def warnings_of(make, loss):
    torch.manual_seed(0)
    model, x = make(), torch.randn(N, L, D)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        commsched.torch.transpile(model, torch.optim.SGD(model.parameters(), lr=0.1), loss, x, cluster=PARTS)
    return [w for w in caught if issubclass(w.category, commsched.MixedSamples)]


@pytest.mark.parametrize("loss", [mean, pairs])
@pytest.mark.parametrize("name", LAYERS)
def test_what_is_mixed_behind_a_layer_is_warned_of(name, loss):
    torch.manual_seed(0)
    model, x = LAYERS[name](), torch.randn(N, L, D)
    if name != "dropout":
        parts = [gradients(model, loss, part) for part in x.chunk(PARTS)]
        same = all(torch.allclose(sum(g) / PARTS, w, rtol=1e-3, atol=1e-6) for *g, w in zip(*parts, gradients(model, loss, x)))
        assert same == (loss is mean)
    found = warnings_of(LAYERS[name], loss)
    assert [w.category for w in found] == ([] if loss is mean else [commsched.MixedSamples]), [str(w.message) for w in found]


# What a fault is planted in, and a layer that finds it.
FAULTS = {
    "merged samples are not known": ((doubling, "reshaped", lambda *a: None), "attention", pairs),
    "nothing is tried": ((trial, "differing", lambda *a: None), "solved", pairs),
    "nothing is stacked": ((mixing_rules, "_LINEAR", mixing_rules._LINEAR - {"stack"}), "rotary", pairs),
    "no frequencies": ((doubling_rules, "_RULES", {**doubling_rules._RULES, "fft": lambda *a: None}), "frequencies", pairs),
}


@pytest.mark.parametrize("fault, name, loss", FAULTS.values(), ids=FAULTS)
def test_planted_faults_are_found(monkeypatch, fault, name, loss):
    if fault[1] == "_RULES":
        monkeypatch.setattr(mixing_rules, *fault[1:])
    monkeypatch.setattr(*fault)
    monkeypatch.setattr(trial, "differing", lambda *a: None)
    with pytest.raises(AssertionError):
        test_what_is_mixed_behind_a_layer_is_warned_of(name, loss)
