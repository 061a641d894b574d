// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Both ends of messages, and waiting in circles.

// RUN: cs-opt --verify-distributed --split-input-file --verify-diagnostics %s

cs.cluster @lab nodes = 2 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
// expected-note@+1 {{the peer's function is here}}
func.func @step(%v: !cs.placed<tensor<8xf32>, device 0>) {
  // expected-error@+1 {{'cs.send' op rank 0 of @step sends "a" to rank 1 of @step, which does not receive it}}
  cs.send "a" %v to affine_map<(r) -> (1)> when affine_set<(r) : (r - 0 == 0)> : !cs.placed<tensor<8xf32>, device 0>
  return
}

// -----

cs.cluster @lab nodes = 2 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
func.func @step(%v: !cs.placed<tensor<8xf32>, device 0>) {
  // expected-error@+1 {{'cs.send' op rank 0 of @step sends "a" to rank 1 of @step, which does not receive it}}
  cs.send "a" %v to affine_map<(r) -> (1)> when affine_set<(r) : (r - 0 == 0)> : !cs.placed<tensor<8xf32>, device 0>
  // expected-note@+1 {{the other end is here}}
  %r = cs.recv "a" from affine_map<(r) -> (0)> when affine_set<(r) : (r - 0 == 0)> : !cs.placed<tensor<8xf32>, device 0>
  return
}

// -----

// Both wait for a value from the left, and give to the left.
cs.cluster @lab nodes = 3 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
func.func @step(%v: !cs.placed<tensor<8xf32>, device 0>) {
  // expected-error@+1 {{'cs.send' op rank 0 of @step sends "a" to rank 2 of @step, which receives it from rank 1 of @step}}
  cs.send "a" %v to affine_map<(r) -> ((r - 1) mod 3)> : !cs.placed<tensor<8xf32>, device 0>
  // expected-note@+1 {{the other end is here}}
  %r = cs.recv "a" from affine_map<(r) -> ((r - 1) mod 3)> : !cs.placed<tensor<8xf32>, device 0>
  return
}

// -----

cs.cluster @lab nodes = 2 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
func.func @step(%v: !cs.placed<tensor<8xf32>, device 0>) {
  // expected-error@+1 {{type of "a" must match 'tensor<4xf32>' of rank 1 of @step, got: 'tensor<8xf32>'}}
  cs.send "a" %v to affine_map<(r) -> (1)> when affine_set<(r) : (r - 0 == 0)> : !cs.placed<tensor<8xf32>, device 0>
  // expected-note@+1 {{the other end is here}}
  %r = cs.recv "a" from affine_map<(r) -> (0)> when affine_set<(r) : (r - 1 == 0)> : !cs.placed<tensor<4xf32>, device 0>
  return
}

// -----

cs.cluster @lab nodes = 2 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
func.func @step(%v: !cs.placed<tensor<8xf32>, device 0>) {
  // expected-error@+1 {{peer of rank 1 must be a rank of @step, 0 to 1, got: 2}}
  cs.send "a" %v to affine_map<(r) -> (r + 1)> when affine_set<(r) : (r - 1 == 0)> : !cs.placed<tensor<8xf32>, device 0>
  return
}

// -----

cs.cluster @lab nodes = 2 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
func.func @step(%v: !cs.placed<tensor<8xf32>, device 0>) {
  // expected-error@+1 {{peer of rank 1 must be another rank, got: itself}}
  cs.send "a" %v to affine_map<(r) -> (1)> when affine_set<(r) : (r - 1 == 0)> : !cs.placed<tensor<8xf32>, device 0>
  return
}

// -----

cs.cluster @lab nodes = 2 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
func.func @step(%v: !cs.placed<tensor<8xf32>, device 0>) {
  // expected-error@+1 {{role @server is not a function that communicates}}
  cs.send "a" %v to affine_map<(r) -> (1)> of @server : !cs.placed<tensor<8xf32>, device 0>
  return
}

// -----

// Four clients, two servers.
cs.cluster @lab nodes = 4 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
func.func @client(%v: !cs.placed<tensor<8xf32>, device 0>) {
  // expected-error@+1 {{peer of rank 2 must be a rank of @server, 0 to 1, got: 2}}
  cs.send "a" %v to affine_map<(r) -> (r)> of @server : !cs.placed<tensor<8xf32>, device 0>
  return
}
func.func @server() attributes {cs.count = 2 : i64} {
  %r = cs.recv "a" from affine_map<(r) -> (r)> of @client : !cs.placed<tensor<8xf32>, device 0>
  return
}

// -----

// Each waits for the other to send first.
cs.cluster @lab nodes = 2 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
func.func @step(%v: !cs.placed<tensor<8xf32>, device 0>) {
  %f = cs.start "a" (%v) : (!cs.placed<tensor<8xf32>, device 0>) -> !cs.future<!cs.placed<tensor<8xf32>, device 0>> {
  ^bb0(%x: !cs.placed<tensor<8xf32>, device 0>):
    %y = cs.recv "a" from affine_map<(r) -> (1 - r)> : !cs.placed<tensor<8xf32>, device 0>
    cs.return %y : !cs.placed<tensor<8xf32>, device 0>
  }
  // expected-error@+2 {{communications wait for each other in a circle: rank 0 of @step waits here for "a"}}
  // expected-note@+1 {{while rank 1 of @step waits here for "a"}}
  %p = cs.await %f : !cs.future<!cs.placed<tensor<8xf32>, device 0>>
  %g = cs.start "a" (%v) : (!cs.placed<tensor<8xf32>, device 0>) -> !cs.future<!cs.placed<tensor<8xf32>, device 0>> {
  ^bb0(%x: !cs.placed<tensor<8xf32>, device 0>):
    cs.send "a" %x to affine_map<(r) -> (1 - r)> : !cs.placed<tensor<8xf32>, device 0>
    cs.return %x : !cs.placed<tensor<8xf32>, device 0>
  }
  %q = cs.await %g : !cs.future<!cs.placed<tensor<8xf32>, device 0>>
  return
}

// -----

// Rank 0 takes part in "w" only when it has "a", rank 1 sends "a" only when it has "w".
cs.cluster @lab nodes = 2 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
func.func @step.rank0(%v: !cs.placed<tensor<8xf32>, device 0>) attributes {cs.rank = 0 : i64} {
  %f = cs.start "a" (%v) : (!cs.placed<tensor<8xf32>, device 0>) -> !cs.future<!cs.placed<tensor<8xf32>, device 0>> {
  ^bb0(%x: !cs.placed<tensor<8xf32>, device 0>):
    %y = cs.recv "a" from affine_map<(r) -> (1)> : !cs.placed<tensor<8xf32>, device 0>
    cs.return %y : !cs.placed<tensor<8xf32>, device 0>
  }
  // expected-error@+1 {{communications wait for each other in a circle: rank 0 of @step waits here for "a"}}
  %p = cs.await %f : !cs.future<!cs.placed<tensor<8xf32>, device 0>>
  %g = cs.start "w" (%v) : (!cs.placed<tensor<8xf32>, device 0>) -> !cs.future<!cs.placed<tensor<8xf32>, device 0>> {
  ^bb0(%x: !cs.placed<tensor<8xf32>, device 0>):
    %y = cs.all_reduce "w" sum %x : !cs.placed<tensor<8xf32>, device 0>
    cs.return %y : !cs.placed<tensor<8xf32>, device 0>
  }
  %q = cs.await %g : !cs.future<!cs.placed<tensor<8xf32>, device 0>>
  return
}
func.func @step.rank1(%v: !cs.placed<tensor<8xf32>, device 0>) attributes {cs.rank = 1 : i64} {
  %g = cs.start "w" (%v) : (!cs.placed<tensor<8xf32>, device 0>) -> !cs.future<!cs.placed<tensor<8xf32>, device 0>> {
  ^bb0(%x: !cs.placed<tensor<8xf32>, device 0>):
    %y = cs.all_reduce "w" sum %x : !cs.placed<tensor<8xf32>, device 0>
    cs.return %y : !cs.placed<tensor<8xf32>, device 0>
  }
  // expected-note@+1 {{while rank 1 of @step waits here for "w"}}
  %q = cs.await %g : !cs.future<!cs.placed<tensor<8xf32>, device 0>>
  %f = cs.start "a" (%v) : (!cs.placed<tensor<8xf32>, device 0>) -> !cs.future<!cs.placed<tensor<8xf32>, device 0>> {
  ^bb0(%x: !cs.placed<tensor<8xf32>, device 0>):
    cs.send "a" %x to affine_map<(r) -> (0)> : !cs.placed<tensor<8xf32>, device 0>
    cs.return %x : !cs.placed<tensor<8xf32>, device 0>
  }
  %p = cs.await %f : !cs.future<!cs.placed<tensor<8xf32>, device 0>>
  return
}
