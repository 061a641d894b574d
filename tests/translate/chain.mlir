// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What a collective makes of a value that nobody else needs, the next one works on
// in place; of a parameter it makes a copy first.

// RUN: cs-opt --expand-collectives --verify-distributed %s | cs-translate --mlir-to-plan | cs-translate --plan-to-text | FileCheck %s

// CHECK: name: "a"
// CHECK: communicate {
// CHECK: buffer: [[BUFFER:[0-9]+]]
// CHECK: has_input: true
// CHECK: name: "b"
// CHECK: communicate {
// CHECK: buffer: [[BUFFER]]
// CHECK-NOT: input

cs.cluster @lab nodes = 2 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
!t = !cs.placed<tensor<8xf32>, device 0>
func.func @step(%w: !t {cs.param = "w"}) -> (!t {cs.updates = "w"}) attributes {cs.step} {
  %f = cs.start "a" (%w) : (!t) -> !cs.future<!t> {
  ^bb0(%x: !t):
    %r = cs.all_reduce "a" sum %x : !t
    cs.return %r : !t
  }
  %a = cs.await %f : !cs.future<!t>
  %g = cs.start "b" (%a) : (!t) -> !cs.future<!t> {
  ^bb0(%x: !t):
    %r = cs.all_reduce "b" sum %x : !t
    cs.return %r : !t
  }
  %b = cs.await %g : !cs.future<!t>
  return %b : !t
}
