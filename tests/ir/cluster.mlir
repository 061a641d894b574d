// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: cs-opt --verify-roundtrip %s | FileCheck %s

// CHECK-LABEL: cs.cluster @lab nodes = 4 devices = 2
// CHECK-SAME: device = <kind = cuda, gflops = 40, gb_per_s = 20, copy_mb_per_s = 12000, copy_latency_ns = 1500>
// CHECK-SAME: intra = <mbit_per_s = 80000, latency_ns = 5000>
// CHECK-SAME: inter = <mbit_per_s = 1000, latency_ns = 0>
cs.cluster @lab nodes = 4 devices = 2 device = <kind = cuda, gflops = 40, gb_per_s = 20, copy_mb_per_s = 12000, copy_latency_ns = 1500>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 0>
