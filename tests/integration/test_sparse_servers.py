# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sparse gradients with parameter servers do what docs/sparse.md says, in NumPy, bit for bit: values are small binary
fractions, so that no sum is rounded but where something is rounded on purpose. Of random programs and options."""
import math
import re
import subprocess

import numpy as np
import pytest
from conftest import TIME_LIMIT, expect_error, expect_success, run, tool
from ms_top_k import ms_top_k
from safetensors.numpy import load_file
from test_sparse import CLUSTER, top_k, write_plan
from test_sparse_rounded import rounded

STEPS = 5
RATE = np.float32(0.125)
SEEDS = range(16)


class Case:
    """A program and options, drawn by a seed."""

    def __init__(self, seed):
        random = self.random = np.random.default_rng(seed)
        self.seed = seed
        self.trainers, self.servers, self.devices = (int(random.choice(a)) for a in ([1, 2, 4], [1, 2, 3], [1, 1, 2]))
        self.shapes = {"w": (int(random.integers(2, 13)), int(random.integers(2, 9))), "b": (int(random.integers(4, 25)),)}
        self.density = {name: float(random.choice([0.1, 0.3, 1 / 3])) for name in self.shapes}
        self.density[random.choice([*self.shapes, "none", "none", "none"])] = 1.0  # dense
        self.min_block = int(random.choice([1, 8]))
        self.reduction = str(random.choice(["mean", "sum"]))
        self.values = str(random.choice(["same", "same", "f16", "int8"]))
        self.select = str(random.choice(["exact", "sampled", "mstopk"]))
        self.samples = int(random.choice([1, 3, 30]))
        self.feedback = bool(random.random() < 0.8)
        self.momentum = float(random.choice([0, 0.5])) if self.feedback else 0.0
        self.mask = bool(random.integers(2)) or not self.momentum
        self.every = int(random.choice([1, 3])) if self.feedback else 1
        # Gradients depend on the parameters there: few enough bits for a few steps.
        self.unsent = float(random.choice([0, 0.25])) if self.feedback and self.devices == 1 else 0.0

    def rules(self):
        return ",".join(f"{name}={density!r}" for name, density in self.density.items() if name in self.shapes)

    def options(self):
        texts = [f"values={self.values}", f"select={self.select}", f"feedback={str(self.feedback).lower()}",
                 f"exact-every={self.every}", f"unsent-rate={self.unsent}", f"mask={str(self.mask).lower()}"]
        return " ".join(texts + ([f"mstopk-samples={self.samples} mstopk-seed={self.seed}"] if self.select == "mstopk" else []))

    def insertion(self):
        return f"servers={self.servers} min-block-elements={self.min_block} reduction={self.reduction}"

    def pipeline(self):
        return (f"--cs-parameter-server-pipeline={self.insertion()} min-elements=1 sparse-rules={self.rules()} "
                f"momentum-correction={self.momentum} {self.options()}")

    def source(self):
        """Each gradient is the sum of the samples, and with an unsent rate w / 4 beside it; the optimizer has momentum."""
        arguments, results, body, returned, types = [], [], [], [], []
        for name, shape in self.shapes.items():
            n = "x".join(map(str, shape))
            t, dims = f"tensor<{n}xf32>", ", ".join(f"d{i}" for i in range(len(shape) + 1))
            arguments += [f'%{name}: {t} {{cs.param = "{name}"}}', f'%m_{name}: {t} {{cs.state = "{name}.m"}}',
                          f'%x_{name}: tensor<2x{n}xf32> {{cs.batch = "x_{name}"}}']
            results += [f'{t} {{cs.updates = "{name}"}}', f'{t} {{cs.updates = "{name}.m"}}']
            rest = ", ".join(f"d{i}" for i in range(1, len(shape) + 1))
            body.append(f"""
  %e_{name} = tensor.empty() : {t}
  %z_{name} = linalg.fill ins(%zero : f32) outs(%e_{name} : {t}) -> {t}
  %s_{name} = linalg.generic {{indexing_maps = [affine_map<({dims}) -> ({dims})>, affine_map<({dims}) -> ({rest})>],
      iterator_types = ["reduction"{', "parallel"' * len(shape)}]}} ins(%x_{name} : tensor<2x{n}xf32>) outs(%z_{name} : {t}) {{
    ^bb0(%a: f32, %c: f32):
      %d = arith.addf %a, %c : f32
      linalg.yield %d : f32
  }} -> {t}
  %q_{name} = arith.constant dense<{0.25 if self.unsent else 0.0}> : {t}
  %o_{name} = arith.mulf %q_{name}, %{name} : {t}
  %g0_{name} = arith.addf %s_{name}, %o_{name} : {t}
  %g_{name} = cs.gradient %g0_{name} of "{name}" : {t}
  %h_{name} = arith.constant dense<0.5> : {t}
  %k_{name} = arith.mulf %h_{name}, %m_{name} : {t}
  %v_{name} = arith.addf %k_{name}, %g_{name} : {t}
  %r_{name} = arith.constant dense<{RATE}> : {t}
  %u_{name} = arith.mulf %v_{name}, %r_{name} : {t}
  %n_{name} = arith.subf %{name}, %u_{name} : {t}""")
            returned += [f"%n_{name}", f"%v_{name}"]
            types += [t, t]
        return (CLUSTER.format(self.trainers, self.devices) + f"func.func @step({', '.join(arguments)}) -> ({', '.join(results)}) "
                "attributes {cs.step} {\n  %zero = arith.constant 0.0 : f32" + "".join(body)
                + f"\n  return {', '.join(returned)} : {', '.join(types)}\n}}\n")

    def data(self):
        """By name: initial values, and samples [step, trainer, device, 2, ...]."""
        self.random = np.random.default_rng(self.seed + 1000)
        initial = {name: self.random.integers(-4, 5, shape).astype(np.float32) for name, shape in self.shapes.items()}
        samples = {name: self.random.integers(-8, 9, (STEPS, self.trainers, self.devices, 2, *shape)).astype(np.float32)
                   for name, shape in self.shapes.items()}
        return initial, samples

    def write(self, folder):
        initial, samples = self.data()
        np.savez(folder / "train.npz", **{f"x_{name}": x.reshape(-1, *x.shape[4:]) for name, x in samples.items()})
        np.savez(folder / "init.npz", **initial, **{f"{name}.m": np.zeros_like(value) for name, value in initial.items()})
        return write_plan(folder / "plan", self.source(), self.pipeline())

    def seeds(self):
        """What selections of MSTopK begin to draw from, by parameter, in the order of its blocks."""
        lowered = subprocess.run(
            [tool("cs-opt"), f"--insert-dist-comm=mode=parameter-server {self.insertion()}", "--replicate-devices",
             "--assign-devices", f"--lower-sparse-comm=min-elements=1 rules={self.rules()} momentum={self.momentum} {self.options()}"],
            input=self.source(), text=True, capture_output=True, timeout=TIME_LIMIT, check=True).stdout
        found = {}
        for name, body in re.findall(r'cs\.fragment "top_k\.(\w+)"(.*?)cs\.return', lowered, re.S):
            found[name] = [int(seed) for seed in re.findall(r'cs\.top_k "mstopk"[^\n]* seed (-?\d+) step', body)]
        return found


def blocks_of(shape, servers, least):
    """Rows of blocks, as docs/parameter-server.md cuts them."""
    elements, rows = math.prod(shape), shape[0]
    row = elements // rows
    size = math.ceil(elements / min(servers, max(1, elements // least)))
    size = math.ceil(size / row)
    return [slice(begin, min(begin + size, rows)) for begin in range(0, rows, size)]


def is_dense(case, name):
    """Asked for, or because lists would have no fewer bytes."""
    if case.density[name] == 1:
        return True
    words, shape = 0, case.shapes[name]
    for rows in blocks_of(shape, case.servers, case.min_block):
        k = max(1, round(case.density[name] * (math.prod(shape) // shape[0] * (rows.stop - rows.start))))
        words += k + {"same": k, "f16": -(-k // 2), "int8": -(-k // 4) + 1}[case.values]
    return words >= math.prod(shape)


class Trainer:
    """One trainer's selection from one parameter."""

    def __init__(self, case, name, seeds, fault=None):
        self.case, self.fault = case, fault
        shape = case.shapes[name]
        self.blocks = blocks_of(shape, case.servers, case.min_block)
        self.density, self.seeds = 1 if is_dense(case, name) else case.density[name], seeds
        self.residual, self.velocity = np.zeros(shape, np.float32), np.zeros(shape, np.float32)
        self.thresholds, self.steps, self.filled = [(0.0, 0)] * len(self.blocks), 0, 0

    def send(self, gradient):
        """What servers get of it; keeps the rest."""
        case = self.case
        if self.density == 1:
            if case.momentum:
                self.velocity = gradient = np.float32(case.momentum) * self.velocity + gradient
            return gradient
        sent = np.zeros_like(gradient)
        for b, rows in enumerate(self.blocks):
            direction = np.float32(case.momentum) * self.velocity[rows] + gradient[rows] if case.momentum else gradient[rows]
            total = self.residual[rows] + direction
            k = max(1, round(self.density * total.size))
            threshold, age = self.thresholds[b]
            if age and threshold > 0:
                at = np.array([i for i in top_k(total, k) if abs(total.ravel()[i]) >= threshold], int)
            else:
                at = top_k(total, k)
                if case.select == "mstopk":
                    at, missing = ms_top_k(total, k, case.samples, self.seeds[b], self.steps)
                    self.filled += missing > 0
                threshold, age = abs(total.ravel()[at]).min(), 0
            self.thresholds[b] = (threshold, (age + 1) % case.every)
            list_ = total.ravel()[at]
            # Lists are as long as k: of int8 padding changes no scale.
            travels = list_ if case.values == "same" else rounded(list_, case.values)
            own, rest = np.zeros(total.size, np.float32), total.ravel().copy()
            own[at], rest[at] = travels, list_ - travels
            sent[rows] = own.reshape(total.shape)
            if case.feedback and self.fault != "no feedback":
                self.residual[rows] = rest.reshape(total.shape)
            if case.momentum:
                kept = direction.ravel().copy()
                if case.mask:
                    kept[at] = 0
                self.velocity[rows] = kept.reshape(total.shape)
        self.steps += 1
        return sent


def reference(case, fault=None):
    """Parameters and the optimizer's momentum after the last step, and the trainers."""
    initial, samples = case.data()
    seeds = case.seeds() if case.select == "mstopk" else {}
    values, trainers = {}, {}
    for name, value in initial.items():
        momentum = np.zeros_like(value)
        own = trainers[name] = [Trainer(case, name, seeds.get(name), fault) for _ in range(case.trainers)]
        for step in range(STEPS):
            total = np.zeros_like(value)
            for trainer, parts in zip(own, samples[name][step]):
                ahead = value - np.float32(case.unsent) * trainer.residual
                devices = [part.sum(axis=0) + np.float32(0.25 if case.unsent else 0) * ahead for part in parts]
                gradient = sum(devices[1:], devices[0])
                if case.reduction == "mean":
                    gradient = gradient / np.float32(case.devices)
                total = total + trainer.send(gradient)
            if case.reduction == "mean" and fault != "sum":
                total = total / np.float32(case.trainers)
            momentum = np.float32(0.5) * momentum + total
            value = value - RATE * momentum
        values[name], values[f"{name}.m"] = value, momentum
    return values, trainers


def same(got, want):
    return all(np.array_equal(got[name], value) for name, value in want.items())


def train(folder, plan, state, *arguments, steps=STEPS):
    expect_success(run(plan, "--batch", folder / "train.npz", "--steps", steps, "--checkpoint", state, *arguments))
    return load_file(state)


def ranks_of(state, step, count):
    return [load_file(f"{state}.step{step}.rank{rank}") for rank in range(count)]


@pytest.mark.parametrize("seed", SEEDS)
def test_follows_numpy(tmp_path, seed):
    case = Case(seed)
    plan = case.write(tmp_path)
    got = train(tmp_path, plan, tmp_path / "state", "--init", tmp_path / "init.npz")
    want, trainers = reference(case)
    for name, value in want.items():
        np.testing.assert_array_equal(got[name], value, err_msg=f"{name} of {vars(case)}")
    assert set(got) == set(want)  # what is a rank's own is in files of its own
    sparse = [name for name in case.shapes if not is_dense(case, name)]
    own = ranks_of(tmp_path / "state", STEPS, case.trainers) if case.feedback and sparse else []
    for rank, saved in enumerate(own):
        for name in sparse:
            np.testing.assert_array_equal(saved[f"{name}.residual"], trainers[name][rank].residual)
            if case.momentum:
                np.testing.assert_array_equal(saved[f"{name}.velocity"], trainers[name][rank].velocity)


def test_cases_are_of_all_sorts():
    """What the others try: every option, and faults of the reference are seen."""
    cases = [Case(seed) for seed in SEEDS]
    for name in ("trainers", "servers", "devices", "reduction", "values", "select", "feedback", "momentum", "mask", "every",
                 "unsent"):
        assert len({getattr(case, name) for case in cases}) > 1, name
    cut = [case for case in cases for n, s in case.shapes.items()
           if not is_dense(case, n) and len(blocks_of(s, case.servers, case.min_block)) > 1]
    assert len(cut) > 3
    for fault, applies in (("no feedback", lambda c: c.feedback), ("sum", lambda c: c.reduction == "mean" and c.trainers > 1)):
        seen = [not same(reference(case, fault)[0], reference(case)[0]) for case in cases
                if applies(case) and not all(is_dense(case, n) for n in case.shapes)]
        assert seen and all(seen), fault
    assert any(t.filled for case in cases if case.select == "mstopk" for own in reference(case)[1].values() for t in own)


@pytest.mark.parametrize("spawned", [False, True])
@pytest.mark.parametrize("seed", [s for s in SEEDS if Case(s).feedback and not is_dense(Case(s), "w")][:4])
def test_resuming_continues_bitwise(tmp_path, seed, spawned):
    case = Case(seed)
    plan = case.write(tmp_path)
    whole = train(tmp_path, plan, tmp_path / "whole", "--init", tmp_path / "init.npz")
    data = ["--batch", tmp_path / "train.npz", "--checkpoint", tmp_path / "half"]
    how = ["--spawn", "--checkpoint-every", 2] if spawned else []
    (tmp_path / "half").mkdir() if spawned else None
    expect_success(run(plan, *data, *how, "--steps", 2, "--init", tmp_path / "init.npz"))
    expect_success(run(plan, *data, *how, "--steps", STEPS - 2, "--resume", tmp_path / "half", "--save-params",
                       tmp_path / "params"))
    got = load_file(tmp_path / "params")
    for name in case.shapes:
        assert got[name].tobytes() == whole[name].tobytes(), name


def test_other_servers_keep_residuals(tmp_path):
    """A job that goes on with other servers: residuals are of whole parameters, and of a sum of nothing new all that is
    left arrives."""
    case = next(c for c in map(Case, SEEDS) if c.feedback and not is_dense(c, "w") and c.servers == 1 and c.trainers > 1)
    plan = case.write(tmp_path)
    train(tmp_path, plan, tmp_path / "state", "--init", tmp_path / "init.npz", steps=3)
    before = ranks_of(tmp_path / "state", 3, case.trainers)
    case.servers = 3
    other = write_plan(tmp_path / "other", case.source(), case.pipeline())
    train(tmp_path, other, tmp_path / "state", "--resume", tmp_path / "state", steps=1)
    after = ranks_of(tmp_path / "state", 4, case.trainers)
    assert before[0]["w.residual"].shape == after[0]["w.residual"].shape and before[0]["w.residual"].any()


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_what_is_not_finite_ends_the_run(tmp_path, bad):
    case = next(c for c in map(Case, SEEDS) if not is_dense(c, "w"))
    plan = case.write(tmp_path)
    data = dict(np.load(tmp_path / "train.npz"))
    data["x_w"][1].flat[0] = bad
    np.savez(tmp_path / "train.npz", **data)
    expect_error(run(plan, "--batch", tmp_path / "train.npz", "--steps", 2, "--init", tmp_path / "init.npz"), "top_k",
                 "NaN or infinite")
