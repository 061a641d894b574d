// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: %cs-opt --insert-dist-comm="mode=parameter-server servers=2" %s | FileCheck %s --check-prefixes=CHECK,SLICED
// RUN: %cs-opt --insert-dist-comm="mode=parameter-server servers=2 min-block-elements=1048576" %s | FileCheck %s --check-prefixes=CHECK,WHOLE
// RUN: %cs-opt --insert-dist-comm="mode=parameter-server servers=2 slice=false" %s | FileCheck %s --check-prefixes=CHECK,WHOLE
// RUN: %cs-opt --insert-dist-comm="mode=parameter-server servers=2 sync-mode=async" %s | FileCheck %s --check-prefix=ASYNC
// RUN: %cs-opt --insert-dist-comm="mode=parameter-server servers=2 sync-mode=half-async merge=4" %s | FileCheck %s --check-prefix=HALF
// RUN: %cs-opt --insert-dist-comm="mode=parameter-server servers=2 reduction=sum" %s | FileCheck %s --check-prefix=SUM
// RUN: %cs-opt --insert-dist-comm="mode=parameter-server servers=2 max-block-elements=300000" %s | FileCheck %s --check-prefix=CUT

// One fully connected layer of 1000 x 1000 with bias, mean square error, plain
// SGD, two servers: the case that the classic system published. The bias is sent
// before the product that makes the gradient of the weights, the blocks of the
// weights directly behind it. Nothing is a barrier. Messages cost so much that blocks
// are sent whole (parts.mlir).

cs.cluster @lab nodes = 2 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000, overhead_ns = 10000000>

// CUT: cs.send "fc_b" %{{.*}} of @server.0
// CUT: %[[B:.*]]:4 = cs.split %{{.*}} : !cs.placed<tensor<1000x1000xf32>, device 0>
// CUT: cs.send "fc_w.block0" %[[B]]#0 to {{.*}} of @server.0 : !cs.placed<tensor<250x1000xf32>, device 0>
// CUT: cs.send "fc_w.block1" %[[B]]#1 to {{.*}} of @server.1
// CUT: cs.send "fc_w.block2" %[[B]]#2 to {{.*}} of @server.0
// CUT: cs.send "fc_w.block3" %[[B]]#3 to {{.*}} of @server.1
// CUT: func.func @server.1(
// CUT-SAME: cs.rows = array<i64: 250, 500>
// CUT-SAME: cs.rows = array<i64: 750, 1000>

// CHECK-LABEL: func.func @step(
// CHECK-SAME: attributes {cs.servers = #cs.servers<count = 2, sync_mode = sync, merge = 1>, cs.step}
// CHECK: cs.fragment "compute.{{[0-9]+}}"
// CHECK: %[[FB:.*]]:3 = cs.fragment "compute.{{[0-9]+}}"
// CHECK: linalg.reduce
// CHECK: cs.return
// CHECK-NEXT: }
// SLICED-NEXT: cs.send "fc_b" %[[FB]]#{{[0-9]}} to #{{.*}} of @server.0 : !cs.placed<tensor<1000xf32>, device 0>
// WHOLE-NEXT: cs.send "fc_b" %[[FB]]#{{[0-9]}} to #{{.*}} of @server.1 : !cs.placed<tensor<1000xf32>, device 0>
// CHECK-NEXT: %[[G:.*]] = cs.fragment "compute.{{[0-9]+}}"
// CHECK: linalg.matmul
// CHECK-NEXT: cs.return
// CHECK-NEXT: }
// SLICED-NEXT: %[[B:.*]]:2 = cs.split %[[G]] : !cs.placed<tensor<1000x1000xf32>, device 0> -> !cs.placed<tensor<500x1000xf32>, device 0>, !cs.placed<tensor<500x1000xf32>, device 0>
// SLICED-NEXT: cs.send "fc_w.block0" %[[B]]#0 to #{{.*}} of @server.0 : !cs.placed<tensor<500x1000xf32>, device 0>
// SLICED-NEXT: cs.send "fc_w.block1" %[[B]]#1 to #{{.*}} of @server.1 : !cs.placed<tensor<500x1000xf32>, device 0>
// WHOLE-NEXT: cs.send "fc_w" %[[G]] to #{{.*}} of @server.0 : !cs.placed<tensor<1000x1000xf32>, device 0>
// CHECK-NEXT: cs.fragment "compute.{{[0-9]+}}"
// CHECK: cs.send "metric.loss" %{{.*}} to #{{.*}} of @server.1 : !cs.placed<tensor<f32>, device 0>
// SLICED-NEXT: %[[NB:.*]] = cs.recv "fc_b.new" from #{{.*}} of @server.0 : !cs.placed<tensor<1000xf32>, device 0>
// SLICED-NEXT: %[[N0:.*]] = cs.recv "fc_w.block0.new" from #{{.*}} of @server.0 : !cs.placed<tensor<500x1000xf32>, device 0>
// SLICED-NEXT: %[[N1:.*]] = cs.recv "fc_w.block1.new" from #{{.*}} of @server.1 : !cs.placed<tensor<500x1000xf32>, device 0>
// SLICED-NEXT: %[[NW:.*]] = cs.concat %[[N0]], %[[N1]]
// WHOLE-NEXT: %[[NB:.*]] = cs.recv "fc_b.new" from #{{.*}} of @server.1 : !cs.placed<tensor<1000xf32>, device 0>
// WHOLE-NEXT: %[[NW:.*]] = cs.recv "fc_w.new" from #{{.*}} of @server.0 : !cs.placed<tensor<1000x1000xf32>, device 0>
// CHECK-NEXT: %[[LOSS:.*]] = cs.recv "metric.loss.mean" from #{{.*}} of @server.1 : !cs.placed<tensor<f32>, device 0>
// CHECK-NEXT: return %[[NW]], %[[NB]], %[[LOSS]]
// WHOLE-NOT: cs.concat

// SLICED: func.func @server.0(
// SLICED-SAME: %[[W:[a-z0-9]+]]: !cs.placed<tensor<500x1000xf32>, device 0> {cs.param = "fc_w", cs.rows = array<i64: 0, 500>},
// SLICED-SAME: %[[BIAS:[a-z0-9]+]]: !cs.placed<tensor<1000xf32>, device 0> {cs.param = "fc_b"})
// SLICED-SAME: -> (!cs.placed<tensor<500x1000xf32>, device 0> {cs.rows = array<i64: 0, 500>, cs.updates = "fc_w"}, !cs.placed<tensor<1000xf32>, device 0> {cs.updates = "fc_b"})
// SLICED-SAME: attributes {cs.server = 0 : i64}
// SLICED-NEXT: %[[GW:.*]] = cs.collect "fc_w.block0" by mean from @step : !cs.placed<tensor<500x1000xf32>, device 0>
// SLICED-NEXT: %[[UW:.*]] = cs.fragment "update.fc_w.block0" on 0 (%[[GW]], %[[W]]) cost <flops = 1000000, bytes = 6000000, ns = 0>
// SLICED: arith.constant dense<1.000000e-01> : tensor<500x1000xf32>
// SLICED-NEXT: arith.mulf %{{.*}} : tensor<500x1000xf32>
// SLICED-NEXT: arith.subf %{{.*}} : tensor<500x1000xf32>
// SLICED: cs.publish "fc_w.block0.new" %[[UW]] to @step : !cs.placed<tensor<500x1000xf32>, device 0>
// SLICED-NEXT: %[[GB:.*]] = cs.collect "fc_b" by mean from @step : !cs.placed<tensor<1000xf32>, device 0>
// SLICED-NEXT: %[[UB:.*]] = cs.fragment "update.fc_b" on 0 (%[[GB]], %[[BIAS]])
// SLICED: cs.publish "fc_b.new" %[[UB]] to @step
// SLICED-NEXT: return %[[UW]], %[[UB]]
// SLICED: func.func @server.1(
// SLICED-SAME: cs.rows = array<i64: 500, 1000>
// SLICED-SAME: attributes {cs.server = 1 : i64}
// SLICED: cs.collect "fc_w.block1" by mean from @step
// SLICED: cs.publish "fc_w.block1.new"
// SLICED-NEXT: %[[L:.*]] = cs.collect "metric.loss" by mean from @step : !cs.placed<tensor<f32>, device 0>
// SLICED-NEXT: cs.publish "metric.loss.mean" %[[L]] to @step : !cs.placed<tensor<f32>, device 0>
// SLICED-NEXT: return
// SLICED-NEXT: }

// WHOLE: func.func @server.0(%{{[a-z0-9]+}}: !cs.placed<tensor<1000x1000xf32>, device 0> {cs.param = "fc_w"})
// WHOLE-NEXT: cs.collect "fc_w" by mean from @step
// WHOLE: cs.publish "fc_w.new"
// WHOLE: func.func @server.1(%{{[a-z0-9]+}}: !cs.placed<tensor<1000xf32>, device 0> {cs.param = "fc_b"})
// WHOLE-NEXT: cs.collect "fc_b" by mean from @step
// WHOLE: cs.publish "fc_b.new"

// In the asynchronous modes a metric stays the trainer's own.

// ASYNC-NOT: "metric.loss
// ASYNC: cs.servers = #cs.servers<count = 2, sync_mode = async, merge = 1>
// ASYNC: cs.collect "fc_w.block0" each from @step : !cs.placed<tensor<500x1000xf32>, device 0>
// ASYNC: cs.publish "fc_w.block0.new"
// ASYNC: cs.collect "fc_b" each from @step
// ASYNC: cs.collect "fc_w.block1" each from @step
// ASYNC-NOT: "metric.loss

// HALF: cs.servers = #cs.servers<count = 2, sync_mode = half_async, merge = 4>
// HALF: cs.collect "fc_w.block0" each from @step
// HALF-NOT: "metric.loss

// SUM: cs.collect "fc_w.block0" by sum from @step
// SUM: cs.collect "fc_w.block1" by sum from @step
// SUM: cs.collect "metric.loss" by mean from @step

func.func @step(%w: tensor<1000x1000xf32> {cs.param = "fc_w"}, %b: tensor<1000xf32> {cs.param = "fc_b"},
                %x: tensor<4x1000xf32> {cs.batch = "x"}, %t: tensor<4x1000xf32> {cs.batch = "y"})
    -> (tensor<1000x1000xf32> {cs.updates = "fc_w"}, tensor<1000xf32> {cs.updates = "fc_b"},
        tensor<f32> {cs.metric = "loss"}) attributes {cs.step} {
  %c0 = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x1000xf32>
  %z = linalg.fill ins(%c0 : f32) outs(%e : tensor<4x1000xf32>) -> tensor<4x1000xf32>
  %y = linalg.matmul ins(%x, %w : tensor<4x1000xf32>, tensor<1000x1000xf32>) outs(%z : tensor<4x1000xf32>) -> tensor<4x1000xf32>
  %be = linalg.broadcast ins(%b : tensor<1000xf32>) outs(%e : tensor<4x1000xf32>) dimensions = [0]
  %yb = arith.addf %y, %be : tensor<4x1000xf32>
  %d = arith.subf %yb, %t : tensor<4x1000xf32>
  %scale = arith.constant dense<5.0e-04> : tensor<4x1000xf32>
  %dy = arith.mulf %d, %scale : tensor<4x1000xf32>
  %i = tensor.empty() : tensor<1000xf32>
  %zi = linalg.fill ins(%c0 : f32) outs(%i : tensor<1000xf32>) -> tensor<1000xf32>
  %gb = linalg.reduce ins(%dy : tensor<4x1000xf32>) outs(%zi : tensor<1000xf32>) dimensions = [0]
      (%p: f32, %q: f32) { %s = arith.addf %p, %q : f32 linalg.yield %s : f32 }
  %xt0 = tensor.empty() : tensor<1000x4xf32>
  %xt = linalg.transpose ins(%x : tensor<4x1000xf32>) outs(%xt0 : tensor<1000x4xf32>) permutation = [1, 0]
  %ew = tensor.empty() : tensor<1000x1000xf32>
  %zw = linalg.fill ins(%c0 : f32) outs(%ew : tensor<1000x1000xf32>) -> tensor<1000x1000xf32>
  %gw = linalg.matmul ins(%xt, %dy : tensor<1000x4xf32>, tensor<4x1000xf32>) outs(%zw : tensor<1000x1000xf32>) -> tensor<1000x1000xf32>
  %sq = arith.mulf %d, %d : tensor<4x1000xf32>
  %l0 = tensor.empty() : tensor<f32>
  %lz = linalg.fill ins(%c0 : f32) outs(%l0 : tensor<f32>) -> tensor<f32>
  %sum = linalg.reduce ins(%sq : tensor<4x1000xf32>) outs(%lz : tensor<f32>) dimensions = [0, 1]
      (%p: f32, %q: f32) { %s = arith.addf %p, %q : f32 linalg.yield %s : f32 }
  %gw1 = cs.gradient %gw of "fc_w" : tensor<1000x1000xf32>
  %gb1 = cs.gradient %gb of "fc_b" : tensor<1000xf32>
  %ratew = arith.constant dense<0.1> : tensor<1000x1000xf32>
  %rateb = arith.constant dense<0.1> : tensor<1000xf32>
  %uw = arith.mulf %gw1, %ratew : tensor<1000x1000xf32>
  %w1 = arith.subf %w, %uw : tensor<1000x1000xf32>
  %ub = arith.mulf %gb1, %rateb : tensor<1000xf32>
  %b1 = arith.subf %b, %ub : tensor<1000xf32>
  return %w1, %b1, %sum : tensor<1000x1000xf32>, tensor<1000xf32>, tensor<f32>
}
