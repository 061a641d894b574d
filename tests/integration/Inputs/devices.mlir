// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Regression with two parameters, one of them with momentum, a step count that
// only the updates read, a running mean of the batch, and a loss.
func.func @step(%w: tensor<8xf32> {cs.param = "w"}, %c: tensor<8xf32> {cs.param = "c"}, %m: tensor<8xf32> {cs.state = "m"},
                %n: tensor<f32> {cs.state = "n"}, %mu: tensor<8xf32> {cs.state = "mu"},
                %x: tensor<16x8xf32> {cs.batch = "x"}, %y: tensor<16xf32> {cs.batch = "y"})
    -> (tensor<8xf32> {cs.updates = "w"}, tensor<8xf32> {cs.updates = "c"}, tensor<8xf32> {cs.updates = "m"},
        tensor<f32> {cs.updates = "n"}, tensor<8xf32> {cs.updates = "mu"}, tensor<f32> {cs.metric = "loss"})
    attributes {cs.step} {
  %zero = arith.constant 0.0 : f32
  %rate = arith.constant dense<0.00625> : tensor<8xf32>
  %half = arith.constant dense<0.5> : tensor<8xf32>
  %share = arith.constant dense<0.00625> : tensor<8xf32>
  %one = arith.constant dense<1.0> : tensor<f32>
  %e0 = tensor.empty() : tensor<16xf32>
  %z0 = linalg.fill ins(%zero : f32) outs(%e0 : tensor<16xf32>) -> tensor<16xf32>
  %wc = arith.addf %w, %c : tensor<8xf32>
  %p = linalg.matvec ins(%x, %wc : tensor<16x8xf32>, tensor<8xf32>) outs(%z0 : tensor<16xf32>) -> tensor<16xf32>
  %d = arith.subf %p, %y : tensor<16xf32>
  %dd = arith.mulf %d, %d : tensor<16xf32>
  %el = tensor.empty() : tensor<f32>
  %zl = linalg.fill ins(%zero : f32) outs(%el : tensor<f32>) -> tensor<f32>
  %loss = linalg.reduce ins(%dd : tensor<16xf32>) outs(%zl : tensor<f32>) dimensions = [0]
      (%a: f32, %b: f32) { %s = arith.addf %a, %b : f32 linalg.yield %s : f32 }
  %e1 = tensor.empty() : tensor<8xf32>
  %z1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<8xf32>) -> tensor<8xf32>
  %g = linalg.vecmat ins(%d, %x : tensor<16xf32>, tensor<16x8xf32>) outs(%z1 : tensor<8xf32>) -> tensor<8xf32>
  %gw = cs.gradient %g of "w" : tensor<8xf32>
  %gh = arith.mulf %g, %half : tensor<8xf32>
  %gc = cs.gradient %gh of "c" : tensor<8xf32>
  %sum = linalg.reduce ins(%x : tensor<16x8xf32>) outs(%z1 : tensor<8xf32>) dimensions = [0]
      (%a: f32, %b: f32) { %s = arith.addf %a, %b : f32 linalg.yield %s : f32 }
  %part = arith.mulf %sum, %share : tensor<8xf32>
  %rest = arith.mulf %mu, %half : tensor<8xf32>
  %mu1 = arith.addf %rest, %part : tensor<8xf32>
  %n1 = arith.addf %n, %one : tensor<f32>
  %slow = math.sqrt %n1 : tensor<f32>
  %slows = linalg.broadcast ins(%slow : tensor<f32>) outs(%e1 : tensor<8xf32>) dimensions = [0]
  %r = arith.divf %rate, %slows : tensor<8xf32>
  %mh = arith.mulf %m, %half : tensor<8xf32>
  %m1 = arith.addf %mh, %gw : tensor<8xf32>
  %u = arith.mulf %m1, %r : tensor<8xf32>
  %w1 = arith.subf %w, %u : tensor<8xf32>
  %v = arith.mulf %gc, %r : tensor<8xf32>
  %c1 = arith.subf %c, %v : tensor<8xf32>
  return %w1, %c1, %m1, %n1, %mu1, %loss : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<f32>, tensor<8xf32>, tensor<f32>
}
