# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A rank of PyTorch DistributedDataParallel over gloo, for vs_ddp.py: emulated layers
that wait for their times, or the Transformer of examples/ for real. Reads a job as
JSON, and writes its result as JSON. One thread computes.

Emulated layers have parameters of the profile's sizes. Waiting is until a time on the
clock, so that what the framework does in between is not added: a device would be busy
meanwhile. The gradients that backward() returns are new tensors, of which DDP makes
views of its buckets (gradient_as_bucket_view), which saves it a copy."""
import json
import pathlib
import sys
import time

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


class Device:
    """That is busy until `due`."""

    def __init__(self):
        self.due = 0.0

    def begin(self):
        self.due = time.monotonic()

    def wait(self, seconds):
        self.due += seconds
        while (left := self.due - time.monotonic()) > 0:
            time.sleep(left)


class Compute(torch.autograd.Function):
    """Waits for the layer's time in each direction. Gradients have no values."""

    @staticmethod
    def forward(context, x, layer, *parameters):
        layer.device.wait(layer.forward_seconds)
        context.layer, context.shapes = layer, [parameter.shape for parameter in parameters]
        return x.clone()

    @staticmethod
    def backward(context, gradient):
        context.layer.device.wait(context.layer.backward_seconds)
        return (gradient, None, *(torch.empty(shape) for shape in context.shapes))


class Layer(torch.nn.Module):
    def __init__(self, device, forward_seconds, backward_seconds, sizes):
        super().__init__()
        self.device, self.forward_seconds, self.backward_seconds = device, forward_seconds, backward_seconds
        self.tensors = torch.nn.ParameterList(torch.empty(size // 4) for size in sizes)

    def forward(self, x):
        return Compute.apply(x, self, *self.tensors)


def emulate(job, rank):
    """Seconds of a step for each size of buckets."""
    device = Device()
    result = []
    for bucket in job["buckets_mb"]:
        model = torch.nn.Sequential(*(Layer(device, *layer) for layer in job["layers"]))
        parallel = DistributedDataParallel(model, bucket_cap_mb=bucket, gradient_as_bucket_view=True)
        x = torch.zeros(1, requires_grad=True)
        begins = []
        for _ in range(job["warm_up"] + job["steps"] + 1):
            device.begin()
            begins.append(device.due)
            for parameter in model.parameters():
                parameter.grad = None
            parallel(x).sum().backward()
            device.begin()
            device.wait(job["update_seconds"])
        result.append((begins[-1] - begins[job["warm_up"]]) / job["steps"])
        dist.barrier()
        del parallel, model
    return result


def transformer(parameters, tokens, heads, layers):
    """The loss of examples/transformer/transformer.py."""
    nn = torch.nn.functional

    def norm(name, x):
        return nn.layer_norm(x, x.shape[-1:], parameters[name + ".scale"], parameters[name + ".bias"], 1e-5)

    x = nn.embedding(tokens[:, :-1], parameters["bytes"]) + parameters["places"]
    batch, length, width = x.shape
    mask = torch.ones(length, length, dtype=torch.bool).tril()
    for index in range(layers):
        name = f"layer{index}"
        parts = (norm(name + ".norm1", x) @ parameters[name + ".qkv"]).reshape(batch, length, 3 * heads, width // heads)
        q, k, v = (part.transpose(1, 2) for part in parts.split(heads, dim=2))
        scores = (q @ k.transpose(2, 3) / (width // heads) ** 0.5).masked_fill(~mask, -1e30)
        mixed = (scores.softmax(-1) @ v).transpose(1, 2).reshape(batch, length, width)
        x = x + mixed @ parameters[name + ".out"]
        inner = nn.gelu(norm(name + ".norm2", x) @ parameters[name + ".up"], approximate="tanh")
        x = x + inner @ parameters[name + ".down"]
    logits = norm("last", x) @ parameters["bytes"].T
    return nn.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten().long())


class Transformer(torch.nn.Module):
    def __init__(self, values, heads):
        super().__init__()
        self.names = list(values)
        self.heads = heads
        self.layers = sum(name.endswith(".qkv") for name in values)
        self.tensors = torch.nn.ParameterList(values.values())

    def forward(self, tokens):
        return transformer(dict(zip(self.names, self.tensors)), tokens, self.heads, self.layers)


def train(job, rank, ranks):
    """Seconds of a step and the losses, for each size of buckets."""
    import numpy as np
    from safetensors.torch import load_file
    values = load_file(job["initial"])
    batches = torch.from_numpy(np.load(job["batches"])["tokens"]).reshape(job["steps"], -1, job["context"] + 1)
    result = []
    for bucket in job["buckets_mb"]:
        model = Transformer({name: torch.nn.Parameter(values[name].clone()) for name in job["order"]}, job["heads"])
        parallel = DistributedDataParallel(model, bucket_cap_mb=bucket, gradient_as_bucket_view=True)
        optimizer = torch.optim.Adam(model.parameters(), lr=job["rate"])
        losses, begins = [], []
        for tokens in batches:
            begins.append(time.monotonic())
            optimizer.zero_grad()
            loss = parallel(tokens.chunk(ranks)[rank])
            loss.backward()
            optimizer.step()
            losses.append(loss.detach())
        begins.append(time.monotonic())
        losses = torch.stack(losses)
        dist.all_reduce(losses)
        result.append(((begins[-1] - begins[job["warm_up"]]) / (job["steps"] - job["warm_up"]), (losses / ranks).tolist()))
    return result


def main():
    job_path, result_path, address, rank, ranks = sys.argv[1:]
    job, rank, ranks = json.loads(pathlib.Path(job_path).read_text()), int(rank), int(ranks)
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"tcp://{address}", rank=rank, world_size=ranks)
    result = emulate(job, rank) if job["kind"] == "emulated" else train(job, rank, ranks)
    pathlib.Path(result_path).write_text(json.dumps(result))
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
