// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// LLVM's SLP vectorizer put a load behind a shuffle of what it loads; the code generator
// crashed in the module that it was given.
// values: 16391428954673050616
// mode: nodes=2 devices=1 link=100:0 reduction=mean pipeline=cs-all-reduce-pipeline{reduction=mean}
func.func @step(%p0: tensor<5x5xf32> {cs.param = "p0"}, %s1: tensor<5x5xf32> {cs.state = "s1"},
    %s2: tensor<5x5xf32> {cs.state = "s2"}, %x0: tensor<5x5xf32> {cs.batch = "x0"})
    -> (tensor<5x5xf32> {cs.updates = "p0"}, tensor<5x5xf32> {cs.updates = "s1"}, tensor<5x5xf32> {cs.updates = "s2"}) attributes {cs.step} {
  %v9 = tensor.empty() : tensor<5x5xf32>
  %v10:2 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1, d0)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%s1, %s1 : tensor<5x5xf32>, tensor<5x5xf32>) outs(%v9, %v9 : tensor<5x5xf32>, tensor<5x5xf32>) {
  ^bb0(%v11: f32, %v12: f32, %v13: f32, %v14: f32):
    %v21 = arith.constant 2.000000e+00 : f32
    %v22 = arith.mulf %v12, %v21 : f32
    %v23 = math.absf %v11 : f32
    %v24 = arith.mulf %v12, %v23 : f32
    %v26 = math.copysign %v24, %v23 : f32
    linalg.yield %v22, %v26 : f32, f32
  } -> (tensor<5x5xf32>, tensor<5x5xf32>)
  %v28 = cs.gradient %x0 of "p0" : tensor<5x5xf32>
  return %v28, %v10#0, %v10#1 : tensor<5x5xf32>, tensor<5x5xf32>, tensor<5x5xf32>
}
