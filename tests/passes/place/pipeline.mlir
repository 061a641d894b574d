// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: cs-opt --cs-all-reduce-pipeline="copies=overlap staging-bytes=1000" %s -o %t1
// RUN: cs-opt --insert-dist-comm --replicate-devices --assign-devices --schedule-comm="turns=true copies=overlap" --expand-collectives --overlap-rpc-memcpy=staging-bytes=1000 --verify-distributed %s -o %t2
// RUN: cmp %t1 %t2
// RUN: cs-opt --cs-all-reduce-pipeline="effort=3 reorder=true memory-limit=100000 message-bytes=1" %s -o %t3
// RUN: cs-opt --cse --insert-dist-comm --replicate-devices=hierarchical=true --assign-devices --combine-collectives --schedule-comm="effort=3 reorder=true memory-limit=100000 message-bytes=1" --expand-collectives --overlap-rpc-memcpy=mode=none --verify-distributed %s -o %t4
// RUN: cmp %t3 %t4
// Where devices have memory of their own, copies are the default, and needed.
// RUN: sed 's/kind = cpu/kind = cuda/' %s | cs-opt --cs-all-reduce-pipeline -o %t5
// RUN: sed 's/kind = cpu/kind = cuda/' %s | cs-opt --cs-all-reduce-pipeline=copies=overlap | cmp - %t5
// RUN: sed 's/kind = cpu/kind = cuda/' %s | not cs-opt --cs-all-reduce-pipeline=copies=none 2>&1 | FileCheck %s --check-prefix=CUDA
// CUDA: mode (copies of the pipelines) must be overlap or in-line where devices of kind cuda communicate through the host, got: none
// RUN: cs-opt --cs-all-reduce-pipeline="schedule=priority assign-devices=false copies=in-line" %s | FileCheck %s
// RUN: cs-opt --cs-all-reduce-pipeline=schedule=priority %s | FileCheck %s --check-prefix=NONE
// RUN: not cs-opt --cs-all-reduce-pipeline="schedule=priority copies=devices" %s 2>&1 | FileCheck %s --check-prefix=PRIORITY
// PRIORITY: mode must be none, overlap, in-line or auto, got: devices
// RUN: not cs-opt --cs-all-reduce-pipeline=copies=late %s 2>&1 | FileCheck %s --check-prefix=LATE
// One node: nobody communicates, and the owner hands the new value out.
// RUN: sed 's/nodes = 2/nodes = 1/;s/global_batch = 24/global_batch = 12/' %s | cs-opt --cs-all-reduce-pipeline=copies=overlap | FileCheck %s --check-prefix=ONE
// RUN: not cs-opt --cs-all-reduce-pipeline="staging-bytes=64" %s 2>&1 | FileCheck %s --check-prefix=STAGING
// RUN: not cs-opt --cs-all-reduce-pipeline="copies=in-line staging-bytes=64" %s 2>&1 | FileCheck %s --check-prefix=INLINE
// STAGING: staging-bytes must go with mode=overlap, got: none
// INLINE: staging-bytes must go with mode=overlap, got: in-line

cs.cluster @node nodes = 2 devices = 2 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>

// CHECK: cs.fragment "compute.0.device1" on 1
// CHECK: cs.copy %{{.*}} : !cs.placed<tensor<6xf32>, device 0> -> !cs.placed<tensor<6xf32>, device 0 host>
// CHECK: cs.start "w"
// CHECK-NOT: cs.start "w.to_device"
// CHECK: cs.fragment "update.v" on 0
// NONE: cs.fragment "update.v" on 1
// NONE-NOT: host
// LATE: copies must be none, overlap, in-line or auto, got: late
// ONE-LABEL: func.func @step
// ONE-NOT: host
// ONE: cs.fragment "sum.v" on 1
// ONE: cs.fragment "update.v" on 1
// ONE: cs.start "copy.update.v.to_device0"
// ONE: return
func.func @step(%w: tensor<6xf32> {cs.param = "w"}, %v: tensor<6xf32> {cs.param = "v"}, %x: tensor<6xf32> {cs.batch = "x"})
    -> (tensor<6xf32> {cs.updates = "w"}, tensor<6xf32> {cs.updates = "v"}) attributes {cs.step, cs.global_batch = 24 : i64} {
  %g = arith.mulf %w, %x : tensor<6xf32>
  %g1 = cs.gradient %g of "w" : tensor<6xf32>
  %h = arith.mulf %v, %g : tensor<6xf32>
  %h1 = cs.gradient %h of "v" : tensor<6xf32>
  %w1 = arith.subf %w, %g1 : tensor<6xf32>
  %v1 = arith.subf %v, %h1 : tensor<6xf32>
  return %w1, %v1 : tensor<6xf32>, tensor<6xf32>
}
