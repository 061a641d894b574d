// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: %cs-opt --insert-dist-comm="mode=parameter-server servers=2" %s | FileCheck %s --check-prefixes=CHECK,TWO
// RUN: %cs-opt --insert-dist-comm="mode=parameter-server servers=1" %s | FileCheck %s --check-prefixes=CHECK,ONE
// RUN: %cs-opt --insert-dist-comm="mode=parameter-server servers=1 slice=false" %s | FileCheck %s --check-prefix=WHOLE
// RUN: %cs-opt --cs-parameter-server-pipeline=servers=2 %s -o /dev/null

// What takes long to send goes in parts, which come back one by one: of blocks that
// a server has whole, rows that are next to each other, on the same server. A message
// costs 1 ms, in which the link sends 125,000 bytes: parts are of 2,500,000 or more.

cs.cluster @lab nodes = 2 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000, overhead_ns = 1000000>

// CHECK-LABEL: func.func @step(
// TWO: cs.send "small"
// TWO: %[[B:.*]]:4 = cs.split %{{.*}} : !cs.placed<tensor<2000x1000xf32>, device 0> -> !cs.placed<tensor<500x1000xf32>, device 0>,
// TWO: cs.send "w.block0.part0" %[[B]]#0 to {{.*}} of @server.0
// TWO: cs.send "w.block0.part1" %[[B]]#1 to {{.*}} of @server.0
// TWO: cs.send "w.block1.part0" %[[B]]#2 to {{.*}} of @server.1
// TWO: cs.send "w.block1.part1" %[[B]]#3 to {{.*}} of @server.1
// TWO: %[[N:.*]] = cs.recv "w.block0.part0.new" from {{.*}} of @server.0
// TWO: cs.concat %[[N]],
// ONE: cs.split %{{.*}} : !cs.placed<tensor<2000x1000xf32>, device 0> -> !cs.placed<tensor<500x1000xf32>, device 0>,
// ONE: cs.send "w.part0"
// ONE: cs.send "w.part3"
// WHOLE: cs.send "w" %{{.*}} of @server.0 : !cs.placed<tensor<2000x1000xf32>, device 0>

// A server has the rows that it would have without; each part's update is its own.
// TWO: func.func @server.0(
// TWO-SAME: cs.param = "w", cs.rows = array<i64: 0, 500>
// TWO-SAME: cs.param = "w", cs.rows = array<i64: 500, 1000>
// TWO: cs.collect "w.block0.part0" by mean from @step : !cs.placed<tensor<500x1000xf32>, device 0>
// TWO: cs.fragment "update.w.block0.part0"
// TWO: cs.publish "w.block0.part0.new"
// TWO: cs.collect "w.block0.part1"
// TWO: func.func @server.1(
// TWO-SAME: cs.rows = array<i64: 1000, 1500>
// ONE: func.func @server.0(
// ONE-SAME: cs.rows = array<i64: 1500, 2000>
func.func @step(%w: tensor<2000x1000xf32> {cs.param = "w"}, %s: tensor<4xf32> {cs.param = "small"}, %x: tensor<8xf32> {cs.batch = "x"})
    -> (tensor<2000x1000xf32> {cs.updates = "w"}, tensor<4xf32> {cs.updates = "small"}) attributes {cs.step} {
  %gw, %gs = cs.profiled "backward" (%x, %w, %s) cost <flops = 0, bytes = 0, ns = 1000> : (tensor<8xf32>, tensor<2000x1000xf32>, tensor<4xf32>) -> (tensor<2000x1000xf32>, tensor<4xf32>)
  %rs = cs.gradient %gs of "small" : tensor<4xf32>
  %rw = cs.gradient %gw of "w" : tensor<2000x1000xf32>
  %w1 = cs.profiled "update.w" elementwise (%w, %rw) cost <flops = 0, bytes = 0, ns = 1000> : (tensor<2000x1000xf32>, tensor<2000x1000xf32>) -> tensor<2000x1000xf32>
  %s1 = cs.profiled "update.small" elementwise (%s, %rs) cost <flops = 0, bytes = 0, ns = 1000> : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %w1, %s1 : tensor<2000x1000xf32>, tensor<4xf32>
}
