// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A loop that fills a copy of a state in each round: the check of memory refused it.
// values: 8644480482408556636
// mode: nodes=3 devices=1 reduction=mean pipeline=cs-all-reduce-pipeline{reduction=mean schedule=wfbp algorithm=halving-doubling}
func.func @step(%arg0: tensor<5x16xf32> {cs.param = "p0"}, %arg1: tensor<5x16xf32> {cs.param = "p1"}, %arg2: tensor<3xf32> {cs.state = "s0"}, %arg3: tensor<5x16xf32> {cs.batch = "x0"}) -> (tensor<f32> {cs.metric = "m0"}) attributes {cs.step} {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %c2 = arith.constant 2 : index
  %0 = scf.for %arg4 = %c0 to %c8 step %c2 iter_args(%arg5 = %arg2) -> (tensor<3xf32>) {
    %cst_2 = arith.constant 0.000000e+00 : f32
    %5 = linalg.fill ins(%cst_2 : f32) outs(%arg2 : tensor<3xf32>) -> tensor<3xf32>
    scf.yield %5 : tensor<3xf32>
  }
  %cst = arith.constant dense<0.000000e+00> : tensor<5x16xf32>
  %1 = cs.gradient %cst of "p0" : tensor<5x16xf32>
  %2 = cs.gradient %arg3 of "p1" : tensor<5x16xf32>
  %cst_0 = arith.constant dense<0.000000e+00> : tensor<f32>
  %3 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>], iterator_types = ["reduction"]} ins(%0 : tensor<3xf32>) outs(%cst_0 : tensor<f32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %out : f32
  } -> tensor<f32>
  %cst_1 = arith.constant dense<0.0721687824> : tensor<f32>
  %4 = arith.mulf %3, %cst_1 : tensor<f32>
  return %4 : tensor<f32>
}
