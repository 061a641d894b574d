// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: %cs-opt --insert-dist-comm %s | FileCheck %s

cs.cluster @test nodes = 4 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>

// One argument for all of them, those in loops included. What is made of it goes
// through the gradient, into a metric, or is averaged.

// CHECK-LABEL: func.func @step(
// CHECK-SAME: %[[W:.*]]: !cs.placed<tensor<4xf32>, device 0> {cs.param = "w"}, %[[S:[^:]*]]: {{[^%]*}}{cs.state = "s"}, %[[X:[^:]*]]: {{[^%]*}}{cs.batch = "x"}, %[[I:[^:]*]]: !cs.placed<tensor<i32>, device 0> {cs.worker_index})
// CHECK: %[[F:.*]]:2 = cs.fragment "compute.0" on 0 (%[[I]], %[[X]])
// CHECK-NEXT: ^bb0(%[[J:[^:]*]]: tensor<i32>
// CHECK: scf.for
// CHECK-NEXT: arith.sitofp %[[J]] : tensor<i32>
// CHECK-NOT: cs.worker_index
// CHECK: %[[G:.*]] = cs.all_reduce "w" mean %[[F]]#1
// CHECK: %[[S1:.*]] = cs.fragment "compute.1" on 0 (%[[S]], %[[F]]#0)
// CHECK: %[[A:.*]] = cs.all_reduce "state.s" mean %[[S1]]
// CHECK: %[[U:.*]] = cs.fragment "update.w" on 0 (%[[W]], %[[G]]) deferred
// CHECK: return %[[U]], %[[A]]
func.func @step(%w: tensor<4xf32> {cs.param = "w"}, %s: tensor<f32> {cs.state = "s"}, %x: tensor<4xf32> {cs.batch = "x"})
    -> (tensor<4xf32> {cs.updates = "w"}, tensor<f32> {cs.updates = "s"}) attributes {cs.step} {
  %i = cs.worker_index : tensor<i32>
  %f = arith.sitofp %i : tensor<i32> to tensor<f32>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %g = scf.for %k = %c0 to %c4 step %c1 iter_args(%a = %x) -> tensor<4xf32> {
    %j = cs.worker_index : tensor<i32>
    %jf = arith.sitofp %j : tensor<i32> to tensor<f32>
    %v = tensor.extract %jf[] : tensor<f32>
    %b = tensor.insert %v into %a[%k] : tensor<4xf32>
    scf.yield %b : tensor<4xf32>
  }
  %g1 = cs.gradient %g of "w" : tensor<4xf32>
  %w1 = arith.subf %w, %g1 : tensor<4xf32>
  %s1 = arith.addf %s, %f : tensor<f32>
  return %w1, %s1 : tensor<4xf32>, tensor<f32>
}

// CHECK-LABEL: func.func @eval(
// CHECK-SAME: %[[I:[^:]*]]: !cs.placed<tensor<i32>, device 0> {cs.worker_index}) -> (
// CHECK: %[[F:.*]] = cs.fragment "compute.0" on 0 (%[[I]])
// CHECK: cs.reduce "metric.index" mean %[[F]] to 0
func.func @eval() -> (tensor<f32> {cs.metric = "index"}) {
  %i = cs.worker_index : tensor<i32>
  %f = arith.sitofp %i : tensor<i32> to tensor<f32>
  return %f : tensor<f32>
}

// An argument that is there already is the one.
// CHECK-LABEL: func.func @given(
// CHECK-SAME: %[[I:[^:]*]]: !cs.placed<tensor<i32>, device 0> {cs.worker_index}) -> (
// CHECK: cs.fragment "compute.0" on 0 (%[[I]]) cost
func.func @given(%i: tensor<i32> {cs.worker_index}) -> (tensor<f32> {cs.metric = "index"}) {
  %j = cs.worker_index : tensor<i32>
  %k = arith.addi %i, %j : tensor<i32>
  %f = arith.sitofp %k : tensor<i32> to tensor<f32>
  return %f : tensor<f32>
}
