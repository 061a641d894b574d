// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What MLIR's own parser dies of ends with an error, too. `not` does not accept
// a signal.
// RUN: not cs-opt %s 2>&1 | FileCheck %s
// RUN: not cs-translate --mlir-to-plan %s 2>&1 | FileCheck %s

// CHECK: error: expected ']'
func.func @reduce(%a: tensor<4xf32>, %b: tensor<f32>) {
  %0 = linalg.reduce { arith.addf } ins(%a : tensor<4xf32>) outs(%b : tensor<f32>) dimensions = [x]
  return
}
