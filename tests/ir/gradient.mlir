// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: cs-opt --verify-roundtrip %s | FileCheck %s
// RUN: cs-opt --cse --canonicalize %s | FileCheck %s

// A gradient is neither merged with an equal one nor dropped when unused.
// CHECK-LABEL: func.func @step
// CHECK: cs.gradient %{{.*}} of "w" : tensor<4xf32>
// CHECK: cs.gradient %{{.*}} of "w" : tensor<4xf32>
func.func @step(%w: tensor<4xf32> {cs.param = "w"}) -> (tensor<4xf32> {cs.updates = "w"})
    attributes {cs.step, cs.global_batch = 8 : i64} {
  %0 = cs.gradient %w of "w" : tensor<4xf32>
  %1 = cs.gradient %w of "w" : tensor<4xf32>
  return %0 : tensor<4xf32>
}
