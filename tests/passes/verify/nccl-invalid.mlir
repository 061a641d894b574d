// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Numbers in any order, as long as nobody waits for a collective before one with a smaller number begins.
// RUN: cs-opt --verify-distributed --split-input-file --verify-diagnostics %s

cs.cluster @lab nodes = 4 devices = 1 device = <kind = cuda, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
!w = !cs.placed<tensor<8xf32>, device 0>
func.func @step(%w: !w {cs.param = "w"}) -> (!w {cs.updates = "w"}, !w {cs.updates = "v"}) attributes {cs.step} {
  %a = cs.start "a" (%w) : (!w) -> !cs.future<!w> attributes {cs.nccl = #cs.nccl<lane = 0, number = 1>} {
  ^bb0(%x: !w):
    %r = cs.all_reduce "a" mean %x : !w
    cs.return %r : !w
  }
  %b = cs.start "b" (%w) : (!w) -> !cs.future<!w> attributes {cs.nccl = #cs.nccl<lane = 0, number = 0>} {
  ^bb0(%x: !w):
    %r = cs.all_reduce "b" mean %x : !w
    cs.return %r : !w
  }
  %ra = cs.await %a : !cs.future<!w>
  %rb = cs.await %b : !cs.future<!w>
  return %ra, %rb : !w, !w
}

// -----

cs.cluster @lab nodes = 4 devices = 1 device = <kind = cuda, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
!w = !cs.placed<tensor<8xf32>, device 0>
func.func @step(%w: !w {cs.param = "w"}) -> (!w {cs.updates = "w"}, !w {cs.updates = "v"}) attributes {cs.step} {
  %a = cs.start "a" (%w) : (!w) -> !cs.future<!w> attributes {cs.nccl = #cs.nccl<lane = 0, number = 2>} {
  ^bb0(%x: !w):
    %r = cs.all_reduce "a" mean %x : !w
    cs.return %r : !w
  }
  %b = cs.start "b" (%w) : (!w) -> !cs.future<!w> attributes {cs.nccl = #cs.nccl<lane = 0, number = 0>} {
  ^bb0(%x: !w):
    %r = cs.all_reduce "b" mean %x : !w
    cs.return %r : !w
  }
  // expected-error @+1 {{communications wait for each other in a circle: rank 0 of @step waits here for "a"}}
  %ra = cs.await %a : !cs.future<!w>
  // expected-note @+1 {{which NCCL takes as number 2, behind "c", number 1, which begins here}}
  %c = cs.start "c" (%ra) : (!w) -> !cs.future<!w> attributes {cs.nccl = #cs.nccl<lane = 0, number = 1>} {
  ^bb0(%x: !w):
    %r = cs.all_reduce "c" mean %x : !w
    cs.return %r : !w
  }
  %rb = cs.await %b : !cs.future<!w>
  %rc = cs.await %c : !cs.future<!w>
  return %rb, %rc : !w, !w
}

// -----

cs.cluster @lab nodes = 4 devices = 1 device = <kind = cuda, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
!w = !cs.placed<tensor<8xf32>, device 0>
func.func @step(%w: !w {cs.param = "w"}) -> (!w {cs.updates = "w"}, !w {cs.updates = "v"}) attributes {cs.step} {
  // expected-note @+1 {{the other use is here}}
  %a = cs.start "a" (%w) : (!w) -> !cs.future<!w> attributes {cs.nccl = #cs.nccl<lane = 0, number = 1>} {
  ^bb0(%x: !w):
    %r = cs.all_reduce "a" mean %x : !w
    cs.return %r : !w
  }
  // expected-error @+1 {{"b" has number 1 of NCCL's lane 0, which must be unique in the function}}
  %b = cs.start "b" (%w) : (!w) -> !cs.future<!w> attributes {cs.nccl = #cs.nccl<lane = 0, number = 1>} {
  ^bb0(%x: !w):
    %r = cs.all_reduce "b" mean %x : !w
    cs.return %r : !w
  }
  %ra = cs.await %a : !cs.future<!w>
  %rb = cs.await %b : !cs.future<!w>
  return %ra, %rb : !w, !w
}

// -----

cs.cluster @lab nodes = 4 devices = 1 device = <kind = cuda, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
!w = !cs.placed<tensor<8xf32>, device 0>
func.func @step(%w: !w {cs.param = "w"}) -> (!w {cs.updates = "w"}, !w {cs.updates = "v"}) attributes {cs.step} {
  %a = cs.start "a" (%w) : (!w) -> !cs.future<!w> attributes {cs.nccl = #cs.nccl<lane = 0, number = 0>} {
  ^bb0(%x: !w):
    %r = cs.all_reduce "a" mean %x : !w
    cs.return %r : !w
  }
  // expected-error @+1 {{"b" must have a number of NCCL's lane 0 from 0 to 1, one for each, got: 2}}
  %b = cs.start "b" (%w) : (!w) -> !cs.future<!w> attributes {cs.nccl = #cs.nccl<lane = 0, number = 2>} {
  ^bb0(%x: !w):
    %r = cs.all_reduce "b" mean %x : !w
    cs.return %r : !w
  }
  %ra = cs.await %a : !cs.future<!w>
  %rb = cs.await %b : !cs.future<!w>
  return %ra, %rb : !w, !w
}

// -----

cs.cluster @lab nodes = 4 devices = 1 device = <kind = cuda, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
!w = !cs.placed<tensor<8xf32>, device 0>
func.func @step(%w: !w {cs.param = "w"}) -> (!w {cs.updates = "w"}, !w {cs.updates = "v"}) attributes {cs.step} {
  %a = cs.start "a" (%w) : (!w) -> !cs.future<!w> attributes {cs.nccl = #cs.nccl<lane = 0, number = 0>} {
  ^bb0(%x: !w):
    %r = cs.all_reduce "a" mean %x : !w
    cs.return %r : !w
  }
  // expected-error @+1 {{"b" must have a number of NCCL's lane 1 from 0 to 0, one for each, got: 1}}
  %b = cs.start "b" (%w) : (!w) -> !cs.future<!w> attributes {cs.nccl = #cs.nccl<lane = 1, number = 1>} {
  ^bb0(%x: !w):
    %r = cs.all_reduce "b" mean %x : !w
    cs.return %r : !w
  }
  %ra = cs.await %a : !cs.future<!w>
  %rb = cs.await %b : !cs.future<!w>
  return %ra, %rb : !w, !w
}

// -----

cs.cluster @lab nodes = 4 devices = 1 device = <kind = cuda, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
!w = !cs.placed<tensor<8xf32>, device 0>
func.func @step(%w: !w {cs.param = "w"}) -> (!w {cs.updates = "w"}, !w {cs.updates = "v"}) attributes {cs.step} {
  %a = cs.start "a" (%w) : (!w) -> !cs.future<!w> attributes {cs.nccl = #cs.nccl<lane = 0, number = 0>} {
  ^bb0(%x: !w):
    %r = cs.all_reduce "a" mean %x : !w
    cs.return %r : !w
  }
  %b = cs.start "b" (%w) : (!w) -> !cs.future<!w> attributes {cs.nccl = #cs.nccl<lane = 1, number = 0>} {
  ^bb0(%x: !w):
    %r = cs.all_reduce "b" mean %x : !w
    cs.return %r : !w
  }
  %ra = cs.await %a : !cs.future<!w>
  %rb = cs.await %b : !cs.future<!w>
  return %ra, %rb : !w, !w
}

// -----

cs.cluster @lab nodes = 4 devices = 1 device = <kind = cuda, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
!w = !cs.placed<tensor<8xf32>, device 0>
func.func @step(%w: !w {cs.param = "w"}) -> (!w {cs.updates = "w"}, !w {cs.updates = "v"}) attributes {cs.step, cs.count = 2 : i64} {
  // expected-error @+1 {{"a" is of some of the nodes, NCCL's communicator of all}}
  %a = cs.start "a" (%w) : (!w) -> !cs.future<!w> attributes {cs.nccl = #cs.nccl<lane = 0, number = 0>} {
  ^bb0(%x: !w):
    %r = cs.all_reduce "a" mean %x : !w
    cs.return %r : !w
  }
  %b = cs.start "b" (%w) : (!w) -> !cs.future<!w> attributes {cs.nccl = #cs.nccl<lane = 0, number = 1>} {
  ^bb0(%x: !w):
    %r = cs.all_reduce "b" mean %x : !w
    cs.return %r : !w
  }
  %ra = cs.await %a : !cs.future<!w>
  %rb = cs.await %b : !cs.future<!w>
  return %ra, %rb : !w, !w
}

// -----

cs.cluster @lab nodes = 4 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
!w = !cs.placed<tensor<8xf32>, device 0>
// expected-error @+1 {{has collectives of NCCL, which need nodes of one device of kind cuda}}
func.func @step(%w: !w {cs.param = "w"}) -> (!w {cs.updates = "w"}, !w {cs.updates = "v"}) attributes {cs.step} {
  %a = cs.start "a" (%w) : (!w) -> !cs.future<!w> attributes {cs.nccl = #cs.nccl<lane = 0, number = 0>} {
  ^bb0(%x: !w):
    %r = cs.all_reduce "a" mean %x : !w
    cs.return %r : !w
  }
  %b = cs.start "b" (%w) : (!w) -> !cs.future<!w> attributes {cs.nccl = #cs.nccl<lane = 0, number = 1>} {
  ^bb0(%x: !w):
    %r = cs.all_reduce "b" mean %x : !w
    cs.return %r : !w
  }
  %ra = cs.await %a : !cs.future<!w>
  %rb = cs.await %b : !cs.future<!w>
  return %ra, %rb : !w, !w
}
