// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: %cs-opt --insert-dist-comm="mode=parameter-server servers=2 min-block-elements=8" --split-input-file %s --remarks-filter=insert-dist-comm -o %t 2> %t.remarks
// RUN: FileCheck %s --input-file=%t
// RUN: FileCheck %s --input-file=%t.remarks --check-prefix=REMARK

// LARS scales by the norm of the whole parameter: one block. The other parameter
// is cut all the same.

// REMARK-DAG: [[#@LINE+28]]:{{[0-9]+}}: remark: [Passed] whole | {{.*}}"parameter "a" stays whole: linalg.reduce does not act row by row on its update"
// REMARK-DAG: remark: [Passed] blocks | {{.*}}"parameter "a": 1 block of rows 0 to 4 on server 0"
// REMARK-DAG: remark: [Passed] blocks | {{.*}}"parameter "b": 2 blocks of rows 0 to 2 on server 1, 2 to 4 on server 1"
// REMARK-DAG: remark: [Passed] server | {{.*}}"server 0: 1 blocks of 128 bytes"
// REMARK-DAG: remark: [Passed] server | {{.*}}"server 1: 2 blocks of 128 bytes"
// REMARK-DAG: remark: [Passed] gradient | {{.*}}"gradient "b": sent to server 1, server 1 of 128 bytes"
// CHECK-LABEL: func.func @lars(
// CHECK: cs.send "a" %{{.*}} of @server.0 : !cs.placed<tensor<4x8xf32>, device 0>
// CHECK-LABEL: func.func @server.0(
// CHECK-SAME: !cs.placed<tensor<4x8xf32>, device 0> {cs.param = "a"}) ->
// CHECK-NOT: cs.fragment "schedule"
// CHECK: cs.collect "a" by mean
// CHECK: cs.fragment "update.a"
// CHECK: linalg.reduce
// CHECK: cs.publish "a.new"
// CHECK-LABEL: func.func @server.1(
// CHECK-SAME: {cs.param = "b", cs.rows = array<i64: 0, 2>}, {{.*}} {cs.param = "b", cs.rows = array<i64: 2, 4>})
func.func @lars(%a: tensor<4x8xf32> {cs.param = "a"}, %b: tensor<4x8xf32> {cs.param = "b"},
                %x: tensor<4x8xf32> {cs.batch = "x"})
    -> (tensor<4x8xf32> {cs.updates = "a"}, tensor<4x8xf32> {cs.updates = "b"}) attributes {cs.step} {
  %c0 = arith.constant 0.0 : f32
  %ga = arith.mulf %a, %x : tensor<4x8xf32>
  %ga1 = cs.gradient %ga of "a" : tensor<4x8xf32>
  %gb = arith.mulf %b, %x : tensor<4x8xf32>
  %gb1 = cs.gradient %gb of "b" : tensor<4x8xf32>
  %b1 = arith.subf %b, %gb1 : tensor<4x8xf32>
  %e = tensor.empty() : tensor<f32>
  %z = linalg.fill ins(%c0 : f32) outs(%e : tensor<f32>) -> tensor<f32>
  %n = linalg.reduce ins(%a : tensor<4x8xf32>) outs(%z : tensor<f32>) dimensions = [0, 1]
      (%p: f32, %q: f32) { %s = arith.addf %p, %q : f32 linalg.yield %s : f32 }
  %k = tensor.extract %n[] : tensor<f32>
  %ks = tensor.splat %k : tensor<4x8xf32>
  %u = arith.mulf %ga1, %ks : tensor<4x8xf32>
  %a1 = arith.subf %a, %u : tensor<4x8xf32>
  return %a1, %b1 : tensor<4x8xf32>, tensor<4x8xf32>
}

// -----

// Clipping by the global norm joins all gradients: the parameters go to one server
// as wholes, where the norm is one fragment with their updates.

// REMARK-DAG: remark: [Passed] whole | {{.*}}"parameters "a", "b" stay whole, together on server 0: their updates are joined here"
// REMARK-DAG: remark: [Passed] server | {{.*}}"server 0: 2 blocks of 192 bytes"
// REMARK-DAG: remark: [Passed] server | {{.*}}"server 1: 0 blocks of 0 bytes"
// CHECK-LABEL: func.func @global_norm(
// CHECK: cs.send "a" %{{.*}} of @server.0
// CHECK: cs.send "b" %{{.*}} of @server.0
// CHECK-LABEL: func.func @server.0(
// CHECK: %[[A:.*]] = cs.collect "a" by mean
// CHECK: %[[B:.*]] = cs.collect "b" by mean
// CHECK: %[[U:.*]]:2 = cs.fragment "update.a" on 0 (%[[A]], %[[B]]
// CHECK: cs.publish "a.new" %[[U]]#0
// CHECK: cs.publish "b.new" %[[U]]#1
// CHECK-LABEL: func.func @server.1() attributes {cs.server = 1 : i64} {
// CHECK-NEXT: return
func.func @global_norm(%a: tensor<4x8xf32> {cs.param = "a"}, %b: tensor<16xf32> {cs.param = "b"},
                       %x: tensor<4x8xf32> {cs.batch = "x"}, %y: tensor<16xf32> {cs.batch = "y"})
    -> (tensor<4x8xf32> {cs.updates = "a"}, tensor<16xf32> {cs.updates = "b"}) attributes {cs.step} {
  %c0 = arith.constant 0.0 : f32
  %ga = arith.mulf %a, %x : tensor<4x8xf32>
  %ga1 = cs.gradient %ga of "a" : tensor<4x8xf32>
  %gb = arith.mulf %b, %y : tensor<16xf32>
  %gb1 = cs.gradient %gb of "b" : tensor<16xf32>
  %e = tensor.empty() : tensor<f32>
  %z = linalg.fill ins(%c0 : f32) outs(%e : tensor<f32>) -> tensor<f32>
  %na = linalg.reduce ins(%ga1 : tensor<4x8xf32>) outs(%z : tensor<f32>) dimensions = [0, 1]
      (%p: f32, %q: f32) { %s = arith.addf %p, %q : f32 linalg.yield %s : f32 }
  %nb = linalg.reduce ins(%gb1 : tensor<16xf32>) outs(%z : tensor<f32>) dimensions = [0]
      (%p: f32, %q: f32) { %s = arith.addf %p, %q : f32 linalg.yield %s : f32 }
  %n = arith.addf %na, %nb : tensor<f32>
  %k = tensor.extract %n[] : tensor<f32>
  %ka = tensor.splat %k : tensor<4x8xf32>
  %kb = tensor.splat %k : tensor<16xf32>
  %ua = arith.divf %ga1, %ka : tensor<4x8xf32>
  %ub = arith.divf %gb1, %kb : tensor<16xf32>
  %a1 = arith.subf %a, %ua : tensor<4x8xf32>
  %b1 = arith.subf %b, %ub : tensor<16xf32>
  return %a1, %b1 : tensor<4x8xf32>, tensor<16xf32>
}

// -----

// Rows that are counted, mixed or transposed keep a parameter whole; so does state
// with other rows.

// REMARK-DAG: "parameter "counted" stays whole: linalg.generic does
// REMARK-DAG: "parameter "mixed" stays whole: tensor.collapse_shape does
// REMARK-DAG: "parameter "transposed" stays whole: linalg.transpose does
// REMARK-DAG: "parameter "other" stays whole: state "columns" of type tensor<8xf32> has other rows
// CHECK-LABEL: func.func @mixed(
// CHECK-NOT: cs.split
// CHECK: func.func @server.0(
#id = affine_map<(d0, d1) -> (d0, d1)>
#columns = affine_map<(d0, d1) -> (d1)>
func.func @mixed(%a: tensor<4x8xf32> {cs.param = "counted"}, %b: tensor<4x8xf32> {cs.param = "mixed"},
                 %c: tensor<4x4xf32> {cs.param = "transposed"}, %d: tensor<4x8xf32> {cs.param = "other"},
                 %s: tensor<8xf32> {cs.state = "columns"},
                 %x: tensor<4x8xf32> {cs.batch = "x"}, %y: tensor<4x4xf32> {cs.batch = "y"})
    -> (tensor<4x8xf32> {cs.updates = "counted"}, tensor<4x8xf32> {cs.updates = "mixed"},
        tensor<4x4xf32> {cs.updates = "transposed"}, tensor<4x8xf32> {cs.updates = "other"},
        tensor<8xf32> {cs.updates = "columns"}) attributes {cs.step} {
  %c0 = arith.constant 0.0 : f32
  %ga = arith.mulf %a, %x : tensor<4x8xf32>
  %ga1 = cs.gradient %ga of "counted" : tensor<4x8xf32>
  %gb = arith.mulf %b, %x : tensor<4x8xf32>
  %gb1 = cs.gradient %gb of "mixed" : tensor<4x8xf32>
  %gc = arith.mulf %c, %y : tensor<4x4xf32>
  %gc1 = cs.gradient %gc of "transposed" : tensor<4x4xf32>
  %gd = arith.mulf %d, %x : tensor<4x8xf32>
  %gd1 = cs.gradient %gd of "other" : tensor<4x8xf32>
  %e = tensor.empty() : tensor<4x8xf32>
  %a1 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%ga1 : tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) {
  ^bb0(%i: f32, %o: f32):
    %r = linalg.index 0 : index
    %k = arith.index_cast %r : index to i32
    %f = arith.sitofp %k : i32 to f32
    %m = arith.mulf %i, %f : f32
    linalg.yield %m : f32
  } -> tensor<4x8xf32>
  %flat = tensor.collapse_shape %gb1 [[0, 1]] : tensor<4x8xf32> into tensor<32xf32>
  %sq = arith.mulf %flat, %flat : tensor<32xf32>
  %b1 = tensor.expand_shape %sq [[0, 1]] output_shape [4, 8] : tensor<32xf32> into tensor<4x8xf32>
  %et = tensor.empty() : tensor<4x4xf32>
  %t = linalg.transpose ins(%gc1 : tensor<4x4xf32>) outs(%et : tensor<4x4xf32>) permutation = [1, 0]
  %c1 = arith.addf %t, %gc1 : tensor<4x4xf32>
  %z = linalg.fill ins(%c0 : f32) outs(%s : tensor<8xf32>) -> tensor<8xf32>
  %s1 = linalg.reduce ins(%gd1 : tensor<4x8xf32>) outs(%z : tensor<8xf32>) dimensions = [0]
      (%p: f32, %q: f32) { %r = arith.addf %p, %q : f32 linalg.yield %r : f32 }
  %d1 = linalg.generic {indexing_maps = [#id, #columns, #id], iterator_types = ["parallel", "parallel"]}
      ins(%gd1, %s1 : tensor<4x8xf32>, tensor<8xf32>) outs(%e : tensor<4x8xf32>) {
  ^bb0(%i: f32, %j: f32, %o: f32):
    %m = arith.mulf %i, %j : f32
    linalg.yield %m : f32
  } -> tensor<4x8xf32>
  return %a1, %b1, %c1, %d1, %s1 : tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x4xf32>, tensor<4x8xf32>, tensor<8xf32>
}

// -----

// An op that reaches out of its rows from the inside.

// REMARK-DAG: "parameter "captured" stays whole: linalg.generic does
// CHECK-LABEL: func.func @captured(
// CHECK-NOT: cs.split
// CHECK: func.func @server.0(
#row = affine_map<(d0) -> (d0)>
func.func @captured(%w: tensor<16xf32> {cs.param = "captured"}, %x: tensor<16xf32> {cs.batch = "x"})
    -> (tensor<16xf32> {cs.updates = "captured"}) attributes {cs.step} {
  %c3 = arith.constant 3 : index
  %g = arith.mulf %w, %x : tensor<16xf32>
  %g1 = cs.gradient %g of "captured" : tensor<16xf32>
  %e = tensor.empty() : tensor<16xf32>
  %w1 = linalg.generic {indexing_maps = [#row, #row], iterator_types = ["parallel"]}
      ins(%w : tensor<16xf32>) outs(%e : tensor<16xf32>) {
  ^bb0(%i: f32, %o: f32):
    %k = tensor.extract %g1[%c3] : tensor<16xf32>
    %m = arith.subf %i, %k : f32
    linalg.yield %m : f32
  } -> tensor<16xf32>
  return %w1 : tensor<16xf32>
}
