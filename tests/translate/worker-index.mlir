// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: cs-opt --cs-all-reduce-pipeline %s | cs-translate --mlir-to-plan | cs-translate --plan-to-text | FileCheck %s

cs.cluster @node nodes = 2 devices = 2 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>

// A buffer that the runtime fills, for each device, and that fragments read. A
// reader that does not know of it refuses the plan: exchanges, AVX2, parts of
// buffers, devices and bit 11.

// CHECK: required_features: {{[0-9]+}}
// CHECK: kind: WORKER_INDEX
// CHECK-NEXT: type {
// CHECK-NEXT: element: I32
// CHECK-NEXT: }
// CHECK-NEXT: name: "worker_index"
// CHECK: kind: WORKER_INDEX
// CHECK-NEXT: type {
// CHECK-NEXT: element: I32
// CHECK-NEXT: }
// CHECK-NEXT: name: "worker_index"
// CHECK-NEXT: device: 1
func.func @step(%w: tensor<f32> {cs.param = "w"}) -> (tensor<f32> {cs.updates = "w"}) attributes {cs.step} {
  %i = cs.worker_index : tensor<i32>
  %f = arith.sitofp %i : tensor<i32> to tensor<f32>
  %g = cs.gradient %f of "w" : tensor<f32>
  %w1 = arith.subf %w, %g : tensor<f32>
  return %w1 : tensor<f32>
}
