// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Two parameters whose updates need the gradients of both.

func.func @step(%a: tensor<4xf32> {cs.param = "a"}, %b: tensor<4xf32> {cs.param = "b"}, %x: tensor<4xf32> {cs.batch = "x"})
    -> (tensor<4xf32> {cs.updates = "a"}, tensor<4xf32> {cs.updates = "b"}) attributes {cs.step} {
  %ga = arith.mulf %a, %x : tensor<4xf32>
  %ga1 = cs.gradient %ga of "a" : tensor<4xf32>
  %gb = arith.mulf %b, %x : tensor<4xf32>
  %gb1 = cs.gradient %gb of "b" : tensor<4xf32>
  %n = arith.addf %ga1, %gb1 : tensor<4xf32>
  %ua = arith.mulf %ga1, %n : tensor<4xf32>
  %ub = arith.mulf %gb1, %n : tensor<4xf32>
  %a1 = arith.subf %a, %ua : tensor<4xf32>
  %b1 = arith.subf %b, %ub : tensor<4xf32>
  return %a1, %b1 : tensor<4xf32>, tensor<4xf32>
}
