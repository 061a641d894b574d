# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The table of rules, and what a rule is told of its operation.

A rule gets the Operation and its operands by the names that Paddle gives them: JAX arrays, or NumPy arrays where the value
is known already (shapes, axes, constants), or lists of them. It returns one value, or as many as the operation has
results, in order. An operation NAME_grad without a rule is the pullback of NAME's rule, if it has the operands of that.
"""

from __future__ import annotations

from typing import Any, Callable, Mapping, Optional, Sequence

import jax
import jax.numpy as jnp
import numpy as np

from ...frontend.rules import NoRule, registering

RULES: dict[str, Callable] = {}
rule = registering(RULES)  # of the dialect pd_op ("add")


class Operation:
    """One operation. shapes, dtypes: of its results as Paddle says them, None of those that are left out; names: of the
    results; random: keys to draw from."""

    def __init__(self, name: str, attributes: Mapping[str, Any], names: Sequence[str], shapes: Sequence[Optional[tuple]],
                 dtypes: Sequence[Any], random: "Optional[Callable[[], jax.Array]]" = None):
        self.name, self.attributes, self.names, self.shapes, self.dtypes, self._random = name, attributes, names, shapes, dtypes, random

    def __getitem__(self, attribute: str) -> Any:
        return self.attributes[attribute]

    def get(self, attribute: str, default: Any = None) -> Any:
        return self.attributes.get(attribute, default)

    @property
    def dtype(self) -> Any:
        return next(d for d in self.dtypes if d is not None)

    def key(self) -> jax.Array:
        """A random key that nothing else draws from."""
        if self._random is None:
            raise NoRule("no random keys here")
        return self._random()


def known(value: Any, what: str = "an operand") -> np.ndarray:
    """The value of what must be known before the step runs."""
    if isinstance(value, (list, tuple)):
        return np.concatenate([known(v, what).reshape(-1) for v in value]) if len(value) else np.zeros(0, np.int64)
    if not isinstance(value, np.ndarray):
        raise NoRule(f"{what} that is computed in the step")
    return value


def ints(value: Any, what: str = "an operand") -> list[int]:
    return [int(n) for n in known(value, what).reshape(-1)]


def axis(dim: int, rank: int) -> int:
    return dim + max(rank, 1) if dim < 0 else dim


def axes(dims: Any, rank: int) -> tuple[int, ...]:
    """None, and none, mean all."""
    dims = [] if dims is None else ints(dims, "axes") if not isinstance(dims, int) else [dims]
    return tuple(sorted(axis(d, rank) for d in dims)) if dims else tuple(range(rank))


def pullback(op: Operation, operands: Mapping[str, Any]) -> Any:
    """What the gradient operation of a forward rule is."""
    forward = RULES.get(op.name.removesuffix("_grad"))
    wanted = [n.removesuffix("_grad") for n, d in zip(op.names, op.shapes) if d is not None]
    cotangent = operands.get("out_grad")
    if forward is None or cotangent is None or any(n not in operands or operands[n] is None for n in wanted):
        return None
    others = {n: v for n, v in operands.items() if n not in (*wanted, "out_grad", "out")}
    own = Operation(op.name.removesuffix("_grad"), op.attributes, ["out"], [None], [getattr(cotangent, "dtype", None)])

    def of(*given):
        value = forward(own, **others, **dict(zip(wanted, given)))
        return value[0] if isinstance(value, tuple) else value
    # Paddle has gradients of integers and booleans too, which are rounded to these; JAX has none, so they are made of floats.
    points = jax.tree_util.tree_map(lambda p: p if jnp.issubdtype(p.dtype, jnp.inexact) else jnp.asarray(p, jnp.float64), [operands[n] for n in wanted])
    out, pull = jax.vjp(of, *points)
    if isinstance(out, jax.Array):
        cotangent = cotangent.reshape(out.shape).astype(out.dtype)
    found = iter(pull(cotangent))
    return tuple(next(found) if d is not None else None for d in op.shapes)
