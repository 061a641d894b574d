// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: cs-opt --cs-all-reduce-pipeline %s | cs-translate --mlir-to-plan -o %t.plan
// RUN: cs-opt --insert-dist-comm %s | FileCheck %s

// What only says where a result goes has no value, in another shape neither: each fragment has its own.
// CHECK: cs.fragment "compute.0" on 0 (%{{[a-z0-9]*}}) cost
// CHECK: tensor.empty
// CHECK-NEXT: tensor.collapse_shape
// CHECK: cs.fragment "compute.1" on 0 (%{{[a-z0-9]*}}) cost
// CHECK: tensor.empty
// CHECK-NEXT: tensor.collapse_shape
cs.cluster @lab nodes = 2 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
func.func @step(%w: tensor<4xf32> {cs.param = "w"}, %v: tensor<4xf32> {cs.param = "v"}, %x: tensor<4xf32> {cs.batch = "x"})
    -> (tensor<4xf32> {cs.updates = "w"}, tensor<4xf32> {cs.updates = "v"}) attributes {cs.step} {
  %e = tensor.empty() : tensor<2x2xf32>
  %c = tensor.collapse_shape %e [[0, 1]] : tensor<2x2xf32> into tensor<4xf32>
  %a = linalg.negf ins(%x : tensor<4xf32>) outs(%c : tensor<4xf32>) -> tensor<4xf32>
  %g = cs.gradient %a of "w" : tensor<4xf32>
  %b = linalg.exp ins(%v : tensor<4xf32>) outs(%c : tensor<4xf32>) -> tensor<4xf32>
  %h = cs.gradient %b of "v" : tensor<4xf32>
  %n = arith.addf %w, %g : tensor<4xf32>
  %m = arith.addf %v, %h : tensor<4xf32>
  return %n, %m : tensor<4xf32>, tensor<4xf32>
}
