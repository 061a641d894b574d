// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// y = x w + b, squared error, steepest descent.

func.func @step(%w: tensor<24x8xf32> {cs.param = "w"}, %b: tensor<8xf32> {cs.param = "b"}, %x: tensor<4x24xf32> {cs.batch = "x"},
                %y: tensor<4x8xf32> {cs.batch = "y"})
    -> (tensor<24x8xf32> {cs.updates = "w"}, tensor<8xf32> {cs.updates = "b"}, tensor<f32> {cs.metric = "loss"}) attributes {cs.step} {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x8xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
  %p = linalg.matmul ins(%x, %w : tensor<4x24xf32>, tensor<24x8xf32>) outs(%f : tensor<4x8xf32>) -> tensor<4x8xf32>
  %d = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
                       iterator_types = ["parallel", "parallel"]}
      ins(%p, %b, %y : tensor<4x8xf32>, tensor<8xf32>, tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) {
  ^bb0(%a0: f32, %a1: f32, %a2: f32, %o: f32):
    %0 = arith.addf %a0, %a1 : f32
    %1 = arith.subf %0, %a2 : f32
    linalg.yield %1 : f32
  } -> tensor<4x8xf32>
  %le = tensor.empty() : tensor<f32>
  %lf = linalg.fill ins(%zero : f32) outs(%le : tensor<f32>) -> tensor<f32>
  %loss = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> ()>], iterator_types = ["reduction", "reduction"]}
      ins(%d : tensor<4x8xf32>) outs(%lf : tensor<f32>) {
  ^bb0(%a: f32, %o: f32):
    %0 = arith.mulf %a, %a : f32
    %1 = arith.addf %o, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<f32>
  %ge = tensor.empty() : tensor<24x8xf32>
  %gf = linalg.fill ins(%zero : f32) outs(%ge : tensor<24x8xf32>) -> tensor<24x8xf32>
  %g = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (k, i)>, affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i, j)>],
                       iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %d : tensor<4x24xf32>, tensor<4x8xf32>) outs(%gf : tensor<24x8xf32>) {
  ^bb0(%a0: f32, %a1: f32, %o: f32):
    %0 = arith.mulf %a0, %a1 : f32
    %1 = arith.addf %o, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<24x8xf32>
  %g1 = cs.gradient %g of "w" : tensor<24x8xf32>
  %he = tensor.empty() : tensor<8xf32>
  %hf = linalg.fill ins(%zero : f32) outs(%he : tensor<8xf32>) -> tensor<8xf32>
  %h = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>], iterator_types = ["reduction", "parallel"]}
      ins(%d : tensor<4x8xf32>) outs(%hf : tensor<8xf32>) {
  ^bb0(%a: f32, %o: f32):
    %0 = arith.addf %o, %a : f32
    linalg.yield %0 : f32
  } -> tensor<8xf32>
  %h1 = cs.gradient %h of "b" : tensor<8xf32>
  %rw = arith.constant dense<0.015625> : tensor<24x8xf32>
  %rb = arith.constant dense<0.015625> : tensor<8xf32>
  %sw = arith.mulf %rw, %g1 : tensor<24x8xf32>
  %sb = arith.mulf %rb, %h1 : tensor<8xf32>
  %nw = arith.subf %w, %sw : tensor<24x8xf32>
  %nb = arith.subf %b, %sb : tensor<8xf32>
  return %nw, %nb, %loss : tensor<24x8xf32>, tensor<8xf32>, tensor<f32>
}
