// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The gradient is the sum of the rows of x, whatever w is: each update takes the same
// from it, so that the parameter tells how many there have been.
func.func @step(%w: tensor<8xf32> {cs.param = "w"}, %x: tensor<16x8xf32> {cs.batch = "x"})
    -> (tensor<8xf32> {cs.updates = "w"}) attributes {cs.step} {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  %sum = linalg.reduce ins(%x : tensor<16x8xf32>) outs(%z : tensor<8xf32>) dimensions = [0]
      (%a: f32, %b: f32) {
        %c = arith.addf %a, %b : f32
        linalg.yield %c : f32
      }
  %g = cs.gradient %sum of "w" : tensor<8xf32>
  %new = arith.subf %w, %g : tensor<8xf32>
  return %new : tensor<8xf32>
}
