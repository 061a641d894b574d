// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Exchanges whose rounds do not match, and exchanges that do not compute what
// they were expanded from.

// RUN: cs-opt --verify-distributed --split-input-file --verify-diagnostics %s

// Both go to the right.
cs.cluster @lab nodes = 4 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
func.func @direction(%v: !cs.placed<tensor<8xf32>, device 0>) {
  %f = cs.start "w" (%v) : (!cs.placed<tensor<8xf32>, device 0>) -> !cs.future<!cs.placed<tensor<8xf32>, device 0>> {
  ^bb0(%x: !cs.placed<tensor<8xf32>, device 0>):
    // expected-error@+1 {{'cs.exchange' op in "w": rank 0 sends parts 0 to 1 to rank 1 in round 0, which receives from rank 2}}
    %p0 = cs.exchange %x chunks 4 rounds 3 sum send <parts affine_map<(r, s) -> ((r - s) mod 4, 1)> to affine_map<(r, s) -> ((r + 1) mod 4)>> recv <parts affine_map<(r, s) -> ((r - s - 1) mod 4, 1)> to affine_map<(r, s) -> ((r + 1) mod 4)>> : !cs.placed<tensor<8xf32>, device 0>
    cs.return %p0 : !cs.placed<tensor<8xf32>, device 0>
  }
  %a = cs.await %f : !cs.future<!cs.placed<tensor<8xf32>, device 0>>
  return
}

// -----

// The receiver expects the part before.
cs.cluster @lab nodes = 4 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
func.func @part(%v: !cs.placed<tensor<8xf32>, device 0>) {
  %f = cs.start "w" (%v) : (!cs.placed<tensor<8xf32>, device 0>) -> !cs.future<!cs.placed<tensor<8xf32>, device 0>> {
  ^bb0(%x: !cs.placed<tensor<8xf32>, device 0>):
    // expected-error@+1 {{rank 0 sends parts 0 to 1 to rank 1 in round 0, which receives parts 3 to 4}}
    %p0 = cs.exchange %x chunks 4 rounds 3 sum send <parts affine_map<(r, s) -> ((r - s) mod 4, 1)> to affine_map<(r, s) -> ((r + 1) mod 4)>> recv <parts affine_map<(r, s) -> ((r - s - 2) mod 4, 1)> to affine_map<(r, s) -> ((r - 1) mod 4)>> : !cs.placed<tensor<8xf32>, device 0>
    cs.return %p0 : !cs.placed<tensor<8xf32>, device 0>
  }
  %a = cs.await %f : !cs.future<!cs.placed<tensor<8xf32>, device 0>>
  return
}

// -----

cs.cluster @lab nodes = 4 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
func.func @nobody_receives(%v: !cs.placed<tensor<8xf32>, device 0>) {
  %f = cs.start "w" (%v) : (!cs.placed<tensor<8xf32>, device 0>) -> !cs.future<!cs.placed<tensor<8xf32>, device 0>> {
  ^bb0(%x: !cs.placed<tensor<8xf32>, device 0>):
    // expected-error@+1 {{rank 3 sends parts 0 to 1 to rank 0 in round 0, which does not receive}}
    %p0 = cs.exchange %x chunks 1 rounds 1 replace send <parts affine_map<(r, s) -> (0, 1)> to affine_map<(r, s) -> (0)> when zero affine_map<(r, s) -> (r - 3)>> recv <parts affine_map<(r, s) -> (0, 1)> to affine_map<(r, s) -> (3)> when zero affine_map<(r, s) -> (1)>> : !cs.placed<tensor<8xf32>, device 0>
    cs.return %p0 : !cs.placed<tensor<8xf32>, device 0>
  }
  %a = cs.await %f : !cs.future<!cs.placed<tensor<8xf32>, device 0>>
  return
}

// -----

cs.cluster @lab nodes = 4 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
func.func @nobody_sends(%v: !cs.placed<tensor<8xf32>, device 0>) {
  %f = cs.start "w" (%v) : (!cs.placed<tensor<8xf32>, device 0>) -> !cs.future<!cs.placed<tensor<8xf32>, device 0>> {
  ^bb0(%x: !cs.placed<tensor<8xf32>, device 0>):
    // expected-error@+1 {{rank 0 receives parts 0 to 1 from rank 3 in round 0, which does not send}}
    %p0 = cs.exchange %x chunks 1 rounds 1 replace send <parts affine_map<(r, s) -> (0, 1)> to affine_map<(r, s) -> (0)> when zero affine_map<(r, s) -> (1)>> recv <parts affine_map<(r, s) -> (0, 1)> to affine_map<(r, s) -> (3)> when zero affine_map<(r, s) -> (r)>> : !cs.placed<tensor<8xf32>, device 0>
    cs.return %p0 : !cs.placed<tensor<8xf32>, device 0>
  }
  %a = cs.await %f : !cs.future<!cs.placed<tensor<8xf32>, device 0>>
  return
}

// -----

cs.cluster @lab nodes = 4 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
func.func @no_such_peer(%v: !cs.placed<tensor<8xf32>, device 0>) {
  %f = cs.start "w" (%v) : (!cs.placed<tensor<8xf32>, device 0>) -> !cs.future<!cs.placed<tensor<8xf32>, device 0>> {
  ^bb0(%x: !cs.placed<tensor<8xf32>, device 0>):
    // expected-error@+1 {{send peer of rank 0 in round 0 must be a rank from 0 to 3, got: 4}}
    %p0 = cs.exchange %x chunks 4 rounds 1 sum send <parts affine_map<(r, s) -> (r, 1)> to affine_map<(r, s) -> (r + 4)>> recv <parts affine_map<(r, s) -> ((r - 1) mod 4, 1)> to affine_map<(r, s) -> ((r - 1) mod 4)>> : !cs.placed<tensor<8xf32>, device 0>
    cs.return %p0 : !cs.placed<tensor<8xf32>, device 0>
  }
  %a = cs.await %f : !cs.future<!cs.placed<tensor<8xf32>, device 0>>
  return
}

// -----

cs.cluster @lab nodes = 4 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
func.func @itself(%v: !cs.placed<tensor<8xf32>, device 0>) {
  %f = cs.start "w" (%v) : (!cs.placed<tensor<8xf32>, device 0>) -> !cs.future<!cs.placed<tensor<8xf32>, device 0>> {
  ^bb0(%x: !cs.placed<tensor<8xf32>, device 0>):
    // expected-error@+1 {{receive peer of rank 0 in round 0 must be another rank, got: itself}}
    %p0 = cs.exchange %x chunks 4 rounds 1 sum send <parts affine_map<(r, s) -> (r, 1)> to affine_map<(r, s) -> ((r + 1) mod 4)>> recv <parts affine_map<(r, s) -> ((r - 1) mod 4, 1)> to affine_map<(r, s) -> (r)>> : !cs.placed<tensor<8xf32>, device 0>
    cs.return %p0 : !cs.placed<tensor<8xf32>, device 0>
  }
  %a = cs.await %f : !cs.future<!cs.placed<tensor<8xf32>, device 0>>
  return
}

// -----

cs.cluster @lab nodes = 4 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
func.func @no_such_part(%v: !cs.placed<tensor<8xf32>, device 0>) {
  %f = cs.start "w" (%v) : (!cs.placed<tensor<8xf32>, device 0>) -> !cs.future<!cs.placed<tensor<8xf32>, device 0>> {
  ^bb0(%x: !cs.placed<tensor<8xf32>, device 0>):
    // expected-error@+1 {{send parts of rank 0 in round 0 must lie in 0 to 4, got: 5 from 0 on}}
    %p0 = cs.exchange %x chunks 4 rounds 1 sum send <parts affine_map<(r, s) -> (0, 5)> to affine_map<(r, s) -> ((r + 1) mod 4)>> recv <parts affine_map<(r, s) -> (0, 5)> to affine_map<(r, s) -> ((r - 1) mod 4)>> : !cs.placed<tensor<8xf32>, device 0>
    cs.return %p0 : !cs.placed<tensor<8xf32>, device 0>
  }
  %a = cs.await %f : !cs.future<!cs.placed<tensor<8xf32>, device 0>>
  return
}

// -----

// Parts both ways that are not the same: whether what is sent is old or new is a race.
cs.cluster @lab nodes = 4 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
func.func @race(%v: !cs.placed<tensor<8xf32>, device 0>) {
  %f = cs.start "w" (%v) : (!cs.placed<tensor<8xf32>, device 0>) -> !cs.future<!cs.placed<tensor<8xf32>, device 0>> {
  ^bb0(%x: !cs.placed<tensor<8xf32>, device 0>):
    // expected-error@+1 {{rank 0 sends and receives part 1 in round 0, so that what it sends depends on timing}}
    %p0 = cs.exchange %x chunks 4 rounds 1 sum send <parts affine_map<(r, s) -> (r floordiv 2, 2)> to affine_map<(r, s) -> ((r + 2) mod 4)>> recv <parts affine_map<(r, s) -> (1 - r floordiv 2, 2)> to affine_map<(r, s) -> ((r + 2) mod 4)>> : !cs.placed<tensor<8xf32>, device 0>
    cs.return %p0 : !cs.placed<tensor<8xf32>, device 0>
  }
  %a = cs.await %f : !cs.future<!cs.placed<tensor<8xf32>, device 0>>
  return
}

// -----

// Sums overflow.
cs.cluster @lab nodes = 4 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
func.func @overflow(%v: !cs.placed<tensor<8xf32>, device 0>) {
  %f = cs.start "w" (%v) : (!cs.placed<tensor<8xf32>, device 0>) -> !cs.future<!cs.placed<tensor<8xf32>, device 0>> {
  ^bb0(%x: !cs.placed<tensor<8xf32>, device 0>):
    // expected-error@+1 {{expressions overflow for rank 2 in round 0}}
    %p0 = cs.exchange %x chunks 4 rounds 1 sum send <parts affine_map<(r, s) -> (r * 9223372036854775807, 1)> to affine_map<(r, s) -> (1)> when zero affine_map<(r, s) -> (r - 2)>> recv <parts affine_map<(r, s) -> (0, 1)> to affine_map<(r, s) -> (2)> when zero affine_map<(r, s) -> (1)>> : !cs.placed<tensor<8xf32>, device 0>
    cs.return %p0 : !cs.placed<tensor<8xf32>, device 0>
  }
  %a = cs.await %f : !cs.future<!cs.placed<tensor<8xf32>, device 0>>
  return
}

// -----

// Only half of an all-reduce.
cs.cluster @lab nodes = 4 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
func.func @half(%v: !cs.placed<tensor<8xf32>, device 0>) {
  // expected-error@+1 {{'cs.start' op in "w": the exchanges do not compute all_reduce: on rank 0, part 0 of 4 misses the contribution of rank 1}}
  %f = cs.start "w" (%v) : (!cs.placed<tensor<8xf32>, device 0>) -> !cs.future<!cs.placed<tensor<8xf32>, device 0>> attributes {cs.collective = "all_reduce", cs.reduction = "sum"} {
  ^bb0(%x: !cs.placed<tensor<8xf32>, device 0>):
    %p0 = cs.exchange %x chunks 4 rounds 3 sum send <parts affine_map<(r, s) -> ((r - s) mod 4, 1)> to affine_map<(r, s) -> ((r + 1) mod 4)>> recv <parts affine_map<(r, s) -> ((r - s - 1) mod 4, 1)> to affine_map<(r, s) -> ((r - 1) mod 4)>> : !cs.placed<tensor<8xf32>, device 0>
    cs.return %p0 : !cs.placed<tensor<8xf32>, device 0>
  }
  %a = cs.await %f : !cs.future<!cs.placed<tensor<8xf32>, device 0>>
  return
}

// -----

// One round too few.
cs.cluster @lab nodes = 4 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
func.func @short(%v: !cs.placed<tensor<8xf32>, device 0>) {
  // expected-error@+1 {{the exchanges do not compute all_reduce: on rank 0, part 0 of 4 misses the contribution of rank 0}}
  %f = cs.start "w" (%v) : (!cs.placed<tensor<8xf32>, device 0>) -> !cs.future<!cs.placed<tensor<8xf32>, device 0>> attributes {cs.collective = "all_reduce", cs.reduction = "sum"} {
  ^bb0(%x: !cs.placed<tensor<8xf32>, device 0>):
    %p0 = cs.exchange %x chunks 4 rounds 2 sum send <parts affine_map<(r, s) -> ((r - s) mod 4, 1)> to affine_map<(r, s) -> ((r + 1) mod 4)>> recv <parts affine_map<(r, s) -> ((r - s - 1) mod 4, 1)> to affine_map<(r, s) -> ((r - 1) mod 4)>> : !cs.placed<tensor<8xf32>, device 0>
    %p1 = cs.exchange %p0 chunks 4 rounds 3 replace send <parts affine_map<(r, s) -> ((r - s + 1) mod 4, 1)> to affine_map<(r, s) -> ((r + 1) mod 4)>> recv <parts affine_map<(r, s) -> ((r - s) mod 4, 1)> to affine_map<(r, s) -> ((r - 1) mod 4)>> : !cs.placed<tensor<8xf32>, device 0>
    cs.return %p1 : !cs.placed<tensor<8xf32>, device 0>
  }
  %a = cs.await %f : !cs.future<!cs.placed<tensor<8xf32>, device 0>>
  return
}

// -----

// Done twice.
cs.cluster @lab nodes = 4 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
func.func @again(%v: !cs.placed<tensor<8xf32>, device 0>) {
  // expected-error@+1 {{has the contribution of rank 0 more than once}}
  %f = cs.start "w" (%v) : (!cs.placed<tensor<8xf32>, device 0>) -> !cs.future<!cs.placed<tensor<8xf32>, device 0>> attributes {cs.collective = "all_reduce", cs.reduction = "sum"} {
  ^bb0(%x: !cs.placed<tensor<8xf32>, device 0>):
    %p0 = cs.exchange %x chunks 4 rounds 3 sum send <parts affine_map<(r, s) -> ((r - s) mod 4, 1)> to affine_map<(r, s) -> ((r + 1) mod 4)>> recv <parts affine_map<(r, s) -> ((r - s - 1) mod 4, 1)> to affine_map<(r, s) -> ((r - 1) mod 4)>> : !cs.placed<tensor<8xf32>, device 0>
    %p1 = cs.exchange %p0 chunks 4 rounds 3 replace send <parts affine_map<(r, s) -> ((r - s + 1) mod 4, 1)> to affine_map<(r, s) -> ((r + 1) mod 4)>> recv <parts affine_map<(r, s) -> ((r - s) mod 4, 1)> to affine_map<(r, s) -> ((r - 1) mod 4)>> : !cs.placed<tensor<8xf32>, device 0>
    %p2 = cs.exchange %p1 chunks 4 rounds 3 sum send <parts affine_map<(r, s) -> ((r - s) mod 4, 1)> to affine_map<(r, s) -> ((r + 1) mod 4)>> recv <parts affine_map<(r, s) -> ((r - s - 1) mod 4, 1)> to affine_map<(r, s) -> ((r - 1) mod 4)>> : !cs.placed<tensor<8xf32>, device 0>
    %p3 = cs.exchange %p2 chunks 4 rounds 3 replace send <parts affine_map<(r, s) -> ((r - s + 1) mod 4, 1)> to affine_map<(r, s) -> ((r + 1) mod 4)>> recv <parts affine_map<(r, s) -> ((r - s) mod 4, 1)> to affine_map<(r, s) -> ((r - 1) mod 4)>> : !cs.placed<tensor<8xf32>, device 0>
    cs.return %p3 : !cs.placed<tensor<8xf32>, device 0>
  }
  %a = cs.await %f : !cs.future<!cs.placed<tensor<8xf32>, device 0>>
  return
}

// -----

// Not scaled.
cs.cluster @lab nodes = 4 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
func.func @unscaled(%v: !cs.placed<tensor<8xf32>, device 0>) {
  // expected-error@+1 {{on rank 0, part 0 of 4 must be scaled by 0.25}}
  %f = cs.start "w" (%v) : (!cs.placed<tensor<8xf32>, device 0>) -> !cs.future<!cs.placed<tensor<8xf32>, device 0>> attributes {cs.collective = "all_reduce", cs.reduction = "mean"} {
  ^bb0(%x: !cs.placed<tensor<8xf32>, device 0>):
    %p0 = cs.exchange %x chunks 4 rounds 3 sum send <parts affine_map<(r, s) -> ((r - s) mod 4, 1)> to affine_map<(r, s) -> ((r + 1) mod 4)>> recv <parts affine_map<(r, s) -> ((r - s - 1) mod 4, 1)> to affine_map<(r, s) -> ((r - 1) mod 4)>> : !cs.placed<tensor<8xf32>, device 0>
    %p1 = cs.exchange %p0 chunks 4 rounds 3 replace send <parts affine_map<(r, s) -> ((r - s + 1) mod 4, 1)> to affine_map<(r, s) -> ((r + 1) mod 4)>> recv <parts affine_map<(r, s) -> ((r - s) mod 4, 1)> to affine_map<(r, s) -> ((r - 1) mod 4)>> : !cs.placed<tensor<8xf32>, device 0>
    cs.return %p1 : !cs.placed<tensor<8xf32>, device 0>
  }
  %a = cs.await %f : !cs.future<!cs.placed<tensor<8xf32>, device 0>>
  return
}

// -----

// Scaled twice.
cs.cluster @lab nodes = 4 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
func.func @scaled_twice(%v: !cs.placed<tensor<8xf32>, device 0>) {
  // expected-error@+1 {{must be scaled by 0.25}}
  %f = cs.start "w" (%v) : (!cs.placed<tensor<8xf32>, device 0>) -> !cs.future<!cs.placed<tensor<8xf32>, device 0>> attributes {cs.collective = "all_reduce", cs.reduction = "mean"} {
  ^bb0(%x: !cs.placed<tensor<8xf32>, device 0>):
    %p0 = cs.exchange %x chunks 4 rounds 3 sum scale 2.5e-01 send <parts affine_map<(r, s) -> ((r - s) mod 4, 1)> to affine_map<(r, s) -> ((r + 1) mod 4)>> recv <parts affine_map<(r, s) -> ((r - s - 1) mod 4, 1)> to affine_map<(r, s) -> ((r - 1) mod 4)>> : !cs.placed<tensor<8xf32>, device 0>
    %p1 = cs.exchange %p0 chunks 4 rounds 3 replace scale 2.5e-01 send <parts affine_map<(r, s) -> ((r - s + 1) mod 4, 1)> to affine_map<(r, s) -> ((r + 1) mod 4)>> recv <parts affine_map<(r, s) -> ((r - s) mod 4, 1)> to affine_map<(r, s) -> ((r - 1) mod 4)>> : !cs.placed<tensor<8xf32>, device 0>
    cs.return %p1 : !cs.placed<tensor<8xf32>, device 0>
  }
  %a = cs.await %f : !cs.future<!cs.placed<tensor<8xf32>, device 0>>
  return
}

// -----

// Copied where it should be added.
cs.cluster @lab nodes = 4 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
func.func @copied(%v: !cs.placed<tensor<8xf32>, device 0>) {
  // expected-error@+1 {{misses the contribution of rank}}
  %f = cs.start "w" (%v) : (!cs.placed<tensor<8xf32>, device 0>) -> !cs.future<!cs.placed<tensor<8xf32>, device 0>> attributes {cs.collective = "all_reduce", cs.reduction = "sum"} {
  ^bb0(%x: !cs.placed<tensor<8xf32>, device 0>):
    %p0 = cs.exchange %x chunks 4 rounds 3 replace send <parts affine_map<(r, s) -> ((r - s) mod 4, 1)> to affine_map<(r, s) -> ((r + 1) mod 4)>> recv <parts affine_map<(r, s) -> ((r - s - 1) mod 4, 1)> to affine_map<(r, s) -> ((r - 1) mod 4)>> : !cs.placed<tensor<8xf32>, device 0>
    %p1 = cs.exchange %p0 chunks 4 rounds 3 replace send <parts affine_map<(r, s) -> ((r - s + 1) mod 4, 1)> to affine_map<(r, s) -> ((r + 1) mod 4)>> recv <parts affine_map<(r, s) -> ((r - s) mod 4, 1)> to affine_map<(r, s) -> ((r - 1) mod 4)>> : !cs.placed<tensor<8xf32>, device 0>
    cs.return %p1 : !cs.placed<tensor<8xf32>, device 0>
  }
  %a = cs.await %f : !cs.future<!cs.placed<tensor<8xf32>, device 0>>
  return
}

// -----

// Another reduction.
cs.cluster @lab nodes = 4 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
func.func @other(%v: !cs.placed<tensor<8xf32>, device 0>) {
  // expected-error@+1 {{is not combined by sum}}
  %f = cs.start "w" (%v) : (!cs.placed<tensor<8xf32>, device 0>) -> !cs.future<!cs.placed<tensor<8xf32>, device 0>> attributes {cs.collective = "all_reduce", cs.reduction = "sum"} {
  ^bb0(%x: !cs.placed<tensor<8xf32>, device 0>):
    %p0 = cs.exchange %x chunks 4 rounds 3 max send <parts affine_map<(r, s) -> ((r - s) mod 4, 1)> to affine_map<(r, s) -> ((r + 1) mod 4)>> recv <parts affine_map<(r, s) -> ((r - s - 1) mod 4, 1)> to affine_map<(r, s) -> ((r - 1) mod 4)>> : !cs.placed<tensor<8xf32>, device 0>
    %p1 = cs.exchange %p0 chunks 4 rounds 3 replace send <parts affine_map<(r, s) -> ((r - s + 1) mod 4, 1)> to affine_map<(r, s) -> ((r + 1) mod 4)>> recv <parts affine_map<(r, s) -> ((r - s) mod 4, 1)> to affine_map<(r, s) -> ((r - 1) mod 4)>> : !cs.placed<tensor<8xf32>, device 0>
    cs.return %p1 : !cs.placed<tensor<8xf32>, device 0>
  }
  %a = cs.await %f : !cs.future<!cs.placed<tensor<8xf32>, device 0>>
  return
}

// -----

cs.cluster @lab nodes = 4 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
func.func @name(%v: !cs.placed<tensor<8xf32>, device 0>) {
  // expected-error@+1 {{'cs.collective' must name a collective, got: "all_for_one"}}
  %f = cs.start "w" (%v) : (!cs.placed<tensor<8xf32>, device 0>) -> !cs.future<!cs.placed<tensor<8xf32>, device 0>> attributes {cs.collective = "all_for_one"} {
  ^bb0(%x: !cs.placed<tensor<8xf32>, device 0>):
    %p0 = cs.exchange %x chunks 4 rounds 3 sum send <parts affine_map<(r, s) -> ((r - s) mod 4, 1)> to affine_map<(r, s) -> ((r + 1) mod 4)>> recv <parts affine_map<(r, s) -> ((r - s - 1) mod 4, 1)> to affine_map<(r, s) -> ((r - 1) mod 4)>> : !cs.placed<tensor<8xf32>, device 0>
    cs.return %p0 : !cs.placed<tensor<8xf32>, device 0>
  }
  %a = cs.await %f : !cs.future<!cs.placed<tensor<8xf32>, device 0>>
  return
}

// -----

cs.cluster @lab nodes = 4 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
func.func @no_reduction(%v: !cs.placed<tensor<8xf32>, device 0>) {
  // expected-error@+1 {{'cs.reduction' must be}}
  %f = cs.start "w" (%v) : (!cs.placed<tensor<8xf32>, device 0>) -> !cs.future<!cs.placed<tensor<8xf32>, device 0>> attributes {cs.collective = "all_reduce"} {
  ^bb0(%x: !cs.placed<tensor<8xf32>, device 0>):
    %p0 = cs.exchange %x chunks 4 rounds 3 sum send <parts affine_map<(r, s) -> ((r - s) mod 4, 1)> to affine_map<(r, s) -> ((r + 1) mod 4)>> recv <parts affine_map<(r, s) -> ((r - s - 1) mod 4, 1)> to affine_map<(r, s) -> ((r - 1) mod 4)>> : !cs.placed<tensor<8xf32>, device 0>
    cs.return %p0 : !cs.placed<tensor<8xf32>, device 0>
  }
  %a = cs.await %f : !cs.future<!cs.placed<tensor<8xf32>, device 0>>
  return
}

// -----

cs.cluster @lab nodes = 4 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
func.func @no_root(%v: !cs.placed<tensor<8xf32>, device 0>) {
  // expected-error@+1 {{'cs.root' must be a rank from 0 to 3}}
  %f = cs.start "w" (%v) : (!cs.placed<tensor<8xf32>, device 0>) -> !cs.future<!cs.placed<tensor<8xf32>, device 0>> attributes {cs.collective = "broadcast", cs.root = 4 : i64} {
  ^bb0(%x: !cs.placed<tensor<8xf32>, device 0>):
    %p0 = cs.exchange %x chunks 4 rounds 3 sum send <parts affine_map<(r, s) -> ((r - s) mod 4, 1)> to affine_map<(r, s) -> ((r + 1) mod 4)>> recv <parts affine_map<(r, s) -> ((r - s - 1) mod 4, 1)> to affine_map<(r, s) -> ((r - 1) mod 4)>> : !cs.placed<tensor<8xf32>, device 0>
    cs.return %p0 : !cs.placed<tensor<8xf32>, device 0>
  }
  %a = cs.await %f : !cs.future<!cs.placed<tensor<8xf32>, device 0>>
  return
}

// -----

cs.cluster @lab nodes = 4 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
func.func @no_shard(%v: !cs.placed<tensor<8xf32>, device 0>) {
  // expected-error@+1 {{exchanges of reduce_scatter must end with cs.shard}}
  %f = cs.start "w" (%v) : (!cs.placed<tensor<8xf32>, device 0>) -> !cs.future<!cs.placed<tensor<8xf32>, device 0>> attributes {cs.collective = "reduce_scatter", cs.reduction = "sum"} {
  ^bb0(%x: !cs.placed<tensor<8xf32>, device 0>):
    %p0 = cs.exchange %x chunks 4 rounds 3 sum send <parts affine_map<(r, s) -> ((r - s) mod 4, 1)> to affine_map<(r, s) -> ((r + 1) mod 4)>> recv <parts affine_map<(r, s) -> ((r - s - 1) mod 4, 1)> to affine_map<(r, s) -> ((r - 1) mod 4)>> : !cs.placed<tensor<8xf32>, device 0>
    cs.return %p0 : !cs.placed<tensor<8xf32>, device 0>
  }
  %a = cs.await %f : !cs.future<!cs.placed<tensor<8xf32>, device 0>>
  return
}

// -----

// Every contribution once, but rank 0 adds ((a + b) + c) + d, rank 1 (a + b) + (c + d).
cs.cluster @lab nodes = 4 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
func.func @order(%v: !cs.placed<tensor<8xf32>, device 0>) {
  // expected-error@+1 {{on rank 1, part 0 of 1 is combined in another order than on rank 0}}
  %f = cs.start "w" (%v) : (!cs.placed<tensor<8xf32>, device 0>) -> !cs.future<!cs.placed<tensor<8xf32>, device 0>> attributes {cs.collective = "all_reduce", cs.reduction = "sum"} {
  ^bb0(%x: !cs.placed<tensor<8xf32>, device 0>):
    %p0 = cs.exchange %x chunks 1 rounds 1 sum send <parts affine_map<(r, s) -> (0, 1)> to affine_map<(r, s) -> (1)> when zero affine_map<(r, s) -> (r - 0)>> recv <parts affine_map<(r, s) -> (0, 1)> to affine_map<(r, s) -> (0)> when zero affine_map<(r, s) -> (r - 1)>> : !cs.placed<tensor<8xf32>, device 0>
    %p1 = cs.exchange %p0 chunks 1 rounds 1 replace send <parts affine_map<(r, s) -> (0, 1)> to affine_map<(r, s) -> (0)> when zero affine_map<(r, s) -> (r - 1)>> recv <parts affine_map<(r, s) -> (0, 1)> to affine_map<(r, s) -> (1)> when zero affine_map<(r, s) -> (r - 0)>> : !cs.placed<tensor<8xf32>, device 0>
    %p2 = cs.exchange %p1 chunks 1 rounds 1 sum send <parts affine_map<(r, s) -> (0, 1)> to affine_map<(r, s) -> (0)> when zero affine_map<(r, s) -> (r - 2)>> recv <parts affine_map<(r, s) -> (0, 1)> to affine_map<(r, s) -> (2)> when zero affine_map<(r, s) -> (r - 0)>> : !cs.placed<tensor<8xf32>, device 0>
    %p3 = cs.exchange %p2 chunks 1 rounds 1 sum send <parts affine_map<(r, s) -> (0, 1)> to affine_map<(r, s) -> (0)> when zero affine_map<(r, s) -> (r - 3)>> recv <parts affine_map<(r, s) -> (0, 1)> to affine_map<(r, s) -> (3)> when zero affine_map<(r, s) -> (r - 0)>> : !cs.placed<tensor<8xf32>, device 0>
    %p4 = cs.exchange %p3 chunks 1 rounds 1 sum send <parts affine_map<(r, s) -> (0, 1)> to affine_map<(r, s) -> (3)> when zero affine_map<(r, s) -> (r - 2)>> recv <parts affine_map<(r, s) -> (0, 1)> to affine_map<(r, s) -> (2)> when zero affine_map<(r, s) -> (r - 3)>> : !cs.placed<tensor<8xf32>, device 0>
    %p5 = cs.exchange %p4 chunks 1 rounds 1 sum send <parts affine_map<(r, s) -> (0, 1)> to affine_map<(r, s) -> (1)> when zero affine_map<(r, s) -> (r - 3)>> recv <parts affine_map<(r, s) -> (0, 1)> to affine_map<(r, s) -> (3)> when zero affine_map<(r, s) -> (r - 1)>> : !cs.placed<tensor<8xf32>, device 0>
    %p6 = cs.exchange %p5 chunks 1 rounds 1 replace send <parts affine_map<(r, s) -> (0, 1)> to affine_map<(r, s) -> (2)> when zero affine_map<(r, s) -> (r - 0)>> recv <parts affine_map<(r, s) -> (0, 1)> to affine_map<(r, s) -> (0)> when zero affine_map<(r, s) -> (r - 2)>> : !cs.placed<tensor<8xf32>, device 0>
    %p7 = cs.exchange %p6 chunks 1 rounds 1 replace send <parts affine_map<(r, s) -> (0, 1)> to affine_map<(r, s) -> (3)> when zero affine_map<(r, s) -> (r - 0)>> recv <parts affine_map<(r, s) -> (0, 1)> to affine_map<(r, s) -> (0)> when zero affine_map<(r, s) -> (r - 3)>> : !cs.placed<tensor<8xf32>, device 0>
    cs.return %p7 : !cs.placed<tensor<8xf32>, device 0>
  }
  %a = cs.await %f : !cs.future<!cs.placed<tensor<8xf32>, device 0>>
  return
}
