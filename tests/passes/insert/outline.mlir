// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: %cs-opt --insert-dist-comm --split-input-file %s | FileCheck %s

// Numbers and indices go from fragment to fragment as tensors of rank 0; what a
// nested region uses comes in, too; constants are repeated; dead ops vanish.

// CHECK-LABEL: func.func @values(
// CHECK: cs.fragment "compute.0" on 0 (%arg2)
// CHECK: cs.fragment "compute.1" on 0 (%arg2)
// CHECK-SAME: -> (!cs.placed<tensor<f32>, device 0>, !cs.placed<tensor<i64>, device 0>)
// CHECK: arith.constant 0 : index
// CHECK: %[[S:.*]] = tensor.extract
// CHECK: %[[I:.*]] = arith.index_cast
// CHECK-NEXT: tensor.from_elements %[[S]] : tensor<f32>
// CHECK-NEXT: %[[I64:.*]] = arith.index_cast %[[I]] : index to i64
// CHECK-NEXT: tensor.from_elements %[[I64]] : tensor<i64>
// CHECK: cs.fragment "compute.2"
// CHECK-NOT: math.exp
// CHECK-DAG: arith.constant 0 : index
// CHECK-DAG: tensor.extract %{{.*}}[] : tensor<f32>
// CHECK-DAG: %[[IN:.*]] = tensor.extract %{{.*}}[] : tensor<i64>
// CHECK-DAG: arith.index_cast %[[IN]] : i64 to index
// CHECK: scf.for
// CHECK: return
func.func @values(%w: tensor<4xf32> {cs.param = "w"}, %b: tensor<4xf32> {cs.param = "b"},
                  %x: tensor<4xf32> {cs.batch = "x"})
    -> (tensor<4xf32> {cs.updates = "w"}, tensor<4xf32> {cs.updates = "b"}) attributes {cs.step} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %gb = arith.addf %x, %x : tensor<4xf32>
  %s = tensor.extract %x[%c0] : tensor<4xf32>
  %si = arith.fptosi %s : f32 to i64
  %i = arith.index_cast %si : i64 to index
  %dead = math.exp %x : tensor<4xf32>
  %again = math.exp %gb : tensor<4xf32>
  %gw = scf.for %k = %c0 to %i step %c1 iter_args(%acc = %w) -> tensor<4xf32> {
    %t = tensor.insert %s into %acc[%k] : tensor<4xf32>
    scf.yield %t : tensor<4xf32>
  }
  %gb1 = cs.gradient %gb of "b" : tensor<4xf32>
  %gw1 = cs.gradient %gw of "w" : tensor<4xf32>
  %b1 = arith.subf %b, %gb1 : tensor<4xf32>
  return %gw1, %b1 : tensor<4xf32>, tensor<4xf32>
}

// -----

// Arguments and results of communication go straight through; a value may be
// returned twice; a gradient may be an argument.

// CHECK-LABEL: func.func @through(
// CHECK-SAME: %[[W:[a-z0-9]+]]: {{.*}}"w"}, %[[K:[a-z0-9]+]]: {{.*}}"k"}, %[[X:[a-z0-9]+]]:
// CHECK-NEXT: %[[G:.*]] = cs.all_reduce "w" mean %[[X]]
// CHECK-NEXT: %[[P:.*]] = cs.reduce "metric.p" mean %[[X]] to 0
// CHECK-NEXT: %[[Q:.*]] = cs.reduce "metric.q" mean %[[G]] to 0
// CHECK-NEXT: return %[[G]], %[[K]], %[[P]], %[[Q]]
func.func @through(%w: tensor<4xf32> {cs.param = "w"}, %k: tensor<4xf32> {cs.state = "k"},
                   %x: tensor<4xf32> {cs.batch = "x"})
    -> (tensor<4xf32> {cs.updates = "w"}, tensor<4xf32> {cs.updates = "k"},
        tensor<4xf32> {cs.metric = "p"}, tensor<4xf32> {cs.metric = "q"}) attributes {cs.step} {
  %g1 = cs.gradient %x of "w" : tensor<4xf32>
  return %g1, %k, %x, %g1 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// -----

// CHECK-LABEL: func.func @twice(
// CHECK: %[[U:.*]] = cs.fragment "update.a" {{.*}} deferred
// CHECK: return %[[U]], %[[U]]
func.func @twice(%a: tensor<4xf32> {cs.param = "a"}, %b: tensor<4xf32> {cs.param = "b"},
                 %x: tensor<4xf32> {cs.batch = "x"})
    -> (tensor<4xf32> {cs.updates = "a"}, tensor<4xf32> {cs.updates = "b"}) attributes {cs.step} {
  %g1 = cs.gradient %x of "a" : tensor<4xf32>
  %a1 = arith.subf %a, %g1 : tensor<4xf32>
  return %a1, %a1 : tensor<4xf32>, tensor<4xf32>
}

// -----

// One op makes two gradients: one fragment, two communications. A parameter
// without new value is constant over the run, and no reason to cut.

// CHECK-LABEL: func.func @pair(
// CHECK: %[[F:.*]]:2 = cs.fragment "compute.0"
// CHECK: scf.if
// CHECK: cs.all_reduce "a" mean %[[F]]#0
// CHECK-NEXT: cs.all_reduce "b" mean %[[F]]#1
// CHECK-NOT: compute.1
func.func @pair(%a: tensor<4xf32> {cs.param = "a"}, %b: tensor<4xf32> {cs.param = "b"},
                %fixed: tensor<4xf32> {cs.param = "fixed"}, %x: tensor<4xf32> {cs.batch = "x"},
                %p: tensor<1xi1> {cs.batch = "p"})
    -> (tensor<4xf32> {cs.updates = "a"}, tensor<4xf32> {cs.updates = "b"}) attributes {cs.step} {
  %c0 = arith.constant 0 : index
  %cond = tensor.extract %p[%c0] : tensor<1xi1>
  %t = arith.addf %x, %fixed : tensor<4xf32>
  %g:2 = scf.if %cond -> (tensor<4xf32>, tensor<4xf32>) {
    scf.yield %t, %x : tensor<4xf32>, tensor<4xf32>
  } else {
    scf.yield %x, %t : tensor<4xf32>, tensor<4xf32>
  }
  %ga = cs.gradient %g#0 of "a" : tensor<4xf32>
  %gb = cs.gradient %g#1 of "b" : tensor<4xf32>
  return %ga, %gb : tensor<4xf32>, tensor<4xf32>
}
