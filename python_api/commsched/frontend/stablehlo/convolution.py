# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Convolutions, forward and both gradients: one linalg.generic each."""

from __future__ import annotations

from .ir import Value
from .scalar import ADD, MULTIPLY, convert
from .shape import dilate
from .walker import Walker, handles, numbers


@handles("stablehlo.convolution")
def _convolution(w: Walker, op):
    from jax.extend.mlir.dialects import stablehlo
    d = stablehlo.ConvDimensionNumbers(op.attributes["dimension_numbers"])
    image, kernel = w.operands(op)
    shape, dtype = w.type_of(op.results[0])
    spatial = len(d.input_spatial_dimensions)
    strides = _attribute(op, "window_strides", [1] * spatial)
    padding = _attribute(op, "padding", [0] * 2 * spatial)
    lhs_dilation = _attribute(op, "lhs_dilation", [1] * spatial)
    dilation = _attribute(op, "rhs_dilation", [1] * spatial)
    groups = op.attributes["feature_group_count"].value
    batch_groups = op.attributes["batch_group_count"].value
    if any(_attribute(op, "window_reversal", [0] * spatial)):
        w.refuse(op, "window reversal")

    zero = w.e.number(0, image.dtype)
    low, high, by = [0] * image.rank, [0] * image.rank, [1] * image.rank
    for i, dim in enumerate(d.input_spatial_dimensions):
        low[dim], high[dim], by[dim] = padding[2 * i], padding[2 * i + 1], lhs_dilation[i]
    image = _widened(w, image, by, low, high, zero)

    # Loops: the result's dimensions (the group before its features), the window, the input features.
    g = max(groups, batch_groups)
    loops = Loops()
    result_shape, result_map = [], []
    for i, n in enumerate(shape):
        if g > 1 and i == d.output_feature_dimension:
            result_shape += [g, n // g]
            result_map += [loops.new("p", "group"), loops.new("p", i)]
        else:
            result_shape.append(n)
            result_map.append(loops.new("p", i))
    window = [loops.new("r", f"window {i}") for i in range(spatial)]
    feature = loops.new("r", "feature")

    image_shape: list[int] = []
    image_map: list[str] = []
    for i, n in enumerate(image.shape):
        if i == d.input_batch_dimension:
            _split(image_shape, image_map, n, batch_groups, loops, loops.of(d.output_batch_dimension))
        elif i == d.input_feature_dimension:
            _split(image_shape, image_map, n, groups, loops, feature)
        else:
            s = list(d.input_spatial_dimensions).index(i)
            out = loops.of(d.output_spatial_dimensions[s])
            image_shape.append(n)
            image_map.append(f"{_times(out, strides[s])} + {_times(window[s], dilation[s])}")
    kernel_shape: list[int] = []
    kernel_map: list[str] = []
    for i, n in enumerate(kernel.shape):
        if i == d.kernel_output_feature_dimension:
            _split(kernel_shape, kernel_map, n, g, loops, loops.of(d.output_feature_dimension))
        elif i == d.kernel_input_feature_dimension:
            kernel_shape.append(n)
            kernel_map.append(feature)
        else:
            kernel_shape.append(n)
            kernel_map.append(window[list(d.kernel_spatial_dimensions).index(i)])
    if g == 1 and kernel.view is not None and kernel.view[0].rank == kernel.rank:
        source, index = kernel.view
        kernel, kernel_map = source, [kernel_map[i] for i in index]
    else:
        kernel = w.e.reshape(kernel, kernel_shape)
    image = w.e.reshape(image, image_shape)

    def write(body, ins, outs):
        x = convert(body, ins[0], image.dtype, dtype)
        y = convert(body, ins[1], kernel.dtype, dtype)
        product = MULTIPLY(body, [x, y], [dtype] * 2, dtype, None)
        return [ADD(body, [outs[0], product], [dtype] * 2, dtype, None)]
    init = w.e.filled(w.e.number(0, dtype), result_shape)
    result = w.e.generic([(image, image_map), (kernel, kernel_map)], [(init, result_map)], loops.kinds, write)[0]
    w.set(op, w.e.reshape(result, shape))


class Loops:
    """The loops of a generic operation under construction, by meaning."""

    def __init__(self):
        self.kinds: list[str] = []
        self.names: dict = {}

    def new(self, kind: str, meaning) -> str:
        self.names[meaning] = f"d{len(self.kinds)}"
        self.kinds.append(kind)
        return self.names[meaning]

    def of(self, meaning) -> str:
        return self.names[meaning]


def _split(shape, map_, n, groups, loops, inner):
    if groups > 1:
        shape += [groups, n // groups]
        map_ += [loops.of("group"), inner]
    else:
        shape.append(n)
        map_.append(inner)


def _times(loop: str, factor: int) -> str:
    return loop if factor == 1 else f"{loop} * {factor}"


def _attribute(op, name, default):
    if name not in op.attributes:
        return default
    attribute = op.attributes[name]
    if name == "padding":
        import numpy as np
        if attribute.is_splat:
            return [attribute.get_splat_value().value] * len(attribute)
        return [int(x) for x in np.array(attribute).reshape(-1)]
    return numbers(attribute)


def _widened(w: Walker, image: Value, by, low, high, zero) -> Value:
    """The image with zeros between and around its elements."""
    if all(x == 1 for x in by):
        return w.e.pad(image, low, high, zero)
    if all(x >= 0 for x in [*low, *high]):
        shape = [(n - 1) * b + 1 + a + c for n, b, a, c in zip(image.shape, by, low, high)]
        return w.e.insert_slice(image, w.e.filled(zero, shape), low, image.shape, by)
    return w.e.pad(dilate(w, image, by, zero), low, high, zero)
