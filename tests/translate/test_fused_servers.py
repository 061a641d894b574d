# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Drawn steps whose blocks share messages with parameter servers, or do not: what trainers
and servers of the plan have is what NumPy computes of the step, bit for bit."""
import subprocess

import numpy as np
import pytest

from built import tool
from parameter_servers import Server, train_step
from plan_reader import Machine, translate

CLUSTER = """cs.cluster @lab nodes = 2 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000, overhead_ns = 20000>
"""
STEPS = 3


class Step:
    """Parameters of drawn shapes. A gradient is the parameter and a batch; some have momentum:
    m' = m / 2 + g, w' = w - m' / 4. Halves and quarters are exact."""

    def __init__(self, seed):
        rng = np.random.default_rng(seed)
        rows = int(rng.integers(2, 8))
        self.shapes = [(rows, *([int(rng.integers(1, 6))] if rng.integers(2) else []))
                       for _ in range(int(rng.integers(2, 10)))]
        self.momentum = [bool(rng.integers(2)) for _ in self.shapes]
        self.rng = rng

    def mlir(self):
        arguments, results, body, values = [], [], [], []
        for i, (shape, momentum) in enumerate(zip(self.shapes, self.momentum)):
            t = f"tensor<{'x'.join(map(str, shape))}xf32>"
            arguments += [f'%w{i}: {t} {{cs.param = "w{i}"}}', f'%x{i}: {t} {{cs.batch = "x{i}"}}']
            body += [f"%h{i} = arith.addf %w{i}, %x{i} : {t}", f'%g{i} = cs.gradient %h{i} of "w{i}" : {t}',
                     f"%half{i} = arith.constant dense<0.5> : {t}", f"%quarter{i} = arith.constant dense<0.25> : {t}"]
            made = f"%g{i}"
            if momentum:
                arguments.append(f'%m{i}: {t} {{cs.state = "m{i}"}}')
                body += [f"%d{i} = arith.mulf %m{i}, %half{i} : {t}", f"%n{i} = arith.addf %d{i}, %g{i} : {t}"]
                made = f"%n{i}"
                values.append((made, t))
                results.append(f'{t} {{cs.updates = "m{i}"}}')
            body += [f"%s{i} = arith.mulf {made}, %quarter{i} : {t}", f"%v{i} = arith.subf %w{i}, %s{i} : {t}"]
            values.append((f"%v{i}", t))
            results.append(f'{t} {{cs.updates = "w{i}"}}')
        names, types = zip(*values)
        return (CLUSTER + f"func.func @step({', '.join(arguments)}) -> ({', '.join(results)}) attributes {{cs.step}} {{\n  "
                + "\n  ".join(body) + f"\n  return {', '.join(names)} : {', '.join(types)}\n}}\n")

    def draw(self):
        return [self.rng.normal(size=shape).astype(np.float32) for shape in self.shapes]


def compiled(step, options, folder):
    level2 = subprocess.run([tool("cs-opt"), f"--cs-parameter-server-pipeline={options}", "--verify-distributed"],
                            input=step.mlir(), capture_output=True, text=True, check=True).stdout
    return translate(level2, str(folder))


@pytest.mark.parametrize("seed", range(12))
def test_values_are_those_of_numpy(seed, tmp_path):
    step = Step(seed)
    first = step.draw()
    batches = [[step.draw() for _ in range(2)] for _ in range(STEPS)]
    w, m = [value.copy() for value in first], [np.zeros_like(value) for value in first]
    for batch in batches:
        for i, momentum in enumerate(step.momentum):
            gradient = ((w[i] + batch[0][i]) + (w[i] + batch[1][i])) / np.float32(2)
            m[i] = m[i] * np.float32(0.5) + gradient if momentum else gradient
            w[i] = w[i] - m[i] * np.float32(0.25)
    servers_of = f"servers={1 + seed % 3} min-block-elements={1 + seed % 5}"
    shared = 0
    for number, options in enumerate(["fuse-blocks=false", "schedule=solver", "schedule=fixed-buckets",
                                      "schedule=fixed-buckets bucket-bytes=64 first-bucket-bytes=32",
                                      "schedule=priority cut-as=fixed-buckets"]):
        folder = tmp_path / str(number)
        folder.mkdir()
        path = compiled(step, f"{servers_of} {options}", folder)
        trainers = [Machine(path) for _ in range(2)]
        for trainer in trainers:
            trainer.slots = {f"w{i}": value.copy() for i, value in enumerate(first)}
        initial = {**trainers[0].slots, **{f"m{i}": np.zeros_like(value) for i, value in enumerate(first)}}
        blocks = trainers[0].plan.parameter_servers.servers
        servers = [Server(path, i, initial, 2) for i in range(len(blocks))]
        several = sum(bool(block.more_slots) for server in blocks for block in server.blocks)
        assert bool(trainers[0].plan.required_features >> 16 & 1) == bool(several)
        if number == 0:
            assert not several
        shared += several
        for at, batch in enumerate(batches):
            train_step(trainers, servers,
                       [{f"x{i}": value for i, value in enumerate(batch[rank])} for rank in range(2)], at)
        for i, value in enumerate(w):
            for trainer in trainers:
                assert np.array_equal(trainer.slots[f"w{i}"], value), (options, i)
        for server in servers:
            for slot in (server.plan.slots[s] for s in server.plan.roles[server.description.role].slots):
                if slot.part_of:
                    whole = (w if slot.part_of[0] == "w" else m)[int(slot.part_of[1:])]
                    rows = slice(slot.row_begin, slot.row_begin + slot.type.shape[0])
                    assert np.array_equal(server.slots[slot.name], whole[rows]), (options, slot.name)
    if len(step.shapes) >= 2 * (1 + seed % 3):
        assert shared
