# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Fragments compiled into plans, against NumPy."""
import numpy as np
import pytest

from plan_reader import DTYPES, Machine, from_bf16, read_plan, to_bf16, translate

CLUSTER = """cs.cluster @one nodes = 1 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
"""
NAMES = {"f64": 1, "f32": 2, "f16": 3, "bf16": 4, "i64": 5, "i32": 6, "i8": 7, "i1": 8}
rng = np.random.default_rng(7)


def dtype_of(tensor):
    return DTYPES[NAMES[tensor[7:-1].split("x")[-1]]]


def shape_of(tensor):
    return tuple(int(d) for d in tensor[7:-1].split("x")[:-1])


def module(inputs, results, body, maps=""):
    """One function with one fragment; `inputs` and `results` are tensor types."""
    placed = [f"!cs.placed<{t}, device 0>" for t in inputs]
    out = [f"!cs.placed<{t}, device 0>" for t in results]
    args = ", ".join(f'%p{i}: {t} {{cs.state = "a{i}"}}' for i, t in enumerate(placed))
    names = ", ".join(f"%p{i}" for i in range(len(inputs)))
    block = ", ".join(f"%a{i}: {t}" for i, t in enumerate(inputs))
    returns = ", ".join(f'{t} {{cs.updates = "r{i}"}}' for i, t in enumerate(out))
    values = ", ".join(f"%f#{i}" for i in range(len(out))) if len(out) > 1 else "%f"
    count = f":{len(out)}" if len(out) > 1 else ""
    return f"""{maps}
{CLUSTER}
func.func @f({args}) -> ({returns}) {{
  %f{count} = cs.fragment "f" on 0 ({names}) : ({", ".join(placed)}) -> ({", ".join(out)}) {{
  ^bb0({block}):
{body}
  }}
  return {values} : {", ".join(out)}
}}
"""


def value(tensor, low=-1.0, high=1.0):
    dtype = dtype_of(tensor)
    if tensor.endswith("xbf16>"):
        return to_bf16(rng.uniform(low, high, shape_of(tensor)))
    if dtype == np.bool_:
        return rng.random(shape_of(tensor)) < 0.5
    if np.issubdtype(dtype, np.integer):
        return rng.integers(int(low * 10), int(high * 10) + 1, shape_of(tensor)).astype(dtype)
    return rng.uniform(low, high, shape_of(tensor)).astype(dtype)


def run(tmp_path, inputs, results, body, maps="", values=None, flags=()):
    """Compiles and runs; returns the inputs, the results, and the kernels called."""
    machine = Machine(translate(module(inputs, results, body, maps), str(tmp_path), *flags))
    values = values or [value(t) for t in inputs]
    before = [np.array(v, copy=True) for v in values]
    machine.slots = {f"a{i}": v for i, v in enumerate(values)}
    machine.run("f")
    for old, new in zip(before, values):
        np.testing.assert_array_equal(old, new, "an input was written")
    return before, [machine.slots[f"r{i}"] for i in range(len(results))], machine.calls


def fill(name, tensor, constant="0.0"):
    element = tensor[7:-1].split("x")[-1]
    return f"""
    %{name}.c = arith.constant {constant} : {element}
    %{name}.e = tensor.empty() : {tensor}
    %{name} = linalg.fill ins(%{name}.c : {element}) outs(%{name}.e : {tensor}) -> {tensor}"""


def contraction(maps, iterators, a, b, out, init="%init"):
    names = ", ".join(f"affine_map<{m}>" for m in maps)
    kinds = ", ".join('"parallel"' if i == "p" else '"reduction"' for i in iterators)
    return f"""
    %r = linalg.generic {{indexing_maps = [{names}], iterator_types = [{kinds}]}}
        ins(%a0, %a1 : {a}, {b}) outs({init} : {out}) {{
    ^bb1(%x: f32, %y: f32, %z: f32):
      %m = arith.mulf %x, %y : f32
      %s = arith.addf %z, %m : f32
      linalg.yield %s : f32
    }} -> {out}"""


CONTRACTIONS = {
    # name: maps, iterators, a, b, out, einsum, kernels
    "plain": (["(m, n, k) -> (m, k)", "(m, n, k) -> (k, n)", "(m, n, k) -> (m, n)"], "ppr",
              "tensor<17x33xf32>", "tensor<33x9xf32>", "tensor<17x9xf32>", "mk,kn->mn", 1),
    "transposed": (["(m, n, k) -> (k, m)", "(m, n, k) -> (n, k)", "(m, n, k) -> (n, m)"], "ppr",
                   "tensor<33x17xf32>", "tensor<9x33xf32>", "tensor<9x17xf32>", "km,nk->nm", 1),
    "attention": (["(b, h, q, k, d) -> (b, q, h, d)", "(b, h, q, k, d) -> (b, k, h, d)",
                   "(b, h, q, k, d) -> (b, h, q, k)"], "ppppr",
                  "tensor<2x8x3x16xf32>", "tensor<2x8x3x16xf32>", "tensor<2x3x8x8xf32>", "bqhd,bkhd->bhqk", 1),
    "two_sums": (["(b, s, e, h, d) -> (b, h, s, d)", "(b, s, e, h, d) -> (h, d, e)",
                  "(b, s, e, h, d) -> (b, s, e)"], "ppprr",
                 "tensor<2x3x5x8xf32>", "tensor<3x8x12xf32>", "tensor<2x5x12xf32>", "bhsd,hde->bse", 1),
    "no_unit_stride": (["(m, n, k, b) -> (m, k, b)", "(m, n, k, b) -> (k, n, b)", "(m, n, k, b) -> (m, n, b)"],
                       "pprp", "tensor<9x12x5xf32>", "tensor<12x10x5xf32>", "tensor<9x10x5xf32>",
                       "mkb,knb->mnb", 1),
    "vector": (["(m, k) -> (m, k)", "(m, k) -> (k)", "(m, k) -> (m)"], "pr",
               "tensor<65x40xf32>", "tensor<40xf32>", "tensor<65xf32>", "mk,k->m", 1),
    "row_products": (["(m, k) -> (m, k)", "(m, k) -> (m, k)", "(m, k) -> (m)"], "pr",
                     "tensor<65x40xf32>", "tensor<65x40xf32>", "tensor<65xf32>", "mk,mk->m", 0),
    "small": (["(m, n, k) -> (m, k)", "(m, n, k) -> (k, n)", "(m, n, k) -> (m, n)"], "ppr",
              "tensor<3x4xf32>", "tensor<4x5xf32>", "tensor<3x5xf32>", "mk,kn->mn", 0),
    "outer_batch": (["(a, b, n, k) -> (b, a, k)", "(a, b, n, k) -> (k, n)", "(a, b, n, k) -> (a, b, n)"], "pppr",
                    "tensor<6x7x16xf32>", "tensor<16x8xf32>", "tensor<7x6x8xf32>", "bak,kn->abn", 1),
}


@pytest.mark.parametrize("name", CONTRACTIONS)
@pytest.mark.parametrize("accumulate", [False, True])
def test_contraction(tmp_path, name, accumulate):
    maps, iterators, a, b, out, einsum, kernels = CONTRACTIONS[name]
    if accumulate:
        body, inputs = contraction(maps, iterators, a, b, out, "%a2"), [a, b, out]
    else:
        body, inputs = fill("init", out) + contraction(maps, iterators, a, b, out), [a, b]
    values, (result,), calls = run(tmp_path, inputs, [out], body + f"\n    cs.return %r : {out}")
    expected = np.einsum(einsum, values[0].astype(np.float64), values[1])
    if accumulate:
        expected = expected + values[2]
    np.testing.assert_allclose(result, expected, rtol=2e-5, atol=2e-5)
    assert calls == ["matmul"] * kernels


@pytest.mark.parametrize("out", ["bf16", "f32"])
def test_contraction_of_bf16(tmp_path, out):
    """Narrow inputs, widened or not."""
    a, b, c = "tensor<16x32xbf16>", "tensor<32x24xbf16>", f"tensor<16x24x{out}>"
    widen = "" if out == "bf16" else "%xw = arith.extf %x : bf16 to f32\n%yw = arith.extf %y : bf16 to f32"
    x, y = ("%x", "%y") if out == "bf16" else ("%xw", "%yw")
    body = fill("init", c) + f"""
    %r = linalg.generic {{indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>,
        affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"]}}
        ins(%a0, %a1 : {a}, {b}) outs(%init : {c}) {{
    ^bb1(%x: bf16, %y: bf16, %z: {out}):
      {widen}
      %m = arith.mulf {x}, {y} : {out}
      %s = arith.addf %z, %m : {out}
      linalg.yield %s : {out}
    }} -> {c}
    cs.return %r : {c}"""
    (va, vb), (r,), calls = run(tmp_path, [a, b], [c], body)
    expected = from_bf16(va).astype(np.float64) @ from_bf16(vb)
    result = from_bf16(r) if out == "bf16" else r
    np.testing.assert_allclose(result, expected, rtol=1e-2 if out == "bf16" else 1e-5, atol=1e-5)
    assert calls == ["matmul"]


def test_many_batch_dimensions_are_loops(tmp_path):
    loops = "(a, b, c, d, m, k)"
    maps = [f"{loops} -> (b, a, d, c, m, k)", f"{loops} -> (a, c, b, d, k)", f"{loops} -> (d, b, m, c, a)"]
    a, b, out = "tensor<2x3x2x3x8x9xf32>", "tensor<3x3x2x2x9xf32>", "tensor<2x2x8x3x3xf32>"
    body = fill("init", out) + contraction(maps, "pppppr", a, b, out) + f"\n    cs.return %r : {out}"
    (va, vb), (r,), calls = run(tmp_path, [a, b], [out], body)
    np.testing.assert_allclose(r, np.einsum("badcmk,acbdk->dbmca", va, vb), rtol=2e-5, atol=2e-5)
    assert calls == []


CONV = ["(n, h, w, o, p, q, c) -> (n, h{s} + p{d}, w{s} + q{d}, c)", "(n, h, w, o, p, q, c) -> (p, q, c, o)",
        "(n, h, w, o, p, q, c) -> (n, h, w, o)"]


def windows(x, kernel, image, stride, dilation):
    """x[n, h s + p d, w s + q d, c] as [n, h, w, p, q, c]."""
    n, c = x.shape[0], x.shape[3]
    result = np.zeros((n, *image, *kernel, c))
    for h, w, p, q in np.ndindex(*image, *kernel):
        result[:, h, w, p, q] = x[:, h * stride + p * dilation, w * stride + q * dilation]
    return result


@pytest.mark.parametrize("stride,dilation,spare", [(1, 1, 0), (2, 1, 1), (1, 2, 0), (2, 2, 0)])
def test_convolution(tmp_path, stride, dilation, spare):
    s, d = ("" if f == 1 else f" * {f}" for f in (stride, dilation))
    maps = [m.format(s=s, d=d) for m in CONV]
    size = 5 * stride + 2 * dilation + 1 + spare
    x, w, g = f"tensor<2x{size}x{size}x4xf32>", "tensor<3x3x4x6xf32>", "tensor<2x6x6x6xf32>"
    body = fill("init", g) + contraction(maps, "pppprrr", x, w, g) + f"\n    cs.return %r : {g}"
    (vx, vw), (result,), calls = run(tmp_path, [x, w], [g], body)
    expected = np.einsum("nhwpqc,pqco->nhwo", windows(vx, (3, 3), (6, 6), stride, dilation), vw)
    np.testing.assert_allclose(result, expected, rtol=2e-5, atol=2e-5)
    assert calls == ["convolution_forward"]


@pytest.mark.parametrize("stride", [1, 2])
def test_convolution_weights(tmp_path, stride):
    s = "" if stride == 1 else f" * {stride}"
    loops = "(p, q, c, o, n, h, w)"
    maps = [f"{loops} -> (n, p + h{s}, q + w{s}, c)", f"{loops} -> (n, h, w, o)", f"{loops} -> (p, q, c, o)"]
    size = 7 * stride + 3
    x, g, w = f"tensor<2x{size}x{size}x4xf32>", "tensor<2x8x8x6xf32>", "tensor<3x3x4x6xf32>"
    body = fill("init", w) + contraction(maps, "pppprrr", x, g, w) + f"\n    cs.return %r : {w}"
    (vx, vg), (result,), calls = run(tmp_path, [x, g], [w], body)
    expected = np.einsum("nhwpqc,nhwo->pqco", windows(vx, (3, 3), (8, 8), stride, 1), vg)
    np.testing.assert_allclose(result, expected, rtol=2e-5, atol=3e-5)
    assert calls == ["convolution_backward_weights"]


def test_convolution_padding_is_the_kernels(tmp_path):
    """Zero padding costs no copy: the kernel reads what was padded."""
    x, p, w, g = "tensor<2x6x7x4xf32>", "tensor<2x9x9x4xf32>", "tensor<3x3x4x6xf32>", "tensor<2x7x7x6xf32>"
    maps = [m.format(s="", d="") for m in CONV]
    body = fill("init", g) + f"""
    %zero = arith.constant 0.0 : f32
    %p = tensor.pad %a0 low[0, 2, 1, 0] high[0, 1, 1, 0] {{
    ^bb1(%i: index, %j: index, %k: index, %l: index):
      tensor.yield %zero : f32
    }} : {x} to {p}
    """ + contraction(maps, "pppprrr", p, w, g).replace("%a0", "%p") + f"\n    cs.return %r : {g}"
    plan = Machine(translate(module([x, w], [g], body), str(tmp_path)))
    attributes = {e.key: e.value.values for e in plan.plan.kernels[0].attributes}
    assert attributes["pad_low"] == [2, 1] and attributes["pad_high"] == [1, 1]
    assert plan.function("f").scratch_bytes == 0
    (vx, vw), (result,), _ = run(tmp_path, [x, w], [g], body)
    padded = np.pad(vx, [(0, 0), (2, 1), (1, 1), (0, 0)])
    expected = np.einsum("nhwpqc,pqco->nhwo", windows(padded, (3, 3), (7, 7), 1, 1), vw)
    np.testing.assert_allclose(result, expected, rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("o", [1, 3])
@pytest.mark.parametrize("c", [1, 2])
def test_convolution_with_groups(tmp_path, c, o):
    """Depthwise, with a multiplier, and groups of channels; and the weights' gradient of each."""
    loops = "(n, h, w, k, o, p, q, c)"
    source, weights, image = (f"{loops} -> (n, h + p, w + q, k, c)", f"{loops} -> (p, q, c, k, o)",
                              f"{loops} -> (n, h, w, k, o)")
    x, w, g = f"tensor<2x8x8x4x{c}xf32>", f"tensor<3x3x{c}x4x{o}xf32>", f"tensor<2x6x6x4x{o}xf32>"
    body = fill("init", g) + contraction([source, weights, image], "pppppppr".replace("ppr", "rrr"), x, w, g)
    (vx, vw), (result,), calls = run(tmp_path, [x, w], [g], body + f"\n    cs.return %r : {g}")
    flat = windows(vx.reshape(2, 8, 8, -1), (3, 3), (6, 6), 1, 1).reshape(2, 6, 6, 3, 3, 4, c)
    np.testing.assert_allclose(result, np.einsum("nhwpqkc,pqcko->nhwko", flat, vw), rtol=2e-5, atol=2e-5)
    assert calls == ["convolution_forward"]
    body = fill("init", w) + contraction([source, image, weights], "rrrppppp", x, g, w)
    (vx, vg), (result,), calls = run(tmp_path, [x, g], [w], body + f"\n    cs.return %r : {w}")
    flat = windows(vx.reshape(2, 8, 8, -1), (3, 3), (6, 6), 1, 1).reshape(2, 6, 6, 3, 3, 4, c)
    np.testing.assert_allclose(result, np.einsum("nhwpqkc,nhwko->pqcko", flat, vg), rtol=2e-5, atol=3e-5)
    assert calls == ["convolution_backward_weights"]


def test_softmax_op(tmp_path):
    t = "tensor<5x37xf32>"
    (x,), (result,), _ = run(tmp_path, [t], [t], f"""
    %e = tensor.empty() : {t}
    %r = linalg.softmax dimension(1) ins(%a0 : {t}) outs(%e : {t}) -> {t}
    cs.return %r : {t}""")
    e = np.exp(x - x.max(1, keepdims=True))
    np.testing.assert_allclose(result, e / e.sum(1, keepdims=True), rtol=1e-6)


def test_several_kernels_in_a_fragment(tmp_path):
    """Two layers and a transposed view between them; no kernel is taken for another."""
    a, w1, w2, h, r = ("tensor<16x32xf32>", "tensor<32x24xf32>", "tensor<24x16xf32>", "tensor<16x24xf32>",
                       "tensor<16x16xf32>")
    body = fill("i1", h) + fill("i2", r) + f"""
    %h = linalg.matmul ins(%a0, %a1 : {a}, {w1}) outs(%i1 : {h}) -> {h}
    %e = tensor.empty() : tensor<24x16xf32>
    %t = linalg.transpose ins(%h : {h}) outs(%e : tensor<24x16xf32>) permutation = [1, 0]
    %g = linalg.generic {{indexing_maps = [affine_map<(m, n, k) -> (k, m)>, affine_map<(m, n, k) -> (k, n)>,
        affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"]}}
        ins(%t, %a2 : tensor<24x16xf32>, {w2}) outs(%i2 : {r}) {{
    ^bb1(%x: f32, %y: f32, %z: f32):
      %m = arith.mulf %x, %y : f32
      %s = arith.addf %z, %m : f32
      linalg.yield %s : f32
    }} -> {r}
    cs.return %g, %h : {r}, {h}"""
    (va, v1, v2), (result, hidden), calls = run(tmp_path, [a, w1, w2], [r, h], body)
    np.testing.assert_allclose(hidden, va @ v1, rtol=2e-5, atol=2e-5)
    np.testing.assert_allclose(result, (va @ v1) @ v2, rtol=2e-5, atol=5e-5)
    assert calls == ["matmul", "matmul"]


def unary(op, tensor):
    return f"""
    %e = tensor.empty() : {tensor}
    %r = linalg.generic {{indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>],
        iterator_types = ["parallel"]}} ins(%a0 : {tensor}) outs(%e : {tensor}) {{
    ^bb1(%x: f32, %z: f32):
      %y = math.{op} %x : f32
      linalg.yield %y : f32
    }} -> {tensor}
    cs.return %r : {tensor}"""


MATH = {
    # name: NumPy in float64, ranges, largest relative error in ulps of f32
    "exp": (np.exp, [(-87, 88), (-1, 1)], 4), "log": (np.log, [(1e-30, 1e-3), (0.5, 2), (1, 1e30)], 4),
    "tanh": (np.tanh, [(-10, 10), (-0.1, 0.1), (-1e-3, 1e-3)], 6), "log1p": (np.log1p, [(-0.5, 1), (-1e-4, 1e-4)], 6),
    "expm1": (np.expm1, [(-3, 3), (-1e-4, 1e-4)], 6), "rsqrt": (lambda x: 1 / np.sqrt(x), [(1e-6, 1e6)], 3),
    "sqrt": (np.sqrt, [(0, 1e6)], 1), "sin": (np.sin, [(-20, 20)], 8), "cos": (np.cos, [(-20, 20)], 8),
    "erf": (np.vectorize(__import__("math").erf), [(-4, 4), (-0.1, 0.1)], 8), "absf": (np.abs, [(-1, 1)], 0),
}


@pytest.mark.parametrize("op", MATH)
def test_math(tmp_path, op):
    function, ranges, ulps = MATH[op]
    tensor = "tensor<20000xf32>"
    for low, high in ranges:
        x = np.sort(rng.uniform(low, high, 20000)).astype(np.float32)
        _, (result,), _ = run(tmp_path, [tensor], [tensor], unary(op, tensor), values=[x])
        expected = function(x.astype(np.float64))
        error = np.abs(result - expected) / np.maximum(np.spacing(np.abs(expected).astype(np.float32)), 1e-45)
        # Near a zero of the function what counts is the argument's own precision.
        if op in ("sin", "cos"):
            error = np.where(np.abs(expected) < 1e-3, 0, error)
        assert error.max() <= ulps, (op, low, high, error.max(), x[error.argmax()])


@pytest.mark.parametrize("op", ["exp", "log", "tanh", "erf"])
def test_math_at_the_edges(tmp_path, op):
    x = np.zeros(64, np.float32)
    x[:8] = [np.inf, -np.inf, np.nan, 0, 1e38, -1e38, 100, -104]
    _, (result,), _ = run(tmp_path, ["tensor<64xf32>"], ["tensor<64xf32>"], unary(op, "tensor<64xf32>"), values=[x])
    with np.errstate(all="ignore"):
        expected = MATH[op][0](x.astype(np.float64)).astype(np.float32) if op != "log" else np.log(x)
    np.testing.assert_allclose(result, expected, rtol=1e-6, atol=1e-37)


def generic(out, maps, iterators, ins, types, init, init_type, body, element="f32"):
    """One linalg.generic: block arguments %x0.. and %z."""
    names = ", ".join(f"affine_map<{m}>" for m in maps)
    kinds = ", ".join('"parallel"' if i == "p" else '"reduction"' for i in iterators)
    of = [t[7:-1].split("x")[-1] for t in types]
    args = ", ".join([f"%x{i}: {t}" for i, t in enumerate(of)] + [f"%z: {element}"])
    inputs = f'ins({", ".join(ins)} : {", ".join(types)})' if ins else ""
    return f"""
    {out} = linalg.generic {{indexing_maps = [{names}], iterator_types = [{kinds}]}}
        {inputs} outs({init} : {init_type}) {{
    ^bb1({args}):
{body}
    }} -> {init_type}"""


def test_softmax(tmp_path):
    t, v = "tensor<5x37xf32>", "tensor<5xf32>"
    ij, i = "(i, j) -> (i, j)", "(i, j) -> (i)"
    body = fill("lowest", v, "0xFF800000") + fill("zero", v) + f"\n    %e = tensor.empty() : {t}"
    body += generic("%max", [ij, i], "pr", ["%a0"], [t], "%lowest", v,
                    "%m = arith.maximumf %z, %x0 : f32\nlinalg.yield %m : f32")
    body += generic("%exp", [ij, i, ij], "pp", ["%a0", "%max"], [t, v], "%e", t,
                    "%d = arith.subf %x0, %x1 : f32\n%m = math.exp %d : f32\nlinalg.yield %m : f32")
    body += generic("%sum", [ij, i], "pr", ["%exp"], [t], "%zero", v,
                    "%m = arith.addf %z, %x0 : f32\nlinalg.yield %m : f32")
    body += generic("%r", [ij, i, ij], "pp", ["%exp", "%sum"], [t, v], "%e", t,
                    "%m = arith.divf %x0, %x1 : f32\nlinalg.yield %m : f32")
    (x,), (result,), _ = run(tmp_path, [t], [t], body + f"\ncs.return %r : {t}")
    e = np.exp(x - x.max(1, keepdims=True))
    np.testing.assert_allclose(result, e / e.sum(1, keepdims=True), rtol=1e-6)


REDUCTIONS = {"rows": ("(i, j, k) -> (i)", "prr", (1, 2)), "columns": ("(i, j, k) -> (k)", "rrp", (0, 1)),
              "middle": ("(i, j, k) -> (i, k)", "prp", (1,)), "all": ("(i, j, k) -> ()", "rrr", (0, 1, 2))}


@pytest.mark.parametrize("name", REDUCTIONS)
def test_reduction(tmp_path, name):
    out_map, iterators, axes = REDUCTIONS[name]
    t = "tensor<9x7x19xf32>"
    left = [n for a, n in enumerate((9, 7, 19)) if a not in axes]
    r = "tensor<" + "".join(f"{n}x" for n in left) + "f32>"
    body = fill("zero", r) + generic("%r", ["(i, j, k) -> (i, j, k)", out_map], iterators, ["%a0"], [t], "%zero", r,
                                     "%q = arith.mulf %x0, %x0 : f32\n%m = arith.addf %z, %q : f32\n"
                                     "linalg.yield %m : f32")
    (x,), (result,), _ = run(tmp_path, [t], [r], body + f"\ncs.return %r : {r}")
    np.testing.assert_allclose(result, (x.astype(np.float64) ** 2).sum(axes), rtol=1e-6)


def test_shapes(tmp_path):
    """Slices, insertion, padding with a value, concatenation, reshapes, transposes."""
    body = """
    %one = arith.constant 1.5 : f32
    %s = tensor.extract_slice %a0[1, 2] [3, 4] [2, 1] : tensor<7x8xf32> to tensor<3x4xf32>
    %i = tensor.insert_slice %s into %a0[0, 0] [3, 4] [1, 2] : tensor<3x4xf32> into tensor<7x8xf32>
    %p = tensor.pad %s low[1, 0] high[0, 2] {
    ^bb1(%x: index, %y: index):
      tensor.yield %one : f32
    } : tensor<3x4xf32> to tensor<4x6xf32>
    %c = tensor.concat dim(1) %s, %s : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x8xf32>
    %k = tensor.collapse_shape %a0 [[0, 1]] : tensor<7x8xf32> into tensor<56xf32>
    %x = tensor.expand_shape %k [[0, 1, 2]] output_shape [2, 7, 4] : tensor<56xf32> into tensor<2x7x4xf32>
    %e = tensor.empty() : tensor<4x2x7xf32>
    %t = linalg.transpose ins(%x : tensor<2x7x4xf32>) outs(%e : tensor<4x2x7xf32>) permutation = [2, 0, 1]
    cs.return %s, %i, %p, %c, %t, %a0, %k : tensor<3x4xf32>, tensor<7x8xf32>, tensor<4x6xf32>, tensor<3x8xf32>,
        tensor<4x2x7xf32>, tensor<7x8xf32>, tensor<56xf32>"""
    types = ["tensor<3x4xf32>", "tensor<7x8xf32>", "tensor<4x6xf32>", "tensor<3x8xf32>", "tensor<4x2x7xf32>",
             "tensor<7x8xf32>", "tensor<56xf32>"]
    (a,), (s, i, p, c, t, same, flat), _ = run(tmp_path, ["tensor<7x8xf32>"], types, body)
    expected = a[1:7:2, 2:6]
    inserted = a.copy()
    inserted[:3, 0:8:2] = expected
    np.testing.assert_array_equal(s, expected)
    np.testing.assert_array_equal(i, inserted)
    np.testing.assert_array_equal(p, np.pad(expected, [(1, 0), (0, 2)], constant_values=1.5))
    np.testing.assert_array_equal(c, np.concatenate([expected, expected], 1))
    np.testing.assert_array_equal(t, a.reshape(2, 7, 4).transpose(2, 0, 1))
    np.testing.assert_array_equal(same, a)
    np.testing.assert_array_equal(flat, a.ravel())


def test_gather_and_scatter(tmp_path):
    """Rows of a table by index, and their gradient: added back row by row."""
    table, ids, rows = "tensor<11x6xf32>", "tensor<9xi32>", "tensor<9x6xf32>"
    body = f"""
    %e = tensor.empty() : {rows}
    %g = linalg.generic {{indexing_maps = [affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>],
        iterator_types = ["parallel", "parallel"]}} ins(%a1 : {ids}) outs(%e : {rows}) {{
    ^bb1(%x: i32, %z: f32):
      %row = arith.index_cast %x : i32 to index
      %j = linalg.index 1 : index
      %v = tensor.extract %a0[%row, %j] : {table}
      linalg.yield %v : f32
    }} -> {rows}
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c6 = arith.constant 6 : index
    %c9 = arith.constant 9 : index
    {fill("zero", table)}
    %s = scf.for %i = %c0 to %c9 step %c1 iter_args(%t = %zero) -> ({table}) {{
      %id = tensor.extract %a1[%i] : {ids}
      %row = arith.index_cast %id : i32 to index
      %n = scf.for %j = %c0 to %c6 step %c1 iter_args(%u = %t) -> ({table}) {{
        %old = tensor.extract %u[%row, %j] : {table}
        %add = tensor.extract %g[%i, %j] : {rows}
        %new = arith.addf %old, %add : f32
        %w = tensor.insert %new into %u[%row, %j] : {table}
        scf.yield %w : {table}
      }}
      scf.yield %n : {table}
    }}
    cs.return %g, %s : {rows}, {table}"""
    values = [value(table), rng.integers(0, 11, 9).astype(np.int32)]
    (a, i), (g, s), _ = run(tmp_path, [table, ids], [rows, table], body, values=values)
    np.testing.assert_array_equal(g, a[i])
    expected = np.zeros((11, 6), np.float32)
    np.add.at(expected, i, a[i])
    np.testing.assert_allclose(s, expected, rtol=1e-6)


def test_loops_with_carried_tensors(tmp_path):
    """A while loop, a for loop that swaps what it carries, with a product in it, and a choice."""
    m = "tensor<16x16xf32>"
    body = f"""
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c3 = arith.constant 3 : index
    %two = arith.constant 2.0 : f32
    %limit = arith.constant 100.0 : f32
    {fill("zero", m)}
    %f:2 = scf.for %i = %c0 to %c3 step %c1 iter_args(%x = %a0, %y = %a1) -> ({m}, {m}) {{
      %p = linalg.matmul ins(%x, %y : {m}, {m}) outs(%zero : {m}) -> {m}
      scf.yield %y, %p : {m}, {m}
    }}
    %z = arith.constant dense<1.0> : tensor<f32>
    %w:2 = scf.while (%v = %z, %u = %a0) : (tensor<f32>, {m}) -> (tensor<f32>, {m}) {{
      %s = tensor.extract %v[] : tensor<f32>
      %more = arith.cmpf olt, %s, %limit : f32
      scf.condition(%more) %v, %u : tensor<f32>, {m}
    }} do {{
    ^bb2(%v: tensor<f32>, %u: {m}):
      %s = tensor.extract %v[] : tensor<f32>
      %d = arith.mulf %s, %two : f32
      %n = tensor.from_elements %d : tensor<f32>
      %e = tensor.empty() : {m}
      %q = linalg.add ins(%u, %a1 : {m}, {m}) outs(%e : {m}) -> {m}
      scf.yield %n, %q : tensor<f32>, {m}
    }}
    %s = tensor.extract %w#0[] : tensor<f32>
    %big = arith.cmpf ogt, %s, %limit : f32
    %r = scf.if %big -> ({m}) {{
      scf.yield %w#1 : {m}
    }} else {{
      %e = tensor.empty() : {m}
      %n = linalg.negf ins(%a0 : {m}) outs(%e : {m}) -> {m}
      scf.yield %n : {m}
    }}
    cs.return %f#0, %f#1, %w#0, %r : {m}, {m}, tensor<f32>, {m}"""
    (a, b), (f0, f1, w, r), _ = run(tmp_path, [m, m], [m, m, "tensor<f32>", m], body)
    x, y = a.astype(np.float64), b.astype(np.float64)
    for _ in range(3):
        x, y = y, x @ y
    np.testing.assert_allclose(f0, x, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(f1, y, rtol=1e-4, atol=1e-4)
    assert w == 128
    np.testing.assert_allclose(r, a + 7 * b, rtol=1e-5, atol=1e-5)


def test_constants(tmp_path):
    body = """
    %d = arith.constant dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : tensor<2x3xf32>
    %s = arith.constant dense<2.5> : tensor<100x40xf32>
    %e = tensor.empty() : tensor<2x3xf32>
    %r = linalg.add ins(%d, %a0 : tensor<2x3xf32>, tensor<2x3xf32>) outs(%e : tensor<2x3xf32>) -> tensor<2x3xf32>
    cs.return %r, %d, %s : tensor<2x3xf32>, tensor<2x3xf32>, tensor<100x40xf32>"""
    (a,), (r, d, s), _ = run(tmp_path, ["tensor<2x3xf32>"],
                             ["tensor<2x3xf32>", "tensor<2x3xf32>", "tensor<100x40xf32>"], body)
    table = np.array([[1, 2, 3], [4, 5, 6]], np.float32)
    np.testing.assert_array_equal(r, table + a)
    np.testing.assert_array_equal(d, table)
    np.testing.assert_array_equal(s, np.full((100, 40), 2.5, np.float32))


def elementwise(element, code, inputs=2, out=None):
    t, o = f"tensor<77x{element}>", f"tensor<77x{out or element}>"
    body = f"\n    %e = tensor.empty() : {o}" + generic(
        "%r", ["(i) -> (i)"] * (inputs + 1), "p", [f"%a{i}" for i in range(inputs)], [t] * inputs, "%e", o,
        code, out or element)
    return [t] * inputs, [o], body + f"\n    cs.return %r : {o}"


@pytest.mark.parametrize("op", ["expm1", "log1p", "exp", "tanh"])
def test_math_in_double_precision(tmp_path, op):
    code = f"%m = math.{op} %x0 : f64\nlinalg.yield %m : f64"
    (a,), (r,), _ = run(tmp_path, *elementwise("f64", code, inputs=1),
                        values=[np.concatenate([rng.uniform(-0.9, 0.9, 60), rng.uniform(-1e-9, 1e-9, 17)])])
    np.testing.assert_allclose(r, getattr(np, op)(a), rtol=1e-14)


@pytest.mark.parametrize("element", ["f64", "f32", "f16"])
def test_floats(tmp_path, element):
    code = (f"%m = arith.mulf %x0, %x1 : {element}\n%s = arith.subf %m, %x0 : {element}\n"
            f"%t = math.exp %s : {element}\nlinalg.yield %t : {element}")
    (a, b), (r,), _ = run(tmp_path, *elementwise(element, code))
    wide = a.astype(np.float64)
    expected = np.exp(wide * b.astype(np.float64) - wide)
    np.testing.assert_allclose(r.astype(np.float64), expected, rtol={"f64": 1e-14, "f32": 1e-6, "f16": 4e-3}[element])


def test_bf16(tmp_path):
    """Operations are of f32; results round to bf16."""
    code = "%m = arith.mulf %x0, %x1 : bf16\n%s = arith.addf %m, %x0 : bf16\nlinalg.yield %s : bf16"
    (a, b), (r,), _ = run(tmp_path, *elementwise("bf16", code))
    x, y = from_bf16(a), from_bf16(b)
    difference = r.astype(int) - to_bf16(x.astype(np.float64) * y + x)
    assert np.abs(difference).max() <= 1 and (difference != 0).mean() < 0.05


@pytest.mark.parametrize("element", ["i64", "i32", "i8"])
def test_integers(tmp_path, element):
    code = (f"%m = arith.muli %x0, %x1 : {element}\n%s = arith.maxsi %m, %x0 : {element}\n"
            f"%t = arith.xori %s, %x1 : {element}\nlinalg.yield %t : {element}")
    (a, b), (r,), _ = run(tmp_path, *elementwise(element, code))
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(r, np.maximum(a * b, a) ^ b)


def test_booleans(tmp_path):
    """One byte each in memory, 0 or 1."""
    code = "%m = arith.xori %x0, %x1 : i1\nlinalg.yield %m : i1"
    (a, b), (r,), _ = run(tmp_path, *elementwise("i1", code))
    np.testing.assert_array_equal(r.view(np.uint8), (a ^ b).astype(np.uint8))
    code = "%m = arith.cmpf ogt, %x0, %x1 : f32\nlinalg.yield %m : i1"
    (a, b), (r,), _ = run(tmp_path, *elementwise("f32", code, out="i1"))
    np.testing.assert_array_equal(r.view(np.uint8), (a > b).astype(np.uint8))


def test_wider_vectors(tmp_path):
    """x86-64-v4 code is made anywhere; it is marked as needing AVX-512."""
    inputs, results, body = elementwise("f32", "%m = arith.addf %x0, %x1 : f32\nlinalg.yield %m : f32")
    plan = read_plan(translate(module(inputs, results, body), str(tmp_path), "--target-cpu=x86-64-v4"))
    assert plan.objects[0].target == "x86_64-unknown-linux-gnu;x86-64-v4"
    assert plan.required_features >> 4 & 1 and not plan.required_features >> 3 & 1
