// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Results of scf.if that lie in different memory in its branches: they were refused.
// values: 13125841751317496548
// mode: nodes=3 devices=1 reduction=mean pipeline=cs-all-reduce-pipeline{reduction=mean spread-sums=true}
func.func @step(%arg0: tensor<6xf32> {cs.param = "p0"}, %arg1: tensor<6xf32> {cs.state = "s0"}, %arg2: tensor<6xf32> {cs.state = "s1"}, %arg3: tensor<6x6x6xf32> {cs.batch = "x1"}) -> (tensor<f32> {cs.metric = "m0"}) attributes {cs.step} {
  %0 = tensor.empty() : tensor<f32>
  %cst = arith.constant 0.000000e+00 : f32
  %1 = linalg.fill ins(%cst : f32) outs(%0 : tensor<f32>) -> tensor<f32>
  %2 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>], iterator_types = ["reduction"]} ins(%arg2, %arg0 : tensor<6xf32>, tensor<6xf32>) outs(%1 : tensor<f32>) {
  ^bb0(%in: f32, %in_4: f32, %out: f32):
    %10 = arith.mulf %in, %in_4 : f32
    %11 = arith.addf %out, %10 : f32
    linalg.yield %11 : f32
  } -> tensor<f32>
  %extracted = tensor.extract %2[] : tensor<f32>
  %cst_0 = arith.constant 2.500000e-01 : f32
  %3 = arith.cmpf ogt, %extracted, %cst_0 : f32
  %4:2 = scf.if %3 -> (tensor<6x6x6xf32>, tensor<6x6x6xf32>) {
    %cst_4 = arith.constant dense<0.000000e+00> : tensor<6x6x6xf32>
    scf.yield %cst_4, %arg3 : tensor<6x6x6xf32>, tensor<6x6x6xf32>
  } else {
    %10 = arith.subf %arg3, %arg3 : tensor<6x6x6xf32>
    scf.yield %10, %arg3 : tensor<6x6x6xf32>, tensor<6x6x6xf32>
  }
  %cst_1 = arith.constant dense<0.000000e+00> : tensor<6x6xf32>
  %5 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d1, d2)>], iterator_types = ["reduction", "parallel", "parallel"]} ins(%arg1, %4#0 : tensor<6xf32>, tensor<6x6x6xf32>) outs(%cst_1 : tensor<6x6xf32>) {
  ^bb0(%in: f32, %in_4: f32, %out: f32):
    linalg.yield %in_4 : f32
  } -> tensor<6x6xf32>
  %6 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d2, d1, d0)>, affine_map<(d0, d1, d2) -> (d0, d1)>, affine_map<(d0, d1, d2) -> (d2)>], iterator_types = ["reduction", "reduction", "parallel"]} ins(%4#0, %5 : tensor<6x6x6xf32>, tensor<6x6xf32>) outs(%arg2 : tensor<6xf32>) {
  ^bb0(%in: f32, %in_4: f32, %out: f32):
    linalg.yield %in_4 : f32
  } -> tensor<6xf32>
  %cst_2 = arith.constant dense<0.0208333302> : tensor<6xf32>
  %7 = arith.mulf %6, %cst_2 : tensor<6xf32>
  %8 = cs.gradient %arg2 of "p0" : tensor<6xf32>
  %reduced = linalg.reduce ins(%7 : tensor<6xf32>) outs(%2 : tensor<f32>) dimensions = [0] 
    (%in: f32, %init: f32) {
      linalg.yield %in : f32
    }
  %cst_3 = arith.constant dense<0.102062099> : tensor<f32>
  %9 = arith.mulf %reduced, %cst_3 : tensor<f32>
  return %9 : tensor<f32>
}
