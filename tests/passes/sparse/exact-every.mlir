// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// A threshold that serves for three steps is state of each rank, beside its residual.

// RUN: %cs-opt --lower-sparse-comm="density=0.25 min-elements=1 method=allgather exact-every=3" %s | FileCheck %s
// RUN: cs-opt --lower-sparse-comm="density=0.25 min-elements=1 method=allgather exact-every=3" --schedule-comm --expand-collectives --verify-distributed %s -o /dev/null
// RUN: %cs-opt --lower-sparse-comm="density=0.25 min-elements=1 method=gtopk exact-every=3" %s | FileCheck %s --check-prefix=TREE
// RUN: %cs-opt --lower-sparse-comm="density=0.25 min-elements=1 method=oktopk exact-every=3 momentum=0.5" %s | FileCheck %s --check-prefix=REGIONS
// Of 16-bit elements it is a float, too.
// RUN: sed 's/xf32/xf16/g' %s | %cs-opt --lower-sparse-comm="density=0.25 min-elements=1 method=oktopk exact-every=128" | FileCheck %s --check-prefix=HALF
// Exact in every step: nothing changes.
// RUN: cs-opt --lower-sparse-comm="density=0.25 min-elements=1 method=oktopk" %s -o %t1
// RUN: cs-opt --lower-sparse-comm="density=0.25 min-elements=1 method=oktopk exact-every=1" %s -o %t2
// RUN: cmp %t1 %t2
// RUN: not grep threshold %t1
// RUN: not cs-opt --lower-sparse-comm=exact-every=0 %s 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: not cs-opt --lower-sparse-comm=exact-every=16777217 %s 2>&1 | FileCheck %s --check-prefix=MANY
// RUN: not cs-opt --lower-sparse-comm="exact-every=2 feedback=false" %s 2>&1 | FileCheck %s --check-prefix=FEEDBACK
// RUN: sed 's/cs.batch = "x"/cs.state = "w.threshold"/' %s | not cs-opt --lower-sparse-comm="density=0.25 min-elements=1 method=allgather exact-every=3" 2>&1 | FileCheck %s --check-prefix=TAKEN

// NONE: lower-sparse-comm: exact-every must be 1 to 16777216, got: 0
// MANY: lower-sparse-comm: exact-every must be 1 to 16777216, got: 16777217
// FEEDBACK: lower-sparse-comm: exact-every above 1 must go with feedback
// TAKEN: has the name that the sparse gradient of "w" needs: "w.threshold"

cs.cluster @lab nodes = 4 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>

// CHECK-LABEL: func.func @step(
// CHECK-SAME: %[[REST:[a-z0-9]+]]: !cs.placed<tensor<2x8xf32>, device 0> {cs.per_rank, cs.state = "w.residual"}
// CHECK-SAME: %[[STATE:[a-z0-9]+]]: !cs.placed<tensor<2xf32>, device 0> {cs.per_rank, cs.state = "w.threshold"})
// CHECK-SAME: {cs.updates = "w.residual"}, !cs.placed<tensor<2xf32>, device 0> {cs.updates = "w.threshold"})
// CHECK: %[[TOP:.*]]:3 = cs.fragment "top_k.w" on 0 (%{{.*}}, %[[REST]], %[[STATE]]) cost <flops = 32, bytes = 288, ns = 0>
// CHECK: ^bb0(%[[G:.*]]: tensor<2x8xf32>, %[[E:.*]]: tensor<2x8xf32>, %[[T:.*]]: tensor<2xf32>):
// CHECK: %{{.*}}, %{{.*}}, %[[R:.*]], %[[N:.*]] = cs.top_k "exact" %[[G]], %[[E]] threshold %[[T]] every 3 : (tensor<2x8xf32>, tensor<2x8xf32>, tensor<2xf32>) -> (tensor<4xf32>, tensor<4xi32>, tensor<2x8xf32>, tensor<2xf32>)
// CHECK: cs.return %{{.*}}, %[[R]], %[[N]] :
// CHECK: return %{{.*}}, %[[TOP]]#1, %[[TOP]]#2

// TREE-LABEL: func.func @step(
// TREE: %[[TOP:.*]]:4 = cs.fragment "top_k.w" {{.*}} -> (!cs.placed<tensor<1x8xi32, #cs.coordinates<tensor<2x8xf32>>>, device 0>, !cs.placed<tensor<2x8xf32>, device 0>, !cs.placed<tensor<2xf32>, device 0>, !cs.placed<tensor<2x8xi32, #cs.coordinates<tensor<2x8xf32>>>, device 0>)
// TREE: cs.pair_exchange "w.round0" %[[TOP]]#3
// TREE: %[[BACK:.*]] = cs.fragment "residual.w" on 0 (%[[TOP]]#0, %{{.*}}, %[[TOP]]#1)
// TREE: return %{{.*}}, %[[BACK]], %[[TOP]]#2

// REGIONS-LABEL: func.func @step(
// REGIONS-SAME: "w.regions"}, %[[E:[a-z0-9]+]]: {{[^{]*}} {cs.per_rank, cs.state = "w.residual"}, %[[U:[a-z0-9]+]]: {{[^{]*}} {cs.per_rank, cs.state = "w.velocity"}, %[[T:[a-z0-9]+]]: {{[^{]*}} {cs.per_rank, cs.state = "w.threshold"})
// REGIONS: %[[TOP:.*]]:4 = cs.fragment "top_k.w" on 0 (%{{.*}}, %[[E]], %[[U]], %[[T]], %{{.*}})
// REGIONS: %{{.*}}, %[[I:.*]], %{{.*}}, %[[N:.*]] = cs.top_k "exact" %{{.*}}, %{{.*}} threshold %{{.*}} every 3
// REGIONS: cs.scatter_clear %{{.*}}, %[[I]]
// REGIONS: cs.return %{{.*}}, %[[N]] :
// REGIONS: return %{{.*}}, %{{.*}}, %{{.*}}, %[[TOP]]#2, %[[TOP]]#3

// HALF: threshold %{{.*}} every 128 : (tensor<2x8xf16>, tensor<2x8xf16>, tensor<2xf32>) -> (tensor<4xf16>, tensor<4xi32>, tensor<2x8xf16>, tensor<2xf32>)
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
