// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: cs-opt --insert-dist-comm --split-input-file --verify-diagnostics %s

func.func @parameter(%w: tensor<f32> {cs.param = "w"}, %x: tensor<4xf32> {cs.batch = "x"})
    -> (tensor<f32> {cs.updates = "w"}) attributes {cs.step} {
  %i = cs.worker_index : tensor<i32>
  %f = arith.sitofp %i : tensor<i32> to tensor<f32>
  %g = cs.gradient %w of "w" : tensor<f32>
  // expected-error @+1 {{new value of parameter "w" depends on the worker's index other than through its cs.gradient: workers would drift apart}}
  %w1 = arith.addf %g, %f : tensor<f32>
  return %w1 : tensor<f32>
}

// -----

func.func @both(%w: tensor<4xf32> {cs.param = "w"}, %x: tensor<4xf32> {cs.batch = "x"})
    -> (tensor<4xf32> {cs.updates = "w"}) attributes {cs.step} {
  %i = cs.worker_index : tensor<i32>
  %f = arith.sitofp %i : tensor<i32> to tensor<f32>
  %v = tensor.extract %f[] : tensor<f32>
  %c0 = arith.constant 0 : index
  %y = tensor.insert %v into %x[%c0] : tensor<4xf32>
  %g = cs.gradient %w of "w" : tensor<4xf32>
  // expected-error @+1 {{new value of parameter "w" depends on the batch and the worker's index other than through its cs.gradient: workers would drift apart}}
  %w1 = arith.addf %g, %y : tensor<4xf32>
  return %w1 : tensor<4xf32>
}

// -----

// A key that is folded and carried on.
func.func @key(%w: tensor<4xf32> {cs.param = "w"}, %k: tensor<i32> {cs.state = "key"}, %x: tensor<4xf32> {cs.batch = "x"})
    -> (tensor<i32> {cs.updates = "key"}) attributes {cs.step} {
  %i = cs.worker_index : tensor<i32>
  %g = cs.gradient %x of "w" : tensor<4xf32>
  // expected-error @+1 {{new value of state "key" depends on the worker's index, and 'tensor<i32>' cannot be averaged over the workers: workers would drift apart}}
  %n = arith.xori %k, %i : tensor<i32>
  return %n : tensor<i32>
}

// -----

// Initial values are the same on all workers.
func.func @init() -> (tensor<i32> {cs.updates = "key"}) {
  %i = cs.worker_index : tensor<i32>
  %c = arith.constant dense<1> : tensor<i32>
  // expected-error @+1 {{new value of state "key" depends on the worker's index, and 'tensor<i32>' cannot be averaged over the workers: workers would drift apart}}
  %n = arith.addi %i, %c : tensor<i32>
  return %n : tensor<i32>
}

// -----

// expected-error @+1 {{argument 1 must be the only one with cs.worker_index}}
func.func @two(%i: tensor<i32> {cs.worker_index}, %j: tensor<i32> {cs.worker_index}) -> (tensor<i32> {cs.updates = "key"}) {
  return %i : tensor<i32>
}
