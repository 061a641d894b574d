# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Training steps in JAX (flax linen): of ResNet-50 and of BERT-base as their papers have them, at a size that is said, for what is
compiled, not for what is learned (values are zeros); and of a small net of convolutions, which is trained."""
import os
import pathlib

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import linen as nn

ROOT = pathlib.Path(os.environ.get("COMMSCHED_ROOT", pathlib.Path(__file__).resolve().parents[1]))
DIGITS = ROOT / "examples/digits.train.npz"
RESNET50 = 25_557_032  # parameters
BERT_BASE = 110_106_428  # with both heads, whose output matrix is that of the embeddings


class Bottleneck(nn.Module):
    features: int
    stride: int

    @nn.compact
    def __call__(self, x):
        def normed(features, size, stride, x):
            x = nn.Conv(features, (size, size), (stride, stride), padding=size // 2, use_bias=False)(x)
            return nn.BatchNorm(use_running_average=False, momentum=0.9)(x)
        y = nn.relu(normed(self.features, 1, 1, x))
        y = nn.relu(normed(self.features, 3, self.stride, y))
        y = normed(4 * self.features, 1, 1, y)
        return nn.relu(y + (x if x.shape == y.shape else normed(4 * self.features, 1, self.stride, x)))


class ResNet50(nn.Module):
    """float32[N, H, W, 3] -> float32[N, 1000]; He et al., Deep residual learning, CVPR 2016, with the stride in the 3 x 3."""

    @nn.compact
    def __call__(self, x):
        x = nn.Conv(64, (7, 7), (2, 2), padding=3, use_bias=False)(x)
        x = nn.relu(nn.BatchNorm(use_running_average=False, momentum=0.9)(x))
        x = nn.max_pool(x, (3, 3), (2, 2), ((1, 1), (1, 1)))
        for stage, blocks in enumerate((3, 4, 6, 3)):
            for block in range(blocks):
                x = Bottleneck(64 << stage, 2 if block == 0 and stage > 0 else 1)(x)
        return nn.Dense(1000)(x.mean((1, 2)))


class EncoderLayer(nn.Module):
    """Norms behind the sums."""
    hidden: int
    heads: int

    @nn.compact
    def __call__(self, x, mask):
        y = nn.MultiHeadDotProductAttention(self.heads)(x, x, mask=mask)
        x = nn.LayerNorm(epsilon=1e-12)(x + y)
        y = nn.Dense(self.hidden)(nn.gelu(nn.Dense(4 * self.hidden)(x), approximate=False))
        return nn.LayerNorm(epsilon=1e-12)(x + y)


class Bert(nn.Module):
    """tokens, segments int32[N, length] -> (float32[N, length, vocabulary], float32[N, 2]); Devlin et al., BERT, NAACL 2019."""
    layers: int = 12
    hidden: int = 768
    heads: int = 12
    vocabulary: int = 30522
    positions: int = 512

    @nn.compact
    def __call__(self, tokens, segments):
        words = nn.Embed(self.vocabulary, self.hidden)
        x = words(tokens) + nn.Embed(2, self.hidden)(segments)
        x = x + nn.Embed(self.positions, self.hidden)(jnp.arange(tokens.shape[1]))
        x = nn.LayerNorm(epsilon=1e-12)(x)
        mask = nn.make_attention_mask(tokens > 0, tokens > 0)
        for _ in range(self.layers):
            x = EncoderLayer(self.hidden, self.heads)(x, mask)
        pooled = nn.tanh(nn.Dense(self.hidden)(x[:, 0]))
        y = nn.LayerNorm(epsilon=1e-12)(nn.gelu(nn.Dense(self.hidden)(x), approximate=False))
        y = words.attend(y) + self.param("bias", nn.initializers.zeros, (self.vocabulary,))
        return y, nn.Dense(2)(pooled)


def zeros(tree):
    return jax.tree.map(lambda a: np.zeros(a.shape, a.dtype), tree)


def count(tree):
    return sum(leaf.size for leaf in jax.tree.leaves(tree))


def resnet50(batch, size):
    """(step, params, state, batch): SGD with momentum on `batch` images of size x size."""
    net, optimizer = ResNet50(), optax.sgd(0.1, momentum=0.9)
    images, classes = np.zeros((batch, size, size, 3), np.float32), np.zeros(batch, np.int32)
    variables = jax.eval_shape(net.init, jax.random.key(0), images[:1])

    def loss(params, statistics, images, classes):
        logits, changed = net.apply({"params": params, "batch_stats": statistics}, images, mutable=["batch_stats"])
        return optax.softmax_cross_entropy_with_integer_labels(logits, classes).mean(), changed["batch_stats"]

    def step(params, state, images, classes):
        statistics, momentum = state
        (value, statistics), grads = jax.value_and_grad(loss, has_aux=True)(params, statistics, images, classes)
        updates, momentum = optimizer.update(grads, momentum, params)
        return optax.apply_updates(params, updates), (statistics, momentum), value
    params = variables["params"]
    state = zeros((variables["batch_stats"], jax.eval_shape(optimizer.init, params)))
    return step, zeros(params), state, (images, classes)


def bert(batch, length, **sizes):
    """(step, params, state, batch): AdamW on `batch` sequences, each with some of its tokens to be guessed, and whether one sentence
    follows the other. sizes: those of Bert."""
    net, optimizer = Bert(**sizes), optax.adamw(1e-4)
    tokens = np.zeros((batch, length), np.int32)
    params = jax.eval_shape(net.init, jax.random.key(0), tokens[:1], tokens[:1])["params"]

    def loss(params, tokens, segments, wanted, follows):
        words, pair = net.apply({"params": params}, tokens, segments)
        guessed = (wanted >= 0).astype(jnp.float32)
        of_words = optax.softmax_cross_entropy_with_integer_labels(words, jnp.maximum(wanted, 0)) * guessed
        of_pairs = optax.softmax_cross_entropy_with_integer_labels(pair, follows)
        return (of_words.sum(-1) / jnp.maximum(guessed.sum(-1), 1) + of_pairs).mean()

    def step(params, state, tokens, segments, wanted, follows):
        value, grads = jax.value_and_grad(loss)(params, tokens, segments, wanted, follows)
        updates, state = optimizer.update(grads, state, params)
        return optax.apply_updates(params, updates), state, value
    state = zeros(jax.eval_shape(optimizer.init, params))
    return step, zeros(params), state, (tokens, tokens, tokens, np.zeros(batch, np.int32))


class Convolutions(nn.Module):
    """float32[N, 8, 8, 1] -> float32[N, 10]: more padding behind than in front, groups, dilation, windows of one."""

    @nn.compact
    def __call__(self, x):
        x = nn.relu(nn.Conv(8, (3, 3))(x))
        x = nn.relu(nn.Conv(16, (3, 3), (2, 2))(x))
        x = nn.relu(nn.Conv(16, (3, 3), feature_group_count=4)(x))
        x = x + nn.relu(nn.Conv(16, (3, 3), kernel_dilation=(2, 2))(x))
        x = nn.relu(nn.Conv(24, (1, 1))(x))
        return nn.Dense(10)(x.reshape(len(x), -1))


class ConvolutionExample:
    """That net on handwritten digits, as _examples.Example: every worker's mean is a part of the whole one's."""
    batch_names = ("x", "y")
    BATCH = 32

    def __init__(self):
        self.net, self.optimizer = Convolutions(), optax.sgd(0.05, momentum=0.9)

    def step(self, params, state, x, y):
        def loss(params):
            return optax.softmax_cross_entropy_with_integer_labels(self.net.apply(params, x), y).mean()
        value, grads = jax.value_and_grad(loss)(params)
        updates, state = self.optimizer.update(grads, state, params)
        return optax.apply_updates(params, updates), state, value

    def state(self):
        params = self.net.init(jax.random.key(0), np.zeros((1, 8, 8, 1), np.float32))
        return params, self.optimizer.init(params)

    def program(self, workers, *strategy):
        import commsched
        more = {"strategy": strategy[0]} if strategy else {}
        return commsched.transpile(self.step, *self.state(), *self.batches(1)[0], batch=(2, 3), cluster=workers, **more)

    def batches(self, count):
        with np.load(DIGITS) as found:
            x, y = found["x"], found["y"]
        starts = [i * self.BATCH % (len(x) - self.BATCH) for i in range(count)]
        return [(x[i:i + self.BATCH], y[i:i + self.BATCH]) for i in starts]
