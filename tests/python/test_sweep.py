# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Hundreds of functions of JAX, with their derivatives: each is right, or refused by name and line.

With COMMSCHED_BIN, they are compiled as users' steps are, a group of them in one program, and run.
"""

import os

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import commsched
import sweep_lax
import sweep_numpy
from ops import level0

TABLES = {"lax": sweep_lax.LAX, "nn": sweep_lax.NN, "random": sweep_lax.RANDOM, "complex": sweep_lax.COMPLEX, "smooth": sweep_numpy.SMOOTH,
          "products": sweep_numpy.PRODUCTS, "shapes": sweep_numpy.SHAPES, "indexing": sweep_numpy.INDEXING,
          "whole": sweep_numpy.WHOLE}
CASES = {f"{table}.{name}": c for table, cases in TABLES.items() for name, c in cases.items()}
REFUSED = [name for name, c in CASES.items() if c.refused]
SIZE = 32  # cases in one program


def groups():
    result = {}
    for table, cases in TABLES.items():
        names = [name for name, c in cases.items() if not c.refused]
        for i in range(0, len(names), SIZE):
            result[f"{table}-{i // SIZE}"] = [f"{table}.{n}" for n in names[i:i + SIZE]]
    return result


GROUPS = groups()


def with_derivative(case):
    """The function, or its result and the products of all derivatives with fixed cotangents."""
    if not case.grad:
        return case.function
    chosen = [i for i, a in enumerate(case.arguments) if np.asarray(a).dtype.kind == "f"]

    def cotangent(x):
        if not jnp.issubdtype(x.dtype, jnp.floating):
            return np.zeros(x.shape, jax.dtypes.float0)
        return jnp.cos(jnp.arange(x.size, dtype=np.float32)).reshape(x.shape).astype(x.dtype)

    def both(*arguments):
        def part(*values):
            whole = list(arguments)
            for i, value in zip(chosen, values):
                whole[i] = value
            return case.function(*whole)
        result, pullback = jax.vjp(part, *[arguments[i] for i in chosen])
        return result, pullback(jax.tree.map(cotangent, result))
    return both


@pytest.mark.parametrize("name", REFUSED)
def test_it_is_refused_by_name_and_line(name):
    case = CASES[name]
    with pytest.raises(commsched.UnsupportedOp, match=case.refused) as error:
        level0(case.function, *case.arguments)
    assert "sweep_" in error.value.location


@pytest.mark.parametrize("group", GROUPS)
def test_it_is_what_jax_computes(group):
    one_program({name: CASES[name] for name in GROUPS[group]})


def one_program(cases):
    """Asserts that a program of all cases computes what JAX does."""
    inputs = {name: c.arguments for name, c in cases.items()}
    # One program of all: JAX compiles it in a third of the time that one for each takes.
    wanted = jax.jit(lambda inputs: {name: with_derivative(c)(*inputs[name]) for name, c in cases.items()})(inputs)
    state = jax.tree.map(lambda x: np.zeros(x.shape, x.dtype), wanted)

    def step(weight, inputs, state, x):
        value, gradient = jax.value_and_grad(lambda w: jnp.mean(w * x))(weight)
        return weight - gradient, {name: with_derivative(c)(*inputs[name]) for name, c in cases.items()}, value
    x = np.ones(2, np.float32)
    program = commsched.transpile(step, np.float32(0), inputs, state, x, constant=(1,))
    if "COMMSCHED_BIN" not in os.environ:
        pytest.skip("COMMSCHED_BIN is not set: lowered only")
    program.step(x)
    found = program.state[1]
    program.close()
    wrong = [text for name, c in cases.items() for text in differences(name, c, found[name], wanted[name])]
    assert not wrong, "\n".join(wrong)


def differences(name, case, found, wanted):
    for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(wanted), strict=True):
        a, b = np.asarray(a), np.asarray(b)
        assert a.dtype == b.dtype and a.shape == b.shape
        try:
            if b.dtype.kind in "iub":
                np.testing.assert_array_equal(a, b)
            else:
                np.testing.assert_allclose(a.astype(np.float64), b.astype(np.float64), rtol=case.rtol, atol=case.atol)
        except AssertionError as error:
            yield f"{name}: {error}"
