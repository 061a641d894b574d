// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Two ops started from one fill, which lay in the memory of a result: it was overwritten
// before the other was read.
// values: 13697054437830912792
// mode: nodes=2 devices=1 reduction=mean pipeline=cs-all-reduce-pipeline{reduction=mean copies=overlap}
// mode: nodes=1 devices=1 reduction=mean pipeline=cs-all-reduce-pipeline{}
// mode: nodes=4 devices=1 reduction=mean pipeline=cs-all-reduce-pipeline{schedule=priority}
func.func @step(%arg0: tensor<1x1xf32> {cs.param = "p0"}, %arg1: tensor<1x1xf32> {cs.param = "p1"}, %arg2: tensor<1x1xf32> {cs.param = "p2"}, %arg3: tensor<1x1xf32> {cs.param = "p3"}, %arg4: tensor<1x1xf32> {cs.param = "p4"}, %arg5: tensor<1x1xf32> {cs.state = "s1"}, %arg6: tensor<1x1xf32> {cs.batch = "x0"}) -> (tensor<1x1xf32> {cs.updates = "p0"}) attributes {cs.step} {
  %cst = arith.constant dense<0.000000e+00> : tensor<1x1xf32>
  %0 = tensor.empty() : tensor<1x1xf32>
  %cst_0 = arith.constant 0.000000e+00 : f32
  %1 = linalg.fill ins(%cst_0 : f32) outs(%0 : tensor<1x1xf32>) -> tensor<1x1xf32>
  %2 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d2, d0)>, affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%arg6, %cst : tensor<1x1xf32>, tensor<1x1xf32>) outs(%1 : tensor<1x1xf32>) {
  ^bb0(%in: f32, %in_3: f32, %out: f32):
    %13 = arith.addf %out, %in_3 : f32
    linalg.yield %13 : f32
  } -> tensor<1x1xf32>
  %3 = tensor.empty() : tensor<1x1xf32>
  %cst_1 = arith.constant 0.000000e+00 : f32
  %4 = linalg.fill ins(%cst_1 : f32) outs(%3 : tensor<1x1xf32>) -> tensor<1x1xf32>
  %5 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d2, d0)>, affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%arg6, %arg6 : tensor<1x1xf32>, tensor<1x1xf32>) outs(%4 : tensor<1x1xf32>) {
  ^bb0(%in: f32, %in_3: f32, %out: f32):
    %13 = arith.addf %out, %in_3 : f32
    linalg.yield %13 : f32
  } -> tensor<1x1xf32>
  %6 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%2, %arg6 : tensor<1x1xf32>, tensor<1x1xf32>) outs(%arg6 : tensor<1x1xf32>) {
  ^bb0(%in: f32, %in_3: f32, %out: f32):
    linalg.yield %in_3 : f32
  } -> tensor<1x1xf32>
  %7 = cs.gradient %5 of "p0" : tensor<1x1xf32>
  %8 = cs.gradient %5 of "p1" : tensor<1x1xf32>
  %9 = cs.gradient %arg5 of "p2" : tensor<1x1xf32>
  %10 = cs.gradient %6 of "p3" : tensor<1x1xf32>
  %11 = cs.gradient %arg6 of "p4" : tensor<1x1xf32>
  %cst_2 = arith.constant dense<2.500000e-01> : tensor<1x1xf32>
  %12 = arith.mulf %7, %cst_2 : tensor<1x1xf32>
  return %12 : tensor<1x1xf32>
}
