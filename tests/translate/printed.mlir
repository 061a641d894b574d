// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Options that say how MLIR prints a module say nothing of a plan: fragments and loop nests are
// told apart by all that they have.
// RUN: cs-translate --mlir-to-plan %s -o %t.plan
// RUN: cs-translate --mlir-to-plan --mlir-elide-elementsattrs-if-larger=1 %s -o %t.elided
// RUN: cmp %t.plan %t.elided
// RUN: cs-translate --mlir-to-plan --mlir-print-skip-regions %s -o %t.skipped
// RUN: cmp %t.plan %t.skipped
// RUN: cs-translate --mlir-to-plan --mlir-print-debuginfo --mlir-print-value-users %s -o %t.added
// RUN: cmp %t.plan %t.added
// RUN: cs-translate --mlir-to-plan --plan-summary %s -o %t.again 2>&1 | FileCheck %s
// CHECK: fragments: 4
// CHECK-NEXT: compiled fragments: 3

cs.cluster @lab nodes = 1 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
!t = !cs.placed<tensor<4xf32>, device 0>
func.func @step(%a: !t {cs.param = "a"}, %b: !t {cs.param = "b"}, %c: !t {cs.param = "c"}, %d: !t {cs.param = "d"})
    -> (!t {cs.updates = "a"}, !t {cs.updates = "b"}, !t {cs.updates = "c"}, !t {cs.updates = "d"}) attributes {cs.step} {
  %0 = cs.fragment "a" on 0 (%a) : (!t) -> !t {
  ^bb0(%x: tensor<4xf32>):
    %k = arith.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
    %y = arith.addf %x, %k : tensor<4xf32>
    cs.return %y : tensor<4xf32>
  }
  %1 = cs.fragment "b" on 0 (%b) : (!t) -> !t {
  ^bb0(%x: tensor<4xf32>):
    %k = arith.constant dense<[10.0, 20.0, 30.0, 40.0]> : tensor<4xf32>
    %y = arith.addf %x, %k : tensor<4xf32>
    cs.return %y : tensor<4xf32>
  }
  %2 = cs.fragment "c" on 0 (%c) : (!t) -> !t {
  ^bb0(%x: tensor<4xf32>):
    %y = arith.mulf %x, %x : tensor<4xf32>
    cs.return %y : tensor<4xf32>
  }
  // The same as of "c", elsewhere in the file.
  %3 = cs.fragment "d" on 0 (%d) : (!t) -> !t {
  ^bb0(%x: tensor<4xf32>):
    %y = arith.mulf %x, %x : tensor<4xf32>
    cs.return %y : tensor<4xf32>
  }
  return %0, %1, %2, %3 : !t, !t, !t, !t
}
