// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: %cs-opt --lower-sparse-comm="density=0.25 min-elements=1 method=gtopk" %s | FileCheck %s
// RUN: %cs-opt --lower-sparse-comm="density=0.25 min-elements=1 method=gtopk" --schedule-comm --expand-collectives --verify-distributed --mlir-print-local-scope %s | FileCheck %s --check-prefix=EXPANDED
// RUN: cs-opt --lower-sparse-comm="density=0.25 min-elements=1 method=gtopk" --schedule-comm --specialize-ranks --verify-distributed %s -o /dev/null
// RUN: sed 's/nodes = 4/nodes = 6/' %s | not cs-opt --lower-sparse-comm="density=0.25 min-elements=1 method=gtopk" 2>&1 | FileCheck %s --check-prefix=NODES
// RUN: sed 's/nodes = 4/nodes = 6/' %s | cs-opt --lower-sparse-comm="density=0.25 min-elements=1 method=auto" --remarks-filter=lower-sparse-comm -o /dev/null 2>&1 | FileCheck %s --check-prefix=AUTO
// RUN: cs-opt --lower-sparse-comm="density=0.25 min-elements=1 method=gtopk" %s | sed 's/distance 2/distance 4/' > %t
// RUN: not cs-opt --schedule-comm --expand-collectives %t 2>&1 | FileCheck %s --check-prefix=DISTANCE

// NODES: 'cs.all_reduce' op of "w" cannot use method gtopk: needs a power of two of nodes, got: 6
// AUTO: predicted dense
// AUTO-NOT: gtopk
// DISTANCE: 'cs.pair_exchange' op needs a multiple of 8 nodes, got: 4

cs.cluster @lab nodes = 4 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>

// CHECK-LABEL: func.func @step(
// CHECK: %[[TOP:.*]]:3 = cs.fragment "top_k.w" on 0 {{.*}} -> (!cs.placed<tensor<1x8xi32, #cs.coordinates<tensor<2x8xf32>>>, device 0>, !cs.placed<tensor<2x8xf32>, device 0>, !cs.placed<tensor<2x8xi32, #cs.coordinates<tensor<2x8xf32>>>, device 0>)
// CHECK: %[[A:.*]] = cs.pair_exchange "w.round0" %[[TOP]]#2 distance 1
// CHECK: %[[B:.*]] = cs.fragment "merge.w.round0" on 0 (%[[A]]) deferred {{.*}} -> !cs.placed<tensor<2x8xi32, #cs.coordinates<tensor<2x8xf32>>>, device 0>
// CHECK: cs.merge_top_k {{.*}} : (tensor<8xf32>, tensor<8xi32>) -> (tensor<4xf32>, tensor<4xi32>)
// CHECK: %[[C:.*]] = cs.pair_exchange "w.round1" %[[B]] distance 2
// CHECK: %[[D:.*]] = cs.fragment "merge.w.round1" on 0 (%[[C]]) deferred {{.*}} -> !cs.placed<tensor<1x8xi32, #cs.coordinates<tensor<2x8xf32>>>, device 0>
// CHECK: %[[R:.*]] = cs.fragment "residual.w" on 0 (%[[TOP]]#0, %[[D]], %[[TOP]]#1) deferred
// CHECK: cs.scatter_add %{{.*}}, %{{.*}} except %{{.*}} into
// CHECK: %[[S:.*]] = cs.fragment "scatter_add.w" on 0 (%[[D]]) deferred
// CHECK: cs.scatter_add {{.*}} over 4
// CHECK: %[[N:.*]] = cs.fragment "update.w" on 0 (%{{.*}}, %[[S]])
// CHECK: return %[[N]], %[[R]]

// EXPANDED: cs.exchange %{{.*}} chunks 2 rounds 1 replace
// EXPANDED-SAME: send <parts affine_map<(d0, d1) -> (d0 mod 2, 1)> to affine_map<(d0, d1) -> (d0 - (d0 mod 2) * 2 + 1)>>
// EXPANDED-SAME: recv <parts affine_map<(d0, d1) -> (-(d0 mod 2) + 1, 1)> to affine_map<(d0, d1) -> (d0 - (d0 mod 2) * 2 + 1)>>
// EXPANDED: send <parts affine_map<(d0, d1) -> ((d0 floordiv 2) mod 2, 1)> to affine_map<(d0, d1) -> (d0 - ((d0 floordiv 2) mod 2) * 4 + 2)>>
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
