# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products of matrices, convolutions and pooling."""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from .table import NoRule, Operation, ints, rule


@rule("matmul")
def _matmul(op: Operation, x, y):
    x = jnp.swapaxes(x, -1, -2) if op["transpose_x"] and x.ndim > 1 else x
    y = jnp.swapaxes(y, -1, -2) if op["transpose_y"] and y.ndim > 1 else y
    return jnp.matmul(x, y)


@rule("bmm", "mm", "mv")
def _bmm(op: Operation, x, y=None, mat2=None, vec=None):
    return jnp.matmul(x, next(v for v in (y, mat2, vec) if v is not None))


@rule("dot")
def _dot(op: Operation, x, y):
    return jnp.sum(x * y, -1)


@rule("addmm")
def _addmm(op: Operation, input, x, y):
    return op["beta"] * input + op["alpha"] * jnp.matmul(x, y)


@rule("einsum")
def _einsum(op: Operation, x):
    """Of the shapes that its gradient reads, the operands themselves."""
    found = {"out": jnp.einsum(op["equation"], *x), "inner_cache": [None] * len(x)}
    return tuple(found.get(n, list(x)) for n in op.names)


@rule("einsum_grad")
def _einsum_grad(op: Operation, x_shape, inner_cache, out_grad):
    return (list(jax.vjp(lambda *x: jnp.einsum(op["equation"], *x), *x_shape)[1](out_grad)),)


def _windows(op: Operation, sizes, kernel, strides, dilations):
    """Paddings before and after, of each dimension."""
    algorithm, given = op["padding_algorithm"], op["paddings"]
    if algorithm == "VALID":
        return [(0, 0)] * len(sizes)
    if algorithm == "SAME":
        found = []
        for n, k, s, d in zip(sizes, kernel, strides, dilations):
            total = max((-(-n // s) - 1) * s + (k - 1) * d + 1 - n, 0)
            found.append((total // 2, total - total // 2))
        return found
    if len(given) == len(sizes):
        return [(p, p) for p in given]
    return [(given[2 * i], given[2 * i + 1]) for i in range(len(sizes))]


def _convolution(op: Operation, input, filter, **_):
    last = op["data_format"] in ("NHWC", "NDHWC")
    spatial = "DHW"[3 - (input.ndim - 2):]
    sizes = input.shape[1:-1] if last else input.shape[2:]
    dilations = [1] * len(sizes) if op["padding_algorithm"] == "SAME" else op["dilations"]  # as Paddle has it
    layout = f"N{spatial}C" if last else f"NC{spatial}"
    return lax.conv_general_dilated(
        input, filter, op["strides"], _windows(op, sizes, filter.shape[2:], op["strides"], dilations), rhs_dilation=dilations,
        dimension_numbers=(layout, f"OI{spatial}", layout), feature_group_count=op["groups"])


for _name in ("conv2d", "depthwise_conv2d", "conv3d"):
    rule(_name)(_convolution)


@rule("conv2d_transpose")
def _conv2d_transpose(op: Operation, x, filter, output_size=None):
    """The gradient of a convolution with respect to its input."""
    if op["data_format"] != "NCHW" or op["padding_algorithm"] != "EXPLICIT" or output_size is not None and ints(output_size):
        raise NoRule("another layout than NCHW, or sizes that are not of the paddings")
    paddings = _windows(op, x.shape[2:], filter.shape[2:], op["strides"], op["dilations"])
    more = op["output_padding"] or [0, 0]
    sizes = [(n - 1) * s - low - high + d * (k - 1) + 1 + m for n, s, (low, high), d, k, m in
             zip(x.shape[2:], op["strides"], paddings, op["dilations"], filter.shape[2:], more)]
    of = jax.ShapeDtypeStruct((x.shape[0], filter.shape[1] * op["groups"], *sizes), x.dtype)

    def forward(y):
        return lax.conv_general_dilated(y, filter, op["strides"], paddings, rhs_dilation=op["dilations"],
                                        dimension_numbers=("NCHW", "OIHW", "NCHW"), feature_group_count=op["groups"])
    return jax.linear_transpose(forward, of)(x)[0]


# ---- pooling ----------------------------------------------------------------------------------------------------------

def _pool(op: Operation, x, sizes, mean=None):
    """mean(sum, count): of a window of which means are taken."""
    reduce = jnp.max if op["pooling_type"] == "max" else None
    mean = mean or (lambda total, counts: total / counts.astype(x.dtype))
    if op["data_format"] == "NHWC":
        return jnp.moveaxis(_pooled(op, jnp.moveaxis(x, -1, 1), sizes, reduce, mean), 1, -1)
    return _pooled(op, x, sizes, reduce, mean)


def _mean_in_gradients(total, counts):
    """The executor multiplies by a reciprocal in float32, in float64 too."""
    return total * (np.float32(1) / counts.astype(np.float32)).astype(total.dtype)


def _pooled(op: Operation, x, sizes, maximum, mean):
    if op["global_pooling"]:
        return _whole(x, (2, 3), maximum, mean)
    if op["adaptive"]:
        return _adaptive(x, sizes, maximum, mean)
    strides = op["strides"]
    paddings = _windows(op, x.shape[2:], sizes, strides, [1, 1])
    if op["ceil_mode"]:  # windows that begin inside reach over the end
        paddings = [(low, high + (-(n + low + high - k)) % s) for n, k, s, (low, high) in zip(x.shape[2:], sizes, strides, paddings)]
    starts = [np.arange((n + low + high - k) // s + 1) * s - low for n, k, s, (low, high) in zip(x.shape[2:], sizes, strides, paddings)]
    if any((at >= n).any() or (at + k <= 0).any() for at, n, k in zip(starts, x.shape[2:], sizes)):
        raise NoRule("windows that have padding only")
    window = ((1, 1, *sizes), (1, 1, *strides), [(0, 0), (0, 0), *paddings])
    if maximum:
        return lax.reduce_window(x, -np.inf, lax.max, *window)
    total = lax.reduce_window(x, np.zeros((), x.dtype), lax.add, *window)
    counts = np.ones((1, 1, 1, 1))
    for dim, (at, n, k, (low, _)) in enumerate(zip(starts, x.shape[2:], sizes, paddings)):
        # Otherwise padding counts, but no farther behind the end than there is before the beginning.
        inside = np.minimum(at + k, n) - np.maximum(at, 0) if op["exclusive"] else np.minimum(at + k, n + low) - at
        counts = counts * inside.reshape([-1 if i == dim + 2 else 1 for i in range(4)])
    return mean(total, counts)


def _whole(x, dims, maximum, mean):
    if maximum:
        return maximum(x, dims, keepdims=True)
    return mean(jnp.sum(x, dims, keepdims=True), np.array(math.prod(x.shape[i] for i in dims)))


def _adaptive(x, sizes, maximum, mean):
    """Windows that cover everything, the first of each size rounded down and the last up."""
    bounds = [[(i * whole // n, -(-(i + 1) * whole // n)) for i in range(n)] for whole, n in zip(x.shape[2:], sizes)]
    return jnp.concatenate([jnp.concatenate([_whole(x[:, :, a:b, c:d], (2, 3), maximum, mean) for c, d in bounds[1]], 3)
                            for a, b in bounds[0]], 2)


@rule("pool2d")
def _pool2d(op: Operation, x, kernel_size):
    return _pool(op, x, ints(kernel_size, "a window"))


@rule("pool2d_grad")
def _pool2d_grad(op: Operation, x, out, out_grad, kernel_size):
    sizes = ints(kernel_size, "a window")
    if op["pooling_type"] == "max" and op["adaptive"] and any(n != 1 for n in sizes):
        raise NoRule("an adaptive maximum, whose gradient is that of windows that overlap")
    return jax.vjp(lambda x: _pool(op, x, sizes, _mean_in_gradients), x)[1](out_grad)[0]
