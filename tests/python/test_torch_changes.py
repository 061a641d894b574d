# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What is done to a model and its optimizer behind transpile() and changes nothing in the program is said, or refused; what is done to them by the program, or does change
something, is not."""

import copy
import os
import random
import warnings

import numpy as np
import pytest
from cases import FIRST

torch = pytest.importorskip("torch", reason="needs PyTorch (scripts/setup.sh --bench)")
from torch import nn  # noqa: E402

import commsched  # noqa: E402
import commsched.torch  # noqa: E402
from commsched.torch import changes  # noqa: E402

pytestmark = pytest.mark.skipif("COMMSCHED_BIN" not in os.environ, reason="COMMSCHED_BIN is not set")
X, Y = torch.randn(8, 3), torch.randn(8, 1)


@pytest.fixture
def trained():
    """(model, optimizer, program) behind a step."""
    torch.manual_seed(FIRST)
    model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Linear(4, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", commsched.MixedSamples)
        with commsched.torch.transpile(model, optimizer, nn.MSELoss(), (X, Y), cluster=1) as program:
            program.run([(X, Y)])
            program.load_into(model, optimizer)
            yield model, optimizer, program


def said(program, **options):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        program.run([(X, Y)] * 2, **options)
    lines = [str(w.message) for w in caught if w.category is commsched.NothingDone]
    assert all("\n" not in line for line in lines)
    return lines


def filled(model, optimizer):
    with torch.no_grad():
        model[2].weight.fill_(0.5)


def stepped(model, optimizer):
    nn.functional.mse_loss(model.eval()(X), Y).backward()
    model.train()
    optimizer.step()


def other_data(model, optimizer):
    model[0].bias.data = torch.zeros(4)


def loaded(model, optimizer):
    model.load_state_dict(copy.deepcopy(model.state_dict()))


def momentum_reset(model, optimizer):
    optimizer.state.clear()


def momentum_set(model, optimizer):
    optimizer.state[model[0].bias]["momentum_buffer"].zero_()


def evaluated(model, optimizer):
    with torch.no_grad():
        model.eval()(X)


def one_module(model, optimizer):
    model[1].eval()


def back_again(model, optimizer):
    evaluated(model, optimizer)
    model.train()


def extended(model, optimizer):
    model.append(nn.Identity())


def replaced(model, optimizer):
    model[1].__class__ = nn.InstanceNorm1d


def rate(model, optimizer):
    optimizer.param_groups[0]["lr"] *= 0.5


def gradients(model, optimizer):
    nn.functional.mse_loss(model(X), Y).backward()
    optimizer.zero_grad()


# What is done: what is said of it; None: nothing.
DONE = {filled: "parameter '2.weight' of the model was changed", stepped: "parameter '0.weight' of the model was changed", other_data: "parameter '0.bias' of the model was changed",
        loaded: "parameter '0.weight' of the model was changed", momentum_reset: "state 'momentum_buffer' of '0.weight' in the optimizer was changed",
        momentum_set: "state 'momentum_buffer' of '0.bias' in the optimizer was changed", evaluated: "the model was in train mode when the step was transpiled, and the step stays so, got: eval mode",
        one_module: "module '1' was in train mode", extended: "module '3' was added to the model since transpile()", replaced: "module '1' was a BatchNorm1d when the step was transpiled, and the step stays so, got: a InstanceNorm1d",
        back_again: None, rate: None, gradients: None, lambda model, optimizer: None: None}


@pytest.mark.parametrize("done", DONE, ids=lambda f: f.__name__)
def test_what_counts_for_nothing_is_said(trained, done):
    model, optimizer, program = trained
    done(model, optimizer)
    lines = said(program)
    assert [DONE[done] in line for line in lines] == ([True] if DONE[done] else []), lines


def test_any_order_of_what_the_program_does_says_nothing(trained):
    model, optimizer, program = trained
    rng = random.Random(FIRST)
    for _ in range(8):
        rng.choice([lambda: program.load_into(model, optimizer), lambda: program.load_into(model), lambda: program.load_into(copy.deepcopy(model)),
                    lambda: program.set_slots(program.slots()), lambda: program.check([(X, Y)]), lambda: program.mlir(workers=4), lambda: None])()
        assert said(program, workers=rng.choice([None, 1, 2])) == []


def test_what_is_frozen_later_is_refused(trained):
    model, _, program = trained
    model[0].weight.requires_grad_(False)
    with pytest.raises(commsched.FrontEndError, match="^requires_grad of '0.weight' must stay True, as it was when the step was transpiled, got: False$"):
        program.run([(X, Y)])
    model[0].weight.requires_grad_(True)
    assert said(program) == []


def test_batches_that_end_are_those_that_were_given(trained):
    program = trained[2]
    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(X[:4], Y[:4]), 8, drop_last=True)
    with pytest.warns(commsched.NothingDone, match="^the step was called for no batch, as batches have none, got: DataLoader$"):
        assert program.run(loader) == []
    with pytest.warns(commsched.NothingDone, match="got: generator; an iterator has its batches once$"):
        assert program.run(b for b in ()) == []


@pytest.mark.parametrize("name, fault, done", [("_mark", lambda tensor: id(tensor), filled), ("_mark", lambda tensor: tensor._version, other_data),
                                                ("_state", lambda optimizer, p: {}, momentum_set), ("_first", lambda old, new: None, evaluated)])
def test_planted_faults_are_found(monkeypatch, trained, name, fault, done):
    model, optimizer, program = trained
    monkeypatch.setattr(changes, name, fault)
    program._seen.written(model, optimizer)
    with pytest.raises(AssertionError):
        test_what_counts_for_nothing_is_said(trained, done)


@pytest.mark.parametrize("resumed", ["nothing", "rate", "scheduler", "another rate"])
def test_rates_of_a_file_that_count_for_nothing_are_said(tmp_path, resumed):
    """Going on from a file: the optimizer and its scheduler are the user's."""
    def begun():
        torch.manual_seed(FIRST)
        model = nn.Linear(3, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.25)
        return optimizer, torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.5), commsched.torch.transpile(model, optimizer, nn.MSELoss(), (X, Y), cluster=1)
    optimizer, scheduler, program = begun()
    with program:
        program.run([(X, Y)] * 3, scheduler=scheduler)
        program.save(tmp_path / "saved")
        last = optimizer.param_groups[0]["lr"]
        states = optimizer.state_dict(), scheduler.state_dict()
    optimizer, scheduler, program = begun()
    with program:
        program.restore(tmp_path / "saved")
        if resumed in ("rate", "another rate"):
            optimizer.param_groups[0]["lr"] = last if resumed == "rate" else 0.7
        elif resumed == "scheduler":
            optimizer.load_state_dict(states[0])
            scheduler.load_state_dict(states[1])
        lines = said(program, scheduler=scheduler)
        assert lines == (["'lr' of the file that was restored, 0.0625, counts for nothing: the step goes on with 0.25, which the optimizer has had since transpile(). "
                          "Give it that rate, and its scheduler the state that it had"] if resumed == "nothing" else []), lines
        assert said(program) == []  # once


class Boosted(torch.optim.Optimizer):
    """By what its groups have, and its defaults have not; counts its steps there, and those of each parameter."""

    def __init__(self, params, read):
        super().__init__(params, {"lr": 0.1})
        self.read = read

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            group["step"] = group.get("step", 0) + 1
            for p in group["params"]:
                if p.grad is not None:
                    self.state[p].setdefault("count", 0)
                    self.state[p]["count"] += 1
                    p.sub_(p.grad * self.read(group) * group["lr"] / group["step"] / self.state[p]["count"])


def boosted(read, **options):
    torch.manual_seed(FIRST)
    model = nn.Linear(3, 1)
    optimizer = Boosted([{"params": list(model.parameters()), "label": "all", **options}], read)
    return model, optimizer, commsched.torch.transpile(model, optimizer, nn.MSELoss(), (X, Y), cluster=1)


@pytest.mark.parametrize("read, options", [(lambda group: group["boost"], {"boost": 1.0}), (lambda group: group.get("boost", 1.0), {"boost": 1.0}), (lambda group: group.get("boost", 1.0), {}),
                                           (lambda group: {**group}.get("boost", 1.0), {"boost": 1.0}), (lambda group: group["boost"][0], {"boost": np.array([1.0, 2.0])})])
def test_options_of_groups_that_are_no_defaults(read, options):
    model, optimizer, program = boosted(read, **options)
    with program:
        assert said(program) == []
        if not isinstance(options.get("boost"), float):
            optimizer.param_groups[0]["label"] = "others"  # which no step reads
        optimizer.param_groups[0]["lr"] = 0.05
        assert said(program) == []
        optimizer.param_groups[0]["boost"] = np.array([0.5, 2.0]) if isinstance(options.get("boost"), np.ndarray) else 0.5
        with pytest.raises(commsched.FrontEndError, match=r"^'boost' of the optimizer's group 0 must stay .*, as it was when the step was transpiled .*, got: .*0\.5") as caught:
            program.run([(X, Y)])
        assert len(str(caught.value).splitlines()) == 1


def test_counts_that_are_changed_are_said():
    model, optimizer, program = boosted(lambda group: 1.0)
    with program:
        program.run([(X, Y)] * 3)
        program.load_into(model, optimizer)
        assert optimizer.param_groups[0]["step"] == optimizer.state[model.weight]["count"] == 3
        assert said(program) == []
        optimizer.param_groups[0]["step"] = 0
        lines = said(program)
        assert len(lines) == 1 and "'step' of the optimizer's group 0 was changed since transpile() or load_into()" in lines[0], lines
        optimizer.param_groups[0]["step"] = 3
        assert said(program) == []
        optimizer.state[model.bias]["count"] = 1
        lines = said(program)
        assert len(lines) == 1 and "state 'count' of 'bias' in the optimizer was changed" in lines[0], lines


def test_modules_that_come_and_go(trained):
    """With parameters and without: each is said in a line, and nothing else happens."""
    model, _, program = trained
    model.append(nn.Linear(1, 1))
    lines = said(program)
    assert len(lines) == 2 and "parameter '3.weight' of the model was changed" in lines[0] and "module '3' was added to the model since transpile()" in lines[1], lines
    del model[3]
    assert said(program) == []
    last = model[2]
    del model[2]
    lines = said(program)
    assert len(lines) == 2 and "parameter '2.weight'" in lines[0] and "module '2' was taken from the model" in lines[1], lines
    model.append(last)
    assert said(program) == []


def test_rates_of_slots_that_count_for_nothing_are_said(trained):
    """Unless the optimizer is given a rate after that."""
    model, optimizer, program = trained
    for given in ({"lr": np.float64(0.5)}, {**program.slots(), "lr": np.asarray(0.5)}):
        program.set_slots(given)
        assert said(program) == ["'lr' that set_slots() was given, 0.5, counts for nothing: the step goes on with 0.1, which the optimizer has. Give it that rate"]
        assert said(program) == [] and program.slots()["lr"] == 0.1
    for rate in (0.5, 0.7, 0.1):
        program.set_slots({"lr": np.float64(0.5)})
        optimizer.param_groups[0]["lr"] = rate
        assert said(program) == [] and program.slots()["lr"] == rate
    program.set_slots(program.slots())
    assert said(program) == []
