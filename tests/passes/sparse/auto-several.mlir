// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// While one of two gradients waits for the other end, the link has the other: rounds
// count half their latency. Of 16 nodes gtopk has 4 rounds of one list, oktopk 19 of fewer
// bytes: 4 (L + 104 us) and 19 L + 220 us, about.

// RUN: cs-opt --split-input-file --lower-sparse-comm="density=0.01 min-elements=1" --remarks-filter=lower-sparse-comm %s -o /dev/null 2>&1 | FileCheck %s

// CHECK: gradient "alone": gtopk, 164 of 16384 elements
// CHECK: gradient "u": oktopk, 164 of 16384 elements
// CHECK: gradient "v": oktopk, 164 of 16384 elements

cs.cluster @lab nodes = 16 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 100, latency_ns = 20000>
!t = !cs.placed<tensor<128x128xf32>, device 0>
func.func @step(%w: !t {cs.param = "alone"}) -> (!t {cs.updates = "alone"}) attributes {cs.step} {
  %g = cs.fragment "backward" on 0 (%w) : (!t) -> !t {
  ^bb0(%a: tensor<128x128xf32>):
    cs.return %a : tensor<128x128xf32>
  }
  %r = cs.all_reduce "alone" mean %g : !t
  return %r : !t
}

// -----

cs.cluster @lab nodes = 16 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 100, latency_ns = 20000>
!t = !cs.placed<tensor<128x128xf32>, device 0>
func.func @step(%u: !t {cs.param = "u"}, %v: !t {cs.param = "v"}) -> (!t {cs.updates = "u"}, !t {cs.updates = "v"}) attributes {cs.step} {
  %g:2 = cs.fragment "backward" on 0 (%u, %v) : (!t, !t) -> (!t, !t) {
  ^bb0(%a: tensor<128x128xf32>, %b: tensor<128x128xf32>):
    cs.return %a, %b : tensor<128x128xf32>, tensor<128x128xf32>
  }
  %r = cs.all_reduce "u" mean %g#0 : !t
  %s = cs.all_reduce "v" mean %g#1 : !t
  return %r, %s : !t, !t
}
