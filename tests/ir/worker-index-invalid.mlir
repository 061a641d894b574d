// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: cs-opt --split-input-file --verify-diagnostics %s

func.func @step() {
  // expected-error @+1 {{result #0 must be 0D tensor of 32-bit signless integer values, but got 'tensor<i64>'}}
  %0 = cs.worker_index : tensor<i64>
  return
}

// -----

func.func @step() {
  // expected-error @+1 {{result #0 must be 0D tensor of 32-bit signless integer values, but got 'tensor<1xi32>'}}
  %0 = cs.worker_index : tensor<1xi32>
  return
}

// -----

func.func @step() {
  %f = cs.fragment "f" on 0 () cost <flops = 1, bytes = 4, ns = 0> : () -> !cs.placed<tensor<i32>, device 0> {
    // expected-error @+1 {{'cs.worker_index' op does not belong in a cs.fragment, whose operand is an argument of the function with 'cs.worker_index'}}
    %0 = cs.worker_index : tensor<i32>
    cs.return %0 : tensor<i32>
  }
  return
}

// -----

// expected-error @+1 {{argument 0: 'cs.worker_index' must be a unit attribute, got: "i"}}
func.func @step(%i: tensor<i32> {cs.worker_index = "i"}) { return }

// -----

// expected-error @+1 {{argument 0: 'cs.worker_index' must be of tensor<i32>, got: 'tensor<2xi32>'}}
func.func @step(%i: tensor<2xi32> {cs.worker_index}) { return }

// -----

// expected-error @+1 {{argument 0: 'cs.worker_index' must be of tensor<i32>, got: '!cs.placed<tensor<i64>, device 0>'}}
func.func @step(%i: !cs.placed<tensor<i64>, device 0> {cs.worker_index}) { return }

// -----

// expected-error @+1 {{argument 0 must have one role, got: 2}}
func.func @step(%i: tensor<i32> {cs.worker_index, cs.state = "i"}) { return }

// -----

// expected-error @+1 {{'cs.worker_index' belongs on an argument or result}}
func.func @step() attributes {cs.worker_index} { return }

// -----

// expected-error @+1 {{result 0: 'cs.worker_index' is not a result attribute of cs}}
func.func @step(%i: tensor<i32>) -> (tensor<i32> {cs.worker_index}) { return %i : tensor<i32> }
