// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// With one node collectives are the identity; what came after one comes after
// what it came after.

// RUN: %cs-opt --expand-collectives --verify-distributed %s | FileCheck %s

cs.cluster @lab nodes = 1 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>

// CHECK-LABEL: func.func @step(
// CHECK-SAME: %[[V:[a-z0-9]+]]: !cs.placed
// CHECK-SAME: %[[W:[a-z0-9]+]]: !cs.placed
// CHECK-NEXT: return %[[V]], %[[W]], %[[V]]
func.func @step(%v: !cs.placed<tensor<6xf32>, device 0>, %w: !cs.placed<tensor<6xf32>, device 0>)
    -> (!cs.placed<tensor<6xf32>, device 0>, !cs.placed<tensor<6xf32>, device 0>, !cs.placed<tensor<6xf32>, device 0>) {
  %f = cs.start "a" (%v) : (!cs.placed<tensor<6xf32>, device 0>) -> !cs.future<!cs.placed<tensor<6xf32>, device 0>> {
  ^bb0(%x: !cs.placed<tensor<6xf32>, device 0>):
    %r = cs.all_reduce "a" mean %x : !cs.placed<tensor<6xf32>, device 0>
    cs.return %r : !cs.placed<tensor<6xf32>, device 0>
  }
  %g = cs.start "b" (%w) after (%f : !cs.future<!cs.placed<tensor<6xf32>, device 0>>) : (!cs.placed<tensor<6xf32>, device 0>) -> !cs.future<!cs.placed<tensor<6xf32>, device 0>> {
  ^bb0(%x: !cs.placed<tensor<6xf32>, device 0>):
    %r = cs.all_gather "b" %x : !cs.placed<tensor<6xf32>, device 0> -> !cs.placed<tensor<6xf32>, device 0>
    cs.return %r : !cs.placed<tensor<6xf32>, device 0>
  }
  %h = cs.start "c" (%v) after (%g, %f : !cs.future<!cs.placed<tensor<6xf32>, device 0>>, !cs.future<!cs.placed<tensor<6xf32>, device 0>>) : (!cs.placed<tensor<6xf32>, device 0>) -> !cs.future<!cs.placed<tensor<6xf32>, device 0>> {
  ^bb0(%x: !cs.placed<tensor<6xf32>, device 0>):
    %r = cs.broadcast "c" %x from 0 : !cs.placed<tensor<6xf32>, device 0>
    cs.return %r : !cs.placed<tensor<6xf32>, device 0>
  }
  %0 = cs.await %f : !cs.future<!cs.placed<tensor<6xf32>, device 0>>
  %1 = cs.await %g : !cs.future<!cs.placed<tensor<6xf32>, device 0>>
  %2 = cs.await %h : !cs.future<!cs.placed<tensor<6xf32>, device 0>>
  return %0, %1, %2 : !cs.placed<tensor<6xf32>, device 0>, !cs.placed<tensor<6xf32>, device 0>, !cs.placed<tensor<6xf32>, device 0>
}
