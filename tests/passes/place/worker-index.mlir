// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: %cs-opt --replicate-devices %s | FileCheck %s

cs.cluster @node nodes = 2 devices = 2 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>

!s = !cs.placed<tensor<f32>, device 0>
!i = !cs.placed<tensor<i32>, device 0>

// Every device has an index of its own, and what is made of it is combined.

// CHECK-LABEL: func.func @step(
// CHECK-SAME: %[[I0:.*]]: !cs.placed<tensor<i32>, device 0> {cs.worker_index}, %[[I1:.*]]: !cs.placed<tensor<i32>, device 1> {cs.worker_index})
// CHECK: %[[F0:.*]] = cs.fragment "f" on 0 (%[[I0]])
// CHECK: %[[F1:.*]] = cs.fragment "f.device1" on 1 (%[[I1]])
// CHECK: %[[C1:.*]] = cs.copy %[[F1]]
// CHECK: %[[SUM:.*]] = cs.fragment "sum.w" on 0 (%[[F0]], %[[C1]])
// CHECK: cs.all_reduce "w" mean %[[SUM]]
func.func @step(%i: !i {cs.worker_index}) -> (!s {cs.updates = "w"}) attributes {cs.step} {
  %f = cs.fragment "f" on 0 (%i) cost <flops = 1, bytes = 8, ns = 0> : (!i) -> !s {
  ^bb0(%a: tensor<i32>):
    %b = arith.sitofp %a : tensor<i32> to tensor<f32>
    cs.return %b : tensor<f32>
  }
  %r = cs.all_reduce "w" mean %f : !s
  return %r : !s
}
