// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Each rank has its own function, and another order: NCCL would match what does not belong together.
// RUN: not cs-opt --verify-distributed %s 2>&1 | FileCheck %s
// CHECK: error: {{.*}}all_reduce mean as number 1 of NCCL's lane 0

cs.cluster @lab nodes = 2 devices = 1 device = <kind = cuda, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
!w = !cs.placed<tensor<8xf32>, device 0>
func.func @step.rank0(%w: !w {cs.param = "w"}) -> (!w {cs.updates = "w"}, !w {cs.updates = "v"}) attributes {cs.step, cs.rank = 0 : i64} {
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
func.func @step.rank1(%w: !w {cs.param = "w"}) -> (!w {cs.updates = "w"}, !w {cs.updates = "v"}) attributes {cs.step, cs.rank = 1 : i64} {
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
