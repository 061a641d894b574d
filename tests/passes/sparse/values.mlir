// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Selected values travel in fewer bits, and what is rounded off is kept.

// RUN: %cs-opt --lower-sparse-comm="density=0.25 min-elements=1 method=hitopk values=int8" %s | FileCheck %s
// RUN: cs-opt --lower-sparse-comm="density=0.25 min-elements=1 method=hitopk values=int8" --schedule-comm --expand-collectives --verify-distributed %s -o /dev/null
// RUN: cs-opt --lower-sparse-comm="density=0.25 min-elements=1 method=allgather values=f16 feedback=false" %s | FileCheck %s --check-prefix=LOST
// RUN: cs-opt --lower-sparse-comm="density=0.25 min-elements=1 method=hitopk values=int8" --remarks-filter=lower-sparse-comm %s -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK
// Values that have no more bits stay as they are.
// RUN: sed 's/xf32/xf16/g' %s | cs-opt --lower-sparse-comm="density=0.25 min-elements=1 method=hitopk values=bf16" -o %t1
// RUN: sed 's/xf32/xf16/g' %s | cs-opt --lower-sparse-comm="density=0.25 min-elements=1 method=hitopk" -o %t2
// RUN: cmp %t1 %t2
// RUN: not cs-opt --lower-sparse-comm="density=0.25 min-elements=1 method=gtopk values=f16" %s 2>&1 | FileCheck %s --check-prefix=TREE
// RUN: not cs-opt --lower-sparse-comm="density=0.25 min-elements=1 method=oktopk values=int8" %s 2>&1 | FileCheck %s --check-prefix=REGIONS
// RUN: not cs-opt --lower-sparse-comm=values=i8 %s 2>&1 | FileCheck %s --check-prefix=NAME
// RUN: not cs-opt --lower-sparse-comm=unsent-rate=-1 %s 2>&1 | FileCheck %s --check-prefix=RATE
// RUN: not cs-opt --lower-sparse-comm="unsent-rate=1 feedback=false" %s 2>&1 | FileCheck %s --check-prefix=KEPT
// Gradients at what is unsent: the update has the parameter of all ranks.
// RUN: %cs-opt --lower-sparse-comm="density=0.25 min-elements=1 method=hitopk unsent-rate=0.5" %s | FileCheck %s --check-prefix=UNSENT
// RUN: sed 's/return %n : !t/return %g : !t/' %s | not cs-opt --lower-sparse-comm="density=0.25 min-elements=1 method=hitopk unsent-rate=0.5" 2>&1 | FileCheck %s --check-prefix=DRIFT
// RUN: cs-opt --cs-all-reduce-pipeline="density=0.25 min-elements=1 sparse-method=hitopk values=int8 unsent-rate=0.5" %examples/linear.mlir | FileCheck %s --check-prefix=PIPELINE
// RUN: not cs-opt --cs-all-reduce-pipeline="density=0.25 min-elements=1 sparse-method=hitopk unsent-rate=0.5" %S/devices.mlir 2>&1 | FileCheck %s --check-prefix=DEVICES

// REMARK: gradient "w": hitopk (asked for), 4 of 16 elements, 72 bytes sent by a node; predicted dense {{[0-9]+}} ns, allgather {{[0-9]+}} ns, hitopk {{[0-9]+}} ns"
// TREE: 'cs.all_reduce' op of "w" cannot use method gtopk with values=f16: sums travel, and what is rounded off them would be lost
// REGIONS: cannot use method oktopk with values=int8
// NAME: lower-sparse-comm: values must be same, f16, bf16 or int8, got: i8
// RATE: lower-sparse-comm: unsent-rate must not be negative, and a number of f32, got: -1
// KEPT: lower-sparse-comm: unsent-rate must go with feedback
// DRIFT: 'cs.fragment' op makes a new value of "w" of parameters, which an unsent rate makes each rank's own, without a communication: ranks would drift apart
// PIPELINE: cs.fragment "unsent.w" on 0
// PIPELINE: i8>>, tensor<
// DEVICES: of "{{.*}}" cannot have an unsent rate on nodes of 2 devices: their parameters are the owner's

cs.cluster @lab nodes = 4 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>

// CHECK-LABEL: func.func @step(
// CHECK: %[[TOP:.*]]:2 = cs.fragment "top_k.w"
// CHECK-SAME: -> (!cs.placed<tensor<1x6xi32, #cs.coordinates<tensor<2x8xf32>, i8>>, device 0>,
// CHECK: %[[V:.*]], %[[I:.*]], %[[R:.*]] = cs.top_k "exact"
// CHECK: %[[M:.*]], %[[E:.*]] = cs.pack_lists %[[V]], %[[I]] : (tensor<4xf32>, tensor<4xi32>) -> (tensor<1x6xi32, #cs.coordinates<tensor<2x8xf32>, i8>>, tensor<4xf32>)
// CHECK: %[[N:.*]] = cs.scatter_add %[[E]], %[[I]] into %[[R]]
// CHECK: cs.return %[[M]], %[[N]] :
// CHECK: cs.all_gather "w" %[[TOP]]#0 : {{.*}} -> !cs.placed<tensor<4x6xi32, #cs.coordinates<tensor<2x8xf32>, i8>>, device 0>

// LOST: %{{.*}} = cs.pack_lists %{{.*}}, %{{.*}} : (tensor<4xf32>, tensor<4xi32>) -> tensor<1x6xi32, #cs.coordinates<tensor<2x8xf32>, f16>>

// UNSENT-LABEL: func.func @step(%arg0:
// UNSENT-SAME: %[[REST:[a-z0-9]+]]: !cs.placed<tensor<2x8xf32>, device 0> {cs.per_rank, cs.state = "w.residual"}
// UNSENT: %[[AHEAD:.*]] = cs.fragment "unsent.w" on 0 (%arg0, %[[REST]]) cost <flops = 32, bytes = 192, ns = 0>
// UNSENT: ^bb0(%[[A:.*]]: tensor<2x8xf32>, %[[B:.*]]: tensor<2x8xf32>):
// UNSENT: %[[P:.*]] = arith.mulf %{{.*}}, %[[B]]
// UNSENT: arith.subf %[[A]], %[[P]]
// UNSENT: cs.fragment "backward" on 0 (%[[AHEAD]], %arg1)
// UNSENT: cs.fragment "update.w" on 0 (%arg0,
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
