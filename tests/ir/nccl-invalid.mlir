// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: cs-opt --split-input-file --verify-diagnostics %s

// expected-error @+1 {{'cs.nccl' belongs on a cs.start}}
func.func @f() attributes {cs.nccl = #cs.nccl<lane = 0, number = 0>} {
  return
}

// -----

!w = !cs.placed<tensor<8xf32>, device 0>
func.func @f(%w: !w) {
  // expected-error @+1 {{'cs.nccl' must be a #cs.nccl, got: 1 : i64}}
  %f = cs.start "w" (%w) : (!w) -> !cs.future<!w> attributes {cs.nccl = 1} {
  ^bb0(%x: !w):
    %r = cs.all_reduce "w" mean %x : !w
    cs.return %r : !w
  }
  return
}

// -----

!w = !cs.placed<tensor<8xf32>, device 0>
func.func @f(%w: !w) {
  // expected-error @+1 {{lane and number of NCCL must not be negative, got: 0 and -1}}
  %f = cs.start "w" (%w) : (!w) -> !cs.future<!w> attributes {cs.nccl = #cs.nccl<lane = 0, number = -1>} {
  ^bb0(%x: !w):
    %r = cs.all_reduce "w" mean %x : !w
    cs.return %r : !w
  }
  return
}

// -----

!w = !cs.placed<tensor<8xf32>, device 0>
func.func @f(%w: !w) {
  // expected-error @+1 {{'cs.nccl' needs one cs.all_reduce}}
  %f = cs.start "w" (%w) : (!w) -> !cs.future<!w> attributes {cs.nccl = #cs.nccl<lane = 0, number = 0>} {
  ^bb0(%x: !w):
    %r = cs.broadcast "w" %x from 0 : !w
    cs.return %r : !w
  }
  return
}

// -----

cs.group @g ranks [0, 1]
!w = !cs.placed<tensor<8xf32>, device 0>
func.func @f(%w: !w) {
  // expected-error @+1 {{'cs.nccl' needs a cs.all_reduce of all ranks, got: @g}}
  %f = cs.start "w" (%w) : (!w) -> !cs.future<!w> attributes {cs.nccl = #cs.nccl<lane = 0, number = 0>} {
  ^bb0(%x: !w):
    %r = cs.all_reduce "w" mean %x in @g : !w
    cs.return %r : !w
  }
  return
}

// -----

!w = !cs.placed<tensor<8xf32>, device 0 host>
func.func @f(%w: !w) {
  // expected-error @+1 {{'cs.nccl' needs a value in device memory, got: '!cs.placed<tensor<8xf32>, device 0 host>'}}
  %f = cs.start "w" (%w) : (!w) -> !cs.future<!w> attributes {cs.nccl = #cs.nccl<lane = 0, number = 0>} {
  ^bb0(%x: !w):
    %r = cs.all_reduce "w" mean %x : !w
    cs.return %r : !w
  }
  return
}

// -----

!w = !cs.placed<tensor<8xi8>, device 0>
func.func @f(%w: !w) {
  // expected-error @+1 {{'cs.nccl' is not for elements of one byte, got: 'i8'}}
  %f = cs.start "w" (%w) : (!w) -> !cs.future<!w> attributes {cs.nccl = #cs.nccl<lane = 0, number = 0>} {
  ^bb0(%x: !w):
    %r = cs.all_reduce "w" sum %x : !w
    cs.return %r : !w
  }
  return
}

// -----

!w = !cs.placed<tensor<8xf32>, device 0>
func.func @f(%w: !w) {
  // expected-error @+1 {{'cs.nccl' has neither parts nor gather_priority}}
  %f = cs.start "w" parts [3, 5] (%w) : (!w) -> !cs.future<!w> attributes {cs.nccl = #cs.nccl<lane = 0, number = 0>} {
  ^bb0(%x: !w):
    %r = cs.all_reduce "w" mean %x : !w
    cs.return %r : !w
  }
  return
}
