// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// A message from each rank but rank 0 to the one before it: two instructions that know
// each other. What is sent is not moved, as nothing else needs it.
// RUN: cs-opt --verify-distributed %s -o %t
// RUN: cs-translate --mlir-to-plan %s | cs-translate --plan-to-text | FileCheck %s

cs.cluster @line nodes = 3 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
!t = !cs.placed<tensor<8xf32>, device 0>

// Exchange, point to point, and costs in the place of code.
// CHECK:      required_features: 98
// CHECK:      communicate {
// CHECK-NEXT:   key: "down"
// CHECK-NEXT:   source_op: "recv"
// CHECK-NOT:  has_input
// CHECK:      send {
// CHECK:        condition {
// CHECK-NEXT:     expr {
// CHECK-NEXT:       constant: -1
// CHECK:      recv {
// CHECK:        condition {
// CHECK:      other_end: 2
// CHECK:      communicate {
// CHECK-NEXT:   key: "down"
// CHECK-NEXT:   source_op: "send"
// CHECK-NOT:  has_input
// CHECK:      other_end: 0
func.func @step(%w: !t {cs.param = "w"}) -> (!t {cs.updates = "w"}) attributes {cs.step} {
  %g = cs.start "down" () : () -> !cs.future<!t> {
    %r = cs.recv "down" from affine_map<(r) -> (r + 1)> when affine_set<(r) : (1 - r >= 0)> : !t
    cs.return %r : !t
  }
  %a = cs.fragment "add" on 0 (%w) cost <flops = 1, bytes = 1, ns = 0> : (!t) -> !t
  %f = cs.start "down" (%a) : (!t) -> !cs.future<!t> {
  ^bb0(%x: !t):
    cs.send "down" %x to affine_map<(r) -> (r - 1)> when affine_set<(r) : (r - 1 >= 0)> : !t
    cs.return %x : !t
  }
  %s = cs.await %f : !cs.future<!t>
  %n = cs.await %g : !cs.future<!t>
  return %n : !t
}
