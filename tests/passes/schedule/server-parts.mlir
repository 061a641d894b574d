// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: %cs-opt --insert-dist-comm="mode=parameter-server servers=2" --schedule-comm=policy=priority %s | FileCheck %s --check-prefixes=CHECK,BYTES
// RUN: %cs-opt --insert-dist-comm="mode=parameter-server servers=2" --schedule-comm=policy=p3 %s | FileCheck %s --check-prefixes=CHECK,P3
// RUN: %cs-opt --insert-dist-comm="mode=parameter-server servers=2" --schedule-comm="policy=p3 cut-blocks=false" %s | FileCheck %s --check-prefix=BLOCKS
// RUN: %cs-opt --insert-dist-comm="mode=parameter-server servers=2" --schedule-comm=policy=fifo %s | FileCheck %s --check-prefix=BLOCKS
// RUN: %cs-opt --insert-dist-comm="mode=parameter-server servers=2" --schedule-comm="policy=fifo cut-as=p3" %s | FileCheck %s --check-prefixes=CHECK,P3
// RUN: %cs-opt --insert-dist-comm="mode=parameter-server servers=2" --schedule-comm="policy=fifo cut-as=priority" %s | FileCheck %s --check-prefixes=CHECK,BYTES
// RUN: %cs-opt --insert-dist-comm="mode=parameter-server servers=2" --schedule-comm="policy=priority cut-as=p3" %s | FileCheck %s --check-prefixes=CHECK,P3
// RUN: %cs-opt --insert-dist-comm="mode=parameter-server servers=2" --schedule-comm="policy=p3 cut-as=fifo" %s | FileCheck %s --check-prefix=BLOCKS
// RUN: not %cs-opt --insert-dist-comm="mode=parameter-server servers=2" --schedule-comm="policy=p3 cut-as=best" %s 2>&1 | FileCheck %s --check-prefix=POLICY
// RUN: %cs-opt --cs-parameter-server-pipeline="servers=1 slice=false" %s | FileCheck %s --check-prefix=WHOLE
// RUN: %cs-opt --cs-parameter-server-pipeline=servers=2 %s -o /dev/null
// RUN: %cs-opt --insert-dist-comm="mode=parameter-server servers=2" --extract-problem %s | FileCheck %s --check-prefix=PROBLEM
// What an update took at least when it was measured is cut with it; bounds count that.
// RUN: cs-opt --insert-dist-comm="mode=parameter-server servers=2" %s | sed 's/attributes {cs.by_rows/attributes {cs.least_ns = 400 : i64, cs.by_rows/' > %t.least.mlir
// RUN: %cs-opt --schedule-comm=policy=p3 %t.least.mlir | FileCheck %s --check-prefix=LEAST
// RUN: %cs-opt --extract-problem %t.least.mlir | FileCheck %s --check-prefix=AVOIDABLE

// A block that takes long goes in parts, of rows that are next to each other, as the
// schedule wants them: P3 has slices of 200,000 bytes, 50 of these rows. Where there is none a part takes twenty times as long as what a message costs, 1 ms or 125,000
// bytes: 2,500,000 or more.

cs.cluster @lab nodes = 2 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000, overhead_ns = 1000000>

// POLICY: error: {{.*}}cut-as must be priority, solver, {{.*}}, got: best

// LEAST: cs.fragment "update.w.block0.part0" {{.*}} ns = 25> {{.*}}cs.least_ns = 20 : i64
// AVOIDABLE: cs.problem.communication "w.block0" {{.*}} update_ns 500, {{.*}} {cs.avoidable_update_ns = array<i64: 100, 0>}

// PROBLEM-NOT: indivisible
// PROBLEM: cs.problem.communication "small" bytes 16 from {{.*}} update_ns 1000,
// PROBLEM: cs.problem.communication "w.block0" bytes 4000000 from {{.*}} update_ns 500,
// PROBLEM-NOT: indivisible

// CHECK-LABEL: func.func @step(
// BYTES: %[[B:.*]]:4 = cs.split %{{.*}} : !cs.placed<tensor<2000x1000xf32>, device 0> -> !cs.placed<tensor<500x1000xf32>, device 0>,
// P3: %[[B:.*]]:40 = cs.split %{{.*}} : !cs.placed<tensor<2000x1000xf32>, device 0> -> !cs.placed<tensor<50x1000xf32>, device 0>,
// CHECK: cs.start "w.block0.part0" {{.*}}(%[[B]]#0)
// CHECK: cs.send "w.block0.part0" %{{.*}} of @server.0
// CHECK: cs.start "w.block0.part1" {{.*}}(%[[B]]#1)
// BYTES: cs.start "w.block1.part0" {{.*}}(%[[B]]#2)
// P3: cs.start "w.block1.part0" {{.*}}(%[[B]]#20)
// CHECK: cs.start "w.block0.part0.new" {{.*}}after
// CHECK: cs.recv "w.block0.part0.new"
// CHECK: cs.concat
// BLOCKS: cs.start "w.block0" {{.*}}
// BLOCKS: cs.start "w.block1" {{.*}}
// BLOCKS-NOT: .part
// WHOLE: cs.send "w" %{{.*}} of @server.0 : !cs.placed<tensor<2000x1000xf32>, device 0>

// A server has the rows that it would have without; each part's update is its own, with
// its part of the cost.
// CHECK: func.func @server.0(
// BYTES-SAME: cs.param = "w", cs.rows = array<i64: 0, 500>
// BYTES-SAME: cs.param = "w", cs.rows = array<i64: 500, 1000>
// P3-SAME: cs.param = "w", cs.rows = array<i64: 950, 1000>
// CHECK: cs.collect "w.block0.part0" by mean from @step
// BYTES: cs.fragment "update.w.block0.part0" {{.*}} ns = 250>
// P3: cs.fragment "update.w.block0.part0" {{.*}} ns = 25>
// CHECK: cs.publish "w.block0.part0.new"
// CHECK: cs.collect "w.block0.part1"
// CHECK: func.func @server.1(
// BYTES-SAME: cs.rows = array<i64: 1000, 1500>
// P3-SAME: cs.rows = array<i64: 1000, 1050>
func.func @step(%w: tensor<2000x1000xf32> {cs.param = "w"}, %s: tensor<4xf32> {cs.param = "small"}, %x: tensor<8xf32> {cs.batch = "x"})
    -> (tensor<2000x1000xf32> {cs.updates = "w"}, tensor<4xf32> {cs.updates = "small"}) attributes {cs.step} {
  %gw, %gs = cs.profiled "backward" (%x, %w, %s) cost <flops = 0, bytes = 0, ns = 1000> : (tensor<8xf32>, tensor<2000x1000xf32>, tensor<4xf32>) -> (tensor<2000x1000xf32>, tensor<4xf32>)
  %rs = cs.gradient %gs of "small" : tensor<4xf32>
  %rw = cs.gradient %gw of "w" : tensor<2000x1000xf32>
  %w1 = cs.profiled "update.w" elementwise (%w, %rw) cost <flops = 0, bytes = 0, ns = 1000> : (tensor<2000x1000xf32>, tensor<2000x1000xf32>) -> tensor<2000x1000xf32>
  %s1 = cs.profiled "update.small" elementwise (%s, %rs) cost <flops = 0, bytes = 0, ns = 1000> : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %w1, %s1 : tensor<2000x1000xf32>, tensor<4xf32>
}
