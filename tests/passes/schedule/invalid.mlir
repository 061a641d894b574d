// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: cs-opt --schedule-comm --split-input-file --verify-diagnostics %s

!t = !cs.placed<tensor<4xf32>, device 0>
func.func @scheduled(%x: !t {cs.batch = "x"}) {
  // expected-error @below {{must not be there yet: the module is scheduled}}
  %f = cs.start "a" (%x) : (!t) -> !cs.future<!t> {
  ^bb0(%y: !t):
    %r = cs.all_reduce "a" sum %y : !t
    cs.return %r : !t
  }
  %r = cs.await %f : !cs.future<!t>
  return
}

// -----

func.func @level0(%w: tensor<4xf32> {cs.param = "w"}, %x: tensor<4xf32> {cs.batch = "x"}) attributes {cs.step} {
  // expected-error @below {{must have been replaced: run --insert-dist-comm first}}
  %g = cs.gradient %x of "w" : tensor<4xf32>
  return
}

// -----

!t = !cs.placed<tensor<4xf32>, device 0>
func.func @send(%x: !t {cs.batch = "x"}) {
  // expected-error @below {{cannot be scheduled: must be a collective}}
  cs.send "a" %x to affine_map<(r) -> (r)> : !t
  return
}

// -----

// expected-error @below {{must have one block}}
func.func @blocks() {
  cf.br ^bb1
^bb1:
  return
}
