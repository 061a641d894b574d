// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// examples/linear.mlir with a loss, a running mean of x, and a metric that reads
// the latter.
func.func @step(%w: tensor<8xf32> {cs.param = "w"}, %seen: tensor<8xf32> {cs.state = "seen"},
                %x: tensor<16x8xf32> {cs.batch = "x"}, %y: tensor<16xf32> {cs.batch = "y"})
    -> (tensor<8xf32> {cs.updates = "w"}, tensor<8xf32> {cs.updates = "seen"},
        tensor<f32> {cs.metric = "loss"}, tensor<f32> {cs.metric = "drift"}) attributes {cs.step} {
  %zero = arith.constant 0.0 : f32
  %rate = arith.constant dense<0.00625> : tensor<8xf32>
  %e0 = tensor.empty() : tensor<16xf32>
  %z0 = linalg.fill ins(%zero : f32) outs(%e0 : tensor<16xf32>) -> tensor<16xf32>
  %p = linalg.matvec ins(%x, %w : tensor<16x8xf32>, tensor<8xf32>) outs(%z0 : tensor<16xf32>) -> tensor<16xf32>
  %d = arith.subf %p, %y : tensor<16xf32>
  %e1 = tensor.empty() : tensor<8xf32>
  %z1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<8xf32>) -> tensor<8xf32>
  %e2 = tensor.empty() : tensor<f32>
  %z2 = linalg.fill ins(%zero : f32) outs(%e2 : tensor<f32>) -> tensor<f32>
  %loss = linalg.dot ins(%d, %d : tensor<16xf32>, tensor<16xf32>) outs(%z2 : tensor<f32>) -> tensor<f32>
  %drift = linalg.dot ins(%seen, %seen : tensor<8xf32>, tensor<8xf32>) outs(%z2 : tensor<f32>) -> tensor<f32>
  %sum = linalg.reduce ins(%x : tensor<16x8xf32>) outs(%z1 : tensor<8xf32>) dimensions = [0]
      (%a: f32, %b: f32) {
        %c = arith.addf %a, %b : f32
        linalg.yield %c : f32
      }
  %half = arith.constant dense<0.5> : tensor<8xf32>
  %share = arith.constant dense<0.03125> : tensor<8xf32>
  %old = arith.mulf %seen, %half : tensor<8xf32>
  %fresh = arith.mulf %sum, %share : tensor<8xf32>
  %now = arith.addf %old, %fresh : tensor<8xf32>
  %g = linalg.vecmat ins(%d, %x : tensor<16xf32>, tensor<16x8xf32>) outs(%z1 : tensor<8xf32>) -> tensor<8xf32>
  %g1 = cs.gradient %g of "w" : tensor<8xf32>
  %u = arith.mulf %g1, %rate : tensor<8xf32>
  %new = arith.subf %w, %u : tensor<8xf32>
  return %new, %now, %loss, %drift : tensor<8xf32>, tensor<8xf32>, tensor<f32>, tensor<f32>
}
