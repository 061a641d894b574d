// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: %cs-opt %s | FileCheck %s
// RUN: cs-opt --cse --canonicalize %s | FileCheck %s --check-prefix=PURE

// CHECK-LABEL: func.func @layers
// CHECK: %[[Y:conv1]]:2 = cs.profiled "conv1" (%arg0, %arg1) cost <flops = 7, bytes = 8, ns = 9> : (tensor<4x8xf32>, tensor<8xf32>) -> (tensor<4x8xf32>, tensor<3xi8>)
// CHECK: cs.profiled "update" elementwise (%arg1, %arg1) cost <flops = 1, bytes = 2, ns = 0> : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
// CHECK: cs.profiled "source" () cost <flops = 0, bytes = 0, ns = 0> : () -> tensor<f32>

// What is not used is dropped; equal ones are merged.
// PURE-LABEL: func.func @layers
// PURE-COUNT-2: cs.profiled
// PURE-NOT: cs.profiled
// PURE: return
func.func @layers(%x: tensor<4x8xf32>, %w: tensor<8xf32>) -> (tensor<4x8xf32>, tensor<8xf32>) {
  %y:2 = cs.profiled "conv1" (%x, %w) cost <flops = 7, bytes = 8, ns = 9>
      : (tensor<4x8xf32>, tensor<8xf32>) -> (tensor<4x8xf32>, tensor<3xi8>)
  %n = cs.profiled "update" elementwise (%w, %w) cost <flops = 1, bytes = 2, ns = 0>
      : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %m = cs.profiled "update" elementwise (%w, %w) cost <flops = 1, bytes = 2, ns = 0>
      : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %s = cs.profiled "source" () cost <flops = 0, bytes = 0, ns = 0> : () -> tensor<f32>
  return %y#0, %m : tensor<4x8xf32>, tensor<8xf32>
}
