// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// internal error: values of a fragment would overwrite each other
// values: 16235689460493747355
// mode: nodes=4 devices=1 link=1000:50000 reduction=mean pipeline=cs-all-reduce-pipeline{reduction=mean schedule=mg-wfbp}
func.func @step(%arg0: tensor<8x8xbf16> {cs.param = "p0"}, %arg1: tensor<8x8xbf16> {cs.batch = "x0"}) -> (tensor<f32> {cs.metric = "m1"}) attributes {cs.step} {
  %cst = arith.constant dense<false> : tensor<1xi1>
  %cst_0 = arith.constant dense<0.000000e+00> : tensor<3x1x2x1xf32>
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %c2 = arith.constant 2 : index
  %0:2 = scf.for %arg2 = %c0 to %c8 step %c2 iter_args(%arg3 = %cst_0, %arg4 = %cst) -> (tensor<3x1x2x1xf32>, tensor<1xi1>) {
    %5 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%arg3 : tensor<3x1x2x1xf32>) outs(%arg3 : tensor<3x1x2x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %cst_3 = arith.constant 1.250000e+00 : f32
      %7 = arith.addf %out, %cst_3 : f32
      linalg.yield %7 : f32
    } -> tensor<3x1x2x1xf32>
    %6 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%5 : tensor<3x1x2x1xf32>) outs(%arg3 : tensor<3x1x2x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %7 = arith.maximumf %in, %out : f32
      linalg.yield %7 : f32
    } -> tensor<3x1x2x1xf32>
    scf.yield %6, %arg4 : tensor<3x1x2x1xf32>, tensor<1xi1>
  }
  %false = arith.constant false
  %1 = scf.if %false -> (tensor<3x1x2x1xf32>) {
    scf.yield %0#0 : tensor<3x1x2x1xf32>
  } else {
    scf.yield %0#0 : tensor<3x1x2x1xf32>
  }
  %2 = cs.gradient %arg1 of "p0" : tensor<8x8xbf16>
  %cst_1 = arith.constant dense<0.000000e+00> : tensor<f32>
  %3 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> ()>], iterator_types = ["reduction", "reduction", "reduction", "reduction"]} ins(%1 : tensor<3x1x2x1xf32>) outs(%cst_1 : tensor<f32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %out : f32
  } -> tensor<f32>
  %cst_2 = arith.constant dense<0.0510310382> : tensor<f32>
  %4 = arith.mulf %3, %cst_2 : tensor<f32>
  return %4 : tensor<f32>
}
