// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Trainers of asynchronous servers do not wait for each other, and each sends in one step of several: the problem says so,
// and its bounds are those that the program has.

// RUN: split-file %s %t
// RUN: cs-opt --insert-dist-comm="mode=parameter-server servers=1 sync-mode=half-async merge=4" %t/step.mlir -o %t/apart.mlir
// RUN: cs-opt --extract-problem=file=%t/problem.mlir --schedule-comm="policy=fifo cut-blocks=false fuse-blocks=false" %t/apart.mlir | FileCheck %s --check-prefix=PROGRAM
// RUN: FileCheck %s --input-file=%t/problem.mlir --check-prefix=PROBLEM
// RUN: cs-opt --solve-problem=policy=fifo %t/problem.mlir -o %t/solved.mlir
// RUN: FileCheck %s --input-file=%t/solved.mlir --check-prefix=SOLVED
// RUN: cs-opt --verify-solution %t/solved.mlir -o /dev/null
// PROGRAM: cs.schedule = #cs.schedule<policy = "fifo", period_ns = {{[0-9]+}}, bound_ns = 4000000, any_order_bound_ns = 4000000
// PROBLEM: cs.problem @step.problem attributes {cs.steps_apart = 4 : i64}
// SOLVED: cs.solution "fifo" period_ns {{.*}} bound_ns 4000000 any_order_bound_ns 4000000

// In step with each other, the link decides; so it is no bound of theirs.
// RUN: cs-opt --insert-dist-comm="mode=parameter-server servers=1" %t/step.mlir -o %t/together.mlir
// RUN: cs-opt --extract-problem=file=%t/problem.mlir %t/together.mlir -o /dev/null
// RUN: cs-opt --solve-problem=policy=fifo %t/problem.mlir | FileCheck %s --check-prefix=TOGETHER
// TOGETHER-NOT: steps_apart
// RUN: sed 's/bound_ns 4000000/bound_ns 5000000/' %t/solved.mlir > %t/above.mlir
// RUN: not cs-opt --verify-solution %t/above.mlir -o /dev/null 2>&1 | FileCheck %s --check-prefix=ABOVE
// ABOVE: bound_ns must be at most 4000000, which is proved, got: 5000000

// RUN: sed 's/steps_apart = 4/steps_apart = 0/' %t/solved.mlir > %t/zero.mlir
// RUN: not cs-opt --solve-problem %t/zero.mlir -o /dev/null 2>&1 | FileCheck %s --check-prefix=ZERO
// ZERO: error: 'cs.problem' op of the steps of nodes apart at least 1 must be one that sends, got: 0
// RUN: sed 's/steps_apart = 4 : i64/steps_apart = "4"/' %t/solved.mlir > %t/text.mlir
// RUN: not cs-opt --solve-problem %t/text.mlir -o /dev/null 2>&1 | FileCheck %s --check-prefix=TEXT
// TEXT: error: 'cs.problem' op cs.steps_apart must be an i64, got: "4"

//--- step.mlir
cs.cluster @lab nodes = 2 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
func.func @step(%w: tensor<250000xf32> {cs.param = "w"}, %x: tensor<8xf32> {cs.batch = "x"}) -> (tensor<250000xf32> {cs.updates = "w"}) attributes {cs.step} {
  %g = cs.profiled "compute" (%x, %w) cost <flops = 0, bytes = 0, ns = 3000000> : (tensor<8xf32>, tensor<250000xf32>) -> tensor<250000xf32>
  %m = cs.gradient %g of "w" : tensor<250000xf32>
  %u = cs.profiled "update" elementwise (%w, %m) cost <flops = 0, bytes = 0, ns = 1000> : (tensor<250000xf32>, tensor<250000xf32>) -> tensor<250000xf32>
  return %u : tensor<250000xf32>
}
