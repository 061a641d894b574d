# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A small convolutional net of flax linen on handwritten digits: batch norm, dropout with masks of each worker's own, AdamW of optax
with a rate that falls as a cosine; on two workers, which are threads, or as many as torchrun (mpirun, Slurm, Kubernetes) starts processes.

    PYTHONPATH=python_api [mpirun -n 2] python examples/flax/cnn.py [--epochs N] [--workers N] [--log FILE]
"""

import argparse
import pathlib

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax

import commsched

DATA = pathlib.Path(__file__).resolve().parents[1]


class Net(nn.Module):
    """float32[N, 8, 8, 1] -> float32[N, 10]"""

    @nn.compact
    def __call__(self, x, train):
        for width in (16, 32):
            x = nn.Conv(width, (3, 3), use_bias=False)(x)
            x = nn.relu(nn.BatchNorm(use_running_average=not train, momentum=0.9)(x))
            x = nn.max_pool(x, (2, 2), (2, 2))
        x = nn.Dropout(0.2, deterministic=not train)(x.reshape(len(x), -1))
        return nn.Dense(10)(x)


def data(name):
    """Images float32[N, 8, 8, 1], labels int32[N]."""
    with np.load(DATA / f"digits.{name}.npz") as found:
        return found["x"], found["y"]


def main(epochs=8, workers=2, batch=64, job=None, log=None):
    """job: of which this process is a rank, if it is of several."""
    rank, ranks = (job.rank, job.size) if job is not None else (0, 1)
    writers = [commsched.JsonLines(log)] if log and rank == 0 else []
    net, (x, y) = Net(), data("train")
    variables = net.init(jax.random.key(0), x[:1], False)
    params, statistics = variables["params"], variables["batch_stats"]
    batches = [(x[i:i + batch], y[i:i + batch]) for i in range(0, len(x) - batch + 1, batch)]
    own = [tuple(np.split(part, ranks)[rank] for part in b) for b in batches]  # this rank's rows
    optimizer = optax.adamw(optax.cosine_decay_schedule(3e-3, epochs * len(batches)))

    def step(params, statistics, opt_state, key, x, y):
        key, drawn = jax.random.split(key)
        drawn = commsched.worker_key(drawn)  # each worker draws its own masks

        def loss_of(params):
            logits, new = net.apply({"params": params, "batch_stats": statistics}, x, True, mutable=["batch_stats"], rngs={"dropout": drawn})
            return optax.softmax_cross_entropy_with_integer_labels(logits, y).mean(), new["batch_stats"]
        (loss, new), grads = jax.value_and_grad(loss_of, has_aux=True)(params)
        updates, opt_state = optimizer.update(grads, opt_state, params)
        return optax.apply_updates(params, updates), new, opt_state, key, loss

    with commsched.transpile(step, params, statistics, optimizer.init(params), jax.random.key(1), *batches[0], batch=(4, 5),
                             cluster=ranks if ranks > 1 else workers) as program:
        for epoch in range(epochs):
            metrics = program.run(own, log=writers)
            if rank == 0:
                print(f"epoch {epoch}: loss {np.mean([next(iter(m.values())) for m in metrics]):.4f}")
        params, statistics = program.params, program.state[0]
    test_x, test_y = data("test")
    predicted = jnp.argmax(net.apply({"params": params, "batch_stats": statistics}, test_x, False), 1)
    accuracy = float(np.mean(predicted == test_y))
    if rank == 0:
        print(f"accuracy on {len(test_y)} samples not trained on: {accuracy:.3f}")
    return accuracy


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--workers", type=int, default=2, help="threads of this process, where no launcher has started several")
    parser.add_argument("--log", help="file for the metrics of each step, as JSON lines")
    options = parser.parse_args()
    main(options.epochs, options.workers, job=commsched.init(), log=options.log)
