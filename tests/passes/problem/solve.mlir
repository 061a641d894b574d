// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: cs-opt --solve-problem=policy=fifo %s | FileCheck %s
// RUN: cs-opt --solve-problem=policy=fifo %s | cs-opt --solve-problem=policy=p3 | cs-opt --solve-problem=policy=fifo | FileCheck %s --check-prefix=BOTH
// RUN: cs-opt --solve-problem="policy=fifo" --remarks-filter=".*" --remark-policy=all --remark-format=emitRemark %s 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: not cs-opt --solve-problem=policy=best %s 2>&1 | FileCheck %s --check-prefix=POLICY
// RUN: not cs-opt --solve-problem="policy=fifo effort=1" %s 2>&1 | FileCheck %s --check-prefix=SEARCH
// RUN: not cs-opt --solve-problem=effort=-1 %s 2>&1 | FileCheck %s --check-prefix=EFFORT

// POLICY: policy must be solver, fifo, wfbp, fixed-buckets, p3, {{.*}}, latency-hiding, got: best
// RUN: not cs-opt --solve-problem=first-bucket-bytes=5 %s 2>&1 | FileCheck %s --check-prefix=BUCKETS
// BUCKETS: error: solve-problem: bucket-bytes and first-bucket-bytes must go with the policy fixed-buckets, got: solver
// SEARCH: effort must go with the policy solver, got: fifo
// EFFORT: effort must not be negative, got: -1

// REMARK: remark: {{.*}}fifo: period 10 ns, bound 8 ns ({{.*}}), for any order 8 ns ({{.*}})
// REMARK: remark: {{.*}}"w0": compute stands still 4 ns per step until it has arrived

// One message for each tensor, as they become ready.
// CHECK-LABEL: cs.problem @delay
// CHECK: cs.solution "fifo" period_ns 10 bound_ns 8 any_order_bound_ns 8 {
// CHECK-NEXT: cs.solution.message (%w2[0, 2]) priorities [3]
// CHECK-NEXT: cs.solution.message (%w1[0, 2]) priorities [4]
// CHECK-NEXT: cs.solution.message (%w0[0, 2]) priorities [5]
// CHECK-NEXT: }

// A solution takes the place of that of the same policy.
// BOTH-NOT: cs.solution "fifo"
// BOTH: cs.solution "p3" {{.*}} {
// BOTH-NEXT: cs.solution.credit %net bytes 1
// BOTH: cs.solution "fifo"
// BOTH-NOT: cs.solution "
cs.problem @delay {
  %net = cs.problem.link "net" bytes_per_second 1000000000
  %f0 = cs.problem.compute "f0" ns 1
  %f1 = cs.problem.compute "f1" ns 1 after (%f0)
  %f2 = cs.problem.compute "f2" ns 1 after (%f1)
  %b2 = cs.problem.compute "b2" ns 1 after (%f2)
  %w2 = cs.problem.communication "w2" bytes 2 from (%b2) to (next %f2) through (%net)
  %b1 = cs.problem.compute "b1" ns 1 after (%b2)
  %w1 = cs.problem.communication "w1" bytes 2 from (%b1) to (next %f1) through (%net)
  %b0 = cs.problem.compute "b0" ns 1 after (%b1)
  %w0 = cs.problem.communication "w0" bytes 2 from (%b0) to (next %f0) through (%net)
}
