// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: %cs-opt --lower-sparse-comm="density=0.25 min-elements=1 method=allgather" %s | FileCheck %s
// RUN: cs-opt --lower-sparse-comm="density=0.25 min-elements=1 method=allgather" %s -o %t1
// RUN: cs-opt --lower-sparse-comm="density=0.25 min-elements=1 method=allgather" %t1 -o %t2
// RUN: cmp %t1 %t2
// RUN: cs-opt --schedule-comm --expand-collectives --verify-distributed %t1 -o /dev/null
// RUN: cs-opt --lower-sparse-comm="density=0.25 min-elements=1 method=allgather" --remarks-filter=lower-sparse-comm %s -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: not cs-opt --lower-sparse-comm=fuse-bytes=-2 %s 2>&1 | FileCheck %s --check-prefix=BYTES
// REMARK: one message of 96 bytes for "u", "v", "w"
// BYTES: fuse-bytes must be at least 0, or -1 for what the link carries, got: -2
// The link carries 6250 bytes in 50 us; 64 bytes are two lists of 4 elements.
// RUN: cs-opt --lower-sparse-comm="density=0.25 min-elements=1 method=allgather fuse-bytes=64" %s | FileCheck %s --check-prefix=TWO
// RUN: cs-opt --lower-sparse-comm="density=0.25 min-elements=1 method=allgather fuse-bytes=63" %s | FileCheck %s --check-prefix=NONE
// RUN: cs-opt --lower-sparse-comm="density=0.25 min-elements=1 method=allgather fuse-bytes=0" %s | FileCheck %s --check-prefix=NONE
// RUN: sed 's/latency_ns = 50000/latency_ns = 100/' %s | cs-opt --lower-sparse-comm="density=0.25 min-elements=1 method=allgather" | FileCheck %s --check-prefix=NONE
// RUN: cs-opt --lower-sparse-comm="density=0.25 min-elements=1 rules=v=0.25:gtopk,u=0.25:oktopk,.*=0.25:gtopk" %s | FileCheck %s --check-prefix=KINDS
// RUN: cs-opt --lower-sparse-comm="density=0.25 min-elements=1 rules=v=0.25:gtopk,u=0.25:oktopk,.*=0.25:gtopk" --schedule-comm --expand-collectives --verify-distributed %s -o /dev/null
// RUN: cs-opt --lower-sparse-comm="density=0.25 min-elements=1 method=oktopk" %s | FileCheck %s --check-prefix=OKTOPK
// RUN: cs-opt --lower-sparse-comm="density=0.25 min-elements=1 method=oktopk" --schedule-comm --expand-collectives --verify-distributed %s -o /dev/null

cs.cluster @lab nodes = 2 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>

// What needed the first exchange comes behind the fused one.

// CHECK-LABEL: func.func @step(
// CHECK: %[[U:.*]]:2 = cs.fragment "top_k.u"
// CHECK-NEXT: ^bb0
// CHECK-NOT: cs.all_gather
// CHECK: %[[V:.*]]:2 = cs.fragment "top_k.v"
// CHECK-NOT: cs.all_gather
// CHECK: %[[W:.*]]:2 = cs.fragment "top_k.w"
// CHECK: %[[J:.*]] = cs.fragment "join.u+2" on 0 (%[[U]]#0, %[[V]]#0, %[[W]]#0) deferred cost <flops = 0, bytes = 192, ns = 0> : {{.*}} -> !cs.placed<tensor<1x24xi32>, device 0>
// CHECK: tensor.insert_slice %{{.*}} into %{{.*}}[0, 0] [1, 8] [1, 1]
// CHECK: tensor.insert_slice %{{.*}} into %{{.*}}[0, 8] [1, 8] [1, 1]
// CHECK: tensor.insert_slice %{{.*}} into %{{.*}}[0, 16] [1, 8] [1, 1]
// CHECK: %[[A:.*]] = cs.all_gather "u+2" %[[J]] : !cs.placed<tensor<1x24xi32>, device 0> -> !cs.placed<tensor<2x24xi32>, device 0>
// CHECK: %[[C:.*]]:3 = cs.fragment "cut.u+2" on 0 (%[[A]]) deferred
// CHECK: tensor.extract_slice %{{.*}}[0, 0] [2, 8] [1, 1] : tensor<2x24xi32> to tensor<2x8xi32, #cs.coordinates<tensor<16xf32>>>
// CHECK: tensor.extract_slice %{{.*}}[0, 8] [2, 8] [1, 1] : tensor<2x24xi32> to tensor<2x8xi32, #cs.coordinates<tensor<16xf32>>>
// CHECK: tensor.extract_slice %{{.*}}[0, 16] [2, 8] [1, 1] : tensor<2x24xi32> to tensor<2x8xi32, #cs.coordinates<tensor<16xf32>>>
// CHECK: cs.fragment "scatter_add.u" on 0 (%[[C]]#0)
// CHECK: cs.fragment "update.u"
// CHECK: cs.fragment "scatter_add.v" on 0 (%[[C]]#1)
// CHECK: cs.fragment "scatter_add.w" on 0 (%[[C]]#2)

// TWO: cs.all_gather "u+1" %{{.*}} : !cs.placed<tensor<1x16xi32>
// TWO: cs.all_gather "w" %{{.*}} : !cs.placed<tensor<1x8xi32, #cs.coordinates<tensor<16xf32>>>

// NONE-NOT: "join
// NONE: cs.all_gather "u"
// NONE: cs.all_gather "v"
// NONE: cs.all_gather "w"

// Of a kind only.
// KINDS: cs.all_to_all "u.split"
// KINDS: cs.all_gather "u"
// KINDS: cs.pair_exchange "v.round0+1" %{{.*}} distance 1 : !cs.placed<tensor<2x16xi32>, device 0>

// The second exchange needs what the first brought.
// OKTOPK: cs.all_to_all "u.split+2"
// OKTOPK: cs.fragment "merge.u"
// OKTOPK: cs.fragment "merge.w"
// OKTOPK: cs.all_gather "u+2"
!t = !cs.placed<tensor<16xf32>, device 0>
func.func @step(%u: !t {cs.param = "u"}, %v: !t {cs.param = "v"}, %w: !t {cs.param = "w"}, %x: !t {cs.batch = "x"})
    -> (!t {cs.updates = "u"}, !t {cs.updates = "v"}, !t {cs.updates = "w"}) attributes {cs.step} {
  %a = cs.fragment "backward.u" on 0 (%u, %x) : (!t, !t) -> !t {
  ^bb0(%0: tensor<16xf32>, %1: tensor<16xf32>):
    %2 = arith.mulf %0, %1 : tensor<16xf32>
    cs.return %2 : tensor<16xf32>
  }
  %b = cs.all_reduce "u" mean %a : !t
  %c = cs.fragment "update.u" on 0 (%u, %b) deferred : (!t, !t) -> !t {
  ^bb0(%0: tensor<16xf32>, %1: tensor<16xf32>):
    %2 = arith.subf %0, %1 : tensor<16xf32>
    cs.return %2 : tensor<16xf32>
  }
  %d = cs.fragment "backward.v" on 0 (%v, %a) : (!t, !t) -> !t {
  ^bb0(%0: tensor<16xf32>, %1: tensor<16xf32>):
    %2 = arith.mulf %0, %1 : tensor<16xf32>
    cs.return %2 : tensor<16xf32>
  }
  %e = cs.all_reduce "v" mean %d : !t
  %f = cs.fragment "update.v" on 0 (%v, %e) deferred : (!t, !t) -> !t {
  ^bb0(%0: tensor<16xf32>, %1: tensor<16xf32>):
    %2 = arith.subf %0, %1 : tensor<16xf32>
    cs.return %2 : tensor<16xf32>
  }
  %g = cs.fragment "backward.w" on 0 (%w, %d) : (!t, !t) -> !t {
  ^bb0(%0: tensor<16xf32>, %1: tensor<16xf32>):
    %2 = arith.mulf %0, %1 : tensor<16xf32>
    cs.return %2 : tensor<16xf32>
  }
  %h = cs.all_reduce "w" mean %g : !t
  %i = cs.fragment "update.w" on 0 (%w, %h) deferred : (!t, !t) -> !t {
  ^bb0(%0: tensor<16xf32>, %1: tensor<16xf32>):
    %2 = arith.subf %0, %1 : tensor<16xf32>
    cs.return %2 : tensor<16xf32>
  }
  return %c, %f, %i : !t, !t, !t
}

// What comes after a gradient that depends on another one's result cannot go with it.

// CHECK-LABEL: func.func @chain(
// CHECK: cs.all_gather "u"
// CHECK: cs.all_gather "v"
func.func @chain(%u: !t {cs.param = "u"}, %v: !t {cs.param = "v"})
    -> (!t {cs.updates = "u"}, !t {cs.updates = "v"}) attributes {cs.step} {
  %b = cs.all_reduce "u" mean %u : !t
  %d = cs.fragment "backward.v" on 0 (%v, %b) : (!t, !t) -> !t {
  ^bb0(%0: tensor<16xf32>, %1: tensor<16xf32>):
    %2 = arith.mulf %0, %1 : tensor<16xf32>
    cs.return %2 : tensor<16xf32>
  }
  %e = cs.all_reduce "v" mean %d : !t
  return %b, %e : !t, !t
}
