// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Futures, keys and places of communications.

// RUN: cs-opt --verify-distributed --split-input-file --verify-diagnostics %s

cs.cluster @lab nodes = 4 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
func.func @never(%v: !cs.placed<tensor<8xf32>, device 0>) {
  // expected-error@+1 {{'cs.start' op "w" is never awaited}}
  %f = cs.start "w" (%v) : (!cs.placed<tensor<8xf32>, device 0>) -> !cs.future<!cs.placed<tensor<8xf32>, device 0>> {
  ^bb0(%x: !cs.placed<tensor<8xf32>, device 0>):
    %r = cs.all_reduce "w" sum %x : !cs.placed<tensor<8xf32>, device 0>
    cs.return %r : !cs.placed<tensor<8xf32>, device 0>
  }
  return
}

// -----

cs.cluster @lab nodes = 4 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
func.func @twice(%v: !cs.placed<tensor<8xf32>, device 0>) {
  %f = cs.start "w" (%v) : (!cs.placed<tensor<8xf32>, device 0>) -> !cs.future<!cs.placed<tensor<8xf32>, device 0>> {
  ^bb0(%x: !cs.placed<tensor<8xf32>, device 0>):
    %r = cs.all_reduce "w" sum %x : !cs.placed<tensor<8xf32>, device 0>
    cs.return %r : !cs.placed<tensor<8xf32>, device 0>
  }
  // expected-note@+1 {{the first time is here}}
  %a = cs.await %f : !cs.future<!cs.placed<tensor<8xf32>, device 0>>
  // expected-error@+1 {{'cs.await' op awaits "w" a second time}}
  %b = cs.await %f : !cs.future<!cs.placed<tensor<8xf32>, device 0>>
  return
}

// -----

cs.cluster @lab nodes = 4 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
func.func @stranger(%f: !cs.future<!cs.placed<tensor<8xf32>, device 0>>) {
  // expected-error@+1 {{'cs.await' op uses a future that no cs.start of this function makes}}
  %a = cs.await %f : !cs.future<!cs.placed<tensor<8xf32>, device 0>>
  return
}

// -----

cs.cluster @lab nodes = 4 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
func.func @after_stranger(%v: !cs.placed<tensor<8xf32>, device 0>, %f: !cs.future<!cs.placed<tensor<8xf32>, device 0>>) {
  // expected-error@+1 {{'cs.start' op uses a future that no cs.start of this function makes}}
  %g = cs.start "w" (%v) after (%f : !cs.future<!cs.placed<tensor<8xf32>, device 0>>) : (!cs.placed<tensor<8xf32>, device 0>) -> !cs.future<!cs.placed<tensor<8xf32>, device 0>> {
  ^bb0(%x: !cs.placed<tensor<8xf32>, device 0>):
    %r = cs.all_reduce "w" sum %x : !cs.placed<tensor<8xf32>, device 0>
    cs.return %r : !cs.placed<tensor<8xf32>, device 0>
  }
  %a = cs.await %g : !cs.future<!cs.placed<tensor<8xf32>, device 0>>
  return
}

// -----

cs.cluster @lab nodes = 4 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
func.func @escapes(%v: !cs.placed<tensor<8xf32>, device 0>) -> !cs.future<!cs.placed<tensor<8xf32>, device 0>> {
  %f = cs.start "w" (%v) : (!cs.placed<tensor<8xf32>, device 0>) -> !cs.future<!cs.placed<tensor<8xf32>, device 0>> {
  ^bb0(%x: !cs.placed<tensor<8xf32>, device 0>):
    %r = cs.all_reduce "w" sum %x : !cs.placed<tensor<8xf32>, device 0>
    cs.return %r : !cs.placed<tensor<8xf32>, device 0>
  }
  // expected-error@+1 {{'func.return' op must not use a future}}
  return %f : !cs.future<!cs.placed<tensor<8xf32>, device 0>>
}

// -----

cs.cluster @lab nodes = 4 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
func.func @in_region(%v: !cs.placed<tensor<8xf32>, device 0>, %c: i1) {
  %f = cs.start "w" (%v) : (!cs.placed<tensor<8xf32>, device 0>) -> !cs.future<!cs.placed<tensor<8xf32>, device 0>> {
  ^bb0(%x: !cs.placed<tensor<8xf32>, device 0>):
    %r = cs.all_reduce "w" sum %x : !cs.placed<tensor<8xf32>, device 0>
    cs.return %r : !cs.placed<tensor<8xf32>, device 0>
  }
  scf.if %c {
  // expected-error@+1 {{'cs.await' op must be at the top of its function: in a region it may not happen exactly once on every rank}}
    %a = cs.await %f : !cs.future<!cs.placed<tensor<8xf32>, device 0>>
  }
  return
}

// -----

cs.cluster @lab nodes = 4 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
// expected-error@+1 {{must have one block: branches may differ between ranks}}
func.func @blocks(%v: !cs.placed<tensor<8xf32>, device 0>, %c: i1) {
  %f = cs.start "w" (%v) : (!cs.placed<tensor<8xf32>, device 0>) -> !cs.future<!cs.placed<tensor<8xf32>, device 0>> {
  ^bb0(%x: !cs.placed<tensor<8xf32>, device 0>):
    %r = cs.all_reduce "w" sum %x : !cs.placed<tensor<8xf32>, device 0>
    cs.return %r : !cs.placed<tensor<8xf32>, device 0>
  }
  cf.cond_br %c, ^a, ^b
^a:
  %r = cs.await %f : !cs.future<!cs.placed<tensor<8xf32>, device 0>>
  return
^b:
  return
}

// -----

cs.cluster @lab nodes = 4 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
func.func @same_key(%v: !cs.placed<tensor<8xf32>, device 0>) {
  // expected-note@+1 {{the other use is here}}
  %f = cs.start "w" (%v) : (!cs.placed<tensor<8xf32>, device 0>) -> !cs.future<!cs.placed<tensor<8xf32>, device 0>> {
  ^bb0(%x: !cs.placed<tensor<8xf32>, device 0>):
    %r = cs.all_reduce "w" sum %x : !cs.placed<tensor<8xf32>, device 0>
    cs.return %r : !cs.placed<tensor<8xf32>, device 0>
  }
  // expected-error@+1 {{'cs.start' op uses the key "w", which must be unique in the function}}
  %g = cs.start "w" (%v) : (!cs.placed<tensor<8xf32>, device 0>) -> !cs.future<!cs.placed<tensor<8xf32>, device 0>> {
  ^bb0(%x: !cs.placed<tensor<8xf32>, device 0>):
    %r = cs.all_reduce "w" sum %x : !cs.placed<tensor<8xf32>, device 0>
    cs.return %r : !cs.placed<tensor<8xf32>, device 0>
  }
  %a = cs.await %f : !cs.future<!cs.placed<tensor<8xf32>, device 0>>
  %b = cs.await %g : !cs.future<!cs.placed<tensor<8xf32>, device 0>>
  return
}

// -----

cs.cluster @lab nodes = 4 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
func.func @callee(%v: !cs.placed<tensor<8xf32>, device 0>) -> !cs.placed<tensor<8xf32>, device 0> {
  %r = cs.all_reduce "w" sum %v : !cs.placed<tensor<8xf32>, device 0>
  return %r : !cs.placed<tensor<8xf32>, device 0>
}
func.func @caller(%v: !cs.placed<tensor<8xf32>, device 0>) {
  // expected-error@+1 {{'func.call' op calls @callee, which communicates; inline it first}}
  %r = func.call @callee(%v) : (!cs.placed<tensor<8xf32>, device 0>) -> !cs.placed<tensor<8xf32>, device 0>
  %s = cs.all_reduce "x" sum %r : !cs.placed<tensor<8xf32>, device 0>
  return
}

// -----

cs.cluster @lab nodes = 4 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
func.func @root(%v: !cs.placed<tensor<8xf32>, device 0>) {
  // expected-error@+1 {{'cs.reduce' op root must be below the number of ranks, 4, got: 4}}
  %r = cs.reduce "w" sum %v to 4 : !cs.placed<tensor<8xf32>, device 0>
  return
}

// -----

cs.cluster @lab nodes = 4 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
func.func @rows(%v: !cs.placed<tensor<8xf32>, device 0>) {
  // expected-error@+1 {{'cs.all_gather' op dimension 0 of the whole must be 4 (ranks) times the part's, got: 16 and 8}}
  %r = cs.all_gather "w" %v : !cs.placed<tensor<8xf32>, device 0> -> !cs.placed<tensor<16xf32>, device 0>
  return
}

// -----

// expected-error@below {{has no cs.cluster, so the number of nodes is unknown}}
module {
  func.func @f(%v: !cs.placed<tensor<8xf32>, device 0>) {
    return
  }
}
