# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""bf16 and f16 in fragments, against NumPy in f64."""
import math

import numpy as np
import pytest

from harness import contraction, fill, rng, run
from plan_reader import from_bf16, to_bf16
from test_fragments import generic
from test_kernels import CONV, CONTRACTIONS, windows

EPSILON = {"bf16": 2.0**-8, "f16": 2.0**-11}  # of one rounding
HALVES = list(EPSILON)


def store(x, element):
    return to_bf16(x) if element == "bf16" else np.asarray(x).astype(np.float16)


def load(x, element):
    return (from_bf16(x) if element == "bf16" else x).astype(np.float64)


def spacing(x, element):
    """Between neighbouring numbers of the type at `x`."""
    digits, least = (8, -133) if element == "bf16" else (11, -24)
    exponent = np.frexp(np.abs(x))[1]
    return np.ldexp(1.0, np.maximum(exponent - digits, least))


UNARY = {
    "absf": np.abs, "ceil": np.ceil, "floor": np.floor, "trunc": np.trunc, "roundeven": np.rint, "exp": np.exp,
    "expm1": np.expm1, "log": np.log, "log1p": np.log1p, "sqrt": np.sqrt, "rsqrt": lambda x: 1 / np.sqrt(x),
    "sin": np.sin, "cos": np.cos, "tanh": np.tanh, "atan": np.arctan, "cbrt": np.cbrt, "exp2": np.exp2,
    "erf": np.vectorize(math.erf), "round": lambda x: np.copysign(np.floor(np.abs(x) + 0.5), x),
}
BINARY = {"addf": np.add, "subf": np.subtract, "mulf": np.multiply, "divf": np.divide, "remf": np.fmod,
          "maximumf": np.maximum, "minimumf": np.minimum, "maxnumf": np.fmax, "minnumf": np.fmin}
OTHERS = {
    "negf": ("%m = arith.negf %x0 : {t}", lambda x, y: -x), "atan2": ("%m = math.atan2 %x0, %x1 : {t}", np.arctan2),
    "copysign": ("%m = math.copysign %x0, %x1 : {t}", np.copysign),
    "powf": ("%m = math.powf %x0, %x1 : {t}", np.power),
    "fma": ("%m = math.fma %x0, %x1, %x0 : {t}", lambda x, y: x * y + x),
    "clampf": ("%c = arith.constant 3.0 : {t}\n%m = math.clampf %x0 to [%x1, %c] : {t}",
               lambda x, y: np.minimum(np.maximum(x, y), 3)),
}


def elementwise(lines, element, types, results):
    """Each (code of a value of type `result`) in a generic of its own, so that all are stored."""
    body = ""
    for i, (code, result) in enumerate(zip(lines, results)):
        out = f"tensor<96x{result}>"
        body += f"\n    %e{i} = tensor.empty() : {out}" + generic(
            f"%r{i}", ["(i) -> (i)"] * (len(types) + 1), "p", [f"%a{j}" for j in range(len(types))], types, f"%e{i}",
            out, f"{code}\nlinalg.yield %m : {result}", result)
    outs = [f"tensor<96x{r}>" for r in results]
    names = ", ".join(f"%r{i}" for i in range(len(outs)))
    return outs, body + f"\n    cs.return {names} : {', '.join(outs)}"


@pytest.mark.parametrize("element", HALVES)
def test_every_operation(tmp_path, element):
    """None needs a function of a compiler's runtime library; each is that of f32, rounded once."""
    t = f"tensor<96x{element}>"
    code = {op: f"%m = math.{op} %x0 : {element}" for op in UNARY}
    code |= {op: f"%m = arith.{op} %x0, %x1 : {element}" for op in BINARY}
    code |= {op: text.format(t=element) for op, (text, _) in OTHERS.items()}
    expected = {op: lambda x, y, f=f: f(x) for op, f in UNARY.items()} | BINARY | {
        op: f for op, (_, f) in OTHERS.items()}
    outs, body = elementwise(code.values(), element, [t, t], [element] * len(code))
    x, y = (store(rng.uniform(0.1, 4, 96), element) for _ in range(2))
    _, results, _ = run(tmp_path, [t, t], outs, body, values=[x, y])
    for op, r in zip(code, results):
        want = expected[op](load(x, element), load(y, element))
        error = np.abs(load(r, element) - want) / spacing(want, element)
        assert error.max() <= 0.51, (op, error.max())


@pytest.mark.parametrize("element", HALVES)
def test_conversions_and_comparisons(tmp_path, element):
    t = f"tensor<96x{element}>"
    code = [(f"%m = arith.cmpf {p}, %x0, %x1 : {element}", "i1") for p in ("oeq", "une", "olt", "oge", "uno")]
    code += [(f"%m = arith.fptosi %x0 : {element} to {i}", i) for i in ("i8", "i32", "i64")]
    code += [(f"%m = arith.fptoui %x0 : {element} to {i}", i) for i in ("i8", "i32", "i64")]
    code += [(f"%m = arith.extf %x0 : {element} to {f}", f) for f in ("f32", "f64")]
    code += [(f"%n = arith.fptosi %x1 : {element} to {i}\n%m = arith.sitofp %n : {i} to {element}", element)
             for i in ("i8", "i32", "i64")]
    code += [(f"%n = arith.bitcast %x0 : {element} to i16\n%k = arith.constant 1 : i16\n%o = arith.xori %n, %k : i16\n"
              f"%m = arith.bitcast %o : i16 to {element}", element)]
    outs, body = elementwise([c for c, _ in code], element, [t, t], [r for _, r in code])
    x, y = (store(rng.integers(0, 40, 96) / 4, element) for _ in range(2))
    _, results, _ = run(tmp_path, [t, t], outs, body, values=[x, y])
    a, b = load(x, element), load(y, element)
    whole = [np.trunc(a)] * 6 + [a] * 2
    for r, want in zip(results, [a == b, a != b, a < b, a >= b, np.zeros(96, bool), *whole]):
        np.testing.assert_array_equal(r, want)
    for r in results[13:16]:
        np.testing.assert_array_equal(load(r, element), np.trunc(b))
    np.testing.assert_array_equal(results[16].view(np.uint16), x.view(np.uint16) ^ 1)


def edges(element):
    """f32 on, just above and just below what lies between two numbers of the type, and its ends."""
    bits = np.arange(0, 0x7F80 if element == "bf16" else 0x7C00, 37, dtype=np.uint16)
    low = load(bits if element == "bf16" else bits.view(np.float16), element)
    high = load((bits + 1) if element == "bf16" else (bits + 1).view(np.float16), element)
    top = 2.0**128 if element == "bf16" else 65536.0
    middle = (low + np.where(np.isinf(high), top, high)) / 2
    special = [0.0, -0.0, np.inf, -np.inf, np.nan, 1e-45, 3.4e38, 65519.996, 65520.0]
    return low, middle, np.array(special)


@pytest.mark.parametrize("source", ["f32", "f64"])
@pytest.mark.parametrize("element", HALVES)
def test_rounding(tmp_path, element, source):
    """To nearest even, once, from f32 and from f64; NaN stays NaN."""
    low, middle, special = edges(element)
    wide = np.float32 if source == "f32" else np.float64
    middle = middle.astype(wide)
    x = np.concatenate([low.astype(wide), middle, np.nextafter(middle, wide(0)), np.nextafter(middle, wide(np.inf)),
                        special.astype(wide)])
    x = np.concatenate([x, -x]).astype(wide)
    t, o = f"tensor<{len(x)}x{source}>", f"tensor<{len(x)}x{element}>"
    body = f"\n    %e = tensor.empty() : {o}" + generic(
        "%r", ["(i) -> (i)"] * 2, "p", ["%a0"], [t], "%e", o,
        f"%m = arith.truncf %x0 : {source} to {element}\nlinalg.yield %m : {element}", element)
    _, (r,), _ = run(tmp_path, [t], [o], body + f"\n    cs.return %r : {o}", values=[x])
    ml_dtypes = pytest.importorskip("ml_dtypes")
    with np.errstate(over="ignore"):
        if element == "f16":
            want = x.astype(np.float16)
        else:
            # Of f64, ml_dtypes rounds twice; exact values of ours are compared with both neighbours instead.
            want = x.astype(np.float32).astype(ml_dtypes.bfloat16)
    got = r if element == "f16" else r.view(ml_dtypes.bfloat16)
    once = np.isnan(x) | (x.astype(np.float32) == x) if element == "bf16" else np.ones(len(x), bool)
    np.testing.assert_array_equal(np.isnan(got.astype(np.float64)), np.isnan(x))
    number = ~np.isnan(x) & once
    np.testing.assert_array_equal(r[number].view(np.uint16), want[number].view(np.uint16))
    if once.all():
        return

    def number_of(bits):
        """With the infinities where the next numbers would be."""
        v = bits.astype(np.uint16).view(ml_dtypes.bfloat16).astype(np.float64)
        return np.where(np.isinf(v), np.copysign(2.0**128, v), v)
    bits, exact = r[~once].astype(np.int32), x[~once]
    distance = np.abs(number_of(bits) - exact)
    for neighbour in (-1, 1):
        other = np.abs(number_of(bits + neighbour) - exact)
        assert np.all(~(other < distance))
        assert np.all((other != distance) | (bits % 2 == 0))


@pytest.mark.parametrize("element", HALVES)
@pytest.mark.parametrize("accumulate", [False, True])
@pytest.mark.parametrize("name", ["plain", "no_unit_stride", "attention", "row_products", "small"])
def test_products_round_once(tmp_path, name, element, accumulate):
    maps, iterators, a, b, out, einsum, kernels = CONTRACTIONS[name]
    a, b, out = (t.replace("f32", element) for t in (a, b, out))
    inputs = [a, b] + [out] * accumulate
    body = ("" if accumulate else fill("init", out)) + contraction(
        maps, iterators, a, b, out, "%a2" if accumulate else "%init").replace("f32", element)
    values, (r,), calls = run(tmp_path, inputs, [out], body + f"\n    cs.return %r : {out}")
    exact = np.einsum(einsum, *(load(v, element) for v in values[:2]))
    if accumulate:
        exact = exact + load(values[2], element)
    assert calls == ["matmul"] * kernels
    np.testing.assert_array_less(np.abs(load(r, element) - exact), spacing(exact, element) * 0.5 + 1e-5)


@pytest.mark.parametrize("element", HALVES)
def test_long_sums(tmp_path, element):
    """A product, a sum of products that is no kernel, and a sum: 4096 terms that a sum in 16 bits would lose."""
    m, v = f"tensor<4x4096x{element}>", f"tensor<4x{element}>"
    o = f"tensor<4x4x{element}>"
    body = fill("zero", v) + fill("zeros", o) + generic(
        "%s", ["(i, k) -> (i, k)", "(i, k) -> (i)"], "pr", ["%a0"], [m], "%zero", v,
        f"%m = arith.addf %z, %x0 : {element}\nlinalg.yield %m : {element}", element) + generic(
        "%d", ["(i, k) -> (i, k)", "(i, k) -> (i, k)", "(i, k) -> (i)"], "pr", ["%a0", "%a1"], [m, m], "%zero", v,
        f"%q = arith.mulf %x0, %x1 : {element}\n%m = arith.addf %z, %q : {element}\nlinalg.yield %m : {element}",
        element) + generic(
        "%p", ["(i, j, k) -> (i, k)", "(i, j, k) -> (j, k)", "(i, j, k) -> (i, j)"], "ppr", ["%a0", "%a1"], [m, m],
        "%zeros", o, f"%q = arith.mulf %x0, %x1 : {element}\n%m = arith.addf %z, %q : {element}\n"
        f"linalg.yield %m : {element}", element)
    values = [store(rng.uniform(0, 1, (4, 4096)), element) for _ in range(2)]
    _, (s, d, p), calls = run(tmp_path, [m, m], [v, v, o], body + f"\n    cs.return %s, %d, %p : {v}, {v}, {o}",
                              values=values)
    x, y = (load(v, element) for v in values)
    assert calls == ["matmul"]
    for r, exact in ((s, x.sum(1)), (d, (x * y).sum(1)), (p, x @ y.T)):
        error = np.abs(load(r, element) - exact)
        np.testing.assert_array_less(error, spacing(exact, element) * 0.5 + exact * 4096 * 2.0**-24)


@pytest.mark.parametrize("element", HALVES)
def test_what_the_program_says_stays(tmp_path, element):
    """f32 summed in 16 bits, and a loop that carries 16 bits, round after every addition."""
    f, v = "tensor<4096xf32>", f"tensor<{element}>"
    one = f"tensor<4096x{element}>"
    body = fill("zero", v) + generic(
        "%s", ["(k) -> (k)", "(k) -> ()"], "r", ["%a0"], [f], "%zero", v,
        f"%n = arith.truncf %x0 : f32 to {element}\n%m = arith.addf %z, %n : {element}\nlinalg.yield %m : {element}",
        element) + f"""
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %n = arith.constant 4096 : index
    %z = arith.constant 0.0 : {element}
    %t = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %z) -> ({element}) {{
      %x = tensor.extract %a1[%i] : {one}
      %next = arith.addf %sum, %x : {element}
      scf.yield %next : {element}
    }}
    %l = tensor.from_elements %t : {v}
    cs.return %s, %l : {v}, {v}"""
    _, (s, l), _ = run(tmp_path, [f, one], [v, v], body, values=[np.ones(4096, np.float32), store(np.ones(4096), element)])
    # Where adding 1 changes nothing any more: 2^8 or 2^11, or more in as many partial sums as a vector has.
    assert load(l, element) == 1 / EPSILON[element]
    assert load(s, element) <= 4096


@pytest.mark.parametrize("element", HALVES)
def test_what_is_compared_is_rounded(tmp_path, element):
    """A product's maximum is found again, and what overflows is not finite."""
    t, v, b = f"tensor<96x{element}>", f"tensor<{element}>", "tensor<96xi1>"
    body = fill("low", v, "0xFC00" if element == "f16" else "0xFF80") + f"""
    %e = tensor.empty() : {t}
    %eb = tensor.empty() : {b}""" + generic(
        "%p", ["(i) -> (i)"] * 3, "p", ["%a0", "%a1"], [t, t], "%e", t,
        f"%m = arith.mulf %x0, %x1 : {element}\nlinalg.yield %m : {element}", element) + generic(
        "%max", ["(i) -> (i)", "(i) -> ()"], "r", ["%p"], [t], "%low", v,
        f"%m = arith.maximumf %z, %x0 : {element}\nlinalg.yield %m : {element}", element) + generic(
        "%is", ["(i) -> (i)", "(i) -> ()", "(i) -> (i)"], "p", ["%p", "%max"], [t, v], "%eb", b,
        f"%m = arith.cmpf oeq, %x0, %x1 : {element}\nlinalg.yield %m : i1", "i1") + f"\n    cs.return %is : {b}"
    values = [store(rng.uniform(1, 2, 96), element) for _ in range(2)]
    _, (found,), _ = run(tmp_path, [t, t], [b], body, values=values)
    product = store(load(values[0], element) * load(values[1], element), element)
    np.testing.assert_array_equal(found, load(product, element) == load(product, element).max())


@pytest.mark.parametrize("element", HALVES)
def test_convolutions(tmp_path, element):
    x, w, g = (t.replace("f32", element) for t in ("tensor<2x9x9x4xf32>", "tensor<3x3x4x6xf32>", "tensor<2x7x7x6xf32>"))
    maps = [m.format(s="", d="") for m in CONV]
    body = fill("init", g) + contraction(maps, "pppprrr", x, w, g).replace("f32", element) + f"\n    cs.return %r : {g}"
    (vx, vw), (r,), calls = run(tmp_path, [x, w], [g], body)
    exact = np.einsum("nhwpqc,pqco->nhwo", windows(load(vx, element), (3, 3), (7, 7), 1, 1), load(vw, element))
    np.testing.assert_array_less(np.abs(load(r, element) - exact), spacing(exact, element) * 0.5 + 1e-5)
    assert calls == ["convolution_forward"]


@pytest.mark.parametrize("element", HALVES)
def test_products_that_stay_loops(tmp_path, element):
    """Too many batch dimensions for a kernel: loops, with the same sums."""
    loops = "(a, b, c, d, m, k)"
    maps = [f"{loops} -> (b, a, d, c, m, k)", f"{loops} -> (a, c, b, d, k)", f"{loops} -> (d, b, m, c, a)"]
    a, b, out = (t.replace("f32", element) for t in (
        "tensor<2x3x2x3x8x512xf32>", "tensor<3x3x2x2x512xf32>", "tensor<2x2x8x3x3xf32>"))
    body = fill("init", out) + contraction(maps, "pppppr", a, b, out).replace("f32", element)
    values = [store(rng.uniform(0, 1, s), element) for s in ((2, 3, 2, 3, 8, 512), (3, 3, 2, 2, 512))]
    (va, vb), (r,), calls = run(tmp_path, [a, b], [out], body + f"\n    cs.return %r : {out}", values=values)
    exact = np.einsum("badcmk,acbdk->dbmca", load(va, element), load(vb, element))
    np.testing.assert_array_less(np.abs(load(r, element) - exact), spacing(exact, element) * 0.5 + exact * 2.0**-14)
    assert calls == []
