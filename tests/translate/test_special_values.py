# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions of zeros of both signs, infinities, NaN, and the smallest and largest numbers, against C's library as
NumPy and Python have it: the sign of a zero is seen by copysign, divisions and atan2."""
import math

import numpy as np
import pytest

from harness import run
from test_fragments import generic

TYPES = {"f16": np.float16, "f32": np.float32, "f64": np.float64}
# Relative error beside these values; what is smaller than the smallest normal number may be less exact.
EXACT = {"f16": 2e-3, "f32": 2e-6, "f64": 1e-14}


def python(function):
    """A function of Python's math on arrays: NaN where it has none."""
    def of(x):
        try:
            return function(x)
        except (ValueError, OverflowError):
            return math.nan
    return np.vectorize(of, otypes=[np.float64])


UNARY = {
    "math.absf": np.abs, "math.ceil": np.ceil, "math.floor": np.floor, "math.trunc": np.trunc,
    "math.roundeven": np.rint, "math.round": lambda x: np.copysign(np.floor(np.abs(x) + 0.5), x), "math.exp": np.exp,
    "math.exp2": np.exp2, "math.expm1": np.expm1, "math.log": np.log, "math.log2": np.log2, "math.log10": np.log10,
    "math.log1p": np.log1p, "math.sqrt": np.sqrt, "math.rsqrt": lambda x: 1 / np.sqrt(x), "math.cbrt": np.cbrt,
    "math.sin": np.sin, "math.cos": np.cos, "math.tan": np.tan, "math.asin": np.arcsin, "math.acos": np.arccos,
    "math.atan": np.arctan, "math.sinh": np.sinh, "math.cosh": np.cosh, "math.tanh": np.tanh, "math.asinh": np.arcsinh,
    "math.acosh": np.arccosh, "math.atanh": np.arctanh, "math.erf": python(math.erf), "math.erfc": python(math.erfc),
    "arith.negf": np.negative}


def extreme(choose, nan):
    """maximumf and minimumf order zeros by sign and hand on NaN; maxnumf and minnumf hand on the number."""
    def of(x, y):
        def one(a, b):
            if math.isnan(a) or math.isnan(b):
                return math.nan if nan else b if math.isnan(a) else a
            return choose((a, math.copysign(1, a)), (b, math.copysign(1, b)))[0]
        return np.vectorize(one, otypes=[np.float64])(x, y)
    return of


def normal(x, dtype):
    return np.isfinite(x) & (np.abs(x) >= float(np.finfo(dtype).tiny))


BINARY = {
    "arith.addf": np.add, "arith.subf": np.subtract, "arith.mulf": np.multiply, "arith.divf": np.divide,
    "arith.remf": np.fmod, "arith.maximumf": extreme(max, True), "arith.minimumf": extreme(min, True),
    "arith.maxnumf": extreme(max, False), "arith.minnumf": extreme(min, False), "math.atan2": np.arctan2,
    "math.powf": np.power, "math.copysign": np.copysign}
# Which of two zeros it is, is left open.
ANY_ZERO = {"arith.maxnumf", "arith.minnumf"}


def values(dtype):
    info = np.finfo(dtype)
    positive = np.array([0, info.smallest_subnormal, info.tiny, info.eps, 1e-3, 0.25, 0.5, 1, 1.5, 2, 2.5, 3, 10, 100,
                         info.max, np.inf], dtype)
    return np.concatenate([positive, -positive, np.array([np.nan], dtype)])


def check(op, element, got, want, arguments):
    dtype = TYPES[element]
    with np.errstate(all="ignore"):
        want = want.astype(dtype)
    got64, want64 = got.astype(np.float64), want.astype(np.float64)
    tiny = float(np.finfo(dtype).tiny)
    with np.errstate(all="ignore"):
        near = np.abs(got64 - want64) <= EXACT[element] * np.abs(want64) + tiny * (want64 != 0)
        zeros = (got64 == 0) & (want64 == 0) & ((np.signbit(got64) == np.signbit(want64)) | (op in ANY_ZERO))
    good = np.where(np.isnan(want64), np.isnan(got64),
                    np.where(np.isinf(want64), got64 == want64, np.where(want64 == 0, zeros, near)))
    bad = [(*(a[i] for a in arguments), got[i], want[i]) for i in np.flatnonzero(~good)]
    assert not bad, (op, element, bad[:12])


@pytest.mark.parametrize("element", TYPES)
def test_functions_of_one_number(tmp_path, element):
    x = values(TYPES[element])
    tensor, body = f"tensor<{len(x)}x{element}>", ""
    for i, op in enumerate(UNARY):
        body += f"\n    %e{i} = tensor.empty() : {tensor}" + generic(
            f"%r{i}", ["(i) -> (i)"] * 2, "p", ["%a0"], [tensor], f"%e{i}", tensor,
            f"%m = {op} %x0 : {element}\nlinalg.yield %m : {element}", element)
    body += f"\n    cs.return {', '.join(f'%r{i}' for i in range(len(UNARY)))} : {', '.join([tensor] * len(UNARY))}"
    _, results, _ = run(tmp_path, [tensor], [tensor] * len(UNARY), body, values=[x])
    wrong = []
    for (op, function), got in zip(UNARY.items(), results):
        with np.errstate(all="ignore"):
            want = function(x.astype(np.float64))
        try:
            check(op, element, got, want, [x])
        except AssertionError as error:
            wrong.append(str(error).split("\n")[0])
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("element", TYPES)
def test_functions_of_two_numbers(tmp_path, element):
    one = values(TYPES[element])
    x, y = (np.ascontiguousarray(v.ravel()) for v in np.meshgrid(one, one))
    tensor, body = f"tensor<{len(x)}x{element}>", ""
    for i, op in enumerate(BINARY):
        body += f"\n    %e{i} = tensor.empty() : {tensor}" + generic(
            f"%r{i}", ["(i) -> (i)"] * 3, "p", ["%a0", "%a1"], [tensor] * 2, f"%e{i}", tensor,
            f"%m = {op} %x0, %x1 : {element}\nlinalg.yield %m : {element}", element)
    body += f"\n    cs.return {', '.join(f'%r{i}' for i in range(len(BINARY)))} : {', '.join([tensor] * len(BINARY))}"
    _, results, _ = run(tmp_path, [tensor] * 2, [tensor] * len(BINARY), body, values=[x, y])
    wrong = []
    for (op, function), got in zip(BINARY.items(), results):
        with np.errstate(all="ignore"):
            want = function(x.astype(np.float64), y.astype(np.float64))
        try:
            check(op, element, got, want, [x, y])
        except AssertionError as error:
            wrong.append(str(error).split("\n")[0])
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("element", TYPES)
def test_what_a_number_is(tmp_path, element):
    x = values(TYPES[element])
    tensor, out = f"tensor<{len(x)}x{element}>", f"tensor<{len(x)}xi1>"
    kinds = {"isnan": np.isnan(x), "isinf": np.isinf(x), "isfinite": np.isfinite(x),
             "isnormal": normal(x.astype(np.float64), TYPES[element])}
    body = ""
    for i, op in enumerate(kinds):
        body += f"\n    %e{i} = tensor.empty() : {out}" + generic(
            f"%r{i}", ["(i) -> (i)"] * 2, "p", ["%a0"], [tensor], f"%e{i}", out,
            f"%m = math.{op} %x0 : {element}\nlinalg.yield %m : i1", "i1")
    body += f"\n    cs.return {', '.join(f'%r{i}' for i in range(len(kinds)))} : {', '.join([out] * len(kinds))}"
    _, results, _ = run(tmp_path, [tensor], [out] * len(kinds), body, values=[x])
    for (op, want), got in zip(kinds.items(), results):
        np.testing.assert_array_equal(np.asarray(got, bool), want, err_msg=op)


@pytest.mark.parametrize("element", TYPES)
def test_a_number_between_two_others(tmp_path, element):
    one = values(TYPES[element])
    x, low = (np.ascontiguousarray(v.ravel()) for v in np.meshgrid(one, one[~np.isnan(one)]))
    high = np.where(low < 1, TYPES[element](1.5), low)
    tensor = f"tensor<{len(x)}x{element}>"
    body = f"\n    %e = tensor.empty() : {tensor}" + generic(
        "%r", ["(i) -> (i)"] * 4, "p", ["%a0", "%a1", "%a2"], [tensor] * 3, "%e", tensor,
        f"%m = math.clampf %x0 to [%x1, %x2] : {element}\nlinalg.yield %m : {element}", element)
    _, (result,), _ = run(tmp_path, [tensor] * 3, [tensor], body + f"\n    cs.return %r : {tensor}", values=[x, low, high])
    np.testing.assert_array_equal(result, np.clip(x, low, high))


@pytest.mark.parametrize("element", TYPES)
@pytest.mark.parametrize("integer", ["i32", "i64", "i8"])
def test_powers_of_whole_numbers(tmp_path, element, integer):
    """Exponents that are not constants need no function of a compiler's library."""
    powers = np.array([-3, -2, -1, 0, 1, 2, 3, 5, 8, 100], np.dtype(integer.replace("i", "int")))
    base = np.array([0.5, -0.5, 1, -1, 1.5, -1.25, 0, -0.0, np.inf, -np.inf], TYPES[element])
    x, n = (np.ascontiguousarray(v.ravel()) for v in np.meshgrid(base, powers))
    tensor, whole = f"tensor<{len(x)}x{element}>", f"tensor<{len(x)}x{integer}>"
    body = f"\n    %e = tensor.empty() : {tensor}" + generic(
        "%r", ["(i) -> (i)"] * 3, "p", ["%a0", "%a1"], [tensor, whole], "%e", tensor,
        f"%m = math.fpowi %x0, %x1 : {element}, {integer}\nlinalg.yield %m : {element}", element)
    _, (result,), _ = run(tmp_path, [tensor, whole], [tensor], body + f"\n    cs.return %r : {tensor}", values=[x, n])
    with np.errstate(all="ignore"):
        check("math.fpowi", element, result, np.power(x.astype(np.float64), n.astype(np.float64)), [x, n])


def literal(x):
    """The bits: MLIR has no other way to write infinities and NaN."""
    return "0x" + x.tobytes()[::-1].hex().upper()


@pytest.mark.parametrize("element", TYPES)
@pytest.mark.parametrize("table", [UNARY, BINARY], ids=["one", "two"])
def test_functions_of_constants(tmp_path, element, table):
    """What is computed by the compiler is what would be computed in the step."""
    one = values(TYPES[element])
    arguments = [one] if table is UNARY else [np.ascontiguousarray(v.ravel()) for v in np.meshgrid(one, one)]
    tensor = f"tensor<{len(arguments[0])}x{element}>"
    body = "".join(f"\n    %c{i} = arith.constant {literal(x)} : {element}" for i, x in enumerate(one))
    name = {x.tobytes(): f"%c{i}" for i, x in enumerate(one)}
    for k, op in enumerate(table):
        results = []
        for i, combination in enumerate(zip(*arguments)):
            results.append(f"%v{k}_{i}")
            body += f"\n    {results[-1]} = {op} {', '.join(name[x.tobytes()] for x in combination)} : {element}"
        body += f"\n    %r{k} = tensor.from_elements {', '.join(results)} : {tensor}"
    names = ", ".join(f"%r{k}" for k in range(len(table)))
    body += f"\n    cs.return {names} : {', '.join([tensor] * len(table))}"
    _, results, _ = run(tmp_path, [tensor], [tensor] * len(table), body)
    wrong = []
    for (op, function), got in zip(table.items(), results):
        with np.errstate(all="ignore"):
            want = function(*[x.astype(np.float64) for x in arguments])
        try:
            check(op, element, got, want, arguments)
        except AssertionError as error:
            wrong.append(str(error).split("\n")[0])
    assert not wrong, "\n".join(wrong)


EXPONENTS = [-3.0, -2.0, -1.5, -1.0, -0.75, -0.5, -0.25, 0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 16.0]


@pytest.mark.parametrize("element", TYPES)
def test_powers_of_constant_exponents(tmp_path, element):
    """Some of them are computed otherwise."""
    x = values(TYPES[element])
    tensor, body = f"tensor<{len(x)}x{element}>", ""
    for i, exponent in enumerate(EXPONENTS):
        body += f"\n    %y{i} = arith.constant {exponent!r} : {element}\n    %e{i} = tensor.empty() : {tensor}" + generic(
            f"%r{i}", ["(i) -> (i)"] * 2, "p", ["%a0"], [tensor], f"%e{i}", tensor,
            f"%m = math.powf %x0, %y{i} : {element}\nlinalg.yield %m : {element}", element)
    names = ", ".join(f"%r{i}" for i in range(len(EXPONENTS)))
    body += f"\n    cs.return {names} : {', '.join([tensor] * len(EXPONENTS))}"
    _, results, _ = run(tmp_path, [tensor], [tensor] * len(EXPONENTS), body, values=[x])
    wrong = []
    for exponent, got in zip(EXPONENTS, results):
        # NumPy itself takes a square root for a single exponent of 0.5.
        exponents = np.full(x.shape, exponent)
        with np.errstate(all="ignore"):
            want = np.power(x.astype(np.float64), exponents)
        try:
            check("math.powf", element, got, want, [x, exponents])
        except AssertionError as error:
            wrong.append(str(error).split("\n")[0])
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("element", TYPES)
@pytest.mark.parametrize("op", BINARY)
def test_functions_of_a_number_and_a_constant(tmp_path, element, op):
    """What a neutral or an absorbing element is, depends on the other."""
    x = values(TYPES[element])
    constants = np.array([0, 1, 2, 0.5, 0.75, 3, np.inf, np.finfo(TYPES[element]).tiny], TYPES[element])
    constants = np.concatenate([constants, -constants, np.array([np.nan], TYPES[element])])
    cases = [(constant, left) for constant in constants for left in (True, False)]
    tensor, body = f"tensor<{len(x)}x{element}>", ""
    for i, (constant, left) in enumerate(cases):
        body += f"\n    %c{i} = arith.constant {literal(constant)} : {element}\n    %e{i} = tensor.empty() : {tensor}"
        body += generic(f"%r{i}", ["(i) -> (i)"] * 2, "p", ["%a0"], [tensor], f"%e{i}", tensor,
                        f"%m = {op} {f'%c{i}, %x0' if left else f'%x0, %c{i}'} : {element}\nlinalg.yield %m : {element}",
                        element)
    body += f"\n    cs.return {', '.join(f'%r{i}' for i in range(len(cases)))} : {', '.join([tensor] * len(cases))}"
    _, results, _ = run(tmp_path, [tensor], [tensor] * len(cases), body, values=[x])
    wrong = []
    for (constant, left), got in zip(cases, results):
        arguments = [np.full_like(x, constant), x] if left else [x, np.full_like(x, constant)]
        with np.errstate(all="ignore"):
            want = BINARY[op](*[a.astype(np.float64) for a in arguments])
        try:
            check(op, element, got, want, arguments)
        except AssertionError as error:
            wrong.append(str(error).split("\n")[0])
    assert not wrong, "\n".join(wrong)
