// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: cs-opt --split-input-file --verify-diagnostics %s

func.func @step() {
  // expected-error@+1 {{'cs.collect' op belongs into a function with 'cs.server'}}
  %g = cs.collect "w" by mean from @step : !cs.placed<tensor<8xf32>, device 0>
  return
}

// -----

func.func @step(%w: !cs.placed<tensor<8xf32>, device 0>) {
  // expected-error@+1 {{'cs.publish' op belongs into a function with 'cs.server'}}
  cs.publish "w" %w to @step : !cs.placed<tensor<8xf32>, device 0>
  return
}

// -----

func.func @server.0() attributes {cs.server = 0 : i64} {
  // expected-error@+1 {{mean needs a floating-point element type, got: 'i32'}}
  %g = cs.collect "w" by mean from @step : !cs.placed<tensor<8xi32>, device 0>
  return
}

// -----

func.func @server.0() attributes {cs.server = 0 : i64} {
  // expected-error@+1 {{'cs.collect' op needs a key}}
  %g = cs.collect "" each from @step : !cs.placed<tensor<8xi32>, device 0>
  return
}

// -----

// expected-error@+1 {{'cs.server' must be an i64 of at least 0, got: -1 : i64}}
func.func @server.0() attributes {cs.server = -1 : i64} {
  return
}

// -----

// expected-error@+1 {{'cs.servers' belongs on the function with 'cs.step'}}
func.func @f() attributes {cs.servers = #cs.servers<count = 2, sync_mode = sync, merge = 1>} {
  return
}

// -----

// expected-error@+1 {{'cs.servers' must be a #cs.servers, got: 2 : i64}}
func.func @f() attributes {cs.step, cs.servers = 2 : i64} {
  return
}

// -----

// expected-error@+1 {{merge must be 1 but in half_async mode, got: 2}}
func.func @f() attributes {cs.step, cs.servers = #cs.servers<count = 2, sync_mode = sync, merge = 2>} {
  return
}

// -----

// expected-error@+1 {{merge must be at most 4294967295, got: 4294967297}}
func.func @f() attributes {cs.step, cs.servers = #cs.servers<count = 2, sync_mode = half_async, merge = 4294967297>} {
  return
}

// -----

// expected-error@+1 {{number of servers must be positive, got: 0}}
func.func @f() attributes {cs.step, cs.servers = #cs.servers<count = 0, sync_mode = sync, merge = 1>} {
  return
}

// -----

// expected-error@+1 {{argument 0: 'cs.rows' must match dimension 0 of '!cs.placed<tensor<8xf32>, device 0>', got: array<i64: 0, 7>}}
func.func @server.0(%w: !cs.placed<tensor<8xf32>, device 0> {cs.param = "w", cs.rows = array<i64: 0, 7>}) attributes {cs.server = 0 : i64} {
  return
}

// -----

// expected-error@+1 {{argument 0: 'cs.rows' must be array<i64: begin, end> of rows, got: array<i64: 8, 0>}}
func.func @server.0(%w: !cs.placed<tensor<8xf32>, device 0> {cs.param = "w", cs.rows = array<i64: 8, 0>}) attributes {cs.server = 0 : i64} {
  return
}

// -----

// expected-error@+1 {{'cs.rows' belongs on a function with 'cs.server'}}
func.func @f(%w: !cs.placed<tensor<8xf32>, device 0> {cs.param = "w", cs.rows = array<i64: 0, 8>}) {
  return
}
