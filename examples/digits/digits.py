# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A convolutional net on scikit-learn's handwritten digits (8 x 8 pixels, 10 classes).

One training step as one would write it for one device. Momentum SGD by hand: no optax.
Smooth functions on purpose: at a near tie of max-pooling or a near zero of ReLU the order
of a sum decides where a gradient goes, and two correct programs drift apart.
"""

import jax
import jax.numpy as jnp
import numpy as np

GLOBAL_BATCH, TEST_SAMPLES, EPOCHS = 64, 360, 30
LEARNING_RATE, MOMENTUM = 0.05, 0.9


def init(seed=0):
    """Initial parameters (He normal)."""
    random = np.random.default_rng(seed)

    def weights(*shape):
        return (random.standard_normal(shape) * np.sqrt(2 / np.prod(shape[:-1]))).astype(np.float32)
    return {"conv1": {"w": weights(3, 3, 1, 16), "b": np.zeros(16, np.float32)},
            "conv2": {"w": weights(3, 3, 16, 32), "b": np.zeros(32, np.float32)},
            "dense": {"w": weights(4 * 4 * 32, 10), "b": np.zeros(10, np.float32)}}


def convolve(p, x):
    y = jax.lax.conv_general_dilated(x, p["w"], (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
    return jax.nn.silu(y + p["b"])


def logits(params, x):
    h = convolve(params["conv2"], convolve(params["conv1"], x))
    h = jax.lax.reduce_window(h, 0.0, jax.lax.add, (1, 2, 2, 1), (1, 2, 2, 1), "VALID") / 4
    return h.reshape(h.shape[0], -1) @ params["dense"]["w"] + params["dense"]["b"]


def loss(params, x, y):
    chosen = jax.nn.one_hot(y, 10) * jax.nn.log_softmax(logits(params, x))
    return -chosen.sum(axis=1).mean()


def step(params, momentum, x, y):
    value, grads = jax.value_and_grad(loss)(params, x, y)
    momentum = jax.tree.map(lambda m, g: MOMENTUM * m + g, momentum, grads)
    params = jax.tree.map(lambda p, m: p - LEARNING_RATE * m, params, momentum)
    return params, momentum, value


def evaluate(params, x, y):
    right = jnp.argmax(logits(params, x), axis=1) == y
    return {"accuracy": right.astype(jnp.float32).mean(), "loss": loss(params, x, y)}


def data(seed=0):
    """(train x, train y, test x, test y): a fixed random split; pixels in [0, 1]."""
    from sklearn.datasets import load_digits
    digits = load_digits()
    x = (digits.images / 16).astype(np.float32)[..., None]
    y = digits.target.astype(np.int32)
    order = np.random.default_rng(seed).permutation(len(x))
    test, train = order[:TEST_SAMPLES], order[TEST_SAMPLES:]
    return x[train], y[train], x[test], y[test]
