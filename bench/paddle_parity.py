# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whether a process that has only the plan trains programs of PaddlePaddle as Paddle's own executor does.

Weights and batches come from --seed. LeNet and a Transformer layer, and in float64 VGG-16 and ResNet-50, take 5 steps by
Momentum, Adam, AdamW, and Momentum with clipping by the global norm, by all-reduce and with two parameter servers, on 1, 2
and 4 workers: Paddle's executor here, whose program has the network once for each part of the global batch and the mean of
their losses; the plan in a process in which paddle, torch and jax cannot be imported. Then parameters, the optimizer's
state and running statistics are compared, element by element; of models that moved less than 1e-3 that shows nothing, and
they count as wrong. The two large networks take Momentum on all workers, and the others on 2. --models, --workers,
--optimizers and --strategies choose; --quick: LeNet, the Transformer layer and a narrow VGG-16 on 1 and 2 workers.

What is compared must be conditioned, or two correct programs differ; nobody but Paddle's executor is asked whether it is:

- Rates: what the first step at rate 1 moves, by Paddle's executor, is scaled so that no element moves by more than
  FIRST_STEP. At higher ones a rounding error becomes a hundred times as large in each step.
- float64 where a network has so many ReLUs that some are within float32's rounding of their corner in every batch (VGG-16:
  ten million in 5 steps), or gradients that differ in percents (ResNet-50, whose images are of 36 x 36, as the last batch
  norms of those of 32 x 32 would be over 4 values on 4 workers).
- In float32, weights and batches are drawn again until Paddle's executor is within half of the bound of itself in float64.

--itself: a column with how far Paddle's executor comes from itself, beginning with parameters one unit in the last place
away.

Adam and AdamW have epsilon=1e-6, as in torch_parity.
"""
import argparse
import json
import pathlib
import sys

import numpy as np

from _parity import by_plan, reduced_bytes

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "python"))

STEPS = 5
BOUNDS = {"momentum": 1e-6, "clipped": 1e-6, "adam": 5e-5, "adamw": 5e-5}
FIRST_STEP = {"momentum": 2e-3, "clipped": 2e-3, "adam": 5e-4, "adamw": 5e-4}  # Adam moves all elements so far, and in each step
LARGE = ("VGG-16", "ResNet-50")


def all_models(seed, quick, draw=0):
    """name -> (makes it, declared inputs, batches, element type)."""
    import paddle_models as models
    width, of = 8 if quick else 64, [seed, draw] if draw else seed
    digits = [{"x": np.float32(0.3) * b["x"], "y": b["y"]} for b in models.images(of, STEPS, 16, 1, 28)]  # spread as MNIST's are
    found = {"LeNet": (models.lenet, models.image_inputs(1, 28), digits, "float32"),
             "Transformer": (models.transformer, models.TEXT_INPUTS, models.texts(of, STEPS, 16), "float32"),
             "VGG-16": (lambda: models.vgg16(width), models.image_inputs(3, 32, "float64"), models.images(of, STEPS, 8, 3, 32, "float64"), "float64")}
    if not quick:
        found["ResNet-50"] = (lambda: models.resnet(50), models.image_inputs(3, 36, "float64"),
                              models.images(of, STEPS, 16, 3, 36, "float64"), "float64")
    return found


class Reference:
    """Paddle's executor: of one model, optimizer and number of workers. first, last: values by name; rate: the name of its rate."""

    def __init__(self, make, inputs, batches, dtype, optimizer_of, first_step, workers, seed):
        import paddle_training as training

        from commsched.paddle.capture import capture
        self.make, self.inputs, self.batches, self.dtype, self.optimizer_of, self.workers = make, inputs, batches, dtype, optimizer_of, workers
        self.single, self._train = self._built(inputs, dtype)
        self.scope = training.start(self.single, seed)
        self.first = training.values_of(self.single, self.scope)
        captured = capture(self.single.main)
        (self.rate,), self.params = captured.rates, [p.name for p in captured.params]
        self.first[self.rate] = np.ones_like(self.first[self.rate])
        moved = self._train(self.first, batches[:1])
        self.first[self.rate][...] = first_step / max(training.distance(moved[n], self.first[n]) for n in self.params)
        training.set_values(self.scope, self.first)
        self.last = self._train(self.first, batches)

    def _built(self, inputs, dtype):
        import paddle_models as models
        import paddle_training as training
        single = training.build(self.make, models.cross_entropy, inputs, self.optimizer_of, 1, dtype)
        joined = single if self.workers == 1 else training.build(self.make, models.cross_entropy, inputs, self.optimizer_of, self.workers, dtype)
        return single, lambda first, batches: training.train(single, joined, first, batches, self.workers)[1]

    def _distance(self, other):
        import paddle_training as training
        return max(training.distance(other[n], v) for n, v in self.last.items() if n != self.rate)

    def program(self, strategy):
        import commsched
        import commsched.paddle
        return commsched.paddle.transpile(self.single.main, self.batches[0], scope=self.scope, cluster=commsched.Cluster(nodes=self.workers),
                                          strategy=strategy)

    def rounding(self):
        """How far it comes from itself in float64."""
        import paddle_training as training
        inputs = {n: (shape, "float64" if kind == "float32" else kind) for n, (shape, kind) in self.inputs.items()}
        single, train = self._built(inputs, "float64")
        types = {n: v.dtype for n, v in training.values_of(single, training.start(single, 0)).items()}
        return self._distance(train({n: v.astype(types[n]) for n, v in self.first.items()},
                                    [{n: a.astype(inputs[n][1]) for n, a in b.items()} for b in self.batches]))

    def itself(self, seed):
        """How far it comes from itself, if parameters begin one unit in the last place away."""
        random = np.random.default_rng([seed, 1])
        return self._distance(self._train({n: np.nextafter(v, np.where(random.random(v.shape) < 0.5, -9, 9).astype(v.dtype))
                                           if n in self.params else v for n, v in self.first.items()}, self.batches))


def drawn(seed, quick, name, optimizer_of, by, workers):
    """A Reference that is conditioned, and how many were drawn."""
    for draw in range(100):
        reference = Reference(*all_models(seed, quick, draw)[name], optimizer_of, FIRST_STEP[by], workers, seed + 7919 * draw)
        if reference.dtype == "float64" or reference.rounding() <= BOUNDS[by] / 2:
            return reference, draw + 1
    sys.exit(f"none of 100 draws of {name} is conditioned")


def compare(reference, strategy):
    """A row of numbers."""
    import paddle_training as training

    import commsched
    workers, first, wanted = reference.workers, reference.first, reference.last
    program = reference.program(commsched.ParameterServers(servers=2) if strategy == "servers" else commsched.AllReduce())
    rates = [program._read_rates()] * len(reference.batches)
    found = by_plan(program, rates, reference.batches)
    params, running = set(reference.params), training.statistics(reference.single, first)
    state = [n for n in wanted if n not in params and n not in running and n != reference.rate]

    def worst(names):
        return max((training.distance(found[n], wanted[n]) for n in names), default=0.0)
    row = {"rate": rates[0][0], "params": worst(params), "state": worst(state), "statistics": worst(running),
           "moved": max(training.distance(found[n], first[n]) for n in params),
           "gradients": program.mlir(0).count("= cs.gradient ") == training.trainable(reference.single),
           "bytes": workers == 1 or strategy == "servers" or
           reduced_bytes(program, params) == sum(first[n].nbytes for n in params)}
    program.close()
    return row


def cases(names, optimizers, strategies, workers):
    """(model, optimizer, workers, strategies)"""
    for name in names:
        for by in optimizers:
            for count in workers:
                of = [s for s in strategies if name not in LARGE or by == optimizers[0] and s == strategies[0] or
                      count == 2 and (by == optimizers[0] or s == strategies[0])]
                if of:
                    yield name, by, count, of


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--itself", action="store_true")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--models", nargs="+")
    parser.add_argument("--workers", type=int, nargs="+")
    parser.add_argument("--optimizers", nargs="+", choices=list(BOUNDS), default=list(BOUNDS))
    parser.add_argument("--strategies", nargs="+", choices=["all-reduce", "servers"], default=["all-reduce", "servers"])
    arguments = parser.parse_args()
    try:
        import jax  # noqa: F401  (before paddle)
        import paddle  # noqa: F401
    except ImportError:
        print("there is no PaddlePaddle (scripts/setup.sh --bench)", file=sys.stderr)
        sys.exit(77)
    import paddle_models as models
    known = all_models(arguments.seed, arguments.quick)
    chosen = arguments.models or list(known)
    for name in chosen:
        if name not in known:
            sys.exit(f"no model '{name}'; there are: {', '.join(known)}")
    workers = arguments.workers or ([1, 2] if arguments.quick else [1, 2, 4])
    optimizers = {"momentum": models.optimizer("momentum", rate=1.0), "clipped": models.optimizer("momentum", "global", 1e-4, rate=1.0),
                  "adam": models.optimizer("adam"), "adamw": models.optimizer("adamw")}
    rows, wrong = [], []
    print(f"{'model':12} {'optimizer':9} {'strategy':10} {'workers':>7} {'draws':>5} {'rate':>9} {'params':>9} {'state':>9} {'statistics':>10} {'moved':>9}"
          f"{'    itself' if arguments.itself else ''}", flush=True)
    for name, by, count, strategies in cases(chosen, arguments.optimizers, arguments.strategies, workers):
        reference, draws = drawn(arguments.seed, arguments.quick, name, optimizers[by], by, count)
        own = {"itself": reference.itself(arguments.seed)} if arguments.itself else {}
        for strategy in strategies:
            row = {"model": name, "optimizer": by, "strategy": strategy, "workers": count, "draws": draws,
                   **compare(reference, strategy), **own}
            rows.append(row)
            good = max(row["params"], row["state"], row["statistics"]) <= BOUNDS[by] and row["moved"] >= 1e-3
            good = good and row["gradients"] and row["bytes"]
            if not good:
                wrong.append(row)
            print(f"{name:12} {by:9} {strategy:10} {count:7} {draws:5} {row['rate']:9.1e} {row['params']:9.1e} {row['state']:9.1e} "
                  f"{row['statistics']:10.1e} {row['moved']:9.1e}{''.join(f' {v:9.1e}' for v in own.values())}{'' if good else '  wrong'}", flush=True)

    def worst(by, *keys):
        return max((r[k] for r in rows for k in keys if by in (None, r["optimizer"])), default=None)
    print(json.dumps({**{f"worst_{by}": worst(by, "params", "state") for by in BOUNDS}, "worst_statistics": worst(None, "statistics"),
                      "least_moved": min(r["moved"] for r in rows), "most_draws": max(r["draws"] for r in rows), "cases": len(rows), "models": len(chosen),
                      "gradients_equal": all(r["gradients"] for r in rows), "bytes_equal": all(r["bytes"] for r in rows),
                      **({"worst_itself": worst(None, "itself")} if arguments.itself else {}), "wrong": wrong, "seed": arguments.seed}))
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
