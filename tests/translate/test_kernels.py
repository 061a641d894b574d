# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Contractions in fragments, as library kernels or loops, against NumPy."""
import numpy as np
import pytest

from harness import contraction, fill, module, run
from plan_reader import Machine, from_bf16, translate

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
