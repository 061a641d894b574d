# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs of PyTorch models that ranks train and threads train. As a script, started by torchrun: one rank, which writes what
it has come to.

    torchrun --nproc-per-node N torch_rank_cases.py FOLDER CASE...
"""

import dataclasses
import sys
from typing import Any, Callable, Optional

import torch
import torch.nn.functional as F
from torch import nn
from torch.optim import lr_scheduler

import commsched
import commsched.torch
import torch_models as models

CE = nn.CrossEntropyLoss()


def sgd(model):
    return torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)


def adamw(model):
    return torch.optim.AdamW([dict(params=[p for p in model.parameters() if p.dim() > 1], weight_decay=0.1),
                              dict(params=[p for p in model.parameters() if p.dim() <= 1], lr=2e-3)], lr=1e-3, eps=1e-6)


def clip(model):
    nn.utils.clip_grad_norm_(model.parameters(), 0.5)


def halves(model, x, y):
    with torch.autocast("cpu", torch.bfloat16):
        loss = F.cross_entropy(model(x), y)
    return {"loss": loss, "twice": 2 * loss.detach()}


@dataclasses.dataclass
class Case:
    """eager: whether PyTorch on its own computes the same, which draws other numbers."""

    model: Callable[[], nn.Module]
    batches: list
    optimizer: Callable[[nn.Module], torch.optim.Optimizer] = sgd
    scheduler: Optional[Callable[[torch.optim.Optimizer], Any]] = None
    loss: Callable = CE
    options: dict = dataclasses.field(default_factory=dict)
    eager: bool = True


def drawn(seed):
    """With a rate that changes with every step, or after two, or not."""
    model, data, optimizer = [(models.drawn_image_model, models.images, sgd), (models.drawn_text_model, models.texts, adamw)][seed % 2]
    scheduler = [lambda o: lr_scheduler.CosineAnnealingLR(o, 4), lambda o: lr_scheduler.StepLR(o, 2, 0.1), None][seed // 2 % 3]
    return Case(lambda: model(seed), data(seed, 4, samples=8), optimizer, scheduler, options=dict(before_update=clip) if seed // 3 % 2 else {})


def case(name):
    if name == "statistics":
        return Case(models.cnn, models.images(1, 4), scheduler=lambda o: lr_scheduler.OneCycleLR(o, 0.1, total_steps=8, cycle_momentum=False))
    if name == "servers":
        return Case(models.cnn, models.images(4, 4), scheduler=lambda o: lr_scheduler.StepLR(o, 2, 0.1),
                    options=dict(strategy=commsched.ParameterServers(servers=3, min_block_elements=100)))
    if name == "dropout":  # and all else that is no plain step
        def model():
            return nn.Sequential(nn.Flatten(), nn.Linear(432, 12), nn.Dropout(0.3), nn.Linear(12, 5))
        strategy = commsched.AllReduce(sparse=commsched.Sparse(0.3, min_elements=16))  # each rank has residuals of its own
        return Case(model, models.images(2, 4), adamw, lambda o: lr_scheduler.StepLR(o, 2, 0.1), halves,
                    dict(before_update=clip, seed=7, strategy=strategy), eager=False)
    return drawn(int(name))


def begun(own: Case):
    torch.manual_seed(3)
    model = own.model()
    return model, own.optimizer(model)


def bits(values):
    return {name: value.tobytes().hex() for name, value in values.items()}


def train(name, workers, folder, job=None):
    """Trains, by this rank of a job or by threads, saves after two steps, and goes back there and on. Returns all values
    before and after that, metrics, and the model and optimizer that have been loaded."""
    own = case(name)
    model, optimizer = begun(own)
    scheduler = own.scheduler(optimizer) if own.scheduler else None
    program = commsched.torch.transpile(model, optimizer, own.loss, own.batches[0], cluster=None if job else workers, **own.options)

    def part(batch):
        rows = slice(job.rank * len(batch[0]) // workers, (job.rank + 1) * len(batch[0]) // workers)
        return tuple(t[rows] for t in batch)
    batches = [part(batch) for batch in own.batches] if job else own.batches
    metrics = program.run(batches[:2], scheduler=scheduler)
    program.save(f"{folder}/{name}.saved")
    program.run(batches[:1])
    before = bits(program.slots())
    program.restore(f"{folder}/{name}.saved")
    metrics += program.run(batches[2:], scheduler=scheduler)
    program.load_into(model, optimizer)
    result = dict(before=before, slots=bits(program.slots()), metrics=metrics, steps=program.steps, model=model.state_dict(),
                  optimizer=optimizer.state_dict())
    program.close()
    return result


if __name__ == "__main__":
    with commsched.init(deadline=60) as rank:
        for each in sys.argv[2:]:
            torch.save(train(each, rank.size, sys.argv[1], rank), f"{sys.argv[1]}/{each}.{rank.rank}")
