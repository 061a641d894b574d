// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: cs-opt --verify-distributed %s
// RUN: cs-opt --verify-distributed --remarks-filter=verify-distributed %s 2>&1 | FileCheck %s
// CHECK: 2 messages with 2 parameter servers; no circular wait

cs.cluster @c nodes = 2 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>

func.func @step(%ids: !cs.placed<tensor<4xi32>, device 0> {cs.batch = "ids"}, %v: !cs.placed<tensor<4x2xf32>, device 0> {cs.batch = "v"})
    attributes {cs.step, cs.servers = #cs.servers<count = 2, sync_mode = sync, merge = 1>} {
  %e = cs.fetch_rows "w" %ids from [@server.0, @server.1] rows [0, 5, 8] : (!cs.placed<tensor<4xi32>, device 0>) -> !cs.placed<tensor<4x2xf32>, device 0>
  cs.send_rows "w" %ids, %v to [@server.0, @server.1] rows [0, 5, 8] : !cs.placed<tensor<4xi32>, device 0>, !cs.placed<tensor<4x2xf32>, device 0>
  return
}

func.func @server.0(%w: !cs.placed<tensor<5x2xf32>, device 0> {cs.param = "w", cs.rows = array<i64: 0, 5>}) -> (!cs.placed<tensor<5x2xf32>, device 0> {cs.updates = "w", cs.rows = array<i64: 0, 5>})
    attributes {cs.server = 0 : i64} {
  %n = cs.update_rows "w.block0" by mean from @step rows (%w) chunk 5 : (!cs.placed<tensor<5x2xf32>, device 0>) {
  ^bb0(%g: tensor<5x2xf32>, %r: tensor<5x2xf32>):
    cs.return %g : tensor<5x2xf32>
  }
  cs.publish "w.block0.new" %n to @step : !cs.placed<tensor<5x2xf32>, device 0>
  return %n : !cs.placed<tensor<5x2xf32>, device 0>
}

func.func @server.1(%w: !cs.placed<tensor<3x2xf32>, device 0> {cs.param = "w", cs.rows = array<i64: 5, 8>}) -> (!cs.placed<tensor<3x2xf32>, device 0> {cs.updates = "w", cs.rows = array<i64: 5, 8>})
    attributes {cs.server = 1 : i64} {
  %n = cs.update_rows "w.block1" by mean from @step rows (%w) chunk 3 : (!cs.placed<tensor<3x2xf32>, device 0>) {
  ^bb0(%g: tensor<3x2xf32>, %r: tensor<3x2xf32>):
    cs.return %g : tensor<3x2xf32>
  }
  cs.publish "w.block1.new" %n to @step : !cs.placed<tensor<3x2xf32>, device 0>
  return %n : !cs.placed<tensor<3x2xf32>, device 0>
}
