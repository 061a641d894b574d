# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""reduce, reduce_window and select_and_scatter (the gradient of max-pooling)."""

from __future__ import annotations

import math

from .convolution import _attribute, _times
from .ir import DType, Value
from .scalar import INDEX, Body
from .shape import dilate
from .walker import Walker, handles, numbers


@handles("stablehlo.reduce")
def _reduce(w: Walker, op):
    operands = w.operands(op)
    inputs, inits = operands[: len(operands) // 2], operands[len(operands) // 2:]
    reduced = numbers(op.attributes["dimensions"])
    rank = inputs[0].rank
    kept = [f"d{i}" for i in range(rank) if i not in reduced]
    shape = w.type_of(op.results[0])[0]
    if len(inputs) == 1 and all(inputs[0].shape[i] == 1 for i in reduced) and _neutral(w, op, inits[0]):
        w.set(op, w.e.reshape(inputs[0], shape))
        return
    outs = [(w.e.filled(w.e.scalar_of(init), shape), kept) for init in inits]
    kinds = ["r" if i in reduced else "p" for i in range(rank)]
    w.set(op, *w.e.generic([w.e.mapped(v, permutation_only=True) for v in inputs], outs, kinds,
                           lambda b, i, o: w.scalar_region(op.regions[0], b, [*o, *i])))


def _neutral(w: Walker, op, init: Value) -> bool:
    """Whether reducing one element gives this element."""
    kind, value = w.region_kind(op.regions[0]), init.splat
    if value is None:
        return False
    return (kind == "stablehlo.add" and value == 0 or kind == "stablehlo.multiply" and value == 1
            or kind == "stablehlo.maximum" and value == _extreme(init.dtype, True)
            or kind == "stablehlo.minimum" and value == _extreme(init.dtype, False)
            or kind == "stablehlo.or" and value == 0 or kind == "stablehlo.and" and init.dtype.is_bool and bool(value))


def _window(op, rank):
    size = numbers(op.attributes["window_dimensions"])
    return (size, _attribute(op, "window_strides", [1] * rank), _attribute(op, "padding", [0] * 2 * rank),
            _attribute(op, "base_dilations", [1] * rank), _attribute(op, "window_dilations", [1] * rank))


def _window_maps(size, strides, dilations):
    """(input map, window map, kinds): the window's loops follow the result's."""
    rank, loops = len(size), len(size)
    image, window = [], []
    for i in range(rank):
        index = _times(f"d{i}", strides[i])
        if size[i] > 1:
            window.append(f"d{loops}")
            index += f" + {_times(window[-1], dilations[i])}"
            loops += 1
        image.append(index)
    return image, window, ["p"] * rank + ["r"] * len(window)


@handles("stablehlo.reduce_window")
def _reduce_window(w: Walker, op):
    operands = w.operands(op)
    inputs, inits = operands[: len(operands) // 2], operands[len(operands) // 2:]
    rank = inputs[0].rank
    size, strides, padding, base, dilations = _window(op, rank)
    shape = w.type_of(op.results[0])[0]
    image, window, kinds = _window_maps(size, strides, dilations)
    ins, outs = [], []
    for value, init in zip(inputs, inits):
        number = w.e.scalar_of(init)
        if any(x != 1 for x in base):
            value = dilate(w, value, base, number)
        ins.append((w.e.pad(value, padding[0::2], padding[1::2], number), image))
        outs.append((w.e.filled(number, shape), [f"d{i}" for i in range(rank)]))
    # Only its shape matters: it gives the window's loops their sizes.
    extent = (w.e.empty([s for s in size if s > 1], inputs[0].dtype), window)
    w.set(op, *w.e.generic([*ins, extent], outs, kinds,
                           lambda b, i, o: w.scalar_region(op.regions[0], b, [*o, *i[:-1]])))


@handles("stablehlo.select_and_scatter")
def _select_and_scatter(w: Walker, op):
    operand, source, init = w.operands(op)
    rank = operand.rank
    size, strides, padding, _, _ = _window(op, rank)
    low, high = padding[0::2], padding[1::2]
    select = op.regions[0]
    direction = [str(o.operation.attributes["comparison_direction"]).split()[-1].rstrip(">")
                 for o in select.blocks[0].operations if o.operation.name == "stablehlo.compare"]
    if direction not in (["GE"], ["GT"], ["LE"], ["LT"]):
        w.refuse(op, "this selection")
    worst = w.e.number(_extreme(operand.dtype, direction[0][0] == "G"), operand.dtype)
    chosen = _chosen(w, op, w.e.pad(operand, low, high, worst), source.shape, size, strides, worst)
    initial = w.e.scalar_of(init)
    wide = [i for i in range(rank) if size[i] > 1]
    if all(strides[i] == size[i] for i in range(rank)):
        result = _spread(w, op, chosen, source, initial, size, wide)
        result = w.e.pad(result, [-x for x in low],
                         [n + a - r for n, a, r in zip(operand.shape, low, result.shape)], initial)
    else:
        result = _gathered(w, op, chosen, source, initial, operand.shape, (size, strides, low), wide)
    w.set(op, result)


def _extreme(dtype: DType, least: bool):
    if dtype.is_float:
        return -math.inf if least else math.inf
    if dtype.unsigned or dtype.is_bool:
        return 0 if least else (1 << dtype.width) - 1
    return -(1 << (dtype.width - 1)) if least else (1 << (dtype.width - 1)) - 1


def _place(body: Body, loops, size, wide) -> str:
    """The row-major position in the window of the wide dimensions' loops, as i32."""
    result = None
    for i, loop in zip(wide, loops):
        index = body.op(f"linalg.index {loop} : index")
        if result is None:
            result = index
        else:
            scaled = body.binary("arith.muli", result, body.constant(size[i], INDEX), INDEX)
            result = body.binary("arith.addi", scaled, index, INDEX)
    if result is None:
        return body.constant(0, DType("i32"))
    return body.op(f"arith.index_cast {result} : index to i32")


def _chosen(w: Walker, op, image: Value, shape, size, strides, worst) -> Value:
    """For every window the position of the element that the selection keeps."""
    i32 = DType("i32")
    rank = image.rank
    image_map, window, kinds = _window_maps(size, strides, [1] * rank)
    wide = [i for i in range(rank) if size[i] > 1]
    own = [f"d{i}" for i in range(rank)]
    extent = (w.e.empty([size[i] for i in wide], image.dtype), window)
    outs = [(w.e.filled(worst, shape), own), (w.e.filled(w.e.number(-1, i32), shape), own)]

    def write(body, ins, out):
        keep = w.scalar_region(op.regions[0], body, [out[0], ins[0]])[0]
        seen = body.compare("sge", out[1], body.constant(0, i32), i32)
        keep = body.binary("arith.andi", keep, seen, DType("i1"))
        place = _place(body, [rank + i for i in range(len(wide))], size, wide)
        return [body.select(keep, out[0], ins[0], image.dtype), body.select(keep, out[1], place, i32)]
    return w.e.generic([(image, image_map), extent], outs, kinds, write)[1]


def _spread(w: Walker, op, chosen: Value, source: Value, initial: Value, size, wide) -> Value:
    """Windows side by side: every element belongs to one window."""
    shape: list[int] = []
    own: list[str] = []
    inner: list[int] = []
    for i, n in enumerate(source.shape):
        own.append(f"d{len(shape)}")
        shape.append(n)
        if i in wide:
            inner.append(len(shape))
            shape.append(size[i])

    def write(body, ins):
        hit = body.compare("eq", ins[0], _place(body, inner, size, wide), DType("i32"))
        added = w.scalar_region(op.regions[1], body, [initial.ref, ins[1]])[0]
        return body.select(hit, added, initial.ref, source.dtype)
    result = w.e.parallel([(chosen, own), (source, own)], shape, source.dtype, write)
    return w.e.reshape(result, [n * size[i] for i, n in enumerate(source.shape)])


def _gathered(w: Walker, op, chosen: Value, source: Value, initial: Value, shape, window, wide) -> Value:
    """Overlapping windows: every element sums over the windows that it is in."""
    size, strides, low = window
    rank = len(shape)
    out = (w.e.filled(initial, shape), [f"d{i}" for i in range(rank)])
    extent = (w.e.empty([size[i] for i in wide], source.dtype), [f"d{rank + i}" for i in range(len(wide))])
    i1 = DType("i1")

    def write(body, ins, outs):
        zero = body.constant(0, INDEX)
        inside, index = None, []
        for i in range(rank):
            at = body.op(f"linalg.index {i} : index")
            if size[i] == strides[i] == 1 and low[i] == 0 and source.shape[i] == shape[i]:
                index.append(at)
                continue
            at = body.binary("arith.addi", at, body.constant(low[i], INDEX), INDEX)
            if i in wide:
                inner = body.op(f"linalg.index {rank + wide.index(i)} : index")
                at = body.binary("arith.subi", at, inner, INDEX)
            stride = body.constant(strides[i], INDEX)
            whole = body.compare("eq", body.binary("arith.remsi", at, stride, INDEX), zero, INDEX)
            number = body.binary("arith.divsi", at, stride, INDEX)
            last = body.constant(source.shape[i] - 1, INDEX)
            for test in (body.compare("sge", at, zero, INDEX), body.compare("sle", number, last, INDEX), whole):
                inside = test if inside is None else body.binary("arith.andi", inside, test, i1)
            number = body.binary("arith.maxsi", number, zero, INDEX)
            index.append(body.binary("arith.minsi", number, last, INDEX))
        place = _place(body, [rank + i for i in range(len(wide))], size, wide)
        hit = body.compare("eq", body.extract(chosen, index), place, DType("i32"))
        if inside is not None:
            hit = body.binary("arith.andi", hit, inside, i1)
        added = w.scalar_region(op.regions[1], body, [outs[0], body.extract(source, index)])[0]
        return [body.select(hit, added, outs[0], source.dtype)]
    return w.e.generic([extent], [out], ["p"] * rank + ["r"] * len(wide), write)[0]
