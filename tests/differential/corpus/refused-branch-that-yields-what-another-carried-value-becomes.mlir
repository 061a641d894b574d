// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Was refused: one-shot bufferization could not avoid a conflict.
// values: 4779558140251331786
// mode: nodes=1 devices=1 reduction=mean pipeline=cs-all-reduce-pipeline{reduction=mean algorithm=ring combine=false}
func.func @step(%arg0: tensor<9x9x9xf32> {cs.param = "p0"}, %arg1: tensor<9x9x9xf32> {cs.param = "p1"}, %arg2: tensor<9x9x9xf32> {cs.param = "p2"}, %arg3: tensor<f32> {cs.state = "s0"}, %arg4: tensor<9x9xf32> {cs.batch = "x0"}, %arg5: tensor<9x9x9xf32> {cs.batch = "x1"}) -> (tensor<f32> {cs.metric = "m0"}) attributes {cs.step} {
  %c0 = arith.constant 0 : index
  %c6 = arith.constant 6 : index
  %c2 = arith.constant 2 : index
  %0:3 = scf.for %arg6 = %c0 to %c6 step %c2 iter_args(%arg7 = %arg5, %arg8 = %arg4, %arg9 = %arg4) -> (tensor<9x9x9xf32>, tensor<9x9xf32>, tensor<9x9xf32>) {
    %c7 = arith.constant 7 : index
    %c0_0 = arith.constant 0 : index
    %c3 = arith.constant 3 : index
    %extracted = tensor.extract %arg1[%c7, %c0_0, %c3] : tensor<9x9x9xf32>
    %cst_1 = arith.constant 2.500000e-01 : f32
    %6 = arith.cmpf ogt, %extracted, %cst_1 : f32
    %7:2 = scf.if %6 -> (tensor<f32>, tensor<9x9xf32>) {
      %8 = arith.mulf %arg9, %arg9 : tensor<9x9xf32>
      scf.yield %arg3, %8 : tensor<f32>, tensor<9x9xf32>
    } else {
      scf.yield %arg3, %arg4 : tensor<f32>, tensor<9x9xf32>
    }
    scf.yield %arg7, %7#1, %arg4 : tensor<9x9x9xf32>, tensor<9x9xf32>, tensor<9x9xf32>
  }
  %1 = cs.gradient %arg5 of "p0" : tensor<9x9x9xf32>
  %2 = cs.gradient %arg0 of "p1" : tensor<9x9x9xf32>
  %3 = cs.gradient %arg5 of "p2" : tensor<9x9x9xf32>
  %4 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> ()>], iterator_types = ["reduction", "reduction"]} ins(%0#1 : tensor<9x9xf32>) outs(%arg3 : tensor<f32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %out : f32
  } -> tensor<f32>
  %cst = arith.constant dense<0.0138888899> : tensor<f32>
  %5 = arith.mulf %4, %cst : tensor<f32>
  return %5 : tensor<f32>
}
