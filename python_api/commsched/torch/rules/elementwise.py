# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Element by element. Halves are computed in float32 and rounded once, as PyTorch does it."""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp
from jax import lax

from .table import RULES, NoRule, Operation, arrays, rule


def _reciprocal(x):
    return 1 / x


def _sign(x):
    return x if x.dtype == jnp.bool_ else jnp.where(jnp.isnan(x), 0, jnp.sign(x)) if jnp.issubdtype(x.dtype, jnp.floating) else jnp.sign(x)


_UNARY = {
    "abs": jnp.abs, "neg": jnp.negative, "exp": jnp.exp, "expm1": jnp.expm1, "exp2": jnp.exp2, "log": jnp.log, "log1p": jnp.log1p,
    "log2": lambda x: jnp.log(x) * (1 / math.log(2)), "log10": lambda x: jnp.log(x) * (1 / math.log(10)), "sqrt": jnp.sqrt,
    "rsqrt": lambda x: 1 / jnp.sqrt(x), "reciprocal": _reciprocal, "sin": jnp.sin, "cos": jnp.cos, "tan": jnp.tan, "sinh": jnp.sinh,
    "cosh": jnp.cosh, "tanh": jnp.tanh, "asin": jnp.arcsin, "acos": jnp.arccos, "atan": jnp.arctan, "asinh": jnp.arcsinh,
    "acosh": jnp.arccosh, "atanh": jnp.arctanh, "erf": jax.scipy.special.erf, "erfc": jax.scipy.special.erfc,
    "erfinv": jax.scipy.special.erfinv, "sigmoid": jax.nn.sigmoid, "relu": lambda x: jnp.where(jnp.isnan(x), x, jnp.maximum(x, 0)),
    "sign": _sign, "sgn": _sign, "floor": jnp.floor, "ceil": jnp.ceil, "trunc": jnp.trunc, "frac": lambda x: x - jnp.trunc(x),
    "lgamma": jax.scipy.special.gammaln, "digamma": jax.scipy.special.digamma,
    "silu": lambda x: x / (1 + jnp.exp(-x)),
}
for _name, _function in _UNARY.items():
    def _unary(op: Operation, x, *, _function=_function):
        return _function(*arrays(op.wide, x))
    if _name not in ("abs", "sgn"):
        rule(f"aten.{_name}")(_unary)


@rule("aten.abs")
def _abs(op: Operation, x):
    return jnp.abs(x if jnp.iscomplexobj(x) else arrays(op.wide, x)[0])


@rule("aten.sgn")
def _sgn(op: Operation, x):
    if not jnp.iscomplexobj(x):
        return _sign(*arrays(op.wide, x))
    size = jnp.abs(x)
    return x * jnp.where(size == 0, 0, 1 / jnp.where(size == 0, 1, size))


@rule("aten.round")
def _round(op: Operation, x, *, decimals=0):
    if decimals:
        raise NoRule("decimals")
    return jnp.round(x)


@rule("aten.polygamma")
def _polygamma(op: Operation, n, x):
    (x,) = arrays(op.wide, x)
    return jax.scipy.special.polygamma(n, x)


@rule("aten.isnan")
def _isnan(op: Operation, x):
    return jnp.isnan(x)


@rule("aten.isinf")
def _isinf(op: Operation, x):
    return jnp.isinf(x)


@rule("aten.logical_not")
def _logical_not(op: Operation, x):
    return x == 0


@rule("aten.bitwise_not")
def _bitwise_not(op: Operation, x):
    return ~x


@rule("aten.gelu")
def _gelu(op: Operation, x, *, approximate="none"):
    (x,) = arrays(op.wide, x)
    if approximate == "tanh":
        return 0.5 * x * (1 + jnp.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x * x * x)))
    return x * 0.5 * (1 + jax.scipy.special.erf(x * math.sqrt(0.5)))


# ---- of two operands ---------------------------------------------------------------------------------------

def _times(op: Operation, factor, x):
    return x if isinstance(factor, (int, float)) and factor == 1 else arrays(op.wide, factor)[0] * x


@rule("aten.add")
def _add(op: Operation, a, b, *, alpha=1):
    a, b = arrays(op.wide, a, b)
    if op.dtype == jnp.bool_:
        return a | b if alpha else a
    return a + _times(op, alpha, b)


@rule("aten.sub")
def _sub(op: Operation, a, b, *, alpha=1):
    a, b = arrays(op.wide, a, b)
    return a - _times(op, alpha, b)


@rule("aten.rsub")
def _rsub(op: Operation, a, b, alpha=1):
    return _sub(op, b, a, alpha=alpha)


def _rest(a, b):
    """With the sign of a."""
    return lax.rem(*jnp.broadcast_arrays(a, b))


def _floor_divide(a, b):
    if not jnp.issubdtype(a.dtype, jnp.floating):
        return jnp.floor_divide(a, b)
    rest = _rest(a, b)
    quotient = (a - rest) / b
    quotient = jnp.where((rest != 0) & ((b < 0) != (rest < 0)), quotient - 1, quotient)
    whole = jnp.floor(quotient)
    whole = jnp.where(quotient - whole > 0.5, whole + 1, whole)
    whole = jnp.where(quotient != 0, whole, jnp.copysign(jnp.zeros_like(a), a / b))
    return jnp.where(b == 0, a / b, whole)


@rule("aten.div")
def _div(op: Operation, a, b, *, rounding_mode=None):
    a, b = arrays(op.wide, a, b)
    if rounding_mode is None:
        return a / b
    if rounding_mode == "floor":
        return _floor_divide(a, b)
    return jnp.trunc(a / b) if jnp.issubdtype(a.dtype, jnp.floating) else lax.div(*jnp.broadcast_arrays(a, b))


@rule("aten.floor_divide")
def _floor_division(op: Operation, a, b):
    return _floor_divide(*arrays(op.wide, a, b))


@rule("aten.remainder")
def _remainder(op: Operation, a, b):
    a, b = arrays(op.wide, a, b)
    rest = _rest(a, b)
    return jnp.where((rest != 0) & ((rest < 0) != (b < 0)), rest + b, rest)


@rule("aten.pow")
def _pow(op: Operation, a, b):
    if isinstance(b, (int, float)) and not isinstance(b, bool):
        (a,) = arrays(op.wide, a)
        if b == 0.5:
            return jnp.sqrt(a)
        if b == -0.5:
            return 1 / jnp.sqrt(a)
        if abs(b) <= 4 and b == int(b) and (b >= 0 or jnp.issubdtype(op.dtype, jnp.floating)):
            power = jnp.ones_like(a)
            for _ in range(int(abs(b))):
                power = power * a
            return power if b >= 0 else 1 / power
    return jnp.power(*arrays(op.wide, a, b))


def _logical(function):
    return lambda op, a, b: function(jnp.asarray(a) != 0, jnp.asarray(b) != 0)


def _binary(function):
    return lambda op, a, b: function(*arrays(op.wide, a, b))


def _xlogy(a, b):
    return jnp.where(jnp.isnan(b), b, jnp.where(a == 0, 0, a * jnp.log(jnp.where(a == 0, 1, b))))


for _name, _function in {"mul": jnp.multiply, "maximum": jnp.maximum, "minimum": jnp.minimum, "fmax": jnp.fmax, "fmin": jnp.fmin,
                         "atan2": jnp.arctan2, "fmod": _rest, "copysign": jnp.copysign, "bitwise_and": jnp.bitwise_and,
                         "bitwise_or": jnp.bitwise_or, "bitwise_xor": jnp.bitwise_xor, "bitwise_left_shift": jnp.left_shift,
                         "bitwise_right_shift": jnp.right_shift, "xlogy": _xlogy, "hypot": jnp.hypot}.items():
    rule(f"aten.{_name}")(_binary(_function))
for _name, _of in {"and": "bitwise_and", "or": "bitwise_or", "xor": "bitwise_xor", "lshift": "bitwise_left_shift", "rshift": "bitwise_right_shift"}.items():
    rule(f"aten.__{_name}__")(RULES[f"aten.{_of}"])
for _name, _function in {"logical_and": jnp.logical_and, "logical_or": jnp.logical_or, "logical_xor": jnp.logical_xor}.items():
    rule(f"aten.{_name}")(_logical(_function))


def _comparison(function):
    return lambda op, a, b: function(*arrays(op.common(), a, b))


for _name, _function in {"eq": jnp.equal, "ne": jnp.not_equal, "lt": jnp.less, "le": jnp.less_equal, "gt": jnp.greater,
                         "ge": jnp.greater_equal}.items():
    rule(f"aten.{_name}")(_comparison(_function))


# ---- of three ------------------------------------------------------------------------------------------------

@rule("aten.where")
def _where(op: Operation, condition, a, b):
    a, b = arrays(op.dtype, a, b)
    return jnp.where(jnp.asarray(condition) != 0, a, b)


@rule("aten.masked_fill")
def _masked_fill(op: Operation, x, mask, value):
    x, value = arrays(op.dtype, x, value)
    return jnp.where(mask, value, x)


@rule("aten.clamp", "aten.clip")
def _clamp(op: Operation, x, min=None, max=None):
    (x,) = arrays(op.wide, x)
    if min is not None:
        x = jnp.maximum(x, *arrays(op.wide, min))
    return x if max is None else jnp.minimum(x, *arrays(op.wide, max))


@rule("aten.clamp_min")
def _clamp_min(op: Operation, x, min):
    return _clamp(op, x, min)


@rule("aten.clamp_max")
def _clamp_max(op: Operation, x, max):
    return _clamp(op, x, None, max)


@rule("aten.addcmul")
def _addcmul(op: Operation, x, a, b, value=1):
    x, a, b = arrays(op.wide, x, a, b)
    return x + _times(op, value, a) * b


@rule("aten.addcdiv")
def _addcdiv(op: Operation, x, a, b, value=1):
    x, a, b = arrays(op.wide, x, a, b)
    return x + _times(op, value, a / b)


@rule("aten.lerp")
def _lerp(op: Operation, a, b, weight):
    a, b, weight = arrays(op.wide, a, b, weight)
    return jnp.where(jnp.abs(weight) < 0.5, a + weight * (b - a), b - (b - a) * (1 - weight))


# ---- the same, as PyTorch's own decompositions call them ----------------------------------------------------

for _name in ("abs acos acosh asin asinh atan atanh cos cosh bitwise_not ceil digamma erf erfc exp expm1 exp2 floor lgamma log log1p "
              "log2 log10 neg reciprocal round sign sin sinh sqrt rsqrt tan tanh trunc add atan2 bitwise_and bitwise_or bitwise_xor div "
              "eq fmax fmin fmod ge gt hypot le lt maximum minimum mul ne pow remainder sub where").split():
    rule(f"prims.{_name}")(RULES[f"aten.{_name}"])
rule("prims.erf_inv")(RULES["aten.erfinv"])
rule("prims.shift_left")(RULES["aten.bitwise_left_shift"])
rule("prims.shift_right_arithmetic")(RULES["aten.bitwise_right_shift"])


# ---- types and copies ----------------------------------------------------------------------------------------

@rule("aten._to_copy", "prims.convert_element_type", "aten.clone", "aten.lift_fresh_copy", "aten.lift_fresh", "aten.alias",
      "aten.detach", "aten.alias_copy", "aten.detach_copy", "aten.lift", "aten.contiguous", "prims.device_put", "prims.view_of", "prims.clone")
def _same(op: Operation, x, *_, **__):
    x, target = jnp.asarray(x), op.dtype
    if jnp.iscomplexobj(x) and not jnp.issubdtype(target, jnp.complexfloating):
        x = jnp.real(x)
    if target == jnp.bool_ and x.dtype != jnp.bool_:
        return x != 0
    if target == jnp.uint8 and jnp.issubdtype(x.dtype, jnp.floating):
        return x.astype(jnp.int32).astype(target)
    return x.astype(target)


@rule("aten.copy")
def _copy(op: Operation, old, new, non_blocking=False):
    return jnp.broadcast_to(_same(op, new), op.shape)


