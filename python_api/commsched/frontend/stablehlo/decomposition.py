# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""CHLO operations without a form of their own here, in StableHLO: XLA's own decompositions."""

from __future__ import annotations

import functools

from .walker import Walker


@functools.cache
def _registered() -> bool:
    from jax.extend.mlir.dialects import stablehlo
    register = getattr(stablehlo, "register_stablehlo_passes", None)
    if register is not None:
        register()
    return register is not None


def decompose(w: Walker, op) -> bool:
    """Emits what a CHLO operation is made of; False if nobody knows."""
    from jax.extend.mlir import ir, passmanager
    from jax.extend.mlir.dialects import func

    if not op.name.startswith("chlo.") or op.regions or not _registered():
        return False
    with op.context, ir.Location.unknown():
        module = ir.Module.create()
        with ir.InsertionPoint(module.body):
            types = [o.type for o in op.operands], [r.type for r in op.results]
            function = func.FuncOp("decomposed", ir.FunctionType.get(*types))
        block = function.add_entry_block()
        point = ir.InsertionPoint(block)
        copy = op.clone(point)
        for i, argument in enumerate(block.arguments):
            copy.operands[i] = argument
        func.ReturnOp(list(copy.results), ip=point)
        try:
            passmanager.PassManager.parse("builtin.module(func.func(chlo-legalize-to-stablehlo))").run(module.operation)
        except ir.MLIRError:
            return False
        if any(inner.operation.name.startswith("chlo.") for inner in block.operations):
            return False
        outer, w.values = w.values, {}
        try:
            results = w.run_block(block, [outer[o] for o in op.operands])
        finally:
            w.values = outer
    w.set(op, *results)
    return True
