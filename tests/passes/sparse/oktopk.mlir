// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Of 16 elements 4 are selected; a region gets 5/4 of its quarter, and keeps one.

// RUN: %cs-opt --lower-sparse-comm="density=0.25 min-elements=1 method=oktopk" %s | FileCheck %s
// RUN: %cs-opt --lower-sparse-comm="density=0.25 min-elements=1 method=oktopk" --schedule-comm --expand-collectives --verify-distributed --mlir-print-local-scope %s | FileCheck %s --check-prefix=EXPANDED
// RUN: cs-opt --lower-sparse-comm="density=0.25 min-elements=1 method=oktopk" --schedule-comm --expand-collectives --verify-distributed %s -o /dev/null --remarks-filter=verify-distributed 2>&1 | FileCheck %s --check-prefix=PROVED
// RUN: cs-opt --lower-sparse-comm="density=0.25 min-elements=1 method=oktopk" --schedule-comm --expand-collectives --specialize-ranks --verify-distributed %s -o /dev/null
// RUN: sed 's/nodes = 4/nodes = 3/' %s | cs-opt --lower-sparse-comm="density=0.25 min-elements=1 method=oktopk" --schedule-comm --expand-collectives --verify-distributed -o /dev/null
// RUN: cs-opt --lower-sparse-comm="density=0.25 min-elements=1 method=oktopk" --remarks-filter=lower-sparse-comm %s -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK
// Without feedback nothing is given back.
// RUN: cs-opt --lower-sparse-comm="density=0.25 min-elements=1 method=oktopk feedback=false" %s | FileCheck %s --check-prefix=LOST
// Of 16 bits two values are a word.
// RUN: sed 's/xf32/xf16/g' %s | cs-opt --lower-sparse-comm="density=0.25 min-elements=1 method=oktopk" | FileCheck %s --check-prefix=HALF
// Of another number of nodes than the lists are for.
// RUN: sed 's/nodes = 4/nodes = 6/' %s | cs-opt --lower-sparse-comm="density=0.25 min-elements=1 method=oktopk" > %t
// RUN: sed 's/nodes = 6/nodes = 4/' %t | not cs-opt --schedule-comm --expand-collectives 2>&1 | FileCheck %s --check-prefix=ROWS
// A message that comes from another rank than the one that it should.
// RUN: cs-opt --lower-sparse-comm="density=0.25 min-elements=1 method=oktopk" --schedule-comm --expand-collectives --mlir-print-local-scope %s > %t
// RUN: sed 's/(d0 - d1 - 1) mod 4 + 4, 1/(d0 - d1) mod 4 + 4, 1/' %t | not cs-opt --verify-distributed 2>&1 | FileCheck %s --check-prefix=WRONG
// RUN: sed 's/(d0, d1) -> ((d0 + d1 + 1) mod 4, 1)/(d0, d1) -> ((d0 + d1 + 2) mod 4, 1)/' %t | not cs-opt --verify-distributed 2>&1 | FileCheck %s --check-prefix=OTHER

// REMARK: gradient "w": oktopk (asked for), 4 of 16 elements, 96 bytes sent by a node; predicted dense {{[0-9]+}} ns, allgather {{[0-9]+}} ns, hitopk {{[0-9]+}} ns, gtopk {{[0-9]+}} ns, oktopk {{[0-9]+}} ns
// ROWS: dimension 0 must be
// WRONG: the exchanges do not compute all_to_all: on rank 0, part 4 of 8 must be part 4 of rank 0
// OTHER: the exchanges do not compute all_to_all: on rank 1, part 4 of 8 must be part 1 of rank 0

cs.cluster @lab nodes = 4 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>

// CHECK-LABEL: func.func @step(
// CHECK-SAME: %[[SHIFTS:[a-z0-9]+]]: !cs.placed<tensor<3xi32>, device 0> {cs.per_rank, cs.state = "w.regions"}
// CHECK-SAME: %[[REST:[a-z0-9]+]]: !cs.placed<tensor<2x8xf32>, device 0> {cs.per_rank, cs.state = "w.residual"}
// CHECK: %[[TOP:.*]]:2 = cs.fragment "top_k.w" on 0 (%{{.*}}, %[[REST]], %[[SHIFTS]]) {{.*}} -> (!cs.placed<tensor<8x5xi32, #cs.coordinates<tensor<2x8xf32>, counted>>, device 0>, !cs.placed<tensor<2x8xf32>, device 0>)
// CHECK: cs.top_k "exact"
// CHECK: cs.split_regions %{{.*}}, %{{.*}} by %{{.*}} of 16 : (tensor<4xf32>, tensor<4xi32>, tensor<3xi32>) -> (tensor<8xf32>, tensor<8xi32>, tensor<4xi32>)
// CHECK: cs.pack_lists %{{.*}}, %{{.*}}, %{{.*}} times 2 : (tensor<8xf32>, tensor<8xi32>, tensor<4xi32>) -> tensor<8x5xi32, #cs.coordinates<tensor<2x8xf32>, counted>>
// CHECK: cs.scatter_add %{{.*}}, %{{.*}} except %{{.*}} into
// CHECK: %[[ALL:.*]] = cs.all_to_all "w.split" %[[TOP]]#0 : !cs.placed<tensor<8x5xi32, #cs.coordinates<tensor<2x8xf32>, counted>>, device 0>
// CHECK: %[[OWN:.*]] = cs.fragment "merge.w" on 0 (%[[ALL]]) deferred {{.*}} -> !cs.placed<tensor<1x3xi32, #cs.coordinates<tensor<2x8xf32>, counted>>, device 0>
// CHECK: cs.unpack_lists %{{.*}} from 4 : (tensor<8x5xi32, #cs.coordinates<tensor<2x8xf32>, counted>>) -> (tensor<8xf32>, tensor<8xi32>, tensor<4xi32>)
// CHECK: cs.merge_top_k {{.*}} : (tensor<8xf32>, tensor<8xi32>) -> (tensor<1xf32>, tensor<1xi32>)
// CHECK: %[[R:.*]] = cs.all_gather "w" %[[OWN]] : !cs.placed<tensor<1x3xi32, #cs.coordinates<tensor<2x8xf32>, counted>>, device 0> -> !cs.placed<tensor<4x3xi32, #cs.coordinates<tensor<2x8xf32>, counted>>, device 0>
// CHECK: %[[NEXT:.*]] = cs.fragment "residual.w" on 0 (%[[ALL]], %[[R]], %[[TOP]]#1) deferred
// CHECK: cs.scatter_add %{{.*}}, %{{.*}} except %{{.*}} into
// CHECK: %[[MOVED:.*]] = cs.fragment "regions.w" on 0 (%[[R]], %[[SHIFTS]]) deferred
// CHECK: cs.balance_regions %{{.*}}, %{{.*}} by %{{.*}} of 16 : tensor<4xi32>, tensor<4xi32>, tensor<3xi32>
// CHECK: %[[S:.*]] = cs.fragment "scatter_add.w" on 0 (%[[R]]) deferred
// CHECK: cs.scatter_add {{.*}} over 4
// CHECK: %[[N:.*]] = cs.fragment "update.w" on 0 (%{{.*}}, %[[S]])
// CHECK: return %[[N]], %[[MOVED]], %[[NEXT]]

// EXPANDED: cs.start "w.split"
// EXPANDED: cs.exchange %{{.*}} chunks 8 rounds 3 replace
// EXPANDED-SAME: send <parts affine_map<(d0, d1) -> ((d0 + d1 + 1) mod 4, 1)> to affine_map<(d0, d1) -> ((d0 + d1 + 1) mod 4)>>
// EXPANDED-SAME: recv <parts affine_map<(d0, d1) -> ((d0 - d1 - 1) mod 4 + 4, 1)> to affine_map<(d0, d1) -> ((d0 - d1 - 1) mod 4)>>
// EXPANDED: cs.start "w"
// PROVED: 2 expanded (2 different), all messages match, 2 proved

// LOST: cs.fragment "top_k.w" on 0 {{.*}} -> !cs.placed<tensor<8x5xi32, #cs.coordinates<tensor<2x8xf32>, counted>>, device 0>
// LOST-NOT: cs.fragment "residual.w"

// HALF: cs.all_to_all "w.split" %{{.*}} : !cs.placed<tensor<8x4xi32, #cs.coordinates<tensor<2x8xf16>, counted>>, device 0>
// HALF: cs.all_gather "w" %{{.*}} : !cs.placed<tensor<1x3xi32, #cs.coordinates<tensor<2x8xf16>, counted>>, device 0> -> !cs.placed<tensor<4x3xi32, #cs.coordinates<tensor<2x8xf16>, counted>>, device 0>
!t = !cs.placed<tensor<2x8xf32>, device 0>
func.func @step(%w: !t {cs.param = "w"}, %x: !t {cs.batch = "x"}) -> (!t {cs.updates = "w"}) attributes {cs.step} {
  %g = cs.fragment "backward" on 0 (%w, %x) : (!t, !t) -> !t {
  ^bb0(%a: tensor<2x8xf32>, %b: tensor<2x8xf32>):
    %0 = arith.mulf %a, %b : tensor<2x8xf32>
    cs.return %0 : tensor<2x8xf32>
  }
  %r = cs.all_reduce "w" mean %g : !t
  %n = cs.fragment "update.w" on 0 (%w, %r) deferred : (!t, !t) -> !t {
  ^bb0(%a: tensor<2x8xf32>, %b: tensor<2x8xf32>):
    %0 = arith.subf %a, %b : tensor<2x8xf32>
    cs.return %0 : tensor<2x8xf32>
  }
  return %n : !t
}
