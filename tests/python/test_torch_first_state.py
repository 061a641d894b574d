# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Optimizers as others write them: state that is made in the first step, counts that are numbers of Python or lie in groups, decisions by these. Each
comes to what it comes to on one device with the whole batch, on any workers, through a file, and goes on in PyTorch; or is refused in one line."""

import copy
import inspect
import math
import random
import warnings

import pytest

pytest.importorskip("torch", reason="needs PyTorch (scripts/setup.sh --bench)")

import torch  # noqa: E402
import torch.nn.functional as F  # noqa: E402
from torch import nn  # noqa: E402

import commsched  # noqa: E402
import commsched.torch  # noqa: E402
from commsched.torch import decisions, first_state, optimizers  # noqa: E402
from torch_training import eager, errors  # noqa: E402


class Drawn(torch.optim.Optimizer):
    """Of Adam's kind. count: where its steps are counted, and how. first: what begins with the first gradient, and how that is told. rule: what it decides
    by the count."""

    COUNTS = ["state number", "state float", "state tensor", "group from 0", "group from 1", "group tensor", "group default"]
    FIRSTS = ["zeros", "gradient", "by the count", "parameter"]
    RULES = ["none", "if", "max", "several", "warm up", "no warm up", "caught"]

    def __init__(self, params, lr=0.02, count="state number", first="zeros", rule="none"):
        super().__init__(params, {"lr": lr, "beta": 0.9, **({"step": 0} if count == "group default" else {})})
        self.count, self.first, self.rule = count, first, rule

    def _counted(self, group):
        if self.count == "group from 0":
            group.setdefault("step", 0)
            group["step"] += 1
        elif self.count == "group from 1":
            group["step"] = group["step"] + 1 if "step" in group else 1
        elif self.count == "group tensor":
            if "step" not in group:
                group["step"] = torch.tensor(0.0)
            group["step"].add_(1)
        elif self.count == "group default":
            group["step"] += 1

    def _now(self, group, state):
        if not self.count.startswith("state"):
            return group["step"].item() if self.count == "group tensor" else group["step"]
        if self.count == "state tensor":
            state["step"].add_(1)
            return state["step"].item()
        state["step"] += 1
        return state["step"]

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            self._counted(group)
            for p in group["params"]:
                if p.grad is None:
                    continue
                state = self.state[p]
                if not state:
                    if self.count.startswith("state"):
                        state["step"] = {"number": 0, "float": 0.0, "tensor": torch.tensor(0.0)}[self.count.split()[1]]
                    state["m"] = torch.zeros_like(p)
                    state["kind"] = "matrix" if p.dim() > 1 else None
                    if self.first == "gradient":
                        state["last"] = p.grad.clone()
                    elif self.first != "zeros":
                        state["last"] = p.clone() if self.first == "parameter" else torch.zeros_like(p)
                n = self._now(group, state)
                if self.first == "by the count" and n == 1:
                    state["last"].copy_(p.grad)
                state["m"].lerp_(p.grad, 1 - group["beta"])
                rate = group["lr"] * math.sqrt(1 - 0.99 ** n) / (1 - group["beta"] ** n)
                if self.rule == "if" and n > 2 or self.rule == "several" and (n == 2 or n > 3):
                    rate = rate * 0.25
                elif self.rule.endswith("warm up"):  # which has no steps in the other one
                    steps = 3 if self.rule == "warm up" else 0
                    rate = rate * (n / steps if n < steps else 1.0)
                elif self.rule == "caught":
                    rate = rate * self.divided(n - 1, n * n - n)
                elif self.rule == "max":
                    rate = max(rate * 0.5, group["lr"] / n)
                p.sub_(state["m"] * 2.0, alpha=rate) if state["kind"] else p.add_(state["m"], alpha=-rate)
                if "last" in state:
                    p.lerp_(state["last"], 0.01)
                    if self.first != "parameter":
                        state["last"].copy_(p.grad)


class Catching(Drawn):
    """Which goes on where it has divided by zero, as it does first."""

    def divided(self, a, b):
        try:
            return a / b
        except ZeroDivisionError:
            return 0.5


def drawn(params, **options):
    return (Catching if options.get("rule") == "caught" else Drawn)(params, **options)


def same(a, b):
    """Of options and counts: types, and values within rounding."""
    if isinstance(a, (tuple, list)):
        return type(a) is type(b) and len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, torch.Tensor) or isinstance(a, float):
        return type(a) is type(b) and bool(torch.as_tensor(a).allclose(torch.as_tensor(b)))
    return type(a) is type(b) and a == b


def compare(make, seed, workers, folder, steps=0, bound=2e-5, **options):
    """Raises what says that they differ, or that it is refused. steps: that were made before transpile()."""
    torch.manual_seed(seed)
    model = nn.Sequential(nn.Linear(3, 2), nn.Tanh(), nn.Linear(2, 1, bias=False))
    batches = [(torch.randn(6, 3), torch.randn(6, 1)) for _ in range(5)]
    mine, theirs = copy.deepcopy(model), copy.deepcopy(model)
    optimizer, wanted = make(mine), make(theirs)
    eager(mine, optimizer, F.mse_loss, batches[:steps])
    eager(theirs, wanted, F.mse_loss, batches[:steps] + batches)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", commsched.GuessedCosts)
        before = str(optimizer.state_dict())
        program = commsched.torch.transpile(mine, optimizer, F.mse_loss, batches[0], cluster=workers, **options)
        assert str(optimizer.state_dict()) == before
        with program:
            program.run(batches[:2])
            program.save(folder / "saved")
            program.run(batches[:1])
            program.restore(folder / "saved")
            program.run(batches[2:4])
            program.load_into(mine, optimizer)
    eager(mine, optimizer, F.mse_loss, batches[4:])  # PyTorch goes on from what it is given
    found = errors(mine, optimizer, theirs, wanted, model)
    assert found["moved"] > 0 and found["params"] <= bound * max(1, found["moved"]) and found["state"] <= 1e-4, found
    for one, other in zip(optimizer.param_groups, wanted.param_groups, strict=True):
        assert one.keys() == other.keys() and all(same(one[k], other[k]) for k in one if k != "params"), (one, other)


def groups(model, draw):
    params = list(model.parameters())
    return params if draw.random() < 0.5 else [{"params": params[:1], "lr": 0.05}, {"params": params[1:]}]


@pytest.mark.parametrize("seed", range(10))
def test_drawn_optimizers(seed, tmp_path):
    draw = random.Random(seed)
    cut = random.Random(seed)
    options = {"count": Drawn.COUNTS[seed % 7], "first": draw.choice(Drawn.FIRSTS), "rule": draw.choice(Drawn.RULES)}

    def make(model):
        cut.seed(seed)
        return drawn(groups(model, cut), **options)
    steps = draw.choice([0, 0, 2])
    # One that begins with the gradient has a step of its own; each parameter that counts for itself decides for itself.
    try:
        compare(make, seed, 1 + seed % 3, tmp_path, steps)
    except commsched.FrontEndError as error:
        assert len(str(error).splitlines()) == 1
        assert options["first"] == "gradient" and not steps and "treats its first step in another way" in str(error), (options, error)
    else:
        assert options["first"] != "gradient" or steps, options


@pytest.mark.parametrize("count", ["state number", "group from 1"])
def test_counts_beside_parameter_servers(count, tmp_path):
    """All servers have them."""
    compare(lambda model: Drawn(model.parameters(), count=count, rule="if"), 1, 2, tmp_path, strategy=commsched.ParameterServers(servers=2))


FAULTS = {
    "a number stays": (optimizers.Copy, "_new_value", lambda own: lambda self, of, entry, old: self._state[entry] if entry.number else own(self, of, entry, old), {}),
    "a count of groups is not given back": (first_state.Entry, "value", lambda own: lambda self, tensor: 0 if self.group is not None else own(self, tensor),
                                            {"count": "group from 1"}),
    "state begins with the gradient": (first_state, "_fit", lambda own: lambda *_: None, {"first": "gradient"}),
    "division by zero is no decision": (decisions, "catches_zero_division", lambda own: lambda kind: False, {"rule": "caught", "count": "group from 0"}),
    "one way only": (decisions, "every_way", lambda own: lambda name, once: own(name, once), {"rule": "if"}),
    "ways are exchanged": (torch, "sym_ite", lambda own: lambda holds, a, b: own(holds, b, a), {"rule": "if"}),
}


@pytest.mark.parametrize("fault", sorted(FAULTS))
def test_faults_are_found(fault, tmp_path, monkeypatch):
    owner, name, made, options = FAULTS[fault]
    if fault == "one way only":
        monkeypatch.setattr(decisions._Taken, "asked", property(lambda self: [], lambda self, value: None), raising=False)
    else:
        monkeypatch.setattr(owner, name, made(getattr(owner, name)))
    with pytest.raises((AssertionError, IndexError)):
        compare(lambda model: drawn(model.parameters(), **options), 0, 1, tmp_path)


def test_decisions_of_many_parameters_are_refused():
    """Each doubles the ways."""
    model = nn.Sequential(*[nn.Linear(2, 2) for _ in range(3)])
    with pytest.raises(commsched.FrontEndError, match="Drawn decides by its count of steps or its rate what it does, in more than 16 ways"):
        commsched.torch.transpile(model, Drawn(model.parameters(), count="state tensor", rule="if"), F.mse_loss, (torch.ones(4, 2), torch.ones(4, 2)))


OPTIONS = {"lr": [0.003, 0.02], "weight_decay": [0.0, 0.1], "betas": [(0.9, 0.99), (0.8, 0.95)], "momentum": [0.0, 0.9], "caution": [False, True],
           "amsgrad": [False, True], "nesterov": [False, True], "foreach": [None, False, True], "maximize": [False, True], "centered": [False, True],
           "decoupled_decay": [False, True], "trust_clip": [False, True], "dampening": [0.0, 0.1], "no_prox": [False, True], "bias_correction": [False, True]}


def drawn_options(kind, draw):
    known = inspect.signature(kind.__init__).parameters
    options = {name: draw.choice(values) for name, values in OPTIONS.items() if name in known and (name == "lr" or draw.random() < 0.4)}
    if "betas" in options and len(known["betas"].default or ()) != 2:
        del options["betas"]
    return options


def kinds(module):
    return [k for n, k in sorted(vars(module).items()) if isinstance(k, type) and issubclass(k, torch.optim.Optimizer) and k is not torch.optim.Optimizer]


# What is no step of a model's gradients alone.
NOT_TRIED = {"LBFGS", "SparseAdam", "Adahessian", "Lookahead", "Kron", "Muon"}
SAYS = ("decides by", "treats its first step in another way", "must be a tensor", "must be a number", "must be one number", "changes '", "changes its attribute", "changes its type", "reads the value", "draws")


def check_kind(kind, seed, folder):
    draw = random.Random(seed)
    options = drawn_options(kind, draw)
    try:
        kind([nn.Parameter(torch.ones(2, 2))], **options)
    except (ValueError, AssertionError):  # which it does not take together
        return
    try:
        compare(lambda model: kind(list(model.parameters()), **options), seed, 1 + seed % 3, folder, draw.choice([0, 0, 1]))
    except commsched.FrontEndError as error:
        assert len(str(error).splitlines()) == 1 and any(s in str(error) for s in SAYS), (options, error)
    except AssertionError as error:
        raise AssertionError((kind.__name__, seed, options)) from error


@pytest.mark.parametrize("kind", [k for k in kinds(torch.optim) if k.__name__ not in NOT_TRIED], ids=lambda k: k.__name__)
def test_those_of_pytorch(kind, tmp_path):
    check_kind(kind, sum(map(ord, kind.__name__)), tmp_path)


def test_those_of_timm(tmp_path):
    timm = pytest.importorskip("timm.optim", reason="needs timm")
    for i, kind in enumerate(k for k in kinds(timm) if k.__name__ not in NOT_TRIED and k.__module__.startswith("timm")):
        check_kind(kind, i, tmp_path)


def _after_transpile(kind, workers, change, count=4, **options):
    """How far the parameters are from eager PyTorch's, where rates are set by `change` between transpile() and the first step."""
    torch.manual_seed(0)
    model, batches = nn.Linear(4, 2), [(torch.randn(6, 4), torch.randn(6, 2)) for _ in range(count)]
    mine, theirs = copy.deepcopy(model), copy.deepcopy(model)
    own, wanted = kind(mine.parameters(), lr=0.02, **options), kind(theirs.parameters(), lr=0.02, **options)
    with commsched.torch.transpile(mine, own, F.mse_loss, batches[0], cluster=workers) as program:
        schedulers = [change(optimizer) for optimizer in (own, wanted)]
        eager(theirs, wanted, F.mse_loss, batches, workers, after_step=schedulers[1].step if schedulers[1] else None)
        program.run(batches, scheduler=schedulers[0])
        program.load_into(mine, own)
    return errors(mine, own, theirs, wanted, model)


def _warm_up(optimizer):
    return torch.optim.lr_scheduler.LambdaLR(optimizer, lambda t: (t + 1) / 4)


@pytest.mark.parametrize("kind", [torch.optim.Rprop, torch.optim.ASGD])
def test_state_that_is_made_of_rates(kind, monkeypatch):
    """In PyTorch it is that of the first step; a program has it from transpile() on."""
    with pytest.raises(commsched.FrontEndError, match=rf"^the rates of {kind.__name__}, which makes its state of them in its first step, must stay \[0.02\] from transpile\(\) to then, got: \[0.005\]"):
        _after_transpile(kind, 1, _warm_up)
    found = _after_transpile(kind, 1, lambda optimizer: torch.optim.lr_scheduler.StepLR(optimizer, 2, 0.5))  # after the first step they may change
    assert found["params"] < 1e-6 < found["moved"] and found["state"] < 1e-5, found
    monkeypatch.setattr(first_state, "_of_rates", lambda *_: False)
    found = _after_transpile(kind, 1, _warm_up)
    assert max(found["params"], found["state"]) > 1e-4, found


@pytest.mark.parametrize("kind", [torch.optim.SGD, torch.optim.Adam, torch.optim.NAdam, torch.optim.Adafactor])
def test_state_that_is_made_of_none(kind):
    found = _after_transpile(kind, 2, _warm_up, **({"momentum": 0.9} if kind is torch.optim.SGD else {}))
    assert found["params"] < 2e-6 < found["moved"], found


@pytest.fixture
def in_double_precision():
    saved = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(saved)


@pytest.mark.parametrize("kind", [torch.optim.RAdam, torch.optim.NAdam, torch.optim.ASGD])
def test_counts_in_double_precision(kind, in_double_precision):
    """Which need no conversion where an update decides by them."""
    found = _after_transpile(kind, 2, lambda optimizer: torch.optim.lr_scheduler.StepLR(optimizer, 2, 0.5), count=7)
    assert found["params"] < 1e-12 and found["state"] < 1e-12 and found["moved"] > 1e-3, found
