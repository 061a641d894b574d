// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

cs.cluster @lab nodes = 2 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
!t = !cs.placed<tensor<f32>, device 0>
func.func @step(%v: !t {cs.state = "v", cs.per_rank}) -> (!t {cs.updates = "v"}) attributes {cs.step} {
  %w = cs.fragment "layer" on 0 (%v) cost <flops = 1, bytes = 1, ns = 1> : (!t) -> !t
  return %w : !t
}
