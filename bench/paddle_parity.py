# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whether a process that has only the plan trains programs of PaddlePaddle as Paddle's own executor does.

Weights and batches come from --seed. LeNet, VGG-16, a Transformer layer, and ResNet-50 in float64 (in float32 its gradients
are so conditioned that two correct programs differ in percents) take 5 steps by Momentum, Adam, AdamW, and Momentum with
clipping by the global norm, by all-reduce and with two parameter servers, on 1, 2 and 4 workers: Paddle's executor here,
whose program has the network once for each part of the global batch and the mean of their losses; the plan in a process in
which paddle, torch and jax cannot be imported. Then parameters, the optimizer's state and running statistics are compared,
element by element; of models that moved less than 1e-3 that shows nothing, and they count as wrong. The two large networks
take Momentum on all workers, and the others on 2. --models, --workers, --optimizers and --strategies choose; --quick:
LeNet, the Transformer layer and a narrow VGG-16 on 1 and 2 workers.

Adam and AdamW have epsilon=1e-6, as in torch_parity.
"""
import argparse
import json
import pathlib
import sys

from _parity import by_plan, reduced_bytes

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "python"))

STEPS = 5
BOUNDS = {"momentum": 1e-6, "clipped": 1e-6, "adam": 5e-5, "adamw": 5e-5}
RATES = {"ResNet-50": 1e-3}  # of which the first gradients are large
LARGE = ("VGG-16", "ResNet-50")


def all_models(seed, quick):
    """name -> (makes it, declared inputs, batches, element type)."""
    import numpy as np
    import paddle_models as models
    width = 8 if quick else 64
    digits = [{"x": np.float32(0.3) * b["x"], "y": b["y"]} for b in models.images(seed, STEPS, 16, 1, 28)]  # spread as MNIST's are
    found = {"LeNet": (models.lenet, models.image_inputs(1, 28), digits, "float32"),
             "Transformer": (models.transformer, models.TEXT_INPUTS, models.texts(seed, STEPS, 16), "float32"),
             "VGG-16": (lambda: models.vgg16(width), models.image_inputs(3, 32), models.images(seed, STEPS, 8, 3, 32), "float32")}
    if not quick:
        found["ResNet-50"] = (lambda: models.resnet(50), models.image_inputs(3, 32, "float64"),
                              models.images(seed, STEPS, 16, 3, 32, "float64"), "float64")
    return found


def compare(make, inputs, batches, dtype, optimizer_of, workers, seed, strategy):
    """A row of numbers."""
    import paddle_models as models
    import paddle_training as training

    import commsched
    import commsched.paddle
    single = training.build(make, models.cross_entropy, inputs, optimizer_of, 1, dtype)
    joined = single if workers == 1 else training.build(make, models.cross_entropy, inputs, optimizer_of, workers, dtype)
    scope = training.start(single, seed)
    first = training.values_of(single, scope)
    program = commsched.paddle.transpile(single.main, batches[0], scope=scope, cluster=commsched.Cluster(nodes=workers),
                                         strategy=commsched.ParameterServers(servers=2) if strategy == "servers" else commsched.AllReduce())
    rates = [program._read_rates()] * len(batches)
    found = by_plan(program, rates, batches)
    _, wanted = training.train(single, joined, first, batches, workers)
    params, running = set(program.params), training.statistics(single, first)
    state = [n for n in wanted if n not in params and n not in running and n not in program._description(workers).rates]

    def worst(names):
        return max((training.distance(found[n], wanted[n]) for n in names), default=0.0)
    row = {"params": worst(params), "state": worst(state), "statistics": worst(running),
           "moved": max(training.distance(found[n], first[n]) for n in params),
           "gradients": program.mlir(0).count("= cs.gradient ") == training.trainable(single),
           "bytes": workers == 1 or strategy == "servers" or
           reduced_bytes(program, params) == sum(first[n].nbytes for n in params)}
    program.close()
    return row


def cases(names, optimizers, strategies, workers):
    """(model, optimizer, strategy, workers)"""
    for name in names:
        for by in optimizers:
            for strategy in strategies:
                for count in workers:
                    plain = by == optimizers[0] and strategy == strategies[0]
                    if name not in LARGE or plain or count == 2 and (by == optimizers[0] or strategy == strategies[0]):
                        yield name, by, strategy, count


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
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
    optimizers = {"momentum": lambda name: models.optimizer("momentum", rate=RATES.get(name, 0.01)), "adam": lambda _: models.optimizer("adam"),
                  "adamw": lambda _: models.optimizer("adamw"), "clipped": lambda _: models.optimizer("momentum", "global", 1e-4, rate=0.05)}
    rows, wrong = [], []
    print(f"{'model':12} {'optimizer':9} {'strategy':10} {'workers':>7} {'params':>9} {'state':>9} {'statistics':>10} {'moved':>9}")
    for name, by, strategy, count in cases(chosen, arguments.optimizers, arguments.strategies, workers):
        row = {"model": name, "optimizer": by, "strategy": strategy, "workers": count,
               **compare(*known[name], optimizers[by](name), count, arguments.seed, strategy)}
        rows.append(row)
        good = max(row["params"], row["state"], row["statistics"]) <= BOUNDS[by] and row["moved"] >= 1e-3
        good = good and row["gradients"] and row["bytes"]
        if not good:
            wrong.append(row)
        print(f"{name:12} {by:9} {strategy:10} {count:7} {row['params']:9.1e} {row['state']:9.1e} {row['statistics']:10.1e} "
              f"{row['moved']:9.1e}{'' if good else '  wrong'}", flush=True)

    def worst(by, *keys):
        return max((r[k] for r in rows for k in keys if by in (None, r["optimizer"])), default=None)
    print(json.dumps({**{f"worst_{by}": worst(by, "params", "state") for by in BOUNDS}, "worst_statistics": worst(None, "statistics"),
                      "least_moved": min(r["moved"] for r in rows), "cases": len(rows), "models": len(chosen),
                      "gradients_equal": all(r["gradients"] for r in rows), "bytes_equal": all(r["bytes"] for r in rows), "wrong": wrong,
                      "seed": arguments.seed}))
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
