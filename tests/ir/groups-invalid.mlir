// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: cs-opt --split-input-file --verify-diagnostics %s

// expected-error @+1 {{must have a list of ranks or a set of them}}
cs.group @g

// -----

// expected-error @+1 {{must have a list of ranks or a set of them}}
cs.group @g ranks [0] where affine_set<(r) : (r >= 0)>

// -----

// expected-error @+1 {{needs at least one rank}}
cs.group @g ranks []

// -----

// expected-error @+1 {{rank must not be negative, got: -1}}
cs.group @g ranks [0, -1]

// -----

// expected-error @+1 {{must have a rank once, got 3 twice}}
cs.group @g ranks [3, 0, 3]

// -----

// expected-error @+1 {{where must be a set of ranks, got: affine_set<(d0, d1) : (d0 - d1 >= 0)>}}
cs.group @g where affine_set<(r, s) : (r - s >= 0)>

// -----

func.func @f() {
  // expected-error @+1 {{expects parent op 'builtin.module'}}
  cs.group @g ranks [0]
  return
}

// -----

func.func @f(%g: !cs.placed<tensor<4xf32>, device 0>) {
  // expected-error @+1 {{is in @nobody, which is not a cs.group}}
  %0 = cs.all_reduce "g" mean %g in @nobody : !cs.placed<tensor<4xf32>, device 0>
  return
}

// -----

func.func @f(%g: !cs.placed<tensor<4xf32>, device 0>) {
  // expected-error @+1 {{is in @f, which is not a cs.group}}
  %0 = cs.broadcast "g" %g from 0 in @f : !cs.placed<tensor<4xf32>, device 0>
  return
}
