// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: %cs-opt --insert-dist-comm --mlir-print-debuginfo --mlir-print-local-scope %s | FileCheck %s

// Ops keep their locations, a fragment has that of its first op, and a
// communication that of the gradient: errors at run time name them.

// CHECK: cs.fragment "compute.0"
// CHECK: arith.mulf {{.*}} loc("model.py":7:3)
// CHECK: } loc("model.py":7:3)
// CHECK-NEXT: cs.all_reduce {{.*}} loc("model.py":9:1)
func.func @step(%w: tensor<4xf32> {cs.param = "w"}, %x: tensor<4xf32> {cs.batch = "x"})
    -> (tensor<4xf32> {cs.updates = "w"}) attributes {cs.step} {
  %g = arith.mulf %w, %x : tensor<4xf32> loc("model.py":7:3)
  %g1 = cs.gradient %g of "w" : tensor<4xf32> loc("model.py":9:1)
  %w1 = arith.subf %w, %g1 : tensor<4xf32>
  return %w1 : tensor<4xf32>
}
