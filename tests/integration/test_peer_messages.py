# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Messages from one rank to another outside of exchanges: random ones, against NumPy."""
import random
import subprocess

import numpy as np
import pytest
from built import tool
from conftest import CLUSTER, TIME_LIMIT, expect_success, run
from safetensors.numpy import load_file


class Job:
    """Every parameter goes to another rank in each step, after it has grown by the rank's sample."""

    def __init__(self, seed):
        chance = random.Random(seed)
        self.nodes = chance.randint(2, 5)
        # Elements, and by how many ranks it goes around; 0: down a line, to rank 0.
        self.messages = [(chance.choice([1, 7, 1000, 300_000]), chance.randrange(self.nodes))
                         for _ in range(chance.randint(1, 4))]
        line = any(by == 0 for _, by in self.messages)
        self.steps = chance.randint(1, self.nodes - 1 if line else 6)
        self.batches = np.random.default_rng(seed).integers(0, 100, (self.steps * self.nodes, 1)).astype(np.float32)
        self.source = CLUSTER.format(nodes=self.nodes) + self.function(chance)

    def ends(self, by):
        """The peer and the set of who sends, and of who receives."""
        n = self.nodes
        if by:
            return f"affine_map<(r) -> ((r + {by}) mod {n})>", "", f"affine_map<(r) -> ((r + {n - by}) mod {n})>", ""
        return ("affine_map<(r) -> (r - 1)>", " when affine_set<(r) : (r - 1 >= 0)>",
                "affine_map<(r) -> (r + 1)>", f" when affine_set<(r) : ({n - 2} - r >= 0)>")

    def function(self, chance):
        types = [f"!cs.placed<tensor<{size}xf32>, device 0>" for size, _ in self.messages]
        arguments = ", ".join(f'%p{k}: {type} {{cs.param = "p{k}"}}' for k, type in enumerate(types))
        results = ", ".join(f'{type} {{cs.updates = "p{k}"}}' for k, type in enumerate(types))
        x = "!cs.placed<tensor<1x1xf32>, device 0>"
        fragments, sends, receives, awaits = [], [], [], []
        for k, ((size, by), type) in enumerate(zip(self.messages, types)):
            to, sending, source, receiving = self.ends(by)
            fragments.append(f"""  %a{k} = cs.fragment "add" on 0 (%p{k}, %x) : ({type}, {x}) -> {type} {{
  ^bb0(%v: tensor<{size}xf32>, %b: tensor<1x1xf32>):
    %zero = arith.constant 0 : index
    %s = tensor.extract %b[%zero, %zero] : tensor<1x1xf32>
    %e = tensor.empty() : tensor<{size}xf32>
    %f = linalg.fill ins(%s : f32) outs(%e : tensor<{size}xf32>) -> tensor<{size}xf32>
    %r = linalg.add ins(%v, %f : tensor<{size}xf32>, tensor<{size}xf32>) outs(%e : tensor<{size}xf32>) -> tensor<{size}xf32>
    cs.return %r : tensor<{size}xf32>
  }}""")
            sends.append(f"""  %s{k} = cs.start "m{k}" priority {chance.randrange(3)} (%a{k}) : ({type}) -> !cs.future<{type}> {{
  ^bb0(%v: {type}):
    cs.send "m{k}" %v to {to}{sending} : {type}
    cs.return %v : {type}
  }}""")
            receives.append(f"""  %r{k} = cs.start "m{k}" () : () -> !cs.future<{type}> {{
    %v = cs.recv "m{k}" from {source}{receiving} : {type}
    cs.return %v : {type}
  }}""")
            awaits += [f"  %w{k} = cs.await %s{k} : !cs.future<{type}>", f"  %n{k} = cs.await %r{k} : !cs.future<{type}>"]
        body = sends + receives
        chance.shuffle(body)
        chance.shuffle(awaits)
        names = ", ".join(f"%n{k}" for k in range(len(types)))
        return "\n".join([f'func.func @step({arguments}, %x: {x} {{cs.batch = "x"}}) -> ({results}) attributes {{cs.step}} {{',
                          *fragments, *body, *awaits, f"  return {names} : {', '.join(types)}", "}", ""])

    def expected(self):
        """What rank 0 has in the end, of each parameter one number for all elements."""
        values = np.zeros((len(self.messages), self.nodes), np.float32)
        for step in range(self.steps):
            grown = values + self.batches[step * self.nodes:(step + 1) * self.nodes, 0]
            for k, (_, by) in enumerate(self.messages):
                values[k] = np.roll(grown[k], by) if by else np.append(grown[k][1:], np.nan)
        return values[:, 0]


@pytest.mark.parametrize("how", [[], ["--spawn"]])
@pytest.mark.parametrize("seed", range(12))
def test_random_messages(tmp_path, seed, how):
    job = Job(seed)
    np.savez(tmp_path / "data.npz", x=job.batches)
    np.savez(tmp_path / "init.npz", **{f"p{k}": np.zeros(size, np.float32) for k, (size, _) in enumerate(job.messages)})
    (tmp_path / "step.mlir").write_text(job.source)
    subprocess.run([tool("cs-opt"), "--verify-distributed", tmp_path / "step.mlir", "-o", "/dev/null"], check=True, timeout=TIME_LIMIT)
    subprocess.run([tool("cs-translate"), "--mlir-to-plan", tmp_path / "step.mlir", "-o", tmp_path / "plan"], check=True,
                   timeout=TIME_LIMIT)
    expect_success(run(tmp_path / "plan", *how, "--batch", tmp_path / "data.npz", "--init", tmp_path / "init.npz",
                       "--steps", job.steps, "--save-params", tmp_path / "out.safetensors"))
    saved = load_file(tmp_path / "out.safetensors")
    for k, value in enumerate(job.expected()):
        assert np.all(saved[f"p{k}"] == value), (k, job.messages[k])


def test_they_are_simulated(tmp_path):
    job = Job(3)
    (tmp_path / "step.mlir").write_text(job.source)
    subprocess.run([tool("cs-translate"), "--mlir-to-plan", tmp_path / "step.mlir", "-o", tmp_path / "plan"], check=True,
                   timeout=TIME_LIMIT)
    out, _, status = run(tmp_path / "plan", "--simulate")
    assert status == 0 and "step:" in out
