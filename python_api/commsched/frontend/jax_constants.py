# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What is no array in modules of Equinox: activations, flags, rates, names. As in equinox.filter_jit, these are
constants of the step, and must come back as they went in."""

from __future__ import annotations

import dataclasses
import sys
from typing import Any

import jax
import numpy as np

_ARRAYS = (jax.Array, np.ndarray, np.generic, jax.ShapeDtypeStruct)


@dataclasses.dataclass(frozen=True)
class Constant:
    """A node without leaves, so that pytrees with other constants have another structure."""

    value: Any


jax.tree_util.register_pytree_node(Constant, lambda c: ((), (c.value,)), lambda value, _: Constant(*value))


def kept(tree: Any) -> Any:
    """The tree with all in its modules of Equinox that is no array as a Constant."""
    equinox = sys.modules.get("equinox")
    if equinox is None:
        return tree

    def is_module(value):
        return isinstance(value, equinox.Module)

    def in_module(module):
        return jax.tree_util.tree_map(lambda leaf: leaf if isinstance(leaf, _ARRAYS) else Constant(leaf), module)
    return jax.tree_util.tree_map(lambda x: in_module(x) if is_module(x) else x, tree, is_leaf=is_module)


def given_back(tree: Any) -> Any:
    """The tree that kept() was given."""
    def is_constant(value):
        return isinstance(value, Constant)
    return jax.tree_util.tree_map(lambda x: x.value if is_constant(x) else x, tree, is_leaf=is_constant)


def without(tree: Any) -> Any:
    """The structure of a tree of kept(), whatever its constants are."""
    return jax.tree_util.tree_structure(jax.tree_util.tree_map(
        lambda x: None if isinstance(x, Constant) else x, tree, is_leaf=lambda x: isinstance(x, Constant)))
