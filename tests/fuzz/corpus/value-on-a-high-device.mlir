// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

!t = !cs.placed<tensor<20xf32>, device 3000>
cs.cluster @lab nodes = 2 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
func.func @step(%a: !t {cs.param = "a"}) -> (!t {cs.updates = "a"}) attributes {cs.step} {
  %r = cs.all_reduce "a" mean %a : !t
  return %r : !t
}
