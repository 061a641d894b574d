# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Elementwise StableHLO and CHLO operations on scalars, in arith and math."""

from __future__ import annotations

import math
from typing import Callable

from .ir import DType, Value

INDEX = DType("index")
BOOL = DType("i1")


class Body:
    """The body of a linalg.generic (or any list of scalar operations) being written."""

    def __init__(self):
        self.lines: list[str] = []
        self.constants: dict[str, object] = {}
        self._pool: dict[tuple, str] = {}

    def op(self, text: str) -> str:
        name = f"%b{len(self.lines)}"
        self.lines.append(f"{name} = {text}")
        return name

    def constant(self, value, dtype: DType) -> str:
        literal = dtype.number(value)
        key = (literal, dtype.mlir)
        if key not in self._pool:
            text = f"arith.constant {literal}" + ("" if dtype.is_bool else f" : {dtype.mlir}")
            self._pool[key] = self.op(text)
            self.constants[self._pool[key]] = value
        return self._pool[key]

    def binary(self, name: str, a: str, b: str, dtype: DType) -> str:
        return self.op(f"{name} {a}, {b} : {dtype.mlir}")

    def unary(self, name: str, a: str, dtype: DType) -> str:
        return self.op(f"{name} {a} : {dtype.mlir}")

    def select(self, condition: str, a: str, b: str, dtype: DType) -> str:
        return self.op(f"arith.select {condition}, {a}, {b} : {dtype.mlir}")

    def compare(self, predicate: str, a: str, b: str, dtype: DType) -> str:
        kind = "f" if dtype.is_float else "i"
        return self.op(f"arith.cmp{kind} {predicate}, {a}, {b} : {dtype.mlir}")

    def extract(self, tensor: Value, indices) -> str:
        return self.op(f"tensor.extract {tensor.ref}[{', '.join(indices)}] : {tensor.type}")

    def index_cast(self, a: str, dtype: DType) -> str:
        kind = "index_castui" if dtype.unsigned else "index_cast"
        return self.op(f"arith.{kind} {a} : {dtype.mlir} to index")


# (body, operands, operand types, result type, operation) -> result
Rule = Callable[..., str]


def _arithmetic(on_float: str, on_int: str, on_unsigned: str, on_bool: str) -> Rule:
    def rule(b, a, t, out, op):
        d = t[0]
        name = on_float if d.is_float else on_bool if d.is_bool else on_unsigned if d.unsigned else on_int
        return b.binary(name, a[0], a[1], d)
    return rule


def _math(name: str) -> Rule:
    return lambda b, a, t, out, op: b.unary(f"math.{name}", a[0], out)


def _divide(kind: str) -> Rule:
    def rule(b, a, t, out, op):
        d = t[0]
        if d.is_float:
            return b.binary("arith.divf" if kind == "div" else "arith.remf", a[0], a[1], d)
        name = f"arith.{kind}{'u' if d.unsigned else 's'}i"
        known = b.constants.get(a[1])
        if known is not None and known not in (0, -1):
            return b.binary(name, a[0], a[1], d)
        # Division by zero is -1 (remainder: the dividend), overflow the dividend (remainder: 0).
        zero, one, minus = b.constant(0, d), b.constant(1, d), b.constant(-1, d)
        by_zero = b.compare("eq", a[1], zero, d)
        unsafe, overflow = by_zero, None
        if not d.unsigned:
            least = b.compare("eq", a[0], b.constant(-(1 << (d.width - 1)), d), d)
            overflow = b.binary("arith.andi", least, b.compare("eq", a[1], minus, d), BOOL)
            unsafe = b.binary("arith.ori", by_zero, overflow, BOOL)
        result = b.binary(name, a[0], b.select(unsafe, one, a[1], d), d)
        return b.select(by_zero, minus if kind == "div" else a[0], result, d)
    return rule


def _shift(name: str) -> Rule:
    def rule(b, a, t, out, op):
        d = t[0]
        known = b.constants.get(a[1])
        if known is not None and 0 <= known < d.width:
            return b.binary(f"arith.{name}", a[0], a[1], d)
        width = b.constant(d.width, d)
        inside = b.compare("ult", a[1], width, d)
        last = b.constant(d.width - 1, d)
        shifted = b.binary(f"arith.{name}", a[0], b.select(inside, a[1], last, d), d)
        return shifted if name == "shrsi" else b.select(inside, shifted, b.constant(0, d), d)
    return rule


def _negate(b, a, t, out, op):
    if out.is_float:
        return b.unary("arith.negf", a[0], out)
    return b.binary("arith.subi", b.constant(0, out), a[0], out)


def _not(b, a, t, out, op):
    return b.binary("arith.xori", a[0], b.constant(True if out.is_bool else -1, out), out)


def _abs(b, a, t, out, op):
    return a[0] if out.unsigned else b.unary("math.absf" if out.is_float else "math.absi", a[0], out)


def _sign(b, a, t, out, op):
    zero = b.constant(0, out)
    if out.is_float:
        one = b.op(f"math.copysign {b.constant(1, out)}, {a[0]} : {out.mlir}")
        return b.select(b.compare("one", a[0], zero, out), one, a[0], out)
    positive = b.op(f"arith.extui {b.compare('ugt' if out.unsigned else 'sgt', a[0], zero, out)} : i1 to {out.mlir}")
    if out.unsigned:
        return positive
    negative = b.op(f"arith.extui {b.compare('slt', a[0], zero, out)} : i1 to {out.mlir}")
    return b.binary("arith.subi", positive, negative, out)


def _logistic(b, a, t, out, op):
    one = b.constant(1, out)
    exp = b.unary("math.exp", b.unary("arith.negf", a[0], out), out)
    return b.binary("arith.divf", one, b.binary("arith.addf", one, exp, out), out)


def _is_finite(b, a, t, out, op):
    return b.compare("olt", b.unary("math.absf", a[0], t[0]), b.constant(math.inf, t[0]), t[0])


def _power(b, a, t, out, op):
    if out.is_float:
        return b.binary("math.powf", a[0], a[1], out)
    return b.op(f"math.ipowi {a[0]}, {a[1]} : {out.mlir}")


def total_order(b: Body, direction: str, x: str, y: str, dtype: DType) -> str:
    """-NaN < -inf < ... < -0 < 0 < ... < inf < NaN; integers as ever."""
    if dtype.is_float:
        whole = DType(f"i{dtype.width}")

        def key(value):
            bits = b.op(f"arith.bitcast {value} : {dtype.mlir} to {whole.mlir}")
            sign = b.binary("arith.shrsi", bits, b.constant(whole.width - 1, whole), whole)
            return b.binary("arith.xori", bits, b.binary("arith.shrui", sign, b.constant(1, whole), whole), whole)
        x, y, dtype = key(x), key(y), whole
    sign = "u" if dtype.unsigned or dtype.is_bool else "s"
    return b.compare({"EQ": "eq", "NE": "ne"}.get(direction) or sign + direction.lower(), x, y, dtype)


def _compare(b, a, t, out, op):
    direction = str(op.attributes["comparison_direction"]).split()[-1].rstrip(">")
    d = t[0]
    if d.is_float:
        if "compare_type" in op.attributes and "TOTALORDER" in str(op.attributes["compare_type"]):
            return total_order(b, direction, a[0], a[1], d)
        predicate = {"EQ": "oeq", "NE": "une", "LT": "olt", "LE": "ole", "GT": "ogt", "GE": "oge"}[direction]
    else:
        sign = "u" if d.unsigned or d.is_bool else "s"
        predicate = {"EQ": "eq", "NE": "ne"}.get(direction) or sign + direction.lower()
    return b.compare(predicate, a[0], a[1], d)


def _select(b, a, t, out, op):
    return b.select(a[0], a[1], a[2], out)


def _clamp(b, a, t, out, op):
    return MINIMUM(b, [MAXIMUM(b, [a[0], a[1]], [out] * 2, out, op), a[2]], [out] * 2, out, op)


def convert(b: Body, a: str, source: DType, target: DType) -> str:
    """A value of another element type, as stablehlo.convert does it."""
    if source.mlir == target.mlir:
        return a
    to = f"{a} : {source.mlir} to {target.mlir}"
    if source.is_float and target.is_float:
        if source.width == target.width:  # f16 and bf16 meet in f32
            wide = b.op(f"arith.extf {a} : {source.mlir} to f32")
            return b.op(f"arith.truncf {wide} : f32 to {target.mlir}")
        return b.op(("arith.extf " if source.width < target.width else "arith.truncf ") + to)
    if target.is_bool:
        return b.compare("une" if source.is_float else "ne", a, b.constant(0, source), source)
    unsigned = source.unsigned or source.is_bool
    if source.is_float:
        return b.op(("arith.fptoui " if target.unsigned else "arith.fptosi ") + to)
    if target.is_float:
        return b.op(("arith.uitofp " if unsigned else "arith.sitofp ") + to)
    if source.width < target.width:
        return b.op(("arith.extui " if unsigned else "arith.extsi ") + to)
    return b.op("arith.trunci " + to)


def _bitcast(b, a, t, out, op):
    """Of types of one width."""
    if t[0].mlir == out.mlir:
        return a[0]
    return b.op(f"arith.bitcast {a[0]} : {t[0].mlir} to {out.mlir}")


_MANTISSA = {"f16": 10, "bf16": 7, "f32": 23, "f64": 52}


def _reduce_precision(b, a, t, out, op):
    """To the nearest even mantissa; what is too large becomes infinite, what would be subnormal zero."""
    exponent, mantissa = op.attributes["exponent_bits"].value, op.attributes["mantissa_bits"].value
    own = _MANTISSA[out.mlir]
    own_exponent = out.width - 1 - own
    d = DType(f"i{out.width}")
    bits = b.op(f"arith.bitcast {a[0]} : {out.mlir} to {d.mlir}")
    if mantissa < own:
        cut = own - mantissa
        last = b.binary("arith.shrui", bits, b.constant(cut, d), d)
        bias = b.binary("arith.addi", b.binary("arith.andi", last, b.constant(1, d), d),
                        b.constant((1 << cut >> 1) - 1, d), d)
        bits = b.binary("arith.andi", b.binary("arith.addi", bits, bias, d), b.constant(-(1 << cut), d), d)
    if exponent < own_exponent:
        bias, narrow = (1 << (own_exponent - 1)) - 1, (1 << (exponent - 1)) - 1
        infinite = b.constant(((1 << own_exponent) - 1) << own, d)
        power = b.binary("arith.andi", bits, infinite, d)
        zero = b.binary("arith.andi", bits, b.constant(1 << (out.width - 1), d), d)
        over = b.compare("ugt", power, b.constant((bias + narrow) << own, d), d)
        under = b.compare("ule", power, b.constant((bias - narrow) << own, d), d)
        bits = b.select(over, b.binary("arith.ori", zero, infinite, d), bits, d)
        bits = b.select(under, zero, bits, d)
    result = b.op(f"arith.bitcast {bits} : {d.mlir} to {out.mlir}")
    return b.select(b.compare("uno", a[0], a[0], out), a[0], result, out)


def _polynomial(b: Body, x: str, coefficients, dtype: DType) -> str:
    result = b.constant(coefficients[0], dtype)
    for c in coefficients[1:]:
        result = b.op(f"math.fma {result}, {x}, {b.constant(c, dtype)} : {dtype.mlir}")
    return result


def _erf_inv(b, a, t, out, op):
    # M. Giles, "Approximating the erfinv function", GPU Computing Gems, 2011 (single precision).
    if out.mlir == "f64":
        raise NotImplementedError("f64")
    f = DType("f32")
    x = convert(b, a[0], t[0], f)
    one = b.constant(1, f)
    square = b.binary("arith.mulf", x, x, f)
    w = b.unary("arith.negf", b.unary("math.log1p", b.unary("arith.negf", square, f), f), f)
    small = b.compare("olt", w, b.constant(5.0, f), f)
    near = _polynomial(b, b.binary("arith.subf", w, b.constant(2.5, f), f), (
        2.81022636e-08, 3.43273939e-07, -3.5233877e-06, -4.39150654e-06, 0.00021858087,
        -0.00125372503, -0.00417768164, 0.246640727, 1.50140941), f)
    root = b.unary("math.sqrt", w, f)
    far = _polynomial(b, b.binary("arith.subf", root, b.constant(3.0, f), f), (
        -0.000200214257, 0.000100950558, 0.00134934322, -0.00367342844, 0.00573950773,
        -0.0076224613, 0.00943887047, 1.00167406, 2.83297682), f)
    result = b.binary("arith.mulf", b.select(small, near, far, f), x, f)
    edge = b.compare("oeq", b.unary("math.absf", x, f), one, f)
    infinite = b.binary("arith.mulf", x, b.constant(math.inf, f), f)
    return convert(b, b.select(edge, infinite, result, f), f, out)


ADD = _arithmetic("arith.addf", "arith.addi", "arith.addi", "arith.ori")
MULTIPLY = _arithmetic("arith.mulf", "arith.muli", "arith.muli", "arith.andi")
MAXIMUM = _arithmetic("arith.maximumf", "arith.maxsi", "arith.maxui", "arith.ori")
MINIMUM = _arithmetic("arith.minimumf", "arith.minsi", "arith.minui", "arith.andi")

RULES: dict[str, Rule] = {
    "stablehlo.add": ADD,
    "stablehlo.multiply": MULTIPLY,
    "stablehlo.maximum": MAXIMUM,
    "stablehlo.minimum": MINIMUM,
    "stablehlo.subtract": _arithmetic("arith.subf", "arith.subi", "arith.subi", "arith.xori"),
    "stablehlo.divide": _divide("div"),
    "stablehlo.remainder": _divide("rem"),
    "stablehlo.and": _arithmetic("", "arith.andi", "arith.andi", "arith.andi"),
    "stablehlo.or": _arithmetic("", "arith.ori", "arith.ori", "arith.ori"),
    "stablehlo.xor": _arithmetic("", "arith.xori", "arith.xori", "arith.xori"),
    "stablehlo.atan2": lambda b, a, t, out, op: b.binary("math.atan2", a[0], a[1], out),
    "stablehlo.power": _power,
    "stablehlo.shift_left": _shift("shli"),
    "stablehlo.shift_right_logical": _shift("shrui"),
    "stablehlo.shift_right_arithmetic": _shift("shrsi"),
    "stablehlo.negate": _negate,
    "stablehlo.not": _not,
    "stablehlo.abs": _abs,
    "stablehlo.sign": _sign,
    "stablehlo.logistic": _logistic,
    "stablehlo.is_finite": _is_finite,
    "stablehlo.compare": _compare,
    "stablehlo.select": _select,
    "stablehlo.clamp": _clamp,
    "stablehlo.convert": lambda b, a, t, out, op: convert(b, a[0], t[0], out),
    "stablehlo.bitcast_convert": _bitcast,
    "stablehlo.reduce_precision": _reduce_precision,
    "stablehlo.exponential": _math("exp"),
    "stablehlo.exponential_minus_one": _math("expm1"),
    "stablehlo.log": _math("log"),
    "stablehlo.log_plus_one": _math("log1p"),
    "stablehlo.rsqrt": _math("rsqrt"),
    "stablehlo.sqrt": _math("sqrt"),
    "stablehlo.cbrt": _math("cbrt"),
    "stablehlo.tanh": _math("tanh"),
    "stablehlo.sine": _math("sin"),
    "stablehlo.cosine": _math("cos"),
    "stablehlo.tan": _math("tan"),
    "stablehlo.floor": _math("floor"),
    "stablehlo.ceil": _math("ceil"),
    "stablehlo.round_nearest_even": _math("roundeven"),
    "stablehlo.round_nearest_afz": _math("round"),
    "stablehlo.popcnt": _math("ctpop"),
    "stablehlo.count_leading_zeros": _math("ctlz"),
    "chlo.square": lambda b, a, t, out, op: MULTIPLY(b, [a[0], a[0]], [out] * 2, out, op),
    "chlo.erf_inv": _erf_inv,
    "chlo.is_inf": lambda b, a, t, out, op: b.compare(
        "oeq", b.unary("math.absf", a[0], t[0]), b.constant(math.inf, t[0]), t[0]),
    "chlo.is_pos_inf": lambda b, a, t, out, op: b.compare("oeq", a[0], b.constant(math.inf, t[0]), t[0]),
    "chlo.is_neg_inf": lambda b, a, t, out, op: b.compare("oeq", a[0], b.constant(-math.inf, t[0]), t[0]),
}
for _name in ("erf", "erfc", "acos", "acosh", "asin", "asinh", "atan", "atanh", "sinh", "cosh", "tan"):
    RULES[f"chlo.{_name}"] = _math(_name)
