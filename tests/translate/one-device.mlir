// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// By hand, --replicate-devices is forgotten easily: of each node, the other devices have no samples then.

// RUN: cs-opt --insert-dist-comm --schedule-comm --expand-collectives %s -o %t.mlir
// RUN: cs-translate --mlir-to-plan %t.mlir -o %t.plan 2>&1 | FileCheck %s
// RUN: cs-opt --insert-dist-comm --assign-devices --schedule-comm --expand-collectives %s | cs-translate --mlir-to-plan -o %t.plan 2>&1 | FileCheck %s
// CHECK: warning: takes one part of the batch for each node, on device 0 of 3: for one of each device, run --replicate-devices directly behind --insert-dist-comm
// CHECK-NOT: warning
// It is as it is said, where it is.
// RUN: sed 's/cs.step}/cs.step, cs.global_batch = 8 : i64}/' %t.mlir | cs-translate --mlir-to-plan -o %t.plan 2>&1 | count 0
// RUN: cs-opt --cs-all-reduce-pipeline %s | cs-translate --mlir-to-plan -o %t.plan 2>&1 | count 0
// RUN: sed 's/devices = 3/devices = 1/' %t.mlir | cs-translate --mlir-to-plan -o %t.plan 2>&1 | count 0

cs.cluster @lab nodes = 2 devices = 3 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
func.func @step(%w: tensor<4xf32> {cs.param = "w"}, %v: tensor<4xf32> {cs.param = "v"}, %x: tensor<4xf32> {cs.batch = "x"})
    -> (tensor<4xf32> {cs.updates = "w"}, tensor<4xf32> {cs.updates = "v"}) attributes {cs.step} {
  %g = arith.mulf %w, %x : tensor<4xf32>
  %g1 = cs.gradient %g of "w" : tensor<4xf32>
  %h = arith.mulf %v, %g : tensor<4xf32>
  %h1 = cs.gradient %h of "v" : tensor<4xf32>
  %w1 = arith.subf %w, %g1 : tensor<4xf32>
  %v1 = arith.subf %v, %h1 : tensor<4xf32>
  return %w1, %v1 : tensor<4xf32>, tensor<4xf32>
}
// An evaluation runs on one device.
func.func @eval(%w: tensor<4xf32> {cs.param = "w"}, %x: tensor<4xf32> {cs.batch = "x"}) -> (tensor<f32> {cs.metric = "m"}) {
  %zero = arith.constant dense<0.0> : tensor<f32>
  %m = linalg.reduce ins(%x : tensor<4xf32>) outs(%zero : tensor<f32>) dimensions = [0]
    (%a: f32, %b: f32) {
      %c = arith.addf %a, %b : f32
      linalg.yield %c : f32
    }
  return %m : tensor<f32>
}
