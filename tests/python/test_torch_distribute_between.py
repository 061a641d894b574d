# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What is done to gradients between the backward pass and the end of a step of distribute() counts, or is refused: scalers, kept tensors, gradients of no backward pass, steps of
objects. What several ranks are needed for is in torch_distribute_passes.py."""

import contextlib
import functools
import os

import pytest
from cases import FIRST

torch = pytest.importorskip("torch", reason="needs PyTorch (scripts/setup.sh --bench)")
from torch import nn  # noqa: E402

import commsched  # noqa: E402
import commsched.torch  # noqa: E402
from argument_sweep import job_of_one  # noqa: E402
from commsched.torch import first_use  # noqa: E402

pytestmark = pytest.mark.skipif("COMMSCHED_BIN" not in os.environ, reason="COMMSCHED_BIN is not set")


@pytest.fixture
def left():
    """Of optimizers that a test leaves in the middle of a step, nobody is to hear any more."""
    optimizers = []
    yield optimizers
    for optimizer in optimizers:
        optimizer._commsched.gradients.close()


def loops(left, steps=6):
    """A model of three layers, and how many steps to make."""
    torch.manual_seed(FIRST)
    model = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 4), nn.Linear(4, 2))
    optimizer = commsched.torch.distribute(model, torch.optim.RMSprop(model.parameters(), lr=0.1))
    left.append(optimizer)
    return model, list(model.parameters()), optimizer, range(steps)


def test_a_scaler_is_refused(left):
    """At its first step. One that is not enabled does nothing."""
    with job_of_one():
        model, _, optimizer, steps = loops(left)
        for enabled in (False, True):
            scaler = torch.amp.GradScaler("cpu", enabled=enabled)
            for _ in steps:
                optimizer.zero_grad()
                scaler.scale(model(torch.ones(2, 3)).sum()).backward()
                if enabled:
                    with pytest.raises(commsched.FrontEndError, match="^step of a distributed optimizer must not be made by a GradScaler"):
                        scaler.step(optimizer)
                    break
                scaler.step(optimizer)
                scaler.update()
        optimizer.zero_grad()
        model(torch.ones(2, 3)).sum().backward()
        optimizer.step()


@pytest.mark.parametrize("change", [lambda optimizer: optimizer.synchronize(), lambda optimizer: optimizer.state_dict()], ids=["synchronize", "state_dict"])
def test_who_synchronizes_before_the_step_may_change_gradients(change):
    def trained_(ours):
        torch.manual_seed(FIRST)
        model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))
        optimizer, kept = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9), list(model.parameters())
        if ours:
            commsched.torch.distribute(model, optimizer)
        for step in range(7):
            optimizer.zero_grad()
            model(torch.randn(2, 3)).pow(2).sum().backward()
            change(optimizer) if ours else None
            for p in kept:
                p.grad.mul_(0.5)
            optimizer.step()
        if ours:
            optimizer.undistribute()
        return kept
    wanted = trained_(False)
    with job_of_one():
        assert all(map(torch.equal, trained_(True), wanted))


CHANGES = {"written to": lambda p: torch.Tensor.grad.__get__(p).mul_(0.5), "replaced": lambda p: setattr(p, "grad", torch.ones_like(p)), "taken away": lambda p: setattr(p, "grad", None)}


@pytest.mark.parametrize("behind", [False, True], ids=["before the step", "behind it"])
@pytest.mark.parametrize("change", CHANGES)
def test_a_gradient_that_is_changed_while_it_is_averaged_is_refused(change, behind, left, monkeypatch):
    """By who has kept the gradient or sets another one, as it would be lost or a part of the mean; behind a step only what is written to is still of use."""
    monkeypatch.setattr(first_use, "SPREAD", 10.0)
    with job_of_one():
        model, kept, optimizer, steps = loops(left)
        last = False
        with pytest.raises(commsched.RuntimeFailure, match=r"^gradient of '1.weight' must stay as it is while it is averaged, got: another one in step \d; call synchronize") if (
                change == "written to" or not behind) else contextlib.nullcontext():
            for last in (step == steps[-1] for step in steps):
                optimizer.zero_grad()
                model(torch.ones(2, 3)).sum().backward()
                if last and not behind:
                    CHANGES[change](kept[2])
                optimizer.step()
                if last:
                    CHANGES[change](kept[2]) if behind else None
                    optimizer.synchronize()
        assert last


def test_a_parameter_that_is_changed_before_its_update_is_refused(left):
    """In place, by who has kept it: the update would come behind that."""
    with job_of_one():
        model, kept, optimizer, steps = loops(left)
        step = 0
        with pytest.raises(commsched.RuntimeFailure, match=r"^parameter '1.weight' must stay as it is from step\(\) to its update, got: another one, by a tensor that was kept, behind step 3; call"):
            for step in steps:
                optimizer.zero_grad()
                model(torch.ones(2, 3)).sum().backward()
                optimizer.step()
                if step == 3:
                    with torch.no_grad():
                        kept[2].clamp_(-0.1, 0.1)
        assert step == 4
        # Parameters that lie in one tensor are written to where one of them is.
        flat = torch.randn(12)
        model = nn.Module()
        model.one, model.other = nn.Parameter(flat[:6]), nn.Parameter(flat[6:])
        model.forward = lambda x: (x * model.one).sum() + (x * model.other).cos().sum()
        optimizer = commsched.torch.distribute(model, torch.optim.SGD(model.parameters(), lr=0.1))
        for step in steps:
            optimizer.zero_grad()
            model(torch.ones(6)).backward()
            optimizer.step()
        optimizer.undistribute()


def test_gradients_that_no_backward_pass_has_made_are_refused(left):
    with job_of_one():
        for begin in (0, 5):
            model, kept, optimizer, _ = loops(left)
            for step in range(begin):
                optimizer.zero_grad()
                model(torch.ones(2, 3)).sum().backward()
                optimizer.step()
            optimizer.zero_grad()
            for p, gradient in zip(kept, torch.autograd.grad(model(torch.ones(2, 3)).sum(), kept)):
                p.grad = gradient
            with pytest.raises(commsched.RuntimeFailure, match=f"^gradient of '0.weight' must be made by a backward pass outside of no_sync.*got: one of this rank alone in step {begin}$"):
                optimizer.step()
            optimizer.zero_grad()
            with optimizer.no_sync():
                model(torch.ones(2, 3)).sum().backward()
            with pytest.raises(commsched.RuntimeFailure, match="outside of no_sync"):
                optimizer.step()


def test_a_step_of_the_object_is_refused():
    model = nn.Linear(3, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    torch.optim.lr_scheduler.StepLR(optimizer, 2)  # whose own is none
    commsched.torch.transpile(model, optimizer, nn.MSELoss(), (torch.ones(4, 3), torch.ones(4, 2)), cluster=1)
    own = optimizer.step

    @functools.wraps(own)
    def step(closure=None):
        return own(closure)
    optimizer.step = step
    for call in (lambda: commsched.torch.transpile(model, optimizer, nn.MSELoss(), (torch.ones(4, 3), torch.ones(4, 2)), cluster=1), lambda: commsched.torch.distribute(model, optimizer)):
        with pytest.raises(commsched.FrontEndError, match="^step of SGD must be that of its class, got: another one that the object has"):
            call()


def test_gradients_with_a_graph_of_their_own(left, monkeypatch):
    monkeypatch.setattr(first_use, "SPREAD", 10.0)
    with job_of_one():
        model, kept, optimizer, steps = loops(left)
        for _ in steps:
            optimizer.zero_grad()
            model(torch.ones(2, 3)).pow(2).sum().backward(create_graph=True)
            optimizer.step()
        optimizer.synchronize()
    assert all(p.isfinite().all() for p in kept)
