# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whole models in plain JAX, of kinds that the others are not: diffusion, a flow with determinants, vector quantisation,
a conditional random field, a Gaussian process, a Fourier operator, experts by sorting, a state space model."""
import functools

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from _models import Model, classes_loss, image_batch, mixed, token_batch, vector_batch


def _wide(x):
    """At least float32, for what has no form in 16 bits."""
    return x.astype(jnp.promote_types(x.dtype, jnp.float32))


class Weights:
    """Random weights of a model, one after another."""

    def __init__(self, seed):
        self.random = np.random.default_rng([seed, 11])

    def __call__(self, *shape, scale=None):
        scale = scale or 1 / np.sqrt(np.prod(shape[:-1]))
        return (scale * self.random.standard_normal(shape)).astype(np.float32)

    def layers(self, *sizes):
        return [{"w": self(*size), "b": np.zeros(size[1], np.float32)} for size in zip(sizes, sizes[1:])]


def dense(layers, x, activation=jnp.tanh):
    for i, layer in enumerate(layers):
        x = x @ layer["w"] + layer["b"]
        x = activation(x) if i < len(layers) - 1 else x
    return x


def conv(x, w, stride=1):
    return lax.conv_general_dilated(x, w, (stride, stride), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))


def _normal(key, like):
    return jax.random.normal(key, like.shape, jnp.float32).astype(like.dtype)


def diffusion():
    """A U-Net that finds the noise in an image, from how much there is of it."""
    weights = Weights(0)
    left = np.cumprod(1 - np.linspace(1e-2, 0.2, 20)).astype(np.float32)
    params = {"in": weights(3, 3, 3, 8), "time": weights.layers(8, 16, 8), "down": weights(3, 3, 8, 16),
              "middle": weights(3, 3, 16, 16), "up": weights(3, 3, 24, 8), "out": weights(3, 3, 8, 3)}

    def loss(p, state, x, _):
        key, when, drawn = jax.random.split(state["key"], 3)
        step = jax.random.randint(when, (x.shape[0],), 0, 20)
        noise, signal = _normal(drawn, x), jnp.asarray(left).astype(x.dtype)[step][:, None, None, None]
        wave = (step[:, None] * jnp.exp(-jnp.arange(4, dtype=jnp.float32))).astype(x.dtype)
        time = dense(p["time"], jnp.concatenate([jnp.sin(wave), jnp.cos(wave)], 1), jax.nn.silu)
        outer = jax.nn.silu(conv(jnp.sqrt(signal) * x + jnp.sqrt(1 - signal) * noise, p["in"])) + time[:, None, None]
        inner = jax.nn.silu(conv(outer, p["down"], 2))
        inner = inner + jax.checkpoint(lambda h, w: jax.nn.silu(conv(h, w)))(inner, p["middle"])
        upper = jax.image.resize(inner, (*outer.shape[:3], 16), "nearest")
        found = conv(jax.nn.silu(conv(jnp.concatenate([upper, outer], -1), p["up"])), p["out"])
        return _wide((found - noise) ** 2).mean(), {"key": key}
    return params, {"key": jax.random.PRNGKey(3)}, loss


def flow():
    """Couplings between mixings of all dimensions, whose determinants are in the likelihood."""
    weights = Weights(1)
    params = [{"mix": np.eye(8, dtype=np.float32) + weights(8, 8, scale=0.1), "shift": weights.layers(4, 16, 4),
               "scale": weights.layers(4, 16, 4)} for _ in range(3)]

    def loss(p, state, x, _):
        x, volume = x[:, :8], jnp.zeros(())
        for layer in p:
            x = x @ layer["mix"]
            volume = volume + jnp.linalg.slogdet(_wide(layer["mix"]))[1]
            fixed, moved = jnp.split(x, 2, 1)
            scale = jnp.tanh(dense(layer["scale"], fixed))
            x = jnp.concatenate([fixed, moved * jnp.exp(scale) + dense(layer["shift"], fixed)], 1)
            volume = volume + _wide(scale).sum(1).mean()
        return (0.5 * (_wide(x) ** 2).sum(1).mean() - volume) / 8, state
    return params, {}, loss


def quantised():
    """An autoencoder whose codes are the nearest of twelve; the gradient goes past the choice."""
    weights = Weights(2)
    params = {"encode": weights.layers(24, 32, 8), "codes": weights(12, 8, scale=1.0), "decode": weights.layers(8, 32, 24)}

    def loss(p, state, x, _):
        code = dense(p["encode"], x)
        far = ((code[:, None] - p["codes"]) ** 2).sum(-1)
        near = p["codes"][jnp.argmin(far, 1)]
        out = dense(p["decode"], code + lax.stop_gradient(near - code))
        commit = (lax.stop_gradient(code) - near) ** 2 + 0.25 * (code - lax.stop_gradient(near)) ** 2
        return _wide((out - x) ** 2).mean() + _wide(commit).mean(), state
    return params, {}, loss


def random_field():
    """Labels of tokens with the weights of transitions between them: all sequences are summed over by a scan."""
    weights = Weights(3)
    params = {"table": weights(40, 16, scale=0.5), "out": weights(16, 6), "from_to": weights(6, 6, scale=0.1)}

    def loss(p, state, tokens):
        score, labels = _wide(p["table"][tokens] @ p["out"]), tokens % 6
        step = _wide(p["from_to"])

        def onward(total, here):
            return jax.nn.logsumexp(total[:, :, None] + step, 1) + here, None
        total, _ = lax.scan(onward, score[:, 0], jnp.swapaxes(score[:, 1:], 0, 1))
        own = jnp.take_along_axis(score, labels[..., None], -1).sum((1, 2)) + step[labels[:, :-1], labels[:, 1:]].sum(1)
        return (jax.nn.logsumexp(total, -1) - own).mean() / tokens.shape[1], state
    return params, {}, loss


def gaussian_process():
    """Likelihood of the samples of a worker under a kernel of learned features."""
    weights = Weights(4)
    params = {"features": weights.layers(24, 16, 4)[:1], "out": weights(16, 4), "length": np.float32(0.3), "noise": np.float32(-1.0)}

    def loss(p, state, x, y):
        found = _wide(jnp.tanh(dense(p["features"], x)) @ p["out"])
        far = ((found[:, None] - found) ** 2).sum(-1)
        kernel = jnp.exp(-far * jnp.exp(_wide(p["length"]))) + jnp.exp(_wide(p["noise"])) * jnp.eye(len(x), dtype=far.dtype)
        factor = jnp.linalg.cholesky(kernel)
        white = jax.scipy.linalg.solve_triangular(factor, _wide(y), lower=True)
        return (0.5 * (white ** 2).sum() / y.shape[1] + jnp.log(jnp.diagonal(factor)).sum()) / len(x), state
    return params, {}, loss


def fourier_operator():
    """Frequencies are weighted, the lowest only, beside a product at every place."""
    weights = Weights(5)
    params = [{"real": weights(6, 8, 8), "imag": weights(6, 8, 8), "local": weights(8, 8)} for _ in range(2)]
    params = {"in": weights(1, 8, scale=1.0), "layers": params, "out": weights(8, 1)}

    def loss(p, state, x, _):
        h = x[:, :, None] @ p["in"]
        for layer in p["layers"]:
            spectrum = jnp.fft.rfft(_wide(h), axis=1)[:, :6]
            mixed_ = jnp.einsum("bmi,mio->bmo", spectrum, _wide(layer["real"]) + 1j * _wide(layer["imag"]))
            h = jax.nn.gelu(jnp.fft.irfft(mixed_, n=24, axis=1).astype(h.dtype) + h @ layer["local"])
        return _wide((h @ p["out"] - jnp.roll(jnp.cumsum(x, 1) / 5, 3, 1)[..., None]) ** 2).mean(), state
    return params, {}, loss


def sorted_experts():
    """Tokens are sorted by their experts, and each expert has as many rows as it was given."""
    weights = Weights(6)
    params = {"table": weights(40, 16, scale=0.5), "router": weights(16, 4), "up": weights(4, 16, 32, scale=0.25),
              "down": weights(4, 32, 16, scale=0.2), "out": weights(16, 40)}

    def loss(p, state, tokens):
        x = p["table"][tokens[:, :-1].reshape(-1)]
        share, chosen = lax.top_k(jax.nn.softmax(_wide(x @ p["router"])), 2)
        chosen = chosen.reshape(-1)
        order = jnp.argsort(chosen)
        sizes = jnp.bincount(chosen, length=4)
        h = jax.nn.gelu(lax.ragged_dot(x[order // 2], p["up"], sizes))
        h = lax.ragged_dot(h, p["down"], sizes)[jnp.argsort(order)].reshape(-1, 2, 16)
        x = x + (h * share[..., None].astype(h.dtype)).sum(1)
        return classes_loss(_wide(x @ p["out"]), tokens[:, 1:].reshape(-1)), state
    return params, {}, loss


def state_space():
    """A recurrence with gates that depend on the token, as one associative scan."""
    weights = Weights(7)
    params = {"table": weights(40, 16, scale=0.5), "decay": weights(16, scale=0.5), "gate": weights(16, 16), "in": weights(16, 16),
              "out": weights(16, 40)}

    def join(first, second):
        return first[0] * second[0], second[0] * first[1] + second[1]

    def loss(p, state, tokens):
        x = p["table"][tokens[:, :-1]]
        gate = jax.nn.softplus(x @ p["gate"])
        kept = jnp.exp(-gate * jnp.exp(p["decay"]))
        _, h = lax.associative_scan(join, (kept, gate * (x @ p["in"])), axis=1)
        return classes_loss(_wide((h * jax.nn.silu(x) + x) @ p["out"]), tokens[:, 1:]), state
    return params, {}, loss


def _model(name, parts, batch, rate=0.05):
    @functools.cache
    def once():
        return parts()

    def make(dtype):
        params, state, loss = once()
        return params, state, mixed(loss, dtype)
    return Model("plain " + name, make, batch, rate)


MODELS = [_model("diffusion", diffusion, image_batch), _model("flow", flow, vector_batch, rate=0.02),
          _model("VQ-VAE", quantised, vector_batch), _model("CRF", random_field, token_batch, rate=0.2),
          _model("Gaussian process", gaussian_process, vector_batch, rate=0.01),
          _model("Fourier operator", fourier_operator, vector_batch, rate=0.02), _model("sorted experts", sorted_experts, token_batch),
          _model("state space", state_space, token_batch)]
