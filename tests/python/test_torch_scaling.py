# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Loss scaling by GradScaler, autocast, and accumulation of gradients, beside eager PyTorch."""

import copy

import pytest

pytest.importorskip("torch", reason="needs PyTorch (scripts/setup.sh --bench)")

import numpy as np  # noqa: E402
import torch  # noqa: E402
import torch.nn.functional as F  # noqa: E402
from torch import nn  # noqa: E402

import commsched  # noqa: E402
import commsched.torch  # noqa: E402
import torch_models as models  # noqa: E402
from torch_training import assert_close, errors  # noqa: E402

CE = nn.CrossEntropyLoss()
SCALER = dict(init_scale=2.0 ** 16, growth_interval=3, growth_factor=4.0, backoff_factor=0.25)
OPTIMIZERS = {"sgd": lambda m: torch.optim.SGD(m.parameters(), lr=0.05, momentum=0.9),
              "adamw": lambda m: torch.optim.AdamW(m.parameters(), lr=1e-3, eps=1e-6)}


def net(seed=0):
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 3))


def data(seed=0, count=6, samples=8):
    g = torch.Generator().manual_seed(seed)
    return [(torch.randn(samples, 6, generator=g), torch.randint(0, 3, (samples,), generator=g)) for _ in range(count)]


def clip(model):
    nn.utils.clip_grad_norm_(model.parameters(), 0.5)


def eager(model, optimizer, scaler, loss, batches, workers, accumulate=1, change=None):
    """As each worker does it; gradients are means over them. Returns losses, and scales after each step."""
    losses, scales = [], []
    for batch in batches:
        gradients, values, rows = [], [], len(batch[0]) // workers // accumulate
        for w in range(workers):
            optimizer.zero_grad()
            for i in range(w * accumulate, (w + 1) * accumulate):
                value = loss(model, *[t[i * rows:(i + 1) * rows] for t in batch])
                scaler.scale(value / accumulate).backward()
                values.append(value.item())
            gradients.append([p.grad.clone() for p in model.parameters()])
        for p, *of in zip(model.parameters(), *gradients):
            p.grad = sum(of) / workers
        scaler.unscale_(optimizer)
        if change is not None:
            change(model)
        scaler.step(optimizer)
        scaler.update()
        losses.append(np.mean(values))
        scales.append(scaler.get_scale())
    return losses, scales


def both(optimizer, loss, batches, workers=2, accumulate=1, change=None):
    """(errors, scales of ours, scales of eager PyTorch, whether the scalers' states are equal)."""
    model, scaler = net(), torch.amp.GradScaler("cpu", **SCALER)
    program = commsched.torch.transpile(model, OPTIMIZERS[optimizer](model), loss, batches[0], cluster=workers, scaler=scaler,
                                        before_update=change, accumulate=accumulate)
    losses, scales = [], []
    for batch in batches:
        losses.append(program.step(batch)["loss"])
        scales.append(program.state[3]["scale"].item())
    mine, theirs = copy.deepcopy(model), copy.deepcopy(model)
    own, other, wanted = OPTIMIZERS[optimizer](mine), torch.amp.GradScaler("cpu", **SCALER), OPTIMIZERS[optimizer](theirs)
    program.load_into(mine, own, other)
    program.close()
    eagers, expected = eager(theirs, wanted, scaler, loss, batches, workers, accumulate, change)
    found = errors(mine, own, theirs, wanted, model)
    found["loss"] = max(0.0 if not np.isfinite(b) else abs(a - b) for a, b in zip(losses, eagers))
    assert [np.isfinite(a) for a in losses] == [np.isfinite(b) for b in eagers]
    return found, scales, expected, other.state_dict() == scaler.state_dict()


@pytest.mark.parametrize("optimizer, workers, accumulate", [("sgd", 1, 1), ("adamw", 2, 2)])
def test_scaler_leaves_out_steps_that_are_not_finite(optimizer, workers, accumulate):
    """In float32, where nothing but the scale is rounded otherwise; on one worker only the gradients are infinite."""
    batches = data()
    for i, value in ((1, float("inf")), (5, float("nan"))):
        batches[i][0][5] = value
    found, scales, expected, same = both(optimizer, lambda m, x, y: F.cross_entropy(m(x), y), batches, workers, accumulate,
                                         None if workers == 1 else clip)
    assert_close(found)
    assert scales == expected == [2.0 ** n for n in (16, 14, 14, 14, 16, 14)] and same


@pytest.mark.parametrize("dtype, optimizer", [(torch.float16, "sgd"), (torch.bfloat16, "adamw")])
def test_autocast_with_a_scaler(dtype, optimizer):
    """What is infinite in float16 is not in bfloat16. Halves are rounded in another order than eager PyTorch does it."""
    def loss(model, x, y):
        with torch.autocast("cpu", dtype):
            return F.cross_entropy(model(x), y)
    batches = data()
    batches[2][0][5] = 1e6 if dtype == torch.float16 else 1.0
    found, scales, expected, same = both(optimizer, loss, batches, change=clip)
    fine = dtype == torch.float16
    assert_close(found, params=2e-4 if fine else 4e-3, state=5e-4 if fine else 5e-3, loss=1e-3 if fine else 1e-2)
    assert scales == expected and same
    assert (scales[2] < scales[1]) == fine


def test_what_a_scaler_must_be():
    def made(scaler, model=None):
        model = net() if model is None else model
        return commsched.torch.transpile(model, OPTIMIZERS["sgd"](model), CE, data()[0], cluster=2, scaler=scaler)
    with pytest.raises(commsched.FrontEndError, match="scaler must be a torch.amp.GradScaler, got: float"):
        made(2.0)
    with pytest.raises(commsched.FrontEndError, match="parameters must be float32 with a scaler"):
        made(torch.amp.GradScaler("cpu"), net().half())
    disabled = made(torch.amp.GradScaler("cpu", enabled=False))  # as eager PyTorch: it does nothing
    assert "scaler.scale" not in disabled.slots()
    with pytest.raises(commsched.FrontEndError, match="made without a scaler"):
        disabled.load_into(net(), scaler=torch.amp.GradScaler("cpu"))
    disabled.close()
    scaler = torch.amp.GradScaler("cpu", **SCALER)
    program = made(scaler)
    scaler.set_growth_interval(7)
    with pytest.raises(commsched.FrontEndError, match="'growth_interval' of the scaler must stay 3.*got: 7"):
        program.run(data())
    program.close()


def test_a_scaler_within_the_functions_is_refused():
    """Its scale would be a constant, and what it finds be lost."""
    scaler, model = torch.amp.GradScaler("cpu"), net()
    optimizer = OPTIMIZERS["sgd"](model)
    for options in (dict(loss_fn=lambda m, x, y: scaler.scale(CE(m(x), y))),
                    dict(loss_fn=CE, before_update=lambda m: scaler.unscale_(optimizer))):
        with pytest.raises(commsched.FrontEndError, match="scaler=") as caught:
            commsched.torch.transpile(model, optimizer, example_batch=data()[0], cluster=2, **options)
        assert len(str(caught.value).splitlines()) == 1


def test_a_scaler_is_saved_and_gone_on_from(tmp_path):
    def made():
        model = net()
        return commsched.torch.transpile(model, OPTIMIZERS["adamw"](model), CE, data()[0], cluster=2,
                                         scaler=torch.amp.GradScaler("cpu", **SCALER))
    with made() as first, made() as second:
        first.run(data(count=3))
        first.save(tmp_path / "saved")
        second.restore(tmp_path / "saved")
        for program in (first, second):
            program.run(data(1))
        assert second.state[3]["scale"] == first.state[3]["scale"] == SCALER["init_scale"] * 4.0 ** 3
        for name, value in first.slots().items():
            np.testing.assert_array_equal(value, second.slots()[name], err_msg=name)
        # What a scaler has come to is where another program begins.
        model, scaler = net(), torch.amp.GradScaler("cpu", **SCALER)
        first.load_into(model, scaler=scaler)
        third = commsched.torch.transpile(model, OPTIMIZERS["adamw"](model), CE, data()[0], cluster=2, scaler=scaler)
        assert third.state[3] == first.state[3]
        third.close()


def test_accumulation(workers=2, parts=2):
    """A mean over the parts; running statistics go from part to part."""
    torch.manual_seed(0)
    model, batches = models.cnn(), models.images(0, 2, 8)
    own = copy.deepcopy(model)
    accumulated = commsched.torch.transpile(own, OPTIMIZERS["sgd"](own), CE, batches[0], cluster=workers, accumulate=parts)
    metrics = accumulated.run(batches)
    accumulated.load_into(own)
    mine = copy.deepcopy(model)
    optimizer = OPTIMIZERS["sgd"](mine)
    for batch, m in zip(batches, metrics):
        start = [b.clone() for b in mine.buffers()]
        sums, ends, losses = [torch.zeros_like(p) for p in mine.parameters()], [], []
        for w in range(workers):
            for b, s in zip(mine.buffers(), start):
                b.data.copy_(s)
            for x, y in zip(*[t.chunk(workers)[w].chunk(parts) for t in batch]):
                optimizer.zero_grad()
                loss = CE(mine(x), y)
                loss.backward()
                losses.append(loss.item())
                for s, p in zip(sums, mine.parameters()):
                    s += p.grad / (parts * workers)
            ends.append([b.clone() for b in mine.buffers()])
        for p, s in zip(mine.parameters(), sums):
            p.grad = s
        for b, *of in zip(mine.buffers(), *ends):
            b.data.copy_(sum(of) / workers if b.is_floating_point() else of[0])
        optimizer.step()
        assert abs(m["loss"] - np.mean(losses)) < 1e-5
    for (name, a), b in zip([*own.named_parameters(), *own.named_buffers()], [*mine.parameters(), *mine.buffers()]):
        torch.testing.assert_close(a, b, rtol=1e-5, atol=2e-6, msg=name)
    assert accumulated.mlir(0).count("cs.gradient ") == len(list(own.parameters()))
    accumulated.close()


def test_what_accumulate_must_be():
    def made(**options):
        model = net()
        commsched.torch.transpile(model, OPTIMIZERS["sgd"](model), CE, data()[0], cluster=2, **options)
    for value in (0, True, 2.0):
        with pytest.raises(commsched.FrontEndError, match="accumulate must be an integer of at least 1"):
            made(accumulate=value)
    with pytest.raises(commsched.FrontEndError, match="the 4 samples of a worker must be divisible by accumulate, got: 3"):
        made(accumulate=3)
