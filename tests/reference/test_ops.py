# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Single ops against NumPy: values, and bounds that hold and are not idle."""
import math

import numpy as np
import pytest

from conftest import evaluate, tensor
from ms_top_k import ms_top_k

rng = np.random.default_rng(7)
U = 2.0**-24


def numbers(low, high, n=4000):
    return np.sort(rng.uniform(low, high, n)).astype(np.float32)


def expect(found, wanted, most=None):
    """Within the bound of the interpreter, plus its own rounding; and the bound at most `most`."""
    value, bound = found
    wanted = np.asarray(wanted, np.float64)
    rounding = U * np.abs(wanted) + 2.0**-149
    assert (np.abs(value.astype(np.float64) - wanted) <= bound + rounding).all()
    if most is not None:
        assert (bound <= most).all(), (bound - most).max()


UNARY = {
    "exp": (np.exp, -20, 20), "expm1": (np.expm1, -3, 3), "log": (np.log, 1e-3, 50), "log1p": (np.log1p, -0.5, 9),
    "log2": (np.log2, 1e-3, 50), "tanh": (np.tanh, -5, 5), "erf": (np.vectorize(math.erf), -4, 4),
    "sqrt": (np.sqrt, 0, 99), "rsqrt": (lambda x: 1 / np.sqrt(x), 1e-3, 99), "cbrt": (np.cbrt, -9, 9),
    "sin": (np.sin, -9, 9), "cos": (np.cos, -9, 9), "tan": (np.tan, -1.4, 1.4), "atan": (np.arctan, -9, 9),
    "absf": (np.abs, -9, 9), "floor": (np.floor, -9, 9), "ceil": (np.ceil, -9, 9), "trunc": (np.trunc, -9, 9),
    "roundeven": (np.round, -9, 9), "sinh": (np.sinh, -5, 5), "cosh": (np.cosh, -5, 5),
}


@pytest.mark.parametrize("name", UNARY)
def test_functions(tmp_path, name):
    wanted, low, high = UNARY[name]
    x = numbers(low, high)
    (found,) = evaluate(tmp_path, f"  %r0 = math.{name} %x0 : {tensor(x)}", [x], [tensor(x)])
    exact = wanted(x.astype(np.float64))
    expect(found, exact, 20 * U * (np.abs(exact) + (1 if name in ("sin", "cos") else 0)) + 2.0**-126)


BINARY = {"addf": np.add, "subf": np.subtract, "mulf": np.multiply, "divf": np.divide, "maximumf": np.maximum,
          "minimumf": np.minimum}


@pytest.mark.parametrize("element", [np.float32, np.float64, np.float16])
@pytest.mark.parametrize("name", BINARY)
def test_arithmetic(tmp_path, name, element):
    a, b = (rng.standard_normal(2000).astype(element) for _ in range(2))
    (found,) = evaluate(tmp_path, f"  %r0 = arith.{name} %x0, %x1 : {tensor(a)}", [a, b], [tensor(a)])
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(found[0], BINARY[name](a, b))
        unit = np.finfo(element).eps / 2
        assert (found[1] <= 2 * unit * np.abs(found[0].astype(np.float64)) + np.finfo(element).smallest_subnormal).all()


INTEGERS = {"addi": np.add, "subi": np.subtract, "muli": np.multiply, "andi": np.bitwise_and, "ori": np.bitwise_or,
            "xori": np.bitwise_xor, "maxsi": np.maximum, "minsi": np.minimum,
            "divsi": lambda a, b: np.trunc(a.astype(np.longdouble) / b).astype(a.dtype), "remsi": np.fmod,
            "floordivsi": np.floor_divide}


@pytest.mark.parametrize("element", [np.int8, np.int32, np.int64])
@pytest.mark.parametrize("name", INTEGERS)
def test_integers(tmp_path, name, element):
    info = np.iinfo(element)
    a = rng.integers(info.min, info.max, 1000, element, endpoint=True)
    b = rng.integers(1, info.max, 1000, element, endpoint=True)
    (found,) = evaluate(tmp_path, f"  %r0 = arith.{name} %x0, %x1 : {tensor(a)}", [a, b], [tensor(a)])
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(found[0], INTEGERS[name](a, b))
    assert (found[1] == 0).all()


def test_conversions(tmp_path):
    x = rng.uniform(-100, 100, 500).astype(np.float32)
    t = "tensor<500xf32>"
    h, i, b, u = (t.replace("f32", e) for e in ("f16", "i32", "i1", "i8"))
    body = f"""
      %r0 = arith.truncf %x0 : {t} to {h}
      %r1 = arith.fptosi %x0 : {t} to {i}
      %z = arith.constant dense<0.0> : {t}
      %r2 = arith.cmpf ogt, %x0, %z : {t}
      %r3 = arith.uitofp %r2 : {b} to {t}
      %r4 = arith.trunci %r1 : {i} to {u}
      %r5 = arith.bitcast %x0 : {t} to {i}
      %r6 = arith.sitofp %r1 : {i} to {t}"""
    found = evaluate(tmp_path, body, [x], [h, i, b, t, u, i, t])
    wanted = [x.astype(np.float16), x.astype(np.int32), x > 0, (x > 0).astype(np.float32),
              x.astype(np.int32).astype(np.int8), x.view(np.int32), np.trunc(x)]
    for (value, _), other in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(value, other)


def test_a_sum_in_any_order(tmp_path):
    x = rng.standard_normal((64, 1000)).astype(np.float32)
    body = """
      %c = arith.constant dense<0.0> : tensor<64xf32>
      %r0 = linalg.reduce ins(%x0 : tensor<64x1000xf32>) outs(%c : tensor<64xf32>) dimensions = [1]
        (%a: f32, %s: f32) {
          %t = arith.addf %a, %s : f32
          linalg.yield %t : f32
        }"""
    ((value, bound),) = evaluate(tmp_path, body, [x], ["tensor<64xf32>"])
    exact = np.sum(x.astype(np.float64), axis=1)
    size = np.sum(np.abs(x.astype(np.float64)), axis=1)
    assert (np.abs(value - exact) <= U * np.abs(exact) + 1e-30).all()
    assert (bound <= 1001 * U * size).all() and (bound >= 900 * U * size).all()
    orders = [np.arange(1000), np.arange(1000)[::-1], np.argsort(-np.abs(x[0])), rng.permutation(1000)]
    for order in orders:
        total = np.zeros(64, np.float32)
        for k in order:
            total = total + x[:, k]
        assert (np.abs(total.astype(np.float64) - value) <= bound).all()


def test_sums_of_integers_are_exact(tmp_path):
    x = rng.integers(-8, 8, (4, 999)).astype(np.float32)
    body = """
      %c = arith.constant dense<0.0> : tensor<4xf32>
      %r0 = linalg.reduce { arith.addf } ins(%x0 : tensor<4x999xf32>) outs(%c : tensor<4xf32>) dimensions = [1]"""
    ((value, bound),) = evaluate(tmp_path, body, [x], ["tensor<4xf32>"])
    np.testing.assert_array_equal(value, x.sum(1))
    assert (bound == 0).all()


def test_products(tmp_path):
    a, b = (rng.standard_normal(s).astype(np.float32) for s in ((3, 20, 30), (3, 30, 40)))
    body = """
      %e = tensor.empty() : tensor<3x20x40xf32>
      %zero = arith.constant 0.0 : f32
      %f = linalg.fill ins(%zero : f32) outs(%e : tensor<3x20x40xf32>) -> tensor<3x20x40xf32>
      %r0 = linalg.batch_matmul ins(%x0, %x1 : tensor<3x20x30xf32>, tensor<3x30x40xf32>)
                                outs(%f : tensor<3x20x40xf32>) -> tensor<3x20x40xf32>"""
    (found,) = evaluate(tmp_path, body, [a, b], ["tensor<3x20x40xf32>"])
    size = np.abs(a.astype(np.float64)) @ np.abs(b.astype(np.float64))
    expect(found, a.astype(np.float64) @ b.astype(np.float64), 34 * U * size)


def test_a_convolution(tmp_path):
    x, w = rng.standard_normal((2, 9, 9, 3)).astype(np.float32), rng.standard_normal((3, 3, 3, 5)).astype(np.float32)
    body = """
      %f = arith.constant dense<0.0> : tensor<2x4x4x5xf32>
      %r0 = linalg.conv_2d_nhwc_hwcf {strides = dense<2> : tensor<2xi64>, dilations = dense<1> : tensor<2xi64>}
        ins(%x0, %x1 : tensor<2x9x9x3xf32>, tensor<3x3x3x5xf32>) outs(%f : tensor<2x4x4x5xf32>) -> tensor<2x4x4x5xf32>"""
    (found,) = evaluate(tmp_path, body, [x, w], ["tensor<2x4x4x5xf32>"])
    windows = np.lib.stride_tricks.sliding_window_view(x.astype(np.float64), (3, 3), (1, 2))[:, ::2, ::2]
    expect(found, np.einsum("bijchw,hwcf->bijf", windows, w.astype(np.float64)))


def test_softmax(tmp_path):
    x = (3 * rng.standard_normal((5, 7, 11))).astype(np.float32)
    t = tensor(x)
    body = f"""
      %e = tensor.empty() : {t}
      %r0 = linalg.softmax dimension(1) ins(%x0 : {t}) outs(%e : {t}) -> {t}"""
    (found,) = evaluate(tmp_path, body, [x], [t])
    power = np.exp(x.astype(np.float64) - x.max(1, keepdims=True))
    expect(found, power / power.sum(1, keepdims=True), 1e-5)


def test_several_results_and_indices(tmp_path):
    x = rng.standard_normal((6, 50)).astype(np.float32)
    x[2, 7] = x[2, 30] = 9
    body = """
      %low = arith.constant dense<0xFF800000> : tensor<6xf32>
      %none = arith.constant dense<-1> : tensor<6xi32>
      %r0, %r1 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>,
          affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}
          ins(%x0 : tensor<6x50xf32>) outs(%low, %none : tensor<6xf32>, tensor<6xi32>) {
        ^bb0(%a: f32, %m: f32, %at: i32):
          %j = linalg.index 1 : index
          %n = arith.index_cast %j : index to i32
          %c = arith.cmpf ogt, %a, %m : f32
          %v = arith.select %c, %a, %m : f32
          %k = arith.select %c, %n, %at : i32
          linalg.yield %v, %k : f32, i32
      } -> (tensor<6xf32>, tensor<6xi32>)"""
    (value, bound), (at, exact) = evaluate(tmp_path, body, [x], ["tensor<6xf32>", "tensor<6xi32>"])
    np.testing.assert_array_equal(value, x.max(1))
    np.testing.assert_array_equal(at, x.argmax(1))
    assert (bound == 0).all() and (exact == 0).all()


def test_moves(tmp_path):
    x = rng.standard_normal((4, 6)).astype(np.float32)
    body = """
      %one = arith.constant 1.0 : f32
      %r0 = tensor.pad %x0 low[1, 0] high[0, 2] {
        ^bb0(%i: index, %j: index):
          tensor.yield %one : f32
      } : tensor<4x6xf32> to tensor<5x8xf32>
      %r1 = tensor.extract_slice %x0[1, 0] [2, 3] [2, 2] : tensor<4x6xf32> to tensor<2x3xf32>
      %r2 = tensor.insert_slice %r1 into %x0[2, 3] [2, 3] [1, 1] : tensor<2x3xf32> into tensor<4x6xf32>
      %r3 = tensor.concat dim(1) %r1, %r1 : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x6xf32>
      %r4 = tensor.collapse_shape %x0 [[0, 1]] : tensor<4x6xf32> into tensor<24xf32>
      %r5 = tensor.expand_shape %r4 [[0, 1]] output_shape [8, 3] : tensor<24xf32> into tensor<8x3xf32>
      %e = tensor.empty() : tensor<6x4xf32>
      %r6 = linalg.transpose ins(%x0 : tensor<4x6xf32>) outs(%e : tensor<6x4xf32>) permutation = [1, 0]
      %g = tensor.generate {
        ^bb0(%i: index, %j: index):
          %v = tensor.extract %x0[%j, %i] : tensor<4x6xf32>
          tensor.yield %v : f32
      } : tensor<6x4xf32>
      %r7 = tensor.cast %g : tensor<6x4xf32> to tensor<6x4xf32>"""
    shapes = [(5, 8), (2, 3), (4, 6), (2, 6), (24,), (8, 3), (6, 4), (6, 4)]
    found = evaluate(tmp_path, body, [x], [tensor(np.zeros(s, np.float32)) for s in shapes])
    cut = x[1::2, :5:2]
    put = x.copy()
    put[2:4, 3:6] = cut
    wanted = [np.pad(x, ((1, 0), (0, 2)), constant_values=1), cut, put, np.concatenate([cut, cut], 1), x.reshape(24),
              x.reshape(8, 3), x.T, x.T]
    for (value, bound), other in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(value, other)
        assert (bound == 0).all()


def test_loops_and_conditions(tmp_path):
    x = rng.standard_normal(8).astype(np.float32)
    body = """
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c8 = arith.constant 8 : index
      %zero = arith.constant 0.0 : f32
      // Running sums, written in place.
      %r0, %last = scf.for %i = %c0 to %c8 step %c1 iter_args(%t = %x0, %s = %zero) -> (tensor<8xf32>, f32) {
        %v = tensor.extract %t[%i] : tensor<8xf32>
        %positive = arith.cmpf ogt, %v, %zero : f32
        %w = scf.if %positive -> f32 {
          scf.yield %v : f32
        } else {
          %n = arith.negf %v : f32
          scf.yield %n : f32
        }
        %n = arith.addf %s, %w : f32
        %u = tensor.insert %n into %t[%i] : tensor<8xf32>
        scf.yield %u, %n : tensor<8xf32>, f32
      }
      %two = arith.constant 2 : i32
      %start = arith.constant 1 : i32
      %limit = arith.constant 1000 : i32
      %p = scf.while (%v = %start) : (i32) -> i32 {
        %more = arith.cmpi slt, %v, %limit : i32
        scf.condition(%more) %v : i32
      } do {
      ^bb0(%v: i32):
        %n = arith.muli %v, %two : i32
        scf.yield %n : i32
      }
      %r1 = tensor.from_elements %p : tensor<1xi32>"""
    (sums, bound), (power, _) = evaluate(tmp_path, body, [x], ["tensor<8xf32>", "tensor<1xi32>"])
    np.testing.assert_array_equal(sums, np.cumsum(np.abs(x), dtype=np.float32))
    assert bound[0] == 0 and power[0] == 1024


def test_rows_and_selections(tmp_path):
    table = rng.standard_normal((10, 3)).astype(np.float32)
    ids = np.array([3, 9, 3, 12, -1], np.int32)
    body = """
      %r0 = cs.lookup %x0, %x1 : (tensor<10x3xf32>, tensor<5xi32>) -> tensor<5x3xf32>
      %r1 = cs.segment_sum %x1, %r0 : (tensor<5xi32>, tensor<5x3xf32>) -> tensor<10x3xf32>
      %v, %i, %r4 = cs.top_k "exact" %x0 : (tensor<10x3xf32>) -> (tensor<4xf32>, tensor<4xi32>, tensor<10x3xf32>)
      %r2 = tensor.cast %v : tensor<4xf32> to tensor<4xf32>
      %r3 = tensor.cast %i : tensor<4xi32> to tensor<4xi32>
      %r5 = cs.scatter_add %v, %i over 2 : (tensor<4xf32>, tensor<4xi32>) -> tensor<10x3xf32>"""
    types = ["tensor<5x3xf32>", "tensor<10x3xf32>", "tensor<4xf32>", "tensor<4xi32>", "tensor<10x3xf32>",
             "tensor<10x3xf32>"]
    rows, sums, values, places, rest, dense = (v for v, _ in evaluate(tmp_path, body, [table, ids], types))
    np.testing.assert_array_equal(rows, table[np.clip(ids, 0, 9)])
    wanted = np.zeros((10, 3), np.float32)
    np.add.at(wanted, [3, 9, 3], rows[:3])
    np.testing.assert_allclose(sums, wanted, rtol=1e-6)
    top = np.sort(np.argsort(-np.abs(table.ravel()))[:4])
    np.testing.assert_array_equal(places, top)
    np.testing.assert_array_equal(values, table.ravel()[top])
    left, half = table.copy().ravel(), np.zeros(30, np.float32)
    left[top], half[top] = 0, table.ravel()[top] / 2
    np.testing.assert_array_equal(rest.ravel(), left)
    np.testing.assert_array_equal(dense.ravel(), half)


@pytest.mark.parametrize("samples", [1, 4, 30])
@pytest.mark.parametrize("kind", ["normal", "ties", "zeros", "alike"])
def test_ms_top_k(tmp_path, kind, samples):
    size, k, seed, step = 300, 40, -12345, 6
    x = {"normal": numbers(-3, 3, size)[rng.permutation(size)], "ties": rng.integers(-3, 4, size) / 4,
         "zeros": np.zeros(size), "alike": np.full(size, -0.5)}[kind].astype(np.float32)
    body = f"""
      %v, %i, %r0 = cs.top_k "mstopk" %x0 seed {seed} step %x1 samples {samples}
          : (tensor<{size}xf32>, tensor<1xi32>) -> (tensor<{k}xf32>, tensor<{k}xi32>, tensor<{size}xf32>)
      %r1 = tensor.cast %i : tensor<{k}xi32> to tensor<{k}xi32>"""
    (rest, _), (places, bound) = evaluate(tmp_path, body, [x, np.array([step], np.int32)],
                                          [f"tensor<{size}xf32>", f"tensor<{k}xi32>"])
    wanted, missing = ms_top_k(x, k, samples, seed, step)
    assert (missing > 0) == (kind != "normal" or samples < 30)
    np.testing.assert_array_equal(places, wanted)
    # Where a threshold meets no element it is known; where all are alike it is as large as they, but for rounding.
    assert not bound.any() or kind != "normal"
    left = x.copy()
    left[wanted] = 0
    np.testing.assert_array_equal(rest, left)


def test_what_is_decided_by_rounding_is_not_determined(tmp_path):
    x = np.array([1.0, 3.0, 1 / 3, 0.1], np.float32)
    body = """
      %three = arith.constant dense<3.0> : tensor<4xf32>
      %one = arith.constant dense<1.0> : tensor<4xf32>
      %d = arith.divf %one, %three : tensor<4xf32>
      %c = arith.cmpf oge, %x0, %d : tensor<4xf32>
      %far = arith.constant dense<7.0> : tensor<4xf32>
      %r0 = arith.select %c, %far, %one : tensor<4xi1>, tensor<4xf32>
      %r1 = arith.fptosi %r0 : tensor<4xf32> to tensor<4xi32>"""
    (value, bound), (whole, wbound) = evaluate(tmp_path, body, [x], ["tensor<4xf32>", "tensor<4xi32>"])
    np.testing.assert_array_equal(value, [7, 7, 7, 1])
    np.testing.assert_array_equal(bound, [0, 0, 6, 0])
    np.testing.assert_array_equal(wbound, [0, 0, 6, 0])
    np.testing.assert_array_equal(whole, [7, 7, 7, 1])


def test_not_a_number_and_infinities(tmp_path):
    x = np.array([np.nan, np.inf, -np.inf, 0, 1], np.float32)
    body = """
      %r0 = arith.mulf %x0, %x0 : tensor<5xf32>
      %r1 = math.exp %x0 : tensor<5xf32>
      %one = arith.constant dense<1.0> : tensor<5xf32>
      %r2 = arith.divf %one, %x0 : tensor<5xf32>
      %r3 = arith.maximumf %x0, %one : tensor<5xf32>
      %r4 = arith.subf %x0, %x0 : tensor<5xf32>"""
    found = evaluate(tmp_path, body, [x], ["tensor<5xf32>"] * 5)
    with np.errstate(all="ignore"):
        wanted = [x * x, np.exp(x), 1 / x, np.maximum(x, 1), x - x]
    for (value, bound), other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(value, other, rtol=1e-6)
        assert (bound[~np.isfinite(other)] == 0).all()


def test_zeros_of_both_signs(tmp_path):
    """IEEE 754: -0 is below +0 for maximum and minimum, whichever comes first."""
    a, b = np.array([-0.0, 0, -0.0, 0], np.float32), np.array([0, -0.0, -0.0, 0], np.float32)
    body = "\n".join(f"  %r{i} = arith.{name} %x0, %x1 : tensor<4xf32>" for i, name in enumerate(["maximumf", "minimumf"]))
    (most, _), (least, _) = evaluate(tmp_path, body, [a, b], ["tensor<4xf32>"] * 2)
    np.testing.assert_array_equal(np.signbit(most), np.signbit(a) & np.signbit(b))
    np.testing.assert_array_equal(np.signbit(least), np.signbit(a) | np.signbit(b))
