// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Was refused: one-shot bufferization could not avoid a conflict.
// values: 11351761414821292889
// mode: nodes=1 devices=1 reduction=mean pipeline=cs-all-reduce-pipeline{reduction=mean algorithm=halving-doubling}
func.func @step(%arg0: tensor<8x16xf32> {cs.param = "p0"}, %arg1: tensor<8x16xf32> {cs.param = "p1"}, %arg2: tensor<8x16xf64> {cs.param = "p2"}, %arg3: tensor<8x16xf32> {cs.param = "p3"}, %arg4: tensor<8x16xf32> {cs.param = "p4"}, %arg5: tensor<8xf32> {cs.batch = "x0"}) attributes {cs.step} {
  %c0_i32 = arith.constant 0 : i32
  %c0_i32_0 = arith.constant 0 : i32
  %0:2 = scf.while (%arg6 = %c0_i32, %arg7 = %arg5) : (i32, tensor<8xf32>) -> (i32, tensor<8xf32>) {
    %11 = arith.cmpi slt, %arg6, %c0_i32_0 : i32
    scf.condition(%11) %arg6, %arg7 : i32, tensor<8xf32>
  } do {
  ^bb0(%arg6: i32, %arg7: tensor<8xf32>):
    %c1_i32 = arith.constant 1 : i32
    %11 = arith.addi %arg6, %c1_i32 : i32
    scf.yield %11, %arg7 : i32, tensor<8xf32>
  }
  %1 = tensor.empty() : tensor<8x16xf32>
  %c7 = arith.constant 7 : index
  %extracted = tensor.extract %0#1[%c7] : tensor<8xf32>
  %cst = arith.constant 2.500000e-01 : f32
  %2 = arith.cmpf ogt, %extracted, %cst : f32
  %3 = scf.if %2 -> (tensor<8x16xf32>) {
    %11 = arith.addf %arg4, %arg4 : tensor<8x16xf32>
    %12 = math.tanh %11 : tensor<8x16xf32>
    scf.yield %12 : tensor<8x16xf32>
  } else {
    %11 = arith.mulf %arg4, %arg4 : tensor<8x16xf32>
    %12 = math.tanh %11 : tensor<8x16xf32>
    scf.yield %12 : tensor<8x16xf32>
  }
  %c0_i32_1 = arith.constant 0 : i32
  %c3_i32 = arith.constant 3 : i32
  %4:3 = scf.while (%arg6 = %c0_i32_1, %arg7 = %arg4, %arg8 = %arg4) : (i32, tensor<8x16xf32>, tensor<8x16xf32>) -> (i32, tensor<8x16xf32>, tensor<8x16xf32>) {
    %11 = arith.cmpi slt, %arg6, %c3_i32 : i32
    scf.condition(%11) %arg6, %arg7, %arg8 : i32, tensor<8x16xf32>, tensor<8x16xf32>
  } do {
  ^bb0(%arg6: i32, %arg7: tensor<8x16xf32>, %arg8: tensor<8x16xf32>):
    %c1_i32 = arith.constant 1 : i32
    %11 = arith.addi %arg6, %c1_i32 : i32
    %c0 = arith.constant 0 : index
    %c8 = arith.constant 8 : index
    %c2 = arith.constant 2 : index
    %12:3 = scf.for %arg9 = %c0 to %c8 step %c2 iter_args(%arg10 = %arg7, %arg11 = %3, %arg12 = %arg8) -> (tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>) {
      scf.yield %arg11, %arg10, %arg11 : tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>
    }
    %13 = arith.addf %arg8, %3 : tensor<8x16xf32>
    scf.yield %11, %13, %12#2 : i32, tensor<8x16xf32>, tensor<8x16xf32>
  }
  %cst_2 = arith.constant dense<0.000000e+00> : tensor<8x16xf32>
  %5 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%4#2, %3 : tensor<8x16xf32>, tensor<8x16xf32>) outs(%1 : tensor<8x16xf32>) {
  ^bb0(%in: f32, %in_3: f32, %out: f32):
    linalg.yield %in_3 : f32
  } -> tensor<8x16xf32>
  %6 = cs.gradient %cst_2 of "p0" : tensor<8x16xf32>
  %7 = cs.gradient %cst_2 of "p1" : tensor<8x16xf32>
  %8 = cs.gradient %arg2 of "p2" : tensor<8x16xf64>
  %9 = cs.gradient %5 of "p3" : tensor<8x16xf32>
  %10 = cs.gradient %cst_2 of "p4" : tensor<8x16xf32>
  return
}
