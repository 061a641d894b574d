# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What moves elements, and computes nothing."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from .table import NoRule, Operation, axes, axis, ints, known, rule


@rule("reshape", "reshape_", "view_shape")
def _reshape(op: Operation, x, shape):
    target = [x.shape[i] if n == 0 and i < x.ndim else n for i, n in enumerate(ints(shape, "a shape"))]
    return jnp.reshape(x, target)


@rule("reshape_grad", "flatten_grad", "squeeze_grad", "unsqueeze_grad")
def _reshape_grad(op: Operation, x, out_grad, **_):
    return jnp.reshape(out_grad, x.shape)


@rule("flatten", "flatten_")
def _flatten(op: Operation, x):
    first, last = axis(op["start_axis"], x.ndim), axis(op["stop_axis"], x.ndim)
    return jnp.reshape(x, [*x.shape[:first], int(np.prod(x.shape[first:last + 1])), *x.shape[last + 1:]])


@rule("squeeze", "squeeze_")
def _squeeze(op: Operation, x, axis):
    return jnp.reshape(x, [n for i, n in enumerate(x.shape) if not (n == 1 and i in axes(axis, x.ndim))])


@rule("unsqueeze", "unsqueeze_")
def _unsqueeze(op: Operation, x, axis):
    shape = list(x.shape)
    for dim in ints(axis, "axes"):
        shape.insert(dim + len(shape) + 1 if dim < 0 else dim, 1)
    return jnp.reshape(x, shape)


@rule("transpose")
def _transpose(op: Operation, x):
    return jnp.transpose(x, [axis(d, x.ndim) for d in op["perm"]])


@rule("transpose_grad")
def _transpose_grad(op: Operation, out_grad):
    return jnp.transpose(out_grad, np.argsort([axis(d, out_grad.ndim) for d in op["perm"]]).tolist())


@rule("concat")
def _concat(op: Operation, x, axis):
    (dim,) = ints(axis, "an axis")
    return jnp.concatenate(x, dim + x[0].ndim if dim < 0 else dim)


@rule("stack")
def _stack(op: Operation, x):
    return jnp.stack(x, axis(op["axis"], x[0].ndim + 1))


@rule("stack_grad")
def _stack_grad(op: Operation, x, out_grad):
    return [lax.index_in_dim(out_grad, i, axis(op["axis"], out_grad.ndim), keepdims=False) for i in range(len(x))]


@rule("unstack", "unbind")
def _unstack(op: Operation, x=None, input=None):
    x = input if x is None else x
    dim = axis(op["axis"], x.ndim)
    return ([lax.index_in_dim(x, i, dim, keepdims=False) for i in range(x.shape[dim])],)


@rule("unstack_grad")
def _unstack_grad(op: Operation, out_grad):
    return jnp.stack(out_grad, axis(op["axis"], out_grad[0].ndim + 1))


@rule("split")
def _split(op: Operation, x, sections, axis):
    (dim,), sizes = ints(axis, "an axis"), ints(sections, "sizes")
    dim = dim + x.ndim if dim < 0 else dim
    sizes = [x.shape[dim] - sum(n for n in sizes if n >= 0) if n < 0 else n for n in sizes]
    return (jnp.split(x, np.cumsum(sizes)[:-1].tolist(), dim),)


@rule("split_with_num")
def _split_with_num(op: Operation, x, axis):
    (dim,) = ints(axis, "an axis")
    return (jnp.split(x, op["num"], dim),)


@rule("slice")
def _slice(op: Operation, input, starts, ends):
    where = [slice(None)] * input.ndim
    for dim, a, b in zip(op["axes"], ints(starts, "a start"), ints(ends, "an end")):
        where[dim] = slice(a, b)
    out = input[tuple(where)]
    return jnp.reshape(out, [n for i, n in enumerate(out.shape) if i not in op.get("decrease_axis", [])])


@rule("slice_grad")
def _slice_grad(op: Operation, input, out_grad, starts, ends):
    return jax.vjp(lambda x: _slice(op, x, starts, ends), input)[1](out_grad)[0]


@rule("strided_slice")
def _strided_slice(op: Operation, x, starts, ends, strides):
    where = [slice(None)] * x.ndim
    for dim, *bounds in zip(op["axes"], ints(starts), ints(ends), ints(strides)):
        where[dim] = slice(*bounds)
    return x[tuple(where)]


def _set_at(op: Operation, x, starts, ends, steps):
    """The part of a tensor that is set, and its shape as values are given for it."""
    if op["none_axes"]:
        raise NoRule("new axes")
    where = [slice(None)] * x.ndim
    for dim, a, b, s in zip(op["axes"], ints(starts, "a start"), ints(ends, "an end"), ints(steps, "a step")):
        if s < 0:
            raise NoRule("steps back")
        where[dim] = slice(a, b if b >= 0 or a < 0 or op.get("decrease_axes") == [] else None, s)
    shape = jax.eval_shape(lambda x: x[tuple(where)], x).shape
    return tuple(where), shape, [n for i, n in enumerate(shape) if i not in op["decrease_axes"]]


@rule("set_value", "set_value_")
def _set_value(op: Operation, x, starts, ends, steps):
    where, shape, given = _set_at(op, x, starts, ends, steps)
    values = np.asarray(op["values"], x.dtype).reshape(op["shape"])
    return jnp.asarray(x).at[where].set(jnp.broadcast_to(values.reshape(()) if values.size == 1 else values, given).reshape(shape))


@rule("set_value_with_tensor", "set_value_with_tensor_")
def _set_value_with_tensor(op: Operation, x, values, starts, ends, steps):
    where, shape, given = _set_at(op, x, starts, ends, steps)
    return jnp.asarray(x).at[where].set(jnp.broadcast_to(jnp.asarray(values, x.dtype), given).reshape(shape))


rule("set_value_grad")(lambda op, out_grad: out_grad)  # of what was set to a number too: Paddle does not know where that is


@rule("set_value_with_tensor_grad")
def _set_value_with_tensor_grad(op: Operation, out_grad, values, starts, ends, steps):
    where, shape, given = _set_at(op, out_grad, starts, ends, steps)
    of = jax.vjp(lambda v: jnp.broadcast_to(v, given), values)[1](out_grad[where].reshape(given))[0]
    found = {"x_grad": out_grad.at[where].set(0), "values_grad": of}
    return tuple(found[n] if d is not None else None for n, d in zip(op.names, op.dtypes))


@rule("expand")
def _expand(op: Operation, x, shape):
    target = ints(shape, "a shape")
    own = [1] * (len(target) - x.ndim) + list(x.shape)
    return jnp.broadcast_to(x, [o if n == -1 else n for n, o in zip(target, own)])


@rule("expand_as")
def _expand_as(op: Operation, x, y=None):
    return jnp.broadcast_to(x, y.shape if y is not None else op["target_shape"])


@rule("expand_as_grad")
def _expand_as_grad(op: Operation, x, out_grad):
    return jax.vjp(lambda x: jnp.broadcast_to(x, out_grad.shape), x)[1](out_grad)[0]


@rule("tile")
def _tile(op: Operation, x, repeat_times):
    return jnp.tile(x, ints(repeat_times, "repeats"))


@rule("pad")
def _pad(op: Operation, x, pad_value):
    widths = op["paddings"]
    return lax.pad(x, jnp.asarray(known(pad_value).reshape(-1)[0], x.dtype), [(widths[2 * i], widths[2 * i + 1], 0) for i in range(x.ndim)])


@rule("pad3d")
def _pad3d(op: Operation, x, paddings):
    widths, mode = ints(paddings, "paddings"), {"constant": "constant", "reflect": "reflect", "replicate": "edge", "circular": "wrap"}[op["mode"]]
    inner = [(widths[2 * i], widths[2 * i + 1]) for i in reversed(range(3))]
    full = [(0, 0), (0, 0), *inner] if op["data_format"] == "NCDHW" else [(0, 0), *inner, (0, 0)]
    return jnp.pad(x, full, mode=mode, **({"constant_values": op["pad_value"]} if mode == "constant" else {}))


@rule("flip")
def _flip(op: Operation, x):
    return jnp.flip(x, tuple(axis(d, x.ndim) for d in op["axis"]))


@rule("roll")
def _roll(op: Operation, x, shifts):
    if not op["axis"]:
        return jnp.roll(x.reshape(-1), ints(shifts)[0]).reshape(x.shape)
    return jnp.roll(x, ints(shifts), tuple(axis(d, x.ndim) for d in op["axis"]))


@rule("tril")
def _tril(op: Operation, x):
    return jnp.tril(x, op["diagonal"])


@rule("triu")
def _triu(op: Operation, x):
    return jnp.triu(x, op["diagonal"])


rule("tril_grad")(lambda op, out_grad: jnp.tril(out_grad, op["diagonal"]))
rule("triu_grad")(lambda op, out_grad: jnp.triu(out_grad, op["diagonal"]))


@rule("diagonal")
def _diagonal(op: Operation, x):
    return jnp.diagonal(x, op["offset"], axis(op["axis1"], x.ndim), axis(op["axis2"], x.ndim))


@rule("repeat_interleave")
def _repeat_interleave(op: Operation, x):
    return jnp.repeat(x, op["repeats"], axis(op["axis"], x.ndim))


@rule("numel")
def _numel(op: Operation, x):
    return np.asarray(x.size, op.dtype)


@rule("shape", "shape64")
def _shape(op: Operation, input):
    return np.asarray(input.shape, op.dtype)


# ---- indices, which are expected to be inside -----------------------------------------------------------------------

def _rows(ids):
    return ids.astype(jnp.int64)


def _from_end(index, size: int):
    """Negative ones are counted from the end; jnp.take would have them be 0."""
    return jnp.where(index < 0, index + size, index)


@rule("embedding")
def _embedding(op: Operation, x, weight):
    found = jnp.asarray(weight).at[_rows(x)].get(mode="clip")
    pad = op["padding_idx"]
    return found if pad == -1 else jnp.where((x == pad)[..., None], 0, found)


@rule("embedding_grad", "embedding_sparse_grad")
def _embedding_grad(op: Operation, x, weight, out_grad):
    pad = op["padding_idx"]
    if pad != -1:
        out_grad = jnp.where((x == pad)[..., None], 0, out_grad)
    return jnp.zeros(weight.shape, out_grad.dtype).at[_rows(x)].add(out_grad)


@rule("gather")
def _gather(op: Operation, x, index, axis):
    (dim,) = ints(axis, "an axis")
    index = index.reshape(-1) if index.ndim == 2 and index.shape[1] == 1 else index
    return jnp.take(x, _from_end(index, x.shape[dim]), axis=dim, mode="clip")


@rule("index_select")
def _index_select(op: Operation, x, index):
    dim = axis(op["axis"], x.ndim)
    return jnp.take(x, _from_end(index, x.shape[dim]), axis=dim, mode="clip")


@rule("take_along_axis")
def _take_along_axis(op: Operation, arr, indices):
    return jnp.take_along_axis(arr, indices, axis(op["axis"], arr.ndim), mode="clip")


@rule("index_sample")
def _index_sample(op: Operation, x, index):
    return jnp.take_along_axis(x, index, 1, mode="clip")


@rule("one_hot")
def _one_hot(op: Operation, x, num_classes):
    return jax.nn.one_hot(x, ints(num_classes)[0], dtype=op.dtype)


@rule("gather_nd")
def _gather_nd(op: Operation, x, index):
    return jnp.asarray(x).at[tuple(jnp.moveaxis(index, -1, 0))].get(mode="clip")


@rule("argsort")
def _argsort(op: Operation, x):
    dim = axis(op["axis"], x.ndim)
    found = jnp.argsort(x, dim, stable=True, descending=op["descending"])
    return jnp.take_along_axis(x, found, dim), found.astype(jnp.int64)


@rule("argsort_grad", "topk_grad")
def _ordered_grad(op: Operation, x, indices, out_grad, **_):
    dim = axis(op["axis"], x.ndim)
    return jax.vjp(lambda x: jnp.take_along_axis(x, indices, dim), x)[1](out_grad)[0]
