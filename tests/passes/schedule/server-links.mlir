// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: cs-opt --insert-dist-comm="mode=parameter-server servers=3 min-block-elements=1" --extract-problem %s | FileCheck %s
// RUN: cs-opt --insert-dist-comm="mode=parameter-server servers=2 min-block-elements=1" --extract-problem %s | FileCheck %s --check-prefix=BUSIER
// RUN: cs-opt --cs-parameter-server-pipeline="servers=2 schedule=bytescheduler min-block-elements=1" %s | FileCheck %s --check-prefix=CREDIT

// A server of three gets a third of the rows of both trainers, less than a trainer's link carries. Where there are as
// many trainers as servers, a server's link is the busier one, whatever is on the way.

cs.cluster @node nodes = 2 devices = 1 device = <kind = cuda, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>

// CHECK-NOT: cs.problem.link "server
// Three connections share it: what comes back is in packets of a third of the rate, that take a third of 8 ms.
// CHECK-DAG: cs.problem.link "up" bytes_per_second 125000000 {cs.ahead_bytes = 131072 : i64, cs.by_connection, cs.credit_until_sent, cs.packet_bytes = 65536 : i64}
// CHECK-DAG: cs.problem.link "down"
// CHECK-NOT: cs.problem.link "server
// Each server has a connection.
// CHECK: cs.problem.communication {{.*}} connection 1{{$}}
// CHECK: cs.problem.communication {{.*}} connection 2{{$}}
// CHECK: cs.problem.communication {{.*}} connection 3{{$}}
// A packet of each of two trainers is in the way there.
// BUSIER-DAG: cs.problem.link "server.0.in" bytes_per_second 125000000 {cs.ahead_bytes = 262144 : i64, cs.by_connection, cs.credit_until_sent, cs.packet_bytes = 262144 : i64}
// BUSIER-DAG: cs.problem.link "server.0.out"
// BUSIER-DAG: cs.problem.link "server.1.in"
// BUSIER-DAG: cs.problem.link "server.1.out"
// The policy's credit on the link, 16 MiB, is for both servers.
// CREDIT: credit = 8388608>
func.func @step(%w: tensor<2001x10xf32> {cs.param = "w"}, %x: tensor<2001x10xf32> {cs.batch = "x"})
    -> (tensor<2001x10xf32> {cs.updates = "w"}) attributes {cs.step} {
  %g = arith.mulf %w, %x : tensor<2001x10xf32>
  %g1 = cs.gradient %g of "w" : tensor<2001x10xf32>
  %w1 = arith.subf %w, %g1 : tensor<2001x10xf32>
  return %w1 : tensor<2001x10xf32>
}
