// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The half of an all_reduce that distributes the sums has a priority of its own.
// RUN: %cs-opt --expand-collectives=algorithm=ring %s | FileCheck %s --check-prefixes=CHECK,RING
// RUN: %cs-opt --expand-collectives=algorithm=halving-doubling %s | FileCheck %s --check-prefixes=CHECK,HALVING

cs.cluster @lab nodes = 4 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>

!w = !cs.placed<tensor<40xf32>, device 0>
// CHECK-LABEL: func.func @f
func.func @f(%v: !w) -> (!w, !w) {
  // CHECK:       cs.start "w" priority 3 (
  // RING:        cs.exchange {{.*}} sum scale 2.500000e-01 send
  // RING-NEXT:   cs.exchange {{.*}} replace priority -2 send
  // HALVING:     cs.exchange {{.*}} sum send
  // HALVING-NEXT: cs.exchange {{.*}} sum scale 2.500000e-01 send
  // HALVING-NEXT: cs.exchange {{.*}} replace priority -2 send
  // HALVING-NEXT: cs.exchange {{.*}} replace priority -2 send
  // CHECK-NEXT:  cs.return
  %f = cs.start "w" priority 3 gather_priority -2 (%v) : (!w) -> !cs.future<!w> {
  ^bb0(%x: !w):
    %r = cs.all_reduce "w" mean %x : !w
    cs.return %r : !w
  }
  // CHECK:     cs.start "v" priority 3 (
  // CHECK-NOT: priority
  // CHECK:     return
  %g = cs.start "v" priority 3 (%v) : (!w) -> !cs.future<!w> {
  ^bb0(%x: !w):
    %r = cs.all_reduce "v" mean %x : !w
    cs.return %r : !w
  }
  %0 = cs.await %f : !cs.future<!w>
  %1 = cs.await %g : !cs.future<!w>
  return %0, %1 : !w, !w
}
