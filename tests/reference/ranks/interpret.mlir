// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Four nodes add up what each of them counts: 4 times 1, then 4 times 4 + 1.

// RUN: cs-opt --interpret=2 %s | FileCheck %s
// RUN: cs-opt --schedule-comm --expand-collectives --interpret=2 %s | FileCheck %s
// CHECK: step 1  total 4 +- 0
// CHECK: step 2  total 20 +- 0

// RUN: not cs-opt --interpret=1 --interpret-workers=2 %s 2>&1 | FileCheck %s --check-prefix=WORKERS
// WORKERS: --interpret-workers must be 4, the devices of the cluster, got: 2

// RUN: not cs-opt --interpret=1 --interpret-reduction=sum %s 2>&1 | FileCheck %s --check-prefix=REDUCTION
// REDUCTION: this module says what gradients become

// A rank that does not join, and one that joins another collective.
// RUN: cs-opt --specialize-ranks %s | sed '0,/"total" sum/s//"total" max/' > %t.other
// RUN: not cs-opt --interpret=1 %t.other 2>&1 | FileCheck %s --check-prefix=OTHER
// OTHER: error: is not the communication that rank 0 has here, which is cs.all_reduce
// RUN: cs-opt --specialize-ranks %s | sed '0,/"total" sum/s//"other" sum/' > %t.alone
// RUN: not cs-opt --interpret=1 %t.alone 2>&1 | FileCheck %s --check-prefix=ALONE
// ALONE: error: rank 0 waits here for what never comes

// Compute of which only the cost is known.
// RUN: not cs-opt --interpret=1 %S/Inputs/cost.mlir 2>&1 | FileCheck %s --check-prefix=COST
// COST: error: 'cs.fragment' op has no body, only a cost

cs.cluster @lab nodes = 4 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>

!t = !cs.placed<tensor<f32>, device 0>
func.func @step(%v: !t {cs.state = "count", cs.per_rank}) -> (!t {cs.updates = "count"}, !t {cs.metric = "total"}) attributes {cs.step} {
  %own = cs.fragment "add" on 0 (%v) : (!t) -> !t {
  ^bb0(%a: tensor<f32>):
    %one = arith.constant dense<1.0> : tensor<f32>
    %b = arith.addf %a, %one : tensor<f32>
    cs.return %b : tensor<f32>
  }
  %all = cs.all_reduce "total" sum %own : !t
  return %all, %all : !t, !t
}
