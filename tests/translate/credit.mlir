// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The credit of a step's schedule is what the runtime keeps to.

// RUN: cs-translate --mlir-to-plan %s | cs-translate --plan-to-text | FileCheck %s

// CHECK: functions {
// CHECK: name: "step"
// CHECK: credit_bytes: 4096
// CHECK: functions {
// CHECK: name: "eval"
// CHECK-NOT: credit_bytes

!t = !cs.placed<tensor<1xf32>, device 0>
cs.cluster @lab nodes = 2 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
func.func @step(%w: !t {cs.param = "w"}) -> (!t {cs.updates = "w"})
    attributes {cs.step, cs.schedule = #cs.schedule<policy = "solver", period_ns = 9, bound_ns = 9, any_order_bound_ns = 9, credit = 4096>} {
  %n = cs.fragment "update" on 0 (%w) cost <flops = 1, bytes = 1, ns = 9> : (!t) -> !t
  return %n : !t
}
func.func @eval(%w: !t {cs.param = "w"}) -> (!t {cs.metric = "m"}) {
  %n = cs.fragment "forward" on 0 (%w) cost <flops = 1, bytes = 1, ns = 9> : (!t) -> !t
  return %n : !t
}
