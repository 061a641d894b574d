// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: %cs-opt --schedule-comm --overlap-rpc-memcpy --verify-distributed %s | FileCheck %s
// RUN: %cs-opt --schedule-comm --overlap-rpc-memcpy=mode=in-line --verify-distributed %s | FileCheck %s --check-prefix=INLINE
// RUN: cs-opt --schedule-comm --overlap-rpc-memcpy --verify-distributed --remarks-filter=overlap-rpc-memcpy %s -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK
// Again changes nothing, in either mode.
// RUN: cs-opt --schedule-comm --overlap-rpc-memcpy=staging-bytes=64 %s -o %t1
// RUN: cs-opt --overlap-rpc-memcpy=staging-bytes=64 %t1 -o %t2
// RUN: cmp %t1 %t2
// RUN: cs-opt --schedule-comm --overlap-rpc-memcpy=mode=in-line %s -o %t3
// RUN: cs-opt --overlap-rpc-memcpy=mode=in-line %t3 -o %t4
// RUN: cmp %t3 %t4
// But not for what it can do no more: a bound that the first had not, or a smaller one, and other copies.
// RUN: cs-opt --schedule-comm --overlap-rpc-memcpy %s -o %t5
// RUN: cs-opt --overlap-rpc-memcpy %t5 -o %t6
// RUN: cmp %t5 %t6
// RUN: not cs-opt --overlap-rpc-memcpy=staging-bytes=64 %t5 2>&1 | FileCheck %s --check-prefix=UNBOUND
// RUN: not cs-opt --overlap-rpc-memcpy=staging-bytes=15 %t1 2>&1 | FileCheck %s --check-prefix=SMALLER
// RUN: cs-opt --overlap-rpc-memcpy=staging-bytes=16 %t1 -o %t2
// RUN: cmp %t1 %t2
// RUN: not cs-opt --overlap-rpc-memcpy=mode=in-line %t1 2>&1 | FileCheck %s --check-prefix=OVERLAPS
// RUN: not cs-opt --overlap-rpc-memcpy %t3 2>&1 | FileCheck %s --check-prefix=STANDS
// UNBOUND: error: 'cs.start' op is staged already, without a bound: give staging-bytes to the first --overlap-rpc-memcpy
// SMALLER: error: 'cs.start' op is staged already, in bytes up to 16, beyond staging-bytes, 15: give it to the first --overlap-rpc-memcpy
// OVERLAPS: error: 'cs.start' op is staged already, by copies that overlap: give mode to the first --overlap-rpc-memcpy
// STANDS: error: 'cs.start' op is staged already, by copies in line: give mode to the first --overlap-rpc-memcpy
// Before or behind the expansion of collectives.
// RUN: cs-opt --schedule-comm --overlap-rpc-memcpy --expand-collectives --verify-distributed %s | FileCheck %s --check-prefix=EXPANDED
// RUN: cs-opt --schedule-comm --expand-collectives --overlap-rpc-memcpy --verify-distributed %s | FileCheck %s --check-prefix=EXPANDED

cs.cluster @node nodes = 2 devices = 2 device = <kind = cuda, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>

!a = !cs.placed<tensor<4xf32>, device 0>
!b = !cs.placed<tensor<4xf32>, device 1>

// REMARK: @step: 1 communications staged through 16 bytes of host memory; 2 copies between devices started

// The copy of the gradient begins when the other device has made it, that to the
// host when they are combined. The new parameter gets to device 0 as soon as it
// is there.

// CHECK-LABEL: func.func @step(
// CHECK: %[[G:.*]] = cs.fragment "f" on 0
// CHECK: %[[G1:.*]] = cs.fragment "f.device1" on 1
// CHECK-NEXT: %[[C:.*]] = cs.start "copy.f.to_device1" (%[[G]]) : (!cs.placed<tensor<4xf32>, device 0>) -> !cs.future<!cs.placed<tensor<4xf32>, device 1>> {
// CHECK-NEXT: ^bb0(%[[X:.*]]: !cs.placed<tensor<4xf32>, device 0>):
// CHECK-NEXT: %[[Y:.*]] = cs.copy %[[X]] : !cs.placed<tensor<4xf32>, device 0> -> !cs.placed<tensor<4xf32>, device 1>
// CHECK-NEXT: cs.return %[[Y]]
// CHECK: %[[CA:.*]] = cs.await %[[C]]
// CHECK-NEXT: %[[S:.*]] = cs.fragment "sum.w" on 1 (%[[CA]], %[[G1]]) deferred
// CHECK-NEXT: %[[H:.*]] = cs.start "w.to_host" (%[[S]]) : (!cs.placed<tensor<4xf32>, device 1>) -> !cs.future<!cs.placed<tensor<4xf32>, device 1 host>>
// CHECK: %[[HA:.*]] = cs.await %[[H]]
// CHECK-NEXT: %[[R:.*]] = cs.start "w" (%[[HA]]) : (!cs.placed<tensor<4xf32>, device 1 host>) -> !cs.future<!cs.placed<tensor<4xf32>, device 1 host>>
// CHECK: cs.all_reduce "w" mean %{{.*}} : !cs.placed<tensor<4xf32>, device 1 host>
// CHECK: cs.fragment "tail" on 0
// CHECK-NEXT: %[[RA:.*]] = cs.await %[[R]]
// CHECK-NEXT: %[[D:.*]] = cs.start "w.to_device" (%[[RA]]) : (!cs.placed<tensor<4xf32>, device 1 host>) -> !cs.future<!cs.placed<tensor<4xf32>, device 1>>
// CHECK: %[[DA:.*]] = cs.await %[[D]]
// CHECK-NEXT: %[[U:.*]] = cs.fragment "update.w" on 1 (%{{.*}}, %[[DA]]) deferred
// CHECK-NEXT: %[[B:.*]] = cs.start "copy.update.w.to_device0" (%[[U]])
// CHECK: %[[BA:.*]] = cs.await %[[B]]
// CHECK-NEXT: return %[[BA]], %[[U]]

// INLINE-LABEL: func.func @step(
// INLINE: %[[G1:.*]] = cs.fragment "f.device1" on 1
// INLINE-NEXT: %[[C:.*]] = cs.copy %{{.*}} : !cs.placed<tensor<4xf32>, device 0> -> !cs.placed<tensor<4xf32>, device 1>
// INLINE-NEXT: %[[S:.*]] = cs.fragment "sum.w" on 1 (%[[C]], %[[G1]]) deferred
// INLINE-NEXT: %[[H:.*]] = cs.copy %[[S]] : !cs.placed<tensor<4xf32>, device 1> -> !cs.placed<tensor<4xf32>, device 1 host>
// INLINE-NEXT: %[[R:.*]] = cs.start "w" (%[[H]])
// INLINE: %[[RA:.*]] = cs.await %[[R]]
// INLINE-NEXT: %[[D:.*]] = cs.copy %[[RA]] : !cs.placed<tensor<4xf32>, device 1 host> -> !cs.placed<tensor<4xf32>, device 1>
// INLINE-NEXT: cs.fragment "update.w" on 1 (%{{.*}}, %[[D]])

// EXPANDED: cs.start "w.to_host"
// EXPANDED: cs.start "w" (%{{.*}}) : (!cs.placed<tensor<4xf32>, device 1 host>)
// EXPANDED: cs.exchange {{.*}} : !cs.placed<tensor<4xf32>, device 1 host>
// EXPANDED: cs.start "w.to_device"
func.func @step(%w0: !a {cs.param = "w"}, %w1: !b {cs.param = "w"}, %x0: !a {cs.batch = "x"}, %x1: !b {cs.batch = "x"})
    -> (!a {cs.updates = "w"}, !b {cs.updates = "w"}, !a {cs.metric = "t"}) attributes {cs.step} {
  %g0 = cs.fragment "f" on 0 (%w0, %x0) cost <flops = 1, bytes = 1, ns = 0> : (!a, !a) -> !a
  %g1 = cs.fragment "f.device1" on 1 (%w1, %x1) cost <flops = 1, bytes = 1, ns = 0> : (!b, !b) -> !b
  %c = cs.copy %g0 : !a -> !b
  %s = cs.fragment "sum.w" on 1 (%c, %g1) deferred cost <flops = 1, bytes = 1, ns = 0> : (!b, !b) -> !b
  %r = cs.all_reduce "w" mean %s : !b
  %t = cs.fragment "tail" on 0 (%g0) cost <flops = 1, bytes = 1, ns = 0> : (!a) -> !a
  %n1 = cs.fragment "update.w" on 1 (%w1, %r) deferred cost <flops = 1, bytes = 1, ns = 0> : (!b, !b) -> !b
  %n0 = cs.copy %n1 : !b -> !a
  return %n0, %n1, %t : !a, !b, !a
}
