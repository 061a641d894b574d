// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: cs-opt --split-input-file --verify-diagnostics %s

// expected-error @+1 {{must have at least 1 node, got: 0}}
cs.cluster @lab nodes = 0 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>

// -----

// expected-error @+1 {{must have at least 1 device per node, got: 0}}
cs.cluster @lab nodes = 1 devices = 0 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>

// -----

// expected-error @+1 {{must have at least 1 node, got: -3}}
cs.cluster @lab nodes = -3 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>

// -----

// expected-error @+1 {{gflops of a device must be positive, got: 0}}
cs.cluster @lab nodes = 1 devices = 1 device = <kind = cpu, gflops = 0, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>

// -----

// expected-error @+1 {{copy_latency_ns of a device must not be negative, got: -1}}
cs.cluster @lab nodes = 1 devices = 1 device = <kind = cpu, gflops = 1, gb_per_s = 1, copy_latency_ns = -1>
    intra = <mbit_per_s = 1, latency_ns = 0> inter = <mbit_per_s = 1, latency_ns = 0>

// -----

// expected-error @+1 {{copy_mb_per_s of a device must be positive, got: -1}}
cs.cluster @lab nodes = 1 devices = 1 device = <kind = cpu, gflops = 1, gb_per_s = 1, copy_mb_per_s = -1>
    intra = <mbit_per_s = 1, latency_ns = 0> inter = <mbit_per_s = 1, latency_ns = 0>

// -----

// expected-error @+1 {{gb_per_s of a device must be positive, got: -1}}
cs.cluster @lab nodes = 1 devices = 1 device = <kind = cpu, gflops = 1, gb_per_s = -1>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>

// -----

cs.cluster @lab nodes = 1 devices = 1 device = <kind = cpu, gflops = 1, gb_per_s = 1>
    // expected-error @+1 {{mbit_per_s of a link must be positive, got: 0}}
    intra = <mbit_per_s = 0, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>

// -----

cs.cluster @lab nodes = 1 devices = 1 device = <kind = cpu, gflops = 1, gb_per_s = 1>
    // expected-error @+1 {{latency_ns of a link must not be negative, got: -5}}
    intra = <mbit_per_s = 1, latency_ns = 5> inter = <mbit_per_s = 1000, latency_ns = -5>

// -----

// expected-error @+1 {{copy_latency_ns of a device must be at most an hour, got: 3600000000001}}
cs.cluster @lab nodes = 1 devices = 1 device = <kind = cpu, gflops = 1, gb_per_s = 1, copy_latency_ns = 3600000000001>
    intra = <mbit_per_s = 1, latency_ns = 0> inter = <mbit_per_s = 1, latency_ns = 0>

// -----

cs.cluster @lab nodes = 1 devices = 1 device = <kind = cpu, gflops = 1, gb_per_s = 1>
    intra = <mbit_per_s = 1, latency_ns = 3600000000000, overhead_ns = 3600000000000>
    // expected-error @+1 {{latency_ns of a link must be at most an hour, got: 3600000000001}}
    inter = <mbit_per_s = 1000, latency_ns = 3600000000001>

// -----

cs.cluster @lab nodes = 1 devices = 1 device = <kind = cpu, gflops = 1, gb_per_s = 1>
    // expected-error @+1 {{overhead_ns of a link must be at most an hour, got: 9223372036854775807}}
    intra = <mbit_per_s = 1, latency_ns = 5, overhead_ns = 9223372036854775807>
    inter = <mbit_per_s = 1000, latency_ns = 0>

// -----

cs.cluster @lab nodes = 1 devices = 1 device = <kind = cpu, gflops = 1, gb_per_s = 1>
    intra = <mbit_per_s = 10000000000000, latency_ns = 5>
    // expected-error @+1 {{mbit_per_s of a link must be at most 10000000000000, got: 10000000000001}}
    inter = <mbit_per_s = 10000000000001, latency_ns = 0>
