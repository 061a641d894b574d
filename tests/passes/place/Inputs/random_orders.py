# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Usage: random_orders.py CS_OPT FOLDER SEED COUNT

Random steps of level 0 on nodes of several devices: --combine-collectives in front of --replicate-devices, behind it, or both
give what the reference interpreter finds of the step itself, within the bounds of both.
"""
import pathlib
import random
import sys

import numpy
from safetensors.numpy import load_file, save_file

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from drawn_program import DrawnProgram, call, main, tensor  # noqa: E402

REPLICATE, SHARDS, COMBINE = "--replicate-devices", "--replicate-devices=hierarchical=true", "--combine-collectives"
ORDERS = {"alone": [REPLICATE], "before": [COMBINE, REPLICATE], "behind": [REPLICATE, COMBINE],
          "both": [COMBINE, SHARDS, "--assign-devices", COMBINE], "assigned": [COMBINE, REPLICATE, "--assign-devices"]}


class Step(DrawnProgram):
    def __init__(self, rng):
        nodes, self.devices = rng.randint(1, 3), rng.randint(2, 3)
        super().__init__(rng, nodes, devices=self.devices, intra=8)
        self.numbers = numpy.random.default_rng(rng.getrandbits(32))
        self.values, self.pairs = {}, 0
        for _ in range(rng.randint(1, 3)):
            rng.choice([self.pair, self.pair, self.single, self.table])()
        if not self.pairs:
            self.pair()

    def param(self, shape):
        name = self.name("p")
        self.arguments.append(f'%{name}: {tensor(shape)} {{cs.param = "{name}"}}')
        self.values[name] = self.numbers.standard_normal(shape).astype("f4")
        return name

    def batch(self, shape, element="f32", below=None):
        name, whole = self.name("b"), (shape[0] * self.nodes * self.devices, *shape[1:])
        self.arguments.append(f'%{name}: {tensor(shape, element)} {{cs.batch = "{name}"}}')
        self.batches[name] = (self.numbers.standard_normal(whole).astype("f4") if element == "f32"
                              else self.numbers.integers(0, below, whole).astype("i4"))
        return name

    def gradient(self, param, shape):
        """Of the batch, or of the parameter alone."""
        other = self.batch(shape) if self.rng.random() < 0.7 else param
        made, mark, here = self.name("v"), self.name("g"), tensor(shape)
        self.body.append(f"%{made} = arith.mulf %{param}, %{other} : {here}\n  %{mark} = cs.gradient %{made} of \"{param}\" : {here}")
        return mark

    def update(self, param, by, shape):
        new = self.name("n")
        self.body.append(f"%{new} = arith.subf %{param}, %{by} : {tensor(shape)}")
        self.results.append((new, f'{tensor(shape)} {{cs.updates = "{param}"}}', tensor(shape)))

    def shape(self):
        return tuple(self.rng.randint(1, 7) for _ in range(self.rng.randint(1, 3)))

    def single(self):
        shape = self.shape()
        param = self.param(shape)
        self.update(param, self.gradient(param, shape), shape)

    def pair(self):
        """Two gradients of which nothing but their sum or difference is read."""
        shape, joined = self.shape(), self.name("j")
        params = [self.param(shape) for _ in range(2)]
        marks = [self.gradient(param, shape) for param in params]
        self.body.append(f"%{joined} = arith.{self.rng.choice(['add', 'sub'])}f %{marks[0]}, %{marks[1]} : {tensor(shape)}")
        for param in params:
            self.update(param, joined, shape)
        self.pairs += 1

    def table(self):
        """Of which few rows have gradients."""
        shape, rows = (self.rng.randint(100, 200), self.rng.randint(1, 3)), self.rng.randint(1, 4)
        param, ids, values = self.param(shape), self.batch((rows,), "i32", shape[0]), self.batch((rows, shape[1]))
        made, mark = self.name("v"), self.name("g")
        self.body.append(f"%{made} = cs.segment_sum %{ids}, %{values} : ({tensor((rows,), 'i32')}, {tensor((rows, shape[1]))}) -> {tensor(shape)}\n"
                         f"  %{mark} = cs.gradient %{made} of \"{param}\" : {tensor(shape)}")
        self.update(param, mark, shape)


def check(cs_opt, folder, seed):
    step = Step(random.Random(seed))
    reduction = step.rng.choice(["mean", "sum"])
    module, values, batches = (folder / f"{seed}.{what}" for what in ("mlir", "values", "batches"))
    module.write_text(step.text())
    save_file(step.values, values)
    save_file(step.batches, batches)
    interpret = ["--interpret=2", f"--interpret-values={values}", f"--interpret-batches={batches}"]
    wanted, found = folder / f"{seed}.wanted", folder / f"{seed}.found"
    call(cs_opt, module, *interpret, f"--interpret-output={wanted}", f"--interpret-workers={step.nodes * step.devices}",
         f"--interpret-reduction={reduction}")
    reference = load_file(wanted)
    for order, passes in ORDERS.items():
        lowered = folder / f"{seed}.{order}.mlir"
        said = call(cs_opt, module, f"--insert-dist-comm=reduction={reduction}", *passes, "--remarks-filter=combine-collectives", "-o", lowered)
        assert ("one all-reduce for" in said) == (COMBINE in passes), f"seed {seed}, {order}: {said}"
        call(cs_opt, lowered, *interpret, f"--interpret-output={found}")
        values_found = load_file(found)
        assert values_found.keys() == reference.keys(), f"seed {seed}, {order}"
        for name, value in reference.items():
            if not name.endswith(".bound"):
                bound = reference[name + ".bound"] + values_found[name + ".bound"]
                assert (numpy.abs(value.astype("f8") - values_found[name]) <= bound).all(), f"seed {seed}, {order}: {name}"
        call(cs_opt, lowered, "--schedule-comm=policy=fifo", "--expand-collectives", "--verify-distributed", "-o", folder / "level2.mlir")


if __name__ == "__main__":
    main(check)
