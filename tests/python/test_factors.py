# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Factors of matrices (Cholesky, LU, QR, triangular systems) of drawn shapes, batches and options, beside LAPACK's.

In double precision, where what is off is wrong and not rounded; many cases are one program, as in test_sweep.py.
"""

import os

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.lax import linalg

import commsched

pytestmark = pytest.mark.skipif("COMMSCHED_BIN" not in os.environ, reason="COMMSCHED_BIN is not set")
CASES = 4  # of each kind in a program


def drawn(random):
    """{name: (function, arrays)}: what LAPACK is asked for, of matrices that a seed has made."""
    result = {"cholesky with a pivot of zero": (lambda a: linalg.cholesky(a), [np.ones((2, 2))]),
              "cholesky that fails first": (lambda a: linalg.cholesky(a), [np.diag([-1.0, 1.0, 2.0])]),
              "lu of nothing": (lambda a: linalg.lu(a), [np.zeros((3, 2))]), "qr of nothing": (lambda a: linalg.qr(a), [np.zeros((3, 2))])}

    def matrix(*shape):
        return random.standard_normal((*batch, *shape))
    for i in range(CASES):
        batch = ((), (2,), (2, 1))[random.choice(3, p=(0.6, 0.3, 0.1))]
        n, m, k = (int(x) for x in random.integers(1, 7, 3))
        a = matrix(n, n)
        positive = a @ np.swapaxes(a, -1, -2) + 0.1 * np.eye(n)
        if random.random() < 0.3:
            positive[..., n // 2, n // 2] = -1.0  # then it is not positive, and the factor not a number
        result[f"cholesky {i}"] = (lambda a: linalg.cholesky(a), [positive])
        options = {name: bool(random.integers(2)) for name in ("left_side", "lower", "transpose_a", "unit_diagonal")}
        right = matrix(n, k) if options["left_side"] else matrix(k, n)
        result[f"triangular {i} {options}"] = (
            lambda a, b, options=options: linalg.triangular_solve(a, b, **options), [a + 3 * np.eye(n), right])
        wide = matrix(n, m)
        if random.random() < 0.3:
            wide[..., -1, :] = 2 * wide[..., 0, :]  # of less than full rank
        if random.random() < 0.2:
            wide[..., :, 0] = 0
        result[f"lu {i} {wide.shape}"] = (lambda a: linalg.lu(a), [wide])
        result[f"qr {i} {wide.shape}"] = (lambda a, full=bool(i % 2): linalg.qr(a, full_matrices=full), [wide])
        result[f"solve {i}"] = (lambda a, b: jnp.linalg.solve(a, b), [a + 0.5 * np.eye(n), matrix(n, k)])
    return result


@pytest.mark.parametrize("seed", range(2))
def test_they_are_those_of_lapack(seed):
    with jax.enable_x64(True):
        cases = drawn(np.random.default_rng(seed))

        def every(arrays):
            return {name: function(*arrays[name]) for name, (function, _) in cases.items()}

        def step(weight, arrays, results, x):
            value, gradient = jax.value_and_grad(lambda w: jnp.mean(w * x))(weight)
            return weight - gradient, every(arrays), value
        arrays = {name: given for name, (_, given) in cases.items()}
        wanted = jax.jit(every)(arrays)
        zeros = jax.tree.map(lambda a: np.zeros(a.shape, a.dtype), wanted)
        with commsched.transpile(step, np.float64(0), arrays, zeros, np.ones(2), constant=(1,)) as program:
            program.step(np.ones(2))
            found = program.state[1]
    wrong = {}
    for name in cases:
        for a, b in zip(jax.tree.leaves(found[name]), jax.tree.leaves(wanted[name]), strict=True):
            a, b = np.asarray(a), np.asarray(b)
            if not np.allclose(a, b, rtol=1e-8, atol=1e-10, equal_nan=True):
                wrong[name] = (a, b)
    assert not wrong, wrong


@pytest.mark.parametrize("function", [jnp.linalg.svd, jnp.linalg.eigh, jnp.linalg.eigvals])
def test_what_is_not_there_is_refused_by_name(function):
    def step(weight, x):
        value, gradient = jax.value_and_grad(lambda w: jnp.mean(w * x))(weight)
        return weight - gradient, sum(jnp.sum(jnp.abs(a)) for a in jax.tree.leaves(function(weight))) + value
    with pytest.raises(commsched.UnsupportedOp, match="lapack_|complex"):
        commsched.transpile(step, np.eye(3, dtype=np.float32), np.ones((3, 3), np.float32))
