# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What of jax.lax, jax.nn and jax.random test_sweep.py tries: name -> Case."""

import dataclasses
import functools
from typing import Callable, Optional

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

rng = np.random.default_rng(5)
F = rng.standard_normal((4, 6)).astype(np.float32)      # any numbers
P = (np.abs(F) + 0.1).astype(np.float32)                # positive
U = np.tanh(F).astype(np.float32) * 0.9                 # inside (-1, 1)
I = rng.integers(-9, 9, (4, 6)).astype(np.int32)
N = rng.integers(0, 6, (4, 6)).astype(np.int32)         # indices
W = rng.integers(0, 2**32, (4, 6), np.uint32)
B = F > 0
S = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1.5, -1.5, 2.5], np.float32)
T = rng.standard_normal((2, 3, 4)).astype(np.float32)
V = rng.standard_normal(7).astype(np.float32)
M = rng.standard_normal((6, 6)).astype(np.float32)
KEY = np.asarray([3, 5], np.uint32)
BITS = np.asarray([3, 5, 0xFFFFFFF0, 0x90ABCDEF], np.uint32)  # a key of "rbg"


@dataclasses.dataclass
class Case:
    """function(*arguments) against JAX. grad: the derivative too, with respect to all floating-point arguments.
    refused: the operation that UnsupportedOp names instead."""

    function: Callable
    arguments: tuple
    grad: bool = True
    rtol: float = 1e-5
    atol: float = 2e-6
    refused: Optional[str] = None


def case(function, *arguments, **more):
    return Case(function, arguments, **more)


plain = functools.partial(case, grad=False)


def key(function):
    """With a typed key made of data."""
    return plain(lambda k: function(jax.random.wrap_key_data(k)), KEY, rtol=1e-4, atol=1e-5)


def refused(name, function, *arguments):
    return Case(function, arguments, grad=False, refused=name)


def _custom_jvp():
    @jax.custom_jvp
    def f(x):
        return jnp.sin(x)
    f.defjvp(lambda p, t: (f(p[0]), 2 * jnp.cos(p[0]) * t[0]))
    return f


def _custom_vjp():
    @jax.custom_vjp
    def f(x):
        return x * x
    f.defvjp(lambda x: (x * x, x), lambda x, g: (3 * x * g,))
    return f


LAX = {
    # Elementwise.
    "abs": case(lax.abs, F), "acos": case(lax.acos, U), "acosh": case(lax.acosh, P + 1), "asin": case(lax.asin, U),
    "asinh": case(lax.asinh, F), "atan": case(lax.atan, F), "atan2": case(lax.atan2, F, P), "atanh": case(lax.atanh, U),
    "cbrt": case(lax.cbrt, P), "ceil": case(lax.ceil, F), "clz": plain(lax.clz, W), "clz_i": plain(lax.clz, I),
    "cos": case(lax.cos, F), "cosh": case(lax.cosh, F), "div": case(lax.div, F, P), "div_i": plain(lax.div, I, I),
    "erf": case(lax.erf, F), "erf_inv": case(lax.erf_inv, U), "erfc": case(lax.erfc, F, rtol=1e-4),
    "exp": case(lax.exp, F), "exp2": case(lax.exp2, F), "expm1": case(lax.expm1, F), "floor": case(lax.floor, F),
    "integer_pow": case(lambda x: (x**2, x**3, x**-2, x**7, x**0), P), "is_finite": plain(lax.is_finite, S),
    "integer_pow_i": plain(lambda x: (x**2, x**3, x**9), I), "pow_i": plain(lambda x, n: jnp.power(x, n), I, N),
    "pow_f_i": case(lambda x: lax.pow(x, N), F), "log": case(lax.log, P), "log1p": case(lax.log1p, P),
    "logistic": case(lax.logistic, F), "max": case(lax.max, F, U), "min": case(lax.min, F, U),
    "mul": case(lax.mul, F, P), "neg": case(lax.neg, F), "nextafter": plain(lax.nextafter, F, P),
    "population_count": plain(lax.population_count, W), "pow": case(lax.pow, P, F), "reciprocal": case(lax.reciprocal, P),
    "population_count_8": plain(lambda x: lax.population_count(x.astype(np.uint8)), W),
    "reduce_precision": case(lambda x: lax.reduce_precision(x, 8, 7), F),
    "reduce_precision_odd": plain(lambda x: lax.reduce_precision(x, 5, 3), F),
    "reduce_precision_special": plain(lambda x: lax.reduce_precision(x * 1e5, 5, 10), S),
    "rem": case(lax.rem, F * 9, P), "rem_i": plain(lax.rem, I, I), "round": case(lax.round, F * 3),
    "rsqrt": case(lax.rsqrt, P), "sign": case(lax.sign, F), "sign_special": plain(lax.sign, S), "sin": case(lax.sin, F),
    "sinh": case(lax.sinh, F), "sqrt": case(lax.sqrt, P), "square": case(lax.square, F), "tan": case(lax.tan, U),
    "tanh": case(lax.tanh, F), "mulhi": plain(lax.mulhi, W, W[::-1].copy()), "clamp": case(lambda x: lax.clamp(-0.5, x, 0.5), F),
    "clamp_i": plain(lambda x: lax.clamp(-3, x, 4), I), "clamp_nan": plain(lambda x: lax.clamp(-1.0, x, 1.0), S),
    "shift_left": plain(lax.shift_left, I, N), "shift_right_logical": plain(lax.shift_right_logical, I, N),
    "shift_right_arithmetic": plain(lax.shift_right_arithmetic, I, N),
    "shift_far": plain(lambda x: (lax.shift_left(x, x * 0 + 40), lax.shift_right_arithmetic(x, x * 0 + 40)), I),
    "bitwise": plain(lambda a, b: (a & b, a | b, a ^ b, ~a), I, N), "select": case(lambda a, b: lax.select(B, a, b), F, P),
    "select_n": case(lambda a, b, c: lax.select_n(N % 3, a, b, c), F, P, U), "nan_to_num": case(jnp.nan_to_num, F),
    "nan_to_num_special": plain(jnp.nan_to_num, S), "convert": case(lambda x: lax.convert_element_type(x, np.float16), F, rtol=1e-3),
    "compare_total": plain(lambda a, b: (lax.lt_to_p.bind(a, b), lax.le_to_p.bind(a, b), lax.eq_to_p.bind(a, b)), S, S[::-1].copy()),
    "compare_special": plain(lambda a, b: (a < b, a <= b, a == b, a != b, a > b, a >= b), S, S[::-1].copy()),
    "stop_gradient": case(lambda x: lax.stop_gradient(x) * x, F), "optimization_barrier": case(lax.optimization_barrier, F),
    # Bits.
    "bitcast": plain(lambda x: lax.bitcast_convert_type(x, np.int32), F),
    "bitcast_narrow": plain(lambda x: lax.bitcast_convert_type(x, np.uint8), F),
    "bitcast_narrow_f": plain(lambda x: lax.bitcast_convert_type(x, np.float16), I),
    "bitcast_wide": plain(lambda x: lax.bitcast_convert_type(x.astype(np.uint8).reshape(6, 4), np.float32), N * 9),
    "bitcast_wide_f": plain(lambda x: lax.bitcast_convert_type(x.astype(np.float16).reshape(12, 2), np.int32), F),
    "view": plain(lambda x: (x.view(np.int32), x.view(np.uint8)), F),
    "int16": refused("element type i16", lambda x: x.astype(np.int16) * 2, I),
    # Shapes.
    "broadcast": case(lambda x: lax.broadcast(x, (2, 3)), F), "broadcast_in_dim": case(lambda x: lax.broadcast_in_dim(x, (4, 2, 6), (0, 2)), F),
    "broadcasted_iota": plain(lambda x: x + lax.broadcasted_iota(np.float32, (4, 6), 1), F),
    "collapse": case(lambda x: lax.collapse(x, 0, 2), T), "concatenate": case(lambda a, b: lax.concatenate([a, b, a], 1), F, P),
    "dynamic_index_in_dim": case(lambda x: lax.dynamic_index_in_dim(x, jnp.argmax(x[:, 0]), 0), F),
    "dynamic_slice": case(lambda x: lax.dynamic_slice(x, (jnp.argmax(x[:, 0]), 2), (2, 3)), F),
    "dynamic_slice_outside": case(lambda x: lax.dynamic_slice(x, (jnp.int32(9), jnp.int32(-3)), (2, 3)), F),
    "dynamic_update_slice": case(lambda x, y: lax.dynamic_update_slice(x, y[:2, :3], (jnp.argmax(x[:, 0]), 2)), F, P),
    "expand_dims": case(lambda x: lax.expand_dims(x, (0, 2)), F), "full_like": plain(lambda x: lax.full_like(x, 3), F),
    "iota": plain(lambda x: x[0] + lax.iota(np.float32, 6), F), "pad": case(lambda x: lax.pad(x, 0.5, ((1, 2, 1), (-1, 1, 0))), F),
    "reshape": case(lambda x: lax.reshape(x, (3, 8)), F), "rev": case(lambda x: lax.rev(x, (0, 1)), F),
    "slice": case(lambda x: lax.slice(x, (1, 0), (4, 6), (2, 3)), F), "split": case(lambda x: lax.split(x, (1, 2, 3), 1), F),
    "squeeze": case(lambda x: lax.squeeze(x[None], (0,)), F), "tile": case(lambda x: lax.tile(x, (2, 1)), F),
    "transpose": case(lambda x: lax.transpose(x, (2, 0, 1)), T),
    "empty": plain(lambda x: (x[:0].sum(0), jnp.concatenate([x[:0], x])), F),
    # Products.
    "batch_matmul": case(lambda a: lax.batch_matmul(a, jnp.swapaxes(a, 1, 2)), T), "dot": case(lambda a, b: lax.dot(a, b.T), F, P),
    "dot_vectors": case(lambda a: (lax.dot(a, a), lax.dot(M[:, :6] * 1.0, a[:6])), V),
    "dot_general": case(lambda a, b: lax.dot_general(a, b, (((2,), (1,)), ((0,), (0,)))), T, np.swapaxes(T, 1, 2).copy()),
    "dot_int": plain(lambda a, b: lax.dot(a, b.T), I, N),
    "dot_preferred": plain(lambda a: lax.dot(a.astype(jnp.bfloat16), a.T.astype(jnp.bfloat16), preferred_element_type=np.float32), F, rtol=1e-4),
    "ragged_dot": case(lambda a, b: lax.ragged_dot(a, b, jnp.array([1, 3], np.int32)), F, rng.standard_normal((2, 6, 3)).astype(np.float32)),
    "conv": case(lambda x, k: lax.conv(x, k, (1, 1), "SAME"), rng.standard_normal((2, 3, 5, 5)).astype(np.float32),
                 rng.standard_normal((4, 3, 3, 3)).astype(np.float32), rtol=1e-4, atol=1e-4),
    "conv_transpose": case(lambda x, k: lax.conv_transpose(x, k, (2, 2), "SAME"), rng.standard_normal((1, 4, 4, 2)).astype(np.float32),
                           rng.standard_normal((3, 3, 2, 3)).astype(np.float32), rtol=1e-4, atol=1e-4),
    "conv_patches": case(lambda x: lax.conv_general_dilated_patches(x, (2, 2), (1, 1), "VALID"), rng.standard_normal((1, 2, 4, 4)).astype(np.float32)),
    # Reductions and running sums.
    "argmax": plain(lambda x: (lax.argmax(x, 1, np.int32), lax.argmin(x, 0, np.int32)), F),
    "argmax_nan": plain(lambda x: (jnp.argmax(x), jnp.argmin(x)), S),
    "cumsum": case(lambda x: lax.cumsum(x, 1), F), "cumsum_reverse": case(lambda x: lax.cumsum(x, 0, reverse=True), F),
    "cumprod": case(lambda x: lax.cumprod(x, 1), P), "cummax": case(lambda x: lax.cummax(x, 1), F), "cummin": case(lambda x: lax.cummin(x, 0), F),
    "cumlogsumexp": case(lambda x: lax.cumlogsumexp(x, 1), F), "cumsum_i": plain(lambda x: lax.cumsum(x, 1), I),
    "reduce_sum": case(lambda x: x.sum(0), F), "reduce_max": case(lambda x: x.max(1), F), "reduce_min": case(lambda x: x.min(1), F),
    "reduce_prod": case(lambda x: x.prod(1), P), "reduce_and": plain(lambda x: (x.all(1), x.any(0)), B),
    "reduce_bits": plain(lambda x: (lax.reduce_and(x, (0,)), lax.reduce_or(x, (0,)), lax.reduce_xor(x, (1,))), I),
    "reduce": plain(lambda x: lax.reduce(x, np.float32(1), lambda a, b: a * b + b, (1,)), F),
    "reduce_two": plain(lambda x: lax.reduce((x, x), (np.float32(0), np.float32(1)), lambda a, b: (a[0] + b[0], a[1] * b[1]), (1,)), F),
    "reduce_window": case(lambda x: lax.reduce_window(x, -np.inf, lax.max, (2, 2), (1, 2), "VALID"), F),
    "reduce_window_sum": case(lambda x: lax.reduce_window(x, 0.0, lax.add, (2, 3), (2, 1), "SAME"), F),
    "associative_scan": case(lambda x: lax.associative_scan(jnp.multiply, x, axis=1), P),
    "reduce_max_i": plain(lambda x: (x.max(1), x.min(0)), I), "reduce_max_nan": plain(lambda x: (x.max(), x.min()), S),
    # Sorting.
    "sort": case(lambda x: lax.sort(x, dimension=0), F), "sort_last": case(lambda x: lax.sort(x), F),
    "sort_special": plain(lambda x: (lax.sort(x), jnp.sort(x, descending=True), jnp.argsort(x)), np.concatenate([S, -S])),
    "sort_middle": case(lambda x: lax.sort(x, dimension=1), T), "sort_i": plain(lambda x: lax.sort(x), I),
    "sort_u": plain(lambda x: lax.sort(x), W), "sort_bool": plain(lambda x: jnp.sort(x), B),
    "sort_half": plain(lambda x: (jnp.sort(x.astype(jnp.bfloat16)), jnp.sort(x.astype(jnp.float16))), F),
    "sort_key_val": case(lambda x, y: lax.sort_key_val(x, y, 1), F, P),
    "sort_several": plain(lambda a, b, c: lax.sort((a, b, c), num_keys=2), N % 3, N[::-1].copy(), F),
    "sort_stable": plain(lambda a: lax.sort((a, lax.iota(np.int32, 24)), num_keys=1), (N % 3).reshape(-1)),
    "sort_one": plain(lambda x: (lax.sort(x[:, :1]), lax.sort(x[:0, :], dimension=0).sum(0)), F),
    "sort_long": plain(lambda x: lax.sort(x), rng.standard_normal(1000).astype(np.float32)),
    "top_k": case(lambda x: lax.top_k(x, 3), F), "top_k_all": plain(lambda x: lax.top_k(x, 8), S),
    "top_k_ties": plain(lambda x: lax.top_k(x, 4), N % 3), "top_k_one": case(lambda x: lax.top_k(x, 1), T),
    "top_k_long": plain(lambda x: (lax.top_k(x, 5), lax.top_k(x, 70)), rng.standard_normal((3, 300)).astype(np.float32)),
    "approx_max_k": plain(lambda x: lax.approx_max_k(x, 3), F), "approx_min_k": plain(lambda x: lax.approx_min_k(x, 3, reduction_dimension=0), F),
    # Indexing.
    "gather": case(lambda x: x[N[0] % 4, N[1]], F), "index_take": case(lambda x: x[jnp.array([2, 0])], F),
    "scatter": case(lambda x, y: x.at[jnp.array([2, 0])].set(y[:2]), F, P), "scatter_add": case(lambda x, y: x.at[N[0] % 4].add(y[0]), F, P),
    "scatter_mul": plain(lambda x, y: x.at[jnp.array([0, 3])].multiply(y[:2]), F, P),
    "scatter_min": plain(lambda x, y: (x.at[jnp.array([0, 3])].min(y[:2]), x.at[0].max(y[1])), F, P),
    "scatter_outside": plain(lambda x: x.at[jnp.array([9, 1])].add(1.0), F),
    "scatter_apply": plain(lambda x: x.at[1].apply(jnp.sin), F),
    # Control.
    "cond": case(lambda x: lax.cond(x[0, 0] > 0, jnp.sin, jnp.cos, x), F), "switch": case(lambda x: lax.switch(jnp.argmax(x[0]), [jnp.sin, jnp.cos, jnp.exp], x), F),
    "cond_nothing": plain(lambda x: lax.cond(x[0, 0] > 0, lambda y: (y, 1), lambda y: (y + 1, 2), x), F),
    "fori_loop": case(lambda x: lax.fori_loop(0, 4, lambda i, v: v * 0.5 + i, x), F), "map": case(lambda x: lax.map(lambda r: jnp.sin(r).sum(), x), F),
    "map_batched": case(lambda x: lax.map(jnp.sin, x, batch_size=3), F), "scan": case(lambda x: lax.scan(lambda c, r: (c + r.sum(), c * r), 1.0, x), F),
    "scan_reverse": case(lambda x: lax.scan(lambda c, r: (c + r.sum(), c * r), 1.0, x, reverse=True), F), "scan_unroll": case(lambda x: lax.scan(lambda c, r: (c + r.sum(), c * r), 1.0, x, unroll=2), F),
    "while_float": plain(lambda x: lax.while_loop(lambda v: v.sum() < 100, lambda v: v * 2, x), P),
    "while_int": plain(lambda x: lax.while_loop(lambda c: c[0] < c[1], lambda c: (c[0] + 2, c[1] - 1, c[2] * 2), (0, x[0, 0] + 20, 1)), N),
    "while_bool": plain(lambda x: lax.while_loop(lambda c: ~c[0], lambda c: (c[1] > 40, c[1] * 2 + 1), (False, x[0, 0])), N),
    "while_down": plain(lambda x: lax.while_loop(lambda c: c[0] > 0, lambda c: (c[0] - 1, c[1] + c[0]), (5, x)), F),
    "fori_dynamic": plain(lambda x: lax.fori_loop(0, x[0, 0], lambda i, v: v + i, 0), N), "while_twice": plain(lambda x: lax.while_loop(lambda c: c < 50, lambda c: c + 7, x[0, 0]), I),
    "while_none": plain(lambda x: lax.fori_loop(3, 3, lambda i, v: v + 1, x), F), "while_swap": plain(lambda a, b: lax.fori_loop(0, 3, lambda i, v: (v[1], v[0]), (a, b)), F, P),
    "checkpoint": case(jax.checkpoint(lambda x: jnp.sin(jnp.cos(x)).sum()), F), "custom_jvp": case(_custom_jvp(), F), "custom_vjp": case(_custom_vjp(), F),
    "custom_root": case(lambda x: lax.custom_root(lambda v: v**3 - x, x, lambda f, v: lax.fori_loop(0, 20, lambda i, v: v - f(v) / (3 * v**2 + 1e-6), v), lambda g, y: y / g(jnp.ones_like(y))), np.float32(2)),
    "linear_solve": case(lambda x: lax.custom_linear_solve(lambda v: x * v, x, lambda mv, b: b / x, transpose_solve=lambda mv, b: b / x), P),
    # Special functions, random bits, and what is refused.
    "rng_bits_threefry": refused("stablehlo.rng_bit_generator", lambda k: lax.rng_bit_generator(k, (3, 5), np.uint32, algorithm=lax.RandomAlgorithm.RNG_THREE_FRY), KEY.repeat(2)[:4]),
    "rng_bits": plain(lambda k: lax.rng_bit_generator(k, (7,), np.uint32), BITS), "rng_bits_philox": plain(lambda k: lax.rng_bit_generator(k, (3, 5), np.uint32, algorithm=lax.RandomAlgorithm.RNG_PHILOX), BITS),
    "rng_bits_8": plain(lambda k: lax.rng_bit_generator(k, (2, 5), np.uint8), BITS), "rng_bits_many": plain(lambda k: jax.vmap(lambda k: lax.rng_bit_generator(k, (5,), np.uint32))(k.reshape(2, 4)), np.concatenate([BITS, BITS ^ 9])),
    "rng_bits_wrap": plain(lambda k: lax.rng_bit_generator(k, (40,), np.uint32), np.array([7, 9, 0xFFFFFFFE, 0xFFFFFFFF], np.uint32)),
    "rng_uniform": refused("stablehlo.rng", lambda x: lax.rng_uniform(0.0, x[0, 0], (3,)), F), 
    "complex_other": refused("stablehlo.tanh with complex numbers", lambda x: jnp.abs(jnp.tanh(lax.complex(x, x))), F),
    "complex_loop": refused("stablehlo.while with complex numbers", lambda x: lax.fori_loop(0, 3, lambda i, v: v * v, lax.complex(x, x)).real, F),
    "lgamma": case(lax.lgamma, P), "digamma": case(lax.digamma, P), "igamma": case(lax.igamma, P, P), "bessel_i0e": case(lax.bessel_i0e, F),
    "bessel_i1e": case(lax.bessel_i1e, F), "betainc": plain(lax.betainc, P, P, np.abs(U), rtol=1e-4), "zeta": plain(lax.zeta, P + 1, P), "polygamma": plain(lax.polygamma, P * 0 + 2, P),
    "random_gamma_grad": plain(lax.random_gamma_grad, P, P),
}

NN = {name: case(getattr(jax.nn, name), F) for name in (
    "celu elu gelu glu hard_sigmoid hard_silu hard_tanh identity leaky_relu log_sigmoid log_softmax logmeanexp logsumexp mish relu relu6 selu "
    "sigmoid silu soft_sign softmax softplus sparse_plus sparse_sigmoid squareplus standardize tanh").split()}
NN |= {
    "gelu_exact": case(lambda x: jax.nn.gelu(x, approximate=False), F), "one_hot": plain(lambda x: jax.nn.one_hot(x, 6), N), "log1mexp": case(jax.nn.log1mexp, P),
    "one_hot_outside": plain(lambda x: jax.nn.one_hot(x - 2, 3), N),
    "attention": case(lambda q: jax.nn.dot_product_attention(q, q * 2, q + 1, is_causal=True), rng.standard_normal((2, 5, 2, 4)).astype(np.float32), rtol=1e-4, atol=1e-5),
    "softmax_where": case(lambda x: jax.nn.softmax(x, where=B), F), "logsumexp_b": case(lambda x: jax.nn.logsumexp(x, b=P, axis=1), F),
}

def rbg(function, implementation="rbg"):
    return plain(lambda k: function(jax.random.wrap_key_data(k, impl=implementation)), BITS, rtol=1e-4, atol=1e-5)


def _draws(k):
    a, b = jax.random.split(jax.random.fold_in(k, 7))
    return jax.random.key_data(a), jax.random.normal(a, (3, 5)), jax.random.bernoulli(b, 0.3, (7,)), jax.random.randint(b, (5,), 0, 9)


RANDOM = {
    "rbg": rbg(_draws), "unsafe_rbg": rbg(_draws, "unsafe_rbg"), "rbg_vmap": rbg(lambda k: jax.vmap(lambda k: jax.random.uniform(k, (3,)))(jax.random.split(k, 4))),
    "key_data": key(lambda k: jax.random.key_data(jax.random.split(k, 3))), "fold_in": key(lambda k: jax.random.key_data(jax.random.fold_in(k, 7))),
    "bits": key(lambda k: jax.random.bits(k, (5,))), "bits_8": key(lambda k: jax.random.bits(k, (5,), np.uint8)),
    "bernoulli": key(lambda k: jax.random.bernoulli(k, 0.3, (4, 5))), "normal": key(lambda k: jax.random.normal(k, (4, 5))), "uniform": key(lambda k: jax.random.uniform(k, (9,), minval=-1, maxval=3)),
    "randint": key(lambda k: jax.random.randint(k, (9,), -3, 11)), "categorical": key(lambda k: jax.random.categorical(k, F)), "gumbel": key(lambda k: jax.random.gumbel(k, (9,))),
    "truncated_normal": key(lambda k: jax.random.truncated_normal(k, -1.0, 1.0, (9,))), "permutation": key(lambda k: jax.random.permutation(k, 20)), "permutation_rows": key(lambda k: jax.random.permutation(k, F)),
    "choice": key(lambda k: (jax.random.choice(k, 10, (4,)), jax.random.choice(k, 10, (4,), replace=False))), "exponential": key(lambda k: jax.random.exponential(k, (9,))),
    "laplace": key(lambda k: jax.random.laplace(k, (9,))), "cauchy": key(lambda k: jax.random.cauchy(k, (9,))), "rademacher": key(lambda k: jax.random.rademacher(k, (9,))), "logistic": key(lambda k: jax.random.logistic(k, (9,))),
    "gamma": key(lambda k: jax.random.gamma(k, 2.5, (5,))), "poisson": key(lambda k: jax.random.poisson(k, 3.0, (5,))), "beta": key(lambda k: jax.random.beta(k, 2.0, 3.0, (5,))), "dirichlet": key(lambda k: jax.random.dirichlet(k, jnp.ones(4))),
    "maxwell": key(lambda k: jax.random.maxwell(k, (5,))), "rayleigh": key(lambda k: jax.random.rayleigh(k, 1.0, (5,))), "pareto": key(lambda k: jax.random.pareto(k, 2.0, (5,))), "t": key(lambda k: jax.random.t(k, 3.0, (5,))),
    "weibull": key(lambda k: jax.random.weibull_min(k, 1.0, 2.0, (5,))), "multivariate_normal": key(lambda k: jax.random.multivariate_normal(k, jnp.zeros(3), jnp.eye(3) + 0.1)), "geometric": key(lambda k: jax.random.geometric(k, 0.3, (5,))),
    "binomial": key(lambda k: jax.random.binomial(k, 9, 0.4, (5,))), "triangular": key(lambda k: jax.random.triangular(k, 0.0, 0.3, 1.0, (5,))), "ball": key(lambda k: jax.random.ball(k, 3)),
}

C = {"rtol": 1e-4, "atol": 1e-4}
H = F[:, :4]


def parts(function):
    """A function of complex results, whose parts are compared."""
    return lambda *a: (function(*a).real, function(*a).imag)


COMPLEX = {
    "fft": case(parts(jnp.fft.fft), F, **C), "ifft": case(parts(jnp.fft.ifft), V[None], **C), "fft2": case(parts(jnp.fft.fft2), T, **C),
    "rfft": case(parts(jnp.fft.rfft), F, **C), "rfft_odd": case(parts(jnp.fft.rfft), V[None], **C), "rfft2": case(parts(jnp.fft.rfft2), T, **C),
    "irfft": case(lambda a, b: jnp.fft.irfft(a + 1j * b), F, P, **C), "irfft_odd": case(lambda a: jnp.fft.irfft(a + 2j * a, n=7), H, **C),
    "irfftn": case(lambda x: jnp.fft.irfftn(jnp.fft.rfftn(x) * (2 + 1j), s=x.shape), T, **C),
    "fft_split": case(parts(jnp.fft.fft), rng.standard_normal((2, 210)).astype(np.float32), rtol=1e-4, atol=1e-3),
    "fft_long": plain(parts(jnp.fft.rfft), rng.standard_normal((1, 1536)).astype(np.float32), rtol=1e-4, atol=1e-3),
    "fft_prime": refused("a length of 1031", lambda x: jnp.fft.rfft(x).real, np.ones(1031, np.float32)),
    "arithmetic": case(parts(lambda a, b: jnp.exp(a + 1j * b) * (b - 2j * a) / (1.5 + 1j * b)), F, P, **C),
    "abs": case(lambda a, b: (jnp.abs(a + 1j * b), jnp.angle(a + 1j * b), jnp.abs(a + 1j * b) ** 2), F, P, **C),
    "log": case(parts(lambda a, b: jnp.log(a + 1j * b)), F, P, **C),
    "einsum": case(parts(lambda a, b: jnp.einsum("ij,kj->ik", a + 1j * b, jnp.conj(b - 1j * a))), F, P, **C),
    "shapes": case(parts(lambda a, b: jnp.concatenate([(a + 1j * b).T.reshape(4, 6)[::-1, 1:3], jnp.pad((b + 0j)[:, :1], ((0, 0), (1, 0)))])), F, P, **C),
    "where": case(parts(lambda a, b: jnp.where(a > 0, a + 1j * b, 1j * a)), F, P, **C),
    "sum": case(parts(lambda a, b: (a + 1j * b).sum(0) * (b + 1j * a)), F, P, **C), "mean": case(parts(lambda a, b: jnp.mean((a + 1j * b) * (b - 1j * a), 1)), F, P, **C),
    "global filter": case(lambda a, k: jnp.fft.irfft(jnp.fft.rfft(a) * jnp.fft.rfft(k[0]), 6), F, P, **C),  # whose gradient is a sum
    "set": case(parts(lambda a, b: (a + 1j * b).at[1:3, ::2].set(2j * b[1:3, ::2])), F, P, **C),
    "add at": case(parts(lambda a, b: (a + 1j * b).at[np.array([0, 2, 2])].add(1j * b[:3])), F, P, **C),
    "rows": case(parts(lambda a, b: (a + 1j * b)[np.array([3, 0, 0])] * (1 + 2j)), F, P, **C),
    "product": refused("complex", lambda a: jnp.prod(a + 1j * a, 0).real, F),
    "equal": plain(lambda a: ((a + 1j * a) == (a + 0j), (a + 1j * a) != a), F),
    "constant": case(parts(lambda a: a * np.array([1 + 2j] * 3 + [3 - 1j] * 3, np.complex64)), F, **C),
}
