// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: cs-opt --verify-roundtrip %s | FileCheck %s
// RUN: cs-opt --emit-bytecode %s | cs-opt | FileCheck %s
// RUN: cs-opt --mlir-print-op-generic %s | cs-opt | FileCheck %s

!w = !cs.placed<tensor<8x4xf32>, device 0>
!b = !cs.placed<tensor<3x4xf32>, device 0>
!c = !cs.placed<tensor<5x4xf32>, device 0>

// CHECK-LABEL: func.func @step
// CHECK-SAME: cs.servers = #cs.servers<count = 2, sync_mode = half_async, merge = 4>
func.func @step(%w: !w {cs.param = "w"}) -> (!w {cs.updates = "w"})
    attributes {cs.step, cs.servers = #cs.servers<count = 2, sync_mode = half_async, merge = 4>} {
  %b:2 = cs.split %w : !w -> !b, !c
  // CHECK: cs.send "w.block0" %{{.+}} to #{{.+}} of @server.0
  cs.send "w.block0" %b#0 to affine_map<(d0) -> (0)> of @server.0 : !b
  cs.send "w.block1" %b#1 to affine_map<(d0) -> (0)> of @server.1 : !c
  %n0 = cs.recv "w.block0.new" from affine_map<(d0) -> (0)> of @server.0 : !b
  %n1 = cs.recv "w.block1.new" from affine_map<(d0) -> (0)> of @server.1 : !c
  %n = cs.concat %n0, %n1 : !b, !c
  return %n : !w
}

// CHECK-LABEL: func.func @server.0
// CHECK-SAME: cs.param = "w", cs.rows = array<i64: 0, 3>
// CHECK-SAME: {cs.rows = array<i64: 0, 3>, cs.updates = "w"}
// CHECK-SAME: attributes {cs.server = 0 : i64}
func.func @server.0(%w: !b {cs.param = "w", cs.rows = array<i64: 0, 3>})
    -> (!b {cs.updates = "w", cs.rows = array<i64: 0, 3>}) attributes {cs.server = 0 : i64} {
  // CHECK: %w_block0 = cs.collect "w.block0" each from @step : !cs.placed<tensor<3x4xf32>, device 0>
  %g = cs.collect "w.block0" each from @step : !b
  // CHECK: cs.publish "w.block0.new" %w_block0 to @step : !cs.placed<tensor<3x4xf32>, device 0>
  cs.publish "w.block0.new" %g to @step : !b
  return %g : !b
}

// CHECK-LABEL: func.func @server.1
func.func @server.1(%w: !c {cs.param = "w", cs.rows = array<i64: 3, 8>})
    -> (!c {cs.updates = "w", cs.rows = array<i64: 3, 8>}) attributes {cs.server = 1 : i64} {
  // CHECK: %w_block1 = cs.collect "w.block1" by mean from @step : !cs.placed<tensor<5x4xf32>, device 0>
  %g = cs.collect "w.block1" by mean from @step : !c
  cs.publish "w.block1.new" %g to @step : !c
  return %g : !c
}
