// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: %cs-opt --insert-dist-comm --replicate-devices --assign-devices --lower-sparse-comm="density=0.25 min-elements=1 fuse-bytes=0 method=hitopk" %s | FileCheck %s
// RUN: %cs-opt --insert-dist-comm --replicate-devices --assign-devices --lower-sparse-comm="density=0.25 min-elements=1 fuse-bytes=0 method=allgather" %s | FileCheck %s --check-prefix=FLAT
// RUN: cs-opt --cs-all-reduce-pipeline="density=0.25 min-elements=1 sparse-method=hitopk" %s -o /dev/null
// RUN: cs-opt --cs-all-reduce-pipeline="density=0.25 min-elements=1 sparse-method=allgather" %s -o /dev/null
// RUN: cs-opt --cs-all-reduce-pipeline="density=0.25 min-elements=1 sparse-method=hitopk copies=overlap" %s -o /dev/null
// One node: devices exchange, nodes do not.
// RUN: sed 's/nodes = 2/nodes = 1/' %s | cs-opt --cs-all-reduce-pipeline="density=0.25 min-elements=1 sparse-method=hitopk" | FileCheck %s --check-prefix=ONE

cs.cluster @lab nodes = 2 devices = 2 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>

// Rows 0 and 1 are device 0's, row 2 with the others device 1's. The parameter's
// owner joins them.

// CHECK-LABEL: func.func @step(
// CHECK-SAME: %[[E0:[a-z0-9]*]]: !cs.placed<tensor<2x4xf32>, device 0> {cs.per_rank, cs.state = "w.residual.shard0"}
// CHECK-SAME: %[[E1:[a-z0-9]*]]: !cs.placed<tensor<3x4xf32>, device 1> {cs.per_rank, cs.state = "w.residual.shard1"}
// CHECK-NOT: "sum.w"
// CHECK: %[[S0:.*]]:2 = cs.split %[[G0:.*]] : !cs.placed<tensor<5x4xf32>, device 0> -> !cs.placed<tensor<2x4xf32>, device 0>, !cs.placed<tensor<3x4xf32>, device 0>
// CHECK: %[[S1:.*]]:2 = cs.split %[[G1:.*]] : !cs.placed<tensor<5x4xf32>, device 1> -> !cs.placed<tensor<2x4xf32>, device 1>, !cs.placed<tensor<3x4xf32>, device 1>
// CHECK: %[[C0:.*]] = cs.copy %[[S1]]#0 : !cs.placed<tensor<2x4xf32>, device 1> -> !cs.placed<tensor<2x4xf32>, device 0>
// CHECK: %[[SUM0:.*]] = cs.fragment "sum.w.shard0" on 0 (%[[S0]]#0, %[[C0]]) deferred
// CHECK: %[[T0:.*]]:2 = cs.fragment "top_k.w.shard0" on 0 (%[[SUM0]], %[[E0]]) deferred
// CHECK: cs.top_k "exact" {{.*}} -> (tensor<2xf32>, tensor<2xi32>, tensor<2x4xf32>)
// CHECK: %[[A0:.*]] = cs.all_gather "w.shard0" %[[T0]]#0 : !cs.placed<tensor<1x4xi32, #cs.coordinates<tensor<2x4xf32>>>, device 0> -> !cs.placed<tensor<2x4xi32, #cs.coordinates<tensor<2x4xf32>>>, device 0>
// CHECK: %[[D0:.*]] = cs.fragment "scatter_add.w.shard0" on 0 (%[[A0]]) deferred
// CHECK: cs.scatter_add {{.*}} over 2
// CHECK: %[[C1:.*]] = cs.copy %[[S0]]#1 : {{.*}} -> !cs.placed<tensor<3x4xf32>, device 1>
// CHECK: %[[SUM1:.*]] = cs.fragment "sum.w.shard1" on 1 (%[[C1]], %[[S1]]#1) deferred
// CHECK: cs.fragment "top_k.w.shard1" on 1 (%[[SUM1]], %[[E1]]) deferred
// CHECK: cs.top_k "exact" {{.*}} -> (tensor<3xf32>, tensor<3xi32>, tensor<3x4xf32>)
// CHECK: %[[D1:.*]] = cs.fragment "scatter_add.w.shard1" on 1
// CHECK: %[[DC:.*]] = cs.copy %[[D1]] : {{.*}} -> !cs.placed<tensor<3x4xf32>, device 0>
// CHECK: cs.concat %[[D0]], %[[DC]]
// b has one row: device 1 owns it, and selects from the sum.
// CHECK: cs.fragment "sum.b" on 1
// CHECK: cs.fragment "top_k.b" on 1
// CHECK: cs.all_gather "b"

// FLAT-LABEL: func.func @step(
// FLAT-SAME: device 0> {cs.per_rank, cs.state = "w.residual"}
// FLAT-SAME: device 1> {cs.per_rank, cs.state = "w.residual.device1"}
// FLAT-NOT: "sum.w"
// FLAT: %[[T0:.*]]:2 = cs.fragment "top_k.w" on 0
// FLAT: cs.top_k "exact" {{.*}} -> (tensor<5xf32>, tensor<5xi32>, tensor<5x4xf32>)
// FLAT: %[[T1:.*]]:2 = cs.fragment "top_k.w.device1" on 1
// FLAT: %[[C:.*]] = cs.copy %[[T1]]#0
// FLAT: %[[J:.*]] = cs.concat %[[T0]]#0, %[[C]]
// FLAT: %[[A:.*]] = cs.all_gather "w" %[[J]] : !cs.placed<tensor<2x10xi32, #cs.coordinates<tensor<5x4xf32>>>, device 0> -> !cs.placed<tensor<4x10xi32, #cs.coordinates<tensor<5x4xf32>>>, device 0>
// FLAT: cs.fragment "scatter_add.w" on 0 (%[[A]]) deferred
// FLAT: cs.scatter_add {{.*}} over 4 : (tensor<20xf32>, tensor<20xi32>) -> tensor<5x4xf32>

// ONE: cs.fragment "top_k.w.shard0"
// ONE-NOT: cs.exchange
// ONE: return
func.func @step(%w: tensor<5x4xf32> {cs.param = "w"}, %b: tensor<1x4xf32> {cs.param = "b"}, %x: tensor<5x4xf32> {cs.batch = "x"})
    -> (tensor<5x4xf32> {cs.updates = "w"}, tensor<1x4xf32> {cs.updates = "b"}) attributes {cs.step} {
  %g = arith.mulf %w, %x : tensor<5x4xf32>
  %g1 = cs.gradient %g of "w" : tensor<5x4xf32>
  %row = tensor.extract_slice %x[0, 0] [1, 4] [1, 1] : tensor<5x4xf32> to tensor<1x4xf32>
  %h = arith.mulf %b, %row : tensor<1x4xf32>
  %h1 = cs.gradient %h of "b" : tensor<1x4xf32>
  %n = arith.subf %w, %g1 : tensor<5x4xf32>
  %o = arith.subf %b, %h1 : tensor<1x4xf32>
  return %n, %o : tensor<5x4xf32>, tensor<1x4xf32>
}
