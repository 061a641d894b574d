// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Functions that have nothing of cs stay in the module, of whatever form, and are no part of
// the plan: public helpers that have been inlined, declarations, what other tools put there.
// RUN: cs-opt --cs-all-reduce-pipeline %s -o %t.mlir
// RUN: FileCheck %s --check-prefix=MODULE --input-file=%t.mlir
// RUN: cs-translate --mlir-to-plan %t.mlir -o %t.plan
// RUN: cs-translate --plan-to-text %t.plan | FileCheck %s
// RUN: cs-opt --cs-parameter-server-pipeline %s | cs-translate --mlir-to-plan -o %t.plan
// RUN: cs-translate --plan-to-text %t.plan | FileCheck %s

// MODULE: @square
// MODULE: @choose
// CHECK-NOT: square
// CHECK-NOT: outside
// CHECK-NOT: choose
// CHECK: name: "step"
func.func @square(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = arith.mulf %x, %x : tensor<4xf32>
  return %y : tensor<4xf32>
}

func.func private @outside(f32) -> f32

func.func @choose(%c: i1, %x: tensor<?xf32>, %y: tensor<?xf32>) -> tensor<?xf32> {
  cf.cond_br %c, ^a, ^b
^a:
  return %x : tensor<?xf32>
^b:
  return %y : tensor<?xf32>
}

func.func @step(%w: tensor<4xf32> {cs.param = "w"}, %x: tensor<4xf32> {cs.batch = "x"})
    -> (tensor<4xf32> {cs.updates = "w"}) attributes {cs.step} {
  %y = func.call @square(%w) : (tensor<4xf32>) -> tensor<4xf32>
  %g = arith.mulf %y, %x : tensor<4xf32>
  %g1 = cs.gradient %g of "w" : tensor<4xf32>
  %w1 = arith.subf %w, %g1 : tensor<4xf32>
  return %w1 : tensor<4xf32>
}
