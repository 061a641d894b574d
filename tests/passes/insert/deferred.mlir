// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: %cs-opt --insert-dist-comm --split-input-file %s | FileCheck %s

// Clipping by the global norm: the norm of each gradient waits for that gradient
// alone, the scale for all of them, and then the updates are apart again.

// CHECK-LABEL: func.func @clip(
// CHECK-SAME: %[[A:[a-z0-9]+]]: {{.*}}"a"}, %[[B:[a-z0-9]+]]: {{.*}}"b"}, %[[X:[a-z0-9]+]]:
func.func @clip(%a: tensor<4xf32> {cs.param = "a"}, %b: tensor<4xf32> {cs.param = "b"},
                %x: tensor<4xf32> {cs.batch = "x"})
    -> (tensor<4xf32> {cs.updates = "a"}, tensor<4xf32> {cs.updates = "b"}) attributes {cs.step} {
  // CHECK: cs.fragment "compute.0" on 0 (%[[A]], %[[X]])
  // CHECK: %[[GA:.*]] = cs.all_reduce "a"
  // CHECK: cs.fragment "compute.1" on 0 (%[[B]], %[[X]])
  // CHECK: %[[GB:.*]] = cs.all_reduce "b"
  %ga = arith.mulf %a, %x : tensor<4xf32>
  %ga1 = cs.gradient %ga of "a" : tensor<4xf32>
  %gb = arith.addf %b, %x : tensor<4xf32>
  %gb1 = cs.gradient %gb of "b" : tensor<4xf32>
  // CHECK: %[[NA:.*]] = cs.fragment "update.a" on 0 (%[[GA]]) deferred
  // CHECK: %[[NB:.*]] = cs.fragment "update.b" on 0 (%[[GB]]) deferred
  // CHECK: %[[S:.*]] = cs.fragment "shared" on 0 (%[[NA]], %[[NB]]) deferred
  // CHECK: %[[UA:.*]] = cs.fragment "update.a.1" on 0 (%[[GA]], %[[S]], %[[A]]) deferred
  // CHECK: %[[UB:.*]] = cs.fragment "update.b.1" on 0 (%[[GB]], %[[S]], %[[B]]) deferred
  // CHECK: return %[[UA]], %[[UB]]
  %na = arith.mulf %ga1, %ga1 : tensor<4xf32>
  %nb = arith.mulf %gb1, %gb1 : tensor<4xf32>
  %n = arith.addf %na, %nb : tensor<4xf32>
  %s = math.rsqrt %n : tensor<4xf32>
  %ca = arith.mulf %ga1, %s : tensor<4xf32>
  %cb = arith.mulf %gb1, %s : tensor<4xf32>
  %a1 = arith.subf %a, %ca : tensor<4xf32>
  %b1 = arith.subf %b, %cb : tensor<4xf32>
  return %a1, %b1 : tensor<4xf32>, tensor<4xf32>
}

// -----

// A gradient that is made from another one, after its communication.

// CHECK-LABEL: func.func @chain(
// CHECK: cs.fragment "compute.0"
// CHECK: %[[GA:.*]] = cs.all_reduce "a"
// CHECK: %[[F:.*]]:2 = cs.fragment "update.a" on 0 (%[[GA]], %arg0) deferred
// CHECK: cs.return
// CHECK-NEXT: }
// CHECK-NEXT: %[[GB:.*]] = cs.all_reduce "b" mean %[[F]]#1
// CHECK-NEXT: %[[GC:.*]] = cs.all_reduce "c" mean %[[GB]]
// CHECK: %[[UA:.*]] = cs.fragment "update.a.1" on 0 (%{{.*}}, %[[F]]#0) deferred
// CHECK: %[[UB:.*]] = cs.fragment "update.b" on 0 (%arg1, %[[GB]]) deferred
// CHECK: return %[[UA]], %[[UB]], %[[GC]]
func.func @chain(%a: tensor<4xf32> {cs.param = "a"}, %b: tensor<4xf32> {cs.param = "b"},
                 %c: tensor<4xf32> {cs.param = "c"}, %x: tensor<4xf32> {cs.batch = "x"})
    -> (tensor<4xf32> {cs.updates = "a"}, tensor<4xf32> {cs.updates = "b"},
        tensor<4xf32> {cs.updates = "c"}) attributes {cs.step} {
  %ga = arith.mulf %a, %x : tensor<4xf32>
  %ga1 = cs.gradient %ga of "a" : tensor<4xf32>
  %t = arith.mulf %ga1, %a : tensor<4xf32>
  %gb = arith.mulf %ga1, %t : tensor<4xf32>
  %gb1 = cs.gradient %gb of "b" : tensor<4xf32>
  %gc1 = cs.gradient %gb1 of "c" : tensor<4xf32>
  %a1 = arith.subf %a, %t : tensor<4xf32>
  %b1 = arith.subf %b, %gb1 : tensor<4xf32>
  return %a1, %b1, %gc1 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// -----

// The step size serves two updates: it stays in the compute order, in its place.
// What serves one update only moves into it.

// CHECK-LABEL: func.func @two_users(
// CHECK: %[[RATE:.*]] = cs.fragment "compute.0" on 0 (%arg2)
// CHECK: math.exp
// CHECK: cs.fragment "compute.1"
// CHECK: cs.all_reduce "a"
// CHECK: cs.fragment "compute.2"
// CHECK: cs.all_reduce "b"
// CHECK: cs.fragment "compute.3" on 0 (%arg2)
// CHECK: math.log
// CHECK: cs.fragment "update.a" on 0 (%arg0, %{{.*}}, %[[RATE]]) deferred
// CHECK: cs.fragment "update.b" on 0 (%{{.*}}, %[[RATE]], %arg1) deferred
func.func @two_users(%a: tensor<4xf32> {cs.param = "a"}, %b: tensor<4xf32> {cs.param = "b"},
                     %r: tensor<4xf32> {cs.state = "rate"}, %x: tensor<4xf32> {cs.batch = "x"})
    -> (tensor<4xf32> {cs.updates = "a"}, tensor<4xf32> {cs.updates = "b"},
        tensor<4xf32> {cs.updates = "rate"}) attributes {cs.step} {
  %rate = math.exp %r : tensor<4xf32>
  %decayed = arith.mulf %a, %a : tensor<4xf32>
  %ga = arith.mulf %a, %x : tensor<4xf32>
  %gb = arith.addf %b, %x : tensor<4xf32>
  %ga1 = cs.gradient %ga of "a" : tensor<4xf32>
  %gb1 = cs.gradient %gb of "b" : tensor<4xf32>
  %r1 = math.log %r : tensor<4xf32>
  %a0 = arith.addf %decayed, %ga1 : tensor<4xf32>
  %a1 = arith.mulf %a0, %rate : tensor<4xf32>
  %b0 = arith.mulf %gb1, %rate : tensor<4xf32>
  %b1 = arith.subf %b, %b0 : tensor<4xf32>
  return %a1, %b1, %r1 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}
