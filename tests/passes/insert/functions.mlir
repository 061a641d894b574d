// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: %cs-opt --insert-dist-comm %s | FileCheck %s

// All public functions with attributes of cs follow the step. Helpers are
// inlined; what has nothing to do with cs stays as it is.

// CHECK-LABEL: func.func @init()
// CHECK-SAME: -> (!cs.placed<tensor<4xf32>, device 0> {cs.updates = "w"})
// CHECK: %[[F:.*]] = cs.fragment "compute.0" on 0 ()
// CHECK: arith.constant dense<1.000000e+00>
// CHECK-NEXT: cs.return
// CHECK: return %[[F]]
func.func @init() -> (tensor<4xf32> {cs.updates = "w"}) {
  %c = arith.constant dense<1.0> : tensor<4xf32>
  return %c : tensor<4xf32>
}

func.func private @square(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = arith.mulf %x, %x : tensor<4xf32>
  return %y : tensor<4xf32>
}

// CHECK-NOT: @square
// CHECK-LABEL: func.func @step(
// CHECK: cs.fragment "compute.0"
// CHECK: arith.mulf
// CHECK: cs.all_reduce "w"
func.func @step(%w: tensor<4xf32> {cs.param = "w"}, %x: tensor<4xf32> {cs.batch = "x"})
    -> (tensor<4xf32> {cs.updates = "w"}) attributes {cs.step} {
  %y = func.call @square(%w) : (tensor<4xf32>) -> tensor<4xf32>
  %g = arith.mulf %y, %x : tensor<4xf32>
  %g1 = cs.gradient %g of "w" : tensor<4xf32>
  %w1 = arith.subf %w, %g1 : tensor<4xf32>
  return %w1 : tensor<4xf32>
}

// Nothing is late in a function that no step follows: one fragment.
// CHECK-LABEL: func.func @eval(
// CHECK: %[[F:.*]]:2 = cs.fragment "compute.0"
// CHECK-NOT: cs.fragment
// CHECK-DAG: %[[A:.*]] = cs.reduce "metric.accuracy" mean %[[F]]
// CHECK-DAG: %[[L:.*]] = cs.reduce "metric.loss" mean %[[F]]
// CHECK: return %[[A]], %[[L]]
func.func @eval(%w: tensor<4xf32> {cs.param = "w"}, %x: tensor<4xf32> {cs.batch = "x"})
    -> (tensor<f32> {cs.metric = "accuracy"}, tensor<f32> {cs.metric = "loss"}) {
  %c0 = arith.constant 0 : index
  %y = arith.mulf %x, %x : tensor<4xf32>
  %z = arith.mulf %y, %w : tensor<4xf32>
  %a = tensor.extract %y[%c0] : tensor<4xf32>
  %b = tensor.extract %z[%c0] : tensor<4xf32>
  %at = tensor.from_elements %a : tensor<f32>
  %bt = tensor.from_elements %b : tensor<f32>
  return %at, %bt : tensor<f32>, tensor<f32>
}

// CHECK-LABEL: func.func @unrelated(
// CHECK-SAME: tensor<?xf32>
func.func @unrelated(%x: tensor<?xf32>) -> tensor<?xf32> {
  return %x : tensor<?xf32>
}
