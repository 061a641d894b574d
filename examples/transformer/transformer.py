# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A decoder-only Transformer on bytes: 4 layers, width 256, trained with Adam (optax).

The text is what every Debian system has: the licences in /usr/share/common-licenses.
"""

import pathlib

import jax
import jax.numpy as jnp
import numpy as np
import optax

LAYERS, WIDTH, HEADS, CONTEXT, VOCABULARY = 4, 256, 8, 64, 256
GLOBAL_BATCH, LEARNING_RATE = 16, 3e-4
LICENCES = pathlib.Path("/usr/share/common-licenses")

optimizer = optax.adam(LEARNING_RATE)


def init(seed=0):
    """Initial parameters: normal, narrower for what is added to the residual stream."""
    random = np.random.default_rng(seed)

    def weights(*shape, scale=0.02):
        return (random.standard_normal(shape) * scale).astype(np.float32)

    def norm():
        return {"scale": np.ones(WIDTH, np.float32), "bias": np.zeros(WIDTH, np.float32)}
    params = {"bytes": weights(VOCABULARY, WIDTH), "places": weights(CONTEXT, WIDTH), "last": norm()}
    for i in range(LAYERS):
        out = 0.02 / np.sqrt(2 * LAYERS)
        params[f"layer{i}"] = {"norm1": norm(), "norm2": norm(), "qkv": weights(WIDTH, 3 * WIDTH),
                               "out": weights(WIDTH, WIDTH, scale=out), "up": weights(WIDTH, 4 * WIDTH),
                               "down": weights(4 * WIDTH, WIDTH, scale=out)}
    return params


def normalize(p, x):
    mean = x.mean(-1, keepdims=True)
    variance = jnp.square(x - mean).mean(-1, keepdims=True)
    return (x - mean) * jax.lax.rsqrt(variance + 1e-5) * p["scale"] + p["bias"]


def attention(p, x):
    batch, length, _ = x.shape
    q, k, v = jnp.split((x @ p["qkv"]).reshape(batch, length, 3 * HEADS, WIDTH // HEADS), 3, axis=2)
    scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) / np.float32(np.sqrt(WIDTH // HEADS))
    scores = jnp.where(jnp.tril(jnp.ones((length, length), bool)), scores, -1e30)
    mixed = jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores), v)
    return mixed.reshape(batch, length, WIDTH) @ p["out"]


def loss(params, tokens):
    """Mean cross-entropy, in nats, of each byte given those before it; tokens: [batch, CONTEXT + 1]."""
    x = params["bytes"][tokens[:, :-1]] + params["places"]
    for i in range(LAYERS):
        p = params[f"layer{i}"]
        x = x + attention(p, normalize(p["norm1"], x))
        x = x + jax.nn.gelu(normalize(p["norm2"], x) @ p["up"]) @ p["down"]
    logits = normalize(params["last"], x) @ params["bytes"].T
    return optax.softmax_cross_entropy_with_integer_labels(logits, tokens[:, 1:]).mean()


def step(params, opt, tokens):
    value, grads = jax.value_and_grad(loss)(params, tokens)
    updates, opt = optimizer.update(grads, opt, params)
    return optax.apply_updates(params, updates), opt, value


def text():
    """The licence texts, as bytes in order of their names."""
    files = sorted(f for f in LICENCES.iterdir() if f.is_file() and not f.is_symlink())
    return np.frombuffer(b"\n".join(f.read_bytes() for f in files), np.uint8)


def batches(count, seed=0):
    """Random pieces of the text: count x [GLOBAL_BATCH, CONTEXT + 1] of int32."""
    source, random = text(), np.random.default_rng(seed)
    starts = random.integers(0, len(source) - CONTEXT - 1, (count, GLOBAL_BATCH, 1))
    return source[starts + np.arange(CONTEXT + 1)].astype(np.int32)
