# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What of PyTorch is refused: each with one line that says what, and where."""

import inspect

import pytest

pytest.importorskip("torch", reason="needs PyTorch (scripts/setup.sh --bench)")

import torch  # noqa: E402
import torch.nn.functional as F  # noqa: E402
from torch import nn  # noqa: E402

import commsched  # noqa: E402
import commsched.torch  # noqa: E402

X, Y = torch.randn(4, 3), torch.randn(4, 1)


def sgd(model):
    return torch.optim.SGD(model.parameters(), lr=0.1)


def refused(loss, model=None, batch=(X, Y), optimizer=sgd, kind=commsched.FrontEndError, **options):
    model = model or nn.Linear(3, 1)
    with pytest.raises(kind) as caught:
        commsched.torch.transpile(model, optimizer(model), loss, batch, **options)
    text = str(caught.value)
    assert len(text.splitlines()) == 1
    return text


def line(function, words):
    """"file:line" of the line of a function that has these words."""
    lines, start = inspect.getsourcelines(function)
    (found,) = [i for i, text in enumerate(lines) if words in text]
    return f"test_torch_refusals.py:{start + found}"


def test_an_operation_without_a_rule():
    def loss(model, x, y):
        return torch.linalg.eigvalsh(model.weight.T @ model.weight).mean()
    text = refused(loss, kind=commsched.UnsupportedOp)
    assert "aten._linalg_eigh" in text and line(loss, "eigvalsh") in text


def test_the_gradient_of_an_operation_without_a_rule():
    def loss(model, x, y):
        return torch.ops.aten.embedding_bag(model.weight, torch.tensor([0, 0, 0]), torch.tensor([0, 1]))[0].mean()
    text = refused(loss, kind=commsched.UnsupportedOp)
    assert "aten._embedding_bag" in text and line(loss, "embedding_bag") in text


def test_control_flow_that_depends_on_data():
    def loss(model, x, y):
        out = model(x)
        if out.sum() > 0:
            out = -out
        return F.mse_loss(out, y)
    text = refused(loss)
    assert "depend on the data" in text and line(loss, "if out.sum") in text


def test_shapes_that_depend_on_data():
    def loss(model, x, y):
        out = model(x)
        return out[out > 0].sum()
    text = refused(loss)
    assert line(loss, "out[out > 0]") in text and "depend" in text and "in place of x[mask].mean() write torch.where(mask, x, 0).sum() / mask.sum()" in text
    assert "in place of x[mask]" not in refused(lambda model, x, y: model(x)[y.nonzero()[:, 0]].mean())


def test_what_comes_to_the_same_as_a_mask():
    """As the line says, with its gradients."""
    x, mask, y = torch.randn(9, 4, requires_grad=True), torch.arange(9) % 3 > 0, torch.arange(9) % 4
    loss = F.cross_entropy(x, y, reduction="none")
    for one, other in ((loss[mask].mean(), torch.where(mask, loss, 0).sum() / mask.sum()), (F.cross_entropy(x[mask], y[mask]), F.cross_entropy(x, y.masked_fill(~mask, -100)))):
        assert torch.allclose(one, other) and torch.allclose(*(torch.autograd.grad(v, x, retain_graph=True)[0] for v in (one, other)))


def test_lengths_that_depend_on_data():
    """A shape that is made of an element of a tensor, as that of packed sequences is."""
    def loss(model, x, y):
        packed = nn.utils.rnn.pack_padded_sequence(x.unsqueeze(2), y.squeeze(1).abs().long() + 1, batch_first=True, enforce_sorted=False)
        return model(packed)[1].mean()
    text = refused(loss, nn.GRU(1, 2, batch_first=True))
    assert "depend on the data" in text and line(loss, "model(packed)") in text


def test_weights_that_are_reached_in_another_way():
    model = nn.Linear(3, 1)
    own = list(model.parameters())

    def loss(model, x, y):
        return F.mse_loss(model(x), y) + sum(p.pow(2).sum() for p in own)
    assert "the step reads 'weight' otherwise than through the model" in refused(loss, model)

    def clip(_):
        torch.nn.utils.clip_grad_norm_(own, 0.1)
    assert "the gradient of 'weight'" in refused(nn.MSELoss(), model, before_update=clip)
    stranger = torch.ones(1, requires_grad=True)
    assert "requires a gradient and is no parameter" in refused(lambda m, x, y: F.mse_loss(m(x) * stranger, y))


def test_state_that_is_no_buffer():
    class Counting(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear, self.count = nn.Linear(3, 1), torch.zeros(1)

        def forward(self, x):
            self.count += 1
            return self.linear(x)
    text = refused(nn.MSELoss(), Counting())
    assert "changes a tensor that is no parameter or buffer" in text and line(Counting.forward, "self.count += 1") in text


def test_optimizers_that_are_no_fixed_graph():
    assert "LBFGS needs a closure" in refused(nn.MSELoss(), optimizer=lambda m: torch.optim.LBFGS(m.parameters()))
    assert "SparseAdam does not support dense gradients" in refused(nn.MSELoss(), optimizer=lambda m: torch.optim.SparseAdam(list(m.parameters())))
    assert "SGD treats its first step in another way than the others: make that before transpile()" in refused(nn.MSELoss(), optimizer=lambda m: torch.optim.SGD(m.parameters(), 0.1, 0.9, 0.1))
    assert "has a parameter [1] that the model has not" in refused(nn.MSELoss(), optimizer=lambda m: torch.optim.SGD([nn.Parameter(torch.ones(1))], 0.1))


class Signs(torch.optim.Optimizer):
    """With options in attributes, as many optimizers of others have them."""

    def __init__(self, params, lr=0.01, scale=2.0, counts=False):
        super().__init__(params, {"lr": lr})
        self.scale, self.counts, self.seen, self.history = scale, counts, 0, []

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            for p in group["params"]:
                p.add_(p.grad.sign(), alpha=-group["lr"] * self.scale)
        if self.counts == "number":
            self.seen += 1
        if self.counts == "list":
            self.history.append(self.seen)


def test_attributes_of_an_optimizer():
    for counts in ("number", "list"):
        text = refused(F.mse_loss, optimizer=lambda model: Signs(model.parameters(), counts=counts))
        assert "Signs changes its attribute '" + ("seen" if counts == "number" else "history") in text
    model = nn.Linear(3, 1)
    own, optimizer = [p.detach().clone().requires_grad_() for p in model.parameters()], Signs(model.parameters())
    F.mse_loss(F.linear(X, *own), Y).backward()
    Signs(own).step()
    program = commsched.torch.transpile(model, optimizer, F.mse_loss, (X, Y))
    program.step((X, Y))
    assert all(torch.allclose(a, b, atol=1e-6) for a, b in zip(program.params.values(), own))
    program.close()


def test_hooks_of_an_optimizer():
    for register in ("register_step_pre_hook", "register_step_post_hook"):
        def hooked(model):
            optimizer = sgd(model)
            getattr(optimizer, register)(lambda *_: None)
            return optimizer
        assert "SGD has hooks on its step" in refused(F.mse_loss, optimizer=hooked)


class Frozen(dict):
    """A configuration that refuses changes."""

    def update(self, *_, **__):
        raise TypeError("frozen")

    clear = pop = __setitem__ = update


def test_containers_that_refuse_changes():
    model = nn.Linear(3, 1)
    model.config = Frozen(width=3)
    commsched.torch.transpile(model, sgd(model), F.mse_loss, (X, Y)).close()
    assert model.config == {"width": 3}


def test_arguments():
    assert "model must be a torch.nn.Module" in refused(nn.MSELoss(), model=lambda x: x, optimizer=lambda m: sgd(nn.Linear(1, 1)))
    assert "optimizer must be a torch.optim.Optimizer, got: int" in refused(nn.MSELoss(), optimizer=lambda m: 3)
    assert "a tuple of the model's inputs and a target" in refused(nn.MSELoss(), batch=X)
    assert "4 samples of the batch are not divisible by 3 workers" in refused(nn.MSELoss(), cluster=3)
    assert "one number of samples, got: [2, 4]" in refused(nn.MSELoss(), batch=(X, Y[:2]))
    assert "must be a tensor, got: int" in refused(nn.MSELoss(), batch=(X, 3))
    assert "loss_fn must return a loss" in refused(lambda m, x, y: 3)
    assert "'loss' is a tensor [4, 1]" in refused(lambda m, x, y: m(x))
    assert "depends on no parameter" in refused(lambda m, x, y: y.sum())
    assert "metric 'hits' must be floating point" in refused(lambda m, x, y: {"loss": m(x).sum(), "hits": (m(x) > 0).sum()})
    assert "Embedding(sparse=True)" in refused(lambda m, x: m(x).sum(), nn.Embedding(4, 2, sparse=True), torch.zeros(4, dtype=torch.int64))
    assert "hooks on its gradient" in refused(nn.MSELoss(), hooked())
    for register in ("register_hook", "register_post_accumulate_grad_hook"):  # within the step
        assert "'weight' has hooks on its gradient" in refused(lambda m, x, y: (getattr(m.weight, register)(lambda g: None), F.mse_loss(m(x), y))[1])
    assert "int16" in refused(nn.MSELoss(), batch=(X.to(torch.int16), Y))


def hooked():
    model = nn.Linear(3, 1)
    model.weight.register_hook(lambda g: g * 2)
    return model


def test_an_error_of_the_model_itself():
    def loss(model, x, y):
        return model(x.t()).sum()
    text = refused(loss)
    assert line(loss, "model(x.t())") in text and "cannot be traced" in text


def test_what_would_make_workers_drift_apart():
    class Last(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = nn.Linear(3, 1)
            self.register_buffer("last", torch.zeros(1, dtype=torch.int64))

        def forward(self, x):
            self.last.fill_(0).add_((x.sum() > 0).long())
            return self.linear(x)
    assert "last" in refused(nn.MSELoss(), Last(), cluster=2, kind=commsched.RefusedProgram)


def test_conversions_of_modules():
    class Converting(nn.Module):
        def __init__(self, dtype):
            super().__init__()
            self.linear, self.dtype = nn.Linear(3, 1), dtype

        def forward(self, x):
            return self.linear.to(self.dtype)(x)
    assert "must not convert a module whose 'weight' is torch.float32" in refused(nn.MSELoss(), Converting(torch.float64))
    assert line(Converting.forward, "self.linear.to") in refused(nn.MSELoss(), Converting(torch.float64))
    model = Converting(torch.float32)
    with commsched.torch.transpile(model, sgd(model), nn.MSELoss(), (X, Y), cluster=2) as program:
        assert "cs.gradient" in program.mlir(0)


def unfit(forward, state=None, **options):
    """What is said of a model with this forward(self, x) and attributes."""
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = nn.Linear(3, 1)
            for name, value in (state or {}).items():
                setattr(self, name, value)
    Model.forward = forward
    return refused(nn.MSELoss(), Model(), **options)


def test_what_a_step_keeps_for_the_next():
    def running(self, x):
        self.mean = 0.9 * self.mean + 0.1 * x.mean(0)
        return self.linear(x - self.mean)
    assert "goes on from the tensor 'mean' of a step before" in unfit(running, {"mean": torch.zeros(3)})

    def late(self, x):
        self.mean = x.mean(0) if self.mean is None else self.mean
        return self.linear(x - self.mean)
    assert "'mean'" in unfit(late, {"mean": None})

    def counting(self, x):
        self.steps += 1
        return self.linear(x)
    assert "the step changes 'steps' from 0 to 1 and 2" in unfit(counting, {"steps": 0})

    def listing(self, x):
        self.seen.append(x.mean())
        return self.linear(x) * sum(self.seen)
    assert "'seen[0]'" in unfit(listing, {"seen": []})

    def first(self, x):
        y = self.linear(x) * (1 if self.ready else 2)
        self.ready = True
        return y
    assert "does something else after it has set 'ready'" in unfit(first, {"ready": False})


def test_what_a_model_sets_is_put_back():
    class Setting(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear, self.last, self.cached, self.names = nn.Linear(3, 1), None, 0, {}
            self.inner = {"kept": ([],), "counts": [0, {}]}

        def forward(self, x):
            self.cached = max(self.cached, x.shape[1])
            self.last = self.linear(x)
            self.names["x"] = True
            self.inner["kept"][0].append(self.last)
            self.inner["counts"][1]["x"] = len(self.inner["kept"][0])
            return self.last
    model = Setting()
    with commsched.torch.transpile(model, sgd(model), nn.MSELoss(), (X, Y), cluster=2):
        assert model.last is None and model.cached == 0 and model.names == {}
        assert model.inner == {"kept": ([],), "counts": [0, {}]}


def test_numbers_that_are_drawn_otherwise():
    import random

    import numpy as np
    assert "Python's random" in refused(lambda m, x, y: F.mse_loss(m(x) * random.random(), y))
    assert "NumPy's random" in refused(lambda m, x, y: F.mse_loss(m(x) * float(np.random.rand()), y))

    def seeded(model, x, y):
        torch.manual_seed(1)
        return F.mse_loss(F.dropout(model(x)), y)
    assert "torch.manual_seed" in refused(seeded) and line(seeded, "manual_seed") in refused(seeded)

    def again(model, x, y):
        with torch.random.fork_rng():
            torch.random.manual_seed(1)
            noise = torch.randn(1)
        return F.mse_loss(model(x) + noise, y)
    assert line(again, "manual_seed(1)") in refused(again) and "torch.manual_seed" in refused(again)
    numbers = torch.get_rng_state()
    torch.manual_seed(7)  # which works afterwards
    torch.set_rng_state(numbers)


def test_parameters_and_buffers_that_a_step_makes_others():
    def freezing(self, x):
        y = self.linear(x)
        self.linear.weight.requires_grad_(False)
        return y
    assert "'linear.weight' must require a gradient at the end" in unfit(freezing)

    def registering(self, x):
        self.register_buffer("mask", torch.ones(1))
        return self.linear(x) * self.mask
    assert "must not register or remove buffers" in unfit(registering)

    def reshaping(self, x):
        self.linear.bias.data = torch.zeros(1, 1)
        return self.linear(x)
    assert "must stay torch.float32[1], got: torch.float32[1, 1]" in unfit(reshaping)


def test_tensors_that_share_their_memory():
    model = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 3), nn.Linear(3, 1))
    model[1].weight.data = model[0].weight.data
    assert "'0.weight' and '1.weight' must not share their memory" in refused(nn.MSELoss(), model)


def test_rates_that_the_step_sets():
    model = nn.Linear(3, 1)
    optimizer = sgd(model)

    def loss(model, x, y):
        optimizer.param_groups[0]["lr"] *= 0.9
        return F.mse_loss(model(x), y)
    rate = optimizer.param_groups[0]["lr"]
    assert "must not set rates or options of its optimizer" in refused(loss, model, optimizer=lambda m: optimizer)
    assert optimizer.param_groups[0]["lr"] == rate


def test_a_loss_that_is_a_sum():
    """Its parts would be averaged. By PyTorch's own criteria, and by hand."""
    wanted = "the loss must be a mean over the samples of the batch, got: one whose gradients are 2 times as large"
    labels = torch.tensor([0, 1, 2, 1])
    for loss, model, batch in ((nn.CrossEntropyLoss(reduction="sum"), nn.Linear(3, 5), (X, labels)), (nn.MSELoss(reduction="sum"), None, (X, Y)),
                               (lambda m, x, y: (m(x) - y).pow(2).sum() / 4, None, (X, Y)),
                               (lambda m, x, y: {"error": (m(x) - y).abs().sum(1).sum() / 4, "other": m(x).mean()}, None, (X, Y))):
        assert wanted in refused(loss, model, batch, cluster=2)
    for loss in (lambda m, x, y: (m(x) - y).pow(2).sum() / x.shape[0], nn.MSELoss(), lambda m, x, y: (m(x) - y).abs().sum(1).mean()):
        model = nn.Linear(3, 1)
        commsched.torch.transpile(model, sgd(model), loss, (X, Y), cluster=2)
    model = nn.Linear(3, 1)
    commsched.torch.transpile(model, sgd(model), nn.MSELoss(reduction="sum"), (X, Y), cluster=1)


def test_a_backward_pass_in_the_loss():
    """Its gradients would be added to those of the loss in PyTorch, and are no part of what loss_fn returns."""
    def several(model, x, y):
        model(x).abs().mean().backward()
        return F.mse_loss(model(x), y)

    def one(model, x, y):
        loss = F.mse_loss(model(x), y)
        loss.backward()
        return loss.detach()
    for loss in (several, one):
        for options in ({}, {"accumulate": 2}, {"scaler": torch.amp.GradScaler("cpu")}):
            assert "loss_fn must leave the backward pass to the step, which is that of the loss it returns, got: a gradient of 'weight'" in refused(loss, **options)

    def adversarial(model, x, y):
        moved = x.detach().clone().requires_grad_()
        F.mse_loss(model(moved), y).backward()
        model.zero_grad()
        return F.mse_loss(model(x + 0.1 * moved.grad.sign()), y)
    torch.manual_seed(0)
    model = nn.Linear(3, 1)
    wanted = adversarial(model, X, Y).item()
    with commsched.torch.transpile(model, sgd(model), adversarial, (X, Y), cluster=1) as program:
        assert abs(program.step((X, Y))["loss"] - wanted) < 1e-5


ORDERS = {"whole": lambda h: h, "transposed": lambda h: h.t(), "every other": lambda h: h[:, ::2], "rows": lambda h: h[1:], "of the order of another": lambda h: torch.empty_like(h.t()).copy_(h.t()),
          "copied": lambda h: h.t().clone(memory_format=torch.contiguous_format)}


@pytest.mark.parametrize("offset", [None, 1])
@pytest.mark.parametrize("order", ORDERS)
def test_views_by_strides_are_those_of_pytorch_or_refused(order, offset):
    """Elements by their places in memory, which tensors of a program have not; windows that overlap, and their gradients."""
    def loss(model, x):
        return (ORDERS[order](model(x)).as_strided((3, 2), (1, 2), offset) * torch.arange(6.0).view(3, 2)).sum().sin()
    torch.manual_seed(0)
    model, x = nn.Linear(3, 6), torch.randn(4, 3)
    if order in ("transposed", "every other", "of the order of another") or order == "rows" and offset is not None:
        assert "as_strided must be of a tensor whose elements lie in order" in refused(loss, model, batch=(x,))
        return
    program = commsched.torch.transpile(model, sgd(model), loss, (x,), cluster=1)
    (metrics,) = program.run([(x,)])
    wanted = loss(model, x)
    wanted.backward()
    assert abs(metrics["loss"] - wanted.item()) < 1e-6
    assert all(torch.allclose(program.params[n], p - 0.1 * p.grad, atol=1e-6) for n, p in model.named_parameters())
    program.close()
