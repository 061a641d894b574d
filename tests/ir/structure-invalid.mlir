// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: cs-opt --split-input-file --verify-diagnostics %s

// Bodies, peers and places that do not fit.

func.func @peer(%v: !cs.placed<tensor<8xf32>, device 0>) {
  // expected-error@+1 {{peer must map this rank to a rank, got: affine_map<(d0, d1) -> (d0)>}}
  cs.send "a" %v to affine_map<(r, s) -> (r)> : !cs.placed<tensor<8xf32>, device 0>
  return
}

// -----

func.func @when(%v: !cs.placed<tensor<8xf32>, device 0>) {
  // expected-error@+1 {{when must be a set of ranks, got: affine_set<(d0, d1) : (d0 >= 0)>}}
  %r = cs.recv "a" from affine_map<(r) -> (r + 1)> when affine_set<(r, s) : (r >= 0)> : !cs.placed<tensor<8xf32>, device 0>
  return
}

// -----

func.func @body_arguments(%v: !cs.placed<tensor<8xf32>, device 0>) {
  // expected-error@+1 {{body arguments must match the inputs}}
  %f = cs.start "w" (%v) : (!cs.placed<tensor<8xf32>, device 0>) -> !cs.future<!cs.placed<tensor<8xf32>, device 0>> {
  ^bb0(%x: !cs.placed<tensor<8xf32>, device 0>, %y: !cs.placed<tensor<8xf32>, device 0>):
    cs.return %x : !cs.placed<tensor<8xf32>, device 0>
  }
  return
}

// -----

func.func @no_return(%v: !cs.placed<tensor<8xf32>, device 0>) {
  // expected-error@+1 {{body must end in cs.return}}
  %f = cs.start "w" (%v) : (!cs.placed<tensor<8xf32>, device 0>) -> !cs.future<!cs.placed<tensor<8xf32>, device 0>> {
  ^bb0(%x: !cs.placed<tensor<8xf32>, device 0>):
    %r = cs.all_reduce "w" sum %x : !cs.placed<tensor<8xf32>, device 0>
  }
  return
}

// -----

func.func @fragment_no_return(%v: !cs.placed<tensor<8xf32>, device 0>) {
  // expected-error@+1 {{body must end in cs.return}}
  cs.fragment "f" on 0 (%v) : (!cs.placed<tensor<8xf32>, device 0>) -> () {
  ^bb0(%x: tensor<8xf32>):
    %0 = arith.addf %x, %x : tensor<8xf32>
  }
  return
}

// -----

func.func @negative_device() {
  // expected-error@+1 {{device must not be negative, got: -1}}
  cs.fragment "f" on -1 () cost <flops = 1, bytes = 1, ns = 1> : () -> ()
  return
}

// -----

func.func @moves(%v: !cs.placed<tensor<8xf32>, device 0>) {
  // expected-error@+1 {{must stay on its device, got: }}
  %r = cs.reduce_scatter "w" sum %v : !cs.placed<tensor<8xf32>, device 0> -> !cs.placed<tensor<2xf32>, device 1>
  return
}

// -----

func.func @nothing_to_join() {
  // expected-error@+1 {{'cs.concat' op needs at least one block}}
  %r = "cs.concat"() : () -> !cs.placed<tensor<8xf32>, device 0>
  return
}

// -----

func.func @scalars(%v: !cs.placed<tensor<f32>, device 0>) {
  // expected-error@+1 {{cs.concat needs placed tensors with rows}}
  %r = cs.concat %v, %v : !cs.placed<tensor<f32>, device 0>, !cs.placed<tensor<f32>, device 0>
  return
}

// -----

func.func @ranks(%v: !cs.placed<tensor<8xf32>, device 0>, %w: !cs.placed<tensor<8x1xf32>, device 0>) {
  // expected-error@+1 {{cs.concat needs blocks of one rank}}
  %r = cs.concat %v, %w : !cs.placed<tensor<8xf32>, device 0>, !cs.placed<tensor<8x1xf32>, device 0>
  return
}

// -----

func.func @cut_into_nothing(%v: !cs.placed<tensor<8xf32>, device 0>) {
  // expected-error@+1 {{needs at least one block}}
  "cs.split"(%v) : (!cs.placed<tensor<8xf32>, device 0>) -> ()
  return
}
