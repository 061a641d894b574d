// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: %cs-opt --schedule-comm --overlap-rpc-memcpy=staging-bytes=16 --verify-distributed %s | FileCheck %s

// What is sent to a server is in the staging memory until it is sent, what is
// received until it is on the device. The first place in the ring is that of the
// sent gradient, then that of the received parameter.

cs.cluster @node nodes = 2 devices = 1 device = <kind = cuda, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>

!t = !cs.placed<tensor<4xf32>, device 0>

// CHECK-LABEL: func.func @step(
// CHECK: %[[G:.*]] = cs.fragment "f"
// CHECK-NEXT: %[[H:.*]] = cs.start "w.to_host" (%[[G]])
// CHECK: %[[HA:.*]] = cs.await %[[H]]
// CHECK-NEXT: %[[S:.*]] = cs.start "w" (%[[HA]]) : (!cs.placed<tensor<4xf32>, device 0 host>)
// CHECK: %[[R:.*]] = cs.start "w.new" () after (%[[S]] : {{[^,]*}}, device 0 host>>) : () -> !cs.future<!cs.placed<tensor<4xf32>, device 0 host>>
// CHECK: %[[SA:.*]] = cs.await %[[S]]
// CHECK: %[[RA:.*]] = cs.await %[[R]]
// CHECK-NEXT: %[[D:.*]] = cs.start "w.new.to_device" (%[[RA]])
// CHECK: %[[N:.*]] = cs.await %[[D]]
// CHECK-NEXT: return %[[N]]
func.func @step(%w: !t {cs.param = "w"}, %x: !t {cs.batch = "x"}) -> (!t {cs.updates = "w"})
    attributes {cs.step, cs.servers = #cs.servers<count = 1, sync_mode = sync, merge = 1>} {
  %g = cs.fragment "f" on 0 (%w, %x) cost <flops = 1, bytes = 1, ns = 0> : (!t, !t) -> !t
  cs.send "w" %g to affine_map<(d0) -> (0)> of @server.0 : !t
  %n = cs.recv "w.new" from affine_map<(d0) -> (0)> of @server.0 : !t
  return %n : !t
}

// CHECK-LABEL: func.func @server.0(
// CHECK-NOT: host
func.func @server.0(%w: !t {cs.param = "w"}) -> (!t {cs.updates = "w"}) attributes {cs.server = 0 : i64} {
  %g = cs.collect "w" by mean from @step : !t
  %n = cs.fragment "update.w" on 0 (%w, %g) cost <flops = 1, bytes = 1, ns = 0> : (!t, !t) -> !t
  cs.publish "w.new" %n to @step : !t
  return %n : !t
}
