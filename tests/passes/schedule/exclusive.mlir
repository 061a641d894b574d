// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Communication takes as long as compute, and the first layer's gradient comes last and is needed first: around a ring of 4 it waits in six
// rounds for what the large ones have on the way, and compute waits for it. So the solver has it go alone, no policy does.
// RUN: %cs-opt --schedule-comm=algorithm=ring --remarks-filter=schedule-comm %s 2>&1 -o %t.mlir | FileCheck %s --check-prefix=REMARK
// RUN: FileCheck %s < %t.mlir
// RUN: %cs-opt --schedule-comm="algorithm=ring exclusive=false" %s | FileCheck %s --check-prefix=NONE
// RUN: %cs-opt --schedule-comm="algorithm=ring policy=bytescheduler" %s | FileCheck %s --check-prefix=NONE
// RUN: %cs-opt --expand-collectives=algorithm=ring --verify-distributed %t.mlir | cs-translate --mlir-to-plan -o %t.plan
// RUN: cs-translate --plan-to-text %t.plan | FileCheck %s --check-prefix=PLAN
// As a problem, and its solution.
// RUN: cs-opt --extract-problem="algorithm=ring file=-" %s -o /dev/null | %cs-opt --solve-problem | %cs-opt --verify-solution > %t.solved.mlir
// RUN: FileCheck %s --check-prefix=SOLVED < %t.solved.mlir
// RUN: sed 's/exclusive [0-9]*/exclusive -1/' %t.solved.mlir | not cs-opt --verify-solution 2>&1 | FileCheck %s --check-prefix=NEGATIVE

!s = !cs.placed<tensor<4096xf32>, device 0>
!m = !cs.placed<tensor<250000xf32>, device 0>
!l = !cs.placed<tensor<1250000xf32>, device 0>

cs.cluster @lab nodes = 4 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000, overhead_ns = 10000>

// REMARK: messages for 5 tensors, {{[0-9]+}} of them exclusive
// CHECK:     cs.start "a" {{.*}}exclusive {{[0-9]+}} (
// NONE:      cs.start
// NONE-NOT:  exclusive
// PLAN:      exclusive_ns: {{[0-9]+}}
// NEGATIVE: is not a schedule of the problem: message {{[0-9]+}}: exclusive must be 0 to 1000000000 ns, got: -1
// SOLVED:    cs.solution.message {{.*}} exclusive {{[0-9]+}}
func.func @step(%a: !s {cs.param = "a"}, %b: !m {cs.param = "b"}, %c: !m {cs.param = "c"}, %d: !m {cs.param = "d"}, %e: !l {cs.param = "e"}, %x: !s {cs.batch = "x"})
    -> (!s {cs.updates = "a"}, !m {cs.updates = "b"}, !m {cs.updates = "c"}, !m {cs.updates = "d"}, !l {cs.updates = "e"}) attributes {cs.step} {
  %h0 = cs.fragment "forward.0" on 0 (%a, %x) cost <flops = 0, bytes = 0, ns = 12000000> : (!s, !s) -> !s
  %h1 = cs.fragment "forward.1" on 0 (%b, %h0) cost <flops = 0, bytes = 0, ns = 12000000> : (!m, !s) -> !s
  %h2 = cs.fragment "forward.2" on 0 (%c, %h1) cost <flops = 0, bytes = 0, ns = 12000000> : (!m, !s) -> !s
  %h3 = cs.fragment "forward.3" on 0 (%d, %h2) cost <flops = 0, bytes = 0, ns = 12000000> : (!m, !s) -> !s
  %h4 = cs.fragment "forward.4" on 0 (%e, %h3) cost <flops = 0, bytes = 0, ns = 12000000> : (!l, !s) -> !s
  %ge = cs.fragment "backward.4" on 0 (%h4) cost <flops = 0, bytes = 0, ns = 17000000> : (!s) -> !l
  %re = cs.all_reduce "e" mean %ge : !l
  %gd = cs.fragment "backward.3" on 0 (%ge) cost <flops = 0, bytes = 0, ns = 17000000> : (!l) -> !m
  %rd = cs.all_reduce "d" mean %gd : !m
  %gc = cs.fragment "backward.2" on 0 (%gd) cost <flops = 0, bytes = 0, ns = 17000000> : (!m) -> !m
  %rc = cs.all_reduce "c" mean %gc : !m
  %gb = cs.fragment "backward.1" on 0 (%gc) cost <flops = 0, bytes = 0, ns = 17000000> : (!m) -> !m
  %rb = cs.all_reduce "b" mean %gb : !m
  %ga = cs.fragment "backward.0" on 0 (%gb) cost <flops = 0, bytes = 0, ns = 17000000> : (!m) -> !s
  %ra = cs.all_reduce "a" mean %ga : !s
  %a1 = cs.fragment "update.a" on 0 (%a, %ra) deferred cost <flops = 0, bytes = 0, ns = 100000> : (!s, !s) -> !s
  %b1 = cs.fragment "update.b" on 0 (%b, %rb) deferred cost <flops = 0, bytes = 0, ns = 100000> : (!m, !m) -> !m
  %c1 = cs.fragment "update.c" on 0 (%c, %rc) deferred cost <flops = 0, bytes = 0, ns = 100000> : (!m, !m) -> !m
  %d1 = cs.fragment "update.d" on 0 (%d, %rd) deferred cost <flops = 0, bytes = 0, ns = 100000> : (!m, !m) -> !m
  %e1 = cs.fragment "update.e" on 0 (%e, %re) deferred cost <flops = 0, bytes = 0, ns = 100000> : (!l, !l) -> !l
  return %a1, %b1, %c1, %d1, %e1 : !s, !m, !m, !m, !l
}
