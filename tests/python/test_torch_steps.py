# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What belongs to a step of PyTorch beside its layers: optimizers, rates, clipping, tying, halves, dropout, and back."""

import copy
import re
import warnings

import pytest

pytest.importorskip("torch", reason="needs PyTorch (scripts/setup.sh --bench)")

import numpy as np  # noqa: E402
import torch  # noqa: E402
import torch.nn.functional as F  # noqa: E402
from torch import nn  # noqa: E402
from torch.optim import lr_scheduler  # noqa: E402

import commsched  # noqa: E402
import commsched.torch  # noqa: E402
import torch_models as models  # noqa: E402
from torch_training import assert_close, eager, errors, train_both  # noqa: E402

CE = nn.CrossEntropyLoss()


def net(seed=0):
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 3))


def data(seed=0, count=4, samples=8):
    g = torch.Generator().manual_seed(seed)
    return [(torch.randn(samples, 6, generator=g), torch.randint(0, 3, (samples,), generator=g)) for _ in range(count)]


def sgd(model, **options):
    return torch.optim.SGD(model.parameters(), **{"lr": 0.1, "momentum": 0.9, **options})


def adamw(model):
    return torch.optim.AdamW(model.parameters(), lr=0.01)


OPTIMIZERS = {
    "SGD": dict(lr=0.1), "SGD with all": dict(lr=0.1, momentum=0.9, nesterov=True, weight_decay=0.01), "SGD foreach": dict(lr=0.05, momentum=0.5, foreach=True, maximize=True),
    "Adam": dict(lr=0.01), "Adam amsgrad": dict(lr=0.01, amsgrad=True, weight_decay=0.1), "Adam foreach": dict(lr=0.01, foreach=True), "Adam fused": dict(lr=0.01, fused=True),
    "AdamW": dict(lr=0.01), "Adagrad": dict(lr=0.01, lr_decay=0.1, initial_accumulator_value=0.1), "RMSprop": dict(lr=0.001, centered=True, momentum=0.9),
    "Adadelta": dict(lr=0.5), "Adamax": dict(lr=0.01), "NAdam": dict(lr=0.01), "RAdam": dict(lr=0.01), "Rprop": dict(lr=0.01), "ASGD": dict(lr=0.01),
    "Adafactor": dict(lr=0.01),
}


@pytest.mark.parametrize("name", sorted(OPTIMIZERS))
def test_optimizers(name):
    kind = getattr(torch.optim, name.split()[0])
    found, _ = train_both(net(), lambda m: kind(m.parameters(), **OPTIMIZERS[name]), CE, data(count=6), 2)
    assert_close(found, params=2e-6, state=1e-5)


def test_muon(monkeypatch):
    """Without its rounding to bfloat16, of which singular values that are near zero make much."""
    monkeypatch.setattr(torch.Tensor, "bfloat16", lambda self: self)
    torch.manual_seed(0)
    net_ = nn.Sequential(nn.Linear(6, 16, bias=False), nn.ReLU(), nn.Linear(16, 3, bias=False))
    found, _ = train_both(net_, lambda m: torch.optim.Muon(m.parameters(), lr=0.01), CE, data(count=3), 2)
    assert_close(found, params=1e-5, moved=1e-2)


# Those that test_torch_refusals.py has.
REFUSED = {"LBFGS", "SparseAdam"}


def test_every_stock_optimizer_is_here():
    stock = {n for n, kind in vars(torch.optim).items() if isinstance(kind, type) and issubclass(kind, torch.optim.Optimizer)}
    assert stock == {"Optimizer", "Muon", *REFUSED, *[n.split()[0] for n in OPTIMIZERS]}


def test_groups_with_rates_of_their_own_and_a_parameter_without():
    def optimizer(m):
        return torch.optim.AdamW([dict(params=m[0].parameters(), lr=0.02), dict(params=[m[2].weight], weight_decay=0.0)], lr=0.01)
    found, program = train_both(net(), optimizer, CE, data(), 2, lambda o: lr_scheduler.LambdaLR(o, [lambda t: 1 / (t + 1), lambda t: 0.5 ** t]))
    assert_close(found)
    assert program.mlir(0).count("cs.gradient ") == 3  # of "2.bias" there is nothing to send


SCHEDULERS = {
    "tenfold drop": lambda o: lr_scheduler.MultiStepLR(o, [3], 0.1), "cosine": lambda o: lr_scheduler.CosineAnnealingLR(o, 4),
    "warm up from zero": lambda o: lr_scheduler.LambdaLR(o, lambda t: t / 4), "one cycle": lambda o: lr_scheduler.OneCycleLR(o, 0.2, total_steps=8, cycle_momentum=False),
    "in a row": lambda o: lr_scheduler.SequentialLR(o, [lr_scheduler.ConstantLR(o, 0.5, 2), lr_scheduler.ExponentialLR(o, 0.7)], [2]),
}


@pytest.mark.parametrize("optimizer", [sgd, adamw])
@pytest.mark.parametrize("name", sorted(SCHEDULERS))
def test_schedulers(name, optimizer):
    found, _ = train_both(net(), optimizer, CE, data(count=6), 2, SCHEDULERS[name])
    assert_close(found)


STOCK = {
    "LambdaLR": lambda o: lr_scheduler.LambdaLR(o, lambda t: 0.8 ** t), "MultiplicativeLR": lambda o: lr_scheduler.MultiplicativeLR(o, lambda t: 0.7),
    "StepLR": lambda o: lr_scheduler.StepLR(o, 2, 0.5), "MultiStepLR": lambda o: lr_scheduler.MultiStepLR(o, [1, 3], 0.1),
    "ConstantLR": lambda o: lr_scheduler.ConstantLR(o, 0.3, 2), "LinearLR": lambda o: lr_scheduler.LinearLR(o, 0.2, total_iters=3),
    "ExponentialLR": lambda o: lr_scheduler.ExponentialLR(o, 0.5), "PolynomialLR": lambda o: lr_scheduler.PolynomialLR(o, 4, 2.0),
    "CosineAnnealingLR": lambda o: lr_scheduler.CosineAnnealingLR(o, 3), "CosineAnnealingWarmRestarts": lambda o: lr_scheduler.CosineAnnealingWarmRestarts(o, 2),
    "ChainedScheduler": lambda o: lr_scheduler.ChainedScheduler([lr_scheduler.ConstantLR(o, 0.5, 2), lr_scheduler.ExponentialLR(o, 0.7)]),
    "SequentialLR": lambda o: lr_scheduler.SequentialLR(o, [lr_scheduler.ConstantLR(o, 0.5, 2), lr_scheduler.ExponentialLR(o, 0.7)], [2]),
    "CyclicLR": lambda o: lr_scheduler.CyclicLR(o, 0.01, 0.2, 2, cycle_momentum=False),
    "OneCycleLR": lambda o: lr_scheduler.OneCycleLR(o, 0.2, total_steps=6, cycle_momentum=False),
    "SWALR": lambda o: torch.optim.swa_utils.SWALR(o, 0.01, 2),
}


def test_every_stock_scheduler():
    """Works, or is refused; with one program, which goes back to where it began."""
    base = {"LRScheduler", "_LRScheduler", "Optimizer"}
    stock = {n for n, kind in vars(lr_scheduler).items() if isinstance(kind, type) and hasattr(kind, "get_last_lr")} - base
    assert stock | {"SWALR"} == {*STOCK, "ReduceLROnPlateau"}
    model = net()
    optimizer = sgd(model)
    program = commsched.torch.transpile(model, optimizer, CE, data()[0], cluster=2)
    begin = program.slots()

    def again():
        program.set_slots(begin)
        optimizer.param_groups[0].update(lr=0.1, momentum=0.9)
        for key in ("initial_lr", "max_lr", "min_lr", "base_momentum", "max_momentum", "swa_lr"):
            optimizer.param_groups[0].pop(key, None)
    for name, make in STOCK.items():
        again()
        wanted = net()
        other = sgd(wanted)
        theirs = make(other)
        losses = eager(wanted, other, CE, data(count=5), 2, after_step=theirs.step)
        metrics = program.run(data(count=5), scheduler=make(optimizer))
        np.testing.assert_allclose([m["loss"] for m in metrics], losses, atol=5e-6, err_msg=name)
        assert optimizer.param_groups[0]["lr"] == other.param_groups[0]["lr"], name
        for n, p in wanted.named_parameters():
            torch.testing.assert_close(program.params[n], p.detach(), rtol=0, atol=1e-6, msg=name)
    for cycling in (lambda o: lr_scheduler.OneCycleLR(o, 0.2, total_steps=6), lambda o: lr_scheduler.CyclicLR(o, 0.01, 0.2, 2)):
        again()
        with pytest.raises(commsched.FrontEndError, match="'momentum' of the optimizer's group 0 must stay 0.9"):
            program.run(data(count=5), scheduler=cycling(optimizer))
    program.close()


def test_a_rate_between_calls_and_while_steps_are_ahead():
    model, other = net(), net()
    optimizer, wanted = sgd(model), sgd(other)
    program = commsched.torch.transpile(model, optimizer, CE, data()[0], cluster=2)
    plateau, theirs = (lr_scheduler.ReduceLROnPlateau(o, factor=0.1, patience=0, threshold=10.0) for o in (optimizer, wanted))
    for batch in data():
        plateau.step(program.step(batch)["loss"])
        theirs.step(eager(other, wanted, CE, [batch], 2)[0])
    assert optimizer.param_groups[0]["lr"] == wanted.param_groups[0]["lr"] < 0.01
    program.load_into(model, optimizer)
    assert_close(errors(model, optimizer, other, wanted, net()))
    with pytest.raises(commsched.FrontEndError, match="changed while later steps were already under way"):
        for _ in program.stream(data(count=20)):
            optimizer.param_groups[0]["lr"] *= 0.5
    with pytest.raises(commsched.FrontEndError, match="ReduceLROnPlateau needs the metrics"):
        program.run(data(), scheduler=plateau)
    optimizer.param_groups[0]["momentum"] = 0.5
    with pytest.raises(commsched.FrontEndError, match=r"'momentum' of the optimizer's group 0 must stay 0.9.*got: 0.5"):
        program.run(data())
    optimizer.param_groups[0]["momentum"] = 0.9
    optimizer.add_param_group({"params": [nn.Parameter(torch.ones(1))]})
    with pytest.raises(commsched.FrontEndError, match="groups must be those that were transpiled"):
        program.run(data())
    program.close()


def test_clipping():
    def clip(model):
        torch.nn.utils.clip_grad_norm_(model.parameters(), 0.05)

    def by_value(model):
        torch.nn.utils.clip_grad_value_(model.parameters(), 0.01)
    for change in (clip, by_value):
        found, _ = train_both(net(), sgd, CE, data(), 2, before_update=change)
        assert_close(found)


def test_tied_weights():
    torch.manual_seed(0)
    model = models.Encoder(tied=True)
    found, program = train_both(model, lambda m: torch.optim.SGD(m.parameters(), lr=0.1), CE, models.texts(0, 3), 2)
    assert_close(found)
    assert program.mlir(0).count('of "embed.weight"') == 1 and "out.weight" not in program.params


def test_running_statistics_are_means_over_the_workers():
    torch.manual_seed(0)
    found, program = train_both(models.cnn(), sgd, CE, models.images(0, 3), 4)
    assert_close(found)
    assert len(re.findall(r"cs.all_reduce", program.mlir(1))) > 0
    # Left alone in eval mode, of which the step is then made.
    model = models.cnn().eval()
    found, program = train_both(model, sgd, CE, models.images(0, 3), 2)
    assert_close(found)
    np.testing.assert_array_equal(program.state[0]["1.running_mean"], model[1].running_mean)


class Hidden(nn.Module):
    """Puts a token, or a number, that is trained in the place of some samples and values."""

    def __init__(self):
        super().__init__()
        self.net, self.token, self.number = net(), nn.Parameter(torch.randn(6)), nn.Parameter(torch.tensor(0.5))

    def forward(self, x):
        x, hidden = x.clone(), x[:, 0] > 0
        x[x > 1] = self.number
        x[hidden] = self.token
        return self.net(x)


def test_what_is_set_by_a_mask():
    found, program = train_both(Hidden(), sgd, CE, data(), 2)
    assert_close(found)
    assert {"token", "number"} <= program.params.keys()


def test_frozen_parameters():
    model = net()
    model[0].requires_grad_(False)
    found, program = train_both(model, lambda m: sgd(nn.ModuleList([m[2]])), CE, data(), 2)
    assert_close(found)
    assert program.mlir(0).count("cs.gradient ") == 2


def test_mixed_precision():
    def loss(model, x, y):
        with torch.autocast("cpu", torch.bfloat16):
            return F.cross_entropy(model(x), y)
    found, program = train_both(net(), sgd, loss, data(), 2)
    assert "bf16" in program.mlir(0)
    assert_close(found, params=2e-3, state=2e-2, loss=2e-2, moved=2e-2)


def test_parameters_of_halves():
    model = net().to(torch.bfloat16)
    batches = [(x.to(torch.bfloat16), y) for x, y in data()]
    found, _ = train_both(model, sgd, CE, batches, 2)
    assert_close(found, params=2e-2, state=5e-2, loss=2e-2, moved=2e-2)


class Dropped(nn.Module):
    def __init__(self, p):
        super().__init__()
        self.weight, self.drop = nn.Parameter(torch.ones(1000)), nn.Dropout(p)

    def forward(self, x):
        return self.drop(self.weight * x)


def masks(workers, seed, steps=2, p=0.25):
    """What each step's gradient says of the masks, as the mean over the workers."""
    model = Dropped(p)
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    program = commsched.torch.transpile(model, optimizer, lambda m, x: -m(x).sum() / len(x), torch.ones(4, 1000), cluster=workers, seed=seed)
    found, before = [], program.params["weight"]
    for _ in range(steps):
        program.step(torch.ones(4, 1000))
        after = program.params["weight"]
        found.append((after - before).numpy())
        before = after
    state = program.state[-1].numpy().copy()
    program.close()
    return found, state


def test_dropout():
    (first, second), state = masks(1, 0)
    for mask in (first, second):  # of 4 samples, each kept with 3/4 and then 4/3 as large
        levels = np.unique(np.round(mask * 3))
        assert set(levels) <= {0, 1, 2, 3, 4} and len(levels) > 3
        assert abs(mask.mean() - 1) < 0.05
    assert np.mean(first != second) > 0.5
    again, same = masks(1, 0)
    np.testing.assert_array_equal(first, again[0])
    np.testing.assert_array_equal(state, same)
    assert np.mean(masks(1, 1)[0][0] != first) > 0.5
    # With a sample each, workers that drew one mask would leave 0 and 4/3 only.
    many, _ = masks(4, 0)
    assert len(np.unique(np.round(many[0] * 3))) > 3


def test_dropout_without_effect_is_eager_pytorch():
    torch.manual_seed(0)
    found, _ = train_both(models.Encoder(dropout=0.0), lambda m: torch.optim.SGD(m.parameters(), lr=0.1), CE, models.texts(0, 3), 2)
    assert_close(found)


def test_metrics_and_other_batches():
    def loss(model, batch):
        out = model(batch["x"])
        return {"loss": F.cross_entropy(out, batch["y"]), "accuracy": (out.argmax(1) == batch["y"]).float().mean()}
    model = net()
    batches = [{"y": y, "x": x} for x, y in data()]
    program = commsched.torch.transpile(model, sgd(model), loss, batches[0], cluster=2)
    metrics = program.run([{"x": b["x"].numpy(), "y": b["y"]} for b in batches])
    assert [sorted(m) for m in metrics] == [["accuracy", "loss"]] * 4
    with torch.no_grad():
        assert abs(metrics[0]["accuracy"] - (model(batches[0]["x"]).argmax(1) == batches[0]["y"]).float().mean()) < 1e-6
    of_tuples = commsched.torch.transpile(model, sgd(model), CE, data()[0], cluster=2)
    losses = of_tuples.run([list(batch) for batch in data()])  # as a DataLoader makes them
    assert [m["loss"] for m in losses] == [m["loss"] for m in metrics]
    of_tuples.close()
    with pytest.raises(commsched.FrontEndError, match=r"batch 'y' must match int64\[8\], got: int32\[8\]"):
        program.run([{"x": batches[0]["x"], "y": batches[0]["y"].int()}])
    program.close()


@pytest.mark.parametrize("optimizer", [sgd, adamw])
def test_load_into_bit_for_bit(optimizer):
    model = models.cnn()
    mine = optimizer(model)
    program = commsched.torch.transpile(model, mine, CE, models.images(0)[0], cluster=2)
    fresh = copy.deepcopy(model)
    program.load_into(model, mine)  # before the first step: nothing changes
    assert not mine.state and all(torch.equal(a, b) for a, b in zip(model.parameters(), fresh.parameters()))
    program.run(models.images(0, 2))
    other = models.cnn()
    others = optimizer(other)
    program.load_into(other, others)
    slots = program.slots()
    for name, value in [*other.named_parameters(), *other.named_buffers()]:
        np.testing.assert_array_equal(value.detach().numpy(), slots[name])
    for name, p in other.named_parameters():
        for key, value in others.state[p].items():
            np.testing.assert_array_equal(value.numpy(), slots[f"optimizer.{name}.{key}"])
    # Another program goes on from it as the first one does.
    going_on = commsched.torch.transpile(other, others, CE, models.images(0)[0], cluster=2)
    going_on.run(models.images(1, 2))
    program.run(models.images(1, 2))
    for name, value in program.slots().items():
        np.testing.assert_array_equal(value, going_on.slots()[name], err_msg=name)
    with pytest.raises(commsched.FrontEndError, match="parameter '0.weight' of the model must match"):
        program.load_into(net())
    with pytest.raises(commsched.FrontEndError, match="the optimizer must be of type"):
        program.load_into(other, torch.optim.Adagrad(other.parameters()))
    program.close()
    going_on.close()


def test_saving_and_checking(tmp_path):
    model = net()
    optimizer = sgd(model)
    scheduler = lr_scheduler.StepLR(optimizer, 2, 0.1)
    program = commsched.torch.transpile(model, optimizer, CE, data()[0], cluster=2)
    program.check(data(count=1))
    program.run(data(), scheduler=scheduler)
    program.save(tmp_path / "saved")
    slots = program.slots()
    program.run(data(1))
    program.restore(tmp_path / "saved")
    assert program.steps == 4
    for name, value in program.slots().items():
        np.testing.assert_array_equal(value, slots[name])
    program.close()


def test_measured_costs():
    losses = []
    for options in (dict(cluster=2, calibrate=True), dict(cluster=commsched.Cluster(2))):
        model = net()
        with commsched.torch.transpile(model, sgd(model), CE, data()[0], **options) as program, warnings.catch_warnings():
            warnings.simplefilter("error", commsched.GuessedCosts)
            losses.append(program.run(data()))
    assert losses[0] == losses[1]  # a schedule changes no values
    with pytest.raises(commsched.FrontEndError, match="profile must be a file, got: .*none"):
        commsched.torch.transpile(net(), sgd(net()), CE, data()[0], profile="none")


@pytest.mark.parametrize("activation", [torch.nn.ReLU, torch.nn.GELU, torch.nn.LeakyReLU])
def test_check_knows_what_is_computed(activation):
    """Bounds are those of rounding, which a wrong plan would exceed."""
    torch.manual_seed(3)
    model = torch.nn.Sequential(torch.nn.Linear(6, 5), activation(), torch.nn.Linear(5, 3))
    x, y = torch.randn(8, 6), torch.randint(0, 3, (8,))
    program = commsched.torch.transpile(model, torch.optim.SGD(model.parameters(), lr=0.1), torch.nn.CrossEntropyLoss(), (x, y),
                                        cluster=2)
    for row in program.check([(x, y)] * 2):
        assert row.undetermined == row.outside == 0 and row.bound < 1e-4, row
