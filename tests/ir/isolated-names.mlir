// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: cs-opt --split-input-file --verify-diagnostics %s

// Names inside a start or a fragment are its own.

func.func @shadowing(%v: !cs.placed<tensor<8xf32>, device 0>) -> !cs.placed<tensor<8xf32>, device 0> {
  %r = cs.fragment "f" on 0 (%v) : (!cs.placed<tensor<8xf32>, device 0>) -> !cs.placed<tensor<8xf32>, device 0> {
  ^bb0(%v: tensor<8xf32>):
    %r = arith.addf %v, %v : tensor<8xf32>
    cs.return %r : tensor<8xf32>
  }
  %f = cs.start "w" (%r) : (!cs.placed<tensor<8xf32>, device 0>) -> !cs.future<!cs.placed<tensor<8xf32>, device 0>> {
  ^bb0(%v: !cs.placed<tensor<8xf32>, device 0>):
    %r = cs.all_reduce "w" mean %v : !cs.placed<tensor<8xf32>, device 0>
    cs.return %r : !cs.placed<tensor<8xf32>, device 0>
  }
  %w = cs.await %f : !cs.future<!cs.placed<tensor<8xf32>, device 0>>
  return %w : !cs.placed<tensor<8xf32>, device 0>
}

// -----

// A name that is not defined here is not found in the next start either.
func.func @later(%v: !cs.placed<tensor<8xf32>, device 0>) {
  %f = cs.start "v" (%v) : (!cs.placed<tensor<8xf32>, device 0>) -> !cs.future<!cs.placed<tensor<8xf32>, device 0>> {
  ^bb0(%x: !cs.placed<tensor<8xf32>, device 0>):
    // expected-error@+1 {{use of undeclared SSA value name}}
    cs.return %r : !cs.placed<tensor<8xf32>, device 0>
  }
  %g = cs.start "w" (%v) : (!cs.placed<tensor<8xf32>, device 0>) -> !cs.future<!cs.placed<tensor<8xf32>, device 0>> {
  ^bb0(%x: !cs.placed<tensor<8xf32>, device 0>):
    %r = cs.all_reduce "w" mean %x : !cs.placed<tensor<8xf32>, device 0>
    cs.return %r : !cs.placed<tensor<8xf32>, device 0>
  }
  return
}
