// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: cs-opt --schedule-comm --verify-distributed --split-input-file --verify-diagnostics %s | FileCheck %s

cs.cluster @c nodes = 2 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>

!ids = !cs.placed<tensor<4xi32>, device 0>
!rows = !cs.placed<tensor<4x2xf32>, device 0>
!w = !cs.placed<tensor<8x2xf32>, device 0>
!b = !cs.placed<tensor<2xf32>, device 0>

// The fetch is most urgent. What is sent goes by turns: the bias is there before, and rows begin when
// those of this step are there.
// CHECK-LABEL: func.func @step
// CHECK: %[[F:.*]] = cs.start "w" (%[[IDS:.*]]) : (!cs.placed<tensor<4xi32>, device 0>) -> !cs.future<!cs.placed<tensor<4x2xf32>, device 0>> {
// CHECK-NEXT: ^bb0(%[[I:.*]]: !cs.placed<tensor<4xi32>, device 0>):
// CHECK-NEXT: %[[R:.*]] = cs.fetch_rows "w" %[[I]] from [@server.0] rows [0, 8]
// CHECK-NEXT: cs.return %[[R]]
// CHECK: %[[E:.*]] = cs.await %[[F]]
// CHECK: %[[C:.*]] = cs.fragment "compute.0" on 0 (%[[E]])
// CHECK: %[[S:.*]] = cs.start "w" priority 2 (%[[IDS]], %[[C]]) after (%[[F]] : !cs.future<{{.*}}>) : ({{.*}}) -> !cs.future<!cs.placed<tensor<4x2xf32>, device 0>> {
// CHECK-NEXT: ^bb0(%[[J:.*]]: !cs.placed<tensor<4xi32>, device 0>, %[[V:.*]]: !cs.placed<tensor<4x2xf32>, device 0>):
// CHECK-NEXT: cs.send_rows "w" %[[J]], %[[V]] to [@server.0] rows [0, 8]
// CHECK-NEXT: cs.return %[[V]]
// CHECK: cs.fragment "compute.1"
// CHECK: cs.start "b" priority 1
// CHECK: cs.await %[[S]]
func.func @step(%b: !b {cs.param = "b"}, %ids: !ids {cs.batch = "ids"}) -> (!b {cs.updates = "b"})
    attributes {cs.step, cs.servers = #cs.servers<count = 1, sync_mode = sync, merge = 1>} {
  %e = cs.fetch_rows "w" %ids from [@server.0] rows [0, 8] : (!ids) -> !rows
  %c = cs.fragment "compute.0" on 0 (%e) : (!rows) -> !rows {
  ^bb0(%r: tensor<4x2xf32>):
    cs.return %r : tensor<4x2xf32>
  }
  cs.send_rows "w" %ids, %c to [@server.0] rows [0, 8] : !ids, !rows
  %d = cs.fragment "compute.1" on 0 (%b) : (!b) -> !b {
  ^bb0(%r: tensor<2xf32>):
    cs.return %r : tensor<2xf32>
  }
  cs.send "b" %d to affine_map<(d0) -> (0)> of @server.0 : !b
  %n = cs.recv "b.new" from affine_map<(d0) -> (0)> of @server.0 : !b
  return %n : !b
}

// CHECK-LABEL: func.func @server.0
// CHECK-NOT: cs.start
func.func @server.0(%w: !w {cs.param = "w"}, %b: !b {cs.param = "b"}) -> (!w {cs.updates = "w"}, !b {cs.updates = "b"})
    attributes {cs.server = 0 : i64} {
  %n = cs.update_rows "w" by mean from @step rows (%w) chunk 8 : (!w) {
  ^bb0(%g: tensor<8x2xf32>, %r: tensor<8x2xf32>):
    cs.return %g : tensor<8x2xf32>
  }
  cs.publish "w.new" %n to @step : !w
  %g = cs.collect "b" by mean from @step : !b
  cs.publish "b.new" %g to @step : !b
  return %n, %g : !w, !b
}

// -----

func.func @step(%ids: !cs.placed<tensor<4xi32>, device 0> {cs.batch = "ids"}, %v: !cs.placed<tensor<4x2xf32>, device 0> {cs.batch = "v"}) {
  // expected-error@+1 {{'cs.send_rows' op must come after the cs.fetch_rows of "w"}}
  cs.send_rows "w" %ids, %v to [@server.0] rows [0, 8] : !cs.placed<tensor<4xi32>, device 0>, !cs.placed<tensor<4x2xf32>, device 0>
  // expected-note@+1 {{which is here}}
  %e = cs.fetch_rows "w" %ids from [@server.0] rows [0, 8] : (!cs.placed<tensor<4xi32>, device 0>) -> !cs.placed<tensor<4x2xf32>, device 0>
  return
}
