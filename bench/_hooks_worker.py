# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A rank of eager PyTorch for vs_ddp.py --hooks: JOB RESULT ADDRESS RANK RANKS. Trains a model by commsched.torch.distribute, by
DistributedDataParallel over gloo, or without communication, from the same values on the same batches. One thread computes."""
import json
import pathlib
import sys
import time

import torch
import torch.distributed as dist
from torch import nn


class Bottleneck(nn.Module):
    def __init__(self, inputs, width, stride):
        super().__init__()
        outputs = 4 * width
        self.conv1, self.bn1 = nn.Conv2d(inputs, width, 1, bias=False), nn.BatchNorm2d(width)
        self.conv2, self.bn2 = nn.Conv2d(width, width, 3, stride, 1, bias=False), nn.BatchNorm2d(width)
        self.conv3, self.bn3 = nn.Conv2d(width, outputs, 1, bias=False), nn.BatchNorm2d(outputs)
        self.shortcut = (nn.Identity() if stride == 1 and inputs == outputs
                         else nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs)))

    def forward(self, x):
        y = self.bn2(self.conv2(self.bn1(self.conv1(x)).relu())).relu()
        return (self.bn3(self.conv3(y)) + self.shortcut(x)).relu()


def resnet(width=32, blocks=(3, 4, 6, 3)):
    """ResNet-50 of half its width, for small images."""
    layers, inputs = [nn.Conv2d(3, width, 3, 1, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU()], width
    for stage, count in enumerate(blocks):
        for i in range(count):
            layers.append(Bottleneck(inputs, width << stage, 2 if i == 0 and stage else 1))
            inputs = 4 * (width << stage)
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(inputs, 10))


class Gpt(nn.Module):
    """GPT-2 of fewer and narrower layers, its embedding tied to the head."""

    def __init__(self, width=256, depth=6, heads=4, vocabulary=4096, context=64):
        super().__init__()
        self.tokens, self.places = nn.Embedding(vocabulary, width), nn.Embedding(context, width)
        self.layers = nn.ModuleList(nn.TransformerEncoderLayer(width, heads, 4 * width, 0.0, "gelu", batch_first=True, norm_first=True)
                                    for _ in range(depth))
        self.norm = nn.LayerNorm(width)

    def forward(self, tokens):
        x = self.tokens(tokens) + self.places.weight[:tokens.shape[1]]
        mask = nn.Transformer.generate_square_subsequent_mask(tokens.shape[1])
        for layer in self.layers:
            x = layer(x, src_mask=mask, is_causal=True)
        return self.norm(x) @ self.tokens.weight.T


def made(job, rank):
    """The model, an optimizer of it, and a function that draws a batch and gives the loss of a model."""
    torch.manual_seed(0)
    random = torch.Generator().manual_seed(rank + 1)
    if job["model"] == "resnet":
        model = resnet()

        def loss(trained):
            x = torch.randn(job["batch"], 3, 16, 16, generator=random)
            return nn.functional.cross_entropy(trained(x), x.mean((1, 2, 3)).mul(40).long().clamp(-4, 5) + 4)
        return model, torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9), loss
    model = Gpt()

    def loss(trained):
        tokens = torch.randint(16, (job["batch"], 33), generator=random).cumsum(1) % 4096
        return nn.functional.cross_entropy(trained(tokens[:, :-1]).flatten(0, 1), tokens[:, 1:].flatten())
    return model, torch.optim.AdamW(model.parameters(), lr=3e-4), loss


def train(job, how, rank):
    """Seconds of a step, and losses."""
    model, optimizer, loss_of = made(job, rank)
    trained = model
    if how == "ours":
        import commsched.torch
        optimizer = commsched.torch.distribute(model, optimizer)
    elif how != "alone":
        trained = nn.parallel.DistributedDataParallel(model, bucket_cap_mb=how, gradient_as_bucket_view=True)
    losses, begins = [], []
    dist.barrier()
    for _ in range(job["warm_up"] + job["steps"] + 1):
        begins.append(time.monotonic())
        optimizer.zero_grad()
        loss = loss_of(trained)
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    if how == "ours":
        optimizer.undistribute()
    losses = torch.stack(losses)
    dist.all_reduce(losses)
    return (begins[-1] - begins[job["warm_up"]]) / job["steps"], (losses / dist.get_world_size()).tolist()


def main():
    job_path, result_path, address, rank, ranks = sys.argv[1:]
    job, rank, ranks = json.loads(pathlib.Path(job_path).read_text()), int(rank), int(ranks)
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"tcp://{address}", rank=rank, world_size=ranks)
    result = [train(job, how, rank) for how in job["ways"]]
    pathlib.Path(result_path).write_text(json.dumps(
        {"runs": result, "bytes": sum(p.numel() * p.element_size() for p in made(job, rank)[0].parameters())}))
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
