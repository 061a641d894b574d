// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: cs-opt --split-input-file --verify-diagnostics %s

func.func @f(%g: !cs.placed<tensor<4xi32>, device 0>) {
  // expected-error @+1 {{mean needs a floating-point element type, got: 'i32'}}
  %0 = cs.all_reduce "g" mean %g : !cs.placed<tensor<4xi32>, device 0>
  return
}

// -----

func.func @f(%g: !cs.placed<tensor<4xi1>, device 0>) {
  // expected-error @+1 {{cannot combine elements of type 'i1'}}
  %0 = cs.reduce "g" sum %g to 0 : !cs.placed<tensor<4xi1>, device 0>
  return
}

// -----

func.func @f(%g: !cs.placed<tensor<10xf32>, device 0>) {
  // expected-error @+1 {{needs a key}}
  %0 = cs.all_reduce "" mean %g : !cs.placed<tensor<10xf32>, device 0>
  return
}

// -----

func.func @f(%g: !cs.placed<tensor<10xf32>, device 0>) {
  // expected-error @+1 {{root must not be negative, got: -1}}
  %0 = cs.broadcast "b" %g from -1 : !cs.placed<tensor<10xf32>, device 0>
  return
}

// -----

func.func @f(%g: !cs.placed<tensor<9xf32>, device 0>) {
  // expected-error @+1 {{dimension 0 of the whole must be a multiple of the part's, got: 9 and 2}}
  %0 = cs.reduce_scatter "rs" sum %g : !cs.placed<tensor<9xf32>, device 0> -> !cs.placed<tensor<2xf32>, device 0>
  return
}

// -----

func.func @f(%g: !cs.placed<tensor<2x3xf32>, device 0>) {
  // expected-error @+1 {{part must match the whole but for dimension 0, got: 'tensor<2x3xf32>' of 'tensor<8x4xf32>'}}
  %0 = cs.all_gather "ag" %g : !cs.placed<tensor<2x3xf32>, device 0> -> !cs.placed<tensor<8x4xf32>, device 0>
  return
}

// -----

func.func @f(%g: !cs.placed<tensor<10xf32>, device 0>) {
  // expected-error @+1 {{peer must map this rank to a rank}}
  cs.send "m" %g to affine_map<(r, s) -> (r + s)> : !cs.placed<tensor<10xf32>, device 0>
  return
}

// -----

func.func @f() {
  // expected-error @+1 {{when must be a set of ranks}}
  %0 = cs.recv "m" from affine_map<(r) -> (r)> when affine_set<(r, s) : (r >= 0)> : !cs.placed<tensor<10xf32>, device 0>
  return
}
