// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A loop whose carried values move on by one: the check of memory refused it.
// values: 10748270969457491224
// mode: nodes=2 devices=1 reduction=mean pipeline=cs-parameter-server-pipeline{reduction=mean schedule=tictac servers=1 min-block-elements=1 max-block-elements=1}
func.func @step(%arg0: tensor<1x1x1xf32> {cs.param = "p0"}, %arg1: tensor<1xf32> {cs.param = "p1"}, %arg2: tensor<1xf32> {cs.param = "p2"}, %arg3: tensor<1x1x1xf32> {cs.param = "p3"}, %arg4: tensor<1x1x1xf32> {cs.param = "p4"}, %arg5: tensor<1xf32> {cs.state = "s0"}, %arg6: tensor<1x1xf32> {cs.batch = "x0"}, %arg7: tensor<1x1x1xf32> {cs.batch = "x2"}) -> (tensor<1x1x1xf32> {cs.updates = "p0"}, tensor<1xf32> {cs.updates = "s0"}) attributes {cs.step} {
  %cst = arith.constant dense<0.000000e+00> : tensor<1xf32>
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %c2 = arith.constant 2 : index
  %0:3 = scf.for %arg8 = %c0 to %c4 step %c2 iter_args(%arg9 = %arg1, %arg10 = %cst, %arg11 = %arg6) -> (tensor<1xf32>, tensor<1xf32>, tensor<1x1xf32>) {
    scf.yield %arg5, %arg9, %arg11 : tensor<1xf32>, tensor<1xf32>, tensor<1x1xf32>
  }
  %cst_0 = arith.constant dense<0.000000e+00> : tensor<1x1x1xf32>
  %1 = cs.gradient %cst_0 of "p0" : tensor<1x1x1xf32>
  %2 = cs.gradient %arg5 of "p1" : tensor<1xf32>
  %3 = cs.gradient %arg5 of "p2" : tensor<1xf32>
  %4 = cs.gradient %arg7 of "p3" : tensor<1x1x1xf32>
  %5 = cs.gradient %arg7 of "p4" : tensor<1x1x1xf32>
  %cst_1 = arith.constant dense<6.250000e-02> : tensor<1x1x1xf32>
  %6 = arith.mulf %1, %cst_1 : tensor<1x1x1xf32>
  %7 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>], iterator_types = ["reduction", "parallel"]} ins(%0#1, %0#2 : tensor<1xf32>, tensor<1x1xf32>) outs(%arg5 : tensor<1xf32>) {
  ^bb0(%in: f32, %in_4: f32, %out: f32):
    linalg.yield %in_4 : f32
  } -> tensor<1xf32>
  %cst_2 = arith.constant dense<0.0303030293> : tensor<1xf32>
  %8 = arith.mulf %7, %cst_2 : tensor<1xf32>
  %cst_3 = arith.constant dense<5.000000e-01> : tensor<1xf32>
  %9 = arith.mulf %8, %cst_3 : tensor<1xf32>
  return %6, %9 : tensor<1x1x1xf32>, tensor<1xf32>
}
