# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whether whole models are trained as sharded JAX trains them.

28 models in flax linen, flax nnx, Equinox, Haiku and plain JAX, in float32 and mixed with bfloat16, 20 steps (--quick: 4
models, 5 steps) of SGD with momentum on 1, 2 and 4 workers, against JAX on as many devices (shard_map, means of
gradients by pmean).

"difference": the largest over the parameters' tensors of |ours - JAX's| / |JAX's|; "of movement": the same over how
far training moved the tensor, so that one that hardly moves hides nothing. "moved" is by how much all parameters did,
relative to their size; a model that moved less than 1e-3 shows nothing, and counts as wrong. How
far rounding alone takes two correct programs apart is measured: the same training in double precision is the answer
that both are compared with, and "over JAX's" is our distance from it over JAX's. Where ours is much larger, JAX is
trained again from samples that are off by half a unit in the last place, and the largest of its distances counts: a
sample that a router sends to another expert takes a correct program as far. --models, --types and --workers choose.
"""
import argparse
import json
import os
import pathlib
import sys
import time

os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + " --xla_force_host_platform_device_count=4"
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import jax  # noqa: E402
import numpy as np  # noqa: E402
from jax.sharding import PartitionSpec  # noqa: E402

import commsched  # noqa: E402
from _models import all_models, in_type, step_of  # noqa: E402

QUICK = ("linen ResNet", "nnx mixture of experts", "Equinox GPT", "Haiku LSTM")


def train_jax(step, workers, params, state, batches):
    """Parameters after the steps, on as many devices."""
    mesh = jax.sharding.Mesh(np.array(jax.devices()[:workers]), ("workers",))

    def mean(tree):
        return jax.tree.map(lambda leaf: jax.lax.pmean(leaf, "workers"), tree)
    whole, parts = PartitionSpec(), PartitionSpec("workers")
    # Not checked: else JAX sums gradients on its own.
    sharded = jax.jit(jax.shard_map(lambda p, s, *b: step(p, s, *b, mean=mean), mesh=mesh, check_vma=False,
                                    in_specs=(whole, whole, *[parts] * len(batches[0])), out_specs=whole))
    for batch in batches:
        params, state, _ = sharded(params, state, *batch)
    return jax.tree.map(np.asarray, params)


def train(step, workers, params, state, batches):
    """The same by CommSched."""
    positions = tuple(range(2, 2 + len(batches[0])))
    program = commsched.transpile(lambda p, s, *b: step(p, s, *b, mean=lambda tree: tree), params, state, *batches[0],
                                  batch=positions, cluster=workers)
    program.run([b[0] if len(b) == 1 else b for b in batches])
    result = program.params
    program.close()
    return result


def distance(a, b):
    """Infinite if anything is not a number."""
    value = float(np.linalg.norm((np.asarray(a).astype(np.float64) - np.asarray(b).astype(np.float64)).ravel()))
    return value if np.isfinite(value) else float("inf")


def over(error, size):
    return error / size if size else 0.0 if error == 0 else float("inf")


def norm(parts):
    return float(np.linalg.norm(parts))


def worst(found, wanted, sizes):
    """(error, path) of the tensor that is off by most, relative to a size of each."""
    leaves = zip(jax.tree_util.tree_flatten_with_path(wanted)[0], jax.tree.leaves(found), sizes, strict=True)
    return max((over(distance(a, b), size), jax.tree_util.keystr(path)) for (path, a), b, size in leaves)


class Case:
    """One model in one type: how it is trained, and where training takes it without rounding."""

    def __init__(self, model, dtype, count):
        self.model, self.dtype = model, dtype
        self.params, own, loss = model.make(jax.numpy.bfloat16 if dtype == "bf16" else None)
        self.step, optimizer = step_of(loss, model.rate)
        self.state = {"own": own, "momentum": optimizer.init(self.params)}
        self.batches = [model.batch(i) for i in range(count)]

    def devices(self, workers):
        """Of the reference: random numbers of samples are those of one device, and no model with some has statistics of its batch."""
        return 1 if "key" in self.state["own"] else workers

    def exact(self, workers):
        """Of the model without bfloat16, in double precision."""
        params, own, loss = self.model.make(None)  # outside, where random numbers are those of float32
        with jax.enable_x64(True):
            params, own = in_type((params, own), np.float64)
            step, optimizer = step_of(loss, self.model.rate)
            state = {"own": own, "momentum": optimizer.init(params)}
            return train_jax(step, self.devices(workers), params, state, [in_type(b, np.float64) for b in self.batches])

    def nudged(self, workers, seed):
        """Where JAX takes it from samples that are other roundings of the same numbers."""
        rng = np.random.default_rng(seed)
        unit = 2.0 ** (-9 if self.dtype == "bf16" else -24)

        def nudge(a):
            a = np.asarray(a)
            return (a * (1 + unit * rng.choice([-1, 1], a.shape))).astype(a.dtype) if a.dtype.kind == "f" else a
        return train_jax(self.step, self.devices(workers), self.params, self.state,
                         [jax.tree.map(nudge, batch) for batch in self.batches])

    def compare(self, workers, exact):
        """A row: numbers by name."""
        wanted = train_jax(self.step, self.devices(workers), self.params, self.state, self.batches)
        found = train(self.step, workers, self.params, self.state, self.batches)
        sizes = [distance(a, 0 * a) for a in jax.tree.leaves(wanted)]
        moved = [distance(a, b) for a, b in zip(jax.tree.leaves(wanted), jax.tree.leaves(self.params))]
        difference, _ = worst(found, wanted, sizes)
        of_movement, where = worst(found, wanted, moved)
        ours, jax_s = worst(found, exact, moved)[0], worst(wanted, exact, moved)[0]
        if ours > 2 * jax_s and of_movement > BOUND[self.dtype]:
            jax_s = max(jax_s, *(worst(self.nudged(workers, seed), exact, moved)[0] for seed in range(NUDGES)))
        return {"difference": difference, "of_movement": of_movement, "where": where, "ours": ours, "jax": jax_s,
                "over_jax": over(ours, jax_s), "moved": over(norm(moved), norm(sizes))}


NUDGES = 8
# Of movement. Beyond it, and further than JAX from double precision, more than rounding is at work.
BOUND = {"f32": 1e-3, "bf16": 0.2}


def run(models, types, workers, count):
    rows, refused, wrong = [], [], []
    print(f"{'model':24} {'type':5} {'workers':>7} {'seconds':>8} {'difference':>11} {'of movement':>12} "
          f"{'moved':>8} {'over JAXs':>10}".replace("JAXs", "JAX's"))
    for model in models:
        exact = {}
        for dtype in types:
            case = Case(model, dtype, count)
            for size in workers:
                start = time.perf_counter()
                if size not in exact:
                    exact[size] = case.exact(size)
                try:
                    row = case.compare(size, exact[size])
                except commsched.CommSchedError as error:
                    reason = str(error).split("\n")[0][:200]
                    refused.append({"model": model.name, "type": dtype, "workers": size, "reason": reason})
                    print(f"{model.name:24} {dtype:5} {size:7} refused: {reason}", flush=True)
                    break  # with other numbers of workers too
                rows.append({"model": model.name, "type": dtype, "workers": size, **row})
                bad = row["of_movement"] > BOUND[dtype] and row["over_jax"] > 2 or row["moved"] < 1e-3
                if bad:
                    wrong.append(rows[-1])
                print(f"{model.name:24} {dtype:5} {size:7} {time.perf_counter() - start:8.1f} {row['difference']:11.1e} "
                      f"{row['of_movement']:12.1e} {row['moved']:8.1e} {row['over_jax']:10.2f}"
                      + (f"  WRONG: {row['where']}" if bad else ""), flush=True)
    return rows, refused, wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--steps", type=int)
    parser.add_argument("--models", nargs="*", help="words that their names hold")
    parser.add_argument("--types", nargs="*", choices=("f32", "bf16"), default=("f32", "bf16"))
    parser.add_argument("--workers", nargs="*", type=int, choices=(1, 2, 4))
    arguments = parser.parse_args()
    every = all_models()
    models = [m for name, m in every.items()
              if (any(word in name for word in arguments.models) if arguments.models else
                  name in QUICK if arguments.quick else True)]
    if not models:
        sys.exit(f"--models must name some of {', '.join(every)}, got: {' '.join(arguments.models)}")
    count = arguments.steps or (5 if arguments.quick else 20)
    workers = arguments.workers or ((1, 2) if arguments.quick else (1, 2, 4))
    rows, refused, wrong = run(models, arguments.types, workers, count)

    def largest(key, dtype):
        return max((row[key] for row in rows if row["type"] == dtype), default=None)
    print(json.dumps({
        "models": len({row["model"] for row in rows}), "steps": count, "cases": len(rows),
        "worst_relative_difference": largest("difference", "f32"), "worst_of_movement": largest("of_movement", "f32"),
        "worst_relative_difference_bf16": largest("difference", "bf16"), "worst_over_jax": largest("over_jax", "f32"),
        "worst_over_jax_bf16": largest("over_jax", "bf16"), "refused": refused,
        "wrong": [{k: row[k] for k in ("model", "type", "workers", "of_movement", "where")} for row in wrong]}))
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
