// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: %cs-opt --insert-dist-comm="mode=parameter-server servers=1" --schedule-comm=policy=fixed-buckets --verify-distributed %s | FileCheck %s
// RUN: %cs-opt --insert-dist-comm="mode=parameter-server servers=1" --schedule-comm="policy=priority cut-as=fixed-buckets" %s | FileCheck %s
// RUN: %cs-opt --insert-dist-comm="mode=parameter-server servers=1 sync-mode=async" --schedule-comm=policy=fixed-buckets --verify-distributed %s | FileCheck %s --check-prefix=ASYNC
// RUN: %cs-opt --insert-dist-comm="mode=parameter-server servers=1" --schedule-comm="policy=fixed-buckets fuse-blocks=false" %s | FileCheck %s --check-prefix=ALONE
// RUN: %cs-opt --insert-dist-comm="mode=parameter-server servers=1" --schedule-comm="policy=priority" %s | FileCheck %s --check-prefix=ALONE

// Small blocks of a server share messages; apart stay what takes longer to copy (100,000 bytes at 20 GB/s, of 20 us), what
// has another type, and metrics.

cs.cluster @lab nodes = 2 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000, overhead_ns = 20000>

// ALONE-NOT: cs.pack

// CHECK-LABEL: func.func @step
// CHECK-NOT: cs.start "a"
// CHECK-DAG: cs.start "big"
// CHECK-DAG: cs.start "wide"
// CHECK-DAG: cs.start "metric.loss"
// CHECK-DAG: %[[UP:.*]] = cs.pack %{{.*}}#0[0, 8], %{{.*}}#1[0, 4] : {{.*}} -> !cs.placed<tensor<12xf32>, device 0>
// CHECK-DAG: cs.start "a+1" {{.*}}(%[[UP]])
// CHECK-DAG: cs.start "a+1.new"
// CHECK-DAG: %[[A:.*]] = cs.unpack %{{.*}}[0, 8] : {{.*}} -> !cs.placed<tensor<2x4xf32>, device 0>
// CHECK-DAG: %[[B:.*]] = cs.unpack %{{.*}}[8, 12] : {{.*}} -> !cs.placed<tensor<4xf32>, device 0>
// CHECK: return %[[A]], %[[B]],

// CHECK-LABEL: func.func @server.0
// ASYNC-LABEL: func.func @server.0
// CHECK: %[[ALL:.*]] = cs.collect "a+1" by mean from @step : !cs.placed<tensor<12xf32>, device 0>
// ASYNC: cs.collect "a+1" each from @step
// CHECK-DAG: %[[GA:.*]] = cs.unpack %[[ALL]][0, 8]
// CHECK-DAG: %[[GB:.*]] = cs.unpack %[[ALL]][8, 12]
// CHECK: %[[NA:.*]] = cs.fragment "update.a" on 0 ({{.*}}%[[GA]]
// CHECK: %[[NB:.*]] = cs.fragment "update.b" on 0 ({{.*}}%[[GB]]
// CHECK: %[[DOWN:.*]] = cs.pack %[[NA]][0, 8], %[[NB]][0, 4]
// CHECK: cs.publish "a+1.new" %[[DOWN]] to @step
func.func @step(%a: tensor<2x4xf32> {cs.param = "a"}, %b: tensor<4xf32> {cs.param = "b"}, %wide: tensor<4xf64> {cs.param = "wide"},
                %big: tensor<30000xf32> {cs.param = "big"}, %x: tensor<8xf32> {cs.batch = "x"})
    -> (tensor<2x4xf32> {cs.updates = "a"}, tensor<4xf32> {cs.updates = "b"}, tensor<4xf64> {cs.updates = "wide"},
        tensor<30000xf32> {cs.updates = "big"}, tensor<f32> {cs.metric = "loss"}) attributes {cs.step} {
  %ga, %gb, %gw, %gx, %loss = cs.profiled "backward" (%x, %a, %b, %wide, %big) cost <flops = 0, bytes = 0, ns = 1000>
      : (tensor<8xf32>, tensor<2x4xf32>, tensor<4xf32>, tensor<4xf64>, tensor<30000xf32>)
      -> (tensor<2x4xf32>, tensor<4xf32>, tensor<4xf64>, tensor<30000xf32>, tensor<f32>)
  %ra = cs.gradient %ga of "a" : tensor<2x4xf32>
  %rb = cs.gradient %gb of "b" : tensor<4xf32>
  %rw = cs.gradient %gw of "wide" : tensor<4xf64>
  %rx = cs.gradient %gx of "big" : tensor<30000xf32>
  %a1 = cs.profiled "update.a" elementwise (%a, %ra) cost <flops = 0, bytes = 0, ns = 1000> : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %b1 = cs.profiled "update.b" elementwise (%b, %rb) cost <flops = 0, bytes = 0, ns = 1000> : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %w1 = cs.profiled "update.wide" elementwise (%wide, %rw) cost <flops = 0, bytes = 0, ns = 1000> : (tensor<4xf64>, tensor<4xf64>) -> tensor<4xf64>
  %x1 = cs.profiled "update.big" elementwise (%big, %rx) cost <flops = 0, bytes = 0, ns = 1000> : (tensor<30000xf32>, tensor<30000xf32>) -> tensor<30000xf32>
  return %a1, %b1, %w1, %x1, %loss : tensor<2x4xf32>, tensor<4xf32>, tensor<4xf64>, tensor<30000xf32>, tensor<f32>
}
