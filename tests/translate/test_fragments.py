# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Fragments without library kernels, against NumPy."""
import numpy as np
import pytest

from harness import fill, module, rng, run, value
from plan_reader import from_bf16, read_plan, to_bf16, translate


def test_softmax_op(tmp_path):
    t = "tensor<5x37xf32>"
    (x,), (result,), _ = run(tmp_path, [t], [t], f"""
    %e = tensor.empty() : {t}
    %r = linalg.softmax dimension(1) ins(%a0 : {t}) outs(%e : {t}) -> {t}
    cs.return %r : {t}""")
    e = np.exp(x - x.max(1, keepdims=True))
    np.testing.assert_allclose(result, e / e.sum(1, keepdims=True), rtol=1e-6)


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
    "erf": (np.vectorize(__import__("math").erf), [(-4, 4), (-0.1, 0.1)], 8),
    "erfc": (np.vectorize(__import__("math").erfc), [(-4, 4), (-0.1, 0.1), (0.5, 9)], 8), "absf": (np.abs, [(-1, 1)], 0),
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


@pytest.mark.parametrize("op", ["exp", "log", "tanh", "erf", "erfc"])
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


def test_a_sum_in_place_is_not_repeated_with_its_reader(tmp_path):
    """An outer product that adds to zeros, read once for each k."""
    (x, y), (result,), _ = run(tmp_path, ["tensor<5xf32>", "tensor<7xf32>"], ["tensor<5x3x7xf32>"], """
    %c = arith.constant 0.0 : f32
    %e = tensor.empty() : tensor<5x7xf32>
    %zeros = linalg.fill ins(%c : f32) outs(%e : tensor<5x7xf32>) -> tensor<5x7xf32>
""" + generic("%p", ["(i, j) -> (i)", "(i, j) -> (j)", "(i, j) -> (i, j)"], "pp", ["%a0", "%a1"],
              ["tensor<5xf32>", "tensor<7xf32>"], "%zeros", "tensor<5x7xf32>",
              """      %m = arith.mulf %x0, %x1 : f32
      %s = arith.addf %z, %m : f32
      linalg.yield %s : f32""") + """
    %f = tensor.empty() : tensor<5x3x7xf32>
""" + generic("%r", ["(i, k, j) -> (i, j)", "(i, k, j) -> (i, k, j)"], "ppp", ["%p"], ["tensor<5x7xf32>"], "%f",
              "tensor<5x3x7xf32>", "      linalg.yield %x0 : f32") + """
    cs.return %r : tensor<5x3x7xf32>""")
    np.testing.assert_allclose(result, np.repeat(np.outer(x, y)[:, None, :], 3, 1), rtol=1e-6)


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


def test_tensors_without_elements(tmp_path):
    """As arguments, as results, and as what sums of nothing are made of."""
    x, y, t = "tensor<4x0xf32>", "tensor<0x2xf32>", "tensor<4xf32>"
    (_, a), results, _ = run(tmp_path, [x, t], [x, y, t], f"""
    %zero = arith.constant 0.0 : f32
    %e0 = tensor.empty() : {t}
    %e1 = tensor.empty() : {x}
    %e2 = tensor.empty() : {y}
    %z = linalg.fill ins(%zero : f32) outs(%e0 : {t}) -> {t}
    %n = linalg.negf ins(%a0 : {x}) outs(%e1 : {x}) -> {x}
    %f = linalg.fill ins(%zero : f32) outs(%e2 : {y}) -> {y}
    %s = linalg.reduce ins(%a0 : {x}) outs(%z : {t}) dimensions = [1] (%p: f32, %q: f32) {{
      %r = arith.addf %p, %q : f32
      linalg.yield %r : f32
    }}
    %b = linalg.sub ins(%s, %a1 : {t}, {t}) outs(%e0 : {t}) -> {t}
    cs.return %n, %f, %b : {x}, {y}, {t}""")
    assert [r.size for r in results] == [0, 0, 4]
    np.testing.assert_array_equal(results[2], -a)
