// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Two of three nodes run one step, the last another; each is a role. What they tell each
// other has its ends in two functions, which know each other; peers are counted in the
// other role.
// RUN: cs-opt --expand-collectives --verify-distributed %s | cs-translate --mlir-to-plan | cs-translate --plan-to-text | FileCheck %s

cs.cluster @three nodes = 3 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
!t = !cs.placed<tensor<8xf32>, device 0>

// Exchange, point to point, groups, roles, and costs in the place of code.
// CHECK:      required_features: 12386
// CHECK:      name: "first"
// CHECK-NEXT: is_step: true
// CHECK:      key: "sum"
// CHECK:      group: [[FIRST:.*]]
// CHECK:      key: "m"
// CHECK:      other_end: 0
// CHECK:      group: [[FIRST]]
// CHECK:      other_function: 1
// CHECK:      peer_group: [[LAST:.*]]
// CHECK:      global_batch: 8
// CHECK:      name: "last"
// CHECK-NEXT: is_step: true
// CHECK:      key: "m"
// CHECK:      other_end: 2
// CHECK:      group: [[LAST]]
// CHECK:      other_function: 0
// CHECK:      peer_group: [[FIRST]]
// CHECK:      global_batch: 8
// CHECK:      name: "init"
// CHECK:      roles {
// CHECK-NEXT:   name: "first"
// CHECK-NEXT:   count: 2
// CHECK-NEXT:   functions: [0, 2]
// CHECK-NEXT: }
// CHECK-NEXT: roles {
// CHECK-NEXT:   name: "last"
// CHECK-NEXT:   count: 1
// CHECK-NEXT:   functions: [1, 2]
// CHECK-NEXT: }
// CHECK:      groups {
// CHECK-NEXT:   name: "first"
// CHECK-NEXT:   ranks: [0, 1]
// CHECK-NEXT: }
// CHECK-NEXT: groups {
// CHECK-NEXT:   name: "last"
// CHECK-NEXT:   ranks: [2]
// CHECK-NEXT: }
func.func @first(%w: !t {cs.param = "w"}, %x: !cs.placed<tensor<4xf32>, device 0> {cs.batch = "x"}) -> (!t {cs.updates = "w"}) attributes {cs.step, cs.count = 2 : i64} {
  %a = cs.fragment "a" on 0 (%w, %x) cost <flops = 0, bytes = 0, ns = 1> : (!t, !cs.placed<tensor<4xf32>, device 0>) -> !t
  %f = cs.start "sum" (%a) : (!t) -> !cs.future<!t> {
  ^bb0(%v: !t):
    %r = cs.all_reduce "sum" sum %v : !t
    cs.return %r : !t
  }
  %b = cs.await %f : !cs.future<!t>
  %g = cs.start "m" (%b) : (!t) -> !cs.future<!t> {
  ^bb0(%v: !t):
    cs.send "m" %v to affine_map<(r) -> (r - 1)> of @last when affine_set<(r) : (r - 1 == 0)> : !t
    cs.return %v : !t
  }
  %c = cs.await %g : !cs.future<!t>
  return %b : !t
}
func.func @last(%u: !t {cs.param = "u"}, %y: !t {cs.batch = "y"}) -> (!t {cs.updates = "u"}) attributes {cs.step, cs.count = 1 : i64} {
  %f = cs.start "m" () : () -> !cs.future<!t> {
    %r = cs.recv "m" from affine_map<(r) -> (r + 1)> of @first : !t
    cs.return %r : !t
  }
  %a = cs.await %f : !cs.future<!t>
  %b = cs.fragment "b" on 0 (%u, %a, %y) cost <flops = 0, bytes = 0, ns = 1> : (!t, !t, !t) -> !t
  return %b : !t
}
func.func @init() -> (!t {cs.updates = "w"}, !t {cs.updates = "u"}) {
  %w = cs.fragment "zero" on 0 () cost <flops = 0, bytes = 0, ns = 1> : () -> !t
  %u = cs.fragment "one" on 0 () cost <flops = 0, bytes = 0, ns = 1> : () -> !t
  return %w, %u : !t, !t
}
