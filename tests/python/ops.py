# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares one JAX function with its level-0 form, compiled by the stock MLIR tools."""

import jax
import numpy as np

import reference
from commsched.frontend.jax_frontend import _lower, make_locate
from commsched.frontend.stablehlo import level0_function, level0_module
from commsched.frontend.stablehlo.function import FunctionSpec
from commsched.frontend.stablehlo.ir import Printer


def level0(function, *arguments):
    """Level-0 text of function, named @f; its results in the order of the flattened tree."""
    leaves, tree = jax.tree_util.tree_flatten(arguments)
    count = []

    def flat(*values):
        out = jax.tree_util.tree_leaves(function(*jax.tree_util.tree_unflatten(tree, values)))
        count.append(len(out))
        return out
    module = _lower(flat, [jax.ShapeDtypeStruct(np.shape(a), a.dtype) for a in leaves])
    printer = Printer()
    spec = FunctionSpec("f", [("batch", f"x{i}") for i in range(len(leaves))],
                        [("metric", f"y{i}") for i in range(count[-1])])
    lines = level0_function(module, spec, make_locate(None), printer)
    return level0_module([lines], printer)


def compare(function, *arguments, rtol=2e-6, atol=1e-6, like=None):
    """Asserts that level 0 gives what JAX gives (for the function `like`, if that differs)."""
    text = level0(function, *arguments)
    found = reference.Compiled(text, "f")(*jax.tree_util.tree_leaves(arguments))
    wanted = [np.asarray(x) for x in jax.tree_util.tree_leaves(jax.jit(like or function)(*arguments))]
    assert len(found) == len(wanted)
    for a, b in zip(found, wanted):
        if b.dtype == jax.numpy.bfloat16 or np.dtype(b.dtype).kind == "u":
            a = a.view(b.dtype)
        assert a.dtype == b.dtype and a.shape == b.shape
        if b.dtype.kind in "iub":
            np.testing.assert_array_equal(a, b)
        else:
            np.testing.assert_allclose(a.astype(np.float64), b.astype(np.float64), rtol=rtol, atol=atol)
    return text
