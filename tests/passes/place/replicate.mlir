// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: %cs-opt --replicate-devices %s | FileCheck %s
// RUN: cs-opt --replicate-devices %s -o %t1
// RUN: cs-opt --replicate-devices %t1 -o %t2
// RUN: cmp %t1 %t2
// RUN: %cs-opt --replicate-devices %s --remarks-filter=replicate-devices -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

cs.cluster @node nodes = 2 devices = 3 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>

!t = !cs.placed<tensor<4xf32>, device 0>
!s = !cs.placed<tensor<f32>, device 0>
!n = !cs.placed<tensor<i32>, device 0>

// REMARK: "w": mean of 3 devices on device 0, 32 bytes copied
// REMARK: "metric.loss": mean of 3 devices on device 0, 8 bytes copied
// REMARK: @step: 1 fragments on each of 3 devices

// The forward pass reads w, but not the momentum; the step count is nobody's
// but the owner's; what the fragment makes of the count is the owner's too.

// CHECK-LABEL: func.func @step(
// CHECK-SAME: %[[W0:.*]]: !cs.placed<tensor<4xf32>, device 0> {cs.param = "w"}, %[[W1:.*]]: !cs.placed<tensor<4xf32>, device 1> {cs.param = "w"}, %[[W2:.*]]: !cs.placed<tensor<4xf32>, device 2> {cs.param = "w"},
// CHECK-SAME: %[[M:.*]]: !cs.placed<tensor<4xf32>, device 0> {cs.state = "m"}, %[[C:.*]]: !cs.placed<tensor<i32>, device 0> {cs.state = "count"},
// CHECK-SAME: %[[X0:.*]]: !cs.placed<tensor<4xf32>, device 0> {cs.batch = "x"}, %[[X1:.*]]: !cs.placed<tensor<4xf32>, device 1> {cs.batch = "x"}, %[[X2:.*]]: !cs.placed<tensor<4xf32>, device 2> {cs.batch = "x"})
// CHECK-SAME: -> (!cs.placed<tensor<4xf32>, device 0> {cs.updates = "w"}, !cs.placed<tensor<4xf32>, device 1> {cs.updates = "w"}, !cs.placed<tensor<4xf32>, device 2> {cs.updates = "w"},
// CHECK-SAME: !cs.placed<tensor<4xf32>, device 0> {cs.updates = "m"}, !cs.placed<tensor<i32>, device 0> {cs.updates = "count"}, !cs.placed<tensor<f32>, device 0> {cs.metric = "loss"})
// CHECK: %[[F0:.*]]:2 = cs.fragment "compute.0" on 0 (%[[W0]], %[[X0]])
// CHECK: %[[F1:.*]]:2 = cs.fragment "compute.0.device1" on 1 (%[[W1]], %[[X1]])
// CHECK: %[[F2:.*]]:2 = cs.fragment "compute.0.device2" on 2 (%[[W2]], %[[X2]])
// CHECK: %[[G1:.*]] = cs.copy %[[F1]]#0 : !cs.placed<tensor<4xf32>, device 1> -> !cs.placed<tensor<4xf32>, device 0>
// CHECK-NEXT: %[[G2:.*]] = cs.copy %[[F2]]#0 : !cs.placed<tensor<4xf32>, device 2> -> !cs.placed<tensor<4xf32>, device 0>
// CHECK-NEXT: %[[SUM:.*]] = cs.fragment "sum.w" on 0 (%[[F0]]#0, %[[G1]], %[[G2]]) deferred cost <flops = 12, bytes = 64, ns = 0>
// CHECK: %[[A:.*]] = arith.addf
// CHECK-NEXT: %[[B:.*]] = arith.addf %[[A]]
// CHECK-NEXT: %[[CST:.*]] = arith.constant dense<0.333333343> : tensor<4xf32>
// CHECK-NEXT: %[[MEAN:.*]] = arith.mulf %[[B]], %[[CST]]
// CHECK-NEXT: cs.return %[[MEAN]]
// CHECK: %[[R:.*]] = cs.all_reduce "w" mean %[[SUM]]
// CHECK: %[[L:.*]] = cs.fragment "sum.metric.loss" on 0 (%[[F0]]#1, %{{.*}}, %{{.*}}) deferred
// CHECK: %[[LR:.*]] = cs.reduce "metric.loss" mean %[[L]] to 0
// CHECK: cs.fragment "count" on 0 (%[[C]])
// CHECK-NOT: count.device
// CHECK: %[[U:.*]]:2 = cs.fragment "update.w" on 0 (%[[W0]], %[[M]], %[[R]]) deferred
// CHECK: %[[N1:.*]] = cs.copy %[[U]]#0 : !cs.placed<tensor<4xf32>, device 0> -> !cs.placed<tensor<4xf32>, device 1>
// CHECK-NEXT: %[[N2:.*]] = cs.copy %[[U]]#0 : !cs.placed<tensor<4xf32>, device 0> -> !cs.placed<tensor<4xf32>, device 2>
// CHECK-NEXT: return %[[U]]#0, %[[N1]], %[[N2]], %[[U]]#1, %{{.*}}, %[[LR]]
func.func @step(%w: !t {cs.param = "w"}, %m: !t {cs.state = "m"}, %n: !n {cs.state = "count"}, %x: !t {cs.batch = "x"})
    -> (!t {cs.updates = "w"}, !t {cs.updates = "m"}, !n {cs.updates = "count"}, !s {cs.metric = "loss"})
    attributes {cs.step} {
  %g, %l = cs.fragment "compute.0" on 0 (%w, %x) : (!t, !t) -> (!t, !s) {
  ^bb0(%a: tensor<4xf32>, %b: tensor<4xf32>):
    %p = arith.mulf %a, %b : tensor<4xf32>
    %c0 = arith.constant 0 : index
    %v = tensor.extract %p[%c0] : tensor<4xf32>
    %s = tensor.from_elements %v : tensor<f32>
    cs.return %p, %s : tensor<4xf32>, tensor<f32>
  }
  %r = cs.all_reduce "w" mean %g : !t
  %lr = cs.reduce "metric.loss" mean %l to 0 : !s
  %n1 = cs.fragment "count" on 0 (%n) : (!n) -> !n {
  ^bb0(%a: tensor<i32>):
    %one = arith.constant dense<1> : tensor<i32>
    %s = arith.addi %a, %one : tensor<i32>
    cs.return %s : tensor<i32>
  }
  %w1, %m1 = cs.fragment "update.w" on 0 (%w, %m, %r) deferred : (!t, !t, !t) -> (!t, !t) {
  ^bb0(%a: tensor<4xf32>, %b: tensor<4xf32>, %c: tensor<4xf32>):
    %d = arith.addf %b, %c : tensor<4xf32>
    %e = arith.subf %a, %d : tensor<4xf32>
    cs.return %e, %d : tensor<4xf32>, tensor<4xf32>
  }
  return %w1, %m1, %n1, %lr : !t, !t, !n, !s
}

// Evaluation is done by all devices, and reads a state that in the step only
// the owner has: it gets to all of them.

// CHECK-LABEL: func.func @eval(
// CHECK-SAME: device 0> {cs.param = "w"}, %{{.*}}: !cs.placed<tensor<4xf32>, device 1> {cs.param = "w"}
// CHECK-SAME: device 2> {cs.batch = "x"}) -> (!cs.placed<tensor<4xf32>, device 0> {cs.metric = "y"})
// CHECK: cs.fragment "eval.device2" on 2
// CHECK: cs.fragment "sum.y" on 0
func.func @eval(%w: !t {cs.param = "w"}, %x: !t {cs.batch = "x"}) -> (!t {cs.metric = "y"}) {
  %y = cs.fragment "eval" on 0 (%w, %x) cost <flops = 1, bytes = 1, ns = 0> : (!t, !t) -> !t
  return %y : !t
}

// Initial values are made once.

// CHECK-LABEL: func.func @init(
// CHECK-SAME: -> (!cs.placed<tensor<4xf32>, device 0> {cs.updates = "w"}, !cs.placed<tensor<4xf32>, device 1> {cs.updates = "w"}, !cs.placed<tensor<4xf32>, device 2> {cs.updates = "w"}, !cs.placed<tensor<4xf32>, device 0> {cs.updates = "m"})
// CHECK-NEXT: %[[I:.*]]:2 = cs.fragment "init" on 0
// CHECK-NEXT: %[[I1:.*]] = cs.copy %[[I]]#0
// CHECK-NEXT: %[[I2:.*]] = cs.copy %[[I]]#0
// CHECK-NEXT: return %[[I]]#0, %[[I1]], %[[I2]], %[[I]]#1
func.func @init() -> (!t {cs.updates = "w"}, !t {cs.updates = "m"}) {
  %w, %m = cs.fragment "init" on 0 () cost <flops = 1, bytes = 1, ns = 0> : () -> (!t, !t)
  return %w, %m : !t, !t
}

// A server has one device.
// CHECK-LABEL: func.func @server.0(
// CHECK-NEXT: return
func.func @server.0(%w: !t {cs.param = "w"}) -> (!t {cs.updates = "w"}) attributes {cs.server = 0 : i64} {
  return %w : !t
}
