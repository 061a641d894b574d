# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whole models in Equinox: ResNet, GPT, U-Net, a mixture of experts, a variational autoencoder."""
import functools

import equinox as eqx
import jax
import jax.numpy as jnp

from _models import Model, classes_loss, image_batch, mixed, token_batch, vector_batch


def _keys(seed, count):
    return iter(jax.random.split(jax.random.PRNGKey(seed), count))


class ResNet(eqx.Module):
    """Of images with the channels in front, as Equinox has them."""
    first: eqx.nn.Conv2d
    blocks: list
    out: eqx.nn.Linear

    def __init__(self):
        keys = _keys(3, 8)
        self.first = eqx.nn.Conv2d(3, 8, 3, padding=1, key=next(keys))
        self.blocks = [{"norm": eqx.nn.GroupNorm(2, 8), "a": eqx.nn.Conv2d(8, 8, 3, padding=1, key=next(keys)),
                        "b": eqx.nn.Conv2d(8, 8, 3, padding=1, key=next(keys))} for _ in range(2)]
        self.out = eqx.nn.Linear(8, 10, key=next(keys))

    def __call__(self, x):
        x = self.first(jnp.moveaxis(x, -1, 0))
        for block in self.blocks:
            x = x + block["b"](jax.nn.relu(block["a"](jax.nn.relu(block["norm"](x)))))
        return self.out(jax.nn.relu(x).mean((1, 2)))


class GPT(eqx.Module):
    table: eqx.nn.Embedding
    places: jax.Array
    layers: list
    out: eqx.nn.Linear

    def __init__(self):
        keys = _keys(4, 12)
        self.table = eqx.nn.Embedding(40, 32, key=next(keys))
        self.places = 0.3 * jax.random.normal(next(keys), (15, 32))
        self.layers = [{"norms": [eqx.nn.LayerNorm(32), eqx.nn.LayerNorm(32)],
                        "attention": eqx.nn.MultiheadAttention(4, 32, key=next(keys)),
                        "mlp": eqx.nn.MLP(32, 32, 64, 1, jax.nn.gelu, key=next(keys))} for _ in range(2)]
        self.out = eqx.nn.Linear(32, 40, key=next(keys))

    def __call__(self, tokens):
        x = jax.vmap(self.table)(tokens) + self.places
        mask = jnp.tril(jnp.ones((15, 15), bool))
        for layer in self.layers:
            y = jax.vmap(layer["norms"][0])(x)
            x = x + layer["attention"](y, y, y, mask=mask)
            x = x + jax.vmap(lambda v: layer["mlp"](layer["norms"][1](v)))(x)
        return jax.vmap(self.out)(x)


class UNet(eqx.Module):
    down: list
    up: list
    join: list
    out: eqx.nn.Conv2d

    def __init__(self):
        keys = _keys(5, 8)
        self.down = [eqx.nn.Conv2d(3, 8, 3, padding=1, key=next(keys)), eqx.nn.Conv2d(8, 16, 3, 2, 1, key=next(keys)),
                     eqx.nn.Conv2d(16, 16, 3, 2, 1, key=next(keys))]
        self.up = [eqx.nn.ConvTranspose2d(16, 16, 2, 2, key=next(keys)), eqx.nn.ConvTranspose2d(16, 8, 2, 2, key=next(keys))]
        self.join = [eqx.nn.Conv2d(32, 16, 3, padding=1, key=next(keys)), eqx.nn.Conv2d(16, 8, 3, padding=1, key=next(keys))]
        self.out = eqx.nn.Conv2d(8, 3, 1, key=next(keys))

    def __call__(self, x):
        x, skips = jnp.moveaxis(x, -1, 0), []
        for layer in self.down:
            x = jax.nn.silu(layer(x))
            skips.append(x)
        skips.pop()
        for up, join in zip(self.up, self.join):
            x = jax.nn.silu(join(jnp.concatenate([up(x), skips.pop()])))
        return jnp.moveaxis(self.out(x), 0, -1)


class Mixture(eqx.Module):
    """Each sample goes to the best two of four experts."""
    router: eqx.nn.Linear
    experts: eqx.nn.MLP  # four, in front of every array

    def __init__(self):
        keys = _keys(6, 2)
        self.router = eqx.nn.Linear(24, 4, key=next(keys))
        self.experts = eqx.filter_vmap(lambda key: eqx.nn.MLP(24, 8, 32, 1, jnp.tanh, key=key))(
            jax.random.split(next(keys), 4))

    def __call__(self, x):
        best, chosen = jax.lax.top_k(self.router(x), 2)
        outputs = eqx.filter_vmap(lambda expert: expert(x))(self.experts)
        return jax.nn.softmax(best) @ outputs[chosen]


class VAE(eqx.Module):
    encoder: eqx.nn.MLP
    decoder: eqx.nn.MLP

    def __init__(self):
        keys = _keys(7, 2)
        self.encoder = eqx.nn.MLP(24, 12, 32, 1, jax.nn.softplus, key=next(keys))
        self.decoder = eqx.nn.MLP(6, 24, 32, 1, jax.nn.softplus, key=next(keys))

    def __call__(self, x, noise):
        mean, spread = jnp.split(self.encoder(x), 2)
        return self.decoder(mean + jnp.exp(0.5 * spread) * noise), mean, spread


def _wide(tree):
    return jax.tree.map(lambda a: a.astype(jnp.promote_types(a.dtype, jnp.float32)), tree)


def _model(name, module, batch, loss_of, random=False, rate=0.05):
    initial = functools.cache(module)

    def make(dtype):
        params, rest = eqx.partition(initial(), eqx.is_inexact_array)

        def loss(params, state, *batch):
            net = eqx.combine(params, rest)
            if not random:
                return loss_of(net, *batch), state
            key, own = jax.random.split(state["key"])
            return loss_of(net, *batch, own), {"key": key}
        return params, {"key": jax.random.PRNGKey(8)} if random else {}, mixed(loss, dtype)
    return Model("Equinox " + name, make, batch, rate)


def _classes(net, x, y):
    return classes_loss(_wide(jax.vmap(net)(x)), y)


def _next_token(net, tokens):
    return classes_loss(_wide(jax.vmap(net)(tokens[:, :-1])), tokens[:, 1:])


def _autoencoder(net, x, _, key):
    noise = jax.random.normal(key, (x.shape[0], 6), jnp.float32).astype(x.dtype)
    out, mean, spread = _wide(jax.vmap(net)(x, noise))
    return (((out - x) ** 2).sum(1) + 0.5 * (jnp.exp(spread) + mean ** 2 - 1 - spread).sum(1)).mean() / 24


MODELS = [_model("ResNet", ResNet, image_batch, _classes), _model("GPT", GPT, token_batch, _next_token),
          _model("U-Net", UNet, image_batch, lambda net, x, y: ((_wide(jax.vmap(net)(x)) - jnp.roll(x, 1, 1)) ** 2).mean()),
          _model("mixture of experts", Mixture, vector_batch,
                 lambda net, x, y: ((_wide(jax.vmap(net)(x)) - y) ** 2).mean(), rate=0.2),
          _model("VAE", VAE, vector_batch, _autoencoder, random=True)]
