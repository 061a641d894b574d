// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What ranks share they issue in one order; what they do not share is no matter.

// RUN: cs-opt --verify-distributed --split-input-file --verify-diagnostics %s

// Ranks 1 and 2 are in both groups, and disagree. Ranks 0 and 3 are in one each.
cs.cluster @lab nodes = 4 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
cs.group @low where affine_set<(r) : (2 - r >= 0)>
cs.group @high ranks [3, 2, 1]
!t = !cs.placed<tensor<8xf32>, device 0>
func.func @step.rank0(%v: !t) attributes {cs.rank = 0 : i64} {
  %f = cs.start "a" (%v) : (!t) -> !cs.future<!t> {
  ^bb0(%x: !t):
    %r = cs.all_reduce "a" sum %x in @low : !t
    cs.return %r : !t
  }
  %f_ = cs.await %f : !cs.future<!t>
  return
}
func.func @step.rank1(%v: !t) attributes {cs.rank = 1 : i64} {
  // expected-note@+1 {{rank 1 is here}}
  %f = cs.start "a" (%v) : (!t) -> !cs.future<!t> {
  ^bb0(%x: !t):
    %r = cs.all_reduce "a" sum %x in @low : !t
    cs.return %r : !t
  }
  %g = cs.start "b" (%v) : (!t) -> !cs.future<!t> {
  ^bb0(%x: !t):
    %r = cs.all_reduce "b" sum %x in @high : !t
    cs.return %r : !t
  }
  %f_ = cs.await %f : !cs.future<!t>
  %g_ = cs.await %g : !cs.future<!t>
  return
}
func.func @step.rank2(%v: !t) attributes {cs.rank = 2 : i64} {
  // expected-error@+1 {{rank 2 issues "b" where rank 1 issues "a"}}
  %g = cs.start "b" (%v) : (!t) -> !cs.future<!t> {
  ^bb0(%x: !t):
    %r = cs.all_reduce "b" sum %x in @high : !t
    cs.return %r : !t
  }
  %f = cs.start "a" (%v) : (!t) -> !cs.future<!t> {
  ^bb0(%x: !t):
    %r = cs.all_reduce "a" sum %x in @low : !t
    cs.return %r : !t
  }
  %f_ = cs.await %f : !cs.future<!t>
  %g_ = cs.await %g : !cs.future<!t>
  return
}
func.func @step.rank3(%v: !t) attributes {cs.rank = 3 : i64} {
  %g = cs.start "b" (%v) : (!t) -> !cs.future<!t> {
  ^bb0(%x: !t):
    %r = cs.all_reduce "b" sum %x in @high : !t
    cs.return %r : !t
  }
  %g_ = cs.await %g : !cs.future<!t>
  return
}

// -----

// A member leaves one out.
cs.cluster @lab nodes = 4 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
cs.group @low where affine_set<(r) : (2 - r >= 0)>
cs.group @high ranks [3, 2, 1]
!t = !cs.placed<tensor<8xf32>, device 0>
func.func @step.rank0(%v: !t) attributes {cs.rank = 0 : i64} {
  // expected-note@+1 {{rank 0 is here}}
  %f = cs.start "a" (%v) : (!t) -> !cs.future<!t> {
  ^bb0(%x: !t):
    %r = cs.all_reduce "a" sum %x in @low : !t
    cs.return %r : !t
  }
  %f_ = cs.await %f : !cs.future<!t>
  return
}
func.func @step.rank1(%v: !t) attributes {cs.rank = 1 : i64} {
  %f = cs.start "a" (%v) : (!t) -> !cs.future<!t> {
  ^bb0(%x: !t):
    %r = cs.all_reduce "a" sum %x in @low : !t
    cs.return %r : !t
  }
  %f_ = cs.await %f : !cs.future<!t>
  return
}
// expected-error@+1 {{rank 2 does not issue "a", which rank 0 does}}
func.func @step.rank2(%v: !t) attributes {cs.rank = 2 : i64} {
  return
}
func.func @step.rank3(%v: !t) attributes {cs.rank = 3 : i64} {
  return
}

// -----

// The same key, of other ranks.
cs.cluster @lab nodes = 2 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
cs.group @low ranks [0, 1]
cs.group @high ranks [1, 0]
!t = !cs.placed<tensor<8xf32>, device 0>
func.func @step.rank0(%v: !t) attributes {cs.rank = 0 : i64} {
  // expected-note@+1 {{rank 0 is here}}
  %f = cs.start "a" (%v) : (!t) -> !cs.future<!t> {
  ^bb0(%x: !t):
    %r = cs.all_reduce "a" sum %x in @low : !t
    cs.return %r : !t
  }
  %f_ = cs.await %f : !cs.future<!t>
  return
}
func.func @step.rank1(%v: !t) attributes {cs.rank = 1 : i64} {
  // expected-error@+1 {{"a" of rank 1 must match all_reduce sum in @low of !cs.placed<tensor<8xf32>, device 0> of rank 0, got: all_reduce sum in @high}}
  %f = cs.start "a" (%v) : (!t) -> !cs.future<!t> {
  ^bb0(%x: !t):
    %r = cs.all_reduce "a" sum %x in @high : !t
    cs.return %r : !t
  }
  %f_ = cs.await %f : !cs.future<!t>
  return
}

// -----

// Three groups of two, each of which waits for the next: every pair agrees in its order,
// and all wait for ever.
cs.cluster @lab nodes = 3 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
cs.group @a ranks [0, 1]
cs.group @b ranks [1, 2]
cs.group @c ranks [2, 0]
!t = !cs.placed<tensor<8xf32>, device 0>
func.func @step.rank0(%v: !t) attributes {cs.rank = 0 : i64} {
  %f = cs.start "a" (%v) : (!t) -> !cs.future<!t> {
  ^bb0(%x: !t):
    %r = cs.all_reduce "a" sum %x in @a : !t
    cs.return %r : !t
  }
  // expected-error@+1 {{communications wait for each other in a circle: rank 0 of @step waits here for "a"}}
  %f_ = cs.await %f : !cs.future<!t>
  %g = cs.start "c" (%v) : (!t) -> !cs.future<!t> {
  ^bb0(%x: !t):
    %r = cs.all_reduce "c" sum %x in @c : !t
    cs.return %r : !t
  }
  %g_ = cs.await %g : !cs.future<!t>
  return
}
func.func @step.rank1(%v: !t) attributes {cs.rank = 1 : i64} {
  %f = cs.start "b" (%v) : (!t) -> !cs.future<!t> {
  ^bb0(%x: !t):
    %r = cs.all_reduce "b" sum %x in @b : !t
    cs.return %r : !t
  }
  // expected-note@+1 {{while rank 1 of @step waits here for "b"}}
  %f_ = cs.await %f : !cs.future<!t>
  %g = cs.start "a" (%v) : (!t) -> !cs.future<!t> {
  ^bb0(%x: !t):
    %r = cs.all_reduce "a" sum %x in @a : !t
    cs.return %r : !t
  }
  %g_ = cs.await %g : !cs.future<!t>
  return
}
func.func @step.rank2(%v: !t) attributes {cs.rank = 2 : i64} {
  %f = cs.start "c" (%v) : (!t) -> !cs.future<!t> {
  ^bb0(%x: !t):
    %r = cs.all_reduce "c" sum %x in @c : !t
    cs.return %r : !t
  }
  // expected-note@+1 {{while rank 2 of @step waits here for "c"}}
  %f_ = cs.await %f : !cs.future<!t>
  %g = cs.start "b" (%v) : (!t) -> !cs.future<!t> {
  ^bb0(%x: !t):
    %r = cs.all_reduce "b" sum %x in @b : !t
    cs.return %r : !t
  }
  %g_ = cs.await %g : !cs.future<!t>
  return
}

// -----

cs.cluster @lab nodes = 4 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
cs.group @three ranks [0, 1, 2]
!t = !cs.placed<tensor<8xf32>, device 0>
func.func @step(%v: !t) {
  // expected-error@+1 {{root must be in @three, got: 3}}
  %r = cs.broadcast "w" %v from 3 in @three : !t
  return
}

// -----

cs.cluster @lab nodes = 4 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
// expected-note@+1 {{the group is here}}
cs.group @three ranks [0, 4, 2]
!t = !cs.placed<tensor<8xf32>, device 0>
func.func @step(%v: !t) {
  // expected-error@+1 {{is in @three, whose ranks must be below 4, got: 4}}
  %r = cs.all_reduce "w" sum %v in @three : !t
  return
}

// -----

cs.cluster @lab nodes = 4 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
// expected-note@+1 {{the group is here}}
cs.group @none where affine_set<(r) : (r - 4 >= 0)>
!t = !cs.placed<tensor<8xf32>, device 0>
func.func @step(%v: !t) {
  // expected-error@+1 {{is in @none, which has none of 4 ranks}}
  %r = cs.all_reduce "w" sum %v in @none : !t
  return
}

// -----

cs.cluster @lab nodes = 4 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
cs.group @three ranks [0, 1, 2]
!t = !cs.placed<tensor<8xf32>, device 0>
func.func @step(%v: !t) {
  // expected-error@+1 {{dimension 0 of the whole must be 3 (ranks) times the part's, got: 8 and 2}}
  %r = cs.reduce_scatter "w" sum %v in @three : !t -> !cs.placed<tensor<2xf32>, device 0>
  return
}

// -----

// Errors name ranks, not their numbers in the group.
cs.cluster @lab nodes = 8 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
cs.group @two ranks [6, 1]
!t = !cs.placed<tensor<8xf32>, device 0>
func.func @step(%v: !t) {
  %f = cs.start "w" (%v) : (!t) -> !cs.future<!t> attributes {cs.collective = "all_reduce", cs.reduction = "sum"} {
  ^bb0(%x: !t):
    // expected-error@+1 {{in "w": rank 6 sends parts 0 to 1 to rank 1 in round 0, which receives parts 0 to 2}}
    %r = cs.exchange %x in @two chunks 2 rounds 1 sum
        send <parts affine_map<(r, s) -> (0, 1)> to affine_map<(r, s) -> (1 - r)>>
        recv <parts affine_map<(r, s) -> (0, r + 1)> to affine_map<(r, s) -> (1 - r)>> : !t
    cs.return %r : !t
  }
  %r = cs.await %f : !cs.future<!t>
  return
}

// -----

cs.cluster @lab nodes = 8 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
cs.group @two ranks [6, 1]
!t = !cs.placed<tensor<8xf32>, device 0>
func.func @step(%v: !t) {
  // expected-error@+1 {{in "w": the exchanges do not compute all_reduce: on rank 6, part 0 of 1 must be scaled by}}
  %f = cs.start "w" (%v) : (!t) -> !cs.future<!t> attributes {cs.collective = "all_reduce", cs.reduction = "mean"} {
  ^bb0(%x: !t):
    %r = cs.exchange %x in @two chunks 1 rounds 1 sum scale 1.25e-01
        send <parts affine_map<(r, s) -> (0, 1)> to affine_map<(r, s) -> (1 - r)>>
        recv <parts affine_map<(r, s) -> (0, 1)> to affine_map<(r, s) -> (1 - r)>> : !t
    cs.return %r : !t
  }
  %r = cs.await %f : !cs.future<!t>
  return
}

// -----

cs.cluster @lab nodes = 8 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
cs.group @two ranks [6, 1]
!t = !cs.placed<tensor<8xf32>, device 0>
func.func @step(%v: !t) {
  %f = cs.start "w" (%v) : (!t) -> !cs.future<!t> {
  ^bb0(%x: !t):
    %r = cs.exchange %x in @two chunks 1 rounds 1 sum
        send <parts affine_map<(r, s) -> (0, 1)> to affine_map<(r, s) -> (1 - r)>>
        recv <parts affine_map<(r, s) -> (0, 1)> to affine_map<(r, s) -> (1 - r)>> : !t
    // expected-error@+1 {{must be in the same group as the operation before it}}
    %s = cs.exchange %r chunks 1 rounds 1 sum
        send <parts affine_map<(r, s) -> (0, 1)> to affine_map<(r, s) -> (7 - r)>>
        recv <parts affine_map<(r, s) -> (0, 1)> to affine_map<(r, s) -> (7 - r)>> : !t
    cs.return %s : !t
  }
  %r = cs.await %f : !cs.future<!t>
  return
}
