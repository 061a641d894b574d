// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// By latency and bandwidth, few bytes go by recursive doubling, all at once; with
// five nodes many bytes go around the ring, which sends less.

// RUN: cs-opt --expand-collectives --remarks-filter=expand-collectives %s 2>&1 | FileCheck %s

// Where the cluster does not say what a message costs beside its bytes, 20 us are counted, as in schedules.
// RUN: sed 's/latency_ns = 40000, overhead_ns = 10000/latency_ns = 30000/' %s | cs-opt --expand-collectives --remarks-filter=expand-collectives 2>&1 | FileCheck %s --check-prefix=ASSUMED

cs.cluster @lab nodes = 5 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 40000, overhead_ns = 10000>

// ring: 8 x 50 us + 8/5 x 32 ns; halving-doubling: 4 x 50 us + 3/2 x 32 ns + 2 x (50 us + 32 ns);
// recursive doubling: 2 x (50 us + 32 ns + 1 ns) + 2 x (50 us + 32 ns)
// CHECK-DAG: Remark="all_reduce "small" of 4 bytes: ring takes 400051 ns, halving-doubling 300112 ns, recursive doubling 200130 ns; took recursive-doubling"
// CHECK-DAG: Remark="all_reduce "large" of 4000000 bytes: ring takes 51600000 ns, halving-doubling 112300000 ns, recursive doubling 130200000 ns; took ring"
// ASSUMED-DAG: Remark="all_reduce "small" of 4 bytes: ring takes 400051 ns, halving-doubling 300112 ns, recursive doubling 200130 ns; took recursive-doubling"
// ASSUMED-DAG: Remark="all_reduce "large" of 4000000 bytes: ring takes 51600000 ns, halving-doubling 112300000 ns, recursive doubling 130200000 ns; took ring"
// CHECK-DAG: Remark="broadcast "b" of 4 bytes: tree takes 150096 ns"
// CHECK-DAG: Remark="reduce_scatter "s" of 20 bytes: ring takes 200128 ns; halving-doubling needs a power of two of nodes, not 5"

// CHECK-LABEL: func.func @step
// CHECK: cs.start "small"
// CHECK: rounds 1 sum
// CHECK: cs.start "large"
// CHECK: rounds 4 sum
func.func @step(%v: !cs.placed<tensor<1xf32>, device 0>, %w: !cs.placed<tensor<1000000xf32>, device 0>,
                %s: !cs.placed<tensor<5xi32>, device 0>) {
  %f = cs.start "small" (%v) : (!cs.placed<tensor<1xf32>, device 0>) -> !cs.future<!cs.placed<tensor<1xf32>, device 0>> {
  ^bb0(%x: !cs.placed<tensor<1xf32>, device 0>):
    %r = cs.all_reduce "small" sum %x : !cs.placed<tensor<1xf32>, device 0>
    cs.return %r : !cs.placed<tensor<1xf32>, device 0>
  }
  %g = cs.start "large" (%w) : (!cs.placed<tensor<1000000xf32>, device 0>) -> !cs.future<!cs.placed<tensor<1000000xf32>, device 0>> {
  ^bb0(%x: !cs.placed<tensor<1000000xf32>, device 0>):
    %r = cs.all_reduce "large" sum %x : !cs.placed<tensor<1000000xf32>, device 0>
    cs.return %r : !cs.placed<tensor<1000000xf32>, device 0>
  }
  %h = cs.start "b" (%v) : (!cs.placed<tensor<1xf32>, device 0>) -> !cs.future<!cs.placed<tensor<1xf32>, device 0>> {
  ^bb0(%x: !cs.placed<tensor<1xf32>, device 0>):
    %r = cs.broadcast "b" %x from 0 : !cs.placed<tensor<1xf32>, device 0>
    cs.return %r : !cs.placed<tensor<1xf32>, device 0>
  }
  %i = cs.start "s" (%s) : (!cs.placed<tensor<5xi32>, device 0>) -> !cs.future<!cs.placed<tensor<1xi32>, device 0>> {
  ^bb0(%x: !cs.placed<tensor<5xi32>, device 0>):
    %r = cs.reduce_scatter "s" sum %x : !cs.placed<tensor<5xi32>, device 0> -> !cs.placed<tensor<1xi32>, device 0>
    cs.return %r : !cs.placed<tensor<1xi32>, device 0>
  }
  %0 = cs.await %f : !cs.future<!cs.placed<tensor<1xf32>, device 0>>
  %1 = cs.await %g : !cs.future<!cs.placed<tensor<1000000xf32>, device 0>>
  %2 = cs.await %h : !cs.future<!cs.placed<tensor<1xf32>, device 0>>
  %3 = cs.await %i : !cs.future<!cs.placed<tensor<1xi32>, device 0>>
  return
}
