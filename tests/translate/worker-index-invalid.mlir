// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: cs-translate --mlir-to-plan --split-input-file --verify-diagnostics %s -o %t

cs.cluster @lab nodes = 2 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
// expected-error @+1 {{argument 0 needs cs.param, cs.state, cs.batch or cs.worker_index}}
func.func @step(%i: !cs.placed<tensor<i32>, device 0>) {
  return
}

// -----

// A server works for all trainers.
cs.cluster @lab nodes = 2 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
!t = !cs.placed<tensor<4xf32>, device 0>
!i = !cs.placed<tensor<i32>, device 0>
func.func @step(%a: !t {cs.param = "a"}) -> (!t {cs.updates = "a"})
    attributes {cs.step, cs.servers = #cs.servers<count = 1, sync_mode = sync, merge = 1>} {
  return %a : !t
}
// expected-error @+1 {{argument 1 of a server must have cs.param or cs.state}}
func.func @server.0(%a: !t {cs.param = "a"}, %i: !i {cs.worker_index}) -> (!t {cs.updates = "a"}) attributes {cs.server = 0 : i64} {
  return %a : !t
}
