// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: %cs-opt %s | FileCheck %s
// RUN: %cs-opt %s --mlir-print-op-generic | %cs-opt | FileCheck %s

// CHECK-LABEL: func.func @selections
func.func @selections(%g: tensor<4x8xf32>, %r: tensor<4x8xf32>, %h: tensor<64xbf16>) {
  // CHECK: cs.top_k "exact" %{{.*}} : (tensor<4x8xf32>) -> (tensor<3xf32>, tensor<3xi32>, tensor<4x8xf32>)
  %v, %i, %rest = cs.top_k "exact" %g : (tensor<4x8xf32>) -> (tensor<3xf32>, tensor<3xi32>, tensor<4x8xf32>)
  // CHECK: cs.top_k "mstopk" %{{.*}}, %{{.*}} seed 7 : (tensor<4x8xf32>, tensor<4x8xf32>)
  %v1, %i1, %rest1 = cs.top_k "mstopk" %g, %r seed 7
      : (tensor<4x8xf32>, tensor<4x8xf32>) -> (tensor<3xf32>, tensor<3xi64>, tensor<4x8xf32>)
  // CHECK: cs.top_k "mstopk" %{{.*}}, %{{.*}} step %{{.*}} samples 12 early_stop : (tensor<4x8xf32>, tensor<4x8xf32>, tensor<1xi32>)
  %t = arith.constant dense<3> : tensor<1xi32>
  %v3, %i3, %rest3 = cs.top_k "mstopk" %g, %r seed 0 step %t samples 12 early_stop
      : (tensor<4x8xf32>, tensor<4x8xf32>, tensor<1xi32>) -> (tensor<3xf32>, tensor<3xi32>, tensor<4x8xf32>)
  // CHECK: cs.top_k "sampled"
  %v2, %i2, %rest2 = cs.top_k "sampled" %h : (tensor<64xbf16>) -> (tensor<64xbf16>, tensor<64xi32>, tensor<64xbf16>)
  // CHECK: cs.scatter_add %{{.*}}, %{{.*}} : (tensor<3xf32>, tensor<3xi32>) -> tensor<4x8xf32>
  %d = cs.scatter_add %v, %i : (tensor<3xf32>, tensor<3xi32>) -> tensor<4x8xf32>
  // CHECK: cs.scatter_add %{{.*}}, %{{.*}} over 4 into %{{.*}} : (tensor<3xf32>, tensor<3xi32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %d1 = cs.scatter_add %v, %i over 4 into %d
      : (tensor<3xf32>, tensor<3xi32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK: cs.merge_top_k %{{.*}}, %{{.*}} : (tensor<3xf32>, tensor<3xi32>) -> (tensor<2xf32>, tensor<2xi32>)
  %tv, %ti = cs.merge_top_k %v, %i : (tensor<3xf32>, tensor<3xi32>) -> (tensor<2xf32>, tensor<2xi32>)
  // CHECK: cs.scatter_add %{{.*}}, %{{.*}} except %{{.*}} into %{{.*}} : (tensor<3xf32>, tensor<3xi32>, tensor<2xi32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %d2 = cs.scatter_add %v, %i except %ti into %rest
      : (tensor<3xf32>, tensor<3xi32>, tensor<2xi32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK: cs.kernel "scatter_add" (%{{.*}}, %{{.*}}) accumulate into (%{{.*}}) {denominator = 2 : i64} : (tensor<3xi32>, tensor<3xf32>), (tensor<4x8xf32>) -> tensor<4x8xf32>
  %k = cs.kernel "scatter_add" (%i, %v) accumulate into (%d) {denominator = 2 : i64}
      : (tensor<3xi32>, tensor<3xf32>), (tensor<4x8xf32>) -> tensor<4x8xf32>
  return
}

// CHECK-LABEL: func.func @thresholds
func.func @thresholds(%g: tensor<4x8xbf16>, %r: tensor<4x8xbf16>, %t: tensor<2xf32>) -> tensor<2xf32> {
  // CHECK: %next = cs.top_k "exact" %{{.*}}, %{{.*}} threshold %{{.*}} every 128 : (tensor<4x8xbf16>, tensor<4x8xbf16>, tensor<2xf32>) -> (tensor<3xbf16>, tensor<3xi32>, tensor<4x8xbf16>, tensor<2xf32>)
  %v, %i, %rest, %n = cs.top_k "exact" %g, %r threshold %t every 128
      : (tensor<4x8xbf16>, tensor<4x8xbf16>, tensor<2xf32>) -> (tensor<3xbf16>, tensor<3xi32>, tensor<4x8xbf16>, tensor<2xf32>)
  // CHECK: cs.top_k "mstopk" %{{.*}}, %{{.*}} threshold %{{.*}} every 1 seed 7 :
  %v1, %i1, %rest1, %n1 = cs.top_k "mstopk" %g, %r threshold %n every 1 seed 7
      : (tensor<4x8xbf16>, tensor<4x8xbf16>, tensor<2xf32>) -> (tensor<3xbf16>, tensor<3xi64>, tensor<4x8xbf16>, tensor<2xf32>)
  return %n1 : tensor<2xf32>
}

// CHECK-LABEL: func.func @step
// CHECK-SAME: cs.per_rank, cs.state = "w.residual"
func.func @step(%w: tensor<4xf32> {cs.param = "w"}, %r: tensor<4xf32> {cs.state = "w.residual", cs.per_rank})
    -> (tensor<4xf32> {cs.updates = "w"}) attributes {cs.step} {
  // CHECK: cs.gradient %{{.*}} of "w" {cs.density = 1.000000e-02 : f64, cs.sparse_method = "hitopk"} : tensor<4xf32>
  %g = cs.gradient %w of "w" {cs.density = 0.01 : f64, cs.sparse_method = "hitopk"} : tensor<4xf32>
  return %g : tensor<4xf32>
}

// CHECK-LABEL: func.func @pairs
func.func @pairs(%m: !cs.placed<tensor<2x6xi32>, device 0>) -> !cs.placed<tensor<2x6xi32>, device 0> {
  // CHECK: cs.pair_exchange "w.round1" %{{.*}} distance 2 : !cs.placed<tensor<2x6xi32>, device 0>
  %r = cs.pair_exchange "w.round1" %m distance 2 : !cs.placed<tensor<2x6xi32>, device 0>
  return %r : !cs.placed<tensor<2x6xi32>, device 0>
}

// CHECK-LABEL: func.func @everybody
func.func @everybody(%m: !cs.placed<tensor<8x5xi32>, device 0>) -> !cs.placed<tensor<8x5xi32>, device 0> {
  // CHECK: %w_split = cs.all_to_all "w.split" %{{.*}} : !cs.placed<tensor<8x5xi32>, device 0>
  %r = cs.all_to_all "w.split" %m : !cs.placed<tensor<8x5xi32>, device 0>
  return %r : !cs.placed<tensor<8x5xi32>, device 0>
}

// CHECK-LABEL: func.func @regions
func.func @regions(%v: tensor<4xf16>, %i: tensor<4xi64>, %s: tensor<2xi64>) -> tensor<2xi64> {
  // CHECK: cs.split_regions %{{.*}}, %{{.*}} by %{{.*}} of 32 : (tensor<4xf16>, tensor<4xi64>, tensor<2xi64>) -> (tensor<6xf16>, tensor<6xi64>, tensor<3xi64>)
  %a, %b, %n = cs.split_regions %v, %i by %s of 32
      : (tensor<4xf16>, tensor<4xi64>, tensor<2xi64>) -> (tensor<6xf16>, tensor<6xi64>, tensor<3xi64>)
  // CHECK: cs.balance_regions %{{.*}}, %{{.*}} by %{{.*}} of 32 : tensor<6xi64>, tensor<3xi64>, tensor<2xi64>
  %r = cs.balance_regions %b, %n by %s of 32 : tensor<6xi64>, tensor<3xi64>, tensor<2xi64>
  return %r : tensor<2xi64>
}

// CHECK-LABEL: func.func @clear
func.func @clear(%u: tensor<4x8xf32>, %i: tensor<3xi32>) -> tensor<4x8xf32> {
  // CHECK: cs.scatter_clear %{{.*}}, %{{.*}} : tensor<4x8xf32>, tensor<3xi32>
  %r = cs.scatter_clear %u, %i : tensor<4x8xf32>, tensor<3xi32>
  return %r : tensor<4x8xf32>
}
