// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: cs-opt --split-input-file --verify-diagnostics %s

!w = !cs.placed<tensor<10xf32>, device 0>
func.func @f(%w: !w) {
  // expected-error @+1 {{key of the communication must match "w", got: "v"}}
  %f = cs.start "w" (%w) : (!w) -> !cs.future<!w> {
  ^bb0(%x: !w):
    %r = cs.all_reduce "v" mean %x : !w
    cs.return %r : !w
  }
  return
}

// -----

!w = !cs.placed<tensor<10xf32>, device 0>
func.func @f(%w: !w) {
  // expected-error @+1 {{must hold one communication or copy, got: 2}}
  %f = cs.start "w" (%w) : (!w) -> !cs.future<!w> {
  ^bb0(%x: !w):
    %r = cs.all_reduce "w" mean %x : !w
    %s = cs.all_reduce "w" mean %r : !w
    cs.return %s : !w
  }
  return
}

// -----

!w = !cs.placed<tensor<10xf32>, device 0>
func.func @f(%w: !w) {
  %f = cs.start "w" (%w) : (!w) -> !cs.future<!w> {
  ^bb0(%x: !w):
    // expected-error @+1 {{is not a communication}}
    %r = cs.fragment "c" on 0 (%x) cost <flops = 1, bytes = 1, ns = 1> : (!w) -> !w
    cs.return %r : !w
  }
  return
}

// -----

!w = !cs.placed<tensor<10xf32>, device 0>
func.func @f(%w: !w) {
  // expected-error @+1 {{must return one value of type '!cs.placed<tensor<10xf32>, device 0>'}}
  %f = cs.start "w" (%w) : (!w) -> !cs.future<!w> {
  ^bb0(%x: !w):
    cs.return
  }
  return
}

// -----

!w = !cs.placed<tensor<10xf32>, device 0>
func.func @f(%w: !w) {
  // expected-error @+1 {{belongs into cs.start}}
  %e = cs.exchange %w chunks 2 rounds 1 sum
      send <parts affine_map<(r, s) -> (r, 1)> to affine_map<(r, s) -> (1 - r)>>
      recv <parts affine_map<(r, s) -> (1 - r, 1)> to affine_map<(r, s) -> (1 - r)>> : !w
  return
}

// -----

!w = !cs.placed<tensor<10xf32>, device 0>
func.func @f(%w: !w) {
  %f = cs.start "w" (%w) : (!w) -> !cs.future<!w> {
  ^bb0(%x: !w):
    // expected-error @+1 {{needs at least 1 round, got: 0}}
    %e = cs.exchange %x chunks 2 rounds 0 sum
        send <parts affine_map<(r, s) -> (r, 1)> to affine_map<(r, s) -> (1 - r)>>
        recv <parts affine_map<(r, s) -> (1 - r, 1)> to affine_map<(r, s) -> (1 - r)>> : !w
    cs.return %e : !w
  }
  return
}

// -----

!w = !cs.placed<tensor<10xf32>, device 0>
func.func @f(%w: !w) {
  %f = cs.start "w" (%w) : (!w) -> !cs.future<!w> {
  ^bb0(%x: !w):
    %e = cs.exchange %x chunks 2 rounds 1 sum
        // expected-error @+1 {{parts must map (rank, round) to (begin, count)}}
        send <parts affine_map<(r, s) -> (r)> to affine_map<(r, s) -> (1 - r)>>
        recv <parts affine_map<(r, s) -> (1 - r, 1)> to affine_map<(r, s) -> (1 - r)>> : !w
    cs.return %e : !w
  }
  return
}

// -----

!w = !cs.placed<tensor<10xf32>, device 0>
func.func @f(%w: !w) {
  %f = cs.start "w" (%w) : (!w) -> !cs.future<!w> {
  ^bb0(%x: !w):
    %e = cs.exchange %x chunks 2 rounds 1 sum
        // expected-error @+1 {{divisors must be positive constants}}
        send <parts affine_map<(r, s) -> (r mod 0, 1)> to affine_map<(r, s) -> (1 - r)>>
        recv <parts affine_map<(r, s) -> (1 - r, 1)> to affine_map<(r, s) -> (1 - r)>> : !w
    cs.return %e : !w
  }
  return
}

// -----

!w = !cs.placed<tensor<10xf32>, device 0>
!h = !cs.placed<tensor<10xf32>, device 0 host>
func.func @f(%w: !w) {
  // expected-error @+1 {{must hold one communication or copy, got: 2}}
  %f = cs.start "w" (%w) : (!w) -> !cs.future<!w> {
  ^bb0(%x: !w):
    %h = cs.copy %x : !w -> !h
    %r = cs.copy %h : !h -> !w
    cs.return %r : !w
  }
  return
}

// -----

!w = !cs.placed<tensor<10xf32>, device 0>
!h = !cs.placed<tensor<10xf32>, device 0 host>
func.func @f(%w: !w) {
  // expected-error @+1 {{parts must have the 10 elements of the message, got: 9}}
  %f = cs.start "w" parts [3, 6] (%w) : (!w) -> !cs.future<!w> {
  ^bb0(%x: !w):
    %r = cs.all_reduce "w" mean %x : !w
    cs.return %r : !w
  }
  return
}

// -----

!w = !cs.placed<tensor<10xf32>, device 0>
!h = !cs.placed<tensor<10xf32>, device 0 host>
func.func @f(%w: !w) {
  // expected-error @+1 {{needs at least 2 parts, got: 1}}
  %f = cs.start "w" parts [10] (%w) : (!w) -> !cs.future<!w> {
  ^bb0(%x: !w):
    %r = cs.all_reduce "w" mean %x : !w
    cs.return %r : !w
  }
  return
}

// -----

!w = !cs.placed<tensor<10xf32>, device 0>
!h = !cs.placed<tensor<10xf32>, device 0 host>
func.func @f(%w: !w) {
  // expected-error @+1 {{parts must have elements, got: 0}}
  %f = cs.start "w" parts [10, 0] (%w) : (!w) -> !cs.future<!w> {
  ^bb0(%x: !w):
    %r = cs.all_reduce "w" mean %x : !w
    cs.return %r : !w
  }
  return
}

// -----

!w = !cs.placed<tensor<10xf32>, device 0>
!h = !cs.placed<tensor<10xf32>, device 0 host>
func.func @f(%w: !w) {
  // expected-error @+1 {{has more elements in parts than can be counted}}
  %f = cs.start "w" parts [3, 9223372036854775807] (%w) : (!w) -> !cs.future<!w> {
  ^bb0(%x: !w):
    %r = cs.all_reduce "w" mean %x : !w
    cs.return %r : !w
  }
  return
}

// -----

!w = !cs.placed<tensor<10xf32>, device 0>
!h = !cs.placed<tensor<10xf32>, device 0 host>
func.func @f(%w: !w) {
  // expected-error @+1 {{parts need an all_reduce}}
  %f = cs.start "w" parts [3, 7] (%w) : (!w) -> !cs.future<!h> {
  ^bb0(%x: !w):
    %r = cs.copy %x : !w -> !h
    cs.return %r : !h
  }
  return
}

// -----

!w = !cs.placed<tensor<10xf32>, device 0>
func.func @f(%w: !w) {
  %f = cs.start "w" parts [3, 7] (%w) : (!w) -> !cs.future<!w> {
  ^bb0(%x: !w):
    %e = cs.exchange %x chunks 2 rounds 1 sum
        send <parts affine_map<(r, s) -> (1 - r, 1)> to affine_map<(r, s) -> (1 - r)>>
        recv <parts affine_map<(r, s) -> (r, 1)> to affine_map<(r, s) -> (1 - r)>> : !w
    // expected-error @+1 {{of a message with parts must have 1 or 2 chunks, got: 4}}
    %g = cs.exchange %e chunks 4 rounds 1 replace
        send <parts affine_map<(r, s) -> (2 * r, 2)> to affine_map<(r, s) -> (1 - r)>>
        recv <parts affine_map<(r, s) -> (2 - 2 * r, 2)> to affine_map<(r, s) -> (1 - r)>> : !w
    cs.return %g : !w
  }
  return
}

// -----

// Numbers that a plan would have in part only.
!w = !cs.placed<tensor<10xf32>, device 0>
func.func @f(%w: !w) {
  %f = cs.start "w" (%w) : (!w) -> !cs.future<!w> {
  ^bb0(%x: !w):
    // expected-error @+1 {{must have at most 4294967295 chunks, got: 4294967297}}
    %e = cs.exchange %x chunks 4294967297 rounds 1 sum
        send <parts affine_map<(r, s) -> (r, 1)> to affine_map<(r, s) -> (1 - r)>>
        recv <parts affine_map<(r, s) -> (1 - r, 1)> to affine_map<(r, s) -> (1 - r)>> : !w
    cs.return %e : !w
  }
  return
}

// -----

!w = !cs.placed<tensor<10xf32>, device 0>
func.func @f(%w: !w) {
  // expected-error @+1 {{priority must be a number of 32 bits, got: 4294967296}}
  %f = cs.start "w" priority 4294967296 (%w) : (!w) -> !cs.future<!w> {
  ^bb0(%x: !w):
    %r = cs.all_reduce "w" sum %x : !w
    cs.return %r : !w
  }
  return
}

// -----

!w = !cs.placed<tensor<10xf32>, device 0>
func.func @f(%w: !w) {
  // expected-error @+1 {{gather_priority must be a number of 32 bits, got: -2147483649}}
  %f = cs.start "w" priority 2147483647 gather_priority -2147483649 (%w) : (!w) -> !cs.future<!w> {
  ^bb0(%x: !w):
    %r = cs.all_reduce "w" sum %x : !w
    cs.return %r : !w
  }
  return
}
