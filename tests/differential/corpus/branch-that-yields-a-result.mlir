// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// internal error: what this does to memory is not known to the check of memory
// values: 17774592422415892260
// mode: nodes=2 devices=1 reduction=mean pipeline=cs-all-reduce-pipeline{reduction=mean schedule=tictac algorithm=halving-doubling}
func.func @step(%arg0: tensor<f32> {cs.param = "p0"}, %arg1: tensor<f64> {cs.param = "p1"}, %arg2: tensor<f32> {cs.state = "s1"}) -> (tensor<f32> {cs.metric = "m0"}) attributes {cs.step} {
  %0 = tensor.empty() : tensor<70x2x2x2xf32>
  %1 = tensor.empty() : tensor<70xf32>
  %c41 = arith.constant 41 : index
  %c0 = arith.constant 0 : index
  %c0_0 = arith.constant 0 : index
  %c0_1 = arith.constant 0 : index
  %extracted = tensor.extract %0[%c41, %c0, %c0_0, %c0_1] : tensor<70x2x2x2xf32>
  %cst = arith.constant 2.500000e-01 : f32
  %2 = arith.cmpf ogt, %extracted, %cst : f32
  %3:2 = scf.if %2 -> (tensor<70xf32>, tensor<70xf32>) {
    %cst_4 = arith.constant dense<0.000000e+00> : tensor<70xf32>
    scf.yield %cst_4, %1 : tensor<70xf32>, tensor<70xf32>
  } else {
    scf.yield %1, %1 : tensor<70xf32>, tensor<70xf32>
  }
  %cst_2 = arith.constant dense<0.000000e+00> : tensor<f32>
  %4 = cs.gradient %cst_2 of "p0" : tensor<f32>
  %5 = cs.gradient %arg1 of "p1" : tensor<f64>
  %6 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>], iterator_types = ["reduction"]} ins(%3#0 : tensor<70xf32>) outs(%arg2 : tensor<f32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %out : f32
  } -> tensor<f32>
  %cst_3 = arith.constant dense<0.0118812798> : tensor<f32>
  %7 = arith.mulf %6, %cst_3 : tensor<f32>
  return %7 : tensor<f32>
}
