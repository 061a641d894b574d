// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// RUN: %cs-opt --split-input-file --merge-fragments %s | FileCheck %s
// RUN: %cs-opt --split-input-file --merge-fragments --merge-fragments %s | FileCheck %s

// What is read from elsewhere, and what the function returns; the rest stays inside.

cs.cluster @one nodes = 1 devices = 1 device = <kind = cuda, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
!t = !cs.placed<tensor<4xf32>, device 0>

// CHECK-LABEL: func.func @step
// CHECK-SAME: (%[[W:[a-z0-9]+]]: {{.*}}"w"}, %[[X:[a-z0-9]+]]: {{.*}}"x"})
// CHECK: %[[S:.+]]:2 = cs.fragment "step" on 0 (%[[X]], %[[W]]) cost <flops = 12, bytes = 34, ns = 56>
// CHECK: ^bb0(%[[XT:.+]]: tensor<4xf32>, %[[WT:.+]]: tensor<4xf32>):
// CHECK: %[[A:.+]] = arith.mulf %[[XT]], %[[WT]]
// CHECK: %[[B:.+]] = arith.addf %[[A]], %[[A]]
// CHECK: %[[C:.+]] = arith.subf %[[WT]], %[[B]]
// CHECK: cs.return %[[A]], %[[C]]
// CHECK-NOT: cs.fragment
// CHECK: return %[[S]]#1, %[[S]]#0
func.func @step(%w: !t {cs.param = "w"}, %x: !t {cs.batch = "x"}) -> (!t {cs.updates = "w"}, !t {cs.metric = "m"})
    attributes {cs.step} {
  %a = cs.fragment "compute.0" on 0 (%x, %w) cost <flops = 4, bytes = 8, ns = 16> : (!t, !t) -> !t {
  ^bb0(%i: tensor<4xf32>, %j: tensor<4xf32>):
    %r = arith.mulf %i, %j : tensor<4xf32>
    cs.return %r : tensor<4xf32>
  }
  %b = cs.fragment "compute.1" on 0 (%a) cost <flops = 4, bytes = 8, ns = 16> : (!t) -> !t {
  ^bb0(%i: tensor<4xf32>):
    %r = arith.addf %i, %i : tensor<4xf32>
    cs.return %r : tensor<4xf32>
  }
  %c = cs.fragment "update.w" on 0 (%b, %w) deferred cost <flops = 4, bytes = 18, ns = 24> : (!t, !t) -> !t {
  ^bb0(%i: tensor<4xf32>, %j: tensor<4xf32>):
    %r = arith.subf %j, %i : tensor<4xf32>
    cs.return %r : tensor<4xf32>
  }
  return %c, %a : !t, !t
}

// -----

// Something is communicated.

cs.cluster @two nodes = 2 devices = 1 device = <kind = cuda, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
!t = !cs.placed<tensor<4xf32>, device 0>

// CHECK-LABEL: func.func @communicates
// CHECK-COUNT-2: cs.fragment
func.func @communicates(%w: !t {cs.param = "w"}) -> (!t {cs.updates = "w"}) attributes {cs.step} {
  %a = cs.fragment "compute.0" on 0 (%w) : (!t) -> !t {
  ^bb0(%i: tensor<4xf32>):
    cs.return %i : tensor<4xf32>
  }
  %s = cs.all_reduce "w" mean %a : !t
  %b = cs.fragment "update.w" on 0 (%s) deferred : (!t) -> !t {
  ^bb0(%i: tensor<4xf32>):
    cs.return %i : tensor<4xf32>
  }
  return %b : !t
}

// -----

// Processors of the host run fragments as they are.

cs.cluster @host nodes = 1 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
!t = !cs.placed<tensor<4xf32>, device 0>

// CHECK-LABEL: func.func @on_host
// CHECK-COUNT-2: cs.fragment
func.func @on_host(%w: !t {cs.param = "w"}) -> (!t {cs.updates = "w"}) attributes {cs.step} {
  %a = cs.fragment "compute.0" on 0 (%w) : (!t) -> !t {
  ^bb0(%i: tensor<4xf32>):
    cs.return %i : tensor<4xf32>
  }
  %b = cs.fragment "update.w" on 0 (%a) deferred : (!t) -> !t {
  ^bb0(%i: tensor<4xf32>):
    cs.return %i : tensor<4xf32>
  }
  return %b : !t
}
