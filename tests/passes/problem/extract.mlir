// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: cs-opt --extract-problem %s | FileCheck %s
// RUN: cs-opt --extract-problem --extract-problem %s | FileCheck %s
// RUN: cs-opt --extract-problem=file=- %s -o /dev/null | %cs-opt --solve-problem | %cs-opt --verify-solution | FileCheck %s --check-prefix=SOLVED
// RUN: not cs-opt --extract-problem=file=%t.none/problem %s -o /dev/null 2>&1 | FileCheck %s --check-prefix=FILE
// A problem in the module is in nobody's way.
// RUN: cs-opt --extract-problem --schedule-comm=policy=solver --expand-collectives --verify-distributed %s | FileCheck %s --check-prefix=SCHEDULED

!t = !cs.placed<tensor<250000xf32>, device 0>

cs.cluster @lab nodes = 2 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>

// Two ranks send half of 1,000,000 bytes each, and then the other half.
// CHECK: func.func @step(
// CHECK: cs.problem @step.problem {
// CHECK: cs.problem.compute "update.a" ns 100000 {{.*}}deferred
// CHECK: %[[F0:.*]] = cs.problem.compute "forward.0" ns 1000000
// CHECK: %[[F1:.*]] = cs.problem.compute "forward.1" ns 1000000 after (
// CHECK: %[[B1:.*]] = cs.problem.compute "backward.1" ns 2000000 after (%[[F1]])
// CHECK: cs.problem.communication "b" bytes 1000000 from (%[[B1]]) to (next %{{.*}}) through (%[[LINK:[a-z0-9]*]] bytes 500000 {{.*}}, %{{.*}} bytes 500000
// CHECK: cs.problem.communication "a" bytes 1000000
// CHECK-NOT: cs.problem @

// SOLVED: cs.solution "{{.*}}" period_ns {{.*}} bound_ns
// SCHEDULED: cs.schedule = #cs.schedule<policy = "solver"
// SCHEDULED: cs.problem @step.problem
// FILE: error: extract-problem: cannot open output file
func.func @step(%a: !t {cs.param = "a"}, %b: !t {cs.param = "b"}, %x: !t {cs.batch = "x"})
    -> (!t {cs.updates = "a"}, !t {cs.updates = "b"}) attributes {cs.step} {
  %h = cs.fragment "forward.0" on 0 (%a, %x) cost <flops = 0, bytes = 0, ns = 1000000> : (!t, !t) -> !t
  %l = cs.fragment "forward.1" on 0 (%b, %h) cost <flops = 0, bytes = 0, ns = 1000000> : (!t, !t) -> !t
  %gb = cs.fragment "backward.1" on 0 (%l) cost <flops = 0, bytes = 0, ns = 2000000> : (!t) -> !t
  %rb = cs.all_reduce "b" mean %gb : !t
  %ga = cs.fragment "backward.0" on 0 (%gb) cost <flops = 0, bytes = 0, ns = 2000000> : (!t) -> !t
  %ra = cs.all_reduce "a" mean %ga : !t
  %b1 = cs.fragment "update.b" on 0 (%b, %rb) deferred cost <flops = 0, bytes = 0, ns = 100000> : (!t, !t) -> !t
  %a1 = cs.fragment "update.a" on 0 (%a, %ra) deferred cost <flops = 0, bytes = 0, ns = 100000> : (!t, !t) -> !t
  return %a1, %b1 : !t, !t
}
