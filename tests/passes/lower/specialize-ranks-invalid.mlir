// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: cs-opt --specialize-ranks --split-input-file --verify-diagnostics %s

cs.cluster @lab nodes = 4 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
func.func @step(%v: !cs.placed<tensor<8xf32>, device 0>) {
  return
}
// expected-error@+1 {{has the name that @step of rank 2 needs}}
func.func @step.rank2() {
  return
}

// -----

cs.cluster @lab nodes = 4 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
func.func @step(%v: !cs.placed<tensor<8xf32>, device 0>) {
  // expected-error@+1 {{peer of rank 0 must be a rank of @step, 0 to 3}}
  cs.send "a" %v to affine_map<(r) -> (r - 1)> of @step : !cs.placed<tensor<8xf32>, device 0>
  return
}

// -----

cs.cluster @lab nodes = 4 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
// expected-error@+1 {{'cs.count' must be an i64 of 1 to 4096, got: 0 : i64}}
func.func @step(%v: !cs.placed<tensor<8xf32>, device 0>) attributes {cs.count = 0 : i64} {
  return
}

// -----

cs.cluster @lab nodes = 1025 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
// expected-error@+1 {{runs on 1025 ranks; functions are made for at most 1024}}
func.func @step(%v: !cs.placed<tensor<8xf32>, device 0>) {
  return
}
