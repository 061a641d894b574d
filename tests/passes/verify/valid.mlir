// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What fits together, and what the remark says of it.

// RUN: cs-opt --verify-distributed --remarks-filter=verify-distributed --split-input-file %s -o /dev/null 2>&1 | FileCheck %s

// CHECK: Remark="@step on 4 ranks: 2 futures awaited exactly once; 2 collectives in the same order on all ranks; 0 expanded (0 different), all messages match, 0 proved to compute their collective; 0 messages with both ends; no circular wait"
cs.cluster @lab nodes = 4 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
func.func @step(%v: !cs.placed<tensor<8xf32>, device 0>) {
  %f = cs.start "w1" (%v) : (!cs.placed<tensor<8xf32>, device 0>) -> !cs.future<!cs.placed<tensor<8xf32>, device 0>> {
  ^bb0(%x: !cs.placed<tensor<8xf32>, device 0>):
    %y = cs.all_reduce "w1" sum %x : !cs.placed<tensor<8xf32>, device 0>
    cs.return %y : !cs.placed<tensor<8xf32>, device 0>
  }
  %g = cs.start "w2" (%v) after (%f : !cs.future<!cs.placed<tensor<8xf32>, device 0>>) : (!cs.placed<tensor<8xf32>, device 0>) -> !cs.future<!cs.placed<tensor<8xf32>, device 0>> {
  ^bb0(%x: !cs.placed<tensor<8xf32>, device 0>):
    %y = cs.all_reduce "w2" sum %x : !cs.placed<tensor<8xf32>, device 0>
    cs.return %y : !cs.placed<tensor<8xf32>, device 0>
  }
  %a = cs.await %g : !cs.future<!cs.placed<tensor<8xf32>, device 0>>
  %b = cs.await %f : !cs.future<!cs.placed<tensor<8xf32>, device 0>>
  return
}

// -----

// A pipeline: all but the first wait for their left neighbour.
// CHECK: Remark="@step on 4 ranks: 0 futures awaited exactly once; 1 collectives in the same order on all ranks; {{.*}} 3 messages with both ends; no circular wait"
cs.cluster @lab nodes = 4 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
func.func @step(%v: !cs.placed<tensor<8xf32>, device 0>) {
  %r = cs.recv "a" from affine_map<(r) -> (r - 1)> when affine_set<(r) : (r - 1 >= 0)> : !cs.placed<tensor<8xf32>, device 0>
  cs.send "a" %v to affine_map<(r) -> (r + 1)> when affine_set<(r) : (2 - r >= 0)> : !cs.placed<tensor<8xf32>, device 0>
  %s = cs.all_reduce "w" sum %r : !cs.placed<tensor<8xf32>, device 0>
  return
}

// -----

// Around a ring: nobody waits before it has sent.
// CHECK: Remark="@step on 4 ranks: 2 futures awaited exactly once; {{.*}} 4 messages with both ends; no circular wait"
cs.cluster @lab nodes = 4 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
func.func @step(%v: !cs.placed<tensor<8xf32>, device 0>) {
  %f = cs.start "a" (%v) : (!cs.placed<tensor<8xf32>, device 0>) -> !cs.future<!cs.placed<tensor<8xf32>, device 0>> {
  ^bb0(%x: !cs.placed<tensor<8xf32>, device 0>):
    cs.send "a" %x to affine_map<(r) -> ((r + 1) mod 4)> : !cs.placed<tensor<8xf32>, device 0>
    cs.return %x : !cs.placed<tensor<8xf32>, device 0>
  }
  %g = cs.start "a" (%v) : (!cs.placed<tensor<8xf32>, device 0>) -> !cs.future<!cs.placed<tensor<8xf32>, device 0>> {
  ^bb0(%x: !cs.placed<tensor<8xf32>, device 0>):
    %y = cs.recv "a" from affine_map<(r) -> ((r - 1) mod 4)> : !cs.placed<tensor<8xf32>, device 0>
    cs.return %y : !cs.placed<tensor<8xf32>, device 0>
  }
  %p = cs.await %f : !cs.future<!cs.placed<tensor<8xf32>, device 0>>
  %q = cs.await %g : !cs.future<!cs.placed<tensor<8xf32>, device 0>>
  return
}

// -----

// Two roles; each server serves two clients.
// CHECK: Remark="@client on 4 ranks, @server on 2 ranks: 0 futures {{.*}} 8 messages with both ends; no circular wait"
cs.cluster @lab nodes = 4 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
func.func @client(%v: !cs.placed<tensor<8xf32>, device 0>) {
  cs.send "a" %v to affine_map<(r) -> (r floordiv 2)> of @server when affine_set<(r) : (r mod 2 == 0)> : !cs.placed<tensor<8xf32>, device 0>
  cs.send "b" %v to affine_map<(r) -> (r floordiv 2)> of @server when affine_set<(r) : (r mod 2 - 1 == 0)> : !cs.placed<tensor<8xf32>, device 0>
  %r = cs.recv "c" from affine_map<(r) -> (r floordiv 2)> of @server when affine_set<(r) : (r mod 2 == 0)> : !cs.placed<tensor<8xf32>, device 0>
  %s = cs.recv "d" from affine_map<(r) -> (r floordiv 2)> of @server when affine_set<(r) : (r mod 2 - 1 == 0)> : !cs.placed<tensor<8xf32>, device 0>
  return
}
func.func @server() attributes {cs.count = 2 : i64} {
  %v = cs.recv "a" from affine_map<(r) -> (2 * r)> of @client : !cs.placed<tensor<8xf32>, device 0>
  %r = cs.recv "b" from affine_map<(r) -> (2 * r + 1)> of @client : !cs.placed<tensor<8xf32>, device 0>
  cs.send "c" %v to affine_map<(r) -> (2 * r)> of @client : !cs.placed<tensor<8xf32>, device 0>
  cs.send "d" %v to affine_map<(r) -> (2 * r + 1)> of @client : !cs.placed<tensor<8xf32>, device 0>
  return
}

// -----

// CHECK: Remark="nothing is distributed:
func.func @plain(%x: tensor<8xf32>) -> tensor<8xf32> {
  return %x : tensor<8xf32>
}

// -----

// Messages of pieces of tensors, and a half with a priority of its own.
// CHECK: Remark="@step on 2 ranks: 2 futures awaited exactly once; 2 collectives in the same order on all ranks; 1 expanded (1 different), all messages match, 1 proved to compute their collective; {{.*}} no circular wait"
cs.cluster @pair nodes = 2 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
!a = !cs.placed<tensor<2x3xf32>, device 0>
!m = !cs.placed<tensor<4xf32>, device 0>
func.func @step(%a: !a, %b: !cs.placed<tensor<f32>, device 0>) -> !a {
  %m = cs.pack %a[0, 4] : !a -> !m
  %n = cs.pack %a[3, 6], %b[0, 1] : !a, !cs.placed<tensor<f32>, device 0> -> !m
  %f = cs.start "m" gather_priority 2 (%m) : (!m) -> !cs.future<!m> {
  ^bb0(%x: !m):
    %y = cs.all_reduce "m" sum %x : !m
    cs.return %y : !m
  }
  %g = cs.start "n" (%n) : (!m) -> !cs.future<!m> attributes {cs.collective = "all_reduce", cs.reduction = "sum"} {
  ^bb0(%x: !m):
    %s = cs.exchange %x chunks 2 rounds 1 sum
        send <parts affine_map<(r, s) -> (1 - r, 1)> to affine_map<(r, s) -> (1 - r)>>
        recv <parts affine_map<(r, s) -> (r, 1)> to affine_map<(r, s) -> (1 - r)>> : !m
    %y = cs.exchange %s chunks 2 rounds 1 replace priority 7
        send <parts affine_map<(r, s) -> (r, 1)> to affine_map<(r, s) -> (1 - r)>>
        recv <parts affine_map<(r, s) -> (1 - r, 1)> to affine_map<(r, s) -> (1 - r)>> : !m
    cs.return %y : !m
  }
  %r = cs.await %f : !cs.future<!m>
  %s = cs.await %g : !cs.future<!m>
  %u = cs.unpack %r[0, 4], %s[1, 3] : !m, !m -> !a
  return %u : !a
}

// -----

// A program of level 0, of whatever ops, is not distributed: it needs no cluster.
// CHECK: Remark="nothing is distributed: 0 futures awaited exactly once; {{.*}}"
func.func @step(%w: tensor<8xf32> {cs.param = "w"}, %x: tensor<8xf32> {cs.batch = "x"}) -> (tensor<8xf32> {cs.updates = "w"}) attributes {cs.step} {
  %i = cs.worker_index : tensor<i32>
  %d = cs.profiled "layer" (%w, %x, %i) cost <flops = 0, bytes = 0, ns = 1> : (tensor<8xf32>, tensor<8xf32>, tensor<i32>) -> tensor<8xf32>
  %g = cs.gradient %d of "w" : tensor<8xf32>
  return %g : tensor<8xf32>
}
