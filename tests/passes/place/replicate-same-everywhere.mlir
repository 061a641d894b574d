// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A gradient that does not depend on the batch is made once a node. A sum over all
// devices has it once for each of them, a mean is what it is.

// RUN: cs-opt --insert-dist-comm=reduction=sum --replicate-devices %s | FileCheck %s --check-prefix=SUM
// RUN: cs-opt --insert-dist-comm=reduction=mean --replicate-devices %s | FileCheck %s --check-prefix=MEAN
// RUN: cs-opt --insert-dist-comm="mode=parameter-server reduction=sum min-block-elements=1 servers=2" --replicate-devices %s | FileCheck %s --check-prefix=SERVERS

cs.cluster @lab nodes = 2 devices = 2 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>

// SUM: %[[SAME:.*]] = cs.fragment "compute.0" on 0
// SUM: %[[TWICE:.*]] = cs.fragment "sum.p" on 0 (%[[SAME]], %[[SAME]])
// SUM: arith.addf
// SUM: cs.all_reduce "p" sum %[[TWICE]]

// MEAN: %[[SAME:.*]] = cs.fragment "compute.0" on 0
// MEAN-NOT: sum.p
// MEAN: cs.all_reduce "p" mean %[[SAME]]

// SERVERS: %[[SAME:.*]] = cs.fragment "compute.0" on 0
// SERVERS: %[[TWICE:.*]] = cs.fragment "sum.p" on 0 (%[[SAME]], %[[SAME]])
// SERVERS: cs.split %[[TWICE]]
func.func @step(%p: tensor<4xf32> {cs.param = "p"}, %q: tensor<4xf32> {cs.param = "q"},
                %x: tensor<4xf32> {cs.batch = "x"})
    -> (tensor<4xf32> {cs.updates = "p"}, tensor<4xf32> {cs.updates = "q"}) attributes {cs.step} {
  %s = arith.mulf %p, %p : tensor<4xf32>
  %t = arith.mulf %q, %x : tensor<4xf32>
  %g = cs.gradient %s of "p" : tensor<4xf32>
  %h = cs.gradient %t of "q" : tensor<4xf32>
  %a = arith.subf %p, %g : tensor<4xf32>
  %b = arith.subf %q, %h : tensor<4xf32>
  return %a, %b : tensor<4xf32>, tensor<4xf32>
}
