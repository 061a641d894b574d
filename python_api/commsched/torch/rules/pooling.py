# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Pooling, with its gradients."""

from __future__ import annotations

import itertools

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from .table import NoRule, Operation, rule


def _numbers(value, rank, default=None):
    value = [] if value is None else [value] if isinstance(value, int) else list(value)
    if not value:
        return list(default)
    return value * rank if len(value) == 1 else value


def _least(dtype):
    return -jnp.inf if jnp.issubdtype(dtype, jnp.floating) else jnp.iinfo(dtype).min


class _Windows:
    """Windows over the last `rank` dimensions; `out`: how many there are in each."""

    def __init__(self, shape, out, kernel, stride, padding, dilation):
        self.rank, self.out = len(out), tuple(out)
        self.kernel = _numbers(kernel, self.rank)
        self.stride = _numbers(stride, self.rank, self.kernel)
        self.padding = _numbers(padding, self.rank, [0] * self.rank)
        self.dilation = _numbers(dilation, self.rank, [1] * self.rank)
        self.shape = tuple(shape[-self.rank:])
        # Behind the end, as far as the last window reaches: further with ceil_mode.
        self.behind = [max((n - 1) * s + d * (k - 1) + 1 - p - extent, 0) for n, s, d, k, p, extent in zip(
            self.out, self.stride, self.dilation, self.kernel, self.padding, self.shape)]

    def reduce(self, x, initial, function):
        lead = x.ndim - self.rank
        # The last window may begin before the end of the padded array and leave a rest.
        return lax.reduce_window(x, np.asarray(initial, x.dtype), function, (1,) * lead + tuple(self.kernel),
                                 (1,) * lead + tuple(self.stride), [(0, 0)] * lead + list(zip(self.padding, self.behind)),
                                 window_dilation=(1,) * lead + tuple(self.dilation))[
            (slice(None),) * lead + tuple(slice(0, n) for n in self.out)]

    def parts(self, x, initial):
        """For each place in a window: that element of all windows, and where it lies in x, flat."""
        lead = x.ndim - self.rank
        padded = lax.pad(x, jnp.asarray(initial, x.dtype), [(0, 0, 0)] * lead + [(p, b, 0) for p, b in zip(self.padding, self.behind)])
        for place in itertools.product(*[range(k) for k in self.kernel]):
            begin = [d * i for d, i in zip(self.dilation, place)]
            end = [b + (n - 1) * s + 1 for b, n, s in zip(begin, self.out, self.stride)]
            part = lax.slice(padded, [0] * lead + begin, list(x.shape[:lead]) + end, [1] * lead + self.stride)
            flat = np.zeros(self.out, np.int64)
            for i, (b, n, s, p, extent) in enumerate(zip(begin, self.out, self.stride, self.padding, self.shape)):
                where = (np.arange(n) * s + b - p).reshape([-1 if j == i else 1 for j in range(self.rank)])
                flat = flat * extent + where
            yield part, flat, begin


def _max_pool(op: Operation, x, kernel, stride=None, padding=0, dilation=1, ceil_mode=False):
    out = op.shape[-_rank(op):]
    windows = _Windows(x.shape, out, kernel, stride, padding, dilation)
    best, found = None, None
    for part, flat, _ in windows.parts(x, _least(x.dtype)):
        where = jnp.broadcast_to(jnp.asarray(flat), part.shape)
        if best is None:
            best, found = part, where
        else:
            better = (part > best) | jnp.isnan(part)
            best, found = jnp.where(better, part, best), jnp.where(better, where, found)
    return best, found


def _rank(op: Operation) -> int:
    return 3 if "3d" in op.name else 2 if "2d" in op.name else 1


rule("aten.max_pool2d_with_indices", "aten.max_pool3d_with_indices")(_max_pool)


@rule("aten.max_pool2d_with_indices_backward", "aten.max_pool3d_with_indices_backward")
def _max_pool_backward(op: Operation, gradient, x, kernel, stride, padding, dilation, ceil_mode, indices):
    rank = _rank(op)
    windows = _Windows(x.shape, gradient.shape[-rank:], kernel, stride, padding, dilation)
    lead = x.ndim - rank
    padded = [n + p + b for n, p, b in zip(windows.shape, windows.padding, windows.behind)]
    total = jnp.zeros((*x.shape[:lead], *padded), gradient.dtype)
    zero = jnp.zeros((), gradient.dtype)
    for _, flat, begin in windows.parts(x, 0):
        mine = jnp.where(indices == jnp.asarray(flat), gradient, zero)
        widths = [(0, 0, 0)] * lead + [(b, size - b - ((n - 1) * s + 1), s - 1)
                                      for b, size, n, s in zip(begin, padded, windows.out, windows.stride)]
        total = total + lax.pad(mine, zero, widths)
    return lax.slice(total, [0] * lead + windows.padding, [*x.shape[:lead], *[p + n for p, n in zip(windows.padding, windows.shape)]])


# ---- averages ------------------------------------------------------------------------------------------------

def _average(op: Operation, x, out, kernel, stride=None, padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None):
    windows = _Windows(x.shape, out, kernel, stride, padding, 1)
    total = windows.reduce(x.astype(jnp.promote_types(x.dtype, jnp.float32)), 0, lax.add)
    if divisor_override:
        return total / divisor_override
    counts = np.ones(windows.out)
    for i, (n, s, k, p, extent) in enumerate(zip(windows.out, windows.stride, windows.kernel, windows.padding, windows.shape)):
        begin = np.arange(n) * s - p
        end = np.minimum(begin + k, extent + p)
        own = end - begin if count_include_pad else np.minimum(end, extent) - np.maximum(begin, 0)
        counts = counts * own.reshape([-1 if j == i else 1 for j in range(windows.rank)])
    return total / jnp.asarray(counts, total.dtype)


@rule("aten.avg_pool1d", "aten.avg_pool2d", "aten.avg_pool3d")
def _avg_pool(op: Operation, x, *options):
    return _average(op, x, op.shape[-_rank(op):], *options)


@rule("aten.avg_pool2d_backward", "aten.avg_pool3d_backward")
def _avg_pool_backward(op: Operation, gradient, x, *options):
    _, pull = jax.vjp(lambda x: _average(op, x, gradient.shape[-_rank(op):], *options).astype(gradient.dtype), x)
    return pull(gradient)[0]


def _adaptive(extent: int, count: int) -> np.ndarray:
    """The matrix that averages `extent` elements to `count`."""
    matrix = np.zeros((count, extent))
    for i in range(count):
        begin, end = i * extent // count, -(-(i + 1) * extent // count)
        matrix[i, begin:end] = 1 / (end - begin)
    return matrix


def _adaptive_average(x, out):
    result = x.astype(jnp.promote_types(x.dtype, jnp.float32))
    for i, count in enumerate(reversed(out)):
        dim = x.ndim - 1 - i
        extent = result.shape[dim]
        if extent % count == 0:
            shape = (*result.shape[:dim], count, extent // count, *result.shape[dim + 1:])
            result = jnp.sum(result.reshape(shape), dim + 1) / (extent // count)
        else:
            matrix = jnp.asarray(_adaptive(extent, count), result.dtype)
            result = jnp.moveaxis(jnp.moveaxis(result, dim, -1) @ matrix.T, -1, dim)
    return result


@rule("aten._adaptive_avg_pool2d", "aten._adaptive_avg_pool3d", "aten.adaptive_avg_pool1d")
def _adaptive_avg_pool(op: Operation, x, size):
    return _adaptive_average(x, op.shape[-_rank(op):])


@rule("aten._adaptive_avg_pool2d_backward", "aten._adaptive_avg_pool3d_backward")
def _adaptive_avg_pool_backward(op: Operation, gradient, x):
    _, pull = jax.vjp(lambda x: _adaptive_average(x, gradient.shape[-_rank(op):]).astype(gradient.dtype), x)
    return pull(gradient)[0]


@rule("aten.adaptive_max_pool2d")
def _adaptive_max_pool(op: Operation, x, size):
    out = op.shape[-2:]
    if any(n % m for n, m in zip(x.shape[-2:], out)):
        raise NoRule("windows of different sizes")
    kernel = [n // m for n, m in zip(x.shape[-2:], out)]
    return _max_pool(op, x, kernel, kernel)


@rule("aten.adaptive_max_pool2d_backward")
def _adaptive_max_pool_backward(op: Operation, gradient, x, indices):
    kernel = [n // m for n, m in zip(x.shape[-2:], gradient.shape[-2:])]
    return _max_pool_backward(op, gradient, x, kernel, kernel, 0, 1, False, indices)
