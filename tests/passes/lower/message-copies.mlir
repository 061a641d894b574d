// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Which messages will be copied, and why.
// RUN: cs-opt --expand-collectives --remarks-filter=expand-collectives %s -o %t 2>&1 | FileCheck %s

cs.cluster @pair nodes = 2 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>

!a = !cs.placed<tensor<4x5xf32>, device 0>
!b = !cs.placed<tensor<6xf32>, device 0>
!m = !cs.placed<tensor<26xf32>, device 0>
!t = !cs.placed<tensor<10xf32>, device 0>

// CHECK-NOT: MessageCopied
// CHECK: message-copies.mlir:[[@LINE+12]]
// CHECK-SAME: MessageCopied
// CHECK-SAME: Remark="cs.pack copies 80 of 104 bytes: a tensor is used elsewhere, or is no result of a fragment"
// CHECK: message-copies.mlir:[[@LINE+11]]
// CHECK-SAME: Remark="cs.pack copies 40 of 40 bytes: its tensors cannot lie side by side"
// CHECK: message-copies.mlir:[[@LINE+19]]
// CHECK-SAME: Remark="cs.unpack copies 80 of 80 bytes: its messages cannot lie side by side"
// CHECK-NOT: MessageCopied
func.func @step(%w: !a, %v: !b) -> (!a, !a, !m, !t) {
  %a, %b = cs.fragment "a" on 0 (%w) cost <flops = 1, bytes = 1, ns = 1> : (!a) -> (!a, !b)
  %c, %d, %g = cs.fragment "c" on 0 (%w) cost <flops = 1, bytes = 1, ns = 1> : (!a) -> (!a, !b, !b)
  %m = cs.pack %a[0, 20], %b[0, 6] : !a, !b -> !m
  %n = cs.pack %w[0, 20], %g[0, 6] : !a, !b -> !m
  // %d would be where the rest of %c is.
  %t = cs.pack %c[0, 4], %d[0, 6] : !a, !b -> !t
  %f = cs.start "m" (%m) : (!m) -> !cs.future<!m> {
  ^bb0(%x: !m):
    %r = cs.all_reduce "m" mean %x : !m
    cs.return %r : !m
  }
  %r = cs.await %f : !cs.future<!m>
  // One piece is where it is.
  %e = cs.unpack %r[6, 26] : !m -> !a
  // The rest of %r is behind its first 10 elements.
  %h = cs.unpack %r[0, 10], %t[0, 10] : !m, !t -> !a
  return %e, %h, %n, %t : !a, !a, !m, !t
}
