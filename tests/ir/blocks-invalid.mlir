// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: cs-opt --split-input-file --verify-diagnostics %s

func.func @f(%w: !cs.placed<tensor<10xf32>, device 0>) {
  // expected-error @+1 {{rows of the blocks must add up to 10, got: 9}}
  %0, %1 = cs.split %w : !cs.placed<tensor<10xf32>, device 0> -> !cs.placed<tensor<4xf32>, device 0>, !cs.placed<tensor<5xf32>, device 0>
  return
}

// -----

func.func @f(%w: !cs.placed<tensor<10xf32>, device 0>) {
  // expected-error @+1 {{block 1 must match '!cs.placed<tensor<10xf32>, device 0>' but for dimension 0, got: '!cs.placed<tensor<6xf64>, device 0>'}}
  %0, %1 = cs.split %w : !cs.placed<tensor<10xf32>, device 0> -> !cs.placed<tensor<4xf32>, device 0>, !cs.placed<tensor<6xf64>, device 0>
  return
}

// -----

func.func @f(%w: !cs.placed<tensor<f32>, device 0>) {
  // expected-error @+1 {{cannot cut a scalar}}
  %0 = cs.split %w : !cs.placed<tensor<f32>, device 0> -> !cs.placed<tensor<f32>, device 0>
  return
}

// -----

func.func @f(%a: !cs.placed<tensor<4xf32>, device 0>, %b: !cs.placed<tensor<4x2xf32>, device 0>) {
  // expected-error @+1 {{needs blocks of one rank}}
  %0 = cs.concat %a, %b : !cs.placed<tensor<4xf32>, device 0>, !cs.placed<tensor<4x2xf32>, device 0>
  return
}

// -----

func.func @f(%a: !cs.placed<tensor<4xf32>, device 0>, %b: !cs.placed<tensor<4xf32>, device 1>) {
  // expected-error @+1 {{block 1 must match}}
  %0 = cs.concat %a, %b : !cs.placed<tensor<4xf32>, device 0>, !cs.placed<tensor<4xf32>, device 1>
  return
}

// -----

func.func @f(%a: !cs.placed<tensor<4xf32>, device 0>) {
  // expected-error @+1 {{result must match 'tensor<4xf32>', got: 'tensor<5xf32>'}}
  %0 = cs.copy %a : !cs.placed<tensor<4xf32>, device 0> -> !cs.placed<tensor<5xf32>, device 1>
  return
}
