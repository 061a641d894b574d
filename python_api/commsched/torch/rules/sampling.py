# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Images at other places: grid_sample, and resizing with antialiasing. With their gradients."""

from __future__ import annotations

import itertools
import math

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from .table import Operation, arrays, rule, wide

_BILINEAR, _NEAREST, _BICUBIC = range(3)
_ZEROS, _BORDER, _REFLECTION = range(3)


def _clipped(place, size):
    """Into the image. As in PyTorch, the gradient is 0 at its borders, too."""
    return jnp.where(place <= 0, 0, jnp.where(place >= size - 1, size - 1, place)).astype(place.dtype)


def _inside(place, size, padding, corners):
    """A coordinate in pixels, where padding says that it is."""
    if padding == _REFLECTION:
        low, span = (0.0, size - 1.0) if corners else (-0.5, float(size))
        if span == 0:
            return jnp.zeros_like(place)
        far = jnp.abs(place - low)
        rest = lax.rem(far, jnp.full_like(far, span))
        even = jnp.floor(lax.stop_gradient(far) / span) % 2 == 0
        place = jnp.where(even, rest + low, span - rest + low)
    return place if padding == _ZEROS else _clipped(place, size)


def _at(x, places):
    """x: [N, C, *size]; places: whole numbers [N, *out] of each dimension. [N, C, *out], 0 where that is outside of x."""
    size, shape = x.shape[2:], places[0].shape
    flat, there = jnp.zeros(shape, jnp.int64), jnp.ones(shape, jnp.bool_)
    for place, extent in zip(places, size):
        place = lax.stop_gradient(place)
        there = there & (place >= 0) & (place <= extent - 1)
        flat = flat * extent + jnp.clip(place, 0, extent - 1).astype(jnp.int64)
    rows = x.reshape(*x.shape[:2], -1)
    sample = lax.broadcasted_iota(jnp.int64, (shape[0], math.prod(shape[1:])), 0)
    found = rows[sample, :, flat.reshape(shape[0], -1)]  # [N, places, C]
    found = jnp.moveaxis(found, -1, 1).reshape(shape[0], x.shape[1], *shape[1:])
    return jnp.where(there[:, None], found, 0)


def _cubic(t, a):
    """Weights of the four pixels around, the second of which is t behind."""
    def near(x):
        return ((a + 2) * x - (a + 3)) * x * x + 1

    def far(x):
        return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
    return far(t + 1), near(t), near(1 - t), far(2 - t)


def _sampled(x, grid, mode, padding, corners):
    size = x.shape[2:]
    # The grid's last dimension counts from the last dimension of x.
    places = [grid[..., len(size) - 1 - i] for i in range(len(size))]
    places = [(p + 1) / 2 * (n - 1) if corners else ((p + 1) * n - 1) / 2 for p, n in zip(places, size)]
    if mode != _BICUBIC:
        places = [_inside(p, n, padding, corners) for p, n in zip(places, size)]
    if mode == _NEAREST:
        return _at(x, [jnp.round(p) for p in places])
    below = [jnp.floor(lax.stop_gradient(p)) for p in places]
    over = [p - b for p, b in zip(places, below)]
    if mode == _BICUBIC:
        weights = [_cubic(t, -0.75) for t in over]
        steps = range(-1, 3)
    else:
        weights = [(1 - t, t) for t in over]
        steps = range(2)
    total = 0
    for step in itertools.product(range(len(steps)), repeat=len(size)):
        where = [b + steps[s] for b, s in zip(below, step)]
        if mode == _BICUBIC:
            where = [jnp.round(_inside(p, n, padding, corners)) for p, n in zip(where, size)]
        weight = math.prod([w[s] for w, s in zip(weights, step)], start=jnp.ones((), x.dtype))
        total = total + _at(x, where) * weight[:, None]
    return total


@rule("aten.grid_sampler_2d", "aten.grid_sampler_3d")
def _grid_sampler(op: Operation, x, grid, mode, padding, corners):
    x, grid = arrays(op.wide, x, grid)
    return _sampled(x, grid, mode, padding, corners)


@rule("aten.grid_sampler_2d_backward", "aten.grid_sampler_3d_backward")
def _grid_sampler_backward(op: Operation, gradient, x, grid, mode, padding, corners, mask):
    gradient, x, grid = arrays(wide(x.dtype), gradient, x, grid)
    _, pull = jax.vjp(lambda x, grid: _sampled(x, grid, mode, padding, corners), x, grid)
    return tuple(g if wanted else None for g, wanted in zip(pull(gradient), mask))


# ---- resizing, antialiased -------------------------------------------------------------------------------------

def _triangle(x):
    return max(1 - abs(x), 0.0)


def _keys(x, a=-0.5):
    x = abs(x)
    if x < 1:
        return ((a + 2) * x - (a + 3)) * x * x + 1
    return (((x - 5) * x + 8) * x - 4) * a if x < 2 else 0.0


def _resizing(extent, count, corners, factor, reach, kernel):
    """The matrix [count, extent]. reach: of the kernel, to each side."""
    if corners:
        scale = (extent - 1) / (count - 1) if count > 1 else 0.0
    else:
        scale = 1 / factor if factor else extent / count
    support = reach * max(scale, 1.0)
    matrix = np.zeros((count, extent))
    for i in range(count):
        middle = scale * (i + 0.5)
        begin, end = max(int(middle - support + 0.5), 0), min(int(middle + support + 0.5), extent)
        row = np.array([kernel((j - middle + 0.5) / max(scale, 1.0)) for j in range(begin, end)])
        matrix[i, begin:end] = row / row.sum()
    return matrix


def _resized(x, sizes, corners, factors, reach, kernel):
    for dim, count, factor in zip((x.ndim - 2, x.ndim - 1), sizes, factors):
        matrix = jnp.asarray(_resizing(x.shape[dim], count, corners, factor, reach, kernel), x.dtype)
        x = jnp.moveaxis(jnp.moveaxis(x, dim, -1) @ matrix.T, -1, dim)
    return x


for _name, _reach, _kernel in (("bilinear", 1, _triangle), ("bicubic", 2, _keys)):
    def _forward(op: Operation, x, size, corners, *factors, _how=(_reach, _kernel)):
        (x,), (reach, kernel) = arrays(op.wide, x), _how
        return _resized(x, op.shape[-2:], corners, factors[-2:] or (None, None), reach, kernel)

    def _backward(op: Operation, gradient, output_size, input_size, corners, *factors, _how=(_reach, _kernel)):
        (gradient,) = arrays(op.wide, gradient)

        def forward(x):
            return _resized(x, gradient.shape[-2:], corners, factors[-2:] or (None, None), *_how)
        return jax.vjp(forward, jnp.zeros(op.shape, gradient.dtype))[1](gradient)[0]
    rule(f"aten._upsample_{_name}2d_aa.default")(_forward)
    rule(f"aten._upsample_{_name}2d_aa_backward.default")(_backward)
