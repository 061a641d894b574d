// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
cs.cluster @lab nodes = 4 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
func.func @step(%a: tensor<8xf32> {cs.param = "aaa"}, %b: tensor<8xf32> {cs.param = "aaa.1"}, %c: tensor<8xf32> {cs.param = "aab"},
                %x: tensor<1x1xi8> {cs.batch = "batch"})
    -> (tensor<8xf32> {cs.updates = "aaa"}, tensor<8xf32> {cs.updates = "aaa.1"}, tensor<8xf32> {cs.updates = "aab"}) attributes {cs.step} {
  %d:3 = cs.profiled "backward" (%x, %a, %b, %c) cost <flops = 0, bytes = 0, ns = 1000>
      : (tensor<1x1xi8>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>)
  %g0 = cs.gradient %d#0 of "aaa" : tensor<8xf32>
  %g1 = cs.gradient %d#1 of "aaa.1" : tensor<8xf32>
  %g2 = cs.gradient %d#2 of "aab" : tensor<8xf32>
  return %g0, %g1, %g2 : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
}
