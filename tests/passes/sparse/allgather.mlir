// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: %cs-opt --lower-sparse-comm="density=0.25 min-elements=1 method=allgather" %s | FileCheck %s
// RUN: cs-opt --lower-sparse-comm="density=0.25 min-elements=1 method=allgather" %s -o %t1
// RUN: cs-opt --lower-sparse-comm="density=0.25 min-elements=1 method=allgather" %t1 -o %t2
// RUN: cmp %t1 %t2
// RUN: cs-opt --lower-sparse-comm="density=0.25 min-elements=1 method=hitopk" %s -o %t3
// RUN: cmp %t1 %t3
// RUN: cs-opt --lower-sparse-comm="density=0.25 min-elements=17" %s | FileCheck %s --check-prefix=SMALL
// RUN: cs-opt --lower-sparse-comm="density=0.25 min-elements=17" %s --remarks-filter=lower-sparse-comm -o /dev/null 2>&1 | FileCheck %s --check-prefix=WHY
// RUN: cs-opt --lower-sparse-comm %s | FileCheck %s --check-prefix=SMALL
// RUN: cs-opt --lower-sparse-comm="density=0.25 min-elements=1 method=allgather" --schedule-comm --expand-collectives --verify-distributed %s -o /dev/null

// Two nodes of one device: each selects 4 of 16 elements. The message has their
// bits, then their indices.

cs.cluster @lab nodes = 2 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>

// CHECK-LABEL: func.func @step(
// CHECK-SAME: %[[W:[a-z0-9]*]]: !cs.placed<tensor<2x8xf32>, device 0> {cs.param = "w"}
// CHECK-SAME: %[[E:[a-z0-9]*]]: !cs.placed<tensor<2x8xf32>, device 0> {cs.per_rank, cs.state = "w.residual"})
// CHECK-SAME: -> (!cs.placed<tensor<2x8xf32>, device 0> {cs.updates = "w"}, !cs.placed<tensor<2x8xf32>, device 0> {cs.updates = "w.residual"})
// CHECK: %[[G:.*]] = cs.fragment "backward"
// CHECK: %[[TOP:.*]]:2 = cs.fragment "top_k.w" on 0 (%[[G]], %[[E]]) cost <flops = 32, bytes = 288, ns = 0> : {{.*}} -> (!cs.placed<tensor<1x8xi32, #cs.coordinates<tensor<2x8xf32>>>, device 0>, !cs.placed<tensor<2x8xf32>, device 0>)
// CHECK: %[[V:.*]], %[[I:.*]], %[[R:.*]] = cs.top_k "exact" %{{.*}}, %{{.*}} : (tensor<2x8xf32>, tensor<2x8xf32>) -> (tensor<4xf32>, tensor<4xi32>, tensor<2x8xf32>)
// CHECK: %[[M:.*]] = cs.pack_lists %[[V]], %[[I]] : (tensor<4xf32>, tensor<4xi32>) -> tensor<1x8xi32, #cs.coordinates<tensor<2x8xf32>>>
// CHECK: cs.return %[[M]], %[[R]]
// CHECK: %[[ALL:.*]] = cs.all_gather "w" %[[TOP]]#0 : !cs.placed<tensor<1x8xi32, #cs.coordinates<tensor<2x8xf32>>>, device 0> -> !cs.placed<tensor<2x8xi32, #cs.coordinates<tensor<2x8xf32>>>, device 0>
// CHECK: %[[D:.*]] = cs.fragment "scatter_add.w" on 0 (%[[ALL]]) deferred
// CHECK: %[[AV:.*]], %[[AI:.*]] = cs.unpack_lists %{{.*}} : (tensor<2x8xi32, #cs.coordinates<tensor<2x8xf32>>>) -> (tensor<8xf32>, tensor<8xi32>)
// CHECK: cs.scatter_add %[[AV]], %[[AI]] over 2 : (tensor<8xf32>, tensor<8xi32>) -> tensor<2x8xf32>
// CHECK: %[[NEW:.*]] = cs.fragment "update.w" on 0 (%[[W]], %[[D]]) deferred
// CHECK: return %[[NEW]], %[[TOP]]#1

// SMALL: cs.all_reduce "w" mean
// SMALL-NOT: per_rank
// WHY: gradient "w": dense: it has fewer than 17 elements
!t = !cs.placed<tensor<2x8xf32>, device 0>
func.func @step(%w: !t {cs.param = "w"}, %x: !t {cs.batch = "x"}) -> (!t {cs.updates = "w"}) attributes {cs.step} {
  %g = cs.fragment "backward" on 0 (%w, %x) : (!t, !t) -> !t {
  ^bb0(%a: tensor<2x8xf32>, %b: tensor<2x8xf32>):
    %0 = arith.mulf %a, %b : tensor<2x8xf32>
    cs.return %0 : tensor<2x8xf32>
  }
  %r = cs.all_reduce "w" mean %g : !t
  %n = cs.fragment "update.w" on 0 (%w, %r) deferred : (!t, !t) -> !t {
  ^bb0(%a: tensor<2x8xf32>, %b: tensor<2x8xf32>):
    %0 = arith.subf %a, %b : tensor<2x8xf32>
    cs.return %0 : tensor<2x8xf32>
  }
  return %n : !t
}
