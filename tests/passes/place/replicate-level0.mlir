// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: %cs-opt --insert-dist-comm --replicate-devices --assign-devices --schedule-comm --expand-collectives --overlap-rpc-memcpy --verify-distributed %s | FileCheck %s

// RUN: %cs-opt --insert-dist-comm %s --remarks-filter=insert-dist-comm -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK
// REMARK: nodes have 2 devices: on device 0 until --replicate-devices

// From one device to two, all the way. The global batch counts the devices.

cs.cluster @node nodes = 2 devices = 2 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>

// CHECK-LABEL: func.func @step(
// CHECK: cs.fragment "compute.0" on 0
// CHECK: cs.fragment "compute.0.device1" on 1
// CHECK: cs.fragment "sum.w" on 0
// CHECK: cs.start "w.to_host"
// CHECK: cs.exchange
// CHECK: cs.fragment "sum.v" on 1
// CHECK: cs.fragment "update.w" on 0
// CHECK: cs.fragment "update.v" on 1
func.func @step(%w: tensor<4xf32> {cs.param = "w"}, %v: tensor<4xf32> {cs.param = "v"}, %x: tensor<4xf32> {cs.batch = "x"})
    -> (tensor<4xf32> {cs.updates = "w"}, tensor<4xf32> {cs.updates = "v"})
    attributes {cs.step, cs.global_batch = 16 : i64} {
  %g = arith.mulf %w, %x : tensor<4xf32>
  %g1 = cs.gradient %g of "w" : tensor<4xf32>
  %h = arith.mulf %v, %g : tensor<4xf32>
  %h1 = cs.gradient %h of "v" : tensor<4xf32>
  %w1 = arith.subf %w, %g1 : tensor<4xf32>
  %v1 = arith.subf %v, %h1 : tensor<4xf32>
  return %w1, %v1 : tensor<4xf32>, tensor<4xf32>
}
