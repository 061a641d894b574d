// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: cs-opt --expand-collectives --verify-distributed %s | FileCheck %s

cs.cluster @lab nodes = 8 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
cs.group @four ranks [7, 0, 2, 5]
!t = !cs.placed<tensor<8xf32>, device 0>
!p = !cs.placed<tensor<2xf32>, device 0>

// The part of a constant is a member's, not a rank's.
// CHECK-LABEL: func.func @known
// CHECK:         %[[OWN:.*]] = cs.shard %{{.*}} in @four : !cs.placed<tensor<8xf32>, device 0> -> !cs.placed<tensor<2xf32>, device 0>
func.func @known() -> !p {
  %c = cs.fragment "iota" on 0 () : () -> !t {
    %k = arith.constant dense<[0., 1., 2., 3., 4., 5., 6., 7.]> : tensor<8xf32>
    cs.return %k : tensor<8xf32>
  }
  %f = cs.start "k" (%c) : (!t) -> !cs.future<!p> {
  ^bb0(%x: !t):
    %r = cs.reduce_scatter "k" max %x in @four : !t -> !p
    cs.return %r : !p
  }
  %0 = cs.await %f : !cs.future<!p>
  return %0 : !p
}
