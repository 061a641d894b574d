// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// internal error: what this does to memory is not known to the check of memory
// values: 9524095448405039747
// mode: nodes=4 devices=1 reduction=mean pipeline=cs-all-reduce-pipeline{reduction=mean schedule=p3 copies=in-line staging-bytes=1048576}
func.func @step(%arg0: tensor<7x7xf32> {cs.param = "p0"}, %arg1: tensor<7x7xf32> {cs.param = "p1"}, %arg2: tensor<7x7xf32> {cs.param = "p2"}, %arg3: tensor<7x7xf32> {cs.param = "p3"}, %arg4: tensor<7x7xf32> {cs.batch = "x0"}, %arg5: tensor<7x7xf32> {cs.batch = "x1"}) attributes {cs.step} {
  %0 = tensor.empty() : tensor<7x7xf32>
  %c4 = arith.constant 4 : index
  %c1 = arith.constant 1 : index
  %extracted = tensor.extract %0[%c4, %c1] : tensor<7x7xf32>
  %cst = arith.constant 2.500000e-01 : f32
  %1 = arith.cmpf ogt, %extracted, %cst : f32
  %2 = scf.if %1 -> (tensor<7x7xf32>) {
    scf.yield %0 : tensor<7x7xf32>
  } else {
    %9 = arith.subf %arg3, %arg3 : tensor<7x7xf32>
    scf.yield %9 : tensor<7x7xf32>
  }
  %cst_0 = arith.constant dense<0.0112785297> : tensor<7x7xf32>
  %3 = arith.mulf %2, %cst_0 : tensor<7x7xf32>
  %4 = linalg.matmul indexing_maps = [affine_map<(d0, d1, d2) -> (d2, d0)>, affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>] ins(%arg4, %3 : tensor<7x7xf32>, tensor<7x7xf32>) outs(%0 : tensor<7x7xf32>) -> tensor<7x7xf32>
  %5 = cs.gradient %arg5 of "p0" : tensor<7x7xf32>
  %6 = cs.gradient %arg5 of "p1" : tensor<7x7xf32>
  %7 = cs.gradient %4 of "p2" : tensor<7x7xf32>
  %8 = cs.gradient %arg5 of "p3" : tensor<7x7xf32>
  return
}
