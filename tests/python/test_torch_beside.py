# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a step reads beside its parameters and the batch, and is changed later, is said: eager PyTorch would go on with it, and a program does not. What is no matter is not."""

import copy
import os
import random
import types
import warnings

import pytest
from cases import FIRST

torch = pytest.importorskip("torch", reason="needs PyTorch (scripts/setup.sh --bench)")
import torch.nn.functional as F  # noqa: E402
from torch import nn  # noqa: E402

import commsched  # noqa: E402
import commsched.torch  # noqa: E402
from commsched.torch import beside  # noqa: E402

pytestmark = pytest.mark.skipif("COMMSCHED_BIN" not in os.environ, reason="COMMSCHED_BIN is not set")
GENERATOR = torch.Generator().manual_seed(FIRST)
X, Y = torch.randn(8, 3, generator=GENERATOR), torch.randn(8, 2, generator=GENERATOR)
FACTOR = 1.0


class Scaled(nn.Module):
    """By an attribute and a buffer, which no step writes; `rows` is what a forward pass leaves, and nobody reads."""

    def __init__(self, p=0.0):
        super().__init__()
        self.inner, self.drop, self.norm, self.factor, self.rows = nn.Linear(3, 2), nn.Dropout(p), nn.BatchNorm1d(2), 1.0, 0
        self.register_buffer("scale", torch.ones(2))

    def forward(self, x):
        self.rows = len(x)
        return self.norm(self.drop(self.inner(x))) * self.factor * self.scale


def mse(model, x, y):
    return F.mse_loss(model(x), y)


def buffer_written():
    model = Scaled()
    return model, mse, lambda: model.scale.fill_(0.5), "buffer 'scale' of the model was changed since transpile() or load_into()"


def buffer_replaced():
    model = Scaled()
    return model, mse, lambda: setattr(model, "scale", torch.zeros(2)), "buffer 'scale' of the model"


def buffers_loaded():
    model = Scaled()
    other = {**copy.deepcopy(model.state_dict()), "scale": torch.full((2,), 3.0)}
    return model, mse, lambda: [b.copy_(other[n]) for n, b in model.named_buffers() if n == "scale"], "buffer 'scale' of the model"


def teacher():
    of = nn.Linear(3, 2).requires_grad_(False)
    return Scaled(), lambda model, x, y: F.mse_loss(model(x), of(x)), lambda: of.weight.mul_(0.5), "a tensor [2, 3], which the step reads beside the model, was changed since transpile()"


def teacher_of_the_loaded():
    of = nn.Linear(3, 2).requires_grad_(False)
    other = nn.Linear(3, 2).state_dict()
    return Scaled(), lambda model, x, y: F.mse_loss(model(x), of(x)), lambda: of.load_state_dict(other), "which the step reads beside the model"


def weights():
    each = torch.ones(2)
    return Scaled(), lambda model, x, y: ((model(x) - y) ** 2 * each).mean(), lambda: each.add_(1), "test_torch_beside.py:"


def weight_of_a_criterion():
    loss = nn.HuberLoss(delta=1.0)
    return Scaled(), loss, lambda: setattr(loss, "delta", 0.1), "'delta' of loss_fn was 1.0 when the step was transpiled, and the step stays so, got: 0.1"


def attribute():
    model = Scaled()
    return model, mse, lambda: setattr(model, "factor", 2.0), "'factor' of the model was 1.0"


def tensor_of_a_module():
    model = Scaled()
    model.beside = torch.ones(2)
    return model, lambda model, x, y: mse(model, x, y) * model.beside.mean(), lambda: setattr(model, "beside", torch.zeros(2)), \
        "'beside' of the model was a tensor [2] when the step was transpiled, and the step stays so, got: another one, a tensor [2]"


def dropout():
    model = Scaled()
    return model, mse, lambda: setattr(model.drop, "p", 1.0), "'drop.p' of the model was 0.0 when the step was transpiled, and the step stays so, got: 1.0"


def variable():
    factor = 1.0

    def change():
        nonlocal factor
        factor = 2.0
    return Scaled(), lambda model, x, y: mse(model, x, y) * factor, change, "'factor' of loss_fn was 1.0"


def of_the_module():
    def change():
        global FACTOR
        FACTOR += 1.0
    return Scaled(), lambda model, x, y: mse(model, x, y) * FACTOR, change, "'FACTOR' of loss_fn was "


def factor_of_all():
    return FACTOR


def of_a_helper():
    return Scaled(), lambda model, x, y: mse(model, x, y) * factor_of_all(), of_the_module()[2], "'FACTOR' of loss_fn was "


def namespace():
    options = types.SimpleNamespace(factor=1.0, other=1.0)
    return Scaled(), lambda model, x, y: mse(model, x, y) * options.factor, lambda: setattr(options, "factor", 2.0), "'options.factor' of loss_fn"


def dictionary():
    options = {"factor": 1.0, "other": 1.0}
    return Scaled(), lambda model, x, y: mse(model, x, y) * options["factor"], lambda: options.update(factor=2.0), "'options['factor']' of loss_fn"


def cell():
    factor = [1.0]
    return Scaled(), lambda model, x, y: mse(model, x, y) * factor[0], lambda: factor.__setitem__(0, 2.0), "'factor[0]' of loss_fn"


class Loss:
    def __init__(self):
        self.factor = 1.0

    def __call__(self, model, x, y):
        return mse(model, x, y) * self.factor

    def by_name(self, model, x, y):
        return self(model, x, y) * self.factor


def callable_object():
    loss = Loss()
    return Scaled(), loss, lambda: setattr(loss, "factor", 2.0), "'self.factor' of loss_fn"


def method():
    loss = Loss()
    return Scaled(), loss.by_name, lambda: setattr(loss, "factor", 2.0), "'self.factor' of loss_fn"


CHANGES = [buffer_written, buffer_replaced, buffers_loaded, teacher, teacher_of_the_loaded, weights, weight_of_a_criterion, attribute, tensor_of_a_module, dropout, variable, of_the_module, of_a_helper,
           namespace, dictionary, cell, callable_object, method]


def transpiled(model, loss, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return commsched.torch.transpile(model, torch.optim.SGD(model.parameters(), lr=0.0), loss, (X, Y), **options)


def said(program, **options):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        program.run([(X, Y)], **options)
    lines = [str(w.message) for w in caught if w.category is commsched.NothingDone]
    assert all("\n" not in line for line in lines)
    return lines


def eager(model, loss):
    return float(loss(model(X), Y) if isinstance(loss, nn.Module) else loss(model, X, Y))


@pytest.mark.parametrize("make", CHANGES, ids=lambda f: f.__name__)
def test_what_is_changed_is_said(make):
    torch.manual_seed(FIRST)
    model, loss, change, says = make()
    with transpiled(model, loss, cluster=1) as program:
        assert said(program) == []
        before, wanted = program.metrics[-1]["loss"], eager(copy.deepcopy(model), loss)
        assert abs(before - wanted) < 1e-5
        with torch.no_grad():
            change()
        lines = said(program)
        assert len(lines) == 1 and says in lines[0], lines
        assert program.metrics[-1]["loss"] == before and abs(eager(copy.deepcopy(model), loss) - wanted) > 1e-4  # which is why


def test_before_update_too():
    bound = 1.0
    model = Scaled()
    with transpiled(model, mse, cluster=1, before_update=lambda m: nn.utils.clip_grad_value_(m.parameters(), bound)) as program:
        assert said(program) == []
        bound = 0.1
        lines = said(program)
        assert len(lines) == 1 and "'bound' of before_update was 1.0" in lines[0], lines


def test_what_is_no_matter_says_nothing():
    """In any order, on any workers: what the step itself changes, what it does not read, and what is what it was."""
    calls, unread = 0, types.SimpleNamespace(factor=1.0, other=0)

    def loss(model, x, y):
        nonlocal calls
        calls += 1
        return mse(model, x, y) * unread.factor * torch.tensor([1.0, 1.0]).mean()
    torch.manual_seed(FIRST)
    model = Scaled()

    def evaluated():
        with torch.no_grad():
            loss(model, X, Y)

    def same():
        unread.other += 1
        unread.factor = 2.0
        unread.factor = 1.0
        model.drop.p, model.factor = 0.0, 1.0
    draw = random.Random(FIRST)
    with transpiled(model, loss, cluster=2) as program:
        for _ in range(8):
            draw.choice([evaluated, same, lambda: program.load_into(model), lambda: program.set_slots(program.slots()), lambda: program.mlir(workers=4), lambda: None])()
            assert said(program, workers=draw.choice([None, 1, 2])) == []


FAULTS = {"buffers": ("written", lambda self: None, buffer_written), "tensors": ("reads", lambda self, place, tensor: None, teacher), "numbers of modules": ("_now", lambda self: iter(()), dropout)}


@pytest.mark.parametrize("what", FAULTS)
def test_planted_faults_are_found(what, monkeypatch):
    name, fault, make = FAULTS[what]
    monkeypatch.setattr(beside.Beside, name, fault)
    with pytest.raises(AssertionError):
        test_what_is_changed_is_said(make)


@pytest.mark.parametrize("make", [of_the_module, namespace, dictionary])
def test_planted_faults_in_functions_are_found(make, monkeypatch):
    monkeypatch.setattr(beside, "_names", lambda code: (frozenset(), frozenset(), frozenset()))
    with pytest.raises(AssertionError):
        test_what_is_changed_is_said(make)


def test_a_planted_false_alarm_is_found(monkeypatch):
    monkeypatch.setattr(beside.Beside, "traced", lambda self: self.written())
    with pytest.raises(AssertionError):
        test_what_is_no_matter_says_nothing()
