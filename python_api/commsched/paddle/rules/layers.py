# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Normalisation, dropout and losses."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from .table import NoRule, Operation, axis, known, rule


# ---- normalisation --------------------------------------------------------------------------------------------------

def _channels(op: Operation, rank: int) -> "tuple[int, tuple[int, ...]]":
    """The dimension of channels, and the others."""
    of = rank - 1 if op.get("data_format", op.get("data_layout", "NCHW")) in ("NHWC", "NLC", "NDHWC") and rank > 2 else 1
    return of, tuple(d for d in range(rank) if d != of)


def _along(vector, of: int, rank: int):
    return vector.reshape([-1 if d == of else 1 for d in range(rank)])


def _uses_running(op: Operation) -> bool:
    return bool(op["use_global_stats"] or op["is_test"] and not op["trainable_statistics"])


@rule("batch_norm_", "batch_norm")
def _batch_norm(op: Operation, x, mean, variance, scale, bias):
    of, others = _channels(op, x.ndim)
    epsilon, momentum = (np.asarray(op[n], x.dtype) for n in ("epsilon", "momentum"))
    scale = jnp.ones_like(mean) if scale is None else scale
    bias = jnp.zeros_like(mean) if bias is None else bias
    if _uses_running(op):
        own, spread, new_mean, new_variance = mean, variance, mean, variance
    else:
        own = jnp.mean(x, others)
        spread = jnp.mean(jnp.square(x - _along(own, of, x.ndim)), others)
        new_mean = mean * momentum + own * (1 - momentum)
        new_variance = variance * momentum + spread * (1 - momentum)
    inverse = 1 / jnp.sqrt(spread + epsilon)
    out = (x - _along(own, of, x.ndim)) * _along(inverse * scale, of, x.ndim) + _along(bias, of, x.ndim)
    return out, new_mean, new_variance, own, inverse, None


@rule("batch_norm_grad")
def _batch_norm_grad(op: Operation, x, scale, bias, mean_out, variance_out, saved_mean, saved_variance, reserve_space, out_grad):
    of, others = _channels(op, x.ndim)
    running = _uses_running(op)
    mean = mean_out if running else saved_mean
    inverse = 1 / jnp.sqrt(variance_out + np.asarray(op["epsilon"], x.dtype)) if running else saved_variance
    centred = (x - _along(mean, of, x.ndim)) * _along(inverse, of, x.ndim)
    of_scale, of_bias = jnp.sum(out_grad * centred, others), jnp.sum(out_grad, others)
    factor = _along(inverse if scale is None else inverse * scale, of, x.ndim)
    if running:
        return out_grad * factor, of_scale, of_bias
    count = np.asarray(x.size // x.shape[of], x.dtype)
    rest = out_grad - _along(of_bias, of, x.ndim) / count - centred * _along(of_scale, of, x.ndim) / count
    return rest * factor, of_scale, of_bias


@rule("layer_norm")
def _layer_norm(op: Operation, x, scale=None, bias=None, **_):
    dims = tuple(range(op["begin_norm_axis"], x.ndim))
    mean = jnp.mean(x, dims, keepdims=True)
    variance = jnp.mean(jnp.square(x - mean), dims, keepdims=True)
    out = (x - mean) / jnp.sqrt(variance + np.asarray(op["epsilon"], x.dtype))
    shape = x.shape[op["begin_norm_axis"]:]
    out = out if scale is None else out * scale.reshape(shape)
    out = out if bias is None else out + bias.reshape(shape)
    rows = x.shape[:op["begin_norm_axis"]]
    return out, mean.reshape(rows), variance.reshape(rows)


def _layer_norm_grad(op: Operation, x, scale, bias, mean, variance, out_grad):
    given = {n: v for n, v in (("x", x), ("scale", scale), ("bias", bias)) if v is not None}
    found = jax.vjp(lambda g: _layer_norm(op, **g)[0], given)[1](out_grad)[0]
    return found["x"], found.get("scale"), found.get("bias")


rule("layer_norm_grad")(_layer_norm_grad)


@rule("group_norm")
def _group_norm(op: Operation, x, scale=None, bias=None, **_):
    if op["data_format"] != "NCHW":
        raise NoRule("another layout than NCHW")
    grouped = x.reshape(x.shape[0], op["groups"], -1)
    mean = jnp.mean(grouped, 2, keepdims=True)
    variance = jnp.mean(jnp.square(grouped - mean), 2, keepdims=True)
    out = ((grouped - mean) / jnp.sqrt(variance + np.asarray(op["epsilon"], x.dtype))).reshape(x.shape)
    out = out if scale is None else out * _along(scale, 1, x.ndim)
    out = out if bias is None else out + _along(bias, 1, x.ndim)
    return out, mean[:, :, 0], variance[:, :, 0]


@rule("group_norm_grad")
def _group_norm_grad(op: Operation, x, scale, bias, y, mean, variance, y_grad):
    given = {n: v for n, v in (("x", x), ("scale", scale), ("bias", bias)) if v is not None}
    found = jax.vjp(lambda g: _group_norm(op, **g)[0], given)[1](y_grad)[0]
    return found["x"], found.get("scale"), found.get("bias")


@rule("instance_norm")
def _instance_norm(op: Operation, x, scale=None, bias=None, **_):
    dims = tuple(range(2, x.ndim))
    mean = jnp.mean(x, dims, keepdims=True)
    inverse = 1 / jnp.sqrt(jnp.mean(jnp.square(x - mean), dims, keepdims=True) + np.asarray(op["epsilon"], x.dtype))
    out = (x - mean) * inverse
    out = out if scale is None else out * _along(scale, 1, x.ndim)
    return out if bias is None else out + _along(bias, 1, x.ndim), None, None  # statistics, which the gradient finds again


@rule("instance_norm_grad")
def _instance_norm_grad(op: Operation, x, scale, bias, saved_mean, saved_variance, y_grad):
    given = {n: v for n, v in (("x", x), ("scale", scale), ("bias", bias)) if v is not None}
    found = jax.vjp(lambda g: _instance_norm(op, **g)[0], given)[1](y_grad)[0]
    return found["x"], found.get("scale"), found.get("bias")


# ---- dropout ----------------------------------------------------------------------------------------------------------

def _kept(op: Operation, p) -> float:
    """The part that is not zeroed."""
    return 1.0 - float(known(p, "a probability").reshape(-1)[0])


@rule("dropout")
def _dropout(op: Operation, x, seed_tensor, p):
    kept, scaled = _kept(op, p), op["mode"] == "upscale_in_train"
    if op["is_test"]:
        return (x if scaled else x * np.asarray(kept, x.dtype)), None
    if op["fix_seed"]:
        raise NoRule("a seed that is fixed: every step would draw the same numbers")
    mask = jax.random.bernoulli(op.key(), kept, x.shape)
    return jnp.where(mask, x / np.asarray(kept, x.dtype) if scaled and kept else x, 0), mask


@rule("dropout_grad")
def _dropout_grad(op: Operation, mask, out_grad, p):
    kept, scaled = _kept(op, p), op["mode"] == "upscale_in_train"
    if op["is_test"]:
        return out_grad if scaled else out_grad * np.asarray(kept, out_grad.dtype)
    return jnp.where(mask != 0, out_grad / np.asarray(kept, out_grad.dtype) if scaled and kept else out_grad, 0)


# ---- losses ------------------------------------------------------------------------------------------------------------

def _wanted(op: Operation, label, shape, dtype):
    """Of hard labels: ones where they are, and whether they count."""
    dim = axis(op["axis"], len(shape))
    if label.ndim == len(shape):
        label = jnp.squeeze(label, dim)
    counts = label != op["ignore_index"]
    return jax.nn.one_hot(jnp.where(counts, label, 0), shape[dim], dtype=dtype, axis=dim), jnp.expand_dims(counts, dim)


@rule("cross_entropy_with_softmax", "cross_entropy_with_softmax_")
def _cross_entropy(op: Operation, input, label):
    if not op["use_softmax"]:
        raise NoRule("use_softmax=False")
    dim = axis(op["axis"], input.ndim)
    logarithms = jax.nn.log_softmax(input, dim)
    if op["soft_label"]:
        return jnp.exp(logarithms), -jnp.sum(label * logarithms, dim, keepdims=True)
    ones, counts = _wanted(op, label, input.shape, input.dtype)
    return jnp.exp(logarithms), jnp.where(counts, -jnp.sum(ones * logarithms, dim, keepdims=True), 0)


@rule("cross_entropy_with_softmax_grad")
def _cross_entropy_grad(op: Operation, label, softmax, loss_grad):
    if op["soft_label"]:
        return (softmax - label) * loss_grad
    ones, counts = _wanted(op, label, softmax.shape, softmax.dtype)
    return jnp.where(counts, (softmax - ones) * loss_grad, 0)


def _usual(op: Operation) -> None:
    if op["normalize"] or op["ignore_index"] != -100:
        raise NoRule("normalisation or ignored labels")


@rule("sigmoid_cross_entropy_with_logits")
def _sigmoid_cross_entropy(op: Operation, x, label, pos_weight=None):
    _usual(op)
    of_log = jnp.log1p(jnp.exp(-jnp.abs(x)))
    if pos_weight is None:
        return jnp.maximum(x, 0) - x * label + of_log
    return (1 - label) * x + pos_weight * (of_log + jnp.maximum(-x, 0))


@rule("sigmoid_cross_entropy_with_logits_grad")
def _sigmoid_cross_entropy_grad(op: Operation, x, label, pos_weight, out_grad):
    _usual(op)
    if pos_weight is None:
        return (jax.nn.sigmoid(x) - label) * out_grad
    return (1 - label - pos_weight * jax.nn.sigmoid(-x)) * out_grad


@rule("bce_loss")
def _bce_loss(op: Operation, input, label):
    return -(label * jnp.maximum(jnp.log(input), -100) + (1 - label) * jnp.maximum(jnp.log1p(-input), -100))


@rule("bce_loss_grad")
def _bce_loss_grad(op: Operation, input, label, out_grad):
    return out_grad * (input - label) / jnp.maximum((1 - input) * input, 1e-12)


@rule("huber_loss")
def _huber_loss(op: Operation, input, label):
    delta, residual = np.asarray(op["delta"], input.dtype), label - input
    size = jnp.abs(residual)
    return jnp.where(size <= delta, 0.5 * residual * residual, delta * (size - 0.5 * delta)), residual


@rule("huber_loss_grad")
def _huber_loss_grad(op: Operation, residual, out_grad):
    delta = np.asarray(op["delta"], residual.dtype)
    of = out_grad * jnp.clip(residual, -delta, delta)
    return tuple(None if d is None else -of if n == "input_grad" else of for n, d in zip(op.names, op.dtypes))


@rule("label_smooth")
def _label_smooth(op: Operation, label, prior_dist=None):
    epsilon = np.asarray(op["epsilon"], label.dtype)
    return (1 - epsilon) * label + epsilon * (1 / np.asarray(label.shape[-1], label.dtype) if prior_dist is None else prior_dist)


rule("label_smooth_grad")(lambda op, out_grad: (1 - np.asarray(op["epsilon"], out_grad.dtype)) * out_grad)


@rule("log_loss")
def _log_loss(op: Operation, input, label):
    epsilon = np.asarray(op["epsilon"], input.dtype)
    return -label * jnp.log(input + epsilon) - (1 - label) * jnp.log(1 - input + epsilon)


@rule("kldiv_loss")
def _kldiv_loss(op: Operation, x, label):
    if op["log_target"]:
        each = jnp.exp(label) * (label - x)
    else:
        each = jnp.where(label > 0, label * (jnp.log(jnp.where(label > 0, label, 1)) - x), 0)
    how = {"none": lambda v: v, "mean": jnp.mean, "sum": jnp.sum, "batchmean": lambda v: jnp.sum(v) / x.shape[0]}
    return how[op["reduction"]](each)


def _nll(op: Operation, input, label, weight):
    """Class in dimension 1. ignore_index None: no label is ignored (labels.py)."""
    counts = jnp.ones(label.shape, np.bool_) if op["ignore_index"] is None else label != op["ignore_index"]
    at = jnp.where(counts, label, 0)
    weights = counts.astype(input.dtype) if weight is None else jnp.where(counts, jnp.asarray(weight)[at], 0)
    each = -weights * jnp.take_along_axis(input, jnp.expand_dims(at, 1), 1, mode="clip").squeeze(1)
    total = jnp.sum(weights)
    return {"none": each, "sum": jnp.sum(each), "mean": jnp.sum(each) / jnp.where(total == 0, 1, total)}[op["reduction"]], total


@rule("nll_loss")
def _nll_loss(op: Operation, input, label, weight=None):
    return _nll(op, input, label, weight)


@rule("nll_loss_grad")
def _nll_loss_grad(op: Operation, input, label, weight, total_weight, out_grad):
    return jax.vjp(lambda x: _nll(op, x, label, weight)[0], input)[1](out_grad)[0]
