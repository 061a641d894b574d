# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a step returns: new values of what is carried from step to step, and metrics."""

from __future__ import annotations

from typing import Any, Mapping, Sequence

import jax
import numpy as np

from ..errors import FrontEndError
from . import jax_keys
from .jax_arguments import NoNewValue
from .jax_constants import kept, without
from .jax_leaves import Leaves, path_name


class Match:
    """Which output of a step is the new value of which carried argument."""

    def __init__(self, names: Sequence[str], carried: Mapping[int, Leaves], slots: Mapping[int, list[str]]):
        self.names, self.carried, self.slots = names, carried, slots
        self.results: list[tuple[str, str]] = []
        self.scalars: list[str] = []
        self.alike: "list[tuple[list[str], list[str]]]" = []

    def __call__(self, output) -> list:
        # A step may return its parameters alone, and these may be a tuple or a list themselves.
        output = kept(output)
        alone = jax.tree_util.tree_structure(output) == self.carried[self.params].tree
        outputs = list(output) if isinstance(output, (tuple, list)) and not alone else [output]
        free, leaves, matched, self.results, self.unmatched = list(range(len(outputs))), [], [], [], []
        for position, argument in self.carried.items():
            if position in self.constant:
                continue
            found, reason = None, ""
            for i in free:
                flat, tree = jax.tree_util.tree_flatten(outputs[i])
                if tree != argument.tree:
                    if not reason and without(outputs[i]) == argument.structure:
                        reason = (f"output {i} has its structure, but what is no array in it must be what it was")
                    elif not reason and len(argument.all_names) > 1 and _names(outputs[i]) == argument.all_names:
                        reason = f"output {i} has its leaves, but must match {_short(argument.tree)}, got: {_short(tree)}"
                    continue
                wrong = [(n, o, t) for n, o, t in zip(argument.all_names, flat, argument.types) if jax_keys.type_of(o) != t]
                if not wrong:
                    found = i
                    break
                n, o, (shape, dtype) = wrong[0]
                if not reason and (tree.num_leaves > 1 or shape):
                    reason = (f"output {i} has its structure, but '{n or self.names[position]}' must match {dtype}{list(shape)}, got: "
                              f"{_described(o)}")
            if found is None:
                hint = "" if self.is_params(position) else f"; if '{self.names[position]}' is constant, name its position in constant="
                if position in self.changed and not reason:
                    reason, hint = "the step changes it in place, so it must be among its outputs", ""
                if reason or self.is_params(position):
                    raise NoNewValue(position, f"no output of the step is the new value of argument "
                                               f"'{self.names[position]}'" + (f": {reason}" if reason else ""), hint if reason else "")
                self.unmatched.append(position)  # constant over the run
                continue
            free.remove(found)
            matched.append(position)
            if argument.names == [""] and argument.arrays[0].ndim == 0:
                self.scalars += self.slots[position]
            leaves += [jax_keys.unwrapped(x) for x in argument.full(jax.tree_util.tree_leaves(outputs[found]))]
            self.results += [("updates", n) for n in self.slots[position]]
        self.alike = [(self.slots[p], self.slots[u]) for u in self.unmatched for p in matched if self.slots[p] and self._alike(p, u)]
        rest = [outputs[i] for i in free]
        try:
            values, names = metrics(rest[0] if len(rest) == 1 else tuple(rest) if rest else ())
        except FrontEndError as error:
            raise FrontEndError(f"{error}{self._almost(outputs, free)}") from error
        self.results += [("metric", n) for n in names]
        return leaves + values

    def _almost(self, outputs, free) -> str:
        """Which output that is no metric may be meant as new state, and what keeps it from that."""
        for position in self.unmatched:
            wanted = set(self.carried[position].all_names)
            for i in free:
                found = set(_names(outputs[i]))
                other = sorted(found ^ wanted)
                if other and found & wanted - {""}:
                    return (f"; if output {i} is meant as the new value of argument '{self.names[position]}', it must have its "
                            f"structure, but '{other[0]}' is in {'the output' if other[0] in found else 'the argument'} only")
        return ""

    def _alike(self, position: int, other: int) -> bool:
        """Whether what is the new value of one carried argument might be that of the other."""
        one, two = self.carried[position], self.carried[other]
        return one.tree == two.tree and one.types == two.types

    def is_params(self, position):
        return position == self.params

    params = 0
    constant: Sequence[int] = ()
    changed: "set[int]" = set()  # arguments of which an object was changed in place


def _names(tree: Any) -> list[str]:
    return [path_name(path) for path, _ in jax.tree_util.tree_flatten_with_path(tree)[0]]


def _short(tree: Any) -> str:
    text = " ".join(str(tree).removeprefix("PyTreeDef(").removesuffix(")").split())
    return text if len(text) <= 120 else f"{text[:117]}..."


def _described(value) -> str:
    shape, dtype = jax_keys.type_of(value)
    return f"{dtype}{list(shape)}"


def metrics(tree) -> tuple[list, list[str]]:
    """Values and names of a pytree of floating-point scalars."""
    pairs, _ = jax.tree_util.tree_flatten_with_path(tree)
    values, names = [], []
    for path, leaf in pairs:
        name = path_name(path) or "loss"
        if np.shape(leaf) != () or jax_keys.is_key(leaf):
            raise FrontEndError(f"output '{name}' matches no argument of the step, so it must be a scalar metric, "
                                f"got: {_described(leaf)}")
        dtype = jax_keys.type_of(leaf)[1]
        if not jax.numpy.issubdtype(dtype, jax.numpy.floating):  # most likely a count, of which a mean says nothing
            raise FrontEndError(f"metric '{name}' must be floating point, as metrics are averaged over the workers, got: "
                                f"{dtype}; return a mean over the batch, or cast it if the mean of what each worker has is meant")
        values.append(jax.numpy.asarray(leaf))
        name = f"metric.{name}" if name[0].isdigit() else name
        while name in names:
            name += "_"
        names.append(name)
    if names == ["metric.0"]:
        names = ["loss"]
    return values, names
