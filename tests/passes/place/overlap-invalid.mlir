// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: cs-opt --overlap-rpc-memcpy --split-input-file --verify-diagnostics %s

!t = !cs.placed<tensor<4xf32>, device 0>
func.func @level1(%x: !t {cs.batch = "x"}) {
  // expected-error @below {{must be in a cs.start: run --schedule-comm before --overlap-rpc-memcpy}}
  %r = cs.all_reduce "a" sum %x : !t
  return
}

// -----

!t = !cs.placed<tensor<4xf32>, device 0>
func.func @never(%x: !t {cs.batch = "x"}) {
  // expected-error @below {{must be awaited once, got: 0}}
  %f = cs.start "a" (%x) : (!t) -> !cs.future<!t> {
  ^bb0(%y: !t):
    %r = cs.all_reduce "a" sum %y : !t
    cs.return %r : !t
  }
  return
}

// -----

!t = !cs.placed<tensor<4xf32>, device 0>
func.func @two(%x: !t {cs.batch = "x"}) {
  // expected-error @below {{must have at most one input to be staged, got: 2}}
  %f = cs.start "a" (%x, %x) : (!t, !t) -> !cs.future<!t> {
  ^bb0(%y: !t, %z: !t):
    %r = cs.all_reduce "a" sum %y : !t
    cs.return %r : !t
  }
  %r = cs.await %f : !cs.future<!t>
  return
}

// -----

// expected-error @below {{must have one block}}
func.func @blocks(%x: !cs.placed<tensor<4xf32>, device 0>) {
  cf.br ^bb1
^bb1:
  return
}
