// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: cs-translate --mlir-to-plan %s -o %t.plan
// RUN: cs-translate --plan-to-text %t.plan | FileCheck %s

// A parameter that keeps its value by way of another device is written, and holds it.
cs.cluster @lab nodes = 1 devices = 2 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
// CHECK: kind: SLOT_NEXT
func.func @step(%a: !cs.placed<tensor<4xf32>, device 0> {cs.param = "a"})
    -> (!cs.placed<tensor<4xf32>, device 0> {cs.updates = "a"}) attributes {cs.step} {
  %0 = cs.copy %a : !cs.placed<tensor<4xf32>, device 0> -> !cs.placed<tensor<4xf32>, device 1>
  %1 = cs.copy %0 : !cs.placed<tensor<4xf32>, device 1> -> !cs.placed<tensor<4xf32>, device 0>
  return %1 : !cs.placed<tensor<4xf32>, device 0>
}
