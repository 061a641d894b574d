// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A stride in a dimension of which one element is taken, and which is dropped: it crashed.
// values: 17609044518222295864
// mode: nodes=4 devices=1 reduction=mean pipeline=cs-all-reduce-pipeline{reduction=mean copies=overlap staging-bytes=1048576}
func.func @step(%arg0: tensor<1x4x4xf32> {cs.param = "p0"}, %arg1: tensor<1x4x4xf32> {cs.param = "p1"}, %arg2: tensor<1x4x4xf32> {cs.param = "p2"}, %arg3: tensor<4x4xf32> {cs.param = "p3"}) attributes {cs.step} {
  %cst = arith.constant dense<0.000000e+00> : tensor<1x1x4xf32>
  %inserted_slice = tensor.insert_slice %cst into %arg0[0, 0, 0] [1, 1, 4] [1, 1, 1] : tensor<1x1x4xf32> into tensor<1x4x4xf32>
  %extracted_slice = tensor.extract_slice %inserted_slice[0, 3, 3] [1, 1, 1] [2, 1, 1] : tensor<1x4x4xf32> to tensor<1x1xf32>
  %0 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1)>, affine_map<(d0, d1, d2, d3) -> (d0, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d1, d2, d3)>], iterator_types = ["reduction", "parallel", "parallel", "parallel"]} ins(%extracted_slice, %inserted_slice : tensor<1x1xf32>, tensor<1x4x4xf32>) outs(%arg2 : tensor<1x4x4xf32>) {
  ^bb0(%in: f32, %in_0: f32, %out: f32):
    %5 = arith.mulf %in, %in_0 : f32
    linalg.yield %5 : f32
  } -> tensor<1x4x4xf32>
  %1 = cs.gradient %0 of "p0" : tensor<1x4x4xf32>
  %2 = cs.gradient %arg2 of "p1" : tensor<1x4x4xf32>
  %3 = cs.gradient %arg2 of "p2" : tensor<1x4x4xf32>
  %4 = cs.gradient %arg3 of "p3" : tensor<4x4xf32>
  return
}
