# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Small steps of odd shapes: prime or single dimensions, tensors without elements, parameters that nothing updates or that
only an update reads, batches of one sample; clusters of any number of nodes, and ways to train on them."""
import dataclasses

import numpy as np

POLICIES = ("solver", "priority", "fifo", "wfbp", "fixed-buckets", "p3", "bytescheduler", "mg-wfbp", "pace", "dear", "tictac",
            "latency-hiding")


@dataclasses.dataclass
class Model:
    """A linear regression of `features` on `local` samples of each device. bias: a second parameter, of one element.
    momentum: state. read: a parameter that only the update reads; unread: one that nothing does. empty: a parameter without
    elements, with a gradient. forward: `read` is of the forward computation, too."""

    features: int
    local: int
    bias: bool = False
    momentum: bool = False
    read: bool = False
    forward: bool = False
    unread: bool = False
    empty: bool = False

    @classmethod
    def draw(cls, random):
        return cls(random.choice([1, 2, 3, 7, 13, 31]), random.choice([1, 1, 2, 3, 5]),
                   *(random.random() < part for part in (0.5, 0.4, 0.3, 0.5, 0.2, 0.25)))

    def source(self):
        w, p = f"tensor<{self.features}xf32>", f"tensor<{self.local}xf32>"
        x = f"tensor<{self.local}x{self.features}xf32>"
        arguments, results = [f'%w: {w} {{cs.param = "w"}}'], []
        lines = [f"%rate = arith.constant dense<0.01> : {w}", "%zero = arith.constant 0.0 : f32"]
        for name, type_ in (("p", p), ("w", w), ("s", "tensor<f32>")):
            lines += [f"%e{name} = tensor.empty() : {type_}",
                      f"%z{name} = linalg.fill ins(%zero : f32) outs(%e{name} : {type_}) -> {type_}"]
        weights = "%w"
        if self.read:
            arguments.append(f'%read: {w} {{cs.param = "read"}}')
            if self.forward:
                weights = "%scaled"
                lines.append(f"%scaled = arith.mulf %w, %read : {w}")
        lines += [f"%p = linalg.matvec ins(%x, {weights} : {x}, {w}) outs(%zp : {p}) -> {p}",
                  f"%d = arith.subf %p, %y : {p}",
                  f"%loss = linalg.dot ins(%d, %d : {p}, {p}) outs(%zs : tensor<f32>) -> tensor<f32>",
                  f"%raw = linalg.vecmat ins(%d, %x : {p}, {x}) outs(%zw : {w}) -> {w}",
                  f'%g = cs.gradient %raw of "w" : {w}']
        change = "%g"
        if self.momentum:
            arguments.append(f'%m: {w} {{cs.state = "m"}}')
            lines += [f"%half = arith.constant dense<0.5> : {w}", f"%old = arith.mulf %m, %half : {w}",
                      f"%m1 = arith.addf %old, %g : {w}"]
            results.append(("%m1", w, 'cs.updates = "m"'))
            change = "%m1"
        lines.append(f"%u = arith.mulf {change}, %rate : {w}")
        if self.read:
            lines.append(f"%u1 = arith.mulf %u, %read : {w}")
        lines.append(f"%w1 = arith.subf %w, {'%u1' if self.read else '%u'} : {w}")
        results.append(("%w1", w, 'cs.updates = "w"'))
        if self.bias:
            arguments.append('%b: tensor<1xf32> {cs.param = "b"}')
            lines += ["%flat = tensor.expand_shape %loss [] output_shape [1] : tensor<f32> into tensor<1xf32>",
                      '%gb = cs.gradient %flat of "b" : tensor<1xf32>', "%b1 = arith.subf %b, %gb : tensor<1xf32>"]
            results.append(("%b1", "tensor<1xf32>", 'cs.updates = "b"'))
        if self.empty:
            arguments.append('%n: tensor<0xf32> {cs.param = "n"}')
            lines += ['%gn = cs.gradient %n of "n" : tensor<0xf32>', "%n1 = arith.addf %n, %gn : tensor<0xf32>"]
            results.append(("%n1", "tensor<0xf32>", 'cs.updates = "n"'))
        if self.unread:
            arguments.append('%unread: tensor<5xf32> {cs.param = "unread"}')
        arguments += [f'%x: {x} {{cs.batch = "x"}}', f'%y: {p} {{cs.batch = "y"}}']
        results.append(("%loss", "tensor<f32>", 'cs.metric = "loss"'))
        types = ", ".join(f"{type_} {{{what}}}" for _, type_, what in results)
        body = "".join(f"  {line}\n" for line in lines)
        return (f"func.func @step({', '.join(arguments)}) -> ({types}) attributes {{cs.step}} {{\n{body}"
                f"  return {', '.join(r[0] for r in results)} : {', '.join(r[1] for r in results)}\n}}\n")

    def initial(self):
        values = {"w": np.linspace(-1, 1, self.features, dtype=np.float32)}
        if self.bias:
            values["b"] = np.ones(1, np.float32)
        if self.momentum:
            values["m"] = np.zeros(self.features, np.float32)
        if self.read:
            values["read"] = np.full(self.features, 0.5, np.float32)
        if self.empty:
            values["n"] = np.zeros(0, np.float32)
        if self.unread:
            values["unread"] = np.arange(5, dtype=np.float32)
        return values

    def batches(self, samples, seed):
        x = np.random.default_rng(seed).standard_normal((samples, self.features)).astype(np.float32)
        return {"x": x, "y": x.sum(1)}


@dataclasses.dataclass
class Way:
    nodes: int
    devices: int
    servers: int
    pipeline: str

    @classmethod
    def draw(cls, random):
        servers = random.choice([0, 0, 0, 1, 2, 9])
        options = [f"servers={servers}"] if servers else []

        def some(part, *values):
            if random.random() < part:
                options.append(random.choice(values))

        some(0.5, *(f"schedule={policy}" for policy in POLICIES))
        some(0.2, "density=0.5 min-elements=1", "density=0.01 min-elements=1")
        if servers:
            some(0.4, "min-block-elements=1", "min-block-elements=5")
            some(0.2, "placement=hash", "placement=round-robin")
        else:
            some(0.3, "algorithm=ring", "algorithm=halving-doubling")
            some(0.2, "hierarchical=false")
        name = "parameter-server" if servers else "all-reduce"
        return cls(random.choice([1, 2, 3, 5]), random.choice([1, 1, 1, 2, 3]), servers, f"--cs-{name}-pipeline={' '.join(options)}")
