// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: %cs-opt --insert-dist-comm="mode=parameter-server servers=2 min-block-elements=8" %s | FileCheck %s

// Of an elementwise profiled update each server has its part of the cost. Others
// keep their parameter whole.

// CHECK-LABEL: func.func @step(
// CHECK: cs.send "w.block0"
// CHECK: cs.send "w.block1"
// CHECK: cs.send "v" %
// CHECK-LABEL: func.func @server.0(
// CHECK: cs.fragment "update.v" on 0 (%{{.*}}, %{{.*}}) cost <flops = 100, bytes = 50, ns = 11> : {{.*}}tensor<4x4xf32>, device 0>{{$}}
// CHECK-NOT: update.w
// CHECK-LABEL: func.func @server.1(
// CHECK: cs.fragment "update.w.block0" on 0 (%{{.*}}, %{{.*}}) cost <flops = 60, bytes = 30, ns = 7> : {{.*}}tensor<3x4xf32>, device 0> attributes {cs.by_rows = array<i1: true, true>}{{$}}
// CHECK: cs.fragment "update.w.block1" on 0 (%{{.*}}, %{{.*}}) cost <flops = 40, bytes = 20, ns = 5> : {{.*}}tensor<2x4xf32>, device 0> attributes {cs.by_rows = array<i1: true, true>}{{$}}
func.func @step(%w: tensor<5x4xf32> {cs.param = "w"}, %v: tensor<4x4xf32> {cs.param = "v"}, %x: tensor<2x3xf32> {cs.batch = "x"})
    -> (tensor<5x4xf32> {cs.updates = "w"}, tensor<4x4xf32> {cs.updates = "v"}) attributes {cs.step} {
  %g = cs.profiled "backward.w" (%x, %w) cost <flops = 0, bytes = 0, ns = 100> : (tensor<2x3xf32>, tensor<5x4xf32>) -> tensor<5x4xf32>
  %g1 = cs.gradient %g of "w" : tensor<5x4xf32>
  %h = cs.profiled "backward.v" (%x, %v) cost <flops = 0, bytes = 0, ns = 100> : (tensor<2x3xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %h1 = cs.gradient %h of "v" : tensor<4x4xf32>
  %w1 = cs.profiled "update.w" elementwise (%w, %g1) cost <flops = 100, bytes = 50, ns = 11> : (tensor<5x4xf32>, tensor<5x4xf32>) -> tensor<5x4xf32>
  %v1 = cs.profiled "update.v" (%v, %h1) cost <flops = 100, bytes = 50, ns = 11> : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %w1, %v1 : tensor<5x4xf32>, tensor<4x4xf32>
}
