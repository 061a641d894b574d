# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A program whose parameter counts its updates, and the counts of a job.

Trainer r pushes gradients of PUSHED[r] in every element, and the parameter is
minus the sum of what was applied to it: exact in float32, and it tells whose
updates are in it. `backward` and `update` are how many additions an element
takes in the trainer's gradient and in the server's update: 1, or thousands, for
a backward pass or an update that is nearly all of the step."""
import math
import subprocess

import numpy as np

TRAINERS, SERVERS, ROWS = 2, 2, 1000
PUSHED = (1, 1024)
LARGEST = 1023  # steps, so that the counts can be told apart

# In _SUM, an element of the result is the operand times `length` equal parts of 1.
_SUM = """  %ones_{name} = arith.constant dense<{part}> : tensor<{length}xf32>
  %{name} = linalg.generic {{indexing_maps = [#{map}, #k, #out],
                            iterator_types = ["parallel", "parallel", "reduction"]}}
      ins(%{operand}, %ones_{name} : {type}, tensor<{length}xf32>) outs(%z : !t) {{
    ^bb0(%a: f32, %b: f32, %o: f32):
      %p = arith.mulf %a, %b : f32
      %s = arith.addf %o, %p : f32
      linalg.yield %s : f32
  }} -> !t
"""

_MODULE = """#in = affine_map<(i, j, k) -> (0)>
#k = affine_map<(i, j, k) -> (k)>
#out = affine_map<(i, j, k) -> (i, j)>
!t = tensor<{rows}x1000xf32>
cs.cluster @bench nodes = {trainers} devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 10000, latency_ns = 50000>
func.func @init() -> (!t {{cs.updates = "w"}}) {{
  %w = arith.constant dense<0.0> : !t
  return %w : !t
}}
func.func @step(%w: !t {{cs.param = "w"}}, %x: tensor<1xf32> {{cs.batch = "x"}})
    -> (!t {{cs.updates = "w"}}{metric_result}) attributes {{cs.step}} {{
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : !t
  %z = linalg.fill ins(%zero : f32) outs(%e : !t) -> !t
{backward}  %g = cs.gradient %r of "w" : !t
{update}  %n = arith.subf %w, %u : !t
{metric}  return %n{metric_value} : !t{metric_type}
}}
"""


def module(backward=1, update=1, metric=False):
    """Level-0 text; the lengths are powers of two, so that every partial sum is exact.
    `metric`: what each trainer pushes."""
    def of(name, operand, which, kind, length):
        return _SUM.format(name=name, operand=operand, map=which, type=kind, length=length, part=1 / length)

    metrics = dict(
        metric_result=', tensor<f32> {cs.metric = "pushed"}', metric_value=", %pushed", metric_type=", tensor<f32>",
        metric="  %pushed = tensor.collapse_shape %x [] : tensor<1xf32> into tensor<f32>\n",
    ) if metric else dict.fromkeys(["metric_result", "metric_value", "metric_type", "metric"], "")
    return _MODULE.format(rows=ROWS, trainers=TRAINERS, backward=of("r", "x", "in", "tensor<1xf32>", backward),
                          update=of("u", "g", "out", "!t", update), **metrics)


def make_plan(tool, path, sync_mode, **lengths):
    """`sync_mode`: of the parameter servers; None: an all-reduce, with the mean of the gradients."""
    options = f"--cs-parameter-server-pipeline=servers={SERVERS} sync-mode={sync_mode}" if sync_mode else "--cs-all-reduce-pipeline"
    scheduled = subprocess.run([tool("cs-opt"), options], input=module(**lengths), text=True, capture_output=True,
                               check=True)
    subprocess.run([tool("cs-translate"), "--mlir-to-plan", "-o", path], input=scheduled.stdout, text=True, check=True)


def save_batches(path):
    np.savez(path, x=np.array(PUSHED, np.float32))


def after(updates, steps):
    """What `updates` synchronous updates add up to, of trainers with `steps` batches each."""
    total = 0.0
    for step in range(updates):
        pushed = [value for value, count in zip(PUSHED, steps) if step < count]
        total += sum(pushed) / len(pushed)
    return total


class Counts:
    """Of updates lost and applied twice: the most of any element, block and check."""

    def __init__(self):
        self.lost = self.doubled = 0

    def compare(self, found, wanted):
        self.lost = max(self.lost, math.ceil(wanted - found))
        self.doubled = max(self.doubled, math.ceil(found - wanted))

    def compare_sums(self, found, wanted):
        """Of asynchronous updates: tells the trainers' apart."""
        second = round((found - wanted) / PUSHED[1])
        self.compare(second, 0)
        self.compare(found - wanted - second * PUSHED[1], 0)


class Checkpoint:
    """What a server's checkpoint says of its block of the parameter, which is its first."""

    def __init__(self, path):
        from safetensors import safe_open
        with safe_open(path, "np") as file:
            tensors = {name: file.get_tensor(name) for name in file.keys()}
            lines = [line.split() for line in file.metadata()["counts"].splitlines()]
        (self.value,) = (value for name, value in tensors.items() if name.startswith("slot/") and value.size > 1)
        ((self.updates, self.combining, self.added),) = (map(int, line[2:5]) for line in lines
                                                         if line[:2] == ["block", "0"])
        # By trainer: pushes taken, applied (asynchronous), and kept: whose update has not run.
        self.taken, self.applied, self.kept = [0] * TRAINERS, [0] * TRAINERS, [0] * TRAINERS
        for line in lines:
            if line[:2] == ["trainer", "0"]:
                self.taken[int(line[2])], self.applied[int(line[2])] = int(line[3]), int(line[4])
        self.ready = [int(line[4]) for line in lines if line[0] == "ready" and line[2] == "0"]
        for name in tensors:
            if name.startswith("push/0/"):
                self.kept[int(name.split("/")[2])] += 1

    def check(self, counts, mode, steps):
        """That the value has the updates that the checkpoint says, and that what was
        taken is applied or kept."""
        for value in (-float(self.value.min()), -float(self.value.max())):
            if mode == "sync":
                unit = sum(PUSHED) / TRAINERS
                counts.compare(value / unit, after(self.updates, steps) / unit)
            else:
                counts.compare_sums(value, sum(p * n for p, n in zip(PUSHED, self.applied)))
        if mode == "sync":
            counts.compare(self.updates + len(self.ready), self.combining)
        for r in range(TRAINERS):
            if mode == "sync":
                in_sum = r < self.added and self.combining < steps[r]
                counts.compare(min(self.combining, steps[r]) + in_sum + self.kept[r], self.taken[r])
            else:
                counts.compare(self.applied[r] + self.ready.count(r) + self.kept[r], self.taken[r])


def account(checkpoints, params, steps, mode, ended_well):
    """Counts of a job that has ended, from the servers' checkpoints (those that
    exist) and trainer 0's parameters."""
    counts = Counts()
    for path in checkpoints:
        if not path.exists():
            if ended_well:
                counts.compare(0, max(steps))
            continue
        found = Checkpoint(path)
        found.check(counts, mode, steps)
        if ended_well:
            for taken, count in zip(found.taken, steps):
                counts.compare(taken, count)
    if ended_well:
        from safetensors.numpy import load_file
        value = load_file(params)["w"]
        for extreme in (-float(value.min()), -float(value.max())):
            if mode == "sync":
                unit = sum(PUSHED) / TRAINERS
                counts.compare(extreme / unit, after(max(steps), steps) / unit)
            else:  # All its own; of the other's those that came before.
                second, first = divmod(round(extreme), PUSHED[1])
                counts.compare(first, steps[0])
                counts.doubled = max(counts.doubled, second - steps[1])
    return counts
