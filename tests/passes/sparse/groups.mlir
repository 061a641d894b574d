// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// A gradient of a group of nodes stays dense, and is refused if it asks for something else.

// RUN: cs-opt --lower-sparse-comm="density=0.01 min-elements=1" %s | FileCheck %s
// RUN: sed 's/in @some/in @some {cs.density = 0.01 : f64}/' %s | not cs-opt --lower-sparse-comm 2>&1 | FileCheck %s --check-prefix=REFUSED
// REFUSED: error: 'cs.all_reduce' op cannot be sparse: it is in a group of the nodes, @some

cs.cluster @lab nodes = 4 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
cs.group @some ranks [1, 0]
!v = !cs.placed<tensor<4096xf32>, device 0>
// CHECK-LABEL: func.func @step
// CHECK: cs.all_reduce "w" mean %{{.*}} in @some
// CHECK: cs.top_k
func.func @step(%w: !v {cs.param = "w"}, %u: !v {cs.param = "u"}) -> (!v {cs.updates = "w"}, !v {cs.updates = "u"}) attributes {cs.step} {
  %g:2 = cs.fragment "backward" on 0 (%w, %u) : (!v, !v) -> (!v, !v) {
  ^bb0(%x: tensor<4096xf32>, %y: tensor<4096xf32>):
    cs.return %y, %x : tensor<4096xf32>, tensor<4096xf32>
  }
  %0 = cs.all_reduce "w" mean %g#0 in @some : !v
  %1 = cs.all_reduce "u" mean %g#1 : !v
  return %0, %1 : !v, !v
}
