// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: %cs-opt --expand-collectives=algorithm=halving-doubling --specialize-ranks --verify-distributed %s | FileCheck %s

// CHECK-DAG: #[[ALL:.+]] = affine_map<(d0, d1) -> (0, 1)>
// CHECK-DAG: #[[TO0:.+]] = affine_map<(d0, d1) -> (0)>
// CHECK-DAG: #[[TO2:.+]] = affine_map<(d0, d1) -> (2)>
// CHECK-DAG: #[[NEVER:.+]] = affine_map<(d0, d1) -> (1)>
// CHECK-DAG: #[[SECOND:.+]] = affine_map<(d0, d1) -> (1, 1)>
// CHECK-DAG: #[[PEER1:.+]] = affine_map<(d0) -> (1)>
// CHECK-DAG: #[[PEER0:.+]] = affine_map<(d0) -> (0)>

cs.cluster @lab nodes = 3 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>

// CHECK-NOT: func.func @step(
// CHECK: func.func @step.rank0({{.*}}) {{.*}} attributes {cs.rank = 0 : i64, cs.step}
// CHECK: cs.exchange %{{.*}} chunks 1 rounds 1 sum send <parts #[[ALL]] to #{{.+}} when zero #[[NEVER]]> recv <parts #[[ALL]] to #[[TO2]]> :
// CHECK: cs.exchange %{{.*}} chunks 2 rounds 1 sum send <parts #[[SECOND]] to #[[NEVER]]> recv <parts #[[ALL]] to #[[NEVER]]> :
// CHECK: func.func @step.rank1({{.*}}) {{.*}} attributes {cs.rank = 1 : i64, cs.step}
// CHECK: cs.exchange %{{.*}} chunks 2 rounds 1 sum send <parts #[[ALL]] to #[[TO0]]> recv <parts #[[SECOND]] to #[[TO0]]> :
// CHECK: func.func @step.rank2({{.*}}) {{.*}} attributes {cs.rank = 2 : i64, cs.step}
// CHECK: cs.exchange %{{.*}} chunks 1 rounds 1 sum send <parts #[[ALL]] to #[[TO0]]> recv <parts #[[ALL]] to #{{.+}} when zero #[[NEVER]]> :
// CHECK-NOT: func.func @step.rank3
func.func @step(%v: !cs.placed<tensor<8xf32>, device 0>) -> !cs.placed<tensor<8xf32>, device 0> attributes {cs.step} {
  %f = cs.start "w" (%v) : (!cs.placed<tensor<8xf32>, device 0>) -> !cs.future<!cs.placed<tensor<8xf32>, device 0>> {
  ^bb0(%x: !cs.placed<tensor<8xf32>, device 0>):
    %r = cs.all_reduce "w" sum %x : !cs.placed<tensor<8xf32>, device 0>
    cs.return %r : !cs.placed<tensor<8xf32>, device 0>
  }
  %r = cs.await %f : !cs.future<!cs.placed<tensor<8xf32>, device 0>>
  return %r : !cs.placed<tensor<8xf32>, device 0>
}

// A role of its own size; the peer's function takes the place of the role.
// CHECK: func.func @client.rank0
// CHECK: cs.send "block" %{{.*}} to #[[PEER0]] of @server.rank0 when
// CHECK: func.func @client.rank1
// CHECK: cs.send "block" %{{.*}} to #[[PEER1]] of @server.rank1 when
// CHECK: func.func @client.rank2
func.func @client(%v: !cs.placed<tensor<8xf32>, device 0>) {
  cs.send "block" %v to affine_map<(r) -> (r)> of @server when affine_set<(r) : (1 - r >= 0)> : !cs.placed<tensor<8xf32>, device 0>
  return
}

// CHECK: func.func @server.rank0() -> {{.*}} attributes {cs.count = 2 : i64, cs.rank = 0 : i64}
// CHECK: cs.recv "block" from #[[PEER0]] of @client.rank0 :
// CHECK: func.func @server.rank1() -> {{.*}} attributes {cs.count = 2 : i64, cs.rank = 1 : i64}
// CHECK: cs.recv "block" from #[[PEER1]] of @client.rank1 :
// CHECK-NOT: func.func @server.rank2
func.func @server() -> !cs.placed<tensor<8xf32>, device 0> attributes {cs.count = 2 : i64} {
  %r = cs.recv "block" from affine_map<(r) -> (r)> of @client : !cs.placed<tensor<8xf32>, device 0>
  return %r : !cs.placed<tensor<8xf32>, device 0>
}

// What does not communicate stays.
// CHECK: func.func @helper(
func.func @helper(%x: tensor<8xf32>) -> tensor<8xf32> {
  return %x : tensor<8xf32>
}
