# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""distribute() makes updates within the next forward pass, and they are those of step(): not in the precision, nor the mode, that the forward pass is computed in."""

import contextlib
import os

import pytest
from cases import FIRST

torch = pytest.importorskip("torch", reason="needs PyTorch (scripts/setup.sh --bench)")
from torch import nn  # noqa: E402

import commsched  # noqa: E402
import commsched.torch  # noqa: E402
from argument_sweep import job_of_one  # noqa: E402
from commsched.torch import first_use, gradients, updates  # noqa: E402
from torch_distribute_passes import several_passes  # noqa: E402

pytestmark = pytest.mark.skipif("COMMSCHED_BIN" not in os.environ, reason="COMMSCHED_BIN is not set")


class Replacing(torch.optim.Optimizer):
    """Whose state is another tensor after each step, and is written to in the next one."""

    def __init__(self, params, lr=0.05):
        super().__init__(params, {"lr": lr})

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    state = self.state[p]
                    if "mean" in state:
                        state["mean"].mul_(0.9)
                    state["mean"] = state.get("mean", 0) + p.grad
                    p.sub_(state["mean"] * group["lr"])


OPTIMIZERS = {"Adafactor": lambda p: torch.optim.Adafactor(p, lr=0.05), "AdamW": lambda p: torch.optim.AdamW(p, lr=0.01), "Replacing": Replacing}


def autocast():
    return torch.autocast("cpu", torch.bfloat16)


def trained(ours, kind, forward, validation, step=contextlib.nullcontext):
    torch.manual_seed(FIRST)
    model = nn.Sequential(nn.Linear(12, 40), nn.Tanh(), nn.Linear(40, 40), nn.Tanh(), nn.Linear(40, 1))
    optimizer = OPTIMIZERS[kind](model.parameters())
    if ours:
        commsched.torch.distribute(model, optimizer)
    seen = []
    for number in range(8):
        x = torch.randn(6, 12)
        optimizer.zero_grad()
        with forward():
            loss = (model(x) - x[:, :1]).pow(2).mean()
        loss.backward()
        with step():
            optimizer.step()
        if validation is not None and number % 2:
            with validation():
                seen.append(model(x).float().sum().item())
    if ours:
        optimizer.undistribute()
    return seen, [p.detach().clone() for p in model.parameters()]


CASES = [("Adafactor", autocast, None), ("Adafactor", contextlib.nullcontext, autocast), ("Adafactor", autocast, torch.inference_mode), ("AdamW", contextlib.nullcontext, torch.inference_mode),
         ("Replacing", contextlib.nullcontext, torch.inference_mode), ("Replacing", autocast, torch.no_grad)]


def compare(kind, forward, validation, **options):
    wanted = trained(False, kind, forward, validation, **options)
    with job_of_one():
        found = trained(True, kind, forward, validation, **options)
    assert found[0] == wanted[0]
    assert all(map(torch.equal, found[1], wanted[1])), max(float((a - b).abs().max()) for a, b in zip(found[1], wanted[1]))


@pytest.mark.parametrize("kind, forward, validation", CASES)
def test_updates_are_those_of_step(kind, forward, validation):
    compare(kind, forward, validation)


def test_a_step_in_autocast_is_one():
    """As PyTorch makes it there, which is another one."""
    compare("Adafactor", contextlib.nullcontext, None, step=autocast)
    plain, other = (trained(False, "Adafactor", contextlib.nullcontext, None, step=step)[1] for step in (contextlib.nullcontext, autocast))
    assert not all(map(torch.equal, plain, other))


@pytest.mark.parametrize("case", [CASES[0], CASES[4]], ids=str)
def test_planted_faults_are_found(case, monkeypatch):
    monkeypatch.setattr(updates, "_as_stepped", lambda autocast: contextlib.nullcontext())
    with pytest.raises((AssertionError, RuntimeError)):
        compare(*case)


@pytest.mark.parametrize("begin", [0, 2, 5])
def test_what_is_thawed_later_is_refused(begin):
    """Nobody would send its gradients, or update it."""
    torch.manual_seed(FIRST)
    model = nn.Sequential(nn.Linear(3, 4).requires_grad_(False), nn.Linear(4, 2), nn.Linear(2, 1).requires_grad_(False))
    with job_of_one():
        optimizer = commsched.torch.distribute(model, torch.optim.SGD(model.parameters(), lr=0.1))
        for step in range(7):
            if step == begin:
                model[0].bias.requires_grad_(True)
            optimizer.zero_grad()
            model(torch.ones(2, 3)).sum().backward()
            if step == begin:
                with pytest.raises(commsched.RuntimeFailure, match=f"^parameter '0.bias' must require a gradient when distribute\\(\\) is called, or never, got: a gradient in step {begin}$"):
                    optimizer.step()
                break
            optimizer.step()


def several(monkeypatch):
    """Steps of several backward passes, whose gradients go together; torch_distribute_cases.py has them on two ranks."""
    monkeypatch.setattr(first_use, "SPREAD", 10.0)
    for seed in range(FIRST, FIRST + 6):
        with job_of_one():
            several_passes(seed, True, 0)


def test_steps_of_several_backward_passes(monkeypatch):
    several(monkeypatch)


def test_passes_that_are_not_completed_are_found(monkeypatch):
    monkeypatch.setattr(gradients.Gradients, "_complete", lambda self, everywhere=False: None)
    with pytest.raises(commsched.RuntimeFailure, match="must have a gradient in every step or in none|must stay as it is while it is averaged"):
        several(monkeypatch)
