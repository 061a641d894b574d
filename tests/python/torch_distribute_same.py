# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A rank of test_torch_distribute_same.py: CASE."""
import contextlib
import random
import sys
from datetime import timedelta

import numpy as np
import torch
import torch.distributed as dist
from torch import nn

import commsched
import commsched.torch
from cases import cases
from commsched.torch import agreed, distributing, first_use, gradients, shared_buffers, watching
from torch_distribute_loops import LOOPS, results

first_use.SPREAD = 10.0  # what goes together depends on no clock here


def everywhere(value):
    every = [None] * dist.get_world_size()
    dist.all_gather_object(every, value)
    return every


def raised(call):
    try:
        call()
    except commsched.CommSchedError as error:
        return f"{type(error).__name__}: {error}"
    return None


def net(shape=4, momentum=0.1):
    return nn.Sequential(nn.Linear(3, shape), nn.BatchNorm1d(shape, momentum), nn.Tanh(), nn.Linear(shape, 2))


def sgd(model, **more):
    parameters = list(model.parameters())
    return torch.optim.SGD([{"params": parameters[:2]}, {"params": parameters[2:]}], **{"lr": 0.1, "momentum": 0.9, **more})


def stepped(model, optimizer):
    model(torch.ones(2, 3)).sum().backward()
    optimizer.step()
    optimizer.zero_grad()


def frozen(model):
    model[0].bias.requires_grad_(False)


# What the rank that is another one does before distribute(), and what is said of it.
AT_FIRST = {
    "lr": (lambda m: sgd(m, lr=0.2), "'lr' of the optimizer's group 0 must match 0.1 of rank 0 on all ranks, got: 0.2 on rank {}"),
    "of numpy": (lambda m: sgd(m, lr=np.float32(0.5)), "'lr' of the optimizer's group 0 must match 0.1 of rank 0 on all ranks, got: 0.5 on rank {}"),
    "momentum": (lambda m: sgd(m, momentum=0.8), "'momentum' of the optimizer's group 0 must match 0.9 of rank 0 on all ranks, got: 0.8 on rank {}"),
    "groups": (lambda m: torch.optim.SGD(m.parameters(), lr=0.1, momentum=0.9), "number of the optimizer's groups must match 2 of rank 0 on all ranks, got: 1 on rank {}"),
    "order": (lambda m: torch.optim.SGD([{"params": list(m.parameters())[:2][::-1]}, {"params": list(m.parameters())[2:]}], lr=0.1, momentum=0.9),
              "parameter 0 of the optimizer's group 0 must match '0.weight' of rank 0 on all ranks, got: '0.bias' on rank {}"),
    "class": (lambda m: torch.optim.Adam(m.parameters()), "class of the optimizer must match SGD of rank 0 on all ranks, got: Adam on rank {}"),
    "state": (lambda m: (o := sgd(m), stepped(m, o))[0], "state 'momentum_buffer' of '0.weight' in the optimizer must match none of rank 0 on all ranks, got: float32[4, 3] of"),
    "mode": (lambda m: (m[1].eval(), sgd(m))[1], "mode of module '1' must match train of rank 0 on all ranks, got: eval on rank {}"),
    "frozen": (lambda m: (frozen(m), sgd(m))[1], "parameter 1 of the model must match '0.bias' of float32[4] of rank 0 on all ranks, got: '0.bias' of float32[4], frozen on rank {}"),
}
MODELS = {
    "shape": (lambda: net(5), "parameter 0 of the model must match '0.weight' of float32[4, 3] of rank 0 on all ranks, got: '0.weight' of float32[5, 3] on rank {}"),
    "type": (lambda: net().double(), "parameter 0 of the model must match '0.weight' of float32[4, 3] of rank 0 on all ranks, got: '0.weight' of float64[4, 3] on rank {}"),
    "a layer more": (lambda: net().append(nn.Linear(2, 2)), "parameter 6 of the model must match none of rank 0 on all ranks, got: '4.weight' of float32[2, 2] on rank {}"),
    "buffers": (lambda: nn.Sequential(*net()[:1], nn.BatchNorm1d(4, track_running_stats=False), *net()[2:]), "buffer 0 of the model must match '1.running_mean' of float32[4] of rank 0 on all ranks, got: none"),
}


def at_first(rank):
    for name in [*AT_FIRST, *MODELS, "broadcast_buffers"]:
        other = random.Random(name).randrange(1, dist.get_world_size())
        change, line = AT_FIRST.get(name) or MODELS.get(name) or (None, "broadcast_buffers must match True of rank 0 on all ranks, got: False on rank {}")
        model = change() if name in MODELS and rank == other else net()
        optimizer = change(model) if name in AT_FIRST and rank == other else sgd(model)
        errors = everywhere(raised(lambda: commsched.torch.distribute(model, optimizer, broadcast_buffers=change is not None or rank != other)))
        assert len(set(errors)) == 1 and errors[0] is not None and errors[0].startswith("FrontEndError: " + line.format(other)), (name, errors)
        assert type(optimizer).__name__ in ("SGD", "Adam") and type(optimizer.param_groups[0]["params"]) is list
    model = nn.Sequential(nn.Embedding(5, 2, max_norm=1.0))
    line = ("FrontEndError: max_norm of Embedding '0' must be None with several ranks, each of which would make other rows shorter, those of its samples, got: 1.0; "
            "bound the rows of its weight behind each step")
    assert set(everywhere(raised(lambda: commsched.torch.distribute(model, torch.optim.SGD(model.parameters(), lr=0.1))))) == {line}
    # Values are those of rank 0, and so are buffers.
    torch.manual_seed(rank)
    model = net()
    model[1].running_mean.fill_(rank)
    optimizer = commsched.torch.distribute(model, sgd(model))
    assert len(set(everywhere(tuple(t.double().sum().item() for t in model.state_dict().values())))) == 1
    optimizer.undistribute()


def set_option(key, value):
    def change(model, optimizer, **_):
        optimizer.param_groups[1][key] = value
    return change


def plateau(model, optimizer, **_):
    """By a loss of this rank, which does not become smaller."""
    scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=0)
    for _ in range(2):
        scheduler.step(1.0)


def other_values(model, optimizer, **_):
    model.load_state_dict({key: value + 1 for key, value in model.state_dict().items()})


def other_state(model, optimizer, **_):
    saved = optimizer.state_dict()
    saved["state"] = {i: {key: value + 1 for key, value in entries.items()} for i, entries in saved["state"].items()}
    optimizer.load_state_dict(saved)


def left_out(model, optimizer, **_):
    """A step, after its backward pass: as where a rank does not like its own loss."""
    model(torch.ones(2, 3)).sum().backward()
    optimizer.zero_grad()


# What a rank does before a step, and what is said of it.
LATER = {
    "lr": (set_option("lr", 0.3), "'lr' of the optimizer's group 1 in step {} must match 0.1 of rank 0 on all ranks, got: 0.3 on rank {}"),
    "weight decay": (set_option("weight_decay", 0.5), "'weight_decay' of the optimizer's group 1 in step {} must match 0 of rank 0 on all ranks, got: 0.5 on rank {}"),
    "an array": (set_option("lr", torch.tensor(0.5)), "'lr' of the optimizer's group 1 in step {} must match 0.1 of rank 0 on all ranks, got: float32[] 0.5 on rank {}"),
    "plateau": (plateau, "'lr' of the optimizer's group 0 in step {} must match 0.1 of rank 0 on all ranks, got: 0.01"),
    "mode": (lambda model, **_: model[1].eval(), "mode of module '1' in step {} must match train of rank 0 on all ranks, got: eval on rank {}"),
    "values": (other_values, "parameter '0.weight' after load_state_dict() must match float32[4, 3] of"),
    "state": (other_state, "state 'momentum_buffer' of '0.weight' in the optimizer must match float32[4, 3] of"),
    "left out": (left_out, "number of gradients of '0.weight' up to step {} must match "),
    "a pass": (lambda model, **_: model(torch.ones(2, 3)), "number of forward passes in training mode up to step {} must match "),
}


def later(rank, seeds):
    for seed in seeds:
        for name, (change, line) in LATER.items():
            draw = random.Random(f"{seed} {name}")
            # Of the others one that makes a pass more waits for buffers that rank 0 never sends.
            other, begin = 0 if name == "a pass" else draw.randrange(1, dist.get_world_size()), draw.randrange(1 if name == "state" else 0, 7)
            torch.manual_seed(seed)
            model = nn.Sequential(*(layer for layer in net() if name != "left out" or not isinstance(layer, nn.BatchNorm1d)))
            optimizer = commsched.torch.distribute(model, sgd(model))
            before, error = None, None
            for step in range(8):
                optimizer.zero_grad()
                if step == begin and rank == other:
                    change(model=model, optimizer=optimizer, rank=rank)
                model(torch.full((2, 3), rank + step / 8) + torch.eye(2, 3)).pow(2).sum().backward()
                if step == begin:
                    optimizer.synchronize() if draw.random() < 0.5 else None
                    kept = [p for p in optimizer.__dict__["param_groups"][0]["params"].own()]
                    before = [torch.Tensor.detach(p).clone() for p in kept]  # as nobody sees it
                error = raised(optimizer.step) or raised(optimizer.synchronize)
                if error is not None:
                    break
            errors = everywhere(error)
            assert len(set(errors)) == 1 and error is not None and error.startswith("RuntimeFailure: " + line.format(begin, other)), (name, seed, step, begin, errors)
            assert step == begin and all(map(torch.equal, before, kept)), (name, seed, step, begin)  # nothing was updated
            assert raised(optimizer.synchronize) == error or raised(optimizer.step) == error
            optimizer._commsched.close()
            distributing._live.discard(optimizer)


def gradients_of_some(rank):
    """A parameter that has none on one rank in one of the first steps: neither waits for the other, nor are gradients of two steps averaged."""
    for begin in range(3):
        model = net()
        optimizer = commsched.torch.distribute(model, sgd(model))
        error, number = None, -1
        for step in range(4):
            optimizer.zero_grad()
            h = model[:3](torch.eye(2, 3) + rank)
            (h.sum() if rank == 1 and step == begin else model[3](h).sum()).backward()
            number = step
            error = raised(optimizer.step)
            if error:
                break
        errors = everywhere(error)
        assert errors == [f"RuntimeFailure: number of gradients of '3.weight' up to step {begin} must match {begin + 1} of rank 0 on all ranks, got: {begin} on rank 1"] * len(errors), errors
        assert number == begin
        optimizer._commsched.close()
        distributing._live.discard(optimizer)


class Replacing(nn.Module):
    """Puts another tensor in the place of a buffer, as many do."""

    def __init__(self):
        super().__init__()
        self.register_buffer("mean", torch.zeros(3))
        self.layer = nn.Linear(3, 2)

    def forward(self, x):
        if self.training:
            self.mean = 0.9 * self.mean + 0.1 * x.detach().mean(0)
        return self.layer(x - self.mean)


def buffers(rank):
    """Those of rank 0 at the beginning of each step, also where modules put others in their place, or only a part of the model is trained."""
    for kind in ("replaced", "a part"):
        model = Replacing() if kind == "replaced" else nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2))
        if kind == "a part":
            model.eval()
            model[1].train()
        reference, right = torch.zeros(3), True
        optimizer = commsched.torch.distribute(model, torch.optim.SGD(model.parameters(), lr=0.01))
        for step in range(8):
            optimizer.zero_grad()
            model(torch.full((2, 3), float(rank + step)) + torch.eye(2, 3)).sum().backward()
            optimizer.step()
            reference = 0.9 * reference + 0.1 * (torch.full((2, 3), float(rank + step)) + torch.eye(2, 3)).mean(0)
            right &= kind == "a part" or torch.allclose(model.mean, reference)
            reference = torch.tensor(everywhere(reference.tolist())[0])
        optimizer.synchronize()
        found = everywhere([b.double().sum().item() for b in model.buffers()])
        model(torch.eye(2, 3)).sum().backward()
        optimizer.step()
        one = everywhere([b.double().sum().item() for b in model.buffers()])
        assert all(everywhere(right)) and found[0] != found[-1] and one[0] == one[-1], (kind, found, one)
        optimizer.undistribute()


def groups(rank):
    """The optimizer's groups stay what they were."""
    def without_one(optimizer):
        del optimizer.param_groups[0]

    def turned(optimizer):
        optimizer.param_groups.reverse()

    def longer(optimizer):
        optimizer.param_groups[0]["params"].append(nn.Parameter(torch.ones(1)))

    def others(optimizer):
        optimizer.param_groups[0]["params"] = list(optimizer.param_groups[0]["params"])[:1]
    for change, line in ((without_one, "must have the 2 groups that it had in distribute(), got: 1"), (turned, "group 0 of a distributed optimizer must have the parameters that it had"),
                         (longer, "group 0 of a distributed"), (others, "group 0 of a distributed")):
        for begin in (0, 5):
            model = net()
            optimizer = commsched.torch.distribute(model, sgd(model))
            for step in range(begin + 1):
                optimizer.zero_grad()
                model(torch.eye(2, 3)).sum().backward()
                if step == begin:
                    change(optimizer)
                    found = raised(optimizer.step)
                    assert found is not None and line in found, found
                else:
                    optimizer.step()
            optimizer._commsched.close()
            distributing._live.discard(optimizer)


def one_looks(rank):
    """Rank 0 looks at what is complete behind a step, as for a checkpoint, while the others wait for it elsewhere: of a parameter of which a part is sent early, and of what was loaded."""
    first_use.EARLY, first_use.EARLY_BYTES = 0.0, 0
    for what in ("early", "loaded"):
        model = nn.ModuleList([nn.Embedding(20, 4), nn.Linear(4, 20, bias=False)])
        if what == "early":
            model[1].weight = model[0].weight
        model.forward = lambda x: model[1](model[0](x))
        optimizer = commsched.torch.distribute(model, torch.optim.SGD(model.parameters(), lr=1e-4, momentum=0.9))
        for step in range(8):
            if what == "loaded" and step > 3:
                model.load_state_dict(model.state_dict())
            optimizer.zero_grad()
            model(torch.arange(6) + rank).pow(2).sum().backward()
            if rank == 0 and step % 2 and what == "early":
                assert model[0].weight.grad.isfinite().all()
            dist.barrier()
            optimizer.step()
            saved = model.state_dict() if rank == 0 else None
            dist.barrier()
            assert saved is None or all(v.isfinite().all() for v in saved.values())
        assert what == "loaded" or any(unit.early for unit in optimizer._commsched.gradients.units)
        optimizer.undistribute()


def loops(rank, names=tuple(LOOPS), seeds=cases(2)):
    for name in names:
        for seed in seeds:
            found, wanted = (results(name, seed, ours, rank, dist.get_world_size()) for ours in (True, False))
            close = len(found) == len(wanted) and all(torch.allclose(a, b, rtol=2e-3, atol=2e-5) for a, b in zip(found, wanted))
            every = everywhere((close, sum(torch.view_as_real(t).double().sum().item() if t.is_complex() else t.double().sum().item() for t in found)))
            assert all(c for c, _ in every) and len(set(every)) == 1, (name, seed, every, [float((a - b).abs().max()) for a, b in zip(found, wanted)])


def planted(rank):
    """Faults that these find."""
    def found(call, *arguments):
        error = None
        try:
            call(rank, *arguments)
        except (AssertionError, commsched.CommSchedError, RuntimeError, KeyError, AttributeError, TypeError) as caught:
            error = caught
        assert all(everywhere(error is not None)), (call, arguments)
    undo = []

    def plant(owner, name, value):
        undo.append((owner, name, owner.__dict__[name]))
        setattr(owner, name, value)

    def restore():
        while undo:
            setattr(*undo.pop())
    plant(agreed.Agreed, "check", lambda self: None)
    found(later, range(1))
    restore()
    plant(distributing, "steps_have_hooks", lambda: False)
    found(loops, ("hooks_of_all",), range(1))
    restore()
    plant(distributing._Parameters, "_look", lambda self: None)
    found(loops, ("average_of_groups",), range(1))
    restore()
    plant(watching, "_seen", lambda value: None)
    for name in ("kept", "by_hand"):
        found(loops, (name,), range(1))
    restore()
    plant(distributing._Distributed, "state", property(lambda self: self.__dict__["state"], lambda self, value: self.__dict__.update(state=value)))
    for name in ("new_state", "read_state"):
        found(loops, (name,), range(1))
    restore()
    plant(gradients.Gradients, "forget", lambda self: None)
    found(loops, ("abandoned",), range(1))
    restore()
    plant(shared_buffers.SharedBuffers, "now", (lambda own: lambda self: self.__dict__.setdefault("_first", own(self)))(shared_buffers.SharedBuffers.now))
    found(buffers)
    restore()


def main():
    dist.init_process_group("gloo", timeout=timedelta(seconds=60))
    case, rank = sys.argv[1], dist.get_rank()
    if case == "later":
        later(rank, cases(2))
    else:
        globals()[case](rank)
    with contextlib.suppress(Exception):
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
