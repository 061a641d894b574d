# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Collectives of groups of ranks: random ones, as plans and interpreted, against NumPy."""
import random
import subprocess

import numpy as np
import pytest
from built import tool
from conftest import CLUSTER, TIME_LIMIT, expect_success, run
from safetensors.numpy import load_file, save_file


def run_tool(*arguments):
    return subprocess.run([str(argument) for argument in arguments], capture_output=True, text=True, timeout=TIME_LIMIT)


class Group:
    def __init__(self, chance, name, nodes):
        self.name = name
        self.ranks = chance.sample(range(nodes), chance.randint(1, nodes))
        self.source = f"cs.group @{name} ranks {self.ranks}"
        if chance.random() < 0.4:  # an affine set has its ranks in order
            by, left = chance.randint(1, 3), chance.randrange(3)
            inside = [r for r in range(nodes) if (r - left) % by == 0]
            if inside:
                self.ranks = inside
                self.source = f"cs.group @{name} where affine_set<(r) : ((r - {left}) mod {by} == 0)>"


class Tensor:
    """A state of which each rank has its own; in a step it grows by the rank's sample, and goes through collectives."""

    def __init__(self, chance, groups):
        self.rows = chance.choice([1, 3, 40, 2000])
        # Sums to begin with, which may share messages with those of other tensors.
        self.collectives = [("sum", chance.choice(groups), 0.0)] if chance.random() < 0.7 else []
        self.collectives += [self.collective(chance, groups) for _ in range(chance.randint(1, 3))]

    def collective(self, chance, groups):
        group = chance.choice([*groups, None])
        kind = chance.choice(["sum", "mean", "max", "min", "broadcast", "gathered", "scattered", "rooted"])
        return kind, group, chance.random()


class Job:
    def __init__(self, seed):
        chance = random.Random(seed)
        self.chance = chance
        self.nodes = chance.randint(2, 8)
        self.groups = [Group(chance, f"g{i}", self.nodes) for i in range(chance.randint(1, 4))]
        self.tensors = [Tensor(chance, self.groups) for _ in range(chance.randint(1, 6))]
        self.steps = chance.randint(1, 3)
        self.batches = np.random.default_rng(seed).integers(-20, 20, (self.steps * self.nodes, 1)).astype(np.float32)
        self.source = self.module()

    def members(self, group):
        return group.ranks if group else list(range(self.nodes))

    def ops(self, k, tensor):
        """The chain of a tensor, from %a<k> to %z<k>."""
        type = f"!cs.placed<tensor<{tensor.rows}xf32>, device 0>"
        value, lines = f"%a{k}", []

        def add(text, result_type=type):
            nonlocal value
            value = f"%c{k}_{len(lines)}"
            lines.append(f"  {value} = {text} : {result_type}")

        for i, (kind, group, where) in enumerate(tensor.collectives):
            key, within = f"t{k}.{i}", f" in @{group.name}" if group else ""
            ranks = self.members(group)
            root = ranks[int(where * len(ranks))]
            whole = f"!cs.placed<tensor<{tensor.rows * len(ranks)}xf32>, device 0>"
            if kind == "broadcast":
                add(f'cs.broadcast "{key}" {value} from {root}{within}')
            elif kind == "rooted":  # what the root has, all get: that of others is unspecified
                add(f'cs.reduce "{key}" sum {value} to {root}{within}')
                add(f'cs.broadcast "{key}.all" {value} from {root}')
            elif kind in ("gathered", "scattered"):
                add(f'cs.all_gather "{key}" {value}{within}', f"{type} -> {whole}")
                if kind == "scattered":
                    add(f'cs.reduce_scatter "{key}.back" sum {value}{within}', f"{whole} -> {type}")
                else:
                    lines.append(f"""  %b{k}_{i} = cs.fragment "part" on 0 ({value}) : ({whole}) -> {type} {{
  ^bb0(%v: tensor<{tensor.rows * len(ranks)}xf32>):
    %s = tensor.extract_slice %v[{tensor.rows * (len(ranks) - 1)}] [{tensor.rows}] [1] : tensor<{tensor.rows * len(ranks)}xf32> to tensor<{tensor.rows}xf32>
    cs.return %s : tensor<{tensor.rows}xf32>
  }}""")
                    value = f"%b{k}_{i}"
                add(f'cs.broadcast "{key}.all" {value} from {root}')
            else:
                add(f'cs.all_reduce "{key}" {kind} {value}{within}')
        return lines, value

    def module(self):
        x = "!cs.placed<tensor<1x1xf32>, device 0>"
        arguments, results, types, fragments, chains, values = [], [], [], [], [], []
        for k, tensor in enumerate(self.tensors):
            type = f"!cs.placed<tensor<{tensor.rows}xf32>, device 0>"
            all = f"!cs.placed<tensor<{tensor.rows * self.nodes}xf32>, device 0>"
            arguments += [f'%p{k}: {type} {{cs.state = "p{k}", cs.per_rank}}', f'%o{k}: {all} {{cs.param = "all{k}"}}']
            results += [f'{type} {{cs.updates = "p{k}"}}', f'{all} {{cs.updates = "all{k}"}}']
            types += [type, all]
            fragments.append(f"""  %a{k} = cs.fragment "add" on 0 (%p{k}, %x) : ({type}, {x}) -> {type} {{
  ^bb0(%v: tensor<{tensor.rows}xf32>, %b: tensor<1x1xf32>):
    %zero = arith.constant 0 : index
    %s = tensor.extract %b[%zero, %zero] : tensor<1x1xf32>
    %e = tensor.empty() : tensor<{tensor.rows}xf32>
    %f = linalg.fill ins(%s : f32) outs(%e : tensor<{tensor.rows}xf32>) -> tensor<{tensor.rows}xf32>
    %r = linalg.add ins(%v, %f : tensor<{tensor.rows}xf32>, tensor<{tensor.rows}xf32>) outs(%e : tensor<{tensor.rows}xf32>) -> tensor<{tensor.rows}xf32>
    cs.return %r : tensor<{tensor.rows}xf32>
  }}""")
            chain, value = self.ops(k, tensor)
            chain.append(f'  %n{k} = cs.all_gather "n{k}" {value} : {type} -> {all}')
            chains.append(chain)
            values += [value, f"%n{k}"]
        body = []  # the chains, mixed
        if self.chance.random() < 0.5:
            body = [chain.pop(0) for chain in chains]
        while any(chains):
            body.append(self.chance.choice([chain for chain in chains if chain]).pop(0))
        return "\n".join([CLUSTER.format(nodes=self.nodes), *(group.source for group in self.groups),
                          f'func.func @step({", ".join(arguments)}, %x: {x} {{cs.batch = "x"}}) -> ({", ".join(results)}) attributes {{cs.step}} {{',
                          *fragments, *body, f'  return {", ".join(values)} : {", ".join(types)}', "}", ""])

    def together(self, values, kind, group, where):
        ranks = self.members(group)
        root, of = ranks[int(where * len(ranks))], values[ranks]
        result = values.copy()
        if kind == "rooted":
            result[:] = of.sum()
        elif kind == "gathered":
            result[:] = of[-1]
        elif kind == "scattered":  # each gets its own part, as often as there are members
            result[:] = values[root] * len(ranks)
        else:
            result[ranks] = {"sum": of.sum, "mean": of.mean, "max": of.max, "min": of.min}.get(kind, lambda: values[root])()
        return result

    def expected(self):
        """Of each tensor, what the ranks have in the end, one number for all elements."""
        values = np.zeros((len(self.tensors), self.nodes))
        for step in range(self.steps):
            values += self.batches[step * self.nodes:(step + 1) * self.nodes, 0]
            for k, tensor in enumerate(self.tensors):
                for kind, group, where in tensor.collectives:
                    values[k] = self.together(values[k], kind, group, where)
        return values

    def check(self, saved):
        for k, (tensor, expected) in enumerate(zip(self.tensors, self.expected())):
            got = saved(k).reshape(self.nodes, tensor.rows)
            np.testing.assert_allclose(got, np.repeat(expected[:, None], tensor.rows, 1), rtol=2e-6, atol=1e-4, err_msg=f"all{k}")


def prepare(tmp_path, seed, *more):
    job = Job(seed)
    algorithm = random.Random(seed).choice(["auto", "ring", "halving-doubling", "recursive-doubling"])
    policy = random.Random(seed + 1).choice(["solver", "fixed-buckets", "bytescheduler", "mg-wfbp"])
    save_file({"x": job.batches}, tmp_path / "data.safetensors")
    save_file({f"all{k}": np.zeros(t.rows * job.nodes, np.float32) for k, t in enumerate(job.tensors)}, tmp_path / "init.safetensors")
    (tmp_path / "step.mlir").write_text(job.source)
    made = run_tool(tool("cs-opt"), f"--schedule-comm=policy={policy}", f"--expand-collectives=algorithm={algorithm}", *more,
                    "--verify-distributed", tmp_path / "step.mlir", "-o", tmp_path / "scheduled.mlir")
    assert made.returncode == 0, made.stderr
    return job


@pytest.mark.parametrize("how", [[], ["--spawn"]])
@pytest.mark.parametrize("seed", range(16))
def test_random_groups(tmp_path, seed, how):
    job = prepare(tmp_path, seed)
    made = run_tool(tool("cs-translate"), "--mlir-to-plan", tmp_path / "scheduled.mlir", "-o", tmp_path / "plan")
    assert made.returncode == 0, made.stderr
    expect_success(run(tmp_path / "plan", *how, "--batch", tmp_path / "data.safetensors", "--init", tmp_path / "init.safetensors",
                       "--steps", job.steps, "--save-params", tmp_path / "out.safetensors"))
    saved = load_file(tmp_path / "out.safetensors")
    job.check(lambda k: saved[f"all{k}"])


@pytest.mark.parametrize("level", ["step", "scheduled", "specialised"])
@pytest.mark.parametrize("seed", range(16, 24))
def test_they_are_interpreted(tmp_path, seed, level):
    job = prepare(tmp_path, seed, *(["--specialize-ranks"] if level == "specialised" else []))
    module = tmp_path / ("step.mlir" if level == "step" else "scheduled.mlir")
    made = run_tool(tool("cs-opt"), module, f"--interpret={job.steps}", f"--interpret-values={tmp_path}/init.safetensors",
                    f"--interpret-batches={tmp_path}/data.safetensors", f"--interpret-output={tmp_path}/out.safetensors")
    assert made.returncode == 0, made.stderr
    saved = load_file(tmp_path / "out.safetensors")
    job.check(lambda k: saved[f"{job.steps}:all{k}"])


@pytest.mark.parametrize("seed", range(24, 28))
def test_they_are_simulated(tmp_path, seed):
    prepare(tmp_path, seed)
    made = run_tool(tool("cs-translate"), "--mlir-to-plan", tmp_path / "scheduled.mlir", "-o", tmp_path / "plan")
    assert made.returncode == 0, made.stderr
    times = [run(tmp_path / "plan", "--simulate", *more) for more in ([], ["--every-rank"])]
    assert all(status == 0 and "step:" in out for out, _, status in times), times
    _, error, status = run(tmp_path / "plan", "--simulate", "--what-if", "workers=16")
    assert status != 0 and "is of a group of ranks" in error
