// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: cs-opt --verify-roundtrip %s | FileCheck %s
// RUN: cs-opt --emit-bytecode %s | cs-opt | FileCheck %s
// RUN: cs-opt --mlir-print-op-generic %s | cs-opt | FileCheck %s
// RUN: cs-opt --expand-collectives=algorithm=ring --verify-distributed %s | FileCheck %s --check-prefix=ROUNDS

cs.cluster @lab nodes = 4 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>

!w = !cs.placed<tensor<40xf32>, device 0>
// CHECK-LABEL: func.func @f
func.func @f(%v: !w) -> (!w, !w, !w) {
  // CHECK:  cs.start "w" priority 3 gather_priority 4 exclusive 1000000 (
  // ROUNDS: cs.start "w" priority 3 exclusive 1000000 (
  %f = cs.start "w" priority 3 gather_priority 4 exclusive 1000000 (%v) : (!w) -> !cs.future<!w> {
  ^bb0(%x: !w):
    %r = cs.all_reduce "w" mean %x : !w
    cs.return %r : !w
  }
  // CHECK:  cs.start "p" parts [10, 30] exclusive 1 (
  // ROUNDS: cs.start "p" parts [10, 30] exclusive 1 (
  %g = cs.start "p" parts [10, 30] exclusive 1 (%v) : (!w) -> !cs.future<!w> {
  ^bb0(%x: !w):
    %r = cs.all_reduce "p" mean %x : !w
    cs.return %r : !w
  }
  // CHECK:  cs.start "b" exclusive 1000000000 (
  // ROUNDS: cs.start "b" exclusive 1000000000 (
  %h = cs.start "b" exclusive 1000000000 (%v) : (!w) -> !cs.future<!w> {
  ^bb0(%x: !w):
    %r = cs.all_reduce "b" max %x : !w
    cs.return %r : !w
  }
  %0 = cs.await %f : !cs.future<!w>
  %1 = cs.await %g : !cs.future<!w>
  %2 = cs.await %h : !cs.future<!w>
  return %0, %1, %2 : !w, !w, !w
}
