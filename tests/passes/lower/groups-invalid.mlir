// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: cs-opt --expand-collectives --split-input-file --verify-diagnostics %s

cs.cluster @lab nodes = 4 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
cs.group @three ranks [0, 1, 3]
!t = !cs.placed<tensor<8xf32>, device 0>
func.func @step(%v: !t) {
  %f = cs.start "w" (%v) : (!t) -> !cs.future<!t> {
  ^bb0(%x: !t):
    // expected-error@+1 {{root must be in @three, got: 2}}
    %r = cs.reduce "w" sum %x to 2 in @three : !t
    cs.return %r : !t
  }
  %r = cs.await %f : !cs.future<!t>
  return
}

// -----

cs.cluster @lab nodes = 4 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
// expected-note@+1 {{the group is here}}
cs.group @three ranks [0, 1, 4]
!t = !cs.placed<tensor<8xf32>, device 0>
func.func @step(%v: !t) {
  %f = cs.start "w" (%v) : (!t) -> !cs.future<!t> {
  ^bb0(%x: !t):
    // expected-error@+1 {{is in @three, whose ranks must be below 4, got: 4}}
    %r = cs.all_reduce "w" sum %x in @three : !t
    cs.return %r : !t
  }
  %r = cs.await %f : !cs.future<!t>
  return
}

// -----

cs.cluster @lab nodes = 4 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
cs.group @three ranks [0, 1, 3]
!t = !cs.placed<tensor<8xf32>, device 0>
func.func @step(%v: !t) {
  %f = cs.start "w" (%v) : (!t) -> !cs.future<!cs.placed<tensor<4xf32>, device 0>> {
  ^bb0(%x: !t):
    // expected-error@+1 {{dimension 0 of the whole must be 3 (nodes) times the part's, got: 8 and 4}}
    %r = cs.reduce_scatter "w" sum %x in @three : !t -> !cs.placed<tensor<4xf32>, device 0>
    cs.return %r : !cs.placed<tensor<4xf32>, device 0>
  }
  %r = cs.await %f : !cs.future<!cs.placed<tensor<4xf32>, device 0>>
  return
}
