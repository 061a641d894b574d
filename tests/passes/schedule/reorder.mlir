// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: %cs-opt --schedule-comm %s | FileCheck %s --check-prefix=KEPT
// RUN: %cs-opt --schedule-comm="reorder=true memory-limit=100000000" %s | FileCheck %s --check-prefix=MOVED
// RUN: %cs-opt --schedule-comm="reorder=true memory-limit=100000000" --expand-collectives --verify-distributed %s -o /dev/null
// RUN: %cs-opt --schedule-comm="reorder=true memory-limit=0" %s | FileCheck %s --check-prefix=TIGHT

// The gradient of "a" is needed first by the next step, and would come last. The one
// of "b" can wait: nothing of the backward pass needs it. But until it has been made,
// its large operand is kept: without memory for both, that is made later as well.
// KEPT: cs.fragment "keep"
// KEPT: cs.fragment "gradient.b"
// KEPT: cs.fragment "gradient.a"
// MOVED: cs.schedule = #cs.schedule<policy = "solver"
// MOVED: cs.fragment "keep"
// MOVED-NEXT: cs.fragment "gradient.a"
// MOVED: cs.start "a
// MOVED: cs.fragment "gradient.b"
// MOVED: cs.start "b
// MOVED: cs.fragment "update.{{[ab]}}"
// TIGHT: cs.fragment "gradient.a"
// TIGHT: cs.fragment "keep"
// TIGHT: cs.fragment "gradient.b"
cs.cluster @lab nodes = 2 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
!t = !cs.placed<tensor<512x1024xf32>, device 0>
!m = !cs.placed<tensor<1024x1024xf32>, device 0>
func.func @step(%a: !t {cs.param = "a"}, %b: !t {cs.param = "b"}, %x: !t {cs.batch = "x"})
    -> (!t {cs.updates = "a"}, !t {cs.updates = "b"}) attributes {cs.step} {
  %ha = cs.fragment "forward.a" on 0 (%a, %x) cost <flops = 0, bytes = 0, ns = 5000000> : (!t, !t) -> !t
  %hb = cs.fragment "forward.b" on 0 (%b, %ha) cost <flops = 0, bytes = 0, ns = 20000000> : (!t, !t) -> !t
  %k = cs.fragment "keep" on 0 (%hb) cost <flops = 0, bytes = 0, ns = 1000> : (!t) -> !m
  %gb = cs.fragment "gradient.b" on 0 (%hb, %k) cost <flops = 0, bytes = 0, ns = 20000000> : (!t, !m) -> !t
  %rb = cs.all_reduce "b" mean %gb : !t
  %ga, %s = cs.fragment "gradient.a" on 0 (%hb, %ha) cost <flops = 0, bytes = 0, ns = 5000000> : (!t, !t) -> (!t, !m)
  %ra = cs.all_reduce "a" mean %ga : !t
  %b1 = cs.fragment "update.b" on 0 (%b, %rb) deferred cost <flops = 0, bytes = 0, ns = 1000> : (!t, !t) -> !t
  %a1 = cs.fragment "update.a" on 0 (%a, %ra) deferred cost <flops = 0, bytes = 0, ns = 1000> : (!t, !t) -> !t
  return %a1, %b1 : !t, !t
}
