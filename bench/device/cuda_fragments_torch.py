# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""torch.compile of a case of cuda_fragments.py. Usage: CASE.json INIT BATCHES MODE

MODE: one of torch.compile, or "eager". Loss and gradients are compiled, Adam is PyTorch's fused kernel; once as launches, and once
with the whole step as a CUDA graph, whose batch is copied within the device before each replay. Batches are on the device already."""
import json
import pathlib
import sys

import torch

import cuda_fragments_networks as networks
import cuda_fragments_values as values
from cuda_fragments_peer import LOSSES, Variant, say, serve, wait_for

torch.set_float32_matmul_precision("highest")
torch.backends.cuda.matmul.allow_tf32 = False
torch.backends.cudnn.allow_tf32 = False
CUDA = torch.cuda.is_available()
DEVICE = torch.device("cuda" if CUDA else "cpu")


class Training:
    """Parameters, the optimizer's state, and steps on them."""

    def __init__(self, case, loss, initial, networks=networks):
        self.initial = [torch.from_numpy(value) for value in initial]
        names = [slot["name"] for slot in case["slots"][:case["params"]]]
        self.params = {name: torch.nn.Parameter(value.to(DEVICE, copy=True)) for name, value in zip(names, self.initial)}
        self.optimizer = networks.optimizer(case, list(self.params.values()), **({"fused": True, "capturable": True} if CUDA else {}))
        self.loss, self.last, self.graph, self.batch = loss, None, None, None

    def reset(self):
        """As before the first step, in place."""
        with torch.no_grad():
            for param, value in zip(self.params.values(), self.initial):
                param.copy_(value)
            for state in self.optimizer.state.values():
                for value in state.values():
                    value.zero_()

    def step(self, batch):
        self.optimizer.zero_grad(set_to_none=True)
        loss = self.loss(self.params, *batch)
        loss.backward()
        self.optimizer.step()
        self.last = loss.detach()  # no more: what accumulates gradients belongs to the stream on which it was made

    def run(self, batches):
        for batch in batches:
            self.step(batch)

    def capture(self, batch):
        """The step as a graph. Parameters change; reset() follows."""
        self.batch = [value.clone() for value in batch]
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            self.run([self.batch] * 3)
        torch.cuda.current_stream().wait_stream(stream)
        self.optimizer.zero_grad(set_to_none=True)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.step(self.batch)

    def replay(self, batches):
        for batch in batches:
            for static, value in zip(self.batch, batch):
                static.copy_(value)
            self.graph.replay()

    def losses(self, run, batches):
        self.reset()
        found = []
        for i in range(LOSSES):
            run([batches[i % len(batches)]])
            found.append(self.last.item())
        return found


def wait():
    if CUDA:
        torch.cuda.synchronize()


def compiled_loss(case, mode, params, batch):
    """(name, loss, {name: why not}): compiled, or, where that fails, as it is."""
    network = getattr(networks, case["model"])

    def loss(p, *arrays):
        return network(case, p, *arrays)
    failed = {}
    if mode != "eager":
        try:
            compiled = torch.compile(loss, mode=mode, fullgraph=True, dynamic=False)
            compiled(params, *batch).backward()
            wait()
            return mode, compiled, failed
        except Exception as error:
            failed[mode] = f"{type(error).__name__}: {error}"[:500]
    return "eager", loss, failed


def main():
    case, (init, data, mode) = json.loads(pathlib.Path(sys.argv[1]).read_text()), sys.argv[2:]
    wait_for(init, data)
    initial, _, parts = values.read(case, init, data)
    batches = [[torch.from_numpy(array).long().to(DEVICE) for array in part] for part in parts]
    training = Training(case, None, initial)
    name, training.loss, failed = compiled_loss(case, mode, training.params, batches[0])
    variants, losses = {name: Variant(training.run, wait)}, {}
    losses[name] = training.losses(training.run, batches)
    variants[name].warm(batches)
    if CUDA:
        try:
            training.capture(batches[0])
            graph = f"{name}+graph"
            losses[graph] = training.losses(training.replay, batches)
            variants[graph] = Variant(training.replay, wait)
            variants[graph].warm(batches)
        except Exception as error:
            failed["graph"] = f"{type(error).__name__}: {error}"[:500]
    say(losses=losses, failed=failed, device=torch.cuda.get_device_name() if CUDA else "cpu")
    serve(variants, batches)


if __name__ == "__main__":
    main()
