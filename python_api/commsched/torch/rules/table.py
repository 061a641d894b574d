# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The table of rules, and what a rule is told of its operation.

A rule gets the Operation and the arguments as ATen names them, tensors as JAX arrays, and returns arrays of the shapes
that PyTorch says; their element types are seen to after it. Numbers that are only known in a run (a rate) are arrays
without dimensions.
"""

from __future__ import annotations

from typing import Any, Callable, Optional, Sequence

import jax
import jax.numpy as jnp
import torch

from ...frontend.rules import NoRule, registering

RULES: dict[str, Callable] = {}
rule = registering(RULES)  # for all forms of operations ("aten.add"), or for one ("aten.pow.Scalar")

DTYPES = {torch.float64: jnp.float64, torch.float32: jnp.float32, torch.float16: jnp.float16, torch.bfloat16: jnp.bfloat16,
          torch.complex128: jnp.complex128, torch.complex64: jnp.complex64, torch.int64: jnp.int64, torch.int32: jnp.int32,
          torch.int8: jnp.int8, torch.uint8: jnp.uint8, torch.bool: jnp.bool_}


def rule_of(target: Any) -> Optional[Callable]:
    """That of an OpOverload."""
    packet, _, overload = str(target).rpartition(".")
    return RULES.get(f"{packet}.{overload}") or RULES.get(packet)


def dtype_of(dtype: torch.dtype) -> Any:
    if dtype not in DTYPES:
        raise NoRule(f"element type {str(dtype).removeprefix('torch.')}")
    return DTYPES[dtype]


def wide(dtype: Any) -> Any:
    """What PyTorch computes elements of a type in."""
    return jnp.float32 if dtype in (jnp.bfloat16, jnp.float16) else dtype


class Operation:
    """One operation of a graph. out: its result as PyTorch describes it, a tensor or a tuple of them. inputs: its
    arguments in the same way. random: keys to draw from."""

    def __init__(self, name: str, out: Any, inputs: Sequence[Any], random: "Optional[Callable[[], jax.Array]]" = None):
        self.name, self.out, self.inputs, self._random = name, out, inputs, random

    @property
    def first(self) -> torch.Tensor:
        return self.out[0] if isinstance(self.out, (tuple, list)) else self.out

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(int(n) for n in self.first.shape)

    @property
    def dtype(self) -> Any:
        return dtype_of(self.first.dtype)

    @property
    def wide(self) -> Any:
        """The type that the result is computed in."""
        return wide(self.dtype)

    def common(self) -> Any:
        """The type in which operands are compared."""
        found: list[Any] = [1.0 if isinstance(x, torch.SymFloat) else 1 if isinstance(x, torch.SymInt) else x for x in self.inputs
                 if isinstance(x, (torch.Tensor, int, float, bool, torch.SymFloat, torch.SymInt))]
        return dtype_of(torch.result_type(*found[:2])) if len(found) > 1 else dtype_of(found[0].dtype)

    def key(self) -> jax.Array:
        """A random key that nothing else draws from."""
        if self._random is None:
            raise NoRule("no random keys here")
        return self._random()


def arrays(dtype: Any, *values: Any) -> list[jax.Array]:
    """Operands in one type. Raises NoRule if that were a part of complex numbers."""
    if not jnp.issubdtype(dtype, jnp.complexfloating) and any(map(jnp.iscomplexobj, values)):
        raise NoRule("complex numbers")
    return [jnp.asarray(v).astype(dtype) for v in values]


def axis(dim: int, rank: int) -> int:
    return dim + max(rank, 1) if dim < 0 else dim


def axes(dims: Any, rank: int) -> tuple[int, ...]:
    """None and nothing mean all."""
    if dims is None or (not isinstance(dims, int) and len(dims) == 0):
        return tuple(range(rank))
    dims = [dims] if isinstance(dims, int) else dims
    return tuple(sorted(axis(d, rank) for d in dims)) if rank else ()
