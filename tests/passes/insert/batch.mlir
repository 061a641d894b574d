// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: cs-opt --insert-dist-comm --split-input-file --verify-diagnostics %s

cs.cluster @lab nodes = 4 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
// expected-error @below {{global batch of 62 samples is not divisible by 4 workers}}
func.func @step(%w: tensor<16xf32> {cs.param = "w"}, %x: tensor<16xf32> {cs.batch = "x"})
    attributes {cs.step, cs.global_batch = 62 : i64} {
  %g = cs.gradient %x of "w" : tensor<16xf32>
  return
}

// -----

cs.cluster @lab nodes = 4 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
// expected-error @below {{global batch must match workers x local batch 4 x 16 = 64, got: 32}}
func.func @step(%w: tensor<16xf32> {cs.param = "w"}, %x: tensor<16xf32> {cs.batch = "x"})
    attributes {cs.step, cs.global_batch = 32 : i64} {
  %g = cs.gradient %x of "w" : tensor<16xf32>
  return
}

// -----

// Against the default cluster, which the batch gives its 3 nodes.
// expected-error @below {{global batch of 62 samples is not divisible by 3 workers}}
func.func @step(%w: tensor<16xf32> {cs.param = "w"}, %x: tensor<16xf32> {cs.batch = "x"})
    attributes {cs.step, cs.global_batch = 62 : i64} {
  %g = cs.gradient %x of "w" : tensor<16xf32>
  return
}

// -----

// expected-error @below {{argument 2: batch "y" must match the 16 samples of argument 1, got: 8}}
func.func @step(%w: tensor<16xf32> {cs.param = "w"}, %x: tensor<16xf32> {cs.batch = "x"}, %y: tensor<8xf32> {cs.batch = "y"})
    attributes {cs.step, cs.global_batch = 32 : i64} {
  %g = cs.gradient %x of "w" : tensor<16xf32>
  return
}

// -----

// expected-error @below {{argument 1: batch "x" has no samples}}
func.func @step(%w: tensor<0xf32> {cs.param = "w"}, %x: tensor<0xf32> {cs.batch = "x"})
    attributes {cs.step, cs.global_batch = 32 : i64} {
  %g = cs.gradient %x of "w" : tensor<0xf32>
  return
}

// -----

// expected-error @below {{has cs.global_batch, but no argument with cs.batch}}
func.func @step(%w: tensor<4xf32> {cs.param = "w"}) attributes {cs.step, cs.global_batch = 32 : i64} {
  %g = cs.gradient %w of "w" : tensor<4xf32>
  return
}

// -----

// expected-note @below {{the other one is here}}
cs.cluster @lab nodes = 4 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
// expected-error @below {{must be the only cluster of the module}}
cs.cluster @lab2 nodes = 4 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
