// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: %cs-opt --combine-collectives %s | FileCheck %s
// RUN: cs-opt --combine-collectives --combine-collectives %s | FileCheck %s
// RUN: cs-opt --combine-collectives --remarks-filter=combine-collectives %s -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: cs-opt --combine-collectives=gather-bytes=0 %s | FileCheck %s --check-prefix=APART
// RUN: cs-opt --combine-collectives=gather-bytes=100 %s | FileCheck %s --check-prefix=LIMIT
// RUN: not cs-opt --combine-collectives=gather-bytes=-2 %s 2>&1 | FileCheck %s --check-prefix=BYTES
// RUN: cs-opt --combine-collectives --schedule-comm --expand-collectives --verify-distributed %s -o /dev/null
// BYTES: error: combine-collectives: gather-bytes must be at least 0, or -1 for what the link carries, got: -2

// REMARK: one all-reduce for "a" and "b"
// REMARK: one all-reduce for "a+b" and "c"
// REMARK: one all-reduce for "g" and "h"
// REMARK: a reduce-scatter for the parts of "w" that the nodes use
// REMARK: rows of "t" are gathered, in 2 lists
// REMARK: one all-gather of 32 bytes for "t.ids", "t.ids'"
// REMARK: one all-gather of 88 bytes for "p", "q"

cs.cluster @lab nodes = 2 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
!v = !cs.placed<tensor<4xf32>, device 0>
!p = !cs.placed<tensor<2xf32>, device 0>

// A key that is taken.
// CHECK-LABEL: func.func @keys
// CHECK: cs.all_reduce "a+b" max
// CHECK: cs.all_reduce "a+b'" sum
func.func @keys(%a: !v {cs.batch = "a"}, %b: !v {cs.batch = "b"}) -> (!v {cs.updates = "s"}, !v {cs.updates = "t"}) {
  %0 = cs.all_reduce "a" sum %a : !v
  %1 = cs.all_reduce "a+b" max %b : !v
  %2 = cs.all_reduce "b" sum %b : !v
  %3 = cs.fragment "use" on 0 (%0, %2) : (!v, !v) -> !v {
  ^bb0(%x: tensor<4xf32>, %y: tensor<4xf32>):
    %4 = arith.addf %x, %y : tensor<4xf32>
    cs.return %4 : tensor<4xf32>
  }
  return %3, %1 : !v, !v
}

// (a + b) - c: one all-reduce of three.
// CHECK-LABEL: func.func @sums
// CHECK: %[[AB:.*]] = cs.fragment "join.a+b" on 0 (%arg0, %arg1) deferred
// CHECK: arith.addf
// CHECK: %[[ABC:.*]] = cs.fragment "join.a+b+c" on 0 (%[[AB]], %arg2) deferred
// CHECK: arith.subf
// CHECK: %[[R:.*]] = cs.all_reduce "a+b+c" mean %[[ABC]]
// CHECK-NOT: cs.all_reduce
// CHECK: cs.fragment "use" on 0 (%[[R]])
func.func @sums(%a: !v {cs.batch = "a"}, %b: !v {cs.batch = "b"}, %c: !v {cs.batch = "c"}) -> (!v {cs.updates = "s"}) {
  %0 = cs.all_reduce "a" mean %a : !v
  %1 = cs.all_reduce "b" mean %b : !v
  %2 = cs.all_reduce "c" mean %c : !v
  %3 = cs.fragment "use" on 0 (%0, %1, %2) : (!v, !v, !v) -> !v {
  ^bb0(%x: tensor<4xf32>, %y: tensor<4xf32>, %z: tensor<4xf32>):
    %4 = arith.addf %x, %y : tensor<4xf32>
    %5 = arith.subf %4, %z : tensor<4xf32>
    cs.return %5 : tensor<4xf32>
  }
  return %3 : !v
}

// Not a sum of sums: a maximum, another reduction, a result that is read twice, a product, twice the
// same, and one that wants to be sparse.
// CHECK-LABEL: func.func @others
// CHECK-COUNT-11: cs.all_reduce
// CHECK-NOT: "join
func.func @others(%a: !v {cs.batch = "a"}, %b: !v {cs.batch = "b"}) -> (!v {cs.updates = "s"}, !v {cs.updates = "t"}) {
  %0 = cs.all_reduce "m0" max %a : !v
  %1 = cs.all_reduce "m1" max %b : !v
  %2 = cs.all_reduce "n0" mean %a : !v
  %3 = cs.all_reduce "n1" sum %b : !v
  %4 = cs.all_reduce "o0" sum %a : !v
  %5 = cs.all_reduce "o1" sum %b : !v
  %6 = cs.all_reduce "p0" sum %a : !v
  %7 = cs.all_reduce "p1" sum %b : !v
  %8 = cs.all_reduce "q" sum %b : !v
  %9 = cs.all_reduce "r0" sum %a {cs.density = 0.5 : f64} : !v
  %10 = cs.all_reduce "r1" sum %b : !v
  %11 = cs.fragment "use" on 0 (%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10) : (!v, !v, !v, !v, !v, !v, !v, !v, !v, !v, !v) -> !v {
  ^bb0(%m0: tensor<4xf32>, %m1: tensor<4xf32>, %n0: tensor<4xf32>, %n1: tensor<4xf32>, %o0: tensor<4xf32>, %o1: tensor<4xf32>,
       %p0: tensor<4xf32>, %p1: tensor<4xf32>, %q: tensor<4xf32>, %r0: tensor<4xf32>, %r1: tensor<4xf32>):
    %m = arith.addf %m0, %m1 : tensor<4xf32>
    %n = arith.addf %n0, %n1 : tensor<4xf32>
    %o = arith.addf %o0, %o1 : tensor<4xf32>
    %o2 = arith.mulf %o0, %o : tensor<4xf32>
    %p = arith.mulf %p0, %p1 : tensor<4xf32>
    %q2 = arith.addf %q, %q : tensor<4xf32>
    %r = arith.addf %r0, %r1 : tensor<4xf32>
    %s0 = arith.mulf %m, %n : tensor<4xf32>
    %s1 = arith.mulf %s0, %o2 : tensor<4xf32>
    %s2 = arith.mulf %s1, %p : tensor<4xf32>
    %s3 = arith.mulf %s2, %q2 : tensor<4xf32>
    %s4 = arith.mulf %s3, %r : tensor<4xf32>
    cs.return %s4 : tensor<4xf32>
  }
  return %11, %5 : !v, !v
}

// The mean of integers is none; their sums are.
// CHECK-LABEL: func.func @integers
// CHECK: cs.all_reduce "g+h" sum
!i = !cs.placed<tensor<4xi32>, device 0>
func.func @integers(%a: !i {cs.batch = "a"}, %b: !i {cs.batch = "b"}) -> (!i {cs.updates = "s"}) {
  %0 = cs.all_reduce "g" sum %a : !i
  %1 = cs.all_reduce "h" sum %b : !i
  %2 = cs.fragment "use" on 0 (%0, %1) : (!i, !i) -> !i {
  ^bb0(%x: tensor<4xi32>, %y: tensor<4xi32>):
    %3 = arith.addi %x, %y : tensor<4xi32>
    cs.return %3 : tensor<4xi32>
  }
  return %2 : !i
}

// CHECK-LABEL: func.func @parts
// CHECK: %[[W:.*]] = cs.reduce_scatter "w" sum %arg0 : !cs.placed<tensor<4xf32>, device 0> -> !cs.placed<tensor<2xf32>, device 0>
// CHECK: cs.fragment "own" on 0 (%[[W]], %arg1)
// CHECK-NOT: tensor.extract_slice
// CHECK: cs.all_gather
func.func @parts(%g: !v {cs.batch = "g"}, %i: !cs.placed<tensor<i32>, device 0> {cs.worker_index}) -> (!v {cs.updates = "w"}) {
  %0 = cs.all_reduce "w" sum %g : !v
  %1 = cs.fragment "own" on 0 (%0, %i) : (!v, !cs.placed<tensor<i32>, device 0>) -> !p {
  ^bb0(%w: tensor<4xf32>, %n: tensor<i32>):
    %two = arith.constant 2 : i32
    %own = tensor.extract %n[] : tensor<i32>
    %begin = arith.muli %own, %two : i32
    %at = arith.index_cast %begin : i32 to index
    %part = tensor.extract_slice %w[%at] [2] [1] : tensor<4xf32> to tensor<2xf32>
    cs.return %part : tensor<2xf32>
  }
  %2 = cs.all_gather "new" %1 : !p -> !v
  return %2 : !v
}

// Parts of another size, at another place, and the whole beside them.
// CHECK-LABEL: func.func @no_parts
// CHECK-COUNT-3: cs.all_reduce
// CHECK-NOT: cs.reduce_scatter
func.func @no_parts(%g: !v {cs.batch = "g"}, %i: !cs.placed<tensor<i32>, device 0> {cs.worker_index}) -> (!v {cs.updates = "w"}, !p {cs.updates = "x"}) {
  %0 = cs.all_reduce "size" sum %g : !v
  %1 = cs.all_reduce "place" sum %g : !v
  %2 = cs.all_reduce "whole" sum %g : !v
  %3 = cs.fragment "own" on 0 (%0, %1, %2, %i) : (!v, !v, !v, !cs.placed<tensor<i32>, device 0>) -> !p {
  ^bb0(%a: tensor<4xf32>, %b: tensor<4xf32>, %c: tensor<4xf32>, %n: tensor<i32>):
    %own = tensor.extract %n[] : tensor<i32>
    %one = arith.index_cast %own : i32 to index
    %zero = arith.constant 0 : index
    %two = arith.constant 2 : index
    %at = arith.muli %one, %two : index
    %p0 = tensor.extract_slice %a[%one] [1] [1] : tensor<4xf32> to tensor<1xf32>
    %p1 = tensor.extract_slice %b[%one] [2] [1] : tensor<4xf32> to tensor<2xf32>
    %p2 = tensor.extract_slice %c[%at] [2] [1] : tensor<4xf32> to tensor<2xf32>
    %x = tensor.extract %p0[%zero] : tensor<1xf32>
    %p3 = tensor.insert %x into %p1[%zero] : tensor<2xf32>
    %sum = arith.addf %p2, %p3 : tensor<2xf32>
    cs.return %sum : tensor<2xf32>
  }
  return %2, %3 : !v, !p
}

// The rows of a table that are no zeros: two lists, one of which is there already. A table of few rows stays.
// APART-LABEL: func.func @rows
// APART: %[[MAKE:.*]]:4 = cs.fragment "make" on 0 (%arg0, %arg1)
// APART: cs.return %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} : tensor<4x4xf32>, tensor<4x2xf32>, tensor<4xi32>, tensor<4x2xf32>
// APART: %[[I0:.*]] = cs.all_gather "t.ids" %arg0
// APART: %[[V0:.*]] = cs.all_gather "t" %[[MAKE]]#1
// APART: %[[I1:.*]] = cs.all_gather "t.ids'" %[[MAKE]]#2
// APART: %[[V1:.*]] = cs.all_gather "t.values" %[[MAKE]]#3
// APART: %[[T:.*]] = cs.fragment "rows.t" on 0 (%[[I0]], %[[V0]], %[[I1]], %[[V1]]) deferred
// APART-COUNT-2: arith.divf
// APART: cs.all_reduce "few" mean %[[MAKE]]#0
// APART: return %[[T]]
!n = !cs.placed<tensor<4xi32>, device 0>
!r = !cs.placed<tensor<4x2xf32>, device 0>
!t = !cs.placed<tensor<64x2xf32>, device 0>
!few = !cs.placed<tensor<4x4xf32>, device 0>
func.func @rows(%i: !n {cs.batch = "i"}, %r: !r {cs.batch = "r"}) -> (!t {cs.updates = "t"}, !few {cs.updates = "few"}) {
  %0:2 = cs.fragment "make" on 0 (%i, %r) : (!n, !r) -> (!t, !few) {
  ^bb0(%ids: tensor<4xi32>, %rows: tensor<4x2xf32>):
    %ids2 = arith.addi %ids, %ids : tensor<4xi32>
    %rows2 = arith.addf %rows, %rows : tensor<4x2xf32>
    %rows3 = arith.mulf %rows2, %rows : tensor<4x2xf32>
    %a = cs.segment_sum %ids, %rows2 : (tensor<4xi32>, tensor<4x2xf32>) -> tensor<64x2xf32>
    %b = cs.segment_sum %ids2, %rows3 : (tensor<4xi32>, tensor<4x2xf32>) -> tensor<64x2xf32>
    %t = arith.addf %a, %b : tensor<64x2xf32>
    %ones = arith.constant dense<1.0> : tensor<4x4xf32>
    %c = cs.segment_sum %ids, %ones : (tensor<4xi32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    cs.return %t, %c : tensor<64x2xf32>, tensor<4x4xf32>
  }
  %1 = cs.all_reduce "t" mean %0#0 : !t
  %2 = cs.all_reduce "few" mean %0#1 : !few
  return %1, %2 : !t, !few
}

// Tensors of any shape; what depends on a gather does not join it.
// CHECK-LABEL: func.func @gathers
// CHECK: %[[JOIN:.*]] = cs.fragment "join.p+1" on 0 (%arg0, %arg1) deferred
// CHECK: tensor.expand_shape %{{.*}} : tensor<4xf32> into tensor<1x4xf32>
// CHECK: tensor.collapse_shape %{{.*}} : tensor<2x3x3xf32> into tensor<18xf32>
// CHECK: %[[ALL:.*]] = cs.all_gather "p+1" %[[JOIN]] : !cs.placed<tensor<1x22xf32>, device 0> -> !cs.placed<tensor<2x22xf32>, device 0>
// CHECK: %[[CUT:.*]]:2 = cs.fragment "cut.p+1" on 0 (%[[ALL]]) deferred
// CHECK: cs.all_gather "r"
// APART-LABEL: func.func @gathers
// APART-COUNT-3: cs.all_gather
// LIMIT: cs.all_gather "p+1"
!q = !cs.placed<tensor<2x3x3xf32>, device 0>
!q2 = !cs.placed<tensor<4x3x3xf32>, device 0>
!v2 = !cs.placed<tensor<8xf32>, device 0>
!v4 = !cs.placed<tensor<16xf32>, device 0>
func.func @gathers(%a: !v {cs.batch = "a"}, %b: !q {cs.batch = "b"}) -> (!v4 {cs.updates = "s"}, !q2 {cs.updates = "t"}) {
  %0 = cs.all_gather "p" %a : !v -> !v2
  %1 = cs.all_gather "q" %b : !q -> !q2
  %2 = cs.all_gather "r" %0 : !v2 -> !v4
  return %2, %1 : !v4, !q2
}

// What a group has is not what all have: nothing of it is combined.
// CHECK-LABEL: func.func @groups
// CHECK: cs.all_reduce "a" sum %arg0 in @some
// CHECK: cs.all_reduce "b" sum %arg1 in @some
// CHECK: cs.all_gather "ga" %arg0 in @some
// CHECK: cs.all_gather "gb" %arg1 in @some
cs.group @some ranks [1, 0]
func.func @groups(%a: !v {cs.batch = "a"}, %b: !v {cs.batch = "b"}) -> (!v {cs.updates = "s"}, !cs.placed<tensor<8xf32>, device 0>, !cs.placed<tensor<8xf32>, device 0>) {
  %0 = cs.all_reduce "a" sum %a in @some : !v
  %2 = cs.all_reduce "b" sum %b in @some : !v
  %g = cs.all_gather "ga" %a in @some : !v -> !cs.placed<tensor<8xf32>, device 0>
  %h = cs.all_gather "gb" %b in @some : !v -> !cs.placed<tensor<8xf32>, device 0>
  %3 = cs.fragment "use" on 0 (%0, %2) : (!v, !v) -> !v {
  ^bb0(%x: tensor<4xf32>, %y: tensor<4xf32>):
    %4 = arith.addf %x, %y : tensor<4xf32>
    cs.return %4 : tensor<4xf32>
  }
  return %3, %g, %h : !v, !cs.placed<tensor<8xf32>, device 0>, !cs.placed<tensor<8xf32>, device 0>
}
