# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What whole models have in common: how they are made, their data, and a step that trains them."""
import dataclasses
from typing import Callable

import jax
import jax.numpy as jnp
import numpy as np
import optax

BATCH = 16  # global


@dataclasses.dataclass
class Model:
    """make(dtype) -> (params, state, loss): parameters of float32, computed with in that type.

    loss(params, state, *batch) -> (value, new state); batch(i) are the arrays of the i-th global batch.
    """

    name: str
    make: Callable
    batch: Callable
    rate: float = 0.05


def step_of(loss, rate):
    """(step, optimizer). The step applies mean(tree) to what is a mean over the workers."""
    optimizer = optax.sgd(rate, momentum=0.9)

    def step(params, state, *batch, mean):
        (value, own), grads = jax.value_and_grad(loss, has_aux=True)(params, state["own"], *batch)
        grads, value = mean((grads, value))
        own = {name: part if name == "key" else mean(part) for name, part in own.items()}
        updates, momentum = optimizer.update(grads, state["momentum"], params)
        return optax.apply_updates(params, updates), {"own": own, "momentum": momentum}, value
    return step, optimizer


def in_type(tree, dtype):
    """A tree with its floating point numbers in a type."""
    return jax.tree.map(lambda a: a.astype(dtype) if jnp.issubdtype(jnp.result_type(a), jnp.floating) else a, tree)


def mixed(loss, dtype):
    """A loss of a pure function whose numbers are all of one type: computed in it, from parameters of float32."""
    if dtype is None:
        return loss
    return lambda params, state, *batch: loss(in_type(params, dtype), state, *in_type(batch, dtype))


def _random(index, salt):
    return np.random.default_rng([index, salt])


def image_batch(index):
    """Images with a pattern of their class, and classes."""
    random = _random(index, 1)
    classes = random.integers(0, 10, BATCH).astype(np.int32)
    patterns = _random(0, 2).standard_normal((10, 8, 8, 3))
    return (patterns[classes] + random.standard_normal((BATCH, 8, 8, 3))).astype(np.float32), classes


def sequence_batch(index):
    random = _random(index, 3)
    classes = random.integers(0, 10, BATCH).astype(np.int32)
    patterns = _random(0, 4).standard_normal((10, 10, 12))
    return (patterns[classes] + 0.5 * random.standard_normal((BATCH, 10, 12))).astype(np.float32), classes


def token_batch(index):
    """Tokens each of which mostly follows from the one before."""
    random = _random(index, 5)
    follower = _random(0, 6).permutation(40)
    tokens = np.empty((BATCH, 16), np.int32)
    tokens[:, 0] = random.integers(0, 40, BATCH)
    for i in range(1, 16):
        tokens[:, i] = np.where(random.random(BATCH) < 0.8, follower[tokens[:, i - 1]], random.integers(0, 40, BATCH))
    return (tokens,)


def vector_batch(index):
    random = _random(index, 7)
    x = random.standard_normal((BATCH, 24)).astype(np.float32)
    return x, np.sin(2 * x[:, :8] + x[:, 8:16]).astype(np.float32)


def graph_batch(index):
    """Features of 10 nodes, 24 edges from one to another, and a number for each graph."""
    random = _random(index, 8)
    x = random.standard_normal((BATCH, 10, 6)).astype(np.float32)
    edges = random.integers(0, 10, (BATCH, 24, 2)).astype(np.int32)
    return x, edges, np.stack([np.tanh(a[e[:, 0], 0] * a[e[:, 1], 1]).sum() for a, e in zip(x, edges)]).astype(np.float32)


def click_batch(index):
    """Numbers, ids for three tables of 30 rows, and whether there was a click."""
    random = _random(index, 9)
    dense = random.standard_normal((BATCH, 8)).astype(np.float32)
    ids = random.integers(0, 30, (BATCH, 3)).astype(np.int32)
    return dense, ids, (dense[:, 0] + ids[:, 0] / 15 > 1).astype(np.float32)


def click_loss(logit, clicked):
    return optax.sigmoid_binary_cross_entropy(logit, clicked.astype(logit.dtype)).mean()


def classes_loss(logits, classes):
    return optax.softmax_cross_entropy_with_integer_labels(logits, classes).mean()


def all_models():
    """The models of all frameworks, by name."""
    import _models_equinox
    import _models_haiku
    import _models_linen
    import _models_nnx
    import _models_plain
    modules = (_models_linen, _models_nnx, _models_equinox, _models_haiku, _models_plain)
    return {model.name: model for module in modules for model in module.MODELS}
