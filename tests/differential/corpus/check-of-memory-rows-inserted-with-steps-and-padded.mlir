// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A false alarm: where rows come to lie that are inserted with steps into a part of a larger tensor was not known.
// values: 1
// mode: nodes=2 devices=1 reduction=mean pipeline=cs-all-reduce-pipeline{reduction=mean}
func.func @step(%w: tensor<2x2xf32> {cs.param = "w"}, %x: tensor<2x2xf32> {cs.batch = "x"}) -> (tensor<2x2xf32> {cs.updates = "w"}) attributes {cs.step} {
  %zero = arith.constant 0.0 : f32
  %0 = arith.mulf %w, %x : tensor<2x2xf32>
  %e = tensor.empty() : tensor<3x2xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<3x2xf32>) -> tensor<3x2xf32>
  %i = tensor.insert_slice %0 into %f[0, 0] [2, 2] [2, 1] : tensor<2x2xf32> into tensor<3x2xf32>
  %p = tensor.pad %i low[1, 0] high[0, 0] {
  ^bb0(%a: index, %b: index):
    tensor.yield %zero : f32
  } : tensor<3x2xf32> to tensor<4x2xf32>
  %s = tensor.extract_slice %p[0, 0] [2, 2] [1, 1] : tensor<4x2xf32> to tensor<2x2xf32>
  %t = tensor.extract_slice %p[2, 0] [2, 2] [1, 1] : tensor<4x2xf32> to tensor<2x2xf32>
  %u = arith.mulf %s, %x : tensor<2x2xf32>
  %v = arith.addf %u, %t : tensor<2x2xf32>
  %g = cs.gradient %v of "w" : tensor<2x2xf32>
  %n = arith.subf %w, %g : tensor<2x2xf32>
  return %n : tensor<2x2xf32>
}
