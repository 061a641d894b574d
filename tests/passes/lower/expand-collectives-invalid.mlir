// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: cs-opt --expand-collectives --split-input-file --verify-diagnostics %s
// RUN: not cs-opt --split-input-file --expand-collectives=algorithm=star %s 2>&1 | FileCheck %s --check-prefix=OPTION
// OPTION: error: expand-collectives: algorithm must be auto, ring, halving-doubling or recursive-doubling, got: star

cs.cluster @lab nodes = 4 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
func.func @level_one(%v: !cs.placed<tensor<8xf32>, device 0>) -> !cs.placed<tensor<8xf32>, device 0> {
  // expected-error@+1 {{'cs.all_reduce' op is not in a cs.start; run --schedule-comm first}}
  %r = cs.all_reduce "w" mean %v : !cs.placed<tensor<8xf32>, device 0>
  return %r : !cs.placed<tensor<8xf32>, device 0>
}

// -----

// expected-error@below {{has no cs.cluster, so the number of nodes is unknown}}
module {
  func.func @no_cluster(%v: !cs.placed<tensor<8xf32>, device 0>) {
    %f = cs.start "w" (%v) : (!cs.placed<tensor<8xf32>, device 0>) -> !cs.future<!cs.placed<tensor<8xf32>, device 0>> {
    ^bb0(%x: !cs.placed<tensor<8xf32>, device 0>):
      %r = cs.all_reduce "w" mean %x : !cs.placed<tensor<8xf32>, device 0>
      cs.return %r : !cs.placed<tensor<8xf32>, device 0>
    }
    %r = cs.await %f : !cs.future<!cs.placed<tensor<8xf32>, device 0>>
    return
  }
}

// -----

// expected-note@below {{the first is here}}
cs.cluster @lab nodes = 4 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
// expected-error@below {{'cs.cluster' op is the second of the module}}
cs.cluster @home nodes = 4 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
func.func @two_clusters(%v: !cs.placed<tensor<8xf32>, device 0>) {
  %f = cs.start "w" (%v) : (!cs.placed<tensor<8xf32>, device 0>) -> !cs.future<!cs.placed<tensor<8xf32>, device 0>> {
  ^bb0(%x: !cs.placed<tensor<8xf32>, device 0>):
    %r = cs.all_reduce "w" mean %x : !cs.placed<tensor<8xf32>, device 0>
    cs.return %r : !cs.placed<tensor<8xf32>, device 0>
  }
  %r = cs.await %f : !cs.future<!cs.placed<tensor<8xf32>, device 0>>
  return
}

// -----

cs.cluster @lab nodes = 4 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
func.func @root(%v: !cs.placed<tensor<8xf32>, device 0>) {
  %f = cs.start "w" (%v) : (!cs.placed<tensor<8xf32>, device 0>) -> !cs.future<!cs.placed<tensor<8xf32>, device 0>> {
  ^bb0(%x: !cs.placed<tensor<8xf32>, device 0>):
    // expected-error@+1 {{root must be below the number of nodes, 4, got: 4}}
    %r = cs.broadcast "w" %x from 4 : !cs.placed<tensor<8xf32>, device 0>
    cs.return %r : !cs.placed<tensor<8xf32>, device 0>
  }
  %r = cs.await %f : !cs.future<!cs.placed<tensor<8xf32>, device 0>>
  return
}

// -----

cs.cluster @lab nodes = 4 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
func.func @rows(%v: !cs.placed<tensor<8xf32>, device 0>) {
  %f = cs.start "w" (%v) : (!cs.placed<tensor<8xf32>, device 0>) -> !cs.future<!cs.placed<tensor<4xf32>, device 0>> {
  ^bb0(%x: !cs.placed<tensor<8xf32>, device 0>):
    // expected-error@+1 {{dimension 0 of the whole must be 4 (nodes) times the part's, got: 8 and 4}}
    %r = cs.reduce_scatter "w" sum %x : !cs.placed<tensor<8xf32>, device 0> -> !cs.placed<tensor<4xf32>, device 0>
    cs.return %r : !cs.placed<tensor<4xf32>, device 0>
  }
  %r = cs.await %f : !cs.future<!cs.placed<tensor<4xf32>, device 0>>
  return
}
