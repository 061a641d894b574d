// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: %cs-opt --insert-dist-comm --split-input-file %s | FileCheck %s
// RUN: cs-opt --insert-dist-comm --split-input-file %s | cs-opt --schedule-comm --expand-collectives --split-input-file | FileCheck %s --check-prefix=LATER

// Fragments of profiled layers have the sum of their costs and no body; cuts are
// as always, behind gradients and before parameters.
// CHECK-LABEL: func.func @step
// CHECK: %[[F1:.*]] = cs.fragment "compute.0" on 0 (%arg2) cost <flops = 0, bytes = 0, ns = 10> {{[^{]*$}}
// CHECK-NEXT: %[[B2:.*]]:2 = cs.fragment "compute.1" on 0 (%[[F1]], %arg1) cost <flops = 0, bytes = 0, ns = 50> {{[^{]*$}}
// CHECK-NEXT: %[[G:.*]] = cs.all_reduce "w" mean %[[B2]]#1
// CHECK-NEXT: %[[B1:.*]] = cs.fragment "compute.2" on 0 (%[[B2]]#0) cost <flops = 0, bytes = 0, ns = 7> {{[^{]*$}}
// CHECK-NEXT: cs.all_reduce "b" mean %[[B1]]
// CHECK-NEXT: cs.fragment "update.w" on 0 (%arg1, %[[G]]) deferred cost <flops = 8, bytes = 48, ns = 0> {{[^{]*$}}
// LATER-LABEL: func.func @step
// LATER-NOT: cs.profiled
cs.cluster @lab nodes = 2 devices = 1 device = <kind = cpu, gflops = 2, gb_per_s = 10>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
func.func @step(%b: tensor<8xf32> {cs.param = "b"}, %w: tensor<4xf32> {cs.param = "w"}, %x: tensor<2x3xf32> {cs.batch = "x"})
    -> (tensor<8xf32> {cs.updates = "b"}, tensor<4xf32> {cs.updates = "w"}) attributes {cs.step} {
  %f1 = cs.profiled "f1" (%x) cost <flops = 0, bytes = 0, ns = 10> : (tensor<2x3xf32>) -> tensor<8xf32>
  %f2 = cs.profiled "f2" (%f1, %w) cost <flops = 0, bytes = 0, ns = 20> : (tensor<8xf32>, tensor<4xf32>) -> tensor<8xf32>
  %b2:2 = cs.profiled "b2" (%f2, %w) cost <flops = 0, bytes = 0, ns = 30> : (tensor<8xf32>, tensor<4xf32>) -> (tensor<8xf32>, tensor<4xf32>)
  %gw = cs.gradient %b2#1 of "w" : tensor<4xf32>
  %b1 = cs.profiled "b1" (%b2#0) cost <flops = 0, bytes = 0, ns = 7> : (tensor<8xf32>) -> tensor<8xf32>
  %gb = cs.gradient %b1 of "b" : tensor<8xf32>
  %nw = cs.profiled "uw" elementwise (%w, %gw) cost <flops = 8, bytes = 48, ns = 0> : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %nb = cs.profiled "ub" elementwise (%b, %gb) cost <flops = 16, bytes = 96, ns = 0> : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return %nb, %nw : tensor<8xf32>, tensor<4xf32>
}

// -----

// Where some are measured, the others are estimated from the device: max of 8 /
// 2 and 90 / 10 ns. Ops that compute have fragments of their own, and constants
// that only profiled ops use are dropped.
// CHECK-LABEL: func.func @mixed
// CHECK: %[[A:.*]] = cs.fragment "compute.0" on 0 (%arg1) cost <flops = 8, bytes = 90, ns = 14> {{[^{]*$}}
// CHECK-NEXT: %[[B:.*]] = cs.fragment "compute.1" on 0 (%[[A]]) {{.*}} {
// CHECK: math.exp
// CHECK: cs.return
// CHECK: %[[C:.*]] = cs.fragment "compute.2" on 0 (%[[B]]) cost <flops = 0, bytes = 0, ns = 3> {{[^{]*$}}
// CHECK-NEXT: %[[G:.*]] = cs.all_reduce "w" mean %[[C]]
// CHECK: cs.fragment "update.w" on 0 {{.*}} deferred {{.*}} {
// CHECK: arith.subf
cs.cluster @lab nodes = 2 devices = 1 device = <kind = cpu, gflops = 2, gb_per_s = 10>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
func.func @mixed(%w: tensor<4xf32> {cs.param = "w"}, %x: tensor<2x3xf32> {cs.batch = "x"})
    -> (tensor<4xf32> {cs.updates = "w"}) attributes {cs.step} {
  %one = arith.constant dense<1.0> : tensor<4xf32>
  %a = cs.profiled "a" (%x, %one) cost <flops = 0, bytes = 0, ns = 5> : (tensor<2x3xf32>, tensor<4xf32>) -> tensor<4xf32>
  %b = cs.profiled "b" (%a) cost <flops = 8, bytes = 90, ns = 0> : (tensor<4xf32>) -> tensor<4xf32>
  %e = math.exp %b : tensor<4xf32>
  %c = cs.profiled "c" (%e) cost <flops = 0, bytes = 0, ns = 3> : (tensor<4xf32>) -> tensor<4xf32>
  %g = cs.gradient %c of "w" : tensor<4xf32>
  %n = arith.subf %w, %g : tensor<4xf32>
  return %n : tensor<4xf32>
}
