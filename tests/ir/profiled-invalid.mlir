// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: cs-opt --split-input-file --verify-diagnostics %s

func.func @step(%w: tensor<4xf32>) {
  // expected-error @+1 {{needs a label}}
  %0 = cs.profiled "" (%w) cost <flops = 0, bytes = 0, ns = 0> : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @step(%w: tensor<4xf32>) {
  // expected-error @+1 {{type of elementwise result 0 must match that of an operand, got: 'tensor<5xf32>'}}
  %0 = cs.profiled "u" elementwise (%w) cost <flops = 0, bytes = 0, ns = 0> : (tensor<4xf32>) -> tensor<5xf32>
  return
}

// -----

func.func @step(%w: tensor<4xf32>) {
  // expected-error @+1 {{cost must not be negative, got: flops = 0, bytes = 0, ns = -1}}
  %0 = cs.profiled "u" (%w) cost <flops = 0, bytes = 0, ns = -1> : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @step(%w: tensor<4xf32>) {
  // expected-error @+1 {{expected 'cost'}}
  %0 = cs.profiled "u" (%w) : (tensor<4xf32>) -> tensor<4xf32>
  return
}
