// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Exchanges of a group are those of as many nodes as it has members, of which the root
// is counted among them. Of a single member, a collective is the identity.

// RUN: cs-opt --expand-collectives=algorithm=ring --verify-distributed %s --remarks-filter=verify-distributed 2> %t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks
// RUN: cs-opt --expand-collectives=algorithm=ring --specialize-ranks --verify-distributed %s | FileCheck %s --check-prefix=EACH

cs.cluster @lab nodes = 8 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
cs.group @three ranks [6, 1, 4]
cs.group @one ranks [5]
!t = !cs.placed<tensor<8xf32>, device 0>

// REMARK: @step on 8 ranks: 2 futures awaited exactly once; 2 collectives in the same order on all ranks; 2 expanded (2 different), all messages match, 2 proved to compute their collective

// CHECK-DAG: #[[NEXT:.*]] = affine_map<(d0, d1) -> ((d0 + 1) mod 3)>
// CHECK-DAG: #[[CHILD:.*]] = affine_map<(d0, d1) -> ((d0 + 2) mod 3)>
// CHECK-LABEL: func.func @step
// CHECK:      cs.start "w"{{.*}} attributes {cs.collective = "all_reduce", cs.reduction = "mean"}
// CHECK:        cs.exchange %{{.*}} in @three chunks 3 rounds 2 sum scale 0.33333333333333331
// CHECK-SAME:     send <parts #{{.*}} to #[[NEXT]]>
// CHECK:        cs.exchange %{{.*}} in @three chunks 3 rounds 2 replace
// CHECK:      cs.start "b"{{.*}} attributes {cs.collective = "broadcast", cs.root = 1 : i64}
// CHECK:        cs.exchange %{{.*}} in @three chunks 1 rounds 1 replace send <parts #{{.*}} to #[[CHILD]]
// CHECK-NOT:  @one

// Rank 0 is no member: what it would do stays as it is. Rank 1 is member 1.
// EACH-DAG:   #[[FILLED:.*]] = affine_map<(d0, d1) -> (2)>
// EACH-DAG:   #[[OPEN:.*]] = affine_map<(d0, d1) -> ((d0 + 1) mod 3)>
// EACH-LABEL: func.func @step.rank0(
// EACH:         cs.exchange %{{.*}} in @three chunks 3 rounds 2 sum {{.*}} send <parts #{{.*}} to #[[OPEN]]>
// EACH-LABEL: func.func @step.rank1(
// EACH:         cs.exchange %{{.*}} in @three chunks 3 rounds 2 sum {{.*}} send <parts #{{.*}} to #[[FILLED]]>
func.func @step(%v: !t) -> (!t, !t, !t) {
  %f = cs.start "w" (%v) : (!t) -> !cs.future<!t> {
  ^bb0(%x: !t):
    %r = cs.all_reduce "w" mean %x in @three : !t
    cs.return %r : !t
  }
  %g = cs.start "b" (%v) : (!t) -> !cs.future<!t> {
  ^bb0(%x: !t):
    %r = cs.broadcast "b" %x from 1 in @three : !t
    cs.return %r : !t
  }
  %h = cs.start "i" (%v) : (!t) -> !cs.future<!t> {
  ^bb0(%x: !t):
    %r = cs.all_reduce "i" sum %x in @one : !t
    cs.return %r : !t
  }
  %0 = cs.await %f : !cs.future<!t>
  %1 = cs.await %g : !cs.future<!t>
  %2 = cs.await %h : !cs.future<!t>
  return %0, %1, %2 : !t, !t, !t
}
