// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: cs-opt --lower-to-nccl --split-input-file --verify-diagnostics %s

// expected-error @+1 {{NCCL needs devices of kind cuda, got: cpu}}
cs.cluster @lab nodes = 4 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
!w = !cs.placed<tensor<8xf32>, device 0>
func.func @step(%w: !w {cs.param = "w"}) -> (!w {cs.updates = "w"}) attributes {cs.step} {
  %f = cs.start "w" (%w) : (!w) -> !cs.future<!w> {
  ^bb0(%x: !w):
    %r = cs.all_reduce "w" mean %x : !w
    cs.return %r : !w
  }
  %0 = cs.await %f : !cs.future<!w>
  return %0 : !w
}

// -----

// expected-error @+1 {{NCCL needs nodes of one device, each of which is a rank: nodes = 8 devices = 1 nccl = <machine_ranks = 2>, with what each device has of the network as inter, got: nodes = 4 devices = 2}}
cs.cluster @lab nodes = 4 devices = 2 device = <kind = cuda, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
!w = !cs.placed<tensor<8xf32>, device 0>
func.func @step(%w: !w {cs.param = "w"}) -> (!w {cs.updates = "w"}) attributes {cs.step} {
  %f = cs.start "w" (%w) : (!w) -> !cs.future<!w> {
  ^bb0(%x: !w):
    %r = cs.all_reduce "w" mean %x : !w
    cs.return %r : !w
  }
  %0 = cs.await %f : !cs.future<!w>
  return %0 : !w
}

// -----

cs.cluster @lab nodes = 4 devices = 1 device = <kind = cuda, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
cs.group @g ranks [0, 1]
!w = !cs.placed<tensor<8xf32>, device 0>
func.func @step(%w: !w {cs.param = "w"}) -> (!w {cs.updates = "w"}) attributes {cs.step} {
  // expected-error @+1 {{"w" is of a group, NCCL's communicator of all nodes}}
  %f = cs.start "w" (%w) : (!w) -> !cs.future<!w> {
  ^bb0(%x: !w):
    %r = cs.all_reduce "w" mean %x in @g : !w
    cs.return %r : !w
  }
  %0 = cs.await %f : !cs.future<!w>
  return %0 : !w
}

// -----

cs.cluster @lab nodes = 4 devices = 1 device = <kind = cuda, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
!w = !cs.placed<tensor<8xf32>, device 0>
func.func @step(%w: !w {cs.param = "w"}) -> (!w {cs.updates = "w"}) attributes {cs.step, cs.count = 2 : i64} {
  // expected-error @+1 {{"w" is of some of the nodes, NCCL's communicator of all}}
  %f = cs.start "w" (%w) : (!w) -> !cs.future<!w> {
  ^bb0(%x: !w):
    %r = cs.all_reduce "w" mean %x : !w
    cs.return %r : !w
  }
  %0 = cs.await %f : !cs.future<!w>
  return %0 : !w
}

// -----

cs.cluster @lab nodes = 4 devices = 1 device = <kind = cuda, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
!w = !cs.placed<tensor<8xf32>, device 0>
func.func @step(%w: !w {cs.param = "w"}) -> (!w {cs.updates = "w"}) attributes {cs.step} {
  // expected-error @+1 {{"w" has its number already}}
  %f = cs.start "w" (%w) : (!w) -> !cs.future<!w> attributes {cs.nccl = #cs.nccl<lane = 0, number = 0>} {
  ^bb0(%x: !w):
    %r = cs.all_reduce "w" mean %x : !w
    cs.return %r : !w
  }
  %0 = cs.await %f : !cs.future<!w>
  return %0 : !w
}

// -----

cs.cluster @lab nodes = 4 devices = 1 device = <kind = cuda, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
!w = !cs.placed<tensor<8xf32>, device 0>
func.func @step(%w: !w {cs.param = "w"}) -> (!w {cs.updates = "w"}) attributes {cs.step} {
  // expected-error @+1 {{"w" has parts, which NCCL does not release one by one}}
  %f = cs.start "w" parts [3, 5] (%w) : (!w) -> !cs.future<!w> {
  ^bb0(%x: !w):
    %r = cs.all_reduce "w" mean %x : !w
    cs.return %r : !w
  }
  %0 = cs.await %f : !cs.future<!w>
  return %0 : !w
}

// -----

cs.cluster @lab nodes = 4 devices = 1 device = <kind = cuda, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
!w = !cs.placed<tensor<8xf32>, device 0>
func.func @step(%w: !w {cs.param = "w"}) -> (!w {cs.updates = "w"}) attributes {cs.step} {
  // expected-error @+1 {{"w" is a message between two nodes, which NCCL is not given}}
  %f = cs.start "w" () : () -> !cs.future<!w> {
    %r = cs.recv "w" from affine_map<(r) -> ((r + 1) mod 4)> : !w
    cs.return %r : !w
  }
  %0 = cs.await %f : !cs.future<!w>
  return %0 : !w
}

// -----

cs.cluster @lab nodes = 4 devices = 1 device = <kind = cuda, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
!w = !cs.placed<tensor<8xf32>, device 0>
func.func @step(%w: !w {cs.param = "w"}) -> (!w {cs.updates = "w"}) attributes {cs.step} {
  // expected-error @+1 {{"w" is expanded: --lower-to-nccl must come before --expand-collectives}}
  %f = cs.start "w" (%w) : (!w) -> !cs.future<!w> {
  ^bb0(%x: !w):
    %r = cs.exchange %x chunks 2 rounds 1 replace
        send <parts affine_map<(r, s) -> (r, 1)> to affine_map<(r, s) -> (1 - r)>>
        recv <parts affine_map<(r, s) -> (1 - r, 1)> to affine_map<(r, s) -> (1 - r)>> : !w
    cs.return %r : !w
  }
  %0 = cs.await %f : !cs.future<!w>
  return %0 : !w
}

// -----

cs.cluster @lab nodes = 4 devices = 1 device = <kind = cuda, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
!w = !cs.placed<tensor<8xf32>, device 0>
func.func @step(%w: !w {cs.param = "w"}) -> (!w {cs.updates = "w"}) attributes {cs.step} {
  // expected-error @+1 {{is not in a cs.start; run --schedule-comm first}}
  %0 = cs.all_reduce "w" mean %w : !w
  return %0 : !w
}
