// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// LLVM looks for checksums in loops, in time exponential in the operations of an expression: it did not end.
// values: 18065832452799732785
// mode: nodes=1 devices=2 link=1000:50000 reduction=mean pipeline=cs-parameter-server-pipeline{reduction=mean assign-devices=true by-block=true servers=3 min-block-elements=4 sync-mode=async}
func.func @step(%arg0: tensor<f32> {cs.param = "p0"}, %arg1: tensor<8x9xf32> {cs.param = "p1"}, %arg2: tensor<8x2xf32> {cs.batch = "x0"}) -> (tensor<f32> {cs.updates = "p0"}) attributes {cs.step} {
  %0 = tensor.empty() : tensor<8x2xf32>
  %1 = tensor.empty() : tensor<2x8xf32>
  %2:2 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1, d0)>], iterator_types = ["parallel", "parallel"]} ins(%arg2 : tensor<8x2xf32>) outs(%0, %1 : tensor<8x2xf32>, tensor<2x8xf32>) {
  ^bb0(%in: f32, %out: f32, %out_2: f32):
    %16 = arith.negf %in : f32
    %17 = math.tanh %16 : f32
    %18 = arith.negf %17 : f32
    %19 = math.exp %18 : f32
    %cst_3 = arith.constant 1.000000e+00 : f32
    %20 = arith.addf %19, %cst_3 : f32
    %21 = arith.divf %cst_3, %20 : f32
    %22 = arith.subf %21, %16 : f32
    %23 = arith.subf %22, %21 : f32
    %24 = arith.mulf %in, %in : f32
    %cst_4 = arith.constant 2.500000e-01 : f32
    %25 = arith.addf %24, %cst_4 : f32
    %26 = math.sqrt %25 : f32
    %27 = math.erf %26 : f32
    %28 = math.copysign %in, %27 : f32
    linalg.yield %23, %28 : f32, f32
  } -> (tensor<8x2xf32>, tensor<2x8xf32>)
  %3 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1, d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%2#1, %2#0 : tensor<2x8xf32>, tensor<8x2xf32>) outs(%1 : tensor<2x8xf32>) {
  ^bb0(%in: f32, %in_2: f32, %out: f32):
    %16 = arith.mulf %in_2, %in_2 : f32
    %cst_3 = arith.constant 1.000000e-01 : f32
    %17 = arith.addf %16, %cst_3 : f32
    %18 = math.log1p %17 : f32
    %19 = math.copysign %in_2, %18 : f32
    %20 = math.erf %19 : f32
    linalg.yield %20 : f32
  } -> tensor<2x8xf32>
  %4 = tensor.empty() : tensor<2xf32>
  %cst = arith.constant -1.000000e+04 : f32
  %5 = linalg.fill ins(%cst : f32) outs(%4 : tensor<2xf32>) -> tensor<2xf32>
  %6 = tensor.empty() : tensor<2xi32>
  %c0_i32 = arith.constant 0 : i32
  %7 = linalg.fill ins(%c0_i32 : i32) outs(%6 : tensor<2xi32>) -> tensor<2xi32>
  %8:2 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%3 : tensor<2x8xf32>) outs(%5, %7 : tensor<2xf32>, tensor<2xi32>) {
  ^bb0(%in: f32, %out: f32, %out_2: i32):
    %16 = linalg.index 1 : index
    %17 = arith.index_cast %16 : index to i32
    %18 = arith.cmpf ogt, %in, %out : f32
    %19 = arith.select %18, %in, %out : f32
    %20 = arith.select %18, %17, %out_2 : i32
    linalg.yield %19, %20 : f32, i32
  } -> (tensor<2xf32>, tensor<2xi32>)
  %9 = tensor.empty() : tensor<f32>
  %cst_0 = arith.constant 0.000000e+00 : f32
  %10 = linalg.fill ins(%cst_0 : f32) outs(%9 : tensor<f32>) -> tensor<f32>
  %11 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>], iterator_types = ["reduction"]} ins(%8#0, %8#0 : tensor<2xf32>, tensor<2xf32>) outs(%10 : tensor<f32>) {
  ^bb0(%in: f32, %in_2: f32, %out: f32):
    %16 = arith.mulf %in, %in_2 : f32
    %17 = arith.addf %out, %16 : f32
    linalg.yield %17 : f32
  } -> tensor<f32>
  %collapsed = tensor.collapse_shape %arg1 [[0, 1]] : tensor<8x9xf32> into tensor<72xf32>
  %expanded = tensor.expand_shape %collapsed [[0, 1]] output_shape [8, 9] : tensor<72xf32> into tensor<8x9xf32>
  %12 = cs.gradient %11 of "p0" : tensor<f32>
  %13 = cs.gradient %expanded of "p1" : tensor<8x9xf32>
  %cst_1 = arith.constant dense<4.375000e-01> : tensor<f32>
  %14 = arith.mulf %12, %cst_1 : tensor<f32>
  %15 = arith.subf %arg0, %14 : tensor<f32>
  return %15 : tensor<f32>
}
