// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The gradient is (index + 1) * sum of the worker's x; "off" is 0 if x came with the
// number of its part in i.

#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d1)>
#none = affine_map<(d0, d1) -> ()>
!w = tensor<3xf32>
func.func @step(%w: !w {cs.param = "w"}, %x: tensor<2x3xf32> {cs.batch = "x"}, %i: tensor<2x3xf32> {cs.batch = "i"})
    -> (!w {cs.updates = "w"}, tensor<f32> {cs.metric = "off"}) attributes {cs.step, cs.global_batch = 8 : i64} {
  %zero = arith.constant 0.0 : f32
  %one = arith.constant dense<1.0> : tensor<f32>
  %rate = arith.constant dense<0.125> : !w
  %n = cs.worker_index : tensor<i32>
  %f = arith.sitofp %n : tensor<i32> to tensor<f32>
  %f1 = arith.addf %f, %one : tensor<f32>
  %e = tensor.empty() : !w
  %z = linalg.fill ins(%zero : f32) outs(%e : !w) -> !w
  %g = linalg.generic {indexing_maps = [#id, #none, #row], iterator_types = ["reduction", "parallel"]}
      ins(%x, %f1 : tensor<2x3xf32>, tensor<f32>) outs(%z : !w) {
  ^bb0(%a: f32, %b: f32, %s: f32):
    %p = arith.mulf %a, %b : f32
    %t = arith.addf %s, %p : f32
    linalg.yield %t : f32
  } -> !w
  %g1 = cs.gradient %g of "w" : !w
  %u = arith.mulf %g1, %rate : !w
  %w1 = arith.subf %w, %u : !w
  %off = func.call @off(%i) : (tensor<2x3xf32>) -> tensor<f32>
  return %w1, %off : !w, tensor<f32>
}
func.func private @off(%i: tensor<2x3xf32>) -> tensor<f32> {
  %zero = arith.constant 0.0 : f32
  %n = cs.worker_index : tensor<i32>
  %f = arith.sitofp %n : tensor<i32> to tensor<f32>
  %e = tensor.empty() : tensor<f32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<f32>) -> tensor<f32>
  %r = linalg.generic {indexing_maps = [#id, #none, #none], iterator_types = ["reduction", "reduction"]}
      ins(%i, %f : tensor<2x3xf32>, tensor<f32>) outs(%z : tensor<f32>) {
  ^bb0(%a: f32, %b: f32, %s: f32):
    %d = arith.subf %a, %b : f32
    %d2 = arith.mulf %d, %d : f32
    %t = arith.addf %s, %d2 : f32
    linalg.yield %t : f32
  } -> tensor<f32>
  return %r : tensor<f32>
}
func.func @eval(%i: tensor<2x3xf32> {cs.batch = "i"})
    -> (tensor<f32> {cs.metric = "off"}, tensor<f32> {cs.metric = "index"}) attributes {cs.global_batch = 8 : i64} {
  %n = cs.worker_index : tensor<i32>
  %f = arith.sitofp %n : tensor<i32> to tensor<f32>
  %off = func.call @off(%i) : (tensor<2x3xf32>) -> tensor<f32>
  return %off, %f : tensor<f32>, tensor<f32>
}
