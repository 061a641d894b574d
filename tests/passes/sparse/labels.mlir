// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Programs may call their fragments as passes call theirs. What combines the gradients of devices is seen by what it
// computes, and what has momentum by its state.

// RUN: cs-opt --lower-sparse-comm="density=0.25 min-elements=8 method=allgather" %s | FileCheck %s
// RUN: cs-opt --lower-sparse-comm=momentum=0.5 %s -o %t1
// RUN: FileCheck %s --check-prefix=MOMENTUM --input-file=%t1
// RUN: cs-opt --lower-sparse-comm=momentum=0.5 %t1 -o %t2
// RUN: cmp %t1 %t2

cs.cluster @lab nodes = 2 devices = 2 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
!a = !cs.placed<tensor<16xf32>, device 0>
!b = !cs.placed<tensor<16xf32>, device 1>

// "w" is a weighted mean, which stays; "v" is the mean, and devices select from their own.
// CHECK: %[[W:.*]] = cs.fragment "sum.w" on 0
// CHECK: arith.constant dense<3.000000e+00>
// CHECK: cs.fragment "top_k.w" on 0 (%[[W]]
// CHECK-NOT: cs.fragment "top_k.w.device1"
// CHECK-NOT: cs.fragment "mine"
// CHECK: cs.fragment "top_k.v" on 0
// CHECK: cs.fragment "top_k.v.device1" on 1

// MOMENTUM: cs.state = "w.velocity.mean"
// MOMENTUM: %[[R:.*]] = cs.all_reduce "w" mean
// MOMENTUM: cs.fragment "correct.w" on 0 (%[[R]], %{{.*}}) deferred
// MOMENTUM: cs.fragment "correct.w" on 0
func.func @step(%w0: !a {cs.param = "w"}, %v0: !a {cs.param = "v"}, %x0: !a {cs.batch = "x"}, %x1: !b {cs.batch = "x"})
    -> (!a {cs.updates = "w"}, !a {cs.updates = "v"}) attributes {cs.step} {
  %c1 = cs.copy %x1 : !b -> !a
  %s = cs.fragment "sum.w" on 0 (%x0, %c1) deferred : (!a, !a) -> !a {
  ^bb0(%a: tensor<16xf32>, %b: tensor<16xf32>):
    %three = arith.constant dense<3.0> : tensor<16xf32>
    %m = arith.mulf %b, %three : tensor<16xf32>
    %t = arith.addf %a, %m : tensor<16xf32>
    cs.return %t : tensor<16xf32>
  }
  %r = cs.all_reduce "w" mean %s : !a
  %c2 = cs.copy %x1 : !b -> !a
  %u = cs.fragment "mine" on 0 (%x0, %c2) deferred : (!a, !a) -> !a {
  ^bb0(%a: tensor<16xf32>, %b: tensor<16xf32>):
    %t = arith.addf %a, %b : tensor<16xf32>
    %half = arith.constant dense<0.5> : tensor<16xf32>
    %m = arith.mulf %t, %half : tensor<16xf32>
    cs.return %m : tensor<16xf32>
  }
  %q = cs.all_reduce "v" mean %u : !a
  %n = cs.fragment "correct.w" on 0 (%w0, %r) deferred : (!a, !a) -> !a {
  ^bb0(%a: tensor<16xf32>, %c: tensor<16xf32>):
    %d = arith.subf %a, %c : tensor<16xf32>
    cs.return %d : tensor<16xf32>
  }
  %m = cs.fragment "update.v" on 0 (%v0, %q) deferred : (!a, !a) -> !a {
  ^bb0(%a: tensor<16xf32>, %c: tensor<16xf32>):
    %d = arith.subf %a, %c : tensor<16xf32>
    cs.return %d : tensor<16xf32>
  }
  return %n, %m : !a, !a
}
