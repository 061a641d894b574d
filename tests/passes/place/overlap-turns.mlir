// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: %cs-opt --schedule-comm="policy=bytescheduler turns=true" %s | FileCheck %s --check-prefix=TURNS
// RUN: %cs-opt --schedule-comm=policy=bytescheduler %s | FileCheck %s --check-prefix=NONE
// RUN: %cs-opt --schedule-comm="policy=bytescheduler turns=true" --expand-collectives --overlap-rpc-memcpy=staging-bytes=1048576 --verify-distributed %s | FileCheck %s
// RUN: %cs-opt --schedule-comm=policy=bytescheduler --expand-collectives --overlap-rpc-memcpy=staging-bytes=1048576 --verify-distributed %s | FileCheck %s --check-prefix=PROGRAM

// "a" takes 8 ms on its link, and "b", which comes 0.8 ms after it, as long. Then "c" is
// there, which the next step needs first, and then "d", which it needs before "a" and "b": both
// overtake "b" in turns, as it has not begun.

cs.cluster @node nodes = 2 devices = 1 device = <kind = cuda, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>

!t = !cs.placed<tensor<262144xf32>, device 0>
!s = !cs.placed<tensor<8xf32>, device 0>

// NONE-NOT: cs.turn
// TURNS: cs.start "a" {{.*}} attributes {cs.turn = 0 : i64}
// TURNS: cs.start "b" {{.*}} attributes {cs.turn = 3 : i64}
// TURNS: cs.start "c" {{.*}} attributes {cs.turn = 1 : i64}
// TURNS: cs.start "d" {{.*}} attributes {cs.turn = 2 : i64}

// The bytes of one at a time: in the order of the turns.
// CHECK-NOT: cs.turn
// CHECK: %[[A:.*]] = cs.start "a.to_device"
// CHECK: cs.start "c.to_host" {{.*}} after (%[[A]] :
// CHECK: %[[C:.*]] = cs.start "c.to_device"
// CHECK: cs.start "d.to_host" {{.*}} after (%[[C]] :
// CHECK: %[[D:.*]] = cs.start "d.to_device"
// CHECK: cs.start "b.to_host" {{.*}} after (%[[D]] :

// PROGRAM: cs.start "b.to_host"
// PROGRAM: cs.start "c.to_host"
// PROGRAM: cs.start "d.to_host"
func.func @step(%a: !t {cs.param = "a"}, %b: !t {cs.param = "b"}, %c: !t {cs.param = "c"}, %d: !t {cs.param = "d"}, %x: !s {cs.batch = "x"})
    -> (!t {cs.updates = "a"}, !t {cs.updates = "b"}, !t {cs.updates = "c"}, !t {cs.updates = "d"}) attributes {cs.step} {
  %fc = cs.fragment "forward.c" on 0 (%c, %x) cost <flops = 1, bytes = 1, ns = 1600000> : (!t, !s) -> !s
  %fd = cs.fragment "forward.d" on 0 (%d, %fc) cost <flops = 1, bytes = 1, ns = 1600000> : (!t, !s) -> !s
  %fa = cs.fragment "forward.a" on 0 (%a, %fd) cost <flops = 1, bytes = 1, ns = 1600000> : (!t, !s) -> !s
  %fb = cs.fragment "forward.b" on 0 (%b, %fa) cost <flops = 1, bytes = 1, ns = 16000000> : (!t, !s) -> !s
  %ga = cs.fragment "back.a" on 0 (%fb) cost <flops = 1, bytes = 1, ns = 800000> : (!s) -> !t
  %ra = cs.all_reduce "a" mean %ga : !t
  %gb = cs.fragment "back.b" on 0 (%fb) cost <flops = 1, bytes = 1, ns = 800000> : (!s) -> !t
  %rb = cs.all_reduce "b" mean %gb : !t
  %gc = cs.fragment "back.c" on 0 (%fb) cost <flops = 1, bytes = 1, ns = 800000> : (!s) -> !t
  %rc = cs.all_reduce "c" mean %gc : !t
  %gd = cs.fragment "back.d" on 0 (%fb) cost <flops = 1, bytes = 1, ns = 800000> : (!s) -> !t
  %rd = cs.all_reduce "d" mean %gd : !t
  %a1 = cs.fragment "update.a" on 0 (%a, %ra) deferred cost <flops = 1, bytes = 1, ns = 0> : (!t, !t) -> !t
  %b1 = cs.fragment "update.b" on 0 (%b, %rb) deferred cost <flops = 1, bytes = 1, ns = 0> : (!t, !t) -> !t
  %c1 = cs.fragment "update.c" on 0 (%c, %rc) deferred cost <flops = 1, bytes = 1, ns = 0> : (!t, !t) -> !t
  %d1 = cs.fragment "update.d" on 0 (%d, %rd) deferred cost <flops = 1, bytes = 1, ns = 0> : (!t, !t) -> !t
  return %a1, %b1, %c1, %d1 : !t, !t, !t, !t
}
