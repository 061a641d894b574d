# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Branches and loops of fragments whose values lie in memory of different kinds, against NumPy."""
import numpy as np
import pytest

from harness import run, value

A, T, I1 = "tensor<4x6xf32>", "tensor<2x3xf32>", "tensor<i1>"


def branch(then, otherwise, result):
    return f"""
    %c = tensor.extract %a0[] : {I1}
    %zero = arith.constant dense<2.5> : {result}
    %two = arith.constant dense<2.0> : {A}
    %e = tensor.empty() : {A}
    %double = linalg.mul ins(%a1, %two : {A}, {A}) outs(%e : {A}) -> {A}
    %r:2 = scf.if %c -> ({result}, {A}) {{
      {then}
      scf.yield %t, %a1 : {result}, {A}
    }} else {{
      {otherwise}
      scf.yield %o, %double : {result}, {A}
    }}
    %e1 = tensor.empty() : {result}
    %s = linalg.add ins(%r#0, %r#0 : {result}, {result}) outs(%e1 : {result}) -> {result}
    cs.return %s, %r#1 : {result}, {A}"""


@pytest.mark.parametrize("taken", [True, False])
def test_a_constant_in_one_branch_and_a_computed_value_in_the_other(tmp_path, taken):
    body = branch(f"%t = tensor.cast %zero : {A} to {A}",
                  f"%n = tensor.empty() : {A}\n %o = linalg.exp ins(%a1 : {A}) outs(%n : {A}) -> {A}", A)
    (_, x), (result, handed), _ = run(tmp_path, [I1, A], [A, A], body, values=[np.array(taken), value(A)])
    np.testing.assert_allclose(result, 2 * (np.full((4, 6), 2.5, np.float32) if taken else np.exp(x)), rtol=1e-6)
    np.testing.assert_array_equal(handed, x if taken else 2 * x)


@pytest.mark.parametrize("taken", [True, False])
def test_different_parts_of_a_tensor(tmp_path, taken):
    body = branch(f"%t = tensor.extract_slice %a1[2, 0] [2, 3] [1, 2] : {A} to {T}",
                  f"%o = tensor.extract_slice %a1[1, 3] [2, 3] [1, 1] : {A} to {T}", T)
    (_, x), (result, _), _ = run(tmp_path, [I1, A], [T, A], body, values=[np.array(taken), value(A)])
    np.testing.assert_array_equal(result, 2 * (x[2:4, 0:6:2] if taken else x[1:3, 3:6]))


@pytest.mark.parametrize("taken", [True, False])
@pytest.mark.parametrize("result", [A, "tensor<6x4xf32>"])
def test_a_choice_between_values_that_are_computed_before(tmp_path, taken, result):
    """Branches without ops become a select; one of the values can be made in the result's memory."""
    reshaped = A == result
    body = f"""
    %c = tensor.extract %a0[] : {I1}
    %e = tensor.empty() : tensor<6x4xf32>
    %turned = linalg.transpose ins(%a1 : {A}) outs(%e : tensor<6x4xf32>) permutation = [1, 0]
    %e1 = tensor.empty() : tensor<6x4xf32>
    %y = linalg.exp ins(%a2 : tensor<6x4xf32>) outs(%e1 : tensor<6x4xf32>) -> tensor<6x4xf32>
    %r = scf.if %c -> (tensor<6x4xf32>) {{
      scf.yield %turned : tensor<6x4xf32>
    }} else {{
      scf.yield %y : tensor<6x4xf32>
    }}
    %flat = tensor.collapse_shape %r [[0, 1]] : tensor<6x4xf32> into tensor<24xf32>
    %other = tensor.expand_shape %flat [[0, 1]] output_shape [4, 6] : tensor<24xf32> into {A}
    cs.return {"%other" if reshaped else "%r"} : {result}"""
    (_, x, y), (chosen,), _ = run(tmp_path, [I1, A, "tensor<6x4xf32>"], [result], body,
                                  values=[np.array(taken), value(A), value("tensor<6x4xf32>")])
    expected = (x.T if taken else np.exp(y)).reshape((4, 6) if reshaped else (6, 4))
    np.testing.assert_allclose(chosen, expected, rtol=1e-6)


def test_what_only_the_condition_of_a_loop_reads(tmp_path):
    """It is no result of the loop, but stays in its buffer too."""
    body = f"""
    %one = arith.constant 1 : i32
    %go = arith.constant dense<true> : {I1}
    %start = arith.constant dense<0> : tensor<i32>
    %r:3 = scf.while (%n = %start, %more = %go, %v = %a0) : (tensor<i32>, {I1}, {A}) -> (tensor<i32>, {I1}, {A}) {{
      %m = tensor.extract %more[] : {I1}
      scf.condition(%m) %n, %more, %v : tensor<i32>, {I1}, {A}
    }} do {{
    ^bb0(%n: tensor<i32>, %more: {I1}, %v: {A}):
      %i = tensor.extract %n[] : tensor<i32>
      %j = arith.addi %i, %one : i32
      %n1 = tensor.from_elements %j : tensor<i32>
      %e = tensor.empty() : {A}
      %v1 = linalg.add ins(%v, %a0 : {A}, {A}) outs(%e : {A}) -> {A}
      %first = tensor.extract_slice %v1[0, 0] [1, 1] [1, 1] : {A} to tensor<f32>
      %x = tensor.extract %first[] : tensor<f32>
      %bound = arith.constant 5.0 : f32
      %less = arith.cmpf olt, %x, %bound : f32
      %more1 = tensor.from_elements %less : {I1}
      scf.yield %n1, %more1, %v1 : tensor<i32>, {I1}, {A}
    }}
    cs.return %r#0, %r#2 : tensor<i32>, {A}"""
    x = value(A)
    x[0, 0] = 0.75
    _, (count, total), _ = run(tmp_path, [A], ["tensor<i32>", A], body, values=[x])
    assert count == 6
    np.testing.assert_allclose(total, 7 * x, rtol=1e-6)
