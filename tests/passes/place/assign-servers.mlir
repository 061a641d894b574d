// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: %cs-opt --replicate-devices --assign-devices %s | FileCheck %s
// RUN: cs-opt --replicate-devices --assign-devices %s -o %t1
// RUN: cs-opt --assign-devices %t1 -o %t2
// RUN: cmp %t1 %t2

// With parameter servers: what is sent and received goes where the gradient
// goes; blocks stay with their split; the server does not change.

cs.cluster @node nodes = 2 devices = 2 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>

!w = !cs.placed<tensor<8x4xf32>, device 0>
!h = !cs.placed<tensor<4x4xf32>, device 0>
!b = !cs.placed<tensor<4xf32>, device 0>

// CHECK-LABEL: func.func @step(
// CHECK: %[[G:.*]]:2 = cs.fragment "compute.0" on 0
// CHECK: %[[C:.*]] = cs.copy %[[G]]#1 : !cs.placed<tensor<8x4xf32>, device 0> -> !cs.placed<tensor<8x4xf32>, device 1>
// CHECK: cs.fragment "compute.0.device1" on 1
// CHECK: cs.fragment "sum.b" on 0
// CHECK: arith.addf
// CHECK-NEXT: cs.return
// CHECK: cs.send "b" %{{.*}} of @server.0 : !cs.placed<tensor<4xf32>, device 0>
// CHECK: %[[S:.*]] = cs.fragment "sum.w" on 1 (%[[C]], %{{.*}}#1) deferred
// CHECK: arith.addf
// CHECK: arith.mulf
// CHECK: cs.split %[[S]]
// CHECK: cs.send "w.block0" %{{.*}} of @server.0 : !cs.placed<tensor<4x4xf32>, device 1>
// CHECK: cs.send "w.block1" %{{.*}} of @server.0 : !cs.placed<tensor<4x4xf32>, device 1>
// CHECK: %[[NB:.*]] = cs.recv "b.new" {{.*}} : !cs.placed<tensor<4xf32>, device 0>
// CHECK-NEXT: %[[NB1:.*]] = cs.copy %[[NB]]
// CHECK: %[[N0:.*]] = cs.recv "w.block0.new" {{.*}} : !cs.placed<tensor<4x4xf32>, device 1>
// CHECK: %[[N1:.*]] = cs.recv "w.block1.new" {{.*}} : !cs.placed<tensor<4x4xf32>, device 1>
// CHECK: %[[N:.*]] = cs.concat %[[N0]], %[[N1]]
// CHECK-NEXT: %[[NC:.*]] = cs.copy %[[N]] : !cs.placed<tensor<8x4xf32>, device 1> -> !cs.placed<tensor<8x4xf32>, device 0>
// CHECK-NEXT: return %[[NC]], %[[N]], %[[NB]], %[[NB1]]
func.func @step(%w: !w {cs.param = "w"}, %b: !b {cs.param = "b"}, %x: !w {cs.batch = "x"})
    -> (!w {cs.updates = "w"}, !b {cs.updates = "b"})
    attributes {cs.step, cs.servers = #cs.servers<count = 1, sync_mode = sync, merge = 1>} {
  %gb, %gw = cs.fragment "compute.0" on 0 (%w, %b, %x) : (!w, !b, !w) -> (!b, !w) {
  ^bb0(%0: tensor<8x4xf32>, %1: tensor<4xf32>, %2: tensor<8x4xf32>):
    %p = arith.mulf %0, %2 : tensor<8x4xf32>
    %q = tensor.extract_slice %p[0, 0] [1, 4] [1, 1] : tensor<8x4xf32> to tensor<4xf32>
    cs.return %q, %p : tensor<4xf32>, tensor<8x4xf32>
  }
  cs.send "b" %gb to affine_map<(d0) -> (0)> of @server.0 : !b
  %s:2 = cs.split %gw : !w -> !h, !h
  cs.send "w.block0" %s#0 to affine_map<(d0) -> (0)> of @server.0 : !h
  cs.send "w.block1" %s#1 to affine_map<(d0) -> (0)> of @server.0 : !h
  %b1 = cs.recv "b.new" from affine_map<(d0) -> (0)> of @server.0 : !b
  %w0 = cs.recv "w.block0.new" from affine_map<(d0) -> (0)> of @server.0 : !h
  %w1 = cs.recv "w.block1.new" from affine_map<(d0) -> (0)> of @server.0 : !h
  %w2 = cs.concat %w0, %w1 : !h, !h
  return %w2, %b1 : !w, !b
}

// CHECK-LABEL: func.func @server.0(
// CHECK-NOT: device 1
func.func @server.0(%w0: !h {cs.param = "w", cs.rows = array<i64: 0, 4>}, %b: !b {cs.param = "b"})
    -> (!h {cs.updates = "w", cs.rows = array<i64: 0, 4>}, !b {cs.updates = "b"}) attributes {cs.server = 0 : i64} {
  %g = cs.collect "w.block0" by mean from @step : !h
  %g1 = cs.collect "w.block1" by mean from @step : !h
  %gb = cs.collect "b" by sum from @step : !b
  cs.publish "w.block0.new" %g to @step : !h
  cs.publish "w.block1.new" %g1 to @step : !h
  cs.publish "b.new" %gb to @step : !b
  return %w0, %b : !h, !b
}
