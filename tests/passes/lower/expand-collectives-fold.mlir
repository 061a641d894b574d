// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Three nodes: node 2 gives all it has to node 0 first, and gets the result
// from it at the end. The sum is scaled once, where the last halving ends.

// RUN: %cs-opt --expand-collectives=algorithm=halving-doubling --verify-distributed %s | FileCheck %s

cs.cluster @lab nodes = 3 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>

// CHECK-DAG: #[[ALL:.+]] = affine_map<(d0, d1) -> (0, 1)>
// CHECK-DAG: #[[DOWN:.+]] = affine_map<(d0, d1) -> (d0 - 2)>
// CHECK-DAG: #[[UP:.+]] = affine_map<(d0, d1) -> (d0 + 2)>
// CHECK-DAG: #[[STANDIN:.+]] = affine_map<(d0, d1) -> (-d0)>
// CHECK-DAG: #[[CORE:.+]] = affine_map<(d0, d1) -> (-d0 + 1)>

// CHECK: cs.exchange %{{.*}} chunks 1 rounds 1 sum send <parts #[[ALL]] to #[[DOWN]] when nonnegative #[[DOWN]]> recv <parts #[[ALL]] to #[[UP]] when nonnegative #[[STANDIN]]> :
// CHECK-NEXT: cs.exchange %{{.*}} chunks 2 rounds 1 sum scale 0.33333333333333331 send <{{.*}} when nonnegative #[[CORE]]> recv <{{.*}} when nonnegative #[[CORE]]> :
// CHECK-NEXT: cs.exchange %{{.*}} chunks 2 rounds 1 replace send <{{.*}} when nonnegative #[[CORE]]> recv <{{.*}} when nonnegative #[[CORE]]> :
// CHECK-NEXT: cs.exchange %{{.*}} chunks 1 rounds 1 replace send <parts #[[ALL]] to #[[UP]] when nonnegative #[[STANDIN]]> recv <parts #[[ALL]] to #[[DOWN]] when nonnegative #[[DOWN]]> :
// CHECK-NEXT: cs.return
func.func @step(%v: !cs.placed<tensor<1xf32>, device 0>) -> !cs.placed<tensor<1xf32>, device 0> {
  %f = cs.start "w" (%v) : (!cs.placed<tensor<1xf32>, device 0>) -> !cs.future<!cs.placed<tensor<1xf32>, device 0>> {
  ^bb0(%x: !cs.placed<tensor<1xf32>, device 0>):
    %r = cs.all_reduce "w" mean %x : !cs.placed<tensor<1xf32>, device 0>
    cs.return %r : !cs.placed<tensor<1xf32>, device 0>
  }
  %r = cs.await %f : !cs.future<!cs.placed<tensor<1xf32>, device 0>>
  return %r : !cs.placed<tensor<1xf32>, device 0>
}
