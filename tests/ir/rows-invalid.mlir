// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: cs-opt %s --split-input-file --verify-diagnostics

// expected-error@+1 {{argument 0: 'cs.row_sparse' belongs beside 'cs.param'}}
func.func @f(%w: tensor<4x2xf32> {cs.state = "w", cs.row_sparse}) { return }

// -----

// expected-error@+1 {{argument 0: 'cs.row_sparse' must be a unit attribute, got: true}}
func.func @f(%w: tensor<4x2xf32> {cs.param = "w", cs.row_sparse = true}) { return }

// -----

// expected-error@+1 {{argument 0: 'cs.row_sparse' needs a tensor with rows, got: 'tensor<f32>'}}
func.func @f(%w: tensor<f32> {cs.param = "w", cs.row_sparse}) { return }

// -----

// expected-error@+1 {{'cs.row_sparse' belongs on an argument or result}}
func.func @f() attributes {cs.row_sparse} { return }

// -----

func.func @f(%w: tensor<f32>, %i: tensor<4xi32>) {
  // expected-error@+1 {{table must have rows, got: 'tensor<f32>'}}
  %e = cs.lookup %w, %i : (tensor<f32>, tensor<4xi32>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%w: tensor<0x2xf32>, %i: tensor<4xi32>) {
  // expected-error@+1 {{table must have rows, got: 'tensor<0x2xf32>'}}
  %e = cs.lookup %w, %i : (tensor<0x2xf32>, tensor<4xi32>) -> tensor<4x2xf32>
  return
}

// -----

func.func @f(%w: tensor<9x2xf32>, %i: tensor<4xi32>) {
  // expected-error@+1 {{result must match 'tensor<4x2xf32>', got: 'tensor<9x2xf32>'}}
  %e = cs.lookup %w, %i : (tensor<9x2xf32>, tensor<4xi32>) -> tensor<9x2xf32>
  return
}

// -----

func.func @f(%w: tensor<9x2xf32>, %i: tensor<2x2xi32>) {
  // expected-error@+1 {{ids must be a tensor of rank 1 of i32 or i64, got: 'tensor<2x2xi32>'}}
  %e = cs.lookup %w, %i : (tensor<9x2xf32>, tensor<2x2xi32>) -> tensor<4x2xf32>
  return
}

// -----

func.func @f(%w: tensor<9x2xf32>, %i: tensor<4xi8>) {
  // expected-error@+1 {{operand #1 must be ranked tensor of 32-bit signless integer or 64-bit signless integer values}}
  %e = cs.lookup %w, %i : (tensor<9x2xf32>, tensor<4xi8>) -> tensor<4x2xf32>
  return
}

// -----

func.func @f(%v: tensor<4x3xf32>, %i: tensor<4xi32>) {
  // expected-error@+1 {{values must match 'tensor<4x2xf32>', got: 'tensor<4x3xf32>'}}
  %g = cs.segment_sum %i, %v : (tensor<4xi32>, tensor<4x3xf32>) -> tensor<9x2xf32>
  return
}

// -----

func.func @f(%v: tensor<4x2xi1>, %i: tensor<4xi32>) {
  // expected-error@+1 {{cannot add elements of type i1}}
  %g = cs.segment_sum %i, %v : (tensor<4xi32>, tensor<4x2xi1>) -> tensor<9x2xi1>
  return
}

// -----

func.func @f(%i: !cs.placed<tensor<4xi32>, device 0>) {
  // expected-error@+1 {{rows must be 3 offsets, one more than servers, got: 2}}
  %e = cs.fetch_rows "w" %i from [@server.0, @server.1] rows [0, 5]
      : (!cs.placed<tensor<4xi32>, device 0>) -> !cs.placed<tensor<4x2xf32>, device 0>
  return
}

// -----

func.func @f(%i: !cs.placed<tensor<4xi32>, device 0>) {
  // expected-error@+1 {{needs at least one server}}
  %e = cs.fetch_rows "w" %i from [] rows [0]
      : (!cs.placed<tensor<4xi32>, device 0>) -> !cs.placed<tensor<4x2xf32>, device 0>
  return
}

// -----

func.func @f(%i: !cs.placed<tensor<4xi32>, device 0>) {
  // expected-error@+1 {{rows must begin at 0, got: 1}}
  %e = cs.fetch_rows "w" %i from [@server.0] rows [1, 5]
      : (!cs.placed<tensor<4xi32>, device 0>) -> !cs.placed<tensor<4x2xf32>, device 0>
  return
}

// -----

func.func @f(%i: !cs.placed<tensor<4xi32>, device 0>) {
  // expected-error@+1 {{rows must ascend, got: 5 after 5}}
  %e = cs.fetch_rows "w" %i from [@server.0, @server.1] rows [0, 5, 5]
      : (!cs.placed<tensor<4xi32>, device 0>) -> !cs.placed<tensor<4x2xf32>, device 0>
  return
}

// -----

func.func @f(%i: !cs.placed<tensor<4xi32>, device 0>) {
  // expected-error@+1 {{result must have 4 rows, one for each id, got: 'tensor<3x2xf32>'}}
  %e = cs.fetch_rows "w" %i from [@server.0] rows [0, 5]
      : (!cs.placed<tensor<4xi32>, device 0>) -> !cs.placed<tensor<3x2xf32>, device 0>
  return
}

// -----

func.func @f(%i: !cs.placed<tensor<4xi32>, device 0>, %v: !cs.placed<tensor<4x2xf32>, device 1>) {
  // expected-error@+1 {{values must live where the ids do, on device 0}}
  cs.send_rows "w" %i, %v to [@server.0] rows [0, 5]
      : !cs.placed<tensor<4xi32>, device 0>, !cs.placed<tensor<4x2xf32>, device 1>
  return
}

// -----

func.func @f(%i: !cs.placed<tensor<4xf32>, device 0>, %v: !cs.placed<tensor<4x2xf32>, device 0>) {
  // expected-error@+1 {{ids must be a tensor of rank 1 of i32 or i64, got: 'tensor<4xf32>'}}
  cs.send_rows "w" %i, %v to [@server.0] rows [0, 5]
      : !cs.placed<tensor<4xf32>, device 0>, !cs.placed<tensor<4x2xf32>, device 0>
  return
}

// -----

func.func @f(%i: !cs.placed<tensor<4xi32>, device 0>, %v: !cs.placed<tensor<4x2xi32>, device 0>) {
  // expected-error@+1 {{values must be of a floating-point type, got: 'tensor<4x2xi32>'}}
  cs.send_rows "w" %i, %v to [@server.0] rows [0, 5]
      : !cs.placed<tensor<4xi32>, device 0>, !cs.placed<tensor<4x2xi32>, device 0>
  return
}

// -----

!b = !cs.placed<tensor<5x2xf32>, device 0>
func.func @step(%w: !b) {
  // expected-error@+1 {{belongs into a function with 'cs.server'}}
  %n = cs.update_rows "w" by mean from @step rows (%w) chunk 5 : (!b) {
  ^bb0(%g: tensor<5x2xf32>, %r: tensor<5x2xf32>):
    cs.return %g : tensor<5x2xf32>
  }
  return
}

// -----

!b = !cs.placed<tensor<5x2xf32>, device 0>
func.func @server.0(%w: !b) attributes {cs.server = 0 : i64} {
  // expected-error@+1 {{chunk must be 1 to 5, the rows of the block, got: 6}}
  %n = cs.update_rows "w" by mean from @step rows (%w) chunk 6 : (!b) {
  ^bb0(%g: tensor<6x2xf32>, %r: tensor<6x2xf32>):
    cs.return %g : tensor<6x2xf32>
  }
  return
}

// -----

!b = !cs.placed<tensor<5x2xf32>, device 0>
func.func @server.0(%w: !b) attributes {cs.server = 0 : i64} {
  // expected-error@+1 {{must have 2 body arguments, got: 1}}
  %n = cs.update_rows "w" by mean from @step rows (%w) chunk 2 : (!b) {
  ^bb0(%g: tensor<2x2xf32>):
    cs.return %g : tensor<2x2xf32>
  }
  return
}

// -----

!b = !cs.placed<tensor<5x2xf32>, device 0>
func.func @server.0(%w: !b) attributes {cs.server = 0 : i64} {
  // expected-error@+1 {{type of body arguments 1 must match 'tensor<2x2xf32>', got: 'tensor<3x2xf32>'}}
  %n = cs.update_rows "w" by mean from @step rows (%w) chunk 2 : (!b) {
  ^bb0(%g: tensor<2x2xf32>, %r: tensor<3x2xf32>):
    cs.return %g : tensor<2x2xf32>
  }
  return
}

// -----

!b = !cs.placed<tensor<5x2xf32>, device 0>
func.func @server.0(%w: !b) attributes {cs.server = 0 : i64} {
  // expected-error@+1 {{must have 1 returned values, got: 2}}
  %n = cs.update_rows "w" by mean from @step rows (%w) chunk 2 : (!b) {
  ^bb0(%g: tensor<2x2xf32>, %r: tensor<2x2xf32>):
    cs.return %g, %g : tensor<2x2xf32>, tensor<2x2xf32>
  }
  return
}

// -----

!b = !cs.placed<tensor<5x2xf32>, device 0>
!c = !cs.placed<tensor<4x2xf32>, device 0>
func.func @server.0(%w: !b, %m: !c) attributes {cs.server = 0 : i64} {
  // expected-error@+1 {{operand 1 must have the rows of the table}}
  %n:2 = cs.update_rows "w" by mean from @step rows (%w, %m) chunk 2 : (!b, !c) {
  ^bb0(%g: tensor<2x2xf32>, %r: tensor<2x2xf32>, %s: tensor<2x2xf32>):
    cs.return %g, %g : tensor<2x2xf32>, tensor<2x2xf32>
  }
  return
}

// -----

!b = !cs.placed<tensor<5x2xf32>, device 0>
func.func @server.0(%w: !b) attributes {cs.server = 0 : i64} {
  // expected-error@+1 {{needs the rows of a table}}
  "cs.update_rows"() <{key = "w", role = @step, chunk = 2 : i64, operandSegmentSizes = array<i32: 0, 0>}> ({
  ^bb0(%g: tensor<2x2xf32>):
    "cs.return"() : () -> ()
  }) : () -> ()
  return
}

// -----

!i = !cs.placed<tensor<4xi32>, device 0>
!v = !cs.placed<tensor<4x2xf32>, device 0>
func.func @f(%i: !i, %v: !v) {
  // expected-error@+1 {{of a send must give back what it sends}}
  %s = cs.start "w" (%i, %v) : (!i, !v) -> !cs.future<!i> {
  ^bb0(%j: !i, %x: !v):
    cs.send_rows "w" %j, %x to [@server.0] rows [0, 5] : !i, !v
    cs.return %j : !i
  }
  return
}
