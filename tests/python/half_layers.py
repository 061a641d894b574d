# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whole layers of flax (linen and nnx), equinox and haiku, as functions of their parameters.

A layer is (parameters, apply(parameters, input), input). `dtype` is what it computes in, `param_dtype` what its
parameters are."""

import functools

import jax
import jax.numpy as jnp
import numpy as np

KEY = jax.random.key(0)
LECUN = jax.nn.initializers.lecun_normal()  # QR, the default of recurrent kernels, is of f32 and f64 only
IDS = np.random.default_rng(0).integers(0, 20, (4, 6)).astype(np.int32)


def normal(*shape):
    return np.random.default_rng(len(shape)).standard_normal(shape).astype(np.float32)


SHAPES = {"dense": (4, 48), "conv": (4, 8, 8, 4), "strided": (4, 9, 9, 4), "transposed": (4, 5, 5, 4),
          "norm": (4, 48), "groups": (4, 6, 16), "attention": (4, 8, 32), "lstm": (4, 7, 12)}


def inputs(name):
    return IDS if name == "embed" else normal(*SHAPES[name])


def linen_modules(**types):
    import flax.linen as nn
    return {
        "dense": nn.Dense(32, **types), "conv": nn.Conv(8, (3, 3), **types),
        "strided": nn.Conv(8, (3, 3), strides=2, **types),
        "transposed": nn.ConvTranspose(8, (3, 3), strides=(2, 2), **types),
        "norm": nn.LayerNorm(**types), "groups": nn.GroupNorm(num_groups=4, **types),
        "attention": nn.MultiHeadDotProductAttention(num_heads=4, qkv_features=32, **types),
        "lstm": nn.RNN(nn.OptimizedLSTMCell(16, recurrent_kernel_init=LECUN, **types)),
        "embed": nn.Embed(20, 16, **types)}


@functools.cache
def linen_parameters():
    """In f32, made once: to compile it takes longer than all that is done with it."""
    return jax.jit(lambda: {name: m.init(KEY, inputs(name)) for name, m in linen_modules().items()})()


def linen(dtype, param_dtype):
    params = jax.tree.map(lambda v: v.astype(param_dtype), linen_parameters())
    modules = linen_modules(dtype=dtype, param_dtype=param_dtype)
    return {name: (params[name], m.apply, inputs(name)) for name, m in modules.items()}


def nnx(dtype, param_dtype):
    from flax import nnx
    types = dict(dtype=dtype, param_dtype=param_dtype, rngs=nnx.Rngs(0))
    modules = {
        "dense": nnx.Linear(48, 32, **types), "conv": nnx.Conv(4, 8, (3, 3), **types),
        "strided": nnx.Conv(4, 8, (3, 3), strides=2, **types),
        "norm": nnx.LayerNorm(48, **types),
        "attention": nnx.MultiHeadAttention(num_heads=4, in_features=32, decode=False, **types),
        "lstm": nnx.RNN(nnx.OptimizedLSTMCell(12, 16, recurrent_kernel_init=LECUN, **types)),
        "embed": nnx.Embed(20, 16, **types)}
    layers = {}
    for name, module in modules.items():
        graph, params, rest = nnx.split(module, nnx.Param, ...)

        # Without the carry the recurrent layer draws one, which a trace may not.
        carry = dict(initial_carry=(jnp.zeros((4, 16), dtype),) * 2) if name == "lstm" else {}

        def apply(p, x, graph=graph, rest=rest, carry=carry):
            return nnx.merge(graph, p, rest)(x, **carry)
        layers[name] = nnx.to_pure_dict(params), lambda p, x, apply=apply, state=params: apply(_filled(state, p), x), \
            inputs(name)
    return layers


def _filled(state, values):
    from flax import nnx
    new = jax.tree.map(lambda leaf: leaf, state)
    nnx.replace_by_pure_dict(new, values)
    return new


def equinox(dtype, param_dtype):
    import equinox as eqx
    modules = {
        "dense": eqx.nn.Linear(48, 32, key=KEY), "conv": eqx.nn.Conv2d(4, 8, 3, padding=1, key=KEY),
        "strided": eqx.nn.Conv2d(4, 8, 3, stride=2, key=KEY),
        "transposed": eqx.nn.ConvTranspose2d(4, 8, 3, stride=2, key=KEY), "norm": eqx.nn.LayerNorm(48),
        "attention": eqx.nn.MultiheadAttention(4, 32, key=KEY), "lstm": eqx.nn.LSTMCell(12, 16, key=KEY),
        "embed": eqx.nn.Embedding(20, 16, key=KEY)}

    def run(name, layer, x):
        if name == "attention":
            return jax.vmap(lambda v: layer(v, v, v))(x)
        if name == "lstm":
            def scan(v):
                start = (jnp.zeros(16, dtype), jnp.zeros(16, dtype))
                return jax.lax.scan(lambda c, row: (layer(row, c), c[0]), start, v)[0][0]
            return jax.vmap(scan)(x)
        if x.ndim == 4:
            return jax.vmap(layer)(x.transpose(0, 3, 1, 2))
        if name == "embed":
            return jax.vmap(jax.vmap(layer))(x)
        return jax.vmap(layer)(x)
    layers = {}
    for name, module in modules.items():
        params, rest = eqx.partition(module, eqx.is_inexact_array)
        leaves, tree = jax.tree.flatten(params)

        def apply(p, x, name=name, tree=tree, rest=rest):
            cast = jax.tree.unflatten(tree, [v.astype(dtype) for v in p])
            return run(name, eqx.combine(cast, rest), x if name == "embed" else jnp.asarray(x, dtype))
        layers[name] = [v.astype(param_dtype) for v in leaves], apply, inputs(name)
    return layers


def haiku(dtype, param_dtype):
    import haiku as hk

    def lstm(x):
        core = hk.LSTM(16)
        state = jax.tree.map(lambda v: v.astype(x.dtype), core.initial_state(x.shape[0]))
        return hk.dynamic_unroll(core, x, state, time_major=False)[0]
    functions = {
        "dense": lambda x: hk.Linear(32)(x), "conv": lambda x: hk.Conv2D(8, 3)(x),
        "strided": lambda x: hk.Conv2D(8, 3, stride=2)(x), "transposed": lambda x: hk.Conv2DTranspose(8, 3, stride=2)(x),
        "norm": lambda x: hk.LayerNorm(-1, True, True)(x),
        "attention": lambda x: hk.MultiHeadAttention(4, 8, w_init=hk.initializers.VarianceScaling(1.0))(x, x, x),
        "lstm": lstm, "embed": lambda x: hk.Embed(20, 16)(x)}
    layers = {}
    for name, function in functions.items():
        transformed = hk.without_apply_rng(hk.transform(function))
        params = jax.tree.map(lambda v: v.astype(param_dtype), transformed.init(KEY, inputs(name)))

        def apply(p, x, name=name, transformed=transformed):
            p = jax.tree.map(lambda v: v.astype(dtype), p)
            return transformed.apply(p, x if name == "embed" else jnp.asarray(x, dtype))
        layers[name] = params, apply, inputs(name)
    return layers


LIBRARIES = {"linen": linen, "nnx": nnx, "equinox": equinox, "haiku": haiku}
