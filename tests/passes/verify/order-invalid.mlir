// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Functions of single ranks must issue the same collectives in the same order.

// RUN: cs-opt --verify-distributed --split-input-file --verify-diagnostics %s

// Two swapped starts.
cs.cluster @lab nodes = 2 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
func.func @step.rank0(%v: !cs.placed<tensor<8xf32>, device 0>, %w: !cs.placed<tensor<8xf32>, device 0>) attributes {cs.rank = 0 : i64} {
  // expected-note@+1 {{rank 0 is here}}
  %f = cs.start "w1" (%v) : (!cs.placed<tensor<8xf32>, device 0>) -> !cs.future<!cs.placed<tensor<8xf32>, device 0>> {
  ^bb0(%x: !cs.placed<tensor<8xf32>, device 0>):
    %r = cs.all_reduce "w1" sum %x : !cs.placed<tensor<8xf32>, device 0>
    cs.return %r : !cs.placed<tensor<8xf32>, device 0>
  }
  %g = cs.start "w2" (%w) : (!cs.placed<tensor<8xf32>, device 0>) -> !cs.future<!cs.placed<tensor<8xf32>, device 0>> {
  ^bb0(%x: !cs.placed<tensor<8xf32>, device 0>):
    %r = cs.all_reduce "w2" sum %x : !cs.placed<tensor<8xf32>, device 0>
    cs.return %r : !cs.placed<tensor<8xf32>, device 0>
  }
  %a = cs.await %f : !cs.future<!cs.placed<tensor<8xf32>, device 0>>
  %b = cs.await %g : !cs.future<!cs.placed<tensor<8xf32>, device 0>>
  return
}
func.func @step.rank1(%v: !cs.placed<tensor<8xf32>, device 0>, %w: !cs.placed<tensor<8xf32>, device 0>) attributes {cs.rank = 1 : i64} {
  // expected-error@+1 {{'cs.start' op rank 1 issues "w2" where rank 0 issues "w1"}}
  %g = cs.start "w2" (%w) : (!cs.placed<tensor<8xf32>, device 0>) -> !cs.future<!cs.placed<tensor<8xf32>, device 0>> {
  ^bb0(%x: !cs.placed<tensor<8xf32>, device 0>):
    %r = cs.all_reduce "w2" sum %x : !cs.placed<tensor<8xf32>, device 0>
    cs.return %r : !cs.placed<tensor<8xf32>, device 0>
  }
  %f = cs.start "w1" (%v) : (!cs.placed<tensor<8xf32>, device 0>) -> !cs.future<!cs.placed<tensor<8xf32>, device 0>> {
  ^bb0(%x: !cs.placed<tensor<8xf32>, device 0>):
    %r = cs.all_reduce "w1" sum %x : !cs.placed<tensor<8xf32>, device 0>
    cs.return %r : !cs.placed<tensor<8xf32>, device 0>
  }
  %a = cs.await %f : !cs.future<!cs.placed<tensor<8xf32>, device 0>>
  %b = cs.await %g : !cs.future<!cs.placed<tensor<8xf32>, device 0>>
  return
}

// -----

// One is missing.
cs.cluster @lab nodes = 2 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
func.func @step.rank0(%v: !cs.placed<tensor<8xf32>, device 0>, %w: !cs.placed<tensor<8xf32>, device 0>) attributes {cs.rank = 0 : i64} {
  %f = cs.start "w1" (%v) : (!cs.placed<tensor<8xf32>, device 0>) -> !cs.future<!cs.placed<tensor<8xf32>, device 0>> {
  ^bb0(%x: !cs.placed<tensor<8xf32>, device 0>):
    %r = cs.all_reduce "w1" sum %x : !cs.placed<tensor<8xf32>, device 0>
    cs.return %r : !cs.placed<tensor<8xf32>, device 0>
  }
  // expected-note@+1 {{rank 0 is here}}
  %g = cs.start "w2" (%w) : (!cs.placed<tensor<8xf32>, device 0>) -> !cs.future<!cs.placed<tensor<8xf32>, device 0>> {
  ^bb0(%x: !cs.placed<tensor<8xf32>, device 0>):
    %r = cs.all_reduce "w2" sum %x : !cs.placed<tensor<8xf32>, device 0>
    cs.return %r : !cs.placed<tensor<8xf32>, device 0>
  }
  %a = cs.await %f : !cs.future<!cs.placed<tensor<8xf32>, device 0>>
  %b = cs.await %g : !cs.future<!cs.placed<tensor<8xf32>, device 0>>
  return
}
// expected-error@+1 {{'func.func' op rank 1 does not issue "w2", which rank 0 does}}
func.func @step.rank1(%v: !cs.placed<tensor<8xf32>, device 0>, %w: !cs.placed<tensor<8xf32>, device 0>) attributes {cs.rank = 1 : i64} {
  %f = cs.start "w1" (%v) : (!cs.placed<tensor<8xf32>, device 0>) -> !cs.future<!cs.placed<tensor<8xf32>, device 0>> {
  ^bb0(%x: !cs.placed<tensor<8xf32>, device 0>):
    %r = cs.all_reduce "w1" sum %x : !cs.placed<tensor<8xf32>, device 0>
    cs.return %r : !cs.placed<tensor<8xf32>, device 0>
  }
  %a = cs.await %f : !cs.future<!cs.placed<tensor<8xf32>, device 0>>
  return
}

// -----

// One too many.
cs.cluster @lab nodes = 2 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
// expected-note@+1 {{rank 0 is here}}
func.func @step.rank0(%v: !cs.placed<tensor<8xf32>, device 0>, %w: !cs.placed<tensor<8xf32>, device 0>) attributes {cs.rank = 0 : i64} {
  %f = cs.start "w1" (%v) : (!cs.placed<tensor<8xf32>, device 0>) -> !cs.future<!cs.placed<tensor<8xf32>, device 0>> {
  ^bb0(%x: !cs.placed<tensor<8xf32>, device 0>):
    %r = cs.all_reduce "w1" sum %x : !cs.placed<tensor<8xf32>, device 0>
    cs.return %r : !cs.placed<tensor<8xf32>, device 0>
  }
  %a = cs.await %f : !cs.future<!cs.placed<tensor<8xf32>, device 0>>
  return
}
func.func @step.rank1(%v: !cs.placed<tensor<8xf32>, device 0>, %w: !cs.placed<tensor<8xf32>, device 0>) attributes {cs.rank = 1 : i64} {
  %f = cs.start "w1" (%v) : (!cs.placed<tensor<8xf32>, device 0>) -> !cs.future<!cs.placed<tensor<8xf32>, device 0>> {
  ^bb0(%x: !cs.placed<tensor<8xf32>, device 0>):
    %r = cs.all_reduce "w1" sum %x : !cs.placed<tensor<8xf32>, device 0>
    cs.return %r : !cs.placed<tensor<8xf32>, device 0>
  }
  // expected-error@+1 {{'cs.start' op rank 1 issues "w2", which rank 0 does not}}
  %g = cs.start "w2" (%w) : (!cs.placed<tensor<8xf32>, device 0>) -> !cs.future<!cs.placed<tensor<8xf32>, device 0>> {
  ^bb0(%x: !cs.placed<tensor<8xf32>, device 0>):
    %r = cs.all_reduce "w2" sum %x : !cs.placed<tensor<8xf32>, device 0>
    cs.return %r : !cs.placed<tensor<8xf32>, device 0>
  }
  %a = cs.await %f : !cs.future<!cs.placed<tensor<8xf32>, device 0>>
  %b = cs.await %g : !cs.future<!cs.placed<tensor<8xf32>, device 0>>
  return
}

// -----

// Another reduction.
cs.cluster @lab nodes = 2 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
func.func @step.rank0(%v: !cs.placed<tensor<8xf32>, device 0>, %w: !cs.placed<tensor<8xf32>, device 0>) attributes {cs.rank = 0 : i64} {
  // expected-note@+1 {{rank 0 is here}}
  %f = cs.start "w1" (%v) : (!cs.placed<tensor<8xf32>, device 0>) -> !cs.future<!cs.placed<tensor<8xf32>, device 0>> {
  ^bb0(%x: !cs.placed<tensor<8xf32>, device 0>):
    %r = cs.all_reduce "w1" sum %x : !cs.placed<tensor<8xf32>, device 0>
    cs.return %r : !cs.placed<tensor<8xf32>, device 0>
  }
  %a = cs.await %f : !cs.future<!cs.placed<tensor<8xf32>, device 0>>
  return
}
func.func @step.rank1(%v: !cs.placed<tensor<8xf32>, device 0>, %w: !cs.placed<tensor<8xf32>, device 0>) attributes {cs.rank = 1 : i64} {
  // expected-error@+1 {{"w1" of rank 1 must match all_reduce sum of !cs.placed<tensor<8xf32>, device 0> of rank 0, got: all_reduce max of !cs.placed<tensor<8xf32>, device 0>}}
  %f = cs.start "w1" (%v) : (!cs.placed<tensor<8xf32>, device 0>) -> !cs.future<!cs.placed<tensor<8xf32>, device 0>> {
  ^bb0(%x: !cs.placed<tensor<8xf32>, device 0>):
    %r = cs.all_reduce "w1" max %x : !cs.placed<tensor<8xf32>, device 0>
    cs.return %r : !cs.placed<tensor<8xf32>, device 0>
  }
  %a = cs.await %f : !cs.future<!cs.placed<tensor<8xf32>, device 0>>
  return
}

// -----

// Another root.
cs.cluster @lab nodes = 2 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
func.func @step.rank0(%v: !cs.placed<tensor<8xf32>, device 0>, %w: !cs.placed<tensor<8xf32>, device 0>) attributes {cs.rank = 0 : i64} {
  // expected-note@+1 {{rank 0 is here}}
  %f = cs.start "w1" (%v) : (!cs.placed<tensor<8xf32>, device 0>) -> !cs.future<!cs.placed<tensor<8xf32>, device 0>> {
  ^bb0(%x: !cs.placed<tensor<8xf32>, device 0>):
    %r = cs.broadcast "w1" %x from 0 : !cs.placed<tensor<8xf32>, device 0>
    cs.return %r : !cs.placed<tensor<8xf32>, device 0>
  }
  %a = cs.await %f : !cs.future<!cs.placed<tensor<8xf32>, device 0>>
  return
}
func.func @step.rank1(%v: !cs.placed<tensor<8xf32>, device 0>, %w: !cs.placed<tensor<8xf32>, device 0>) attributes {cs.rank = 1 : i64} {
  // expected-error@+1 {{"w1" of rank 1 must match broadcast with root 0 of}}
  %f = cs.start "w1" (%v) : (!cs.placed<tensor<8xf32>, device 0>) -> !cs.future<!cs.placed<tensor<8xf32>, device 0>> {
  ^bb0(%x: !cs.placed<tensor<8xf32>, device 0>):
    %r = cs.broadcast "w1" %x from 1 : !cs.placed<tensor<8xf32>, device 0>
    cs.return %r : !cs.placed<tensor<8xf32>, device 0>
  }
  %a = cs.await %f : !cs.future<!cs.placed<tensor<8xf32>, device 0>>
  return
}

// -----

// Other parts, which are cut otherwise.
cs.cluster @lab nodes = 2 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
func.func @step.rank0(%v: !cs.placed<tensor<8xf32>, device 0>, %w: !cs.placed<tensor<8xf32>, device 0>) attributes {cs.rank = 0 : i64} {
  // expected-note@+1 {{rank 0 is here}}
  %f = cs.start "w1" parts [3, 5] (%v) : (!cs.placed<tensor<8xf32>, device 0>) -> !cs.future<!cs.placed<tensor<8xf32>, device 0>> {
  ^bb0(%x: !cs.placed<tensor<8xf32>, device 0>):
    %r = cs.all_reduce "w1" sum %x : !cs.placed<tensor<8xf32>, device 0>
    cs.return %r : !cs.placed<tensor<8xf32>, device 0>
  }
  %a = cs.await %f : !cs.future<!cs.placed<tensor<8xf32>, device 0>>
  return
}
func.func @step.rank1(%v: !cs.placed<tensor<8xf32>, device 0>, %w: !cs.placed<tensor<8xf32>, device 0>) attributes {cs.rank = 1 : i64} {
  // expected-error@+1 {{"w1" of rank 1 must match all_reduce sum in parts of 3, 5 of !cs.placed<tensor<8xf32>, device 0> of rank 0, got: all_reduce sum of}}
  %f = cs.start "w1" (%v) : (!cs.placed<tensor<8xf32>, device 0>) -> !cs.future<!cs.placed<tensor<8xf32>, device 0>> {
  ^bb0(%x: !cs.placed<tensor<8xf32>, device 0>):
    %r = cs.all_reduce "w1" sum %x : !cs.placed<tensor<8xf32>, device 0>
    cs.return %r : !cs.placed<tensor<8xf32>, device 0>
  }
  %a = cs.await %f : !cs.future<!cs.placed<tensor<8xf32>, device 0>>
  return
}

// -----

// A rank without a function.
cs.cluster @lab nodes = 3 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
// expected-error@+1 {{'func.func' op has no counterpart for rank 1: @step.rank1 is missing}}
func.func @step.rank0(%v: !cs.placed<tensor<8xf32>, device 0>, %w: !cs.placed<tensor<8xf32>, device 0>) attributes {cs.rank = 0 : i64} {
  %f = cs.start "w1" (%v) : (!cs.placed<tensor<8xf32>, device 0>) -> !cs.future<!cs.placed<tensor<8xf32>, device 0>> {
  ^bb0(%x: !cs.placed<tensor<8xf32>, device 0>):
    %r = cs.all_reduce "w1" sum %x : !cs.placed<tensor<8xf32>, device 0>
    cs.return %r : !cs.placed<tensor<8xf32>, device 0>
  }
  %g = cs.start "w2" (%w) : (!cs.placed<tensor<8xf32>, device 0>) -> !cs.future<!cs.placed<tensor<8xf32>, device 0>> {
  ^bb0(%x: !cs.placed<tensor<8xf32>, device 0>):
    %r = cs.all_reduce "w2" sum %x : !cs.placed<tensor<8xf32>, device 0>
    cs.return %r : !cs.placed<tensor<8xf32>, device 0>
  }
  %a = cs.await %f : !cs.future<!cs.placed<tensor<8xf32>, device 0>>
  %b = cs.await %g : !cs.future<!cs.placed<tensor<8xf32>, device 0>>
  return
}
func.func @step.rank2(%v: !cs.placed<tensor<8xf32>, device 0>, %w: !cs.placed<tensor<8xf32>, device 0>) attributes {cs.rank = 2 : i64} {
  %f = cs.start "w1" (%v) : (!cs.placed<tensor<8xf32>, device 0>) -> !cs.future<!cs.placed<tensor<8xf32>, device 0>> {
  ^bb0(%x: !cs.placed<tensor<8xf32>, device 0>):
    %r = cs.all_reduce "w1" sum %x : !cs.placed<tensor<8xf32>, device 0>
    cs.return %r : !cs.placed<tensor<8xf32>, device 0>
  }
  %g = cs.start "w2" (%w) : (!cs.placed<tensor<8xf32>, device 0>) -> !cs.future<!cs.placed<tensor<8xf32>, device 0>> {
  ^bb0(%x: !cs.placed<tensor<8xf32>, device 0>):
    %r = cs.all_reduce "w2" sum %x : !cs.placed<tensor<8xf32>, device 0>
    cs.return %r : !cs.placed<tensor<8xf32>, device 0>
  }
  %a = cs.await %f : !cs.future<!cs.placed<tensor<8xf32>, device 0>>
  %b = cs.await %g : !cs.future<!cs.placed<tensor<8xf32>, device 0>>
  return
}

// -----

cs.cluster @lab nodes = 2 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
func.func @step.rank0(%v: !cs.placed<tensor<8xf32>, device 0>, %w: !cs.placed<tensor<8xf32>, device 0>) attributes {cs.rank = 0 : i64} {
  %f = cs.start "w1" (%v) : (!cs.placed<tensor<8xf32>, device 0>) -> !cs.future<!cs.placed<tensor<8xf32>, device 0>> {
  ^bb0(%x: !cs.placed<tensor<8xf32>, device 0>):
    %r = cs.all_reduce "w1" sum %x : !cs.placed<tensor<8xf32>, device 0>
    cs.return %r : !cs.placed<tensor<8xf32>, device 0>
  }
  %g = cs.start "w2" (%w) : (!cs.placed<tensor<8xf32>, device 0>) -> !cs.future<!cs.placed<tensor<8xf32>, device 0>> {
  ^bb0(%x: !cs.placed<tensor<8xf32>, device 0>):
    %r = cs.all_reduce "w2" sum %x : !cs.placed<tensor<8xf32>, device 0>
    cs.return %r : !cs.placed<tensor<8xf32>, device 0>
  }
  %a = cs.await %f : !cs.future<!cs.placed<tensor<8xf32>, device 0>>
  %b = cs.await %g : !cs.future<!cs.placed<tensor<8xf32>, device 0>>
  return
}
func.func @step.rank1(%v: !cs.placed<tensor<8xf32>, device 0>, %w: !cs.placed<tensor<8xf32>, device 0>) attributes {cs.rank = 1 : i64} {
  %f = cs.start "w1" (%v) : (!cs.placed<tensor<8xf32>, device 0>) -> !cs.future<!cs.placed<tensor<8xf32>, device 0>> {
  ^bb0(%x: !cs.placed<tensor<8xf32>, device 0>):
    %r = cs.all_reduce "w1" sum %x : !cs.placed<tensor<8xf32>, device 0>
    cs.return %r : !cs.placed<tensor<8xf32>, device 0>
  }
  %g = cs.start "w2" (%w) : (!cs.placed<tensor<8xf32>, device 0>) -> !cs.future<!cs.placed<tensor<8xf32>, device 0>> {
  ^bb0(%x: !cs.placed<tensor<8xf32>, device 0>):
    %r = cs.all_reduce "w2" sum %x : !cs.placed<tensor<8xf32>, device 0>
    cs.return %r : !cs.placed<tensor<8xf32>, device 0>
  }
  %a = cs.await %f : !cs.future<!cs.placed<tensor<8xf32>, device 0>>
  %b = cs.await %g : !cs.future<!cs.placed<tensor<8xf32>, device 0>>
  return
}
// expected-error@+1 {{cs.rank must be below the number of ranks, 2, got: 2}}
func.func @step.rank2(%v: !cs.placed<tensor<8xf32>, device 0>, %w: !cs.placed<tensor<8xf32>, device 0>) attributes {cs.rank = 2 : i64} {
  %f = cs.start "w1" (%v) : (!cs.placed<tensor<8xf32>, device 0>) -> !cs.future<!cs.placed<tensor<8xf32>, device 0>> {
  ^bb0(%x: !cs.placed<tensor<8xf32>, device 0>):
    %r = cs.all_reduce "w1" sum %x : !cs.placed<tensor<8xf32>, device 0>
    cs.return %r : !cs.placed<tensor<8xf32>, device 0>
  }
  %g = cs.start "w2" (%w) : (!cs.placed<tensor<8xf32>, device 0>) -> !cs.future<!cs.placed<tensor<8xf32>, device 0>> {
  ^bb0(%x: !cs.placed<tensor<8xf32>, device 0>):
    %r = cs.all_reduce "w2" sum %x : !cs.placed<tensor<8xf32>, device 0>
    cs.return %r : !cs.placed<tensor<8xf32>, device 0>
  }
  %a = cs.await %f : !cs.future<!cs.placed<tensor<8xf32>, device 0>>
  %b = cs.await %g : !cs.future<!cs.placed<tensor<8xf32>, device 0>>
  return
}

// -----

cs.cluster @lab nodes = 2 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
// expected-error@+1 {{with cs.rank = 0 must have a name that ends in .rank0}}
func.func @first(%v: !cs.placed<tensor<8xf32>, device 0>, %w: !cs.placed<tensor<8xf32>, device 0>) attributes {cs.rank = 0 : i64} {
  %f = cs.start "w1" (%v) : (!cs.placed<tensor<8xf32>, device 0>) -> !cs.future<!cs.placed<tensor<8xf32>, device 0>> {
  ^bb0(%x: !cs.placed<tensor<8xf32>, device 0>):
    %r = cs.all_reduce "w1" sum %x : !cs.placed<tensor<8xf32>, device 0>
    cs.return %r : !cs.placed<tensor<8xf32>, device 0>
  }
  %g = cs.start "w2" (%w) : (!cs.placed<tensor<8xf32>, device 0>) -> !cs.future<!cs.placed<tensor<8xf32>, device 0>> {
  ^bb0(%x: !cs.placed<tensor<8xf32>, device 0>):
    %r = cs.all_reduce "w2" sum %x : !cs.placed<tensor<8xf32>, device 0>
    cs.return %r : !cs.placed<tensor<8xf32>, device 0>
  }
  %a = cs.await %f : !cs.future<!cs.placed<tensor<8xf32>, device 0>>
  %b = cs.await %g : !cs.future<!cs.placed<tensor<8xf32>, device 0>>
  return
}

// -----

cs.cluster @lab nodes = 2 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
func.func @step(%v: !cs.placed<tensor<8xf32>, device 0>) {
  return
}
// expected-error@+1 {{belongs to @step, which has a function for all ranks and one for a single one}}
func.func @step.rank0(%v: !cs.placed<tensor<8xf32>, device 0>, %w: !cs.placed<tensor<8xf32>, device 0>) attributes {cs.rank = 0 : i64} {
  %f = cs.start "w1" (%v) : (!cs.placed<tensor<8xf32>, device 0>) -> !cs.future<!cs.placed<tensor<8xf32>, device 0>> {
  ^bb0(%x: !cs.placed<tensor<8xf32>, device 0>):
    %r = cs.all_reduce "w1" sum %x : !cs.placed<tensor<8xf32>, device 0>
    cs.return %r : !cs.placed<tensor<8xf32>, device 0>
  }
  %g = cs.start "w2" (%w) : (!cs.placed<tensor<8xf32>, device 0>) -> !cs.future<!cs.placed<tensor<8xf32>, device 0>> {
  ^bb0(%x: !cs.placed<tensor<8xf32>, device 0>):
    %r = cs.all_reduce "w2" sum %x : !cs.placed<tensor<8xf32>, device 0>
    cs.return %r : !cs.placed<tensor<8xf32>, device 0>
  }
  %a = cs.await %f : !cs.future<!cs.placed<tensor<8xf32>, device 0>>
  %b = cs.await %g : !cs.future<!cs.placed<tensor<8xf32>, device 0>>
  return
}
