// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: cs-opt --split-input-file --verify-diagnostics %s

!w = !cs.placed<tensor<10xf32>, device 0>
func.func @f(%w: !w) {
  // expected-error @+1 {{exclusive must be 1 to 1000000000 nanoseconds, got: 0}}
  %f = cs.start "w" exclusive 0 (%w) : (!w) -> !cs.future<!w> {
  ^bb0(%x: !w):
    %r = cs.all_reduce "w" sum %x : !w
    cs.return %r : !w
  }
  return
}

// -----

!w = !cs.placed<tensor<10xf32>, device 0>
func.func @f(%w: !w) {
  // expected-error @+1 {{exclusive must be 1 to 1000000000 nanoseconds, got: 1000000001}}
  %f = cs.start "w" exclusive 1000000001 (%w) : (!w) -> !cs.future<!w> {
  ^bb0(%x: !w):
    %r = cs.all_reduce "w" sum %x : !w
    cs.return %r : !w
  }
  return
}

// -----

!w = !cs.placed<tensor<10xf32>, device 0>
func.func @f(%w: !w) {
  // expected-error @+1 {{exclusive needs a collective}}
  %f = cs.start "w" exclusive 1000 (%w) : (!w) -> !cs.future<!w> {
  ^bb0(%x: !w):
    cs.send "w" %x to affine_map<(r) -> (r + 1)> when affine_set<(r) : (2 - r >= 0)> : !w
    cs.return %x : !w
  }
  return
}

// -----

!w = !cs.placed<tensor<8xf32>, device 0>
func.func @f(%w: !w) {
  // expected-error @+1 {{'cs.nccl' is not exclusive}}
  %f = cs.start "w" exclusive 1000 (%w) : (!w) -> !cs.future<!w> attributes {cs.nccl = #cs.nccl<lane = 0, number = 0>} {
  ^bb0(%x: !w):
    %r = cs.all_reduce "w" mean %x : !w
    cs.return %r : !w
  }
  return
}
