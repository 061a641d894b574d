# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reads profiles of models for benchmarks of schedules: what docs/profiles.md calls
the formats of AICB and PipeDream, as layers of one chain."""
import dataclasses
import re


@dataclasses.dataclass
class Layer:
    """Times in ns; `tensors` are bytes of gradients."""

    forward: int = 0
    inputs: int = 0  # gradient of what it reads
    weights: int = 0  # gradient of its tensors
    update: int = 0
    tensors: list = dataclasses.field(default_factory=list)


def read_aicb(path):
    """The layers of a workload: lines with a collective over the gradient have a tensor;
    a line without any time belongs to the layer after it."""
    layers, waiting, update = [], [], 0
    for line in path.read_text().splitlines()[2:]:
        fields = line.split("\t")
        if fields[9] in ("ALLREDUCE", "REDUCESCATTER"):
            waiting.append(int(fields[10]))
            update += int(fields[11])
        times = [int(fields[column]) for column in (2, 5, 8)]
        if any(times):
            layers.append(Layer(*times, update, waiting))
            waiting, update = [], 0
    if waiting:
        layers[-1].tensors += waiting
        layers[-1].update += update
    return layers


def read_pipedream(path):
    """The nodes of a profile by number. Their edges are left out: the numbers are an
    order that they allow. A backward pass is one op; a node's bytes are one tensor."""
    layers = {}
    for line in path.read_text().splitlines():
        if line[:1].isspace() or " -- " not in line:
            continue
        name, op = line.split(" -- ")[:2]
        value = {key: float(re.search(key + r"=\[?([\d.]+)", line)[1])
                 for key in ("forward_compute_time", "backward_compute_time", "parameter_size")}
        if op.startswith("Input"):
            continue
        size = int(value["parameter_size"])
        layers[int(name[4:])] = Layer(
            round(value["forward_compute_time"] * 1e6), 0,
            round(value["backward_compute_time"] * 1e6), 0, [size] if size else [])
    return [layers[number] for number in sorted(layers)]
