// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What other passes have made something else of would go without momentum: it is refused.

// RUN: not cs-opt --insert-dist-comm --combine-collectives --lower-sparse-comm=momentum=0.5 %s 2>&1 | FileCheck %s --check-prefix=SUM
// RUN: sed 's/"p"/"p+p"/g' %s > %t.plus.mlir
// RUN: not cs-opt --insert-dist-comm --combine-collectives --lower-sparse-comm=momentum=0.5 %t.plus.mlir 2>&1 | FileCheck %s --check-prefix=SUM
// RUN: cs-opt --insert-dist-comm --lower-sparse-comm=momentum=0.5 --combine-collectives %s | FileCheck %s
// RUN: cs-opt --insert-dist-comm --combine-collectives --lower-sparse-comm="density=0.5 min-elements=1" %s -o /dev/null
// RUN: sed 's/devices = 1/devices = 2/; s/mbit_per_s = 80000/mbit_per_s = 1/; s/4xf32/64xf32/g' %s > %t.two.mlir
// RUN: not cs-opt --insert-dist-comm --replicate-devices=hierarchical=true --lower-sparse-comm=momentum=0.5 %t.two.mlir 2>&1 | FileCheck %s --check-prefix=SHARD
// RUN: cs-opt --insert-dist-comm --replicate-devices --lower-sparse-comm=momentum=0.5 %t.two.mlir | FileCheck %s

// What stands in the place of the optimizer's momentum counts for all gradients: a later run over the step cannot have another.
// RUN: cs-opt --insert-dist-comm --lower-sparse-comm=momentum=0.5 %s -o %t.once.mlir
// RUN: cs-opt --lower-sparse-comm=momentum=0.5 %t.once.mlir -o %t.twice.mlir
// RUN: cmp %t.once.mlir %t.twice.mlir
// RUN: cs-opt --lower-sparse-comm %t.once.mlir -o %t.twice.mlir
// RUN: cmp %t.once.mlir %t.twice.mlir
// RUN: not cs-opt --lower-sparse-comm=momentum=0.75 %t.once.mlir 2>&1 | FileCheck %s --check-prefix=OTHER
// RUN: not cs-opt --lower-sparse-comm="density=0.5 min-elements=1" %t.once.mlir 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: cs-opt --insert-dist-comm --lower-sparse-comm="rules=p=0.5:allgather min-elements=1" %s -o %t.lists.mlir
// RUN: not cs-opt --lower-sparse-comm=momentum=0.5 %t.lists.mlir 2>&1 | FileCheck %s --check-prefix=LATE
// RUN: cs-opt --lower-sparse-comm="rules=q=0.5:allgather min-elements=1" %t.lists.mlir | FileCheck %s --check-prefix=BOTH
// OTHER: error: 'func.func' op has gradients that were lowered with momentum=0.5, which counts for all: a later run must ask for the same, got: momentum=0.75
// NONE: lowered with momentum=0.5, which counts for all: a later run must ask for the same, got: momentum=0
// LATE: lowered with momentum=0, which counts for all: a later run must ask for the same, got: momentum=0.5
// BOTH-DAG: cs.fragment "top_k.p"
// BOTH-DAG: cs.fragment "top_k.q"

// SUM: error: 'cs.all_reduce' op is not corrected, being no all-reduce of one gradient: run --lower-sparse-comm before --combine-collectives
// SHARD: error: 'cs.all_reduce' op is not corrected, being a shard of a gradient: run --replicate-devices without hierarchical
// CHECK-DAG: cs.fragment "correct.p"
// CHECK-DAG: cs.fragment "correct.q"

cs.cluster @lab nodes = 2 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>

func.func @step(%p: tensor<4xf32> {cs.param = "p"}, %q: tensor<4xf32> {cs.param = "q"}, %x: tensor<4xf32> {cs.batch = "x"})
    -> (tensor<4xf32> {cs.updates = "p"}) attributes {cs.step} {
  %s = arith.mulf %p, %x : tensor<4xf32>
  %t = arith.mulf %q, %x : tensor<4xf32>
  %g = cs.gradient %s of "p" : tensor<4xf32>
  %h = cs.gradient %t of "q" : tensor<4xf32>
  %b = arith.addf %g, %h : tensor<4xf32>
  %a = arith.subf %p, %b : tensor<4xf32>
  return %a : tensor<4xf32>
}
