// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The number of the step is state of each rank, and what MSTopK draws by.

// RUN: %cs-opt --lower-sparse-comm="density=0.25 min-elements=1 method=hitopk select=mstopk" %s | FileCheck %s
// RUN: cs-opt --lower-sparse-comm="density=0.25 min-elements=1 method=hitopk select=mstopk" --schedule-comm --expand-collectives --verify-distributed %s -o /dev/null
// RUN: %cs-opt --lower-sparse-comm="density=0.25 min-elements=1 method=oktopk select=mstopk mstopk-samples=7 mstopk-early-stop=false exact-every=3 momentum=0.5" %s | FileCheck %s --check-prefix=ALL
// RUN: %cs-opt --lower-sparse-comm="density=0.25 min-elements=1 method=gtopk select=mstopk feedback=false" %s | FileCheck %s --check-prefix=NONE
// Another seed begins elsewhere.
// RUN: cs-opt --lower-sparse-comm="density=0.25 min-elements=1 method=hitopk select=mstopk mstopk-seed=1" %s | FileCheck %s --check-prefix=SEED
// RUN: not cs-opt --lower-sparse-comm="select=mstopk mstopk-samples=0" %s 2>&1 | FileCheck %s --check-prefix=FEW
// RUN: not cs-opt --lower-sparse-comm="select=mstopk mstopk-samples=101" %s 2>&1 | FileCheck %s --check-prefix=MANY
// RUN: not cs-opt --lower-sparse-comm="mstopk-samples=7" %s 2>&1 | FileCheck %s --check-prefix=OTHER
// RUN: not cs-opt --lower-sparse-comm="select=sampled mstopk-early-stop=false" %s 2>&1 | FileCheck %s --check-prefix=SAMPLED
// RUN: not cs-opt --lower-sparse-comm="mstopk-seed=7" %s 2>&1 | FileCheck %s --check-prefix=OTHER
// RUN: sed 's/cs.batch = "x"/cs.state = "w.step"/' %s | not cs-opt --lower-sparse-comm="density=0.25 min-elements=1 method=allgather select=mstopk" 2>&1 | FileCheck %s --check-prefix=TAKEN
// The pipeline has the same options.
// RUN: cs-opt --cs-all-reduce-pipeline="density=0.25 min-elements=1 sparse-method=hitopk select=mstopk mstopk-samples=7 mstopk-early-stop=false mstopk-seed=5" %examples/linear.mlir | FileCheck %s --check-prefix=PIPELINE

// FEW: lower-sparse-comm: mstopk-samples must be 1 to 100, got: 0
// MANY: lower-sparse-comm: mstopk-samples must be 1 to 100, got: 101
// OTHER: lower-sparse-comm: mstopk-samples, mstopk-early-stop and mstopk-seed must go with select=mstopk, got: exact
// SAMPLED: must go with select=mstopk, got: sampled
// TAKEN: has the name that the sparse gradient of "w" needs: "w.step"
// PIPELINE: cs.top_k "mstopk" %{{.*}}, %{{.*}} seed {{-?[0-9]+}} step %{{.*}} samples 7 :

cs.cluster @lab nodes = 4 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>

// CHECK-LABEL: func.func @step(
// CHECK-SAME: %[[REST:[a-z0-9]+]]: !cs.placed<tensor<2x8xf32>, device 0> {cs.per_rank, cs.state = "w.residual"}
// CHECK-SAME: %[[STEP:[a-z0-9]+]]: !cs.placed<tensor<1xi32>, device 0> {cs.per_rank, cs.state = "w.step"})
// CHECK-SAME: {cs.updates = "w.residual"}, !cs.placed<tensor<1xi32>, device 0> {cs.updates = "w.step"})
// CHECK: %[[TOP:.*]]:3 = cs.fragment "top_k.w" on 0 (%{{.*}}, %[[REST]], %[[STEP]])
// CHECK: ^bb0(%[[G:.*]]: tensor<2x8xf32>, %[[E:.*]]: tensor<2x8xf32>, %[[T:.*]]: tensor<1xi32>):
// CHECK: %{{.*}}, %{{.*}}, %[[R:.*]] = cs.top_k "mstopk" %[[G]], %[[E]] seed {{-?[0-9]+}} step %[[T]] early_stop : (tensor<2x8xf32>, tensor<2x8xf32>, tensor<1xi32>) -> (tensor<4xf32>, tensor<4xi32>, tensor<2x8xf32>)
// CHECK: %[[ONE:.*]] = arith.constant dense<1> : tensor<1xi32>
// CHECK: %[[NEXT:.*]] = arith.addi %[[T]], %[[ONE]] : tensor<1xi32>
// CHECK: cs.return %{{.*}}, %[[R]], %[[NEXT]] :
// CHECK: return %{{.*}}, %[[TOP]]#1, %[[TOP]]#2

// ALL-LABEL: func.func @step(
// ALL-SAME: "w.regions"}, {{.*}} cs.state = "w.residual"}, {{.*}} cs.state = "w.velocity"}, {{.*}} cs.state = "w.threshold"}, {{.*}} cs.state = "w.step"})
// ALL: cs.top_k "mstopk" %{{.*}}, %{{.*}} threshold %{{.*}} every 3 seed {{-?[0-9]+}} step %{{.*}} samples 7 :

// NONE-LABEL: func.func @step(
// NONE-NOT: residual
// NONE: cs.top_k "mstopk" %{{[a-z0-9_]+}} seed {{-?[0-9]+}} step %{{.*}} early_stop : (tensor<2x8xf32>, tensor<1xi32>) ->

// SEED: cs.top_k "mstopk" {{.*}} seed {{-?[0-9]+}} step
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
