// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// A server's state must not have the name of one that trainers are given: in files, which know
// both by their names, they would be one.
// RUN: cs-opt --insert-dist-comm=mode=parameter-server %s -o %t.mlir
// RUN: cs-opt --lower-sparse-comm %t.mlir -o /dev/null
// RUN: not cs-opt --lower-sparse-comm="density=0.25 min-elements=1" %t.mlir 2>&1 | FileCheck %s
// CHECK: error: 'func.func' op argument {{[0-9]}} has the name that the sparse gradient of "w" needs: "w.residual"

func.func @step(%w: tensor<8xf32> {cs.param = "w"}, %m: tensor<8xf32> {cs.state = "w.residual"}, %x: tensor<8xf32> {cs.batch = "x"})
    -> (tensor<8xf32> {cs.updates = "w"}, tensor<8xf32> {cs.updates = "w.residual"}) attributes {cs.step} {
  %g = cs.gradient %x of "w" : tensor<8xf32>
  %m1 = arith.addf %m, %g : tensor<8xf32>
  %w1 = arith.subf %w, %m1 : tensor<8xf32>
  return %w1, %m1 : tensor<8xf32>, tensor<8xf32>
}
