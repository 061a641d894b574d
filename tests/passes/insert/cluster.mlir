// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: %cs-opt --insert-dist-comm --remarks-filter=insert-dist-comm %s 2>&1 | FileCheck %s --check-prefix=DEFAULT
// RUN: %cs-opt --insert-dist-comm=cluster=%S/Inputs/lab.mlir --remarks-filter=insert-dist-comm %s 2>&1 | FileCheck %s --check-prefix=FILE
// RUN: not cs-opt --insert-dist-comm=cluster=%t.missing %s 2>&1 | FileCheck %s --check-prefix=MISSING
// RUN: not cs-opt --insert-dist-comm=cluster=%S/Inputs/none.mlir %s 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: not cs-opt --insert-dist-comm=cluster=%S/Inputs/zero.mlir %s 2>&1 | FileCheck %s --check-prefix=ZERO

// Numbers that no link has are taken, with a warning: they are in another unit, most likely.
// RUN: sed -e 's/mbit_per_s = [0-9]*/mbit_per_s = 957000000/' -e 's/gb_per_s = 20/gb_per_s = 21/' %S/Inputs/lab.mlir > %t.bits.mlir
// RUN: cs-opt --insert-dist-comm=cluster=%t.bits.mlir %s -o /dev/null 2>&1 | FileCheck %s --check-prefix=UNIT
// RUN: sed 's/mbit_per_s = [0-9]*/mbit_per_s = 64000000/' %S/Inputs/lab.mlir > %t.nvlink.mlir
// RUN: cs-opt --insert-dist-comm=cluster=%t.nvlink.mlir %s -o /dev/null 2>&1 | count 0
// UNIT: bits.mlir:{{.*}}: warning: cluster @lab{{.*}}: in{{tra|ter}}: mbit_per_s is in Mbit/s, of which links have 1 to 100000000, got: 957000000
// UNIT-NOT: error

// The number of nodes follows from the batch.
// DEFAULT: remark: [Passed] cluster | {{.*}}no cs.cluster given: assuming @default of 3 nodes with 1 cpu of 40 gflop/s each, linked at 1000 mbit/s with 50000 ns latency
// DEFAULT: cs.cluster @default nodes = 3 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
// DEFAULT-SAME: inter = <mbit_per_s = 1000, latency_ns = 50000>

// The name of a function is taken.
// FILE: remark: [Passed] cluster | {{.*}}cluster @lab_0 of 3 nodes is from '{{.*}}lab.mlir'
// FILE: cs.cluster @lab_0 nodes = 3 devices = 1 device = <kind = cpu, gflops = 99, gb_per_s = 20>
// FILE-NOT: cs.cluster

// MISSING: error: cannot read the cluster file '{{.*}}.missing': No such file or directory
// NONE: the cluster file '{{.*}}none.mlir' has no cs.cluster
// ZERO: zero.mlir:4:1: error: 'cs.cluster' op must have at least 1 device per node, got: 0
func.func private @lab()
func.func @step(%w: tensor<4xf32> {cs.param = "w"}, %x: tensor<4xf32> {cs.batch = "x"})
    -> (tensor<4xf32> {cs.updates = "w"}) attributes {cs.step, cs.global_batch = 12 : i64} {
  %g1 = cs.gradient %x of "w" : tensor<4xf32>
  %w1 = arith.subf %w, %g1 : tensor<4xf32>
  return %w1 : tensor<4xf32>
}
