// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The plan takes the mean where the sum is wanted: a finding.
// values: 1
// mode: nodes=2 devices=1 reduction=sum pipeline=cs-all-reduce-pipeline{reduction=mean}
func.func @step(%p: tensor<4xf32> {cs.param = "p"}, %x: tensor<4xf32> {cs.batch = "x"})
    -> (tensor<4xf32> {cs.updates = "p"}) attributes {cs.step} {
  %t = arith.mulf %p, %x : tensor<4xf32>
  %g = cs.gradient %t of "p" : tensor<4xf32>
  %a = arith.subf %p, %g : tensor<4xf32>
  return %a : tensor<4xf32>
}
