# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Optimizers whose parameters hang together, as others write them: distribute() refuses them, which updates parameters one by one. Those of PyTorch are taken, with any options, and stay as they are."""

import copy
import random

import pytest

pytest.importorskip("torch", reason="needs PyTorch (scripts/setup.sh --bench)")

import torch  # noqa: E402
import torch.nn.functional as F  # noqa: E402
from torch import nn  # noqa: E402

import commsched  # noqa: E402
import commsched.torch  # noqa: E402
from commsched.torch.one_by_one import check_one_by_one  # noqa: E402


class Own(torch.optim.Optimizer):
    """Gradient descent; `fault` is what its parameters have in common."""

    def __init__(self, params, fault="", lr=0.01):
        super().__init__(params, {"lr": lr, **({"step": 0} if fault == "number" else {"step": torch.zeros(())} if fault == "tensor" else {})})
        self.fault, self.seen = fault, 0

    @torch.no_grad()
    def step(self, closure=None):
        params = [p for group in self.param_groups for p in group["params"] if p.grad is not None]
        factor = 1.0
        if self.fault == "norm":
            factor = 1 / max(1.0, float(torch.stack([p.grad.norm() for p in params]).norm()))
        if self.fault == "attribute":
            self.seen += 1
            factor = 1 / self.seen
        for group in self.param_groups:
            if self.fault == "late number":
                group["step"] = group.get("step", 0) + 1
            if self.fault == "number":
                group["step"] += 1
            if self.fault == "tensor":
                group["step"].add_(1)
            if "step" in group:
                factor = 1 / group["step"]
            for p in group["params"]:
                if p.grad is not None:
                    noise = torch.randn_like(p) if self.fault == "noise" else 0
                    self.state[p]["sum"] = self.state[p].get("sum", 0) + p.grad
                    p.sub_(group["lr"] * factor * (self.state[p]["sum"] + noise))


class Around(torch.optim.Optimizer):
    """Makes the step of another one."""

    def __init__(self, base):
        super().__init__([p for group in base.param_groups for p in group["params"]], {"lr": 0.1})
        self.base, self.param_groups = base, base.param_groups

    def step(self, closure=None):
        self.base.step()


def model_of(draw):
    width = draw.randrange(1, 5)
    return nn.Sequential(nn.Linear(3, width), nn.Linear(width, 4, bias=draw.random() < 0.5), nn.Linear(4, 2))


def groups_of(model, draw):
    """Parameters as an optimizer is given them: all, or in groups."""
    params = list(model.parameters())
    cut = draw.randrange(len(params))
    return params if cut == 0 else [{"params": params[:cut], "lr": 0.02}, {"params": params[cut:]}]


def refused(call):
    with pytest.raises(commsched.FrontEndError) as caught:
        call()
    assert len(str(caught.value).splitlines()) == 1
    return str(caught.value)


@pytest.mark.parametrize("fault, says", [("norm", "got: Own, whose update of one depends on which others are updated with it"),
                                         ("attribute", "depends on which others"), ("noise", "depends on which others"),
                                         ("number", "Own changes 'step' of its parameter groups in a step"),
                                         ("late number", "Own changes 'step'"), ("tensor", "Own changes 'step'")])
def test_parameters_that_hang_together_are_found(fault, says):
    for seed in range(20):
        draw = random.Random(seed)
        model = model_of(draw)
        optimizer = Own(groups_of(model, draw), fault)
        assert says in refused(lambda: check_one_by_one(optimizer))
        check_one_by_one(Own(groups_of(model, draw)))


def test_optimizers_around_others():
    model = nn.Linear(3, 1)
    optimizer = Around(torch.optim.Adam(model.parameters()))
    assert "got: Around, whose attribute 'base' is another one" in refused(lambda: check_one_by_one(optimizer))
    assert "Around must make its step itself, got: one of a Adam in its attribute 'base'" in refused(
        lambda: commsched.torch.transpile(model, optimizer, F.mse_loss, (torch.ones(4, 3), torch.ones(4, 1))))
    assert not optimizer.base.state


optim = torch.optim
OPTIONS = {optim.SGD: {"momentum": [0, 0.9], "nesterov": [False], "weight_decay": [0, 0.1], "dampening": [0, 0.1], "maximize": [False, True], "foreach": [None, True]},
           optim.Adam: {"amsgrad": [False, True], "weight_decay": [0, 0.1], "fused": [None, True]}, optim.AdamW: {"foreach": [None, True], "amsgrad": [False, True]},
           optim.Adagrad: {"lr_decay": [0, 0.1], "initial_accumulator_value": [0, 0.1]}, optim.RMSprop: {"centered": [False, True], "momentum": [0, 0.9]},
           optim.Adadelta: {"rho": [0.9]}, optim.Adamax: {}, optim.NAdam: {"decoupled_weight_decay": [False, True]}, optim.RAdam: {"weight_decay": [0, 0.1]},
           optim.Rprop: {}, optim.ASGD: {"t0": [2, 1e6], "lambd": [1e-4]}, optim.Adafactor: {"d": [1.0], "beta2_decay": [-0.8]}}


@pytest.mark.parametrize("kind", [*OPTIONS, optim.Muon], ids=lambda kind: kind.__name__)
def test_those_of_pytorch_are_taken(kind):
    for seed in range(20):
        draw = random.Random(seed)
        model = model_of(draw)
        if kind is optim.Muon:
            optimizer = kind([p for p in model.parameters() if p.dim() == 2])
        else:
            optimizer = kind(groups_of(model, draw), **{name: draw.choice(values) for name, values in OPTIONS[kind].items()})
        if draw.random() < 0.5:  # in the middle of training, with a scheduler
            torch.optim.lr_scheduler.LinearLR(optimizer)
            model(torch.ones(2, 3)).sum().backward()
            optimizer.step()
        values, state, numbers = copy.deepcopy([*model.parameters()]), str(optimizer.state_dict()), torch.get_rng_state()
        check_one_by_one(optimizer)
        assert all(map(torch.equal, values, model.parameters())) and str(optimizer.state_dict()) == state
        assert torch.equal(numbers, torch.get_rng_state())
