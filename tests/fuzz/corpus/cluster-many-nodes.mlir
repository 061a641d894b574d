// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: cs-opt --expand-collectives --split-input-file --verify-diagnostics %s
// RUN: not cs-opt --split-input-file --expand-collectives=algorithm=star %s 2>&1 | FileCheck %s --check-prefix=OPTION
// OPTION: error: algorithm must be auto, ring or halving-doubling, got: star

cs.cluster @lab nodes = 4096 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
func.func @level_one(%v: !cs.placed<tensor<8xf32>, device 0>) -> !cs.placed<tensor<8xf32>, device 0> {
  // expected-error@+1 {{'cs.all_reduce' op is not in a cs.start; run --schedule-comm first}}
  %r = cs.all_reduce "w" mean %v : !cs.placed<tensor<8xf32>, device 0>
  return %r : !cs.placed<tensor<8xf32>, device 0>
}

