// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Messages to and from parameter servers.

// RUN: %cs-opt --schedule-comm=policy=priority %s | FileCheck %s
// RUN: %cs-opt --schedule-comm=policy=priority --remarks-filter=schedule-comm %s -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: %cs-opt --schedule-comm=policy=priority --expand-collectives --verify-distributed %s | FileCheck %s

cs.cluster @lab nodes = 2 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>

!t = !cs.placed<tensor<4xf32>, device 0>
!h = !cs.placed<tensor<2xf32>, device 0>
#self = affine_map<(d0) -> (0)>

// A send and the recv of what becomes of it have the priority of the value that
// comes back; "a" is read first in the next step.
// REMARK: "b": priority 1: first needed by "forward.1" of the next step, through "b"
// REMARK: "a.block0": priority 0: first needed by "forward.0" of the next step, through "a"
// REMARK: "a.block1": priority 0: first needed by "forward.0" of the next step, through "a"
// REMARK: "b.new": priority 1: first needed by "forward.1" of the next step, through "b"
// REMARK: "a.block0.new": priority 0: first needed by "forward.0" of the next step, through "a"
// REMARK: "a.block1.new": priority 0: first needed by "forward.0" of the next step, through "a"
// REMARK: "metric.l": priority 2: no compute waits for it

// CHECK-LABEL: func.func @step(
func.func @step(%a: !t {cs.param = "a"}, %b: !t {cs.param = "b"}, %x: !t {cs.batch = "x"})
    -> (!t {cs.updates = "a"}, !t {cs.updates = "b"}, !t {cs.metric = "l"})
    attributes {cs.step, cs.servers = #cs.servers<count = 2, sync_mode = sync, merge = 1>} {
  // CHECK: cs.fragment "forward.0"
  // CHECK-NEXT: %[[F:.*]]:2 = cs.fragment "forward.1"
  // The memory of what is sent comes back as the future's value.
  // CHECK-NEXT: %[[B:.*]] = cs.start "b" priority 1 (%[[F]]#1) : (!cs.placed<tensor<4xf32>, device 0>) -> !cs.future<!cs.placed<tensor<4xf32>, device 0>> {
  // CHECK-NEXT: ^bb0(%[[IN:.*]]: !cs.placed<tensor<4xf32>, device 0>):
  // CHECK-NEXT: cs.send "b" %[[IN]] to #map of @server.1
  // CHECK-NEXT: cs.return %[[IN]]
  // CHECK-NEXT: }
  // CHECK-NEXT: %[[G:.*]] = cs.fragment "backward.0"
  // CHECK-NEXT: %[[S:.*]]:2 = cs.split %[[G]]
  // CHECK-NEXT: %[[A0:.*]] = cs.start "a.block0" (%[[S]]#0)
  // CHECK: %[[A1:.*]] = cs.start "a.block1" (%[[S]]#1)
  // Nothing goes in; the sends that a server's value depends on come before.
  // CHECK: %[[BN:.*]] = cs.start "b.new" priority 1 () after (%[[B]] : !cs.future<!cs.placed<tensor<4xf32>, device 0>>) : () -> !cs.future<!cs.placed<tensor<4xf32>, device 0>> {
  // CHECK-NEXT: %[[R:.*]] = cs.recv "b.new" from #map of @server.1
  // CHECK-NEXT: cs.return %[[R]]
  // CHECK-NEXT: }
  // CHECK-NEXT: %[[A0N:.*]] = cs.start "a.block0.new" () after (%[[A0]] :
  // CHECK: %[[A1N:.*]] = cs.start "a.block1.new" () after (%[[A1]] :
  // CHECK: %[[L:.*]] = cs.start "metric.l" priority 2
  // CHECK: cs.fragment "tail"
  // Only the next step needs them, so that no compute of this one waits; joined
  // at the end, though the module says it before "tail".
  // CHECK-NEXT: %[[A0V:.*]] = cs.await %[[A0N]]
  // CHECK-NEXT: %[[A1V:.*]] = cs.await %[[A1N]]
  // CHECK-NEXT: %[[AV:.*]] = cs.concat %[[A0V]], %[[A1V]]
  // CHECK-NEXT: cs.await %[[B]]
  // CHECK-NEXT: cs.await %[[A0]]
  // CHECK-NEXT: cs.await %[[A1]]
  // CHECK-NEXT: %[[BV:.*]] = cs.await %[[BN]]
  // CHECK-NEXT: %[[LV:.*]] = cs.await %[[L]]
  // CHECK-NEXT: return %[[AV]], %[[BV]], %[[LV]]
  %h = cs.fragment "forward.0" on 0 (%a, %x) cost <flops = 1, bytes = 1, ns = 0> : (!t, !t) -> !t
  %l, %gb = cs.fragment "forward.1" on 0 (%b, %h) cost <flops = 1, bytes = 1, ns = 0> : (!t, !t) -> (!t, !t)
  cs.send "b" %gb to #self of @server.1 : !t
  %ga = cs.fragment "backward.0" on 0 (%h, %a) cost <flops = 1, bytes = 1, ns = 0> : (!t, !t) -> !t
  %g0, %g1 = cs.split %ga : !t -> !h, !h
  cs.send "a.block0" %g0 to #self of @server.0 : !h
  cs.send "a.block1" %g1 to #self of @server.1 : !h
  %bn = cs.recv "b.new" from #self of @server.1 : !t
  %a0 = cs.recv "a.block0.new" from #self of @server.0 : !h
  %a1 = cs.recv "a.block1.new" from #self of @server.1 : !h
  %an = cs.concat %a0, %a1 : !h, !h
  %rl = cs.reduce "metric.l" mean %l to 0 : !t
  cs.fragment "tail" on 0 (%h) cost <flops = 1, bytes = 1, ns = 0> : (!t) -> ()
  return %an, %bn, %rl : !t, !t, !t
}

// Servers are not scheduled.
// CHECK-LABEL: func.func @server.0(
// CHECK: cs.collect "a.block0" by mean from @step
// CHECK-NEXT: cs.fragment "update.a.block0"
// CHECK-NEXT: cs.publish "a.block0.new"
func.func @server.0(%w: !h {cs.param = "a", cs.rows = array<i64: 0, 2>})
    -> (!h {cs.updates = "a", cs.rows = array<i64: 0, 2>}) attributes {cs.server = 0 : i64} {
  %g = cs.collect "a.block0" by mean from @step : !h
  %n = cs.fragment "update.a.block0" on 0 (%g, %w) cost <flops = 1, bytes = 1, ns = 0> : (!h, !h) -> !h
  cs.publish "a.block0.new" %n to @step : !h
  return %n : !h
}

func.func @server.1(%w: !h {cs.param = "a", cs.rows = array<i64: 2, 4>}, %b: !t {cs.param = "b"})
    -> (!h {cs.updates = "a", cs.rows = array<i64: 2, 4>}, !t {cs.updates = "b"}) attributes {cs.server = 1 : i64} {
  %g = cs.collect "a.block1" by mean from @step : !h
  %n = cs.fragment "update.a.block1" on 0 (%g, %w) cost <flops = 1, bytes = 1, ns = 0> : (!h, !h) -> !h
  cs.publish "a.block1.new" %n to @step : !h
  %h = cs.collect "b" by mean from @step : !t
  %m = cs.fragment "update.b" on 0 (%h, %b) cost <flops = 1, bytes = 1, ns = 0> : (!t, !t) -> !t
  cs.publish "b.new" %m to @step : !t
  return %n, %m : !h, !t
}
