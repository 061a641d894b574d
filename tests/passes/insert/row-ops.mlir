// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Without cs.row_sparse, and in other functions, cs.lookup and cs.segment_sum are
// ordinary compute.
// RUN: cs-opt --insert-dist-comm %s | FileCheck %s
// RUN: cs-opt --insert-dist-comm="mode=parameter-server" %s | FileCheck %s

// CHECK-NOT: cs.lookup
// CHECK-NOT: cs.segment_sum

// CHECK-LABEL: func.func @step
// CHECK: linalg.generic
// CHECK: %[[ID:.*]] = arith.index_cast %{{.*}} : i32 to index
// CHECK: %[[LOW:.*]] = arith.maxsi %[[ID]], %{{.*}} : index
// CHECK: %[[AT:.*]] = arith.minsi %[[LOW]], %{{.*}} : index
// CHECK: %[[COLUMN:.*]] = linalg.index 1
// CHECK: tensor.extract %{{.*}}[%[[AT]], %[[COLUMN]]] : tensor<8x2xf32>
// CHECK: scf.for %[[I:.*]] = %{{.*}} iter_args(%[[SUM:.*]] = %{{.*}}) -> (tensor<8x2xf32>)
// CHECK: %[[RAW:.*]] = tensor.extract %{{.*}}[%[[I]]] : tensor<4xi32>
// CHECK: %[[WHERE:.*]] = arith.index_cast %[[RAW]]
// CHECK: %[[INSIDE:.*]] = arith.cmpi ult, %[[WHERE]], %{{.*}} : index
// CHECK: tensor.extract_slice %[[SUM]]
// CHECK: arith.select %[[INSIDE]]
// CHECK: tensor.insert_slice
func.func @step(%w: tensor<8x2xf32> {cs.param = "w"}, %ids: tensor<4xi32> {cs.batch = "ids"})
    -> (tensor<8x2xf32> {cs.updates = "w"}) attributes {cs.step} {
  %e = cs.lookup %w, %ids : (tensor<8x2xf32>, tensor<4xi32>) -> tensor<4x2xf32>
  %g = cs.segment_sum %ids, %e : (tensor<4xi32>, tensor<4x2xf32>) -> tensor<8x2xf32>
  // Nobody needs it.
  %unused = cs.segment_sum %ids, %e : (tensor<4xi32>, tensor<4x2xf32>) -> tensor<9x2xf32>
  %g1 = cs.gradient %g of "w" : tensor<8x2xf32>
  %n = arith.subf %w, %g1 : tensor<8x2xf32>
  return %n : tensor<8x2xf32>
}

// CHECK-LABEL: func.func @eval
// CHECK: tensor.extract %{{.*}} : tensor<8x2xf32>
func.func @eval(%w: tensor<8x2xf32> {cs.param = "w"}, %ids: tensor<4xi64> {cs.batch = "ids"})
    -> (tensor<f32> {cs.metric = "sum"}) {
  %zero = arith.constant dense<0.0> : tensor<f32>
  %e = cs.lookup %w, %ids : (tensor<8x2xf32>, tensor<4xi64>) -> tensor<4x2xf32>
  %sum = linalg.reduce ins(%e : tensor<4x2xf32>) outs(%zero : tensor<f32>) dimensions = [0, 1]
      (%a: f32, %b: f32) { %s = arith.addf %a, %b : f32 linalg.yield %s : f32 }
  return %sum : tensor<f32>
}
