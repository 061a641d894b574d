// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A false alarm: a slice with steps over parts that lie side by side was not told from them.
// values: 2270730031375313970
// mode: nodes=2 devices=2 reduction=mean pipeline=cs-parameter-server-pipeline{reduction=mean assign-devices=false by-block=true servers=3 min-block-elements=8192 max-block-elements=8192 placement=hash}
func.func @step(%arg0: tensor<5x5xf64> {cs.param = "p0"}, %arg1: tensor<8x5x8xf32> {cs.batch = "x2"}) -> (tensor<f32> {cs.metric = "m0"}, tensor<5x5xf64> {cs.updates = "p0"}) attributes {cs.step} {
  %concat = tensor.concat dim(2) %arg1, %arg1 : (tensor<8x5x8xf32>, tensor<8x5x8xf32>) -> tensor<8x5x16xf32>
  %cst = arith.constant dense<0.000000e+00> : tensor<7x1x5xf32>
  %inserted_slice = tensor.insert_slice %cst into %concat[0, 4, 7] [7, 1, 5] [1, 1, 2] : tensor<7x1x5xf32> into tensor<8x5x16xf32>
  %cst_0 = arith.constant dense<0.000000e+00> : tensor<5x5xf64>
  %0 = cs.gradient %cst_0 of "p0" : tensor<5x5xf64>
  %cst_1 = arith.constant dense<1.250000e-01> : tensor<5x5xf64>
  %1 = arith.mulf %0, %cst_1 : tensor<5x5xf64>
  %cst_2 = arith.constant dense<0.000000e+00> : tensor<f32>
  %reduced = linalg.reduce ins(%inserted_slice : tensor<8x5x16xf32>) outs(%cst_2 : tensor<f32>) dimensions = [0, 1, 2] 
    (%in: f32, %init: f32) {
      linalg.yield %in : f32
    }
  %cst_3 = arith.constant dense<0.0197642408> : tensor<f32>
  %2 = arith.mulf %reduced, %cst_3 : tensor<f32>
  return %2, %1 : tensor<f32>, tensor<5x5xf64>
}
