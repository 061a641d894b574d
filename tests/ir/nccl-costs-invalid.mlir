// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: cs-opt --split-input-file --verify-diagnostics %s

// expected-error @+1 {{machine_ranks of nccl must be positive, got: 0}}
func.func private @f() attributes {a = #cs.nccl_costs<machine_ranks = 0>}

// -----

// expected-error @+1 {{machine_ranks of nccl must be positive, got: -8}}
func.func private @f() attributes {a = #cs.nccl_costs<machine_ranks = -8>}

// -----

// All three or none.
// expected-error @+1 {{bytes and ns of nccl must be as many, at least one, got: 0 and 0}}
func.func private @f() attributes {a = #cs.nccl_costs<ranks = 2>}

// -----

// expected-error @+1 {{bytes and ns of nccl must be as many, at least one, got: 1 and 0}}
func.func private @f() attributes {a = #cs.nccl_costs<ranks = 2, bytes = [8]>}

// -----

// expected-error @+1 {{bytes and ns of nccl must be as many, at least one, got: 0 and 1}}
func.func private @f() attributes {a = #cs.nccl_costs<ranks = 2, ns = [8]>}

// -----

// expected-error @+1 {{bytes and ns of nccl must be as many, at least one, got: 2 and 1}}
func.func private @f() attributes {a = #cs.nccl_costs<ranks = 2, bytes = [8, 16], ns = [1]>}

// -----

// expected-error @+1 {{bytes and ns of nccl must be as many, at least one, got: 0 and 0}}
func.func private @f() attributes {a = #cs.nccl_costs<ranks = 2, bytes = [], ns = []>}

// -----

// expected-error @+1 {{ranks of measured nccl must be at least 2, got: 0}}
func.func private @f() attributes {a = #cs.nccl_costs<bytes = [8], ns = [1]>}

// -----

// expected-error @+1 {{ranks of measured nccl must be at least 2, got: 1}}
func.func private @f() attributes {a = #cs.nccl_costs<ranks = 1, bytes = [8], ns = [1]>}

// -----

// expected-error @+1 {{bytes of nccl must be positive and ascend, got: 0 after 0}}
func.func private @f() attributes {a = #cs.nccl_costs<ranks = 2, bytes = [0], ns = [1]>}

// -----

// expected-error @+1 {{bytes of nccl must be positive and ascend, got: 8 after 8}}
func.func private @f() attributes {a = #cs.nccl_costs<ranks = 2, bytes = [8, 8], ns = [1, 2]>}

// -----

// expected-error @+1 {{ns of nccl must not fall, got: -1 after 0}}
func.func private @f() attributes {a = #cs.nccl_costs<ranks = 2, bytes = [8], ns = [-1]>}

// -----

// expected-error @+1 {{ns of nccl must not fall, got: 4 after 5}}
func.func private @f() attributes {a = #cs.nccl_costs<ranks = 2, bytes = [8, 16, 32], ns = [3, 5, 4]>}

// -----

// expected-error @+1 {{expected '<'}}
func.func private @f() attributes {a = #cs.nccl_costs}

// -----

// expected-error @+1 {{with nccl must have devices of kind cuda, got: cpu}}
cs.cluster @lab nodes = 2 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 2000, latency_ns = 1> inter = <mbit_per_s = 1000, latency_ns = 2> nccl = <machine_ranks = 2>

// -----

// expected-error @+1 {{must have the nodes for which nccl was measured, 2, got: 4}}
cs.cluster @lab nodes = 4 devices = 1 device = <kind = cuda, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 2000, latency_ns = 1> inter = <mbit_per_s = 1000, latency_ns = 2>
    nccl = <ranks = 2, bytes = [8], ns = [1]>
