// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// internal error: memory of a result of func.return is overwritten before it is read
// values: 16546395946826897237
// mode: nodes=3 devices=2 reduction=mean pipeline=cs-parameter-server-pipeline{reduction=mean assign-devices=true servers=2 min-block-elements=1}
func.func @step(%arg0: tensor<2x3xf32> {cs.param = "p0"}, %arg1: tensor<2x3xf32> {cs.param = "p1"}) -> (tensor<f32> {cs.metric = "m0"}, tensor<2x3xf32> {cs.updates = "p0"}) attributes {cs.step} {
  %cst = arith.constant dense<0.000000e+00> : tensor<1x2xf32>
  %inserted_slice = tensor.insert_slice %cst into %arg1[0, 0] [1, 2] [2, 2] : tensor<1x2xf32> into tensor<2x3xf32>
  %extracted_slice = tensor.extract_slice %inserted_slice[0, 2] [2, 1] [1, 2] : tensor<2x3xf32> to tensor<2x1xf32>
  %extracted_slice_0 = tensor.extract_slice %extracted_slice[0, 0] [1, 1] [2, 1] : tensor<2x1xf32> to tensor<f32>
  %cst_1 = arith.constant dense<0.000000e+00> : tensor<3x2xf32>
  %transposed = linalg.transpose ins(%arg0 : tensor<2x3xf32>) outs(%cst_1 : tensor<3x2xf32>) permutation = [1, 0] 
  %cst_2 = arith.constant dense<0.000000e+00> : tensor<3x2x7x3xf32>
  %broadcasted = linalg.broadcast ins(%extracted_slice_0 : tensor<f32>) outs(%cst_2 : tensor<3x2x7x3xf32>) dimensions = [0, 1, 2, 3] 
  %cst_3 = arith.constant 0.000000e+00 : f32
  %padded = tensor.pad %broadcasted low[0, 2, 2, 0] high[0, 2, 2, 0] {
  ^bb0(%arg2: index, %arg3: index, %arg4: index, %arg5: index):
    tensor.yield %cst_3 : f32
  } : tensor<3x2x7x3xf32> to tensor<3x6x11x3xf32>
  %cst_4 = arith.constant dense<0.000000e+00> : tensor<3x3x3x4xf32>
  %cst_5 = arith.constant dense<0.000000e+00> : tensor<3x4x5x4xf32>
  %0 = linalg.conv_2d_nhwc_hwcf {dilations = dense<1> : tensor<2xi64>, strides = dense<[1, 2]> : tensor<2xi64>} ins(%padded, %cst_4 : tensor<3x6x11x3xf32>, tensor<3x3x3x4xf32>) outs(%cst_5 : tensor<3x4x5x4xf32>) -> tensor<3x4x5x4xf32>
  %cst_6 = arith.constant dense<0.0481125191> : tensor<3x4x5x4xf32>
  %1 = arith.mulf %0, %cst_6 : tensor<3x4x5x4xf32>
  %2 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d1, d0)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1, d0)>], iterator_types = ["parallel", "parallel"]} ins(%inserted_slice, %transposed : tensor<2x3xf32>, tensor<3x2xf32>) outs(%arg1 : tensor<2x3xf32>) {
  ^bb0(%in: f32, %in_10: f32, %out: f32):
    linalg.yield %in_10 : f32
  } -> tensor<2x3xf32>
  %3 = cs.gradient %2 of "p0" : tensor<2x3xf32>
  %4 = cs.gradient %arg1 of "p1" : tensor<2x3xf32>
  %cst_7 = arith.constant dense<1.875000e-01> : tensor<2x3xf32>
  %5 = arith.mulf %3, %cst_7 : tensor<2x3xf32>
  %cst_8 = arith.constant dense<0.000000e+00> : tensor<f32>
  %6 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> ()>], iterator_types = ["reduction", "reduction", "reduction", "reduction"]} ins(%1 : tensor<3x4x5x4xf32>) outs(%cst_8 : tensor<f32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %out : f32
  } -> tensor<f32>
  %cst_9 = arith.constant dense<0.0322748609> : tensor<f32>
  %7 = arith.mulf %6, %cst_9 : tensor<f32>
  return %7, %5 : tensor<f32>, tensor<2x3xf32>
}
