# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whole models in flax nnx: a mixture of experts, a graph network, DLRM, a variational autoencoder, MLP-Mixer."""
import jax
import jax.numpy as jnp
from flax import nnx

from _models import (Model, classes_loss, click_batch, click_loss, graph_batch, image_batch, in_type, token_batch,
                     vector_batch)


class Mixture(nnx.Module):
    """Tokens go to the best two of four experts; a loss keeps the experts in use."""

    def __init__(self, dtype, rngs):
        self.table = nnx.Embed(40, 24, dtype=dtype, rngs=rngs)
        self.router = nnx.Linear(24, 4, use_bias=False, rngs=rngs)
        self.up = nnx.Param(0.3 * jax.random.normal(rngs.params(), (4, 24, 32)))
        self.down = nnx.Param(0.3 * jax.random.normal(rngs.params(), (4, 32, 24)))
        self.out = nnx.Linear(24, 40, dtype=dtype, rngs=rngs)

    def __call__(self, tokens):
        x = self.table(tokens)
        share = jax.nn.softmax(self.router(x.astype(self.up.dtype)))
        best, chosen = jax.lax.top_k(share, 2)
        weights = (jax.nn.one_hot(chosen, 4) * (best / best.sum(-1, keepdims=True))[..., None]).sum(-2)
        up, down, weights = in_type((self.up[...], self.down[...], weights), x.dtype)
        hidden = jax.nn.gelu(jnp.einsum("btd,edh->bteh", x, up))
        x = x + jnp.einsum("bteh,ehd,bte->btd", hidden, down, weights)
        balance = 4 * (jax.nn.one_hot(chosen[..., 0], 4).mean((0, 1)) * share.mean((0, 1))).sum()
        return self.out(x), balance


class GraphNet(nnx.Module):
    """Two rounds of messages along edges, summed at the nodes."""

    def __init__(self, dtype, rngs):
        def linear(inputs, outputs):
            return nnx.Linear(inputs, outputs, dtype=dtype, rngs=rngs)
        self.inner, self.out = linear(6, 16), linear(16, 1)
        self.message = nnx.List([linear(32, 16) for _ in range(2)])
        self.update = nnx.List([linear(32, 16) for _ in range(2)])

    def __call__(self, x, edges):
        x = jax.nn.relu(self.inner(x))
        for message, update in zip(self.message, self.update):
            ends = jnp.concatenate([jnp.take_along_axis(x, edges[..., i:i + 1], 1) for i in range(2)], -1)
            sent = jax.nn.relu(message(ends))
            summed = jax.vmap(lambda m, e: jax.ops.segment_sum(m, e, num_segments=10))(sent, edges[..., 1])
            x = jax.nn.relu(update(jnp.concatenate([x, summed], -1))) + x
        return self.out(x.mean(1))[:, 0]


class DLRM(nnx.Module):
    def __init__(self, dtype, rngs):
        self.bottom = nnx.List([nnx.Linear(8, 16, dtype=dtype, rngs=rngs), nnx.Linear(16, 8, dtype=dtype, rngs=rngs)])
        self.tables = nnx.List([nnx.Embed(30, 8, dtype=dtype, rngs=rngs) for _ in range(3)])
        self.top = nnx.List([nnx.Linear(14, 16, dtype=dtype, rngs=rngs), nnx.Linear(16, 1, dtype=dtype, rngs=rngs)])

    def __call__(self, dense, ids):
        for layer in self.bottom:
            dense = jax.nn.relu(layer(dense))
        vectors = jnp.stack([dense, *(table(ids[:, i]) for i, table in enumerate(self.tables))], 1)
        products = jnp.einsum("nid,njd->nij", vectors, vectors)
        row, column = jnp.tril_indices(4, -1)
        x = jnp.concatenate([dense, products[:, row, column]], 1)
        return self.top[1](jax.nn.relu(self.top[0](x)))[:, 0]


class VAE(nnx.Module):
    def __init__(self, dtype, rngs):
        self.encoder = nnx.Linear(24, 32, dtype=dtype, rngs=rngs)
        self.mean, self.spread = (nnx.Linear(32, 6, dtype=dtype, rngs=rngs) for _ in range(2))
        self.decoder, self.out = nnx.Linear(6, 32, dtype=dtype, rngs=rngs), nnx.Linear(32, 24, dtype=dtype, rngs=rngs)

    def __call__(self, x, key):
        hidden = jnp.tanh(self.encoder(x))
        mean, spread = self.mean(hidden), self.spread(hidden)
        code = mean + jnp.exp(0.5 * spread) * jax.random.normal(key, mean.shape, jnp.float32).astype(mean.dtype)
        return self.out(jnp.tanh(self.decoder(code))), mean, spread


class Mixer(nnx.Module):
    def __init__(self, dtype, rngs):
        def linear(inputs, outputs):
            return nnx.Linear(inputs, outputs, dtype=dtype, rngs=rngs)
        self.patches = nnx.Conv(3, 24, (2, 2), (2, 2), dtype=dtype, rngs=rngs)
        self.norms = nnx.List([nnx.LayerNorm(24, dtype=dtype, rngs=rngs) for _ in range(4)])
        self.tokens = nnx.List([linear(*size) for _ in range(2) for size in ((16, 32), (32, 16))])
        self.channels = nnx.List([linear(*size) for _ in range(2) for size in ((24, 48), (48, 24))])
        self.out = linear(24, 10)

    def __call__(self, x):
        x = self.patches(x).reshape(x.shape[0], 16, 24)
        for i in range(2):
            y = jnp.swapaxes(self.norms[2 * i](x), 1, 2)
            x = x + jnp.swapaxes(self.tokens[2 * i + 1](jax.nn.gelu(self.tokens[2 * i](y))), 1, 2)
            y = self.norms[2 * i + 1](x)
            x = x + self.channels[2 * i + 1](jax.nn.gelu(self.channels[2 * i](y)))
        return self.out(x.mean(1))


def _wide(tree):
    """Numbers of 16 bits as float32, for losses."""
    return jax.tree.map(lambda a: a.astype(jnp.promote_types(a.dtype, jnp.float32)), tree)


def _model(name, module, batch, loss_of, random=False, rate=0.05):
    def make(dtype):
        graph, params = nnx.split(module(dtype, nnx.Rngs(0)), nnx.Param)

        def loss(params, state, *batch):
            if not random:
                return loss_of(nnx.merge(graph, params), *batch), state
            key, own = jax.random.split(state["key"])
            return loss_of(nnx.merge(graph, params), *batch, own), {"key": key}
        return params, {"key": jax.random.PRNGKey(2)} if random else {}, loss
    return Model("nnx " + name, make, batch, rate)


def _mixture(net, tokens):
    out, balance = _wide(net(tokens))
    return classes_loss(out[:, :-1], tokens[:, 1:]) + 0.01 * balance


def _autoencoder(net, x, _, key):
    out, mean, spread = _wide(net(x, key))
    divergence = 0.5 * (jnp.exp(spread) + mean ** 2 - 1 - spread).sum(1)
    return (((out - x) ** 2).sum(1) + divergence).mean() / 24


MODELS = [_model("mixture of experts", Mixture, token_batch, _mixture),
          _model("GNN", GraphNet, graph_batch, lambda net, x, e, y: ((_wide(net(x, e)) - y) ** 2).mean(), rate=0.01),
          _model("DLRM", DLRM, click_batch, lambda net, x, ids, y: click_loss(_wide(net(x, ids)), y)),
          _model("VAE", VAE, vector_batch, _autoencoder, random=True),
          _model("MLP-Mixer", Mixer, image_batch, lambda net, x, y: classes_loss(_wide(net(x)), y))]
