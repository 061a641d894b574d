// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A loop that hands on one value twice was refused: one-shot bufferization could not avoid a conflict.
// values: 11318358485429572977
// mode: nodes=2 devices=1 reduction=mean pipeline=cs-parameter-server-pipeline{reduction=mean schedule=mg-wfbp copies=in-line servers=1 min-block-elements=4}
func.func @step(%arg0: tensor<9x9xf32> {cs.param = "p0"}, %arg1: tensor<9x9xf32> {cs.param = "p1"}, %arg2: tensor<9x9xf32> {cs.param = "p2"}, %arg3: tensor<9x9xf32> {cs.state = "s0"}, %arg4: tensor<9x9x9xf32> {cs.batch = "x0"}) -> (tensor<9x9xf32> {cs.updates = "p0"}) attributes {cs.step} {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %c2 = arith.constant 2 : index
  %0:2 = scf.for %arg5 = %c0 to %c8 step %c2 iter_args(%arg6 = %arg1, %arg7 = %arg3) -> (tensor<9x9xf32>, tensor<9x9xf32>) {
    %9 = arith.maximumf %arg6, %arg7 : tensor<9x9xf32>
    %10 = math.tanh %9 : tensor<9x9xf32>
    %11 = arith.maximumf %arg7, %arg6 : tensor<9x9xf32>
    %12 = math.tanh %11 : tensor<9x9xf32>
    scf.yield %10, %12 : tensor<9x9xf32>, tensor<9x9xf32>
  }
  %false = arith.constant false
  %1:2 = scf.if %false -> (tensor<9x9xf32>, tensor<9x9xf32>) {
    scf.yield %0#0, %arg3 : tensor<9x9xf32>, tensor<9x9xf32>
  } else {
    scf.yield %0#1, %arg1 : tensor<9x9xf32>, tensor<9x9xf32>
  }
  %cst = arith.constant dense<0.000000e+00> : tensor<9xf32>
  %cst_0 = arith.constant dense<0> : tensor<9xi32>
  %2:2 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d1)>], iterator_types = ["reduction", "parallel"]} ins(%1#0 : tensor<9x9xf32>) outs(%cst, %cst_0 : tensor<9xf32>, tensor<9xi32>) {
  ^bb0(%in: f32, %out: f32, %out_3: i32):
    linalg.yield %out, %out_3 : f32, i32
  } -> (tensor<9xf32>, tensor<9xi32>)
  %3 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d1, d2, d0)>, affine_map<(d0, d1, d2) -> (d0)>, affine_map<(d0, d1, d2) -> (d1, d2)>], iterator_types = ["reduction", "parallel", "parallel"]} ins(%arg4, %2#0 : tensor<9x9x9xf32>, tensor<9xf32>) outs(%arg3 : tensor<9x9xf32>) {
  ^bb0(%in: f32, %in_3: f32, %out: f32):
    linalg.yield %in_3 : f32
  } -> tensor<9x9xf32>
  %cst_1 = arith.constant dense<0.0416666716> : tensor<9x9xf32>
  %4 = arith.mulf %3, %cst_1 : tensor<9x9xf32>
  %5 = cs.gradient %4 of "p0" : tensor<9x9xf32>
  %6 = cs.gradient %arg3 of "p1" : tensor<9x9xf32>
  %7 = cs.gradient %arg3 of "p2" : tensor<9x9xf32>
  %cst_2 = arith.constant dense<3.750000e-01> : tensor<9x9xf32>
  %8 = arith.mulf %5, %cst_2 : tensor<9x9xf32>
  return %8 : tensor<9x9xf32>
}
