# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A rank of PyTorch for vs_ddp.py --hooks: JOB RESULT ADDRESS RANK RANKS. Trains a model by commsched.torch.distribute, by
DistributedDataParallel over gloo, or without communication, all three eager; by commsched.torch.transpile, or by torch.compile of
DistributedDataParallel; from the same values on the same batches. One thread computes."""
import json
import pathlib
import sys
import time

import torch
import torch.distributed as dist
import transformers
from torch import nn


def model_of(name):
    """Models of transformers as they are, without dropout, of which each way would draw masks of its own."""
    if name == "resnet50":
        return transformers.ResNetForImageClassification(transformers.ResNetConfig(num_labels=1000))
    return transformers.GPT2LMHeadModel(transformers.GPT2Config(vocab_size=8192, n_embd=512, n_layer=8, n_head=8, n_positions=128,
                                                                embd_pdrop=0.0, resid_pdrop=0.0, attn_pdrop=0.0))


def made(job, rank):
    """The model, an optimizer of it, and functions that draw a batch and give the loss of a model and a batch."""
    torch.manual_seed(0)
    random = torch.Generator().manual_seed(rank + 1)
    model = model_of(job["model"])
    if job["model"] == "resnet50":
        def draw():
            targets = torch.randint(10, (job["batch"],), generator=random)
            return torch.randn(job["batch"], 3, 224, 224, generator=random) + targets.view(-1, 1, 1, 1) / 5, targets
        return model, torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9), draw, loss_of

    def draw():
        tokens = torch.randint(16, (job["batch"], 129), generator=random).cumsum(1) % 8192
        return tokens[:, :-1].contiguous(), tokens[:, 1:].contiguous()
    return model, torch.optim.AdamW(model.parameters(), lr=3e-4), draw, loss_of


def loss_of(model, inputs, targets):
    return nn.functional.cross_entropy(model(inputs).logits.flatten(0, -2), targets.flatten())


def train(job, how, rank):
    """Seconds of a step, those of processors, and losses."""
    if how == "whole":
        return train_whole(job, rank)
    model, optimizer, draw, loss_of = made(job, rank)
    trained = model
    if how == "ours":
        import commsched.torch
        optimizer = commsched.torch.distribute(model, optimizer)
    elif how == "compiled":
        trained = torch.compile(nn.parallel.DistributedDataParallel(model, gradient_as_bucket_view=True))
    elif how != "alone":
        trained = nn.parallel.DistributedDataParallel(model, bucket_cap_mb=how, gradient_as_bucket_view=True)
    losses, begins, busy = [], [], []
    dist.barrier()
    for _ in range(job["warm_up"] + job["steps"] + 1):
        begins.append(time.monotonic())
        busy.append(time.process_time())
        optimizer.zero_grad()
        loss = loss_of(trained, *draw())
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    if how == "ours":
        optimizer.undistribute()
    losses = torch.stack(losses)
    dist.all_reduce(losses)
    return of_step(job, begins), of_step(job, busy), (losses / dist.get_world_size()).tolist()


def of_step(job, begins):
    return (begins[-1] - begins[job["warm_up"]]) / job["steps"]


def train_whole(job, rank):
    """By transpile(), with costs that the ranks measure before."""
    import commsched.torch
    ranks = dist.get_world_size()
    commsched.init(rank=rank, size=ranks, peers=job["peers"], insecure=True)
    model, optimizer, draw, loss_of = made(job, rank)
    program = commsched.torch.transpile(model, optimizer, loss_of, tuple(torch.cat([part] * ranks) for part in draw()), calibrate=True)
    *_, draw, _ = made(job, rank)
    steps, begins, busy = [], [], []
    for metrics in program.stream(draw() for _ in range(job["warm_up"] + job["steps"] + 1)):
        steps.append(metrics["loss"])
        begins.append(time.monotonic())
        busy.append(time.process_time())
    program.close()
    return of_step(job, begins), of_step(job, busy), [float(loss) for loss in steps]


def main():
    job_path, result_path, address, rank, ranks = sys.argv[1:]
    job, rank, ranks = json.loads(pathlib.Path(job_path).read_text()), int(rank), int(ranks)
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"tcp://{address}", rank=rank, world_size=ranks)
    seconds, processors, losses = train(job, job["how"], rank)
    pathlib.Path(result_path).write_text(json.dumps(
        {"seconds": seconds, "processors": processors, "losses": losses,
         "bytes": sum(p.numel() * p.element_size() for p in made(job, rank)[0].parameters())}))
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
