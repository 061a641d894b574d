// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// One message of four tensors, in the order in which the next step needs them: so they are
// in the problem, and in the plan.
// RUN: %cs-opt --schedule-comm="policy=fixed-buckets bucket-bytes=10000000 first-bucket-bytes=10000000 parts=true" %s | FileCheck %s
// RUN: %cs-opt --schedule-comm="policy=fixed-buckets bucket-bytes=10000000 first-bucket-bytes=10000000" %s | FileCheck %s --check-prefix=WHOLE
// RUN: cs-opt --extract-problem=parts=true %s | FileCheck %s --check-prefix=PROBLEM
// RUN: cs-opt --extract-problem %s | FileCheck %s --check-prefix=ALL
// RUN: cs-opt --schedule-comm="policy=fixed-buckets bucket-bytes=10000000 first-bucket-bytes=10000000 parts=true" --expand-collectives --verify-distributed %s | cs-translate --mlir-to-plan -o %t.plan
// RUN: cs-translate --plan-to-text %t.plan | FileCheck %s --check-prefix=PLAN
// Sent and solved as text, too.
// RUN: cs-opt --extract-problem="parts=true file=-" %s -o /dev/null | %cs-opt --solve-problem | %cs-opt --verify-solution | FileCheck %s --check-prefix=SOLVED
// RUN: cs-opt --extract-problem="parts=true file=-" %s -o /dev/null | sed 's/tail 500000/tail 500001/' | not cs-opt --solve-problem 2>&1 | FileCheck %s --check-prefix=MANY

!t = !cs.placed<tensor<250000xf32>, device 0>

cs.cluster @lab nodes = 2 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>

// CHECK: cs.pack %backward_0[0, 250000], %backward_1[0, 250000], %backward_2[0, 250000], %backward_3[0, 250000]
// CHECK: cs.start "a+3" parts [250000, 250000, 250000, 250000] (
// CHECK: cs.unpack
// WHOLE: cs.start "{{[a-d]}}+3" (
// WHOLE-NOT: parts
// PROBLEM-COUNT-4: bytes 500000 {{.*}} tail 500000
// ALL-NOT: tail
// SOLVED: cs.solution "{{.*}}" period_ns
// MANY: tail must be 0 to 500000 bytes, those of the last link, got: 500001

// FEATURE_EXCHANGE, FEATURE_COST_ONLY, FEATURE_PARAMETER_SERVER (of parts of buffers), FEATURE_PARTS.
// PLAN: required_features: {{[0-9]+}}
// PLAN: name: "a+3"
// PLAN: part_bytes: [1000000, 1000000, 1000000, 1000000]
// PLAN: name: "update.d"
// PLAN: part: 3
func.func @step(%a: !t {cs.param = "a"}, %b: !t {cs.param = "b"}, %c: !t {cs.param = "c"}, %d: !t {cs.param = "d"},
                %x: !t {cs.batch = "x"})
    -> (!t {cs.updates = "a"}, !t {cs.updates = "b"}, !t {cs.updates = "c"}, !t {cs.updates = "d"}) attributes {cs.step} {
  %h0 = cs.fragment "forward.0" on 0 (%a, %x) cost <flops = 0, bytes = 0, ns = 1000000> : (!t, !t) -> !t
  %h1 = cs.fragment "forward.1" on 0 (%b, %h0) cost <flops = 0, bytes = 0, ns = 1000000> : (!t, !t) -> !t
  %h2 = cs.fragment "forward.2" on 0 (%c, %h1) cost <flops = 0, bytes = 0, ns = 1000000> : (!t, !t) -> !t
  %h3 = cs.fragment "forward.3" on 0 (%d, %h2) cost <flops = 0, bytes = 0, ns = 1000000> : (!t, !t) -> !t
  %gd = cs.fragment "backward.3" on 0 (%h3) cost <flops = 0, bytes = 0, ns = 2000000> : (!t) -> !t
  %rd = cs.all_reduce "d" mean %gd : !t
  %gc = cs.fragment "backward.2" on 0 (%gd) cost <flops = 0, bytes = 0, ns = 2000000> : (!t) -> !t
  %rc = cs.all_reduce "c" mean %gc : !t
  %gb = cs.fragment "backward.1" on 0 (%gc) cost <flops = 0, bytes = 0, ns = 2000000> : (!t) -> !t
  %rb = cs.all_reduce "b" mean %gb : !t
  %ga = cs.fragment "backward.0" on 0 (%gb) cost <flops = 0, bytes = 0, ns = 2000000> : (!t) -> !t
  %ra = cs.all_reduce "a" mean %ga : !t
  %a1 = cs.fragment "update.a" on 0 (%a, %ra) deferred cost <flops = 0, bytes = 0, ns = 100000> : (!t, !t) -> !t
  %b1 = cs.fragment "update.b" on 0 (%b, %rb) deferred cost <flops = 0, bytes = 0, ns = 100000> : (!t, !t) -> !t
  %c1 = cs.fragment "update.c" on 0 (%c, %rc) deferred cost <flops = 0, bytes = 0, ns = 100000> : (!t, !t) -> !t
  %d1 = cs.fragment "update.d" on 0 (%d, %rd) deferred cost <flops = 0, bytes = 0, ns = 100000> : (!t, !t) -> !t
  return %a1, %b1, %c1, %d1 : !t, !t, !t, !t
}
