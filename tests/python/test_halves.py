# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Steps in bf16 and f16, against JAX in the same types and in f32.

JAX in f32, on the same values, is the answer; how far JAX in 16 bits is from it is how far 16 bits are."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import commsched
import half_layers

EPSILON = {"bfloat16": 2.0**-8, "float16": 2.0**-11}


def as_numpy(tree):
    return jax.tree.map(np.asarray, tree)


def step_of(layers):
    """One step of gradient descent; the gradients are carried, to be seen."""
    def step(params, gradients, batch, target):
        def loss(p):
            return sum((((apply(p[name], batch[name]).astype(jnp.float32)) - target[f"{name}_target"]) ** 2).mean()
                       for name, (_, apply, _) in layers.items())
        value, gradients = jax.value_and_grad(loss)(params)
        new = jax.tree.map(lambda p, g: (p - 0.1 * g.astype(p.dtype)).astype(p.dtype), params, gradients)
        return new, gradients, value
    return step


def distance(tree, exact):
    return jax.tree.map(lambda a, b: np.linalg.norm(np.asarray(a, np.float64) - np.asarray(b, np.float64)), tree, exact)


def check(ours, theirs, exact, epsilon, what):
    """Every tensor at most three times as far from `exact` as `theirs`, where that is more than roundings of the
    result; what cancels in theory (a bias of keys) is noise of the size of what it is made of."""
    names = [jax.tree_util.keystr(path) for path, _ in jax.tree_util.tree_leaves_with_path(exact)]
    norms = [np.linalg.norm(np.asarray(x, np.float64)) for x in jax.tree.leaves(exact)]
    floor = epsilon * 0.05 * max(norms)
    for name, a, b, norm in zip(names, jax.tree.leaves(distance(ours, exact)), jax.tree.leaves(distance(theirs, exact)),
                                norms, strict=True):
        assert a <= 3 * b + epsilon * norm + floor, (what, name, a, b, norm)


# JAX itself has no product of the kind that nnx's attention makes of float16 on a CPU: nothing to compare with.
LAYERS = [(library, dtype, kind) for library in half_layers.LIBRARIES for dtype in ("bfloat16", "float16")
          for kind in ("pure", "mixed") if (library, dtype) != ("nnx", "float16")]


@functools.cache
def exact_step(library):
    """In f32: one for all that is compared with it."""
    return jax.jit(step_of(half_layers.LIBRARIES[library](jnp.float32, jnp.float32)))


@pytest.mark.parametrize("library, dtype, kind", LAYERS)
def test_layers(library, dtype, kind):
    """Forward, backward and update of every layer; parameters of 16 bits ("pure") or f32 ("mixed")."""
    half = jnp.dtype(dtype)
    make = half_layers.LIBRARIES[library]
    layers = make(half, half if kind == "pure" else jnp.float32)
    params = as_numpy({name: layer[0] for name, layer in layers.items()})
    batch = {name: layer[2] for name, layer in layers.items()}
    if kind == "pure":
        batch = {name: x if x.dtype == np.int32 else np.asarray(jnp.asarray(x, half)) for name, x in batch.items()}
    target = {f"{name}_target": np.random.default_rng(1).standard_normal(
        jax.eval_shape(apply, params[name], batch[name]).shape).astype(np.float32)
        for name, (_, apply, _) in layers.items()}
    zeros = jax.tree.map(np.zeros_like, params)
    step = step_of(layers)
    program = commsched.transpile(step, params, zeros, batch, target, batch=(2, 3), cluster=1)
    loss = program.run([(batch, target)])[-1]["loss"]
    ours, gradients = program.params, program.state[0]
    program.close()

    def f32(tree):
        return jax.tree.map(lambda v: v if v.dtype == np.int32 else np.asarray(v, np.float32), tree)
    jax_params, jax_gradients, _ = jax.jit(step)(params, zeros, batch, target)
    exact_params, exact_gradients, exact = exact_step(library)(f32(params), f32(zeros), f32(batch), target)
    assert abs(loss - float(exact)) <= 8 * EPSILON[dtype] * abs(float(exact))
    check(gradients, jax_gradients, as_numpy(exact_gradients), EPSILON[dtype], "gradient")
    check(ours, jax_params, as_numpy(exact_params), EPSILON[dtype], "parameter")


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_a_long_product_rounds_once(dtype):
    """K = 4096; each element has one rounding, and the error of a sum in f32."""
    rng = np.random.default_rng(0)
    x, w = (np.asarray(jnp.asarray(rng.random(shape), dtype)) for shape in ((8, 4096), (4096, 16)))

    def step(w, product, x):
        def loss(w):
            product = x @ w
            return (product.astype(jnp.float32) * 1e-4).sum(), product
        (value, product), g = jax.value_and_grad(loss, has_aux=True)(w)
        return w - g, product, value
    program = commsched.transpile(step, w, np.zeros((8, 16), x.dtype), x, cluster=1)
    program.run([x])
    product = np.asarray(program.state[0], np.float64)
    program.close()
    exact = x.astype(np.float64) @ w.astype(np.float64)
    np.testing.assert_array_less(np.abs(product - exact), exact * (EPSILON[dtype] + 4096 * 2.0**-24))


def test_the_gradient_of_a_maximum_finds_it():
    """The factors' product is computed again for the comparison, and rounded there as it was for the maximum."""
    rng = np.random.default_rng(3)
    a, b = (np.asarray(jnp.asarray(rng.standard_normal((16, 64)), jnp.bfloat16)) for _ in range(2))

    def step(a, b):
        value, g = jax.value_and_grad(lambda a: (a * b).max(1).astype(jnp.float32).sum())(a)
        return a - g, value
    program = commsched.transpile(step, a, b, cluster=1)
    program.run([b])
    ours = np.asarray(program.params, np.float32)
    program.close()
    theirs = np.asarray(jax.jit(step)(a, b)[0], np.float32)
    assert np.isfinite(ours).all()
    np.testing.assert_array_equal((ours != a.astype(np.float32)).sum(1) > 0, np.ones(16, bool))
    np.testing.assert_allclose(ours, theirs, rtol=2.0**-7)
