# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Images made larger, smaller and shuffled."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from .table import NoRule, Operation, ints, rule


def _first(op: Operation) -> None:
    if op.get("data_format", op.get("data_layout", "NCHW")) != "NCHW":
        raise NoRule("another layout than NCHW")


def _sizes(op: Operation, x, out_size, size_tensor, scale_tensor) -> "list[int]":
    if size_tensor:
        return ints(size_tensor, "a size")
    if out_size is not None:
        return ints(out_size, "a size")
    if scale_tensor is not None:
        raise NoRule("a scale that is a tensor")
    if op["scale"]:
        factors = op["scale"] if len(op["scale"]) == 2 else [op["scale"][0]] * 2
        return [int(n * f) for n, f in zip(x.shape[2:], factors)]
    return [op["out_h"], op["out_w"]]


def _steps(op: Operation, dim: int, whole: int, size: int) -> float:
    """How far apart in the input neighbours of the output are."""
    if op["align_corners"]:
        return (whole - 1) / (size - 1) if size > 1 else 0.0
    given = op["scale"]
    factor = given[dim if len(given) == 2 else 0] if given else 0
    return 1 / factor if factor > 0 else whole / size


@rule("nearest_interp")
def _nearest(op: Operation, x, out_size=None, size_tensor=None, scale_tensor=None):
    _first(op)
    for dim, size in enumerate(_sizes(op, x, out_size, size_tensor, scale_tensor)):
        whole = x.shape[2 + dim]
        where = np.arange(size) * np.float32(_steps(op, dim, whole, size))
        at = np.minimum((where + 0.5 if op["align_corners"] else where).astype(np.int64), whole - 1)
        x = jnp.take(x, at, axis=2 + dim)
    return x


@rule("bilinear_interp")
def _bilinear(op: Operation, x, out_size=None, size_tensor=None, scale_tensor=None):
    """A product with a matrix of weights in each dimension."""
    _first(op)
    for dim, size in enumerate(_sizes(op, x, out_size, size_tensor, scale_tensor)):
        whole = x.shape[2 + dim]
        step, centred = np.float32(_steps(op, dim, whole, size)), op["align_mode"] == 0 and not op["align_corners"]
        where = np.arange(size, dtype=np.float32) * step
        if centred:
            where = np.maximum((np.arange(size, dtype=np.float32) + np.float32(0.5)) * step - np.float32(0.5), 0)
        low = np.minimum(where.astype(np.int64), whole - 1)
        high, part = np.minimum(low + 1, whole - 1), where - low
        weights = np.zeros((size, whole))
        np.add.at(weights, (np.arange(size), low), 1 - part.astype(np.float64))
        np.add.at(weights, (np.arange(size), high), part.astype(np.float64))
        x = jnp.moveaxis(jnp.moveaxis(x, 2 + dim, -1) @ weights.T.astype(x.dtype), -1, 2 + dim)
    return x


def _by_interpolation(forward):
    def backward(op: Operation, x, out_size, size_tensor, scale_tensor, output_grad=None, out_grad=None):
        given = output_grad if output_grad is not None else out_grad
        return jax.vjp(lambda x: forward(op, x, out_size, size_tensor, scale_tensor), x)[1](given)[0]
    return backward


rule("nearest_interp_grad")(_by_interpolation(_nearest))
rule("bilinear_interp_grad")(_by_interpolation(_bilinear))


def _apart(x, factor: int):
    """From [N, C f f, H, W] to [N, C, H f, W f]."""
    n, c, h, w = x.shape
    x = x.reshape(n, c // factor ** 2, factor, factor, h, w)
    return x.transpose(0, 1, 4, 2, 5, 3).reshape(n, c // factor ** 2, h * factor, w * factor)


def _together(x, factor: int):
    """And back."""
    n, c, h, w = x.shape
    x = x.reshape(n, c, h // factor, factor, w // factor, factor)
    return x.transpose(0, 1, 3, 5, 2, 4).reshape(n, c * factor ** 2, h // factor, w // factor)


def _shuffle(function, factor):
    def apply(op: Operation, x=None, out_grad=None):
        _first(op)
        return function(x if out_grad is None else out_grad, op[factor])
    return apply


for _name, _forward, _backward, _factor in (("pixel_shuffle", _apart, _together, "upscale_factor"),
                                            ("pixel_unshuffle", _together, _apart, "downscale_factor")):
    rule(_name)(_shuffle(_forward, _factor))
    rule(f"{_name}_grad")(_shuffle(_backward, _factor))


def _channels(x, groups: int):
    n, c, h, w = x.shape
    return x.reshape(n, groups, c // groups, h, w).swapaxes(1, 2).reshape(x.shape)


rule("channel_shuffle")(_shuffle(_channels, "groups"))
rule("channel_shuffle_grad")(_shuffle(lambda g, groups: _channels(g, g.shape[1] // groups), "groups"))


@rule("unfold")
def _unfold(op: Operation, x):
    up, left, down, right = op["paddings"] if len(op["paddings"]) == 4 else op["paddings"] * 2
    found = lax.conv_general_dilated_patches(x, op["kernel_sizes"], op["strides"], [(up, down), (left, right)], rhs_dilation=op["dilations"])
    return found.reshape(*found.shape[:2], -1)
