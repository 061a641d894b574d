// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What a server runs when several messages are there, and what it only combines.
// RUN: cs-opt --schedule-comm=fuse-blocks=false --expand-collectives --verify-distributed %s -o %t.mlir
// RUN: cs-translate --mlir-to-plan --plan-summary %t.mlir -o %t.plan 2>&1 | FileCheck %s --check-prefix=SUMMARY
// RUN: cs-translate --plan-to-text %t.plan | FileCheck %s
// RUN: cs-opt --schedule-comm --expand-collectives --verify-distributed %s -o %t.fused.mlir
// RUN: cs-translate --mlir-to-plan --plan-summary %t.fused.mlir -o %t.fused.plan 2>&1 | FileCheck %s --check-prefix=FUSED

// SUMMARY: server.0 block metric.e: 4 bytes, handed back as they are combined
// SUMMARY: server.0 block d: 16 bytes of d, rows 0 to 3
// FUSED: server.0 block c+1: 32 bytes of c, rows 0 to 3; of d, rows 0 to 3
// FUSED: server.0 block b: 16 bytes of b, rows 0 to 3

cs.cluster @lab nodes = 2 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
!t = !cs.placed<tensor<4xf32>, device 0>
!s = !cs.placed<tensor<f32>, device 0>
#self = affine_map<(d0) -> (0)>

func.func @step(%a: !t {cs.param = "a"}, %b: !t {cs.param = "b"}, %c: !t {cs.param = "c"}, %d: !t {cs.param = "d"})
    -> (!t {cs.updates = "a"}, !t {cs.updates = "b"}, !t {cs.updates = "c"}, !t {cs.updates = "d"}, !s {cs.metric = "e"})
    attributes {cs.step, cs.servers = #cs.servers<count = 1, sync_mode = sync, merge = 1>} {
  %g, %e = cs.fragment "compute" on 0 (%a, %b, %c, %d) cost <flops = 1, bytes = 1, ns = 0> : (!t, !t, !t, !t) -> (!t, !s)
  cs.send "metric.e" %e to #self of @server.0 : !s
  cs.send "a" %g to #self of @server.0 : !t
  cs.send "b" %g to #self of @server.0 : !t
  cs.send "c" %g to #self of @server.0 : !t
  cs.send "d" %g to #self of @server.0 : !t
  %an = cs.recv "a.new" from #self of @server.0 : !t
  %bn = cs.recv "b.new" from #self of @server.0 : !t
  %cn = cs.recv "c.new" from #self of @server.0 : !t
  %dn = cs.recv "d.new" from #self of @server.0 : !t
  %en = cs.recv "metric.e.mean" from #self of @server.0 : !s
  return %an, %bn, %cn, %dn, %en : !t, !t, !t, !t, !s
}

// The norm joins "a" and "b"; "c" reads what "b" has, and so belongs to them; "d"
// is by itself; the schedule reads what "d" updates, before the update.
func.func @server.0(%a: !t {cs.param = "a"}, %b: !t {cs.param = "b"}, %c: !t {cs.param = "c"}, %d: !t {cs.param = "d"})
    -> (!t {cs.updates = "a"}, !t {cs.updates = "b"}, !t {cs.updates = "c"}, !t {cs.updates = "d"}) attributes {cs.server = 0 : i64} {
  %rate = cs.fragment "schedule" on 0 (%d) cost <flops = 1, bytes = 1, ns = 0> : (!t) -> !s
  %m = cs.collect "metric.e" by mean from @step : !s
  cs.publish "metric.e.mean" %m to @step : !s
  %ga = cs.collect "a" by sum from @step : !t
  %gd = cs.collect "d" by sum from @step : !t
  %gb = cs.collect "b" by sum from @step : !t
  %norm = cs.fragment "norm" on 0 (%ga, %gb) cost <flops = 1, bytes = 1, ns = 0> : (!t, !t) -> !s
  %an = cs.fragment "update.a" on 0 (%a, %ga, %norm, %rate) cost <flops = 1, bytes = 1, ns = 0> : (!t, !t, !s, !s) -> !t
  %bn = cs.fragment "update.b" on 0 (%b, %gb, %norm, %rate) cost <flops = 1, bytes = 1, ns = 0> : (!t, !t, !s, !s) -> !t
  cs.publish "a.new" %an to @step : !t
  cs.publish "b.new" %bn to @step : !t
  %gc = cs.collect "c" by sum from @step : !t
  %cn = cs.fragment "update.c" on 0 (%b, %gc) cost <flops = 1, bytes = 1, ns = 0> : (!t, !t) -> !t
  cs.publish "c.new" %cn to @step : !t
  %dn = cs.fragment "update.d" on 0 (%d, %gd) cost <flops = 1, bytes = 1, ns = 0> : (!t, !t) -> !t
  cs.publish "d.new" %dn to @step : !t
  return %an, %bn, %cn, %dn : !t, !t, !t, !t
}

// What one block needs is a function of the batches of all.
// CHECK: name: "server.0/d"
// CHECK: name: "server.0/#metric.e.mean"
// CHECK: internal: true
// CHECK: name: "server.0/schedule"
// CHECK: kind: SLOT_CURRENT
// CHECK: name: "server.0/metric.e"
// CHECK: batch: "metric.e"
// CHECK: copy {
// CHECK: name: "server.0/a"
// CHECK-NOT: name: "server.0/d"
// CHECK: batch: "a"
// CHECK: batch: "b"
// CHECK: batch: "c"
// CHECK: name: "server.0/d"
// CHECK: batch: "d"
// CHECK: parameter_servers {
// CHECK: blocks {
// CHECK: key: "metric.e"
// CHECK-NEXT: pull_key: "metric.e.mean"
// CHECK-NEXT: function: 2
// CHECK: mean: true
// CHECK: blocks {
// CHECK-NEXT: key: "a"
// CHECK-NEXT: pull_key: "a.new"
// CHECK-NEXT: function: 3
// CHECK: key: "d"
// CHECK: function: 4
// CHECK: key: "b"
// CHECK: function: 3
// CHECK: key: "c"
// CHECK-NEXT: pull_key: "c.new"
// CHECK-NEXT: function: 3
