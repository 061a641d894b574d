# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""while (scan, fori_loop) and case (cond, switch)."""

from __future__ import annotations

from typing import Callable, Optional, Sequence

from .ir import Block, Value
from .scalar import INDEX
from .walker import Walker, handles


def counted_loop(w: Walker, first: Value, last: Value, init: Sequence[Value],
                 step: Callable[[Value, list[Value]], Sequence[Value]]) -> list[Value]:
    """scf.for over [first, last) with carried tensors."""
    e = w.e
    one = e.index(1)
    number = Value(None, INDEX)
    carried = [Value(v.shape, v.dtype) for v in init]
    block = Block([number, *carried])
    with e.inside(block):
        results = list(step(number, carried))
        if results:
            block.terminator = f"scf.yield {_refs(results)} : {_types(results)}"
    header = f"scf.for {number.ref} = {first.ref} to {last.ref} step {one.ref}"
    if init:
        pairs = ", ".join(f"{c.ref} = {v.ref}" for c, v in zip(carried, init))
        header += f" iter_args({pairs}) -> ({_types(init)})"
    results = [Value(v.shape, v.dtype) for v in init]
    e.emit(header + " {\x01}", *results, regions=[block], located=True)
    return results


def _refs(values) -> str:
    return ", ".join(v.ref for v in values)


def _types(values) -> str:
    return ", ".join(v.type for v in values)


def _returned(block):
    return [o.operation for o in block.operations][-1].operands


@handles("stablehlo.while")
def _while(w: Walker, op):
    condition, body = op.regions[0].blocks[0], op.regions[1].blocks[0]
    init = w.operands(op)
    returned = list(_returned(body))
    counter = _counter(w, condition, body, init)
    # What the body hands on unchanged is not carried.
    fixed = [returned[i] == body.arguments[i] for i in range(len(init))]
    moving = [i for i in range(len(init)) if not fixed[i] and (counter is None or i != counter[0])]

    def spread(carried: Sequence[Value], count: Optional[Value] = None) -> list[Value]:
        result = list(init)
        for i, value in zip(moving, carried):
            result[i] = value
        if counter is not None and count is not None:
            result[counter[0]] = count
        return result

    e = w.e
    if counter is not None:
        index, first, last = counter
        dtype = init[index].dtype

        def step(number: Value, carried):
            cast = e.scalar(f"arith.index_cast {number.ref} : index to {dtype.mlir}", dtype)
            count = e.tensor(f"tensor.from_elements {cast.ref} : tensor<{dtype.mlir}>", (), dtype)
            results = w.run_block(body, spread(carried, count))
            return [results[i] for i in moving]
        results = counted_loop(w, e.index(first), e.index(last), [init[i] for i in moving], step)
        w.set(op, *spread(results, e.splat(max(first, last), (), dtype)))
        return
    if not moving:
        w.refuse(op, "a body that changes nothing")

    before = Block([Value(init[i].shape, init[i].dtype) for i in moving])
    with e.inside(before):
        test = e.scalar_of(w.run_block(condition, spread(before.arguments))[0])
        before.terminator = f"scf.condition({test.ref}) {_refs(before.arguments)} : {_types(before.arguments)}"
    after = Block([Value(init[i].shape, init[i].dtype) for i in moving])
    with e.inside(after):
        results = w.run_block(body, spread(after.arguments))
        results = [results[i] for i in moving]
        after.terminator = f"scf.yield {_refs(results)} : {_types(results)}"
    types = _types(before.arguments)
    pairs = ", ".join(f"{a.ref} = {init[i].ref}" for a, i in zip(before.arguments, moving))
    heading = ", ".join(f"{a.ref}: {a.type}" for a in after.arguments)
    results = [Value(init[i].shape, init[i].dtype) for i in moving]
    e.emit(f"scf.while ({pairs}) : ({types}) -> ({types}) {{\x01}} do {{\n^bb0({heading}):\x01}}",
           *results, regions=[before, after], located=True)
    w.set(op, *spread(results))


def _number(w: Walker, value, scope) -> Optional[int]:
    """A constant, defined in this block or outside it."""
    for view in scope.operations:
        op = view.operation
        if op.name == "stablehlo.constant" and op.results[0] == value:
            attribute = op.attributes["value"]
            return attribute.get_splat_value().value if attribute.is_splat else None
    known = w.values.get(value)
    return None if known is None else known.splat


def _counter(w: Walker, condition, body, init):
    """(argument, first, last) of a loop "while i < last: i += 1", else None."""
    ops = [o.operation for o in condition.operations]
    compares = [o for o in ops if o.name != "stablehlo.constant"]
    if len(compares) != 2 or compares[0].name != "stablehlo.compare" or compares[1].operands[0] != compares[0].results[0]:
        return None
    compare = compares[0]
    if "LT" not in str(compare.attributes["comparison_direction"]) or compare.operands[0] not in list(condition.arguments):
        return None
    index = list(condition.arguments).index(compare.operands[0])
    last = _number(w, compare.operands[1], condition)
    value = init[index]
    if value.shape != () or value.dtype.is_float or value.splat is None or last is None:
        return None
    result = _returned(body)[index]
    for view in body.operations:
        op = view.operation
        if op.name == "stablehlo.add" and op.results[0] == result:
            sides = list(op.operands)
            if body.arguments[index] in sides:
                other = sides[1 - sides.index(body.arguments[index])]
                if _number(w, other, body) == 1:
                    return index, int(value.splat), int(last)
    return None


@handles("stablehlo.case", "stablehlo.if")
def _case(w: Walker, op):
    selector = w.e.scalar_of(w.get(op.operands[0]))
    shapes = [w.type_of(r) for r in op.results]
    branches = [r.blocks[0] for r in op.regions]

    def choose(i: int) -> list[Value]:
        """Branch i or a later one."""
        e = w.e
        if i == len(branches) - 1:
            return w.run_block(branches[i], [])
        if selector.dtype.is_bool:
            test = selector
        else:
            test = e.scalar(f"arith.cmpi eq, {selector.ref}, {e.number(i, selector.dtype).ref} : {selector.type}",
                            type(selector.dtype)("i1"))
        blocks = []
        for emit in (lambda: w.run_block(branches[i], []), lambda: choose(i + 1)):
            block = Block()
            with e.inside(block):
                values = emit()
                block.terminator = f"scf.yield {_refs(values)} : {_types(values)}" if values else ""
            blocks.append(block)
        results = [Value(s, d) for s, d in shapes]
        e.emit(f"scf.if {test.ref} -> ({_types(results)}) {{\x01}} else {{\x01}}", *results,
               regions=blocks, located=True)
        return results
    w.set(op, *choose(0))
