# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whole models in Haiku: ViT, LSTM, a graph network, DLRM, MLP-Mixer."""
import functools

import haiku as hk
import jax
import jax.numpy as jnp

from _models import (Model, classes_loss, click_batch, click_loss, graph_batch, image_batch, mixed, sequence_batch)


def _norm():
    return hk.LayerNorm(-1, create_scale=True, create_offset=True)


def vit(x):
    x = hk.Conv2D(32, 4, 4)(x).reshape(x.shape[0], 4, 32)
    x = x + hk.get_parameter("places", (4, 32), x.dtype, hk.initializers.RandomNormal(0.5))
    for _ in range(2):
        y = _norm()(x)
        # A bias of keys has no gradient but rounding.
        x = x + hk.MultiHeadAttention(4, 8, w_init=hk.initializers.VarianceScaling(1.0), with_bias=False, model_size=32)(y, y, y)
        x = x + hk.nets.MLP([64, 32], activation=jax.nn.gelu)(_norm()(x))
    return hk.Linear(10)(_norm()(x).mean(1))


def lstm(x):
    core = hk.DeepRNN([hk.LSTM(24), hk.LSTM(24)])
    out, _ = hk.dynamic_unroll(core, x, jax.tree.map(lambda a: a.astype(x.dtype), core.initial_state(x.shape[0])),
                               time_major=False)
    return hk.Linear(10)(out[:, -1])


def graph_net(x, edges):
    x = hk.Linear(16)(x)
    samples = jnp.arange(x.shape[0])[:, None]
    for _ in range(2):
        sent = jax.nn.relu(hk.Linear(16)(jnp.concatenate([x[samples, edges[..., 0]], x[samples, edges[..., 1]]], -1)))
        summed = jnp.zeros_like(x).at[samples, edges[..., 1]].add(sent)
        gates = jax.nn.sigmoid(hk.Linear(16)(jnp.concatenate([x, summed], -1)))
        x = gates * x + (1 - gates) * jnp.tanh(summed)
    return hk.Linear(1)(x.mean(1))[:, 0]


def dlrm(dense, ids):
    dense = hk.nets.MLP([16, 8], activate_final=True)(dense)
    vectors = jnp.stack([dense, *(hk.Embed(30, 8)(ids[:, i]) for i in range(3))], 1)
    row, column = jnp.triu_indices(4, 1)
    products = jnp.einsum("nid,njd->nij", vectors, vectors)[:, row, column]
    return hk.nets.MLP([16, 1])(jnp.concatenate([dense, products], 1))[:, 0]


def mixer(x):
    x = hk.Conv2D(24, 2, 2)(x).reshape(x.shape[0], 16, 24)
    for _ in range(2):
        y = jnp.swapaxes(_norm()(x), 1, 2)
        # Without biases: one of a token goes to all its channels, and the norms behind take it out again.
        x = x + jnp.swapaxes(hk.nets.MLP([32, 16], activation=jax.nn.gelu, with_bias=False)(y), 1, 2)
        x = x + hk.nets.MLP([48, 24], activation=jax.nn.gelu)(_norm()(x))
    return hk.Linear(10)(_norm()(x).mean(1))


def _model(name, function, batch, loss_of, rate=0.05):
    net = hk.without_apply_rng(hk.transform(function))

    @functools.cache
    def initial():
        return jax.jit(net.init)(jax.random.PRNGKey(9), *batch(0)[:-1])

    def make(dtype):
        def loss(params, state, *batch):
            out = net.apply(params, *batch[:-1])
            out = out.astype(jnp.promote_types(out.dtype, jnp.float32))
            return loss_of(out, batch[-1]), state
        return initial(), {}, mixed(loss, dtype)
    return Model("Haiku " + name, make, batch, rate)


MODELS = [_model("ViT", vit, image_batch, classes_loss), _model("LSTM", lstm, sequence_batch, classes_loss, rate=0.2),
          _model("GNN", graph_net, graph_batch, lambda out, y: ((out - y) ** 2).mean(), rate=0.01),
          _model("DLRM", dlrm, click_batch, click_loss), _model("MLP-Mixer", mixer, image_batch, classes_loss)]
