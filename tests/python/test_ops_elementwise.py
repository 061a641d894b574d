# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every elementwise operation and every move of elements, against JAX."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import reference
from commsched.frontend.stablehlo.ir import DType
from ops import compare

pytestmark = pytest.mark.skipif(not reference.available, reason="the stock MLIR tools are not there")

rng = np.random.default_rng(0)
F = rng.standard_normal((5, 7)).astype(np.float32)
P = (np.abs(F) + 0.1).astype(np.float32)
U = np.tanh(F).astype(np.float32)
I = rng.integers(-50, 50, (5, 7)).astype(np.int32)
J = np.where(I == 0, 3, I[::-1]).astype(np.int32)
B = F > 0
W = rng.integers(0, 2**32, (5, 7), dtype=np.uint32)
SPECIAL = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1e-45, 3.5, -2.5], np.float32)

UNARY = {
    "exp": (lax.exp, F), "exp2": (jnp.exp2, F), "expm1": (lax.expm1, F), "log": (lax.log, P), "log1p": (lax.log1p, P),
    "tanh": (lax.tanh, F), "logistic": (lax.logistic, F), "rsqrt": (lax.rsqrt, P), "sqrt": (lax.sqrt, P),
    "cbrt": (lax.cbrt, F), "sin": (lax.sin, F), "cos": (lax.cos, F), "tan": (lax.tan, U), "erf": (lax.erf, F),
    "erfc": (lax.erfc, F), "erf_inv": (lax.erf_inv, U), "abs": (lax.abs, F), "abs_i": (lax.abs, I),
    "sign": (lax.sign, np.delete(SPECIAL, 5)), "sign_i": (lax.sign, I), "sign_u": (lax.sign, W), "floor": (lax.floor, F * 3),
    "ceil": (lax.ceil, F * 3), "round_even": (lambda x: lax.round(x, lax.RoundingMethod.TO_NEAREST_EVEN), SPECIAL),
    "round_away": (lambda x: lax.round(x, lax.RoundingMethod.AWAY_FROM_ZERO), SPECIAL),
    "is_finite": (lax.is_finite, SPECIAL), "isnan": (jnp.isnan, SPECIAL), "isinf": (jnp.isinf, SPECIAL),
    "isposinf": (jnp.isposinf, SPECIAL),
    "neg": (lax.neg, F), "neg_i": (lax.neg, I), "not": (lax.bitwise_not, I), "not_b": (jnp.logical_not, B),
    "population_count": (lax.population_count, W), "clz": (lax.clz, W), "square": (lax.square, F),
    "asin": (lax.asin, U), "acos": (lax.acos, U), "atan": (lax.atan, F), "sinh": (lax.sinh, F), "cosh": (lax.cosh, F),
    "asinh": (lax.asinh, F), "acosh": (lambda x: lax.acosh(x + 1), P), "atanh": (lax.atanh, U),
    "integer_pow": (lambda x: x**3, F), "reciprocal": (lambda x: 1 / x, P), "gelu": (jax.nn.gelu, F),
    "gelu_exact": (lambda x: jax.nn.gelu(x, approximate=False), F), "silu": (jax.nn.silu, F),
    "softplus": (jax.nn.softplus, F), "log_sigmoid": (jax.nn.log_sigmoid, F), "elu": (jax.nn.elu, F),
    "reduce_precision": (lambda x: lax.reduce_precision(x, 8, 7), F),
    "bitcast": (lambda x: lax.bitcast_convert_type(x, np.int32), F),
    "bitcast_back": (lambda x: lax.bitcast_convert_type(x, np.float32), I),
}


@pytest.mark.parametrize("name", UNARY)
def test_unary(name):
    function, x = UNARY[name]
    compare(function, x, rtol=1e-5)


BINARY = {
    "add": (lax.add, F, P), "sub": (lax.sub, F, P), "mul": (lax.mul, F, P), "div": (lax.div, F, P),
    "rem": (lax.rem, F * 9, P), "pow": (lax.pow, P, F), "max": (lax.max, F, U), "min": (lax.min, F, U),
    "max_nan": (lax.max, SPECIAL, SPECIAL[::-1].copy()), "atan2": (lax.atan2, F, P), "add_i": (lax.add, I, J),
    "mul_i": (lax.mul, I, J), "sub_i": (lax.sub, I, J), "div_i": (lax.div, I, J), "rem_i": (lax.rem, I, J),
    "div_u": (lax.div, W, W[::-1] | 1), "rem_u": (lax.rem, W, W[::-1] | 1), "max_u": (lax.max, W, W[::-1].copy()),
    "max_i": (lax.max, I, J), "min_i": (lax.min, I, J), "floor_divide": (jnp.floor_divide, I, J),
    "mod": (jnp.mod, I, J), "mod_f": (jnp.mod, F, P), "and": (lax.bitwise_and, I, J), "or": (lax.bitwise_or, I, J),
    "xor": (lax.bitwise_xor, I, J), "and_b": (jnp.logical_and, B, ~B), "xor_b": (jnp.logical_xor, B, B[::-1].copy()),
    "shift_left": (lax.shift_left, W, W % 40), "shift_right": (lax.shift_right_logical, W, W % 40),
    "shift_arithmetic": (lax.shift_right_arithmetic, I, (J % 40).astype(np.int32)),
    "division_by_zero": (lax.div, np.array([1, -7, -2**31], np.int32), np.array([0, 0, -1], np.int32)),
    "pow_by_int": (lax.pow, F, I % 5), "hypot": (jnp.hypot, F, P), "logaddexp": (jnp.logaddexp, F, P),
}


@pytest.mark.parametrize("name", BINARY)
def test_binary(name):
    function, x, y = BINARY[name]
    compare(function, x, y, rtol=1e-5)


@pytest.mark.parametrize("direction", ["eq", "ne", "lt", "le", "gt", "ge"])
@pytest.mark.parametrize("pair", [(F, F[::-1].copy()), (I, J), (W, W[::-1].copy()), (B, B[::-1].copy()),
                                  (SPECIAL, SPECIAL[::-1].copy())], ids=["f32", "i32", "u32", "i1", "special"])
def test_compare(direction, pair):
    compare(getattr(lax, direction), *pair)


TYPES = ["float32", "float16", "bfloat16", "int32", "int8", "uint8", "uint32", "bool"]


@pytest.mark.parametrize("target", TYPES)
@pytest.mark.parametrize("source", TYPES)
def test_convert(source, target):
    x = jnp.asarray(P * 7 if "u" in (source[0], target[0]) else F * 7).astype(source)
    compare(lambda v: v.astype(target), np.asarray(x))


def through_types(seed):
    """A number, and types that it goes through, of which each has it or rounds it."""
    random = np.random.default_rng([seed, 8])
    types, value = [str(random.choice(TYPES))], random.choice([random.integers(-100, 100), random.uniform(-100, 100)])
    if types[0][0] == "u":
        value = abs(value)
    value = np.asarray(value).astype(types[0])
    first = value
    while len(types) < 6:
        target = jnp.dtype(str(random.choice(TYPES)))
        if jnp.issubdtype(value.dtype, jnp.floating) and jnp.issubdtype(target, jnp.integer) and not jnp.iinfo(target).min <= np.trunc(float(value)) <= jnp.iinfo(target).max:
            continue  # undefined
        value = value.astype(target)
        types.append(str(target))
    return first, types[1:]


@pytest.mark.parametrize("seed", range(20))
def test_convert_constants(seed):
    """What is folded into one constant is rounded each time."""
    first, types = through_types(seed)

    def function(x):
        value, found = jnp.full((2, 3), first), []
        for target in types:
            value = lax.convert_element_type(value, target)
            found.append(value)
        return x, found
    compare(function, F)


@pytest.mark.parametrize("seed", [1, 3, 6])
def test_a_fault_in_converted_constants_is_found(seed, monkeypatch):
    monkeypatch.setattr(DType, "rounded", lambda self, value: value)
    with pytest.raises(AssertionError):
        test_convert_constants(seed)


def test_select_and_clamp():
    compare(lambda c, a, b: lax.select(c, a, b), B, F, P)
    compare(lambda c, a: jnp.where(c, a, 0.0), B, F)
    compare(lambda a: lax.clamp(-0.5, a, 0.5), F)
    compare(lambda a: jnp.clip(a, -3, 20), I)
    compare(lambda c, a, b: lax.select(c, a, b), np.bool_(True), F, P)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half(dtype):
    x = np.asarray(jnp.asarray(F, dtype))
    compare(lambda v: v * v + 1, x, rtol=1e-2)
    compare(lambda v: jnp.exp(v).sum(0), x, rtol=2e-2)
    compare(lambda v: v @ v.T, x, rtol=2e-2, atol=1e-2)


T = rng.standard_normal((2, 3, 4)).astype(np.float32)
SHAPE = {
    "broadcast": lambda x: jnp.broadcast_to(x[:, :1, None], (2, 3, 5, 4)),
    "broadcast_scalar": lambda x: jnp.broadcast_to(x[0, 0, 0], (3, 2)),
    "broadcast_twice": lambda x: x + x[0] + x[0, 0] + x[0, 0, 0],
    "outer": lambda x: x[0, :, 0][:, None] * x[1, 0, :][None, :],
    "transpose": lambda x: jnp.transpose(x, (2, 0, 1)),
    "transpose_of_broadcast": lambda x: jnp.broadcast_to(x[0, 0], (3, 4)).T + 1,
    "transpose_twice": lambda x: jnp.transpose(jnp.transpose(x, (2, 0, 1)), (1, 0, 2)) * 2,
    "reshape": lambda x: x.reshape(6, 4), "reshape_mixed": lambda x: x.reshape(4, 3, 2),
    "reshape_ones": lambda x: x.reshape(1, 2, 1, 12, 1), "flatten": lambda x: x.reshape(-1),
    "to_scalar": lambda x: x[:1, :1, :1].reshape(()) * 2, "from_scalar": lambda x: x[0, 0, 0].reshape(1, 1),
    "slice": lambda x: x[:, 1:3, ::2], "slice_all": lambda x: x[:], "reverse": lambda x: x[:, ::-1, :],
    "flip_twice": lambda x: jnp.flip(x, (0, 2)), "pad": lambda x: jnp.pad(x, ((0, 0), (1, 2), (3, 0))),
    "pad_negative": lambda x: lax.pad(x, 1.5, ((-1, 2, 0), (1, -2, 0), (0, 0, 0))),
    "pad_inner": lambda x: lax.pad(x, 1.5, ((0, 0, 2), (1, 1, 1), (-1, 2, 1))),
    "concatenate": lambda x: jnp.concatenate([x, x * 2, x[:, :1]], 1), "stack": lambda x: jnp.stack([x, -x], 2),
    "split": lambda x: jnp.split(x, 2, axis=2), "iota": lambda x: x + jnp.arange(4),
    "iota_2d": lambda x: x * lax.broadcasted_iota(np.int32, (3, 4), 0), "eye": lambda x: x[0] * jnp.eye(3, 4),
    "tril": lambda x: jnp.tril(x), "roll": lambda x: jnp.roll(x, 2, axis=1), "tile": lambda x: jnp.tile(x, (1, 2, 1)),
    "repeat": lambda x: jnp.repeat(x, 2, axis=1), "linspace": lambda x: x + jnp.linspace(0, 1, 4),
    "constant": lambda x: x + np.arange(12, dtype=np.float32).reshape(3, 4),
    "one_hot": lambda x: jax.nn.one_hot(jnp.argmax(x, -1), 4), "squeeze": lambda x: jnp.squeeze(x[:, :1], 1),
    "unused": lambda x: (x, jnp.zeros((2,), np.int32)),
}


@pytest.mark.parametrize("name", SHAPE)
def test_shape(name):
    compare(SHAPE[name], T)


def test_random_bits_from_a_key_given_as_data():
    key = np.asarray(jax.random.PRNGKey(3))
    compare(lambda k: jax.random.bits(k, (3, 5)), key)
    compare(lambda k: jax.random.uniform(k, (16,)), key)
    compare(lambda k: jax.random.normal(k, (16,)), key, rtol=1e-4, atol=1e-5)
    compare(lambda k: jax.random.bernoulli(jax.random.split(k)[1], 0.3, (4, 4)), key)


def test_double_precision():
    with jax.enable_x64(True):
        x = rng.standard_normal((4, 5))
        compare(lambda v: (jnp.exp(v) @ v.T, jnp.argmax(v, 1), v.sum(), jnp.arange(3)), x, rtol=1e-12)


CONSTANTS = {
    "f16": np.array([[np.inf, 1e-3], [np.nan, -0.0]], np.float16), "bf16": np.array([-np.inf, 1e-3, -0.0, 3e38], jnp.bfloat16),
    "bf16_large": np.arange(-200, 200).astype(jnp.bfloat16) / 3, "bf16_same": np.full(3, 0.1, jnp.bfloat16),
    "zeros_of_two_signs": np.array([0.0, -0.0, 0.0], np.float32), "empty": np.zeros((0, 3), np.float32),
    "empty_behind": np.zeros((3, 0), np.int32), "bool": np.array([True, False]), "u8": np.array([255, 0], np.uint8),
}


@pytest.mark.parametrize("name", CONSTANTS)
def test_constants(name):
    value = CONSTANTS[name]

    def function(x):
        given = jnp.asarray(value)
        return given, x + given.astype(np.float32).sum(), 1 / given.astype(np.float32)  # of which sign a zero is
    compare(function, np.float32(1))


def test_reshapes_of_nothing():
    compare(lambda x: (x[:0].reshape(0, 7, 2).transpose(2, 0, 1), x[:, :0].reshape(1, 0, 3).sum((1, 2))), F)
