// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: %cs-opt --schedule-comm %s | FileCheck %s
// RUN: %cs-opt --schedule-comm --remarks-filter=schedule-comm %s -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

!t = !cs.placed<tensor<4xf32>, device 0>

// Started where the operand is made, awaited where the result is used. The first
// layer's parameter is needed first in the next step, though its gradient comes
// last; one that two fragments of this step need comes before all of them.

// REMARK: "b": priority 2: first needed by "forward.1" of the next step, through "b"
// REMARK: "a": priority 1: first needed by "forward.0" of the next step, through "a"
// REMARK: "s": priority 0: first needed by "tail" of this step
// REMARK: "metric.l": priority 3: no compute waits for it
// REMARK: "unused": priority 3: no compute waits for it

// CHECK-LABEL: func.func @step(
func.func @step(%a: !t {cs.param = "a"}, %b: !t {cs.param = "b"}, %x: !t {cs.batch = "x"})
    -> (!t {cs.updates = "a"}, !t {cs.updates = "b"}, !t {cs.metric = "l"}, !t {cs.metric = "k"}) {
  // CHECK: cs.fragment "forward.0"
  // CHECK-NEXT: cs.fragment "forward.1"
  // CHECK-NEXT: %[[B:.*]] = cs.start "b" priority 2 (%{{.*}}#1) : (!cs.placed<tensor<4xf32>, device 0>) -> !cs.future<!cs.placed<tensor<4xf32>, device 0>> {
  // CHECK-NEXT: ^bb0(%[[IN:.*]]: !cs.placed<tensor<4xf32>, device 0>):
  // CHECK-NEXT: %[[R:.*]] = cs.all_reduce "b" mean %[[IN]]
  // CHECK-NEXT: cs.return %[[R]]
  // CHECK-NEXT: }
  // CHECK-NEXT: cs.fragment "backward.0"
  // CHECK-NEXT: %[[A:.*]] = cs.start "a" priority 1
  // CHECK: %[[S:.*]] = cs.start "s"
  // CHECK: %[[L:.*]] = cs.start "metric.l" priority 3
  // CHECK: %[[U:.*]] = cs.start "unused" priority 3
  // CHECK: %[[SV:.*]] = cs.await %[[S]]
  // CHECK-NEXT: cs.fragment "tail" on 0 (%[[SV]])
  // CHECK-NEXT: %[[BV:.*]] = cs.await %[[B]]
  // CHECK-NEXT: %[[UB:.*]] = cs.fragment "update.b" on 0 (%arg1, %[[BV]]) deferred
  // CHECK-NEXT: %[[AV:.*]] = cs.await %[[A]]
  // CHECK-NEXT: %[[UA:.*]] = cs.fragment "update.a" on 0 (%arg0, %[[AV]]) deferred
  // CHECK-NEXT: %[[LV:.*]] = cs.await %[[L]]
  // CHECK-NEXT: cs.await %[[U]]
  // CHECK-NEXT: return %[[UA]], %[[UB]], %[[LV]], %{{.*}}
  %h = cs.fragment "forward.0" on 0 (%a, %x) cost <flops = 1, bytes = 1, ns = 0> : (!t, !t) -> !t
  %l, %gb = cs.fragment "forward.1" on 0 (%b, %h) cost <flops = 1, bytes = 1, ns = 0> : (!t, !t) -> (!t, !t)
  %rb = cs.all_reduce "b" mean %gb : !t
  %ga = cs.fragment "backward.0" on 0 (%h, %a) cost <flops = 1, bytes = 1, ns = 0> : (!t, !t) -> !t
  %ra = cs.all_reduce "a" mean %ga : !t
  %rs = cs.all_reduce "s" max %ga : !t
  %rl = cs.reduce "metric.l" mean %l to 0 : !t
  %ru = cs.broadcast "unused" %l from 1 : !t
  %k = cs.fragment "tail" on 0 (%rs) cost <flops = 1, bytes = 1, ns = 0> : (!t) -> !t
  %b1 = cs.fragment "update.b" on 0 (%b, %rb) deferred cost <flops = 1, bytes = 1, ns = 0> : (!t, !t) -> !t
  %a1 = cs.fragment "update.a" on 0 (%a, %ra) deferred cost <flops = 1, bytes = 1, ns = 0> : (!t, !t) -> !t
  return %a1, %b1, %rl, %k : !t, !t, !t, !t
}

// A result that is returned as it is has the return wait; one communication may
// feed another; needs go through shared deferred fragments.
// CHECK-LABEL: func.func @chain(
// CHECK: %[[A:.*]] = cs.start "a" (%arg1)
// CHECK: %[[AV:.*]] = cs.await %[[A]]
// CHECK-NEXT: %[[B:.*]] = cs.start "b" (%[[AV]])
// CHECK: cs.fragment "first"
// CHECK-NEXT: %[[BV:.*]] = cs.await %[[B]]
// CHECK-NEXT: return %[[BV]]
func.func @chain(%a: !t {cs.param = "a"}, %x: !t {cs.batch = "x"}) -> (!t {cs.updates = "a"}) {
  %ra = cs.all_reduce "a" mean %x : !t
  %rb = cs.broadcast "b" %ra from 0 : !t
  %f = cs.fragment "first" on 0 (%a) cost <flops = 1, bytes = 1, ns = 0> : (!t) -> !t
  return %rb : !t
}

// CHECK-LABEL: func.func @nothing(
// CHECK-NEXT: return
func.func @nothing(%a: !t {cs.param = "a"}) -> (!t {cs.updates = "a"}) {
  return %a : !t
}
