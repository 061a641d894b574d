# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whole models in flax linen: ResNet, ViT, GPT, LSTM, U-Net."""
import functools

import jax
import jax.numpy as jnp
from flax import linen as nn

from _models import Model, image_batch, sequence_batch, token_batch


class Block(nn.Module):
    features: int
    stride: int
    dtype: object

    @nn.compact
    def __call__(self, x):
        def norm():
            return nn.BatchNorm(use_running_average=False, momentum=0.9, dtype=self.dtype)

        def conv(size, stride):
            return nn.Conv(self.features, (size, size), (stride, stride), use_bias=False, dtype=self.dtype)
        y = nn.relu(norm()(conv(3, self.stride)(x)))
        y = norm()(conv(3, 1)(y))
        if x.shape != y.shape:
            x = norm()(conv(1, self.stride)(x))
        return nn.relu(x + y)


class ResNet(nn.Module):
    dtype: object

    @nn.compact
    def __call__(self, x):
        x = nn.Conv(8, (3, 3), use_bias=False, dtype=self.dtype)(x)
        x = nn.relu(nn.BatchNorm(use_running_average=False, momentum=0.9, dtype=self.dtype)(x))
        for features, stride in ((8, 1), (16, 2), (16, 1)):
            x = Block(features, stride, self.dtype)(x)
        return nn.Dense(10, dtype=self.dtype)(x.mean((1, 2)))


class Layer(nn.Module):
    """Of a Transformer, with the norms in front."""
    dtype: object
    dropout: float = 0.0

    @nn.compact
    def __call__(self, x, mask=None):
        y = nn.LayerNorm(dtype=self.dtype)(x)
        # A bias of keys has no gradient but rounding.
        x = x + nn.MultiHeadDotProductAttention(4, dtype=self.dtype, use_bias=False)(y, y, mask=mask)
        y = nn.gelu(nn.Dense(64, dtype=self.dtype)(nn.LayerNorm(dtype=self.dtype)(x)))
        if self.dropout:
            # Not nn.Dropout, whose mask is another one where numbers are of double precision.
            kept = jax.random.uniform(self.make_rng("dropout"), y.shape, jnp.float32) >= self.dropout
            y = jnp.where(kept, y / (1 - self.dropout), 0)
        return x + nn.Dense(x.shape[-1], dtype=self.dtype)(y)


class ViT(nn.Module):
    dtype: object

    @nn.compact
    def __call__(self, x):
        x = nn.Conv(32, (4, 4), (4, 4), dtype=self.dtype)(x)
        x = x.reshape(x.shape[0], -1, 32)
        first = self.param("class", nn.initializers.normal(0.5), (1, 1, 32)).astype(x.dtype)
        x = jnp.concatenate([jnp.broadcast_to(first, (x.shape[0], 1, 32)), x], 1)
        x = x + self.param("place", nn.initializers.normal(0.5), (1, x.shape[1], 32)).astype(x.dtype)
        for _ in range(2):
            x = Layer(self.dtype)(x)
        return nn.Dense(10, dtype=self.dtype)(nn.LayerNorm(dtype=self.dtype)(x)[:, 0])


class GPT(nn.Module):
    """With dropout, and the embedding also as the last layer."""
    dtype: object

    @nn.compact
    def __call__(self, tokens):
        table = nn.Embed(40, 32, dtype=self.dtype)
        x = table(tokens) + nn.Embed(16, 32, dtype=self.dtype)(jnp.arange(tokens.shape[1]))
        for _ in range(2):
            x = Layer(self.dtype, 0.1)(x, nn.make_causal_mask(tokens))
        return table.attend(nn.LayerNorm(dtype=self.dtype)(x))


class LSTM(nn.Module):
    dtype: object

    @nn.compact
    def __call__(self, x):
        # Else of float32, also in double precision.
        carry = jnp.zeros((x.shape[0], 24), jnp.promote_types(jnp.float32, x.dtype))
        for _ in range(2):
            x = nn.RNN(nn.OptimizedLSTMCell(24, dtype=self.dtype))(x, initial_carry=(carry, carry))
        return nn.Dense(10, dtype=self.dtype)(x[:, -1])


class UNet(nn.Module):
    dtype: object

    @nn.compact
    def __call__(self, x):
        def conv(x, features):
            x = nn.Conv(features, (3, 3), dtype=self.dtype)(x)
            return nn.silu(nn.GroupNorm(4, dtype=self.dtype)(x))
        skips = []
        for features in (8, 16):
            x = conv(x, features)
            skips.append(x)
            x = nn.max_pool(x, (2, 2), (2, 2))
        x = conv(x, 16)
        for features in (16, 8):
            x = nn.ConvTranspose(features, (2, 2), (2, 2), dtype=self.dtype)(x)
            x = conv(jnp.concatenate([x, skips.pop()], -1), features)
        return nn.Conv(3, (1, 1), dtype=self.dtype)(x)


def _model(name, module, batch, loss_of, dropout=False, rate=0.05):
    @functools.cache
    def initial():
        key = jax.random.PRNGKey(0)
        return jax.jit(module(None).init)({"params": key, "dropout": key}, batch(0)[0])

    def make(dtype):
        net, variables = module(dtype), initial()
        state = {"key": jax.random.PRNGKey(1)} if dropout else {}
        if "batch_stats" in variables:
            state["batch_stats"] = variables["batch_stats"]

        def loss(params, state, x, *y):
            state, rngs = dict(state), {}
            if dropout:
                state["key"], rngs["dropout"] = jax.random.split(state["key"])
            statistics = {"batch_stats": state["batch_stats"]} if "batch_stats" in state else {}
            out, changed = net.apply({"params": params, **statistics}, x, rngs=rngs, mutable=list(statistics))
            return loss_of(out.astype(jnp.promote_types(out.dtype, jnp.float32)), x, *y), {**state, **changed}
        return variables["params"], state, loss
    return Model("linen " + name, make, batch, rate)


def cross_entropy(out, x, y):
    return -jnp.take_along_axis(jax.nn.log_softmax(out), y[..., None], -1).mean()


def next_token(out, tokens):
    return cross_entropy(out[:, :-1], tokens, tokens[:, 1:])


def squared(out, x, y):
    return ((out - jnp.roll(x, 1, 1)) ** 2).mean()


MODELS = [_model("ResNet", ResNet, image_batch, cross_entropy), _model("ViT", ViT, image_batch, cross_entropy),
          _model("GPT", GPT, token_batch, next_token, dropout=True), _model("LSTM", LSTM, sequence_batch, cross_entropy, rate=0.2),
          _model("U-Net", UNet, image_batch, squared)]
