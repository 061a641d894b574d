// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: cs-opt %s | FileCheck %s
// RUN: cs-opt %s | cs-opt | FileCheck %s
// RUN: cs-opt %s --mlir-print-op-generic | cs-opt | FileCheck %s
// RUN: cs-opt %s --emit-bytecode | cs-opt | FileCheck %s

!ids = !cs.placed<tensor<4xi32>, device 0>
!rows = !cs.placed<tensor<4x2xf32>, device 0>
!block = !cs.placed<tensor<5x2xf32>, device 0>
!rate = !cs.placed<tensor<f32>, device 0>

// CHECK-LABEL: func.func @level0
// CHECK-SAME: {cs.param = "w", cs.row_sparse}
func.func @level0(%w: tensor<10x2xf32> {cs.param = "w", cs.row_sparse}, %ids: tensor<4xi32> {cs.batch = "ids"},
                  %far: tensor<3xi64> {cs.batch = "far"}, %b: tensor<10xi8>, %s: tensor<3x2x5xbf16>) {
  // CHECK: cs.lookup %{{.*}}, %{{.*}} : (tensor<10x2xf32>, tensor<4xi32>) -> tensor<4x2xf32>
  %e = cs.lookup %w, %ids : (tensor<10x2xf32>, tensor<4xi32>) -> tensor<4x2xf32>
  // CHECK: cs.lookup %{{.*}}, %{{.*}} : (tensor<10xi8>, tensor<3xi64>) -> tensor<3xi8>
  %f = cs.lookup %b, %far : (tensor<10xi8>, tensor<3xi64>) -> tensor<3xi8>
  // CHECK: cs.segment_sum %{{.*}}, %{{.*}} : (tensor<4xi32>, tensor<4x2xf32>) -> tensor<10x2xf32>
  %g = cs.segment_sum %ids, %e : (tensor<4xi32>, tensor<4x2xf32>) -> tensor<10x2xf32>
  // CHECK: cs.segment_sum %{{.*}}, %{{.*}} : (tensor<3xi64>, tensor<3x2x5xbf16>) -> tensor<0x2x5xbf16>
  %h = cs.segment_sum %far, %s : (tensor<3xi64>, tensor<3x2x5xbf16>) -> tensor<0x2x5xbf16>
  return
}

// CHECK-LABEL: func.func @step
func.func @step(%ids: !ids {cs.batch = "ids"}) -> (!rows {cs.metric = "e"}) {
  // CHECK: %[[E:.*]] = cs.fetch_rows "w" %{{.*}} from [@server.0, @server.1] rows [0, 5, 10]
  // CHECK-SAME: : (!cs.placed<tensor<4xi32>, device 0>) -> !cs.placed<tensor<4x2xf32>, device 0>
  %e = cs.fetch_rows "w" %ids from [@server.0, @server.1] rows [0, 5, 10] : (!ids) -> !rows
  // CHECK: cs.send_rows "w" %{{.*}}, %[[E]] to [@server.0, @server.1] rows [0, 5, 10]
  // CHECK-SAME: : !cs.placed<tensor<4xi32>, device 0>, !cs.placed<tensor<4x2xf32>, device 0>
  cs.send_rows "w" %ids, %e to [@server.0, @server.1] rows [0, 5, 10] : !ids, !rows
  return %e : !rows
}

// CHECK-LABEL: func.func @server.0
func.func @server.0(%w: !block {cs.param = "w"}, %m: !block {cs.state = "m"}, %r: !rate {cs.state = "r"})
    -> (!block {cs.updates = "w"}, !block {cs.updates = "m"}) attributes {cs.server = 0 : i64} {
  // CHECK: %[[NEW:.*]]:2 = cs.update_rows "w.block0" by mean from @step rows (%{{.*}}, %{{.*}}) with (%{{.*}}) chunk 3
  // CHECK-SAME: : (!cs.placed<tensor<5x2xf32>, device 0>, !cs.placed<tensor<5x2xf32>, device 0>), (!cs.placed<tensor<f32>, device 0>) {
  // CHECK-NEXT: ^bb0(%{{.*}}: tensor<3x2xf32>, %{{.*}}: tensor<3x2xf32>, %{{.*}}: tensor<3x2xf32>, %{{.*}}: tensor<f32>):
  %new:2 = cs.update_rows "w.block0" by mean from @step rows (%w, %m) with (%r) chunk 3 : (!block, !block), (!rate) {
  ^bb0(%g: tensor<3x2xf32>, %wr: tensor<3x2xf32>, %mr: tensor<3x2xf32>, %rr: tensor<f32>):
    %mn = arith.addf %mr, %g : tensor<3x2xf32>
    cs.return %wr, %mn : tensor<3x2xf32>, tensor<3x2xf32>
  }
  // CHECK: cs.publish "w.block0.new" %[[NEW]]#0 to @step
  cs.publish "w.block0.new" %new#0 to @step : !block
  return %new#0, %new#1 : !block, !block
}

// CHECK-LABEL: func.func @server.1
func.func @server.1(%w: !block {cs.param = "w"}) -> (!block {cs.updates = "w"}) attributes {cs.server = 1 : i64} {
  // CHECK: cs.update_rows "w.block1" each from @step rows (%{{.*}}) chunk 5 : (!cs.placed<tensor<5x2xf32>, device 0>) {
  %new = cs.update_rows "w.block1" each from @step rows (%w) chunk 5 : (!block) {
  ^bb0(%g: tensor<5x2xf32>, %wr: tensor<5x2xf32>):
    cs.return %g : tensor<5x2xf32>
  }
  return %new : !block
}

// CHECK-LABEL: func.func @scheduled
func.func @scheduled(%ids: !ids, %v: !rows) -> !rows {
  // CHECK: cs.start "w" priority 1 (%{{.*}}, %{{.*}}) after
  %f = cs.start "w" (%ids) : (!ids) -> !cs.future<!rows> {
  ^bb0(%i: !ids):
    %e = cs.fetch_rows "w" %i from [@server.0] rows [0, 5] : (!ids) -> !rows
    cs.return %e : !rows
  }
  %s = cs.start "w" priority 1 (%ids, %v) after (%f : !cs.future<!rows>) : (!ids, !rows) -> !cs.future<!rows> {
  ^bb0(%i: !ids, %x: !rows):
    cs.send_rows "w" %i, %x to [@server.0] rows [0, 5] : !ids, !rows
    cs.return %x : !rows
  }
  %e = cs.await %f : !cs.future<!rows>
  %d = cs.await %s : !cs.future<!rows>
  return %e : !rows
}
