// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: %cs-opt --insert-dist-comm="mode=parameter-server servers=2 min-block-elements=1" --lower-sparse-comm="density=0.25 min-elements=4" %s -o %t1
// RUN: FileCheck %s < %t1
// RUN: cs-opt --lower-sparse-comm="density=0.25 min-elements=4" %t1 -o %t2
// RUN: cmp %t1 %t2
// RUN: cs-opt --lower-sparse-comm %t1 -o %t2
// RUN: cmp %t1 %t2
// RUN: cs-opt --cs-parameter-server-pipeline="servers=2 min-block-elements=1 density=0.25 min-elements=4" %s | cs-translate --mlir-to-plan | cs-translate --plan-to-text | FileCheck %s --check-prefix=PLAN
// RUN: cs-opt --insert-dist-comm="mode=parameter-server servers=2 min-block-elements=1" --lower-sparse-comm="density=0.25 min-elements=4" %s --remarks-filter=lower-sparse-comm -o /dev/null 2>&1 | FileCheck %s --check-prefix=WHY
// RUN: cs-opt --insert-dist-comm="mode=parameter-server servers=2 min-block-elements=1" --lower-sparse-comm="density=0.25 min-elements=4 momentum=0.5 exact-every=2 select=mstopk values=int8 unsent-rate=0.5 clip=2" %s | FileCheck %s --check-prefix=ALL
// RUN: cs-opt --insert-dist-comm="mode=parameter-server servers=2 min-block-elements=1" --lower-sparse-comm="min-elements=4 rules=w=0.25,.*=1" %s | FileCheck %s --check-prefix=RULES
// RUN: cs-opt --insert-dist-comm="mode=parameter-server servers=2 min-block-elements=1" --lower-sparse-comm="density=0.5 min-elements=4" %s --remarks-filter=lower-sparse-comm -o /dev/null 2>&1 | FileCheck %s --check-prefix=HALVES
// RUN: not cs-opt --insert-dist-comm=mode=parameter-server --lower-sparse-comm="density=0.25 min-elements=4 method=hitopk" %s 2>&1 | FileCheck %s --check-prefix=METHOD
// RUN: not cs-opt --insert-dist-comm="mode=parameter-server sync-mode=async" --lower-sparse-comm="density=0.25 min-elements=4" %s 2>&1 | FileCheck %s --check-prefix=ASYNC
// RUN: not cs-opt --insert-dist-comm="mode=parameter-server sync-mode=half-async merge=2" --lower-sparse-comm="density=0.25 min-elements=4" %s 2>&1 | FileCheck %s --check-prefix=HALF
// RUN: not cs-opt --insert-dist-comm=mode=parameter-server --lower-sparse-comm="density=0.25 min-elements=4 second-moment=0.5" %s 2>&1 | FileCheck %s --check-prefix=SECOND
// RUN: sed 's/devices = 1 device/devices = 2 device/' %s | not cs-opt --insert-dist-comm=mode=parameter-server --replicate-devices --assign-devices --lower-sparse-comm="density=0.25 min-elements=4 unsent-rate=1" 2>&1 | FileCheck %s --check-prefix=DEVICES
// RUN: sed 's/devices = 1 device/devices = 2 device/' %s | not cs-opt --insert-dist-comm="mode=parameter-server servers=2 min-block-elements=1" --replicate-devices=by-block=true --assign-devices --lower-sparse-comm="density=0.25 min-elements=4" 2>&1 | FileCheck %s --check-prefix=BLOCKS
// RUN: sed 's/devices = 1 device/devices = 2 device/' %s | cs-opt --cs-parameter-server-pipeline="servers=2 min-block-elements=1 density=0.25 min-elements=4" -o /dev/null
// RUN: sed 's/of "w" :/of "w" {cs.density = 0.125 : f64} :/' %s | cs-opt --cs-parameter-server-pipeline | FileCheck %s --check-prefix=ASKED
// RUN: sed 's/of "w" :/of "w" {cs.density = 0.125 : f64} :/' %s | not cs-opt --insert-dist-comm="mode=parameter-server sync-mode=async" 2>&1 | FileCheck %s --check-prefix=ASKED-ASYNC

// Two trainers, two servers: "w" is cut into two blocks, of each of which a trainer selects
// 3 of 12 elements; its residual is that of the whole. "b" is too small.

cs.cluster @lab nodes = 2 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>

// CHECK-LABEL: func.func @step(
// CHECK-SAME: %[[E:[a-z0-9]*]]: !cs.placed<tensor<6x4xf32>, device 0> {cs.per_rank, cs.state = "w.residual"})
// CHECK-SAME: !cs.placed<tensor<6x4xf32>, device 0> {cs.updates = "w.residual"})
// CHECK: %[[G:.*]] = cs.fragment "compute.1"
// CHECK: %[[TOP:.*]]:3 = cs.fragment "top_k.w" on 0 (%[[G]], %[[E]]) cost <flops = 48, bytes = 432, ns = 0> : {{.*}} -> (!cs.placed<tensor<1x6xi32, #cs.coordinates<tensor<3x4xf32>>>, device 0>, !cs.placed<tensor<1x6xi32, #cs.coordinates<tensor<3x4xf32>>>, device 0>, !cs.placed<tensor<6x4xf32>, device 0>)
// CHECK: cs.top_k "exact" {{.*}} : (tensor<3x4xf32>, tensor<3x4xf32>) -> (tensor<3xf32>, tensor<3xi32>, tensor<3x4xf32>)
// CHECK: cs.top_k "exact"
// CHECK: cs.send "w.block0" %[[TOP]]#0 to #{{.*}} of @server.0 : !cs.placed<tensor<1x6xi32, #cs.coordinates<tensor<3x4xf32>>>, device 0>
// CHECK: cs.send "w.block1" %[[TOP]]#1 to #{{.*}} of @server.1
// CHECK: cs.send "b.block0" {{.*}} : !cs.placed<tensor<1xf32>, device 0>
// CHECK: return {{.*}}, %[[TOP]]#2 :
// CHECK-LABEL: func.func @server.0
// CHECK: cs.collect "w.block0" by mean from @step : !cs.placed<tensor<3x4xf32>, device 0>

// PLAN: key: "w.block0"
// PLAN: lists {
// PLAN-NEXT: entries: 3
// PLAN-NEXT: values: F32

// WHY: gradient "w": lists of 2 blocks to servers, 48 of 96 bytes sent by a node
// WHY: gradient "b": dense: it has fewer than 4 elements

// ALL-LABEL: func.func @step(
// ALL-SAME: tensor<6x4xf32>, device 0> {cs.per_rank, cs.state = "w.residual"}, %{{[a-z0-9]*}}: !cs.placed<tensor<6x4xf32>, device 0> {cs.per_rank, cs.state = "w.velocity"}
// ALL-SAME: tensor<1xi32>, device 0> {cs.per_rank, cs.state = "w.step"}
// ALL-SAME: tensor<2xf32>, device 0> {cs.per_rank, cs.state = "w.threshold.block0"}
// ALL-SAME: tensor<2xf32>, device 0> {cs.per_rank, cs.state = "w.threshold.block1"}
// ALL-SAME: tensor<2xf32>, device 0> {cs.per_rank, cs.state = "b.velocity"}
// ALL: cs.fragment "unsent.w"
// ALL: cs.fragment "top_k.w"
// ALL: cs.scatter_clear
// ALL: cs.send "w.block0" {{.*}}tensor<1x5xi32, #cs.coordinates<tensor<3x4xf32>, i8>>
// ALL: cs.fragment "correct.b"

// RULES: cs.fragment "top_k.w"
// RULES-NOT: cs.fragment "top_k.b"

// HALVES: gradient "w": dense: its lists would have 96 of 96 bytes
// METHOD: error: 'cs.send' op of "w" cannot use method hitopk with parameter servers: method must be auto or dense
// ASYNC: error: 'func.func' op has sparse gradients, which need sync-mode=sync, got: async
// HALF: error: 'func.func' op has sparse gradients, which need sync-mode=sync, got: half_async
// SECOND: error: 'func.func' op cannot have second moments with parameter servers, whose optimizer sees the sum: second-moment must be 0, got: 0.5
// DEVICES: error: 'func.func' op cannot have an unsent rate on nodes of 2 devices: their parameters are the owner's
// BLOCKS: error: 'cs.send' op of "w" cannot be sparse: its blocks are combined on several devices

// ASKED: cs.fragment "top_k.w"
// ASKED-NOT: cs.density
// ASKED-ASYNC: error: 'cs.gradient' op 'cs.density' needs sync-mode=sync, got: async

func.func @step(%w: tensor<6x4xf32> {cs.param = "w"}, %b: tensor<2xf32> {cs.param = "b"}, %x: tensor<1x6x4xf32> {cs.batch = "x"},
                %y: tensor<1x2xf32> {cs.batch = "y"})
    -> (tensor<6x4xf32> {cs.updates = "w"}, tensor<2xf32> {cs.updates = "b"}) attributes {cs.step} {
  %gx = tensor.collapse_shape %x [[0, 1], [2]] : tensor<1x6x4xf32> into tensor<6x4xf32>
  %gw = arith.addf %gx, %w : tensor<6x4xf32>
  %g = cs.gradient %gw of "w" : tensor<6x4xf32>
  %gy = tensor.collapse_shape %y [[0, 1]] : tensor<1x2xf32> into tensor<2xf32>
  %gb = arith.addf %gy, %b : tensor<2xf32>
  %h = cs.gradient %gb of "b" : tensor<2xf32>
  %u = arith.subf %w, %g : tensor<6x4xf32>
  %v = arith.subf %b, %h : tensor<2xf32>
  return %u, %v : tensor<6x4xf32>, tensor<2xf32>
}
