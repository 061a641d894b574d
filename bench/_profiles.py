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


def to_text(name, layers, links, stages, updates):
    """A problem as schedule_driver reads it. `stages(bytes)` are those of a tensor's
    communication; `updates`: workers apply them, before the forward pass. Backward, a
    layer's input gradient comes before the weight gradient, as frameworks do it."""
    lines = [f"problem {name}"] + [f"link {link} {rate}" for link, rate in links]
    count = 0

    def op(duration, after):
        nonlocal count
        lines.append(" ".join(map(str, ["op", duration, *after])))
        count += 1
        return count - 1

    before = []
    for layer in layers:
        before = [op(layer.forward + (layer.update if updates else 0), before)]
    forward = list(range(count))
    made = {}
    for index in reversed(range(len(layers))):
        layer = layers[index]
        incoming = before
        if layer.inputs:
            before = [op(layer.inputs, incoming)]
        made[index] = incoming[0]
        if layer.weights or not layer.inputs:
            made[index] = op(layer.weights, incoming)
        if not layer.inputs:
            before = [made[index]]
    for index, layer in enumerate(layers):
        for size in layer.tensors:
            costs = [str(value) for stage in stages(size) for value in stage]
            lines.append(f"comm {size} 0 {made[index]} {forward[index]} {' '.join(costs)}")
    return "\n".join(lines + ["end"]) + "\n"
