// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

func.func @step(%w: tensor<8x2xf32> {cs.param = "w", cs.row_sparse}, %ids: tensor<4xi32> {cs.batch = "ids"})
    -> (tensor<8x2xf32> {cs.updates = "w"}) attributes {cs.step} {
  %e = cs.lookup %w, %ids : (tensor<8x2xf32>, tensor<4xi32>) -> tensor<4x2xf32>
  %g = cs.segment_sum %ids, %e : (tensor<4xi32>, tensor<4x2xf32>) -> tensor<8x2xf32>
  %g1 = cs.gradient %g of "w" : tensor<8x2xf32>
  %n = arith.subf %w, %g1 : tensor<8x2xf32>
  return %n : tensor<8x2xf32>
}
