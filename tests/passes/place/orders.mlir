// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// --replicate-devices once more, or where it comes too late: nothing is counted twice, or not for all devices.

// RUN: cs-opt --insert-dist-comm=reduction=sum --replicate-devices %s -o %t1
// RUN: cs-opt --replicate-devices %t1 -o %t2
// RUN: cmp %t1 %t2
// RUN: sed 's/, %%x: tensor<4xf32> {cs.batch = "x"}//' %s > %t.without.mlir
// RUN: cs-opt --insert-dist-comm=reduction=sum --replicate-devices %t.without.mlir -o %t1
// RUN: cs-opt --replicate-devices %t1 -o %t2
// RUN: cmp %t1 %t2
// RUN: FileCheck %s --check-prefix=TWICE --input-file=%t2
// RUN: cs-opt --assign-devices --replicate-devices %t1 | FileCheck %s --check-prefix=TWICE
// RUN: not cs-opt --replicate-devices --insert-dist-comm %s 2>&1 | FileCheck %s --check-prefix=LEVEL
// RUN: not cs-opt --lower-sparse-comm=density=0.5 --insert-dist-comm %s 2>&1 | FileCheck %s --check-prefix=SPARSE
// RUN: not cs-opt --insert-dist-comm --assign-devices --replicate-devices %s 2>&1 | FileCheck %s --check-prefix=LATE
// RUN: not cs-opt --insert-dist-comm=reduction=sum --assign-devices --replicate-devices %t.without.mlir 2>&1 | FileCheck %s --check-prefix=LATE
// RUN: not cs-opt --insert-dist-comm --lower-sparse-comm="density=0.5 min-elements=1 method=allgather" --replicate-devices %s 2>&1 | FileCheck %s --check-prefix=STATE
// RUN: not cs-opt --insert-dist-comm --lower-sparse-comm="density=0.5 min-elements=1 method=allgather feedback=false" --replicate-devices %s 2>&1 | FileCheck %s --check-prefix=LISTS
// RUN: sed "s/4xf32/640xf32/g" %s > %t.large.mlir
// RUN: not cs-opt --insert-dist-comm="mode=parameter-server reduction=sum min-block-elements=1" --lower-sparse-comm="density=0.1 min-elements=1 feedback=false" --replicate-devices %t.large.mlir 2>&1 | FileCheck %s --check-prefix=LISTS

// A batch that nothing reads has a part for each device, which counts it.
// RUN: cs-opt --insert-dist-comm --replicate-devices %s | FileCheck %s --check-prefix=BATCH
// BATCH: !cs.placed<tensor<4xf32>, device 0> {cs.batch = "x"}, %{{.*}}: !cs.placed<tensor<4xf32>, device 1> {cs.batch = "x"}

// TWICE-COUNT-1: cs.fragment "sum.p"
// TWICE-NOT: cs.fragment "sum.p"
// LEVEL: error: 'func.func' op is of level 0: run --insert-dist-comm before --replicate-devices
// SPARSE: error: 'func.func' op is of level 0: run --insert-dist-comm before --lower-sparse-comm
// LATE: error: 'func.func' op is on several devices, but its samples on device 0 alone: run --replicate-devices directly behind --insert-dist-comm
// STATE: error: 'func.func' op argument {{[0-9]+}}, state "p.residual", is each rank's own: run --replicate-devices before --lower-sparse-comm
// LISTS: error: 'cs.pack_lists' op makes a list to be sent: run --replicate-devices before --lower-sparse-comm

cs.cluster @lab nodes = 2 devices = 2 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>

func.func @step(%p: tensor<4xf32> {cs.param = "p"}, %q: tensor<4xf32> {cs.param = "q"}, %x: tensor<4xf32> {cs.batch = "x"})
    -> (tensor<4xf32> {cs.updates = "p"}, tensor<4xf32> {cs.updates = "q"}) attributes {cs.step} {
  %s = arith.mulf %p, %p : tensor<4xf32>
  %t = arith.mulf %q, %q : tensor<4xf32>
  %g = cs.gradient %s of "p" : tensor<4xf32>
  %h = cs.gradient %t of "q" : tensor<4xf32>
  %a = arith.subf %p, %g : tensor<4xf32>
  %b = arith.subf %q, %h : tensor<4xf32>
  return %a, %b : tensor<4xf32>, tensor<4xf32>
}
