// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: cs-opt --split-input-file --verify-diagnostics %s

// What a side of an exchange, a cost and the limits of a cluster must be.

func.func @peer(%v: !cs.placed<tensor<8xf32>, device 0>) {
  %f = cs.start "w" (%v) : (!cs.placed<tensor<8xf32>, device 0>) -> !cs.future<!cs.placed<tensor<8xf32>, device 0>> {
  ^bb0(%x: !cs.placed<tensor<8xf32>, device 0>):
    // expected-error@+1 {{peer must map (rank, round) to a rank, got: affine_map<(d0, d1) -> (d0, d1)>}}
    %r = cs.exchange %x chunks 1 rounds 1 sum  send <parts affine_map<(r, s) -> (0, 1)> to affine_map<(r, s) -> (r, s)>> recv <parts affine_map<(r, s) -> (0, 1)> to affine_map<(r, s) -> (r + 1)>> : !cs.placed<tensor<8xf32>, device 0>
    cs.return %r : !cs.placed<tensor<8xf32>, device 0>
  }
  return
}

// -----

func.func @rank_only(%v: !cs.placed<tensor<8xf32>, device 0>) {
  %f = cs.start "w" (%v) : (!cs.placed<tensor<8xf32>, device 0>) -> !cs.future<!cs.placed<tensor<8xf32>, device 0>> {
  ^bb0(%x: !cs.placed<tensor<8xf32>, device 0>):
    // expected-error@+1 {{parts must map (rank, round) to (begin, count), got: affine_map<(d0) -> (0, 1)>}}
    %r = cs.exchange %x chunks 1 rounds 1 sum  send <parts affine_map<(r) -> (0, 1)> to affine_map<(r, s) -> (r)>> recv <parts affine_map<(r, s) -> (0, 1)> to affine_map<(r, s) -> (r + 1)>> : !cs.placed<tensor<8xf32>, device 0>
    cs.return %r : !cs.placed<tensor<8xf32>, device 0>
  }
  return
}

// -----

func.func @symbol(%v: !cs.placed<tensor<8xf32>, device 0>) {
  %f = cs.start "w" (%v) : (!cs.placed<tensor<8xf32>, device 0>) -> !cs.future<!cs.placed<tensor<8xf32>, device 0>> {
  ^bb0(%x: !cs.placed<tensor<8xf32>, device 0>):
    // expected-error@+1 {{peer must map (rank, round) to a rank, got: affine_map<(d0, d1)[s0] -> (s0)>}}
    %r = cs.exchange %x chunks 1 rounds 1 sum  send <parts affine_map<(r, s) -> (0, 1)> to affine_map<(r, s)[n] -> (n)>> recv <parts affine_map<(r, s) -> (0, 1)> to affine_map<(r, s) -> (r + 1)>> : !cs.placed<tensor<8xf32>, device 0>
    cs.return %r : !cs.placed<tensor<8xf32>, device 0>
  }
  return
}

// -----

func.func @constraint(%v: !cs.placed<tensor<8xf32>, device 0>) {
  %f = cs.start "w" (%v) : (!cs.placed<tensor<8xf32>, device 0>) -> !cs.future<!cs.placed<tensor<8xf32>, device 0>> {
  ^bb0(%x: !cs.placed<tensor<8xf32>, device 0>):
    // expected-error@+1 {{constraint must map (rank, round) to one value, got: affine_map<(d0, d1) -> (d0, d1)>}}
    %r = cs.exchange %x chunks 1 rounds 1 sum  send <parts affine_map<(r, s) -> (0, 1)> to affine_map<(r, s) -> (r)> when zero affine_map<(r, s) -> (r, s)>> recv <parts affine_map<(r, s) -> (0, 1)> to affine_map<(r, s) -> (r + 1)>> : !cs.placed<tensor<8xf32>, device 0>
    cs.return %r : !cs.placed<tensor<8xf32>, device 0>
  }
  return
}

// -----

func.func @never(%v: !cs.placed<tensor<8xf32>, device 0>) {
  %f = cs.start "w" (%v) : (!cs.placed<tensor<8xf32>, device 0>) -> !cs.future<!cs.placed<tensor<8xf32>, device 0>> {
  ^bb0(%x: !cs.placed<tensor<8xf32>, device 0>):
    // expected-error@+1 {{expected 'zero' or 'nonnegative' after 'when'}}
    %r = cs.exchange %x chunks 1 rounds 1 sum  send <parts affine_map<(r, s) -> (0, 1)> to affine_map<(r, s) -> (r)> when > recv <parts affine_map<(r, s) -> (0, 1)> to affine_map<(r, s) -> (r + 1)>> : !cs.placed<tensor<8xf32>, device 0>
    cs.return %r : !cs.placed<tensor<8xf32>, device 0>
  }
  return
}

// -----

func.func @divisor(%v: !cs.placed<tensor<8xf32>, device 0>) {
  %f = cs.start "w" (%v) : (!cs.placed<tensor<8xf32>, device 0>) -> !cs.future<!cs.placed<tensor<8xf32>, device 0>> {
  ^bb0(%x: !cs.placed<tensor<8xf32>, device 0>):
    // expected-error@+1 {{divisors must be positive constants}}
    %r = cs.exchange %x chunks 1 rounds 1 sum  send <parts affine_map<(r, s) -> (0, 1)> to affine_map<(r, s) -> (r)> when zero affine_map<(r, s) -> (r mod -2)>> recv <parts affine_map<(r, s) -> (0, 1)> to affine_map<(r, s) -> (r + 1)>> : !cs.placed<tensor<8xf32>, device 0>
    cs.return %r : !cs.placed<tensor<8xf32>, device 0>
  }
  return
}

// -----

func.func @chunks(%v: !cs.placed<tensor<8xf32>, device 0>) {
  %f = cs.start "w" (%v) : (!cs.placed<tensor<8xf32>, device 0>) -> !cs.future<!cs.placed<tensor<8xf32>, device 0>> {
  ^bb0(%x: !cs.placed<tensor<8xf32>, device 0>):
    // expected-error@+1 {{needs at least 1 chunk, got: 0}}
    %r = cs.exchange %x chunks 0 rounds 1 sum  send <parts affine_map<(r, s) -> (0, 1)> to affine_map<(r, s) -> (r + 1)>> recv <parts affine_map<(r, s) -> (0, 1)> to affine_map<(r, s) -> (r + 1)>> : !cs.placed<tensor<8xf32>, device 0>
    cs.return %r : !cs.placed<tensor<8xf32>, device 0>
  }
  return
}

// -----

func.func @scale(%v: !cs.placed<tensor<8xi32>, device 0>) {
  %f = cs.start "w" (%v) : (!cs.placed<tensor<8xi32>, device 0>) -> !cs.future<!cs.placed<tensor<8xi32>, device 0>> {
  ^bb0(%x: !cs.placed<tensor<8xi32>, device 0>):
    // expected-error@+1 {{scale needs a floating-point element type, got: 'i32'}}
    %r = cs.exchange %x chunks 1 rounds 1 sum scale 0.5 send <parts affine_map<(r, s) -> (0, 1)> to affine_map<(r, s) -> (r + 1)>> recv <parts affine_map<(r, s) -> (0, 1)> to affine_map<(r, s) -> (r + 1)>> : !cs.placed<tensor<8xi32>, device 0>
    cs.return %r : !cs.placed<tensor<8xi32>, device 0>
  }
  return
}

// -----

func.func @bits(%v: !cs.placed<tensor<8xi1>, device 0>) {
  %f = cs.start "w" (%v) : (!cs.placed<tensor<8xi1>, device 0>) -> !cs.future<!cs.placed<tensor<8xi1>, device 0>> {
  ^bb0(%x: !cs.placed<tensor<8xi1>, device 0>):
    // expected-error@+1 {{cannot combine elements of type 'i1'}}
    %r = cs.exchange %x chunks 1 rounds 1 sum  send <parts affine_map<(r, s) -> (0, 1)> to affine_map<(r, s) -> (r + 1)>> recv <parts affine_map<(r, s) -> (0, 1)> to affine_map<(r, s) -> (r + 1)>> : !cs.placed<tensor<8xi1>, device 0>
    cs.return %r : !cs.placed<tensor<8xi1>, device 0>
  }
  return
}

// -----

// expected-error@+1 {{cost must not be negative, got: flops = 1, bytes = -1, ns = 0}}
func.func private @cost() attributes {c = #cs.cost<flops = 1, bytes = -1, ns = 0>}

// -----

// expected-error@+1 {{must have at most 4096 nodes, got: 4097}}
cs.cluster @huge nodes = 4097 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>

// -----

// expected-error@+1 {{must have at most 64 devices per node, got: 1000000}}
cs.cluster @huge nodes = 2 devices = 1000000 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>

// -----

// expected-error@+1 {{placed tensor must not have an encoding}}
func.func private @encoding(!cs.placed<tensor<4xf32, "compressed">, device 0>)
