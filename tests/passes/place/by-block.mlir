// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: %cs-opt --replicate-devices=by-block --assign-devices %s -o %t1
// RUN: FileCheck %s --input-file=%t1
// RUN: cs-opt --assign-devices %t1 -o %t2
// RUN: cmp %t1 %t2
// RUN: %cs-opt --replicate-devices=by-block %s | FileCheck %s --check-prefix=ONE
// RUN: cs-opt %t1 --schedule-comm --overlap-rpc-memcpy --verify-distributed | FileCheck %s --check-prefix=OVERLAP

// Blocks are combined one by one, each on an owner of its own, and joined on
// every device.

cs.cluster @node nodes = 2 devices = 2 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>

!w = !cs.placed<tensor<8x4xf32>, device 0>
!h = !cs.placed<tensor<4x4xf32>, device 0>

// CHECK-LABEL: func.func @step(
// CHECK: %[[G0:.*]] = cs.fragment "compute.0" on 0
// CHECK: %[[G1:.*]] = cs.fragment "compute.0.device1" on 1
// CHECK: %[[S0:.*]]:2 = cs.split %[[G0]] : !cs.placed<tensor<8x4xf32>, device 0>
// CHECK-NEXT: %[[C0:.*]] = cs.copy %[[S0]]#1 : !cs.placed<tensor<4x4xf32>, device 0> -> !cs.placed<tensor<4x4xf32>, device 1>
// CHECK-NEXT: %[[S1:.*]]:2 = cs.split %[[G1]] : !cs.placed<tensor<8x4xf32>, device 1>
// CHECK-NEXT: %[[C1:.*]] = cs.copy %[[S1]]#0 : !cs.placed<tensor<4x4xf32>, device 1> -> !cs.placed<tensor<4x4xf32>, device 0>
// CHECK-NEXT: %[[B0:.*]] = cs.fragment "sum.w.block0" on 0 (%[[S0]]#0, %[[C1]]) deferred
// CHECK: cs.send "w.block0" %[[B0]] to {{.*}} : !cs.placed<tensor<4x4xf32>, device 0>
// CHECK-NEXT: %[[B1:.*]] = cs.fragment "sum.w.block1" on 1 (%[[C0]], %[[S1]]#1) deferred
// CHECK: cs.send "w.block1" %[[B1]] to {{.*}} : !cs.placed<tensor<4x4xf32>, device 1>
// CHECK-NEXT: %[[N0:.*]] = cs.recv "w.block0.new" {{.*}} : !cs.placed<tensor<4x4xf32>, device 0>
// CHECK-NEXT: %[[N01:.*]] = cs.copy %[[N0]]
// CHECK-NEXT: %[[N1:.*]] = cs.recv "w.block1.new" {{.*}} : !cs.placed<tensor<4x4xf32>, device 1>
// CHECK-NEXT: %[[N10:.*]] = cs.copy %[[N1]]
// CHECK-NEXT: %[[W0:.*]] = cs.concat %[[N0]], %[[N10]] : !cs.placed<tensor<4x4xf32>, device 0>
// CHECK-NEXT: %[[W1:.*]] = cs.concat %[[N01]], %[[N1]] : !cs.placed<tensor<4x4xf32>, device 1>
// CHECK-NEXT: return %[[W0]], %[[W1]]

// ONE: cs.fragment "sum.w.block0" on 0
// ONE: cs.fragment "sum.w.block1" on 0
// ONE: cs.recv "w.block1.new" {{.*}} : !cs.placed<tensor<4x4xf32>, device 0>

// OVERLAP: cs.start "w.block1.to_host"
// OVERLAP: cs.start "copy.w.block1.new.to_device0"
func.func @step(%w: !w {cs.param = "w"}, %x: !w {cs.batch = "x"}) -> (!w {cs.updates = "w"})
    attributes {cs.step, cs.servers = #cs.servers<count = 1, sync_mode = sync, merge = 1>} {
  %g = cs.fragment "compute.0" on 0 (%w, %x) : (!w, !w) -> !w {
  ^bb0(%0: tensor<8x4xf32>, %1: tensor<8x4xf32>):
    %p = arith.mulf %0, %1 : tensor<8x4xf32>
    cs.return %p : tensor<8x4xf32>
  }
  %s:2 = cs.split %g : !w -> !h, !h
  cs.send "w.block0" %s#0 to affine_map<(d0) -> (0)> of @server.0 : !h
  cs.send "w.block1" %s#1 to affine_map<(d0) -> (0)> of @server.0 : !h
  %w0 = cs.recv "w.block0.new" from affine_map<(d0) -> (0)> of @server.0 : !h
  %w1 = cs.recv "w.block1.new" from affine_map<(d0) -> (0)> of @server.0 : !h
  %w2 = cs.concat %w0, %w1 : !h, !h
  return %w2 : !w
}

func.func @server.0(%w0: !h {cs.param = "w", cs.rows = array<i64: 0, 4>}, %w1: !h {cs.param = "w", cs.rows = array<i64: 4, 8>})
    -> (!h {cs.updates = "w", cs.rows = array<i64: 0, 4>}, !h {cs.updates = "w", cs.rows = array<i64: 4, 8>})
    attributes {cs.server = 0 : i64} {
  %g = cs.collect "w.block0" by mean from @step : !h
  %g1 = cs.collect "w.block1" by mean from @step : !h
  cs.publish "w.block0.new" %g to @step : !h
  cs.publish "w.block1.new" %g1 to @step : !h
  return %w0, %w1 : !h, !h
}
