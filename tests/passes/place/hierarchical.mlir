// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: %cs-opt --replicate-devices=hierarchical=true --assign-devices %s -o %t1
// RUN: FileCheck %s < %t1
// RUN: cs-opt --replicate-devices=hierarchical=true --assign-devices %t1 -o %t2
// RUN: cmp %t1 %t2
// RUN: %cs-opt --replicate-devices=hierarchical=true %s --remarks-filter=replicate-devices -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: %cs-opt --replicate-devices --assign-devices %s | FileCheck %s --check-prefix=OFF
// Nodes whose devices have fast links: an owner is as good.
// RUN: sed 's/intra = <mbit_per_s = 1,/intra = <mbit_per_s = 80000,/' %s | cs-opt --replicate-devices=hierarchical=true --assign-devices | FileCheck %s --check-prefix=OFF
// What asks to be sparse is exchanged otherwise.
// RUN: sed 's/mean %%g :/mean %%g {cs.density = 0.1} :/' %s | cs-opt --replicate-devices=hierarchical=true | FileCheck %s --check-prefix=SPARSE
// RUN: sed 's/tensor<3x64/tensor<70x64/g; s/latency_ns = 50000/latency_ns = 500/' %s | cs-opt --replicate-devices=hierarchical=true --assign-devices | FileCheck %s --check-prefix=SEVERAL
// RUN: sed 's/tensor<3x64/tensor<70x64/g' %s | cs-opt --replicate-devices=hierarchical=true --assign-devices | FileCheck %s --check-prefix=TWO
// RUN: cs-opt --schedule-comm --expand-collectives --overlap-rpc-memcpy=mode=none --verify-distributed %t1 | FileCheck %s --check-prefix=COPIES --strict-whitespace

cs.cluster @node nodes = 2 devices = 2 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 1, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>

!t = !cs.placed<tensor<3x64xf32>, device 0>
!b = !cs.placed<tensor<1xf32>, device 0>

// REMARK: "w": mean of 2 devices in shards, 1 on each, 1536 bytes copied
// REMARK: "b": mean of 2 devices on device 0, 4 bytes copied

// "b" has fewer rows than there are devices. Its update depends on what all devices have, so all do it.
// CHECK-LABEL: func.func @step(
// CHECK-SAME: %[[W0:[^:]*]]: !cs.placed<tensor<3x64xf32>, device 0> {cs.param = "w"}, %[[W1:[^:]*]]: !cs.placed<tensor<3x64xf32>, device 1> {cs.param = "w"},
// CHECK-SAME: %[[M0:[^:]*]]: !cs.placed<tensor<3x64xf32>, device 0> {cs.state = "m"}, %[[M1:[^:]*]]: !cs.placed<tensor<3x64xf32>, device 1> {cs.state = "m"},
// CHECK: %[[G0:.*]]:2 = cs.fragment "compute.0" on 0
// CHECK: %[[G1:.*]]:2 = cs.fragment "compute.0.device1" on 1
// CHECK: %[[S0:.*]]:2 = cs.split %[[G0]]#0 : {{.*}} -> !cs.placed<tensor<1x64xf32>, device 0>, !cs.placed<tensor<2x64xf32>, device 0>
// CHECK: %[[D0:.*]] = cs.copy %[[S0]]#1 : !cs.placed<tensor<2x64xf32>, device 0> -> !cs.placed<tensor<2x64xf32>, device 1>
// CHECK: %[[S1:.*]]:2 = cs.split %[[G1]]#0
// CHECK: %[[D1:.*]] = cs.copy %[[S1]]#0 : !cs.placed<tensor<1x64xf32>, device 1> -> !cs.placed<tensor<1x64xf32>, device 0>
// CHECK: %[[SUM0:.*]] = cs.fragment "sum.w.shard0" on 0 (%[[S0]]#0, %[[D1]]) deferred
// CHECK: %[[R0:.*]] = cs.all_reduce "w.shard0" mean %[[SUM0]] : !cs.placed<tensor<1x64xf32>, device 0>
// CHECK: %[[C0:.*]] = cs.copy %[[R0]] : !cs.placed<tensor<1x64xf32>, device 0> -> !cs.placed<tensor<1x64xf32>, device 1>
// CHECK: %[[SUM1:.*]] = cs.fragment "sum.w.shard1" on 1 (%[[D0]], %[[S1]]#1) deferred
// CHECK: %[[R1:.*]] = cs.all_reduce "w.shard1" mean %[[SUM1]] : !cs.placed<tensor<2x64xf32>, device 1>
// CHECK: %[[C1:.*]] = cs.copy %[[R1]] : !cs.placed<tensor<2x64xf32>, device 1> -> !cs.placed<tensor<2x64xf32>, device 0>
// CHECK: %[[J0:.*]] = cs.concat %[[R0]], %[[C1]] : !cs.placed<tensor<1x64xf32>, device 0>, !cs.placed<tensor<2x64xf32>, device 0>
// CHECK: %[[J1:.*]] = cs.concat %[[C0]], %[[R1]] : !cs.placed<tensor<1x64xf32>, device 1>, !cs.placed<tensor<2x64xf32>, device 1>
// CHECK: cs.all_reduce "b" mean
// CHECK: %[[U0:.*]]:2 = cs.fragment "update.w" on 0 (%[[W0]], %[[M0]], %[[J0]])
// CHECK: %[[U1:.*]]:2 = cs.fragment "update.w.device1" on 1 (%[[W1]], %[[M1]], %[[J1]])
// CHECK: return %[[U0]]#0, %[[U1]]#0, %[[U0]]#1, %[[U1]]#1
// OFF-NOT: shard
// OFF: cs.all_reduce "w" mean
// The devices take turns.
// SEVERAL: cs.fragment "sum.w.shard2" on 0
// SEVERAL: cs.all_reduce "w.shard2" mean {{.*}} device 0>
// SEVERAL: cs.fragment "sum.w.shard3" on 1
// SEVERAL: cs.concat %w_shard0, %{{[0-9]+}}, %w_shard2
// Rounds of a quarter of it would be shorter than their latency.
// TWO: cs.fragment "sum.w.shard1" on 1
// TWO-NOT: shard2
// SPARSE-NOT: shard
// SPARSE: cs.all_reduce "w" mean
// COPIES: cs.start "copy.compute.0.device1.0.block0.to_device0"
// COPIES-NOT: {{^    %[^ ]+ = cs.copy}}
// COPIES: return
func.func @step(%w: !t {cs.param = "w"}, %m: !t {cs.state = "m"}, %b: !b {cs.param = "b"}, %x: !t {cs.batch = "x"})
    -> (!t {cs.updates = "w"}, !t {cs.updates = "m"}, !b {cs.updates = "b"}) attributes {cs.step} {
  %g, %h = cs.fragment "compute.0" on 0 (%w, %b, %x) cost <flops = 1, bytes = 1, ns = 1000> : (!t, !b, !t) -> (!t, !b)
  %r = cs.all_reduce "w" mean %g : !t
  %q = cs.all_reduce "b" mean %h : !b
  %nw, %nm = cs.fragment "update.w" on 0 (%w, %m, %r) deferred cost <flops = 1, bytes = 1, ns = 10> : (!t, !t, !t) -> (!t, !t)
  %nb = cs.fragment "update.b" on 0 (%b, %q) deferred cost <flops = 1, bytes = 1, ns = 10> : (!b, !b) -> !b
  return %nw, %nm, %nb : !t, !t, !b
}
