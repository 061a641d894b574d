// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: cs-opt --verify-distributed --split-input-file --remarks-filter=verify-distributed %s -o /dev/null 2>&1 | FileCheck %s
// RUN: cs-opt --schedule-comm=fuse-blocks=false --expand-collectives --verify-distributed --remarks-filter=verify-distributed %S/../schedule/parameter-server.mlir -o /dev/null 2>&1 | FileCheck %s --check-prefix=SCHEDULED
// RUN: cs-opt --schedule-comm=fuse-blocks=false --expand-collectives --specialize-ranks --verify-distributed --remarks-filter=verify-distributed %S/../schedule/parameter-server.mlir -o %t 2>&1 | FileCheck %s --check-prefix=RANKS
// RUN: FileCheck %s --check-prefix=SPECIAL < %t

// SCHEDULED: @step on 2 ranks, @server.0 on 1 rank, @server.1 on 1 rank: 7 futures awaited exactly once; 1 collectives in the same order on all ranks; {{.*}}; 6 messages with 2 parameter servers; no circular wait
// RANKS: @step on 2 ranks (one function each), @server.0 on 1 rank, @server.1 on 1 rank: 14 futures awaited exactly once; {{.*}}; 6 messages with 2 parameter servers; no circular wait

// A function of a server is of one process already.
// SPECIAL: func.func @step.rank0(
// SPECIAL: func.func @step.rank1(
// SPECIAL: cs.send "b" %{{.*}} to #{{.*}} of @server.1
// SPECIAL: func.func @server.0(
// SPECIAL-SAME: cs.server = 0
// SPECIAL: cs.collect "a.block0" by mean from @step

// Trainer 0 sends "a" first, trainer 1 "b": neither waits in between.
// CHECK: 4 messages with 1 parameter server; no circular wait
cs.cluster @lab nodes = 2 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
!t = !cs.placed<tensor<4xf32>, device 0>
func.func @step.rank0(%a: !t {cs.param = "a"}, %b: !t {cs.param = "b"}) attributes {cs.rank = 0 : i64, cs.step,
    cs.servers = #cs.servers<count = 1, sync_mode = sync, merge = 1>} {
  cs.send "a" %a to affine_map<(r) -> (0)> of @server.0 : !t
  cs.send "b" %b to affine_map<(r) -> (0)> of @server.0 : !t
  %c = cs.recv "a.new" from affine_map<(r) -> (0)> of @server.0 : !t
  %d = cs.recv "b.new" from affine_map<(r) -> (0)> of @server.0 : !t
  return
}
func.func @step.rank1(%a: !t {cs.param = "a"}, %b: !t {cs.param = "b"}) attributes {cs.rank = 1 : i64, cs.step,
    cs.servers = #cs.servers<count = 1, sync_mode = sync, merge = 1>} {
  cs.send "b" %b to affine_map<(r) -> (0)> of @server.0 : !t
  cs.send "a" %a to affine_map<(r) -> (0)> of @server.0 : !t
  %c = cs.recv "a.new" from affine_map<(r) -> (0)> of @server.0 : !t
  %d = cs.recv "b.new" from affine_map<(r) -> (0)> of @server.0 : !t
  return
}
func.func @server.0() attributes {cs.server = 0 : i64} {
  %g = cs.collect "a" by mean from @step : !t
  cs.publish "a.new" %g to @step : !t
  %h = cs.collect "b" by mean from @step : !t
  cs.publish "b.new" %h to @step : !t
  return
}

// -----

// In an asynchronous mode a trainer waits for its own message only: what would
// be a circle in sync mode is none.
// CHECK: 4 messages with 1 parameter server; no circular wait
cs.cluster @lab nodes = 2 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
!t = !cs.placed<tensor<4xf32>, device 0>
func.func @step.rank0(%a: !t {cs.param = "a"}, %b: !t {cs.param = "b"}) attributes {cs.rank = 0 : i64, cs.step,
    cs.servers = #cs.servers<count = 1, sync_mode = async, merge = 1>} {
  cs.send "a" %a to affine_map<(r) -> (0)> of @server.0 : !t
  %c = cs.recv "a.new" from affine_map<(r) -> (0)> of @server.0 : !t
  cs.send "b" %b to affine_map<(r) -> (0)> of @server.0 : !t
  %d = cs.recv "b.new" from affine_map<(r) -> (0)> of @server.0 : !t
  return
}
func.func @step.rank1(%a: !t {cs.param = "a"}, %b: !t {cs.param = "b"}) attributes {cs.rank = 1 : i64, cs.step,
    cs.servers = #cs.servers<count = 1, sync_mode = async, merge = 1>} {
  cs.send "b" %b to affine_map<(r) -> (0)> of @server.0 : !t
  %d = cs.recv "b.new" from affine_map<(r) -> (0)> of @server.0 : !t
  cs.send "a" %a to affine_map<(r) -> (0)> of @server.0 : !t
  %c = cs.recv "a.new" from affine_map<(r) -> (0)> of @server.0 : !t
  return
}
func.func @server.0() attributes {cs.server = 0 : i64} {
  %g = cs.collect "a" each from @step : !t
  cs.publish "a.new" %g to @step : !t
  %h = cs.collect "b" each from @step : !t
  cs.publish "b.new" %h to @step : !t
  return
}
