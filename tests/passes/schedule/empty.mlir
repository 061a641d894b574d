// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// A gradient without elements shares no message: it would be no piece of one.

// RUN: %cs-opt --insert-dist-comm --schedule-comm=policy=fixed-buckets %s | FileCheck %s
// RUN: %cs-opt --cs-all-reduce-pipeline=schedule=mg-wfbp %s -o /dev/null
// RUN: %cs-opt --cs-parameter-server-pipeline="servers=1 schedule=fixed-buckets" %s -o /dev/null
// CHECK-DAG: cs.start "n"
// CHECK-DAG: cs.start "v+1"
// CHECK-NOT: cs.start

cs.cluster @lab nodes = 2 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>

func.func @step(%v: tensor<8xf32> {cs.param = "v"}, %w: tensor<8xf32> {cs.param = "w"}, %n: tensor<0xf32> {cs.param = "n"},
                %x: tensor<8xf32> {cs.batch = "x"})
    -> (tensor<8xf32> {cs.updates = "v"}, tensor<8xf32> {cs.updates = "w"}, tensor<0xf32> {cs.updates = "n"}) attributes {cs.step} {
  %gv0 = arith.mulf %v, %x : tensor<8xf32>
  %gv = cs.gradient %gv0 of "v" : tensor<8xf32>
  %gw0 = arith.mulf %w, %x : tensor<8xf32>
  %gw = cs.gradient %gw0 of "w" : tensor<8xf32>
  %gn0 = arith.mulf %n, %n : tensor<0xf32>
  %gn = cs.gradient %gn0 of "n" : tensor<0xf32>
  %v1 = arith.subf %v, %gv : tensor<8xf32>
  %w1 = arith.subf %w, %gw : tensor<8xf32>
  %n1 = arith.subf %n, %gn : tensor<0xf32>
  return %v1, %w1, %n1 : tensor<8xf32>, tensor<8xf32>, tensor<0xf32>
}
