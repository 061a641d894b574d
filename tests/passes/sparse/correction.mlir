// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: %cs-opt --lower-sparse-comm="density=0.25 min-elements=8 method=allgather momentum=0.75 second-moment=0.5" %s | FileCheck %s
// RUN: cs-opt --lower-sparse-comm="density=0.25 min-elements=8 method=allgather momentum=0.75 second-moment=0.5" %s -o %t1
// RUN: cs-opt --lower-sparse-comm="density=0.25 min-elements=8 method=allgather momentum=0.75 second-moment=0.5" %t1 -o %t2
// RUN: cmp %t1 %t2
// RUN: cs-opt --schedule-comm --expand-collectives --verify-distributed %t1 -o /dev/null
// RUN: cs-opt --lower-sparse-comm="density=0.25 min-elements=8 method=allgather momentum=0.75" %s | FileCheck %s --check-prefix=MOMENTUM
// RUN: cs-opt --lower-sparse-comm="density=0.25 min-elements=8 method=allgather momentum=0.75 second-moment=0.5" %s | FileCheck %s --check-prefix=MEAN
// RUN: cs-opt --lower-sparse-comm="density=0.25 min-elements=8 method=allgather momentum=0.75 second-moment=0.5 squares=own" %s | FileCheck %s --check-prefix=OWN --implicit-check-not=arith.maximumf
// RUN: not cs-opt --lower-sparse-comm=squares=sum %s 2>&1 | FileCheck %s --check-prefix=BAD
// RUN: cs-opt --lower-sparse-comm="density=0.25 min-elements=8 method=allgather second-moment=0.5 feedback=false" %s | FileCheck %s --check-prefix=SQUARES
// RUN: cs-opt --lower-sparse-comm="momentum=0.75" %s | FileCheck %s --check-prefix=DENSE

// What is selected from has the noise of one of two ranks; what is dense, that of the mean.
// MEAN: cs.fragment "top_k.w"
// MEAN: %[[HALF:.*]] = arith.constant 5.000000e-01 : f32
// MEAN: arith.maximumf
// MEAN: cs.fragment "correct.
// MEAN-NOT: arith.maximumf
// OWN: cs.fragment "top_k.w"
// BAD: squares must be mean or own, got: sum

// Momentum and second moments stand in front of the selection, and behind the
// all-reduce of what stays dense; of f16 they are f32.

cs.cluster @lab nodes = 2 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>

// CHECK: func.func @step(
// CHECK-SAME: !cs.placed<tensor<16xf16>, device 0> {cs.per_rank, cs.state = "w.residual"}
// CHECK-SAME: !cs.placed<tensor<16xf32>, device 0> {cs.per_rank, cs.state = "w.velocity"}
// CHECK-SAME: !cs.placed<tensor<16xf32>, device 0> {cs.per_rank, cs.state = "w.squares"}
// CHECK-SAME: !cs.placed<tensor<2xf32>, device 0> {cs.per_rank, cs.state = "w.weights"}
// CHECK-SAME: !cs.placed<tensor<4xf32>, device 0> {cs.per_rank, cs.state = "b.velocity.mean"}
// CHECK-SAME: !cs.placed<tensor<4xf32>, device 0> {cs.per_rank, cs.state = "b.squares.mean"}
// CHECK-SAME: !cs.placed<tensor<2xf32>, device 0> {cs.per_rank, cs.state = "b.weights.mean"}
// CHECK: cs.fragment "top_k.w"
// CHECK: %[[A:.*]] = arith.mulf %{{.*}}, %[[W:.*]] : tensor<2xf32>
// CHECK: %[[N:.*]] = arith.addf %[[A]], %{{.*}} : tensor<2xf32>
// CHECK: %[[D:.*]]:3 = linalg.generic
// CHECK: math.sqrt
// CHECK: linalg.yield %{{.*}}, %{{.*}}, %{{.*}} : f16, f32, f32
// CHECK: cs.top_k "exact" %[[D]]#0, %{{.*}} : (tensor<16xf16>, tensor<16xf16>)
// CHECK-NOT: cs.scatter_clear
// CHECK: %[[B:.*]] = cs.all_reduce "b"
// CHECK: %[[C:.*]]:4 = cs.fragment "correct.b" on 0 (%[[B]], %{{.*}}, %{{.*}}, %{{.*}}) deferred
// CHECK: cs.fragment "update.b" on 0 (%{{.*}}, %[[C]]#0)
// CHECK: return {{.*}}, %[[C]]#1, %[[C]]#2, %[[C]]#3

// MOMENTUM: cs.state = "w.velocity"
// MOMENTUM-NOT: squares
// MOMENTUM: cs.scatter_clear
// MOMENTUM: %[[B:.*]] = cs.all_reduce "b"
// MOMENTUM: %[[C:.*]]:2 = cs.fragment "correct.b" on 0 (%[[B]], %{{.*}}) deferred
// MOMENTUM: arith.constant dense<7.500000e-01> : tensor<4xf32>
// MOMENTUM: cs.fragment "update.b" on 0 (%{{.*}}, %[[C]]#0)

// SQUARES-NOT: residual
// SQUARES-NOT: velocity
// SQUARES: cs.top_k "exact" %{{[a-z0-9#]*}} : (tensor<16xf16>) ->

// DENSE: cs.all_reduce "w"
// DENSE: cs.fragment "correct.w"
// DENSE: cs.all_reduce "b"
// DENSE: cs.fragment "correct.b"
!h = !cs.placed<tensor<16xf16>, device 0>
!b = !cs.placed<tensor<4xf32>, device 0>
func.func @step(%w: !h {cs.param = "w"}, %b: !b {cs.param = "b"}, %x: !h {cs.batch = "x"}) -> (!h {cs.updates = "w"}, !b {cs.updates = "b"}) attributes {cs.step} {
  %g:2 = cs.fragment "backward" on 0 (%w, %b, %x) : (!h, !b, !h) -> (!h, !b) {
  ^bb0(%a: tensor<16xf16>, %c: tensor<4xf32>, %d: tensor<16xf16>):
    %0 = arith.mulf %a, %d : tensor<16xf16>
    %1 = arith.mulf %c, %c : tensor<4xf32>
    cs.return %0, %1 : tensor<16xf16>, tensor<4xf32>
  }
  %r = cs.all_reduce "w" mean %g#0 : !h
  %n = cs.fragment "update.w" on 0 (%w, %r) deferred : (!h, !h) -> !h {
  ^bb0(%a: tensor<16xf16>, %c: tensor<16xf16>):
    %0 = arith.subf %a, %c : tensor<16xf16>
    cs.return %0 : tensor<16xf16>
  }
  %s = cs.all_reduce "b" mean %g#1 : !b
  %m = cs.fragment "update.b" on 0 (%b, %s) deferred : (!b, !b) -> !b {
  ^bb0(%a: tensor<4xf32>, %c: tensor<4xf32>):
    %0 = arith.subf %a, %c : tensor<4xf32>
    cs.return %0 : tensor<4xf32>
  }
  return %n, %m : !h, !b
}
