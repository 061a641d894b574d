// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A part of the batch that is a gradient as it is: every device adds its own.

// RUN: cs-opt --insert-dist-comm --replicate-devices %s | FileCheck %s

cs.cluster @lab nodes = 2 devices = 2 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>

// CHECK-LABEL: func.func @step(
// CHECK-SAME: %[[X0:arg[0-9]+]]: !cs.placed<tensor<4xf32>, device 0> {cs.batch = "x"}, %[[X1:arg[0-9]+]]: !cs.placed<tensor<4xf32>, device 1> {cs.batch = "x"}
// CHECK: %[[COPY:.*]] = cs.copy %[[X1]]
// CHECK: %[[SUM:[a-z_]+]] = cs.fragment "sum.r" on 0 (%[[X0]], %[[COPY]])
// CHECK: cs.all_reduce "r" mean %[[SUM]]
func.func @step(%r: tensor<4xf32> {cs.param = "r"}, %x: tensor<4xf32> {cs.batch = "x"})
    -> (tensor<4xf32> {cs.updates = "r"}) attributes {cs.step} {
  %g = cs.gradient %x of "r" : tensor<4xf32>
  %a = arith.subf %r, %g : tensor<4xf32>
  return %a : tensor<4xf32>
}
