// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: %cs-opt --schedule-comm=policy=priority --overlap-rpc-memcpy=staging-bytes=64 --verify-distributed %s | FileCheck %s
// RUN: %cs-opt --schedule-comm=policy=priority --overlap-rpc-memcpy=staging-bytes=64 --remarks-filter=overlap-rpc-memcpy %s -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: %cs-opt --schedule-comm=policy=priority --overlap-rpc-memcpy %s | FileCheck %s --check-prefix=FREE
// RUN: not cs-opt --schedule-comm=policy=priority --overlap-rpc-memcpy=staging-bytes=63 %s 2>&1 | FileCheck %s --check-prefix=SMALL
// RUN: not cs-opt --schedule-comm=policy=priority --overlap-rpc-memcpy=staging-bytes=-1 %s 2>&1 | FileCheck %s --check-prefix=NEGATIVE
// RUN: not cs-opt --schedule-comm=policy=priority --overlap-rpc-memcpy=mode=later %s 2>&1 | FileCheck %s --check-prefix=MODE

// SMALL: error: {{.*}}"b" needs 64 bytes of staging memory, more than staging-bytes, 63
// NEGATIVE: staging-bytes must not be negative, got: -1
// MODE: mode must be none, overlap, in-line or auto, got: later

// 64 bytes hold the buffers of a and c, or that of b. That of b must wait until
// a is back, c until b is, d is beside c.

cs.cluster @node nodes = 2 devices = 1 device = <kind = cuda, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>

!s = !cs.placed<tensor<8xf32>, device 0>
!l = !cs.placed<tensor<16xf32>, device 0>

// REMARK: "b.to_host" waits for "a.to_device" to free its staging memory
// REMARK: "c.to_host" waits for "b.to_device" to free its staging memory
// REMARK: "d.to_host" waits for "b.to_device" to free its staging memory
// REMARK: 4 communications staged through 160 bytes of host memory; 0 copies between devices started; at most 64 bytes in use at once

// CHECK: %[[A:.*]] = cs.start "a" (
// CHECK: %[[AA:.*]] = cs.await %[[A]]
// CHECK-NEXT: %[[AD:.*]] = cs.start "a.to_device" (%[[AA]])
// CHECK: cs.start "b.to_host" priority {{[0-9]+}} (%{{.*}}) after (%[[AD]] :
// CHECK: %[[B:.*]] = cs.start "b"
// CHECK: %[[BA:.*]] = cs.await %[[B]]
// CHECK-NEXT: %[[BD:.*]] = cs.start "b.to_device" priority {{[0-9]+}} (%[[BA]])
// CHECK: cs.start "c.to_host" priority {{[0-9]+}} (%{{.*}}) after (%[[BD]] :
// CHECK: cs.start "d.to_host" priority {{[0-9]+}} (%{{.*}}) after (%[[BD]] :
// CHECK-NOT: after
// CHECK: cs.await %[[AD]]
// CHECK-NEXT: cs.fragment "update.a"
// CHECK: cs.await %[[BD]]
// CHECK-NEXT: cs.fragment "update.b"

// FREE-NOT: after
// FREE: return
func.func @step(%a: !s {cs.param = "a"}, %b: !l {cs.param = "b"}, %c: !s {cs.param = "c"}, %d: !s {cs.param = "d"}, %x: !s {cs.batch = "x"})
    -> (!s {cs.updates = "a"}, !l {cs.updates = "b"}, !s {cs.updates = "c"}, !s {cs.updates = "d"}) attributes {cs.step} {
  %ga = cs.fragment "f.a" on 0 (%a, %x) cost <flops = 1, bytes = 1, ns = 0> : (!s, !s) -> !s
  %ra = cs.all_reduce "a" mean %ga : !s
  %gb = cs.fragment "f.b" on 0 (%b, %x) cost <flops = 1, bytes = 1, ns = 0> : (!l, !s) -> !l
  %rb = cs.all_reduce "b" mean %gb : !l
  %gc, %gd = cs.fragment "f.c" on 0 (%c, %d, %x) cost <flops = 1, bytes = 1, ns = 0> : (!s, !s, !s) -> (!s, !s)
  %rc = cs.all_reduce "c" mean %gc : !s
  %rd = cs.all_reduce "d" mean %gd : !s
  %a1 = cs.fragment "update.a" on 0 (%a, %ra) deferred cost <flops = 1, bytes = 1, ns = 0> : (!s, !s) -> !s
  %b1 = cs.fragment "update.b" on 0 (%b, %rb) deferred cost <flops = 1, bytes = 1, ns = 0> : (!l, !l) -> !l
  %c1 = cs.fragment "update.c" on 0 (%c, %rc) deferred cost <flops = 1, bytes = 1, ns = 0> : (!s, !s) -> !s
  %d1 = cs.fragment "update.d" on 0 (%d, %rd) deferred cost <flops = 1, bytes = 1, ns = 0> : (!s, !s) -> !s
  return %a1, %b1, %c1, %d1 : !s, !l, !s, !s
}
