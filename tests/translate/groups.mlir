// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: cs-opt --schedule-comm --expand-collectives --verify-distributed %s | cs-translate --mlir-to-plan | cs-translate --plan-to-text | FileCheck %s

cs.cluster @lab nodes = 8 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
cs.group @unused ranks [0]
cs.group @odd where affine_set<(r) : (r mod 2 - 1 == 0)>
cs.group @three ranks [6, 1, 4]
!t = !cs.placed<tensor<9xf32>, device 0>
!p = !cs.placed<tensor<3xf32>, device 0>

// Exchange, groups, and costs in the place of code.
// CHECK:      required_features: 4130
// CHECK:      communicate {
// CHECK-NEXT:   key: "a"
// CHECK:        chunks: 1
// CHECK:        group: 0
// CHECK:      communicate {
// CHECK-NEXT:   key: "s"
// CHECK-NEXT:   source_op: "reduce_scatter"
// CHECK:        chunks: 3
// CHECK:        group: 1
// CHECK:      communicate {
// CHECK-NEXT:   key: "all"
// CHECK-NOT:    group:
// CHECK:      groups {
// CHECK-NEXT:   name: "odd"
// CHECK-NEXT:   ranks: [1, 3, 5, 7]
// CHECK-NEXT: }
// CHECK-NEXT: groups {
// CHECK-NEXT:   name: "three"
// CHECK-NEXT:   ranks: [6, 1, 4]
// CHECK-NEXT: }
// CHECK-NOT:  groups
func.func @step(%w: !t {cs.param = "w"}) -> (!t {cs.updates = "w"}) attributes {cs.step} {
  %v = cs.fragment "backward" on 0 (%w) cost <flops = 0, bytes = 0, ns = 100000> : (!t) -> !t
  %a = cs.all_reduce "a" sum %v in @odd : !t
  %s = cs.reduce_scatter "s" sum %a in @three : !t -> !p
  %m = cs.fragment "move" on 0 (%s) cost <flops = 0, bytes = 0, ns = 100> : (!p) -> !t
  %n = cs.all_reduce "all" sum %m : !t
  return %n : !t
}
