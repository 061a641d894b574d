// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: cs-opt --verify-roundtrip %s | FileCheck %s
// RUN: cs-opt --emit-bytecode %s | cs-opt | FileCheck %s
// RUN: cs-opt --mlir-print-op-generic %s | cs-opt | FileCheck %s
// RUN: cs-opt --canonicalize %s | FileCheck %s --check-prefix=FOLDED

// CHECK: cs.cluster @lab
// CHECK-SAME: intra = <mbit_per_s = 80000, latency_ns = 5000>
// CHECK-SAME: inter = <mbit_per_s = 1000, latency_ns = 50000, overhead_ns = 7000> slowdown_percent = 12
cs.cluster @lab nodes = 4 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000>
    inter = <mbit_per_s = 1000, latency_ns = 50000, overhead_ns = 7000> slowdown_percent = 12

!a = !cs.placed<tensor<4x5xf32>, device 0>
!b = !cs.placed<tensor<f32>, device 0>
!m = !cs.placed<tensor<13xf32>, device 0>
!t = !cs.placed<tensor<8xf32>, device 0>
// CHECK-LABEL: func.func @f
// CHECK-SAME: cs.schedule = #cs.schedule<policy = "solver", period_ns = 123, bound_ns = 120, any_order_bound_ns = 100, credit = 4096>
func.func @f(%a: !a, %b: !b) -> (!a, !b)
    attributes {cs.step, cs.schedule = #cs.schedule<policy = "solver", period_ns = 123, bound_ns = 120, any_order_bound_ns = 100, credit = 4096>} {
  // CHECK: cs.pack %arg0[0, 12], %arg1[0, 1] : !cs.placed<tensor<4x5xf32>, device 0>, !cs.placed<tensor<f32>, device 0> -> !cs.placed<tensor<13xf32>, device 0>
  // CHECK: cs.pack %arg0[12, 20] : !cs.placed<tensor<4x5xf32>, device 0> -> !cs.placed<tensor<8xf32>, device 0>
  %m = cs.pack %a[0, 12], %b[0, 1] : !a, !b -> !m
  %t = cs.pack %a[12, 20] : !a -> !t
  // CHECK: cs.start "m" priority 2 gather_priority 7 (
  %f = cs.start "m" priority 2 gather_priority 7 (%m) : (!m) -> !cs.future<!m> {
  ^bb0(%x: !m):
    %r = cs.all_reduce "m" mean %x : !m
    cs.return %r : !m
  }
  // CHECK: cs.start "t" gather_priority 0 (
  %g = cs.start "t" gather_priority 0 (%t) : (!t) -> !cs.future<!t> {
  ^bb0(%x: !t):
    // CHECK: cs.exchange %{{.*}} chunks 2 rounds 1 sum scale 5.000000e-01 priority -3 send
    %r = cs.exchange %x chunks 2 rounds 1 sum scale 5.0e-01 priority -3
        send <parts affine_map<(r, s) -> (r, 1)> to affine_map<(r, s) -> (1 - r)>>
        recv <parts affine_map<(r, s) -> (1 - r, 1)> to affine_map<(r, s) -> (1 - r)>>
        : !t
    cs.return %r : !t
  }
  %m1 = cs.await %f : !cs.future<!m>
  %t1 = cs.await %g : !cs.future<!t>
  // CHECK: cs.unpack %{{.*}}[0, 12], %{{.*}}[0, 8] : !cs.placed<tensor<13xf32>, device 0>, !cs.placed<tensor<8xf32>, device 0> -> !cs.placed<tensor<4x5xf32>, device 0>
  %a1 = cs.unpack %m1[0, 12], %t1[0, 8] : !m, !t -> !a
  %b1 = cs.unpack %m1[12, 13] : !m -> !b
  return %a1, %b1 : !a, !b
}

// What is all of one tensor, in its shape, is that tensor.
// FOLDED-LABEL: func.func @whole(%arg0
// FOLDED-NEXT: return %arg0
func.func @whole(%t: !t) -> !t {
  %m = cs.pack %t[0, 8] : !t -> !t
  %r = cs.unpack %m[0, 8] : !t -> !t
  return %r : !t
}
