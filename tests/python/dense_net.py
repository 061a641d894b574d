# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A net of two dense layers on scikit-learn's digits: products and elementwise ops, all that devices have kernels for. Written for
one device; `program` distributes it."""
import pathlib
import sys

import jax
import jax.numpy as jnp
import numpy as np

import commsched

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "examples/digits"))
from digits import data  # noqa: E402

GLOBAL_BATCH, LEARNING_RATE, MOMENTUM = 64, 0.05, 0.9
X, Y, TEST_X, TEST_Y = data()
BATCHES = [(X[i:i + GLOBAL_BATCH], Y[i:i + GLOBAL_BATCH]) for i in range(0, len(X) - GLOBAL_BATCH + 1, GLOBAL_BATCH)]


def init():
    random = np.random.default_rng(0)

    def layer(inputs, outputs):
        return {"w": (random.standard_normal((inputs, outputs)) * np.sqrt(2 / inputs)).astype(np.float32),
                "b": np.zeros(outputs, np.float32)}
    return {"hidden": layer(64, 32), "out": layer(32, 10)}


def logits(params, x):
    hidden = jax.nn.silu(x.reshape(x.shape[0], -1) @ params["hidden"]["w"] + params["hidden"]["b"])
    return hidden @ params["out"]["w"] + params["out"]["b"]


def loss(params, x, y):
    return -(jax.nn.one_hot(y, 10) * jax.nn.log_softmax(logits(params, x))).sum(axis=1).mean()


def step(params, momentum, x, y):
    value, grads = jax.value_and_grad(loss)(params, x, y)
    momentum = jax.tree.map(lambda m, g: MOMENTUM * m + g, momentum, grads)
    return jax.tree.map(lambda p, m: p - LEARNING_RATE * m, params, momentum), momentum, value


def evaluate(params, x, y):
    return {"loss": loss(params, x, y)}


def program(workers, nccl=False, strategy=None, **options):
    params = init()
    return commsched.transpile(
        step, params, jax.tree.map(np.zeros_like, params), *BATCHES[0], batch=(2, 3), cluster=workers,
        functions={"eval": (evaluate, params, *BATCHES[0])}, strategy=strategy or commsched.AllReduce(nccl=nccl),
        location_root=str(pathlib.Path(__file__).parent), **options)


def jax_steps(count):
    """(losses, parameters by the names of slots) of JAX."""
    params = init()
    momentum, losses = jax.tree.map(np.zeros_like, params), []
    for i in range(count):
        params, momentum, value = jax.jit(step)(params, momentum, *BATCHES[i % len(BATCHES)])
        losses.append(float(value))
    return losses, {f"{layer}.{name}": np.asarray(params[layer][name]) for layer in params for name in params[layer]}
