// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// A step with everything that a plan describes: slots, arena, in-place
// communication, a copy, dependences within and across steps.
// RUN: cs-translate --mlir-to-plan --plan-summary %s -o %t.plan 2> %t.summary
// RUN: FileCheck %s --check-prefix=SUMMARY < %t.summary
// RUN: cs-translate --plan-to-text %t.plan | FileCheck %s

// SUMMARY: arena bytes: 128
// SUMMARY-NEXT: scratch bytes: 0
// SUMMARY-NEXT: fragments: 4
// SUMMARY-NEXT: compiled fragments: 3
// SUMMARY-NEXT: loop nests: 3
// SUMMARY-NEXT: kernels: 0
// SUMMARY-NEXT: code bytes: {{[1-9][0-9]*}}

// CHECK: schema_version: 1
// Exchange (1) and x86-64-v3 (3).
// CHECK: required_features: 10
// CHECK: nodes: 2
// CHECK: slots {
// CHECK:   name: "w"
// CHECK-NEXT: type {
// CHECK-NEXT:   element: F32
// CHECK-NEXT:   shape: [1]
// CHECK: slots {
// CHECK:   name: "old"
// CHECK-NEXT: kind: STATE
// The step comes first, whatever the order in the module.
// CHECK: functions {
// CHECK-NEXT: name: "step"
// CHECK-NEXT: is_step: true
// CHECK-NEXT: arena_bytes: 128

cs.cluster @pair nodes = 2 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>

!v = !cs.placed<tensor<1xf32>, device 0>
#identity = affine_map<(d0) -> (d0)>

func.func @init() -> (!v {cs.updates = "w"}, !v {cs.updates = "old"}) {
  %w = cs.fragment "init" on 0 () : () -> !v {
    %c = arith.constant dense<1.0> : tensor<1xf32>
    cs.return %c : tensor<1xf32>
  }
  return %w, %w : !v, !v
}

func.func @step(%w: !v {cs.param = "w"}, %old: !v {cs.state = "old"}, %x: !v {cs.batch = "x"})
    -> (!v {cs.updates = "w"}, !v {cs.updates = "old"}, !v {cs.metric = "h"}) attributes {cs.step} {
  // The same body twice: compiled once.
  %h = cs.fragment "first" on 0 (%w, %x) : (!v, !v) -> !v {
  ^bb0(%a: tensor<1xf32>, %b: tensor<1xf32>):
    %e = tensor.empty() : tensor<1xf32>
    %r = linalg.mul ins(%a, %b : tensor<1xf32>, tensor<1xf32>) outs(%e : tensor<1xf32>) -> tensor<1xf32>
    cs.return %r : tensor<1xf32>
  }
  %g = cs.fragment "second" on 0 (%h, %x) : (!v, !v) -> !v {
  ^bb0(%a: tensor<1xf32>, %b: tensor<1xf32>):
    %e = tensor.empty() : tensor<1xf32>
    %r = linalg.mul ins(%a, %b : tensor<1xf32>, tensor<1xf32>) outs(%e : tensor<1xf32>) -> tensor<1xf32>
    cs.return %r : tensor<1xf32>
  }
  %f = cs.start "w" priority 3 (%g) : (!v) -> !cs.future<!v> {
  ^bb0(%y: !v):
    %p = cs.exchange %y chunks 2 rounds 1 sum scale 5.0e-01
        send <parts affine_map<(r, s) -> ((r + 1) mod 2, 1)> to affine_map<(r, s) -> ((r + 1) mod 2)>>
        recv <parts affine_map<(r, s) -> (r, 1)> to affine_map<(r, s) -> ((r + 1) mod 2)>> : !v
    %q = cs.exchange %p chunks 2 rounds 1 replace
        send <parts affine_map<(r, s) -> (r, 1)> to affine_map<(r, s) -> ((r + 1) mod 2)>>
        recv <parts affine_map<(r, s) -> ((r + 1) mod 2, 1)> to affine_map<(r, s) -> ((r + 1) mod 2)>> : !v
    cs.return %q : !v
  }
  %m = cs.await %f : !cs.future<!v>
  %n = cs.fragment "update" on 0 (%w, %m) deferred : (!v, !v) -> !v {
  ^bb0(%a: tensor<1xf32>, %b: tensor<1xf32>):
    %e = tensor.empty() : tensor<1xf32>
    %r = linalg.sub ins(%a, %b : tensor<1xf32>, tensor<1xf32>) outs(%e : tensor<1xf32>) -> tensor<1xf32>
    cs.return %r : tensor<1xf32>
  }
  // "old" becomes what "w" was: a copy.
  return %n, %w, %h : !v, !v, !v
}

// Buffers: w, old, x, h, g, the new w, the new old.
// CHECK: buffers {
// CHECK-NEXT: kind: SLOT_CURRENT
// CHECK: name: "w"
// CHECK: buffers {
// CHECK-NEXT: kind: SLOT_CURRENT
// CHECK: slot: 1
// CHECK: buffers {
// CHECK-NEXT: kind: BATCH
// CHECK: batch: "x"
// CHECK: buffers {
// CHECK-NEXT: type {
// CHECK: buffers {
// CHECK-NEXT: type {
// CHECK: buffers {
// CHECK-NEXT: kind: SLOT_NEXT
// CHECK: buffers {
// CHECK-NEXT: kind: SLOT_NEXT
// CHECK: slot: 1

// The first reader of w waits for the previous step's update; that its output
// is a metric gives it memory of its own.
// CHECK: instructions {
// CHECK-NEXT: name: "first"
// CHECK-NEXT: dependences {
// CHECK-NEXT:   instruction: 3
// CHECK-NEXT:   distance: 1
// CHECK-NEXT: }
// CHECK: symbol: "frag_[[MUL:[0-9]+]]"
// CHECK-NEXT: inputs: [0, 2]
// CHECK-NEXT: outputs: [3]

// The gradient's memory is read by the update of the previous step.
// CHECK: instructions {
// CHECK-NEXT: name: "second"
// CHECK-NEXT: dependences {
// CHECK-NEXT:   instruction: 3
// CHECK-NEXT:   distance: 1
// CHECK-NEXT: }
// CHECK: symbol: "frag_[[MUL]]"

// In place on the gradient.
// CHECK: instructions {
// CHECK-NEXT: name: "w"
// CHECK-NEXT: dependences {
// CHECK-NEXT:   instruction: 1
// CHECK-NEXT: }
// CHECK: priority: 3
// CHECK: key: "w"
// CHECK-NEXT: source_op: "all_reduce"
// CHECK-NEXT: buffer: 4
// CHECK-NEXT: phases {
// CHECK-NEXT: chunks: 2
// CHECK-NEXT: rounds: 1
// CHECK-NEXT: combine: SUM
// CHECK: op: MOD
// CHECK: scale: 0.5
// CHECK: phases {

// CHECK: instructions {
// CHECK-NEXT: name: "update"
// CHECK: deferred: true
// CHECK: inputs: [0, 4]
// CHECK-NEXT: outputs: [5]
// CHECK: instructions {
// CHECK-NEXT: name: "old"
// CHECK: copy {
// CHECK: target: 6
// CHECK: outputs {
// CHECK-NEXT: metric: "h"
// CHECK-NEXT: buffer: 3
// CHECK: functions {
// CHECK-NEXT: name: "init"
// CHECK: objects {
// CHECK-NEXT: target: "x86_64-unknown-linux-gnu;x86-64-v3"
// CHECK: locations: {{.*}}plan.mlir:
// CHECK: roles {
// CHECK-NEXT: name: "worker"
// CHECK-NEXT: count: 2
// CHECK-NEXT: functions: [0, 1]
