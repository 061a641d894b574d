// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: cs-opt --split-input-file --verify-diagnostics %s

// expected-error @+1 {{'cs.step' must be a unit attribute, got: 1 : i64}}
func.func @step() attributes {cs.step = 1 : i64} { return }

// -----

// expected-error @+1 {{'cs.global_batch' must be an i64 of at least 1, got: 0 : i64}}
func.func @step() attributes {cs.global_batch = 0 : i64} { return }

// -----

// expected-error @+1 {{'cs.rank' must be an i64 of at least 0, got: -1 : i64}}
func.func @step() attributes {cs.rank = -1 : i64} { return }

// -----

// expected-error @+1 {{'cs.param' belongs on an argument or result}}
func.func @step() attributes {cs.param = "w"} { return }

// -----

// expected-error @+1 {{argument 0 must have one role, got: 2}}
func.func @step(%w: tensor<4xf32> {cs.param = "w", cs.state = "w"}) { return }

// -----

// expected-error @+1 {{argument 0: 'cs.param' must be a non-empty string, got: ""}}
func.func @step(%w: tensor<4xf32> {cs.param = ""}) { return }

// -----

// expected-error @+1 {{argument 0: 'cs.param' must be UTF-8 without control characters, got: "a\0Ab"}}
func.func @step(%w: tensor<4xf32> {cs.param = "a\0Ab"}) { return }

// -----

// expected-error @+1 {{result 0: 'cs.metric' must be UTF-8 without control characters, got: "\FF"}}
func.func @step(%w: tensor<f32> {cs.param = "\C3\BC"}) -> (tensor<f32> {cs.metric = "\FF"}) { return %w : tensor<f32> }

// -----

// expected-error @+1 {{argument 0: 'cs.batch' needs a tensor, got: 'f32'}}
func.func @step(%w: f32 {cs.batch = "x"}) { return }

// -----

// expected-error @+1 {{argument 0: 'cs.updates' is not an argument attribute of cs}}
func.func @step(%w: tensor<4xf32> {cs.updates = "x"}) { return }

// -----

// expected-error @+1 {{result 0: 'cs.param' is not a result attribute of cs}}
func.func @step(%w: tensor<4xf32>) -> (tensor<4xf32> {cs.param = "w"}) { return %w : tensor<4xf32> }

// -----

// expected-error @+1 {{result 0 must have one role, got: 2}}
func.func @step(%w: tensor<4xf32>) -> (tensor<4xf32> {cs.updates = "w", cs.metric = "w"}) { return %w : tensor<4xf32> }

// -----

func.func @step() {
  // expected-error @+1 {{'cs.step' belongs on a function}}
  %0 = "arith.constant"() {cs.step, value = 1 : i32} : () -> i32
  return
}

// -----

// A misspelled one would be as if it were not there.
// expected-error @+1 {{'cs.global_bacth' is not a function attribute of cs}}
func.func @step() attributes {cs.step, cs.global_bacth = 24 : i64} { return }

// -----

// Sizes are of 64 bits.
// expected-error @+1 {{argument 0: 'cs.param' needs a tensor of less than 2^63 bytes, got: 'tensor<3000000000x3000000000xf32>'}}
func.func @step(%w: tensor<3000000000x3000000000xf32> {cs.param = "w"}) { return }

// -----

// expected-error @+1 {{argument 0: 'cs.state' needs a tensor of less than 2^63 bytes}}
func.func @step(%w: tensor<0x4294967296x4294967296xi8> {cs.state = "w"}) { return }
