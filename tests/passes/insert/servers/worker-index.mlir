// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: %cs-opt --insert-dist-comm="mode=parameter-server" %s | FileCheck %s

cs.cluster @lab nodes = 2 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>

// Trainers have an index, servers have none.

// CHECK-LABEL: func.func @step(
// CHECK-SAME: %[[I:[^:]*]]: !cs.placed<tensor<i32>, device 0> {cs.worker_index})
// CHECK: %[[F:.*]] = cs.fragment "compute.0" on 0 (%[[I]])
// CHECK: cs.send "w" %[[F]]
// CHECK-LABEL: func.func @server.0(
// CHECK-NOT: cs.worker_index
func.func @step(%w: tensor<f32> {cs.param = "w"}) -> (tensor<f32> {cs.updates = "w"}) attributes {cs.step} {
  %i = cs.worker_index : tensor<i32>
  %f = arith.sitofp %i : tensor<i32> to tensor<f32>
  %g = cs.gradient %f of "w" : tensor<f32>
  %w1 = arith.subf %w, %g : tensor<f32>
  return %w1 : tensor<f32>
}
