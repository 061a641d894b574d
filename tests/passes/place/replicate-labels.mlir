// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a program calls its fragments decides nothing: that a step is on all devices, `cs.devices` says.

// RUN: %cs-opt --replicate-devices %s -o %t1
// RUN: FileCheck %s --input-file=%t1
// RUN: %cs-opt --replicate-devices %t1 -o %t2
// RUN: cmp %t1 %t2
// RUN: sed 's/devices = 2 device/devices = 1 device/' %t1 > %t3
// RUN: not cs-opt --replicate-devices %t3 2>&1 | FileCheck %s --check-prefix=CLUSTER
// RUN: sed 's/devices = 2 device/devices = 4 device/' %t1 > %t4
// RUN: not cs-opt --replicate-devices %t4 2>&1 | FileCheck %s --check-prefix=CLUSTER
// RUN: not cs-opt --assign-devices %t4 2>&1 | FileCheck %s --check-prefix=CLUSTER
// RUN: cs-opt --schedule-comm --expand-collectives %t4 -o %t5
// RUN: not cs-translate --mlir-to-plan %t5 -o %t6 2>&1 | FileCheck %s --check-prefix=CLUSTER
// CLUSTER: error: {{.*}}is on 2 devices of each node, as 'cs.devices' says, and must match the cluster's, {{[14]}}{{$}}

cs.cluster @node nodes = 2 devices = 2 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
!t = !cs.placed<tensor<4xf32>, device 0>

// CHECK-LABEL: func.func @step(
// CHECK-SAME: device 1> {cs.batch = "x"}
// CHECK-SAME: attributes {cs.devices = 2 : i64, cs.step}
// CHECK: %[[MINE:.*]] = cs.fragment "sum.mine" on 0 (%{{.*}}, %{{.*}})
// CHECK: %[[OTHER:.*]] = cs.fragment "sum.mine.device1" on 1
// CHECK: %[[COPY:.*]] = cs.copy %[[OTHER]]
// CHECK: %[[SUM:.*]] = cs.fragment "sum.w" on 0 (%[[MINE]], %[[COPY]])
// CHECK: cs.all_reduce "w" mean %[[SUM]]
func.func @step(%w: !t {cs.param = "w"}, %x: !t {cs.batch = "x"}) -> (!t {cs.updates = "w"}) attributes {cs.step} {
  %g = cs.fragment "sum.mine" on 0 (%x, %x) : (!t, !t) -> !t {
  ^bb0(%a: tensor<4xf32>, %b: tensor<4xf32>):
    %s = arith.addf %a, %b : tensor<4xf32>
    cs.return %s : tensor<4xf32>
  }
  %r = cs.all_reduce "w" mean %g : !t
  %n = cs.fragment "update.w" on 0 (%w, %r) deferred : (!t, !t) -> !t {
  ^bb0(%a: tensor<4xf32>, %b: tensor<4xf32>):
    %s = arith.subf %a, %b : tensor<4xf32>
    cs.return %s : tensor<4xf32>
  }
  return %n : !t
}
