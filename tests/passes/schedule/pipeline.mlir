// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: %cs-opt --cs-all-reduce-pipeline %s | FileCheck %s
// RUN: %cs-opt --cs-all-reduce-pipeline="reduction=sum algorithm=ring cluster=%S/../insert/Inputs/lab.mlir" %s | FileCheck %s --check-prefix=SUM
// RUN: not cs-opt --cs-all-reduce-pipeline=algorithm=star %s 2>&1 | FileCheck %s --check-prefix=ALGORITHM
// RUN: cs-opt --cs-all-reduce-pipeline %s -o %t1
// RUN: cs-opt --insert-dist-comm --schedule-comm --expand-collectives --verify-distributed %s -o %t2
// RUN: cmp %t1 %t2

// CHECK: cs.cluster @default nodes = 2
// CHECK: cs.start "w"
// CHECK: cs.exchange
// CHECK-SAME: scale 5.0
// CHECK: cs.await
// SUM: cs.cluster @lab nodes = 3
// SUM: cs.exchange
// SUM-NOT: scale
// ALGORITHM: star
func.func @step(%w: tensor<6xf32> {cs.param = "w"}, %x: tensor<6xf32> {cs.batch = "x"})
    -> (tensor<6xf32> {cs.updates = "w"}) attributes {cs.step} {
  %g1 = cs.gradient %x of "w" : tensor<6xf32>
  %w1 = arith.subf %w, %g1 : tensor<6xf32>
  return %w1 : tensor<6xf32>
}
