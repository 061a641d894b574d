// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: cs-opt --split-input-file --verify-roundtrip %s | FileCheck %s

// By NCCL's model, each rank on a machine of its own: nothing has to be said.
// CHECK-LABEL: cs.cluster @alone
// CHECK-SAME: nccl = <>
cs.cluster @alone nodes = 4 devices = 1 device = <kind = cuda, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 2000, latency_ns = 1> inter = <mbit_per_s = 1000, latency_ns = 2> nccl = <machine_ranks = 1>

// -----

// CHECK-LABEL: cs.cluster @machines
// CHECK-SAME: nccl = <machine_ranks = 8>
cs.cluster @machines nodes = 16 devices = 1 device = <kind = cuda, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 2000, latency_ns = 1> inter = <mbit_per_s = 1000, latency_ns = 2> nccl = <machine_ranks = 8>

// -----

// Measured; times may stay the same, and be nothing.
// CHECK-LABEL: cs.cluster @measured
// CHECK-SAME: nccl = <ranks = 4, bytes = [8, 1024, 1048576], ns = [0, 12000, 12000]>
cs.cluster @measured nodes = 4 devices = 1 device = <kind = cuda, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 2000, latency_ns = 1> inter = <mbit_per_s = 1000, latency_ns = 2>
    nccl = <ranks = 4, bytes = [8, 1024, 1048576], ns = [0, 12000, 12000]>

// -----

// One size is enough.
// CHECK-LABEL: cs.cluster @one
// CHECK-SAME: nccl = <machine_ranks = 2, ranks = 2, bytes = [1], ns = [5]>
cs.cluster @one nodes = 2 devices = 1 device = <kind = cuda, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 2000, latency_ns = 1> inter = <mbit_per_s = 1000, latency_ns = 2>
    nccl = <ns = [5], bytes = [1], ranks = 2, machine_ranks = 2>

// -----

// As an attribute of something else.
// CHECK-LABEL: module @f
// CHECK-SAME: cs.some = #cs.nccl_costs<machine_ranks = 3>
module @f attributes {cs.some = #cs.nccl_costs<machine_ranks = 3>} {}
