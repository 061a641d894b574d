// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: cs-opt --split-input-file --verify-diagnostics %s

func.func @step(%w: tensor<4xf32>) {
  // expected-error @+1 {{needs the name of a parameter}}
  %0 = cs.gradient %w of "" : tensor<4xf32>
  return
}

// -----

func.func @step(%w: tensor<4xi32>) {
  // expected-error @+1 {{must be of a floating-point type, got: 'tensor<4xi32>'}}
  %0 = cs.gradient %w of "w" : tensor<4xi32>
  return
}

// -----

func.func @step(%w: tensor<*xf32>) {
  // expected-error @+1 {{invalid kind of type specified}}
  %0 = cs.gradient %w of "w" : tensor<*xf32>
  return
}
