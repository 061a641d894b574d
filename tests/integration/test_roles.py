# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Ranks that run different steps, in a line of stages: random ones, as plans and interpreted, against NumPy."""
import random
import subprocess

import numpy as np
import pytest
from built import tool
from conftest import CLUSTER, TIME_LIMIT, expect_success, run
from safetensors.numpy import load_file, save_file

X = "!cs.placed<tensor<1x1xf32>, device 0>"
I = "!cs.placed<tensor<i32>, device 0>"


def run_tool(*arguments):
    return subprocess.run([str(argument) for argument in arguments], capture_output=True, text=True, timeout=TIME_LIMIT)


class Stage:
    """Its ranks add what they get to what they have, have a collective, and give it to the next stage."""

    def __init__(self, chance, number, ranks, batch):
        self.number, self.ranks, self.batch = number, ranks, batch
        self.kind = chance.choice(["sum", "max", "none", "group", "group"])
        self.members = sorted(chance.sample(range(ranks), chance.randint(1, ranks)))
        if chance.random() < 0.7:  # as in other stages, of whose ranks the group is then too
            self.members = list(range(min(ranks, 2)))
        self.group = "g" + "_".join(map(str, self.members))
        self.index = chance.random() < 0.5

    def function(self, rows, before, after):
        type = f"!cs.placed<tensor<{rows}xf32>, device 0>"
        all = f"!cs.placed<tensor<{rows * self.ranks}xf32>, device 0>"
        arguments = [f'%v: {type} {{cs.state = "v{self.number}", cs.per_rank}}', f'%o: {all} {{cs.param = "all{self.number}"}}']
        inputs, types, inner, given = ["%v"], [type], [f"%a0: tensor<{rows}xf32>"], "%a0"
        lines, body = [], []

        def add(value, value_type, tensor, extract):
            nonlocal given
            k = len(inputs)
            inputs.append(value), types.append(value_type), inner.append(f"%a{k}: {tensor}")
            body.append(extract.format(k=k))
            body.append(f"    %r{k} = linalg.add ins({given}, %t{k} : tensor<{rows}xf32>, tensor<{rows}xf32>) "
                        f"outs(%e : tensor<{rows}xf32>) -> tensor<{rows}xf32>")
            given = f"%r{k}"

        fill = f"    %t{{k}} = linalg.fill ins(%s{{k}} : f32) outs(%e : tensor<{rows}xf32>) -> tensor<{rows}xf32>"
        if self.batch:
            arguments.append(f'%x: {X} {{cs.batch = "{self.batch}"}}')
            add("%x", X, "tensor<1x1xf32>", "    %s{k} = tensor.extract %a{k}[%zero, %zero] : tensor<1x1xf32>\n" + fill)
        if self.index:
            arguments.append(f"%i: {I} {{cs.worker_index}}")
            add("%i", I, "tensor<i32>", "    %n{k} = tensor.extract %a{k}[] : tensor<i32>\n    %s{k} = arith.sitofp %n{k} : i32 to f32\n" + fill)
        if before:
            lines.append(f"""  %f = cs.start "m{self.number}" () : () -> !cs.future<{type}> {{
    %g = cs.recv "m{self.number}" from affine_map<(r) -> (r)> of @stage{before.number} : {type}
    cs.return %g : {type}
  }}
  %g = cs.await %f : !cs.future<{type}>""")
            add("%g", type, f"tensor<{rows}xf32>", "    %t{k} = tensor.cast %a{k} : " + f"tensor<{rows}xf32> to tensor<{rows}xf32>")
        lines.append(f"""  %a = cs.fragment "add" on 0 ({", ".join(inputs)}) : ({", ".join(types)}) -> {type} {{
  ^bb0({", ".join(inner)}):
    %zero = arith.constant 0 : index
    %e = tensor.empty() : tensor<{rows}xf32>
""" + "\n".join(body) + f"\n    cs.return {given} : tensor<{rows}xf32>\n  }}")
        value = "%a"

        def start(name, key, operand, op, result):
            lines.append(f"""  {name}f = cs.start "{key}" ({operand}) : ({type}) -> !cs.future<{result}> {{
  ^bb0(%y: {type}):
    {op}
    cs.return %z : {result}
  }}
  {name} = cs.await {name}f : !cs.future<{result}>""")

        if self.kind != "none":
            within = f" in @{self.group}" if self.kind == "group" else ""
            kind = "sum" if self.kind == "group" else self.kind
            start("%b", "b", value, f'%z = cs.all_reduce "b" {kind} %y{within} : {type}', type)
            value = "%b"
        if after:
            when = f" when affine_set<(r) : ({after.ranks - 1} - r >= 0)>"
            lines.append(f"""  %sf = cs.start "m{after.number}" ({value}) : ({type}) -> !cs.future<{type}> {{
  ^bb0(%y: {type}):
    cs.send "m{after.number}" %y to affine_map<(r) -> (r)> of @stage{after.number}{when} : {type}
    cs.return %y : {type}
  }}
  %s = cs.await %sf : !cs.future<{type}>""")
        start("%n", "n", value, f'%z = cs.all_gather "n" %y : {type} -> {all}', all)
        return "\n".join([f'func.func @stage{self.number}({", ".join(arguments)}) -> ({type} {{cs.updates = "v{self.number}"}}, '
                          f'{all} {{cs.updates = "all{self.number}"}}) attributes {{cs.step, cs.count = {self.ranks} : i64}} {{',
                          *lines, f"  return {value}, %n : {type}, {all}", "}"])


class Job:
    def __init__(self, seed):
        chance = random.Random(seed)
        self.rows = chance.choice([1, 5, 3000])
        counts = sorted((chance.randint(1, 4) for _ in range(chance.randint(2, 3))), reverse=True)
        self.batch = 12  # all counts divide it
        names = [chance.choice(["x", "y", None]) for _ in counts]
        names[0] = "x"
        self.stages = [Stage(chance, k, count, name) for k, (count, name) in enumerate(zip(counts, names))]
        self.nodes, self.steps = sum(counts), chance.randint(1, 4)
        generator = np.random.default_rng(seed)
        self.data = {name: generator.integers(-9, 9, (self.steps * self.batch, 1)).astype(np.float32) for name in "xy"}
        groups = sorted({f"cs.group @{stage.group} ranks {stage.members}" for stage in self.stages})
        stages = [*self.stages, None]
        functions = [stage.function(self.rows, stages[k - 1] if k else None, stages[k + 1]) for k, stage in enumerate(self.stages)]
        self.source = "\n".join([CLUSTER.format(nodes=self.nodes), *groups, *functions, ""])
        self.parts()

    def parts(self):
        """A rank's part of the batch has as many samples as its stage has parts of 12; the first counts."""
        for stage in self.stages:
            begin = self.source.index(f"func.func @stage{stage.number}(")
            end = self.source.find("func.func", begin + 1)
            end = len(self.source) if end < 0 else end
            own = self.source[begin:end].replace("tensor<1x1xf32>", f"tensor<{self.batch // stage.ranks}x1xf32>")
            self.source = self.source[:begin] + own + self.source[end:]

    def expected(self):
        values = [np.zeros(stage.ranks) for stage in self.stages]
        for step in range(self.steps):
            given = None
            for k, stage in enumerate(self.stages):
                value = values[k].copy()
                if stage.batch:
                    own = self.data[stage.batch][step * self.batch:(step + 1) * self.batch, 0]
                    value += own[::self.batch // stage.ranks]
                if stage.index:
                    value += np.arange(stage.ranks)
                if given is not None:
                    value += given[:stage.ranks]
                if stage.kind in ("sum", "max"):
                    value[:] = value.sum() if stage.kind == "sum" else value.max()
                if stage.kind == "group":
                    value[stage.members] = value[stage.members].sum()
                values[k] = given = value
        return values

    def check(self, of):
        for stage, expected in zip(self.stages, self.expected()):
            got = of(stage).reshape(stage.ranks, self.rows)
            np.testing.assert_allclose(got, np.repeat(expected[:, None], self.rows, 1), rtol=1e-6, err_msg=f"stage {stage.number}")


def prepare(tmp_path, seed):
    job = Job(seed)
    save_file(job.data, tmp_path / "data.safetensors")
    save_file({f"all{stage.number}": np.zeros(stage.ranks * job.rows, np.float32) for stage in job.stages},
              tmp_path / "init.safetensors")
    (tmp_path / "step.mlir").write_text(job.source)
    made = run_tool(tool("cs-opt"), "--expand-collectives", "--verify-distributed", tmp_path / "step.mlir", "-o", tmp_path / "expanded.mlir")
    assert made.returncode == 0, made.stderr
    return job


def make_plan(tmp_path):
    made = run_tool(tool("cs-translate"), "--mlir-to-plan", tmp_path / "expanded.mlir", "-o", tmp_path / "plan")
    assert made.returncode == 0, made.stderr


def run_plan(tmp_path, job, *how):
    return run(tmp_path / "plan", "--batch", tmp_path / "data.safetensors", "--init", tmp_path / "init.safetensors",
               "--steps", job.steps, "--save-params", tmp_path / "out", *how)


@pytest.mark.parametrize("seed", [*range(14), 17, 24])  # 17, 24: steps that share a group
def test_stages_of_one_process(tmp_path, seed):
    job = prepare(tmp_path, seed)
    make_plan(tmp_path)
    expect_success(run_plan(tmp_path, job))
    saved = load_file(tmp_path / "out")
    job.check(lambda stage: saved[f"all{stage.number}"])


@pytest.mark.parametrize("seed", range(16, 24))
def test_stages_of_many_processes(tmp_path, seed):
    """Who runs another step than rank 0 has other parameters, in a file beside."""
    job = prepare(tmp_path, seed)
    make_plan(tmp_path)
    expect_success(run_plan(tmp_path, job, "--spawn"))
    saved = [load_file(tmp_path / (f"out.stage{stage.number}" if stage.number else "out")) for stage in job.stages]
    assert [list(of) for of in saved] == [[f"all{stage.number}"] for stage in job.stages]
    job.check(lambda stage: saved[stage.number][f"all{stage.number}"])


@pytest.mark.parametrize("level", ["step", "expanded"])
@pytest.mark.parametrize("seed", range(24, 30))
def test_they_are_interpreted(tmp_path, seed, level):
    job = prepare(tmp_path, seed)
    made = run_tool(tool("cs-opt"), tmp_path / f"{level}.mlir", f"--interpret={job.steps}",
                    f"--interpret-values={tmp_path}/init.safetensors", f"--interpret-batches={tmp_path}/data.safetensors",
                    f"--interpret-output={tmp_path}/out")
    assert made.returncode == 0, made.stderr
    saved = load_file(tmp_path / "out")
    job.check(lambda stage: saved[f"{job.steps}:all{stage.number}"])


def test_it_goes_on_from_a_checkpoint_in_one_process(tmp_path):
    job = prepare(tmp_path, 30)
    job.steps = max(job.steps, 2)
    make_plan(tmp_path)
    expect_success(run_plan(tmp_path, job, "--checkpoint", tmp_path / "c"))
    whole = load_file(tmp_path / "out")
    expect_success(run(tmp_path / "plan", "--batch", tmp_path / "data.safetensors", "--init", tmp_path / "init.safetensors",
                       "--steps", 1, "--checkpoint", tmp_path / "half"))
    expect_success(run(tmp_path / "plan", "--batch", tmp_path / "data.safetensors", "--resume", tmp_path / "half",
                       "--steps", job.steps - 1, "--save-params", tmp_path / "out2"))
    again = load_file(tmp_path / "out2")
    assert all(np.array_equal(whole[name], again[name]) for name in whole)


@pytest.mark.parametrize("options,error", [(["--simulate"], "it cannot be simulated"),
                                           (["--replan", "cp x {plan}", "--replan-every", 2], "it cannot be planned again"),
                                           (["--spawn", "--checkpoint", "c"], "checkpoints need all of them in one process")])
def test_what_is_refused(tmp_path, options, error):
    job = prepare(tmp_path, 31)
    make_plan(tmp_path)
    if options[0] == "--simulate":
        _, said, status = run(tmp_path / "plan", *options)
    else:
        _, said, status = run_plan(tmp_path, job, *(tmp_path / o if o == "c" else o for o in options))
    assert status != 0 and f"ranks of the plan run different steps: {error}" in said, said
