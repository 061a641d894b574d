// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: %cs-opt --insert-dist-comm %s | FileCheck %s
// RUN: %cs-opt --insert-dist-comm=reduction=sum %s | FileCheck %s --check-prefix=SUM

// A dense layer with momentum. The bias is read after the product, so it must
// not be fetched before; each gradient ends a fragment; the decay of the
// momentum goes along with the update; the loss is off the critical path.

cs.cluster @pair nodes = 2 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>

// CHECK-LABEL: func.func @step(
// CHECK-SAME: %[[W:[a-z0-9]+]]: !cs.placed<tensor<8x4xf32>, device 0> {cs.param = "w"},
// CHECK-SAME: %[[B:[a-z0-9]+]]: !cs.placed<tensor<4xf32>, device 0> {cs.param = "b"},
// CHECK-SAME: %[[M:[a-z0-9]+]]: !cs.placed<tensor<8x4xf32>, device 0> {cs.state = "m"},
// CHECK-SAME: %[[X:[a-z0-9]+]]: !cs.placed<tensor<2x8xf32>, device 0> {cs.batch = "x"})
// CHECK-SAME: -> (!cs.placed<tensor<8x4xf32>, device 0> {cs.updates = "w"}, !cs.placed<tensor<4xf32>, device 0> {cs.updates = "b"},
// CHECK-SAME: !cs.placed<tensor<8x4xf32>, device 0> {cs.updates = "m"}, !cs.placed<tensor<f32>, device 0> {cs.metric = "loss"})
// CHECK-SAME: attributes {cs.global_batch = 4 : i64, cs.step}
func.func @step(%w: tensor<8x4xf32> {cs.param = "w"}, %b: tensor<4xf32> {cs.param = "b"},
                %m: tensor<8x4xf32> {cs.state = "m"}, %x: tensor<2x8xf32> {cs.batch = "x"})
    -> (tensor<8x4xf32> {cs.updates = "w"}, tensor<4xf32> {cs.updates = "b"},
        tensor<8x4xf32> {cs.updates = "m"}, tensor<f32> {cs.metric = "loss"})
    attributes {cs.step, cs.global_batch = 4 : i64} {
  %e = tensor.empty() : tensor<2x4xf32>
  %c0 = arith.constant 0.0 : f32
  %z = linalg.fill ins(%c0 : f32) outs(%e : tensor<2x4xf32>) -> tensor<2x4xf32>
  // CHECK: %[[F0:.*]] = cs.fragment "compute.0" on 0 (%[[X]], %[[W]]) cost <flops = 128, bytes = 224, ns = 0>
  // CHECK: arith.constant
  // CHECK: tensor.empty
  // CHECK: linalg.fill
  // CHECK: linalg.matmul
  // CHECK-NEXT: cs.return %{{.*}} : tensor<2x4xf32>
  %y = linalg.matmul ins(%x, %w : tensor<2x8xf32>, tensor<8x4xf32>) outs(%z : tensor<2x4xf32>) -> tensor<2x4xf32>
  // CHECK: %[[F1:.*]]:2 = cs.fragment "compute.1" on 0 (%[[B]], %[[F0]])
  // CHECK: linalg.broadcast
  // CHECK: arith.addf
  // CHECK: linalg.reduce
  // CHECK: cs.return %{{.*}}, %{{.*}} : tensor<2x4xf32>, tensor<4xf32>
  // CHECK-NEXT: }
  // CHECK-NEXT: %[[GB:.*]] = cs.all_reduce "b" mean %[[F1]]#1 : !cs.placed<tensor<4xf32>, device 0>
  %be = linalg.broadcast ins(%b : tensor<4xf32>) outs(%e : tensor<2x4xf32>) dimensions = [0]
  %yb = arith.addf %y, %be : tensor<2x4xf32>
  %i4 = tensor.empty() : tensor<4xf32>
  %z4 = linalg.fill ins(%c0 : f32) outs(%i4 : tensor<4xf32>) -> tensor<4xf32>
  %gb = linalg.reduce ins(%yb : tensor<2x4xf32>) outs(%z4 : tensor<4xf32>) dimensions = [0]
      (%a: f32, %c: f32) { %s = arith.addf %a, %c : f32 linalg.yield %s : f32 }
  // CHECK-NEXT: %[[F2:.*]] = cs.fragment "compute.2" on 0 (%[[X]], %[[F1]]#0)
  // CHECK: linalg.transpose
  // CHECK: linalg.matmul
  // CHECK: %[[GW:.*]] = cs.all_reduce "w" mean %[[F2]] : !cs.placed<tensor<8x4xf32>, device 0>
  %e8 = tensor.empty() : tensor<8x4xf32>
  %z8 = linalg.fill ins(%c0 : f32) outs(%e8 : tensor<8x4xf32>) -> tensor<8x4xf32>
  %xt0 = tensor.empty() : tensor<8x2xf32>
  %xt = linalg.transpose ins(%x : tensor<2x8xf32>) outs(%xt0 : tensor<8x2xf32>) permutation = [1, 0]
  %gw = linalg.matmul ins(%xt, %yb : tensor<8x2xf32>, tensor<2x4xf32>) outs(%z8 : tensor<8x4xf32>) -> tensor<8x4xf32>
  // CHECK-NEXT: %[[F3:.*]] = cs.fragment "compute.3" on 0 (%[[F1]]#0)
  // CHECK: linalg.reduce
  // CHECK: %[[L:.*]] = cs.reduce "metric.loss" mean %[[F3]] to 0 : !cs.placed<tensor<f32>, device 0>
  // CHECK-NEXT: %[[UB:.*]] = cs.fragment "update.b" on 0 (%[[B]], %[[GB]]) deferred cost <flops = 4, bytes = 48, ns = 0>
  // CHECK-NOT: cs.fragment
  // CHECK: arith.subf
  // CHECK: %[[UW:.*]]:2 = cs.fragment "update.w" on 0 (%[[M]], %[[GW]], %[[W]]) deferred
  // CHECK: arith.constant
  // CHECK-NEXT: arith.mulf
  // CHECK-NEXT: arith.addf
  // CHECK-NEXT: arith.subf
  // CHECK: return %[[UW]]#1, %[[UB]], %[[UW]]#0, %[[L]]
  // Marked at the end, as front ends do: issued when made all the same.
  %gw1 = cs.gradient %gw of "w" : tensor<8x4xf32>
  %gb1 = cs.gradient %gb of "b" : tensor<4xf32>
  %beta = arith.constant dense<0.5> : tensor<8x4xf32>
  %bm = arith.mulf %m, %beta : tensor<8x4xf32>
  %m1 = arith.addf %bm, %gw1 : tensor<8x4xf32>
  %w1 = arith.subf %w, %m1 : tensor<8x4xf32>
  %b1 = arith.subf %b, %gb1 : tensor<4xf32>
  %l0 = tensor.empty() : tensor<f32>
  %lz = linalg.fill ins(%c0 : f32) outs(%l0 : tensor<f32>) -> tensor<f32>
  %l = linalg.reduce ins(%yb : tensor<2x4xf32>) outs(%lz : tensor<f32>) dimensions = [0, 1]
      (%a: f32, %c: f32) { %s = arith.addf %a, %c : f32 linalg.yield %s : f32 }
  return %w1, %b1, %m1, %l : tensor<8x4xf32>, tensor<4xf32>, tensor<8x4xf32>, tensor<f32>
}

// SUM: cs.all_reduce "b" sum
// SUM: cs.all_reduce "w" sum
// Metrics are averaged all the same.
// SUM: cs.reduce "metric.loss" mean
