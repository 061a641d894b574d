# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which worker runs a JAX step.

commsched.worker_index() binds a primitive without operands. Where transpile lowers a
function it becomes a custom call, which the walker turns into cs.worker_index; everywhere
else, on one device, it is the constant 0.
"""

from __future__ import annotations

import contextlib
import threading
from typing import Any

import jax
import numpy as np
from jax.extend.core import Primitive
from jax.extend.mlir import ir
from jax.extend.mlir.dialects import stablehlo
from jax.interpreters import mlir

from ..errors import FrontEndError
from . import jax_keys


class _State(threading.local):
    lowering = False  # write the custom call into StableHLO


_state = _State()

worker_index_p = Primitive("cs_worker_index")


@worker_index_p.def_impl
def _evaluate():
    if _state.lowering:
        raise FrontEndError("worker_index() is computed while the step is traced, when there are no workers yet: "
                            "keep it out of jax.ensure_compile_time_eval and of other code that runs on real values")
    return jax.numpy.asarray(0, np.int32)


@worker_index_p.def_abstract_eval
def _shape():
    return jax.core.ShapedArray((), np.dtype(np.int32))


def _lower(context):
    type_ = ir.RankedTensorType.get([], ir.IntegerType.get_signless(32))
    if not _state.lowering:
        zero = ir.DenseElementsAttr.get(np.zeros((), np.int32), type=type_.element_type)
        return [stablehlo.ConstantOp(zero).result]
    return stablehlo.CustomCallOp([type_], [], call_target_name=ir.StringAttr.get("cs.worker_index")).results


mlir.register_lowering(worker_index_p, _lower)


def worker_index() -> jax.Array:
    """The index of the worker that computes the step, 0 to workers - 1, an int32 scalar.

    Worker i gets the i-th part of every global batch. On one device, outside of what transpile makes,
    it is 0. What depends on it may reach parameters and integer state through gradients only.
    """
    return worker_index_p.bind()


def worker_key(keys: Any) -> Any:
    """Random keys of the worker's own: jax.random.fold_in(key, worker_index()) of a key, or of every key in a pytree.

    keys: jax.random.key, arrays of them, or uint32[2] as jax.random.PRNGKey makes them. Anything else in the pytree is
    refused: counts, such as those of a stream of nnx.Rngs, stay apart.
    """
    index = worker_index()

    def own(key):
        if jax_keys.is_key(key):
            fold = jax.random.fold_in
            for _ in range(key.ndim):
                fold = jax.vmap(fold, (0, None))
            return fold(key, index)
        shape, dtype = jax_keys.type_of(key)
        if dtype != np.uint32 or len(shape) != 1:
            raise FrontEndError(f"worker_key must be given random keys, got: {dtype}{list(shape)}")
        return jax.random.fold_in(key, index)
    return jax.tree_util.tree_map(own, keys)


@contextlib.contextmanager
def numbering():
    """Lets the index of the worker reach StableHLO."""
    saved, _state.lowering = _state.lowering, True
    try:
        yield
    finally:
        _state.lowering = saved
