// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
cs.cluster @lab nodes = 4 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
func.func @step(%w0: tensor<1000xf32> {cs.param = "layer0"}, %w1: tensor<2000xf32> {cs.param = "layer1"},
                %x: tensor<1x1xi8> {cs.batch = "batch"})
    -> (tensor<1000xf32> {cs.updates = "layer0"}, tensor<2000xf32> {cs.updates = "layer1"}) attributes {cs.step} {
  %a0 = cs.profiled "forward0" (%x, %w0) cost <flops = 0, bytes = 0, ns = 1000> : (tensor<1x1xi8>, tensor<1000xf32>) -> tensor<1xi8>
  %a1 = cs.profiled "forward1" (%a0, %w1) cost <flops = 0, bytes = 0, ns = 2000> : (tensor<1xi8>, tensor<2000xf32>) -> tensor<1xi8>
  %b1, %d1 = cs.profiled "backward1" (%a1, %w1) cost <flops = 0, bytes = 0, ns = 3000> : (tensor<1xi8>, tensor<2000xf32>) -> (tensor<1xi8>, tensor<2000xf32>)
  %g1 = cs.gradient %d1 of "layer1" : tensor<2000xf32>
  %d0 = cs.profiled "backward0" (%b1) cost <flops = 0, bytes = 0, ns = 4000> : (tensor<1xi8>) -> tensor<1000xf32>
  %g0 = cs.gradient %d0 of "layer0" : tensor<1000xf32>
  %n0 = cs.profiled "update.layer0" (%w0, %g0) cost <flops = 0, bytes = 0, ns = 500> : (tensor<1000xf32>, tensor<1000xf32>) -> tensor<1000xf32>
  %n1 = cs.profiled "update.layer1" (%w1, %g1) cost <flops = 0, bytes = 0, ns = 600> : (tensor<2000xf32>, tensor<2000xf32>) -> tensor<2000xf32>
  return %n0, %n1 : tensor<1000xf32>, tensor<2000xf32>
}
