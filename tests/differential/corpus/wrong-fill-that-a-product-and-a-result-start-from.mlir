// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Two ops started from one fill, which lay in the memory of a result: it was overwritten
// before the other was read.
// values: 6418504259890874645
// mode: nodes=1 devices=1 reduction=mean pipeline=cs-all-reduce-pipeline{reduction=mean schedule=solver}
// mode: nodes=1 devices=1 reduction=mean pipeline=cs-all-reduce-pipeline{}
// mode: nodes=4 devices=1 reduction=mean pipeline=cs-all-reduce-pipeline{schedule=priority}
func.func @step(%arg0: tensor<7x7xf32> {cs.param = "p0"}, %arg1: tensor<7x7xf32> {cs.param = "p1"}, %arg2: tensor<7x7xf64> {cs.param = "p2"}, %arg3: tensor<7x7xf32> {cs.param = "p3"}, %arg4: tensor<7x7xf32> {cs.state = "s0"}, %arg5: tensor<7x7xf32> {cs.batch = "x1"}) -> (tensor<7x7xf32> {cs.updates = "p0"}, tensor<7x7xf32> {cs.updates = "s0"}) attributes {cs.step} {
  %0 = tensor.empty() : tensor<7x7xf32>
  %cst = arith.constant 0.000000e+00 : f32
  %1 = linalg.fill ins(%cst : f32) outs(%0 : tensor<7x7xf32>) -> tensor<7x7xf32>
  %2 = linalg.matmul ins(%arg5, %arg5 : tensor<7x7xf32>, tensor<7x7xf32>) outs(%1 : tensor<7x7xf32>) -> tensor<7x7xf32>
  %cst_0 = arith.constant dense<0.000000e+00> : tensor<7x7xf32>
  %3 = cs.gradient %cst_0 of "p0" : tensor<7x7xf32>
  %4 = cs.gradient %arg5 of "p1" : tensor<7x7xf32>
  %5 = cs.gradient %arg2 of "p2" : tensor<7x7xf64>
  %6 = cs.gradient %arg5 of "p3" : tensor<7x7xf32>
  %cst_1 = arith.constant dense<0.000000e+00> : tensor<7x7xf32>
  %7 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1)>, affine_map<(d0, d1, d2) -> (d2, d0)>, affine_map<(d0, d1, d2) -> (d1, d2)>], iterator_types = ["reduction", "parallel", "parallel"]} ins(%arg5, %2 : tensor<7x7xf32>, tensor<7x7xf32>) outs(%arg5 : tensor<7x7xf32>) {
  ^bb0(%in: f32, %in_4: f32, %out: f32):
    linalg.yield %in_4 : f32
  } -> tensor<7x7xf32>
  %cst_2 = arith.constant dense<0.0178571399> : tensor<7x7xf32>
  %8 = arith.mulf %7, %cst_2 : tensor<7x7xf32>
  %cst_3 = arith.constant dense<5.000000e-01> : tensor<7x7xf32>
  %9 = arith.mulf %8, %cst_3 : tensor<7x7xf32>
  return %cst_1, %9 : tensor<7x7xf32>, tensor<7x7xf32>
}
