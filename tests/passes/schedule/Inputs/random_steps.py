# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random steps of level 1: random_steps.py SEED prints one.

Layers of random sizes and costs; gradients of several types, some from one fragment;
values that are reduced and used in the same step; updates that are deferred, or not,
or joined; chains of communication; parameters read twice, or only by updates.
"""
import random
import sys


class Step:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.arguments, self.body, self.results, self.last = [], [], [], []
        self.values = 0

    def name(self):
        self.values += 1
        return f"%v{self.values}"

    def type(self, dimensions, element="f32", device=0):
        return f"!cs.placed<tensor<{dimensions}{element}>, device {device}>"

    def fragment(self, label, inputs, types, deferred=False, to=None):
        """inputs: (value, type) pairs; returns pairs of the results. Goes to the body, or to these lines."""
        names = [self.name() for _ in types]
        ns = self.random.choice([0, 1, 1000, 50_000, 1_000_000, 20_000_000])
        line = (f'{", ".join(names)} = cs.fragment "{label}" on 0 ({", ".join(v for v, _ in inputs)})'
                f'{" deferred" if deferred else ""} cost <flops = 0, bytes = 0, ns = {ns}> : '
                f'({", ".join(t for _, t in inputs)}) -> ({", ".join(types)})')
        (self.body if to is None else to).append(line)
        return list(zip(names, types))

    def reduce(self, key, value, reduction="sum", op="all_reduce", to=None):
        name = self.name()
        form = {"all_reduce": f'cs.all_reduce "{key}" {reduction} {value[0]}',
                "reduce": f'cs.reduce "{key}" {reduction} {value[0]} to 0',
                "broadcast": f'cs.broadcast "{key}" {value[0]} from 1'}[op]
        (self.body if to is None else to).append(f"{name} = {form} : {value[1]}")
        return name, value[1]

    def print(self):
        r = self.random
        h = ("%x", self.type("64x"))
        layers = []
        for i in range(r.randint(1, 10)):
            dimensions = r.choice(["", "1x", "7x", "64x", "1000x", "300x300x", "1024x2048x", "33x65x3x"])
            element = r.choice(["f32", "f32", "f32", "f16", "i32"])
            kind = self.type(dimensions, element)
            parameter = (f"%p{i}", kind)
            self.arguments.append(f'{parameter[0]}: {kind} {{cs.param = "p{i}"}}')
            layers.append((i, parameter, element))
            inputs = [h] + ([parameter] if r.random() < 0.9 else [])
            h = self.fragment(f"forward.{i}", inputs, [h[1]])[0]
            if r.random() < 0.2:
                h = self.reduce(f"statistic.{i}", h, r.choice(["mean", "sum", "max"]))
        for i, parameter, element in reversed(layers):
            inputs = [h] + ([parameter] if r.random() < 0.3 else [])
            outputs = [parameter[1]] + ([h[1]] if r.random() < 0.7 else [])
            outputs = self.fragment(f"backward.{i}", inputs, outputs)
            if len(outputs) > 1:
                h = outputs[1]
            reduced = self.reduce(f"p{i}", outputs[0], "mean" if element != "i32" else "sum")
            if r.random() < 0.1:
                reduced = self.reduce(f"p{i}.again", reduced, op="broadcast")
            deferred, early = r.random() < 0.85, r.random() < 0.2
            inputs = [parameter, reduced]
            if self.results and r.random() < 0.1:
                inputs.append(self.results[-1][:2])  # reads what another update has made
                deferred, early = True, False
            lines = self.body if early or not deferred else self.last
            new = self.fragment(f"update.{i}", inputs, [parameter[1]], deferred, lines)[0]
            if r.random() < 0.1:
                new = self.reduce(f"p{i}.new", new, op="broadcast", to=self.last)
            self.results.append((*new, f'{{cs.updates = "p{i}"}}'))
        if r.random() < 0.8:
            metric = self.fragment("loss", [h], [self.type("")])[0]
            self.results.append((*self.reduce("metric.loss", metric, "mean", "reduce"), '{cs.metric = "loss"}'))
        self.arguments.append(f'%x: {self.type("64x")} {{cs.batch = "x"}}')
        cluster = (f"cs.cluster @c nodes = {r.randint(2, 9)} devices = 1 "
                   "device = <kind = cpu, gflops = 40, gb_per_s = 20> "
                   "intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = "
                   f"{r.choice([1, 100, 1000, 100000])}, latency_ns = {r.choice([0, 1000, 50000])}, "
                   f"overhead_ns = {r.choice([0, 1, 10000, 1000000])}> "
                   f"slowdown_percent = {r.choice([0, 30])}")
        lines = "\n  ".join(self.body + self.last)
        print(f"{cluster}\nfunc.func @step({', '.join(self.arguments)})\n"
              f"    -> ({', '.join(f'{t} {a}' for _, t, a in self.results)}) attributes {{cs.step}} {{\n  {lines}\n"
              f"  return {', '.join(v for v, _, _ in self.results)} : {', '.join(t for _, t, _ in self.results)}\n}}")


Step(int(sys.argv[1])).print()
