# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Element by element. Gradients are written out where Paddle has them of the result, or decides otherwise than JAX what
they are where a function has a corner."""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp
import numpy as np

from .table import NoRule, Operation, known, rule


def _with(function, *names):
    """A rule of x, and of attributes by these names."""
    return lambda op, x, **_: function(x, *(op[n] for n in names))


def _scalar(value, what):
    return float(known(value, what).reshape(-1)[0])


for _name, _function in {
        "exp": jnp.exp, "expm1": jnp.expm1, "log": jnp.log, "log2": jnp.log2, "log10": jnp.log10, "log1p": jnp.log1p, "sqrt": jnp.sqrt,
        "rsqrt": lambda x: 1 / jnp.sqrt(x), "square": lambda x: x * x, "abs": jnp.abs, "sin": jnp.sin, "cos": jnp.cos, "tan": jnp.tan,
        "sinh": jnp.sinh, "cosh": jnp.cosh, "tanh": jnp.tanh, "erf": jax.scipy.special.erf, "reciprocal": lambda x: 1 / x,
        "sigmoid": jax.nn.sigmoid, "logsigmoid": jax.nn.log_sigmoid, "silu": lambda x: x * jax.nn.sigmoid(x), "softsign": jax.nn.soft_sign,
        "relu": lambda x: jnp.maximum(x, 0), "relu6": lambda x: jnp.clip(x, 0, 6), "floor": jnp.floor, "ceil": jnp.ceil,
        "sign": jnp.sign, "isnan": jnp.isnan, "isinf": jnp.isinf, "logical_not": lambda x: x == 0,
        "asin": jnp.arcsin, "acos": jnp.arccos, "atan": jnp.arctan, "asinh": jnp.arcsinh, "acosh": jnp.arccosh, "atanh": jnp.arctanh,
        "isfinite": jnp.isfinite, "assign": lambda x: x, "mish": lambda x: x * jnp.tanh(jax.nn.softplus(x)),
        "tanh_shrink": lambda x: x - jnp.tanh(x)}.items():
    rule(_name)(_with(_function))
for _name, _function in {"assign_": lambda x: x, "relu_": lambda x: jnp.maximum(x, 0), "share_data": lambda x: x, "share_data_": lambda x: x,
                         "memcpy": lambda x: x}.items():
    rule(_name)(_with(_function))

rule("trunc")(lambda op, input: jnp.trunc(input))
rule("leaky_relu")(_with(lambda x, slope: jnp.where(x >= 0, x, x * slope), "negative_slope"))
rule("hardsigmoid")(_with(lambda x, slope, offset: jnp.clip(x * slope + offset, 0, 1), "slope", "offset"))
rule("elu")(_with(lambda x, alpha: jnp.where(x > 0, x, alpha * jnp.expm1(jnp.minimum(x, 0))), "alpha"))
rule("celu")(_with(lambda x, alpha: jnp.where(x >= 0, x, alpha * jnp.expm1(jnp.where(x < 0, x, 0) / alpha)), "alpha"))
rule("selu")(_with(lambda x, scale, alpha: scale * jnp.where(x > 0, x, alpha * jnp.expm1(jnp.minimum(x, 0))), "scale", "alpha"))
rule("stanh")(_with(lambda x, a, b: b * jnp.tanh(a * x), "scale_a", "scale_b"))
rule("softshrink")(_with(lambda x, t: jnp.where(x > t, x - t, jnp.where(x < -t, x + t, 0)), "threshold"))
rule("hardshrink")(_with(lambda x, t: jnp.where((x >= t) | (x <= -t), x, 0), "threshold"))
rule("thresholded_relu")(_with(lambda x, t, low: jnp.where(x > t, x, low), "threshold", "value"))
rule("hardtanh")(_with(jnp.clip, "t_min", "t_max"))


@rule("round")
def _round(op: Operation, x):
    scale = np.asarray(10.0 ** abs(op["decimals"]), x.dtype)
    return jnp.round(x) if op["decimals"] == 0 else jnp.round(x * scale) / scale if op["decimals"] > 0 else jnp.round(x / scale) * scale


@rule("logit")
def _logit(op: Operation, x):
    x = jnp.clip(x, op["eps"], 1 - op["eps"]) if op["eps"] else x
    return jnp.log(x / (1 - x))


@rule("prelu")
def _prelu(op: Operation, x, alpha):
    if alpha.size > 1:
        if op["mode"] != "channel" or op["data_format"] not in ("NC", "NCL", "NCHW", "NCDHW"):
            raise NoRule(f"mode {op['mode']} and layout {op['data_format']}")
        alpha = alpha.reshape([-1 if d == 1 else 1 for d in range(x.ndim)])
    else:
        alpha = alpha.reshape(())
    return jnp.where(x > 0, x, alpha * x)


@rule("swish")
def _swish(op: Operation, x):
    return x * jax.nn.sigmoid(x)


@rule("hardswish")
def _hardswish(op: Operation, x):
    return x * jnp.clip(x + 3, 0, 6) / 6


@rule("hardswish_grad")
def _hardswish_grad(op: Operation, x, out_grad):
    return jnp.where(x <= -3, 0, jnp.where(x >= 3, out_grad, out_grad * (x / 3 + 0.5)))


@rule("softplus")
def _softplus(op: Operation, x):
    beta, threshold = op["beta"], op["threshold"]
    scaled = x * beta
    return jnp.where(scaled > threshold, x, jnp.log1p(jnp.exp(jnp.where(scaled > threshold, 0, scaled))) / beta)


@rule("gelu")
def _gelu(op: Operation, x):
    if op["approximate"]:
        return 0.5 * x * (1 + jnp.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x * x * x)))
    return 0.5 * x * (1 + jax.scipy.special.erf(x * math.sqrt(0.5)))


# ---- gradients of which Paddle has the result -----------------------------------------------------------------

for _name, _function in {
        "relu": lambda op, out, g: jnp.where(out > 0, g, 0), "relu6": lambda op, out, g: jnp.where((out > 0) & (out < 6), g, 0),
        "sigmoid": lambda op, out, g: g * out * (1 - out), "tanh": lambda op, out, g: g * (1 - out * out), "exp": lambda op, out, g: g * out,
        "sqrt": lambda op, out, g: 0.5 * g / out, "rsqrt": lambda op, out, g: -0.5 * g * out * out * out,
        "reciprocal": lambda op, out, g: -g * out * out,
        "hardsigmoid": lambda op, out, g: jnp.where((out > 0) & (out < 1), g * op["slope"], 0),
        "expm1": lambda op, out, g: g * (out + 1),
        "selu": lambda op, out, g: jnp.where(out > 0, g * op["scale"], g * (out + op["scale"] * op["alpha"]))}.items():
    def _of_result(op: Operation, out, out_grad, *, _function=_function, **_):
        return _function(op, out, out_grad)
    rule(f"{_name}_grad")(_of_result)


for _name in ("floor", "ceil", "round", "trunc", "sign"):
    rule(f"{_name}_grad")(lambda op, out_grad, **_: jnp.zeros_like(out_grad))


@rule("elu_grad")
def _elu_grad(op: Operation, x, out, out_grad):
    return jnp.where(x > 0, out_grad, out_grad * op["alpha"] * jnp.exp(jnp.minimum(x, 0)))


@rule("abs_grad")
def _abs_grad(op: Operation, x, out_grad):
    return out_grad * jnp.sign(x)


@rule("hardtanh_grad")
def _hardtanh_grad(op: Operation, x, out_grad):
    return jnp.where((x > op["t_min"]) & (x < op["t_max"]), out_grad, 0)


@rule("logit_grad")
def _logit_grad(op: Operation, x, out_grad):
    found = out_grad / (x * (1 - x))
    return jnp.where((x < op["eps"]) | (x > 1 - op["eps"]), 0, found) if op["eps"] else found


@rule("silu_grad")
def _silu_grad(op: Operation, x, out_grad, out=None):
    s = jax.nn.sigmoid(x)
    return out_grad * (s + x * s * (1 - s))


# ---- of several operands ------------------------------------------------------------------------------------------

for _name, _function in {"add": jnp.add, "subtract": jnp.subtract, "multiply": jnp.multiply, "maximum": jnp.maximum, "minimum": jnp.minimum,
                         "elementwise_pow": jnp.power, "floor_divide": jnp.floor_divide, "remainder": jnp.remainder, "equal": jnp.equal,
                         "not_equal": jnp.not_equal, "less_than": jnp.less, "less_equal": jnp.less_equal, "greater_than": jnp.greater,
                         "greater_equal": jnp.greater_equal}.items():
    rule(_name)(lambda op, x, y, *, _function=_function: _function(x, y))
rule("atan2")(lambda op, x, y: jnp.arctan2(x, y))
# Where one is no number, the other; the first one's gradient where they are equal.
rule("fmax")(lambda op, x, y: jnp.where((x >= y) | jnp.isnan(y), x, y))
rule("fmin")(lambda op, x, y: jnp.where((x <= y) | jnp.isnan(y), x, y))
rule("lerp")(lambda op, x, y, weight: x + weight * (y - x))
rule("add_")(lambda op, x, y: x + y)
for _name, _function in {"logical_and": jnp.logical_and, "logical_or": jnp.logical_or, "logical_xor": jnp.logical_xor}.items():
    rule(_name)(lambda op, x, y, *, _function=_function: _function(x != 0, y != 0))


@rule("divide")
def _divide(op: Operation, x, y):
    return x / y if jnp.issubdtype(x.dtype, jnp.floating) else jnp.trunc(x / y)


@rule("where")
def _where(op: Operation, condition, x, y):
    return jnp.where(condition != 0, x, y)


@rule("masked_fill")
def _masked_fill(op: Operation, x, mask, value):
    return jnp.where(mask != 0, jnp.asarray(value, x.dtype), x)


@rule("add_n")
def _add_n(op: Operation, inputs):
    total = inputs[0]
    for more in inputs[1:]:
        total = total + more
    return total


@rule("scale", "scale_")
def _scale(op: Operation, x, scale):
    factor, bias = _cast(scale, x).reshape(()), np.asarray(op["bias"], x.dtype)
    if not op["bias"]:
        return x * factor
    return x * factor + bias if op["bias_after_scale"] else (x + bias) * factor


def _cast(value, x):
    return value.astype(x.dtype)


@rule("pow")
def _pow(op: Operation, x):
    power = op["y"]
    if power == 0:
        return jnp.ones_like(x)
    if power == int(power) and 0 < power <= 4:
        return math.prod([x] * int(power))
    return jnp.power(x, np.asarray(power, x.dtype))


@rule("clip", "clip_")
def _clip(op: Operation, x, min, max):
    return jnp.minimum(jnp.maximum(x, _cast(min, x).reshape(())), _cast(max, x).reshape(()))


@rule("clip_grad")
def _clip_grad(op: Operation, x, out_grad, min, max):
    return jnp.where((x >= _cast(min, x).reshape(())) & (x <= _cast(max, x).reshape(())), out_grad, 0)


@rule("cast", "cast_")
def _converted(op: Operation, x):
    if op.dtype is None:
        raise NoRule("this element type")
    return x != 0 if op.dtype == np.bool_ else x.astype(op.dtype)


@rule("cast_grad")
def _cast_grad(op: Operation, x, out_grad):
    return out_grad.astype(x.dtype)


# ---- constants ---------------------------------------------------------------------------------------------------

@rule("full")
def _full(op: Operation):
    return np.full(tuple(op["shape"]), op["value"], op.dtype)


@rule("full_int_array")
def _full_int_array(op: Operation):
    return np.asarray(op["value"], op.dtype)


@rule("assign_value", "assign_value_")
def _assign_value(op: Operation, output=None):
    return np.asarray(op["values"], op.dtype).reshape(tuple(op["shape"]))


@rule("full_like")
def _full_like(op: Operation, x, value):
    return jnp.full(x.shape, _scalar(value, "a value"), op.dtype)


@rule("full_with_tensor")
def _full_with_tensor(op: Operation, value, shape):
    return np.full(tuple(int(n) for n in known(shape, "a shape").reshape(-1)), _scalar(value, "a value"), op.dtype)


@rule("increment", "increment_")
def _increment(op: Operation, x):
    return x + np.asarray(op["value"], x.dtype)


@rule("assign_out_")
def _assign_out(op: Operation, x, output):
    return x


@rule("arange")
def _arange(op: Operation, start, end, step):
    return np.arange(*(known(v, "a bound").reshape(-1)[0] for v in (start, end, step)), dtype=op.dtype)
