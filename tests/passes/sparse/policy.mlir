// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: cs-opt --insert-dist-comm --lower-sparse-comm="density=0.5 min-elements=8 fuse-bytes=0 method=allgather rules=emb.*=0.25,.*scale=1,last=0.125:dense" %s | FileCheck %s
// RUN: cs-opt --insert-dist-comm --lower-sparse-comm="density=0.5 min-elements=8 method=allgather rules=emb.*=0.25,.*scale=1,last=0.125:dense" --remarks-filter=lower-sparse-comm %s -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK
// Parameters that ask for it themselves need no option.
// RUN: cs-opt --cs-all-reduce-pipeline %s | FileCheck %s --check-prefix=OWN
// RUN: cs-opt --insert-dist-comm --lower-sparse-comm="density=0.5 min-elements=1 select=mstopk method=allgather" %s | FileCheck %s --check-prefix=SELECT
// RUN: not cs-opt --lower-sparse-comm=density=0 %s 2>&1 | FileCheck %s --check-prefix=DENSITY
// RUN: not cs-opt --lower-sparse-comm=method=best %s 2>&1 | FileCheck %s --check-prefix=METHOD
// RUN: not cs-opt --lower-sparse-comm=rules=w %s 2>&1 | FileCheck %s --check-prefix=RULES
// RUN: not cs-opt --lower-sparse-comm=rules=w=0.1:best %s 2>&1 | FileCheck %s --check-prefix=RULEMETHOD
// RUN: not cs-opt --lower-sparse-comm="rules=(=0.1" %s 2>&1 | FileCheck %s --check-prefix=REGEX
// RUN: not cs-opt --lower-sparse-comm=select=best %s 2>&1 | FileCheck %s --check-prefix=SELECTION
// RUN: not cs-opt --lower-sparse-comm=min-elements=-1 %s 2>&1 | FileCheck %s --check-prefix=ELEMENTS
// RUN: not cs-opt --lower-sparse-comm=momentum=1 %s 2>&1 | FileCheck %s --check-prefix=MOMENTUM
// RUN: not cs-opt --lower-sparse-comm="momentum=0.5 feedback=false" %s 2>&1 | FileCheck %s --check-prefix=FEEDBACK
// RUN: not cs-opt --lower-sparse-comm=second-moment=1 %s 2>&1 | FileCheck %s --check-prefix=SQUARES
// RUN: not cs-opt --lower-sparse-comm="second-moment=0.5 epsilon=0" %s 2>&1 | FileCheck %s --check-prefix=EPSILON
// RUN: not cs-opt --lower-sparse-comm=mask=false %s 2>&1 | FileCheck %s --check-prefix=MASK
// RUN: not cs-opt --lower-sparse-comm=epsilon=1.0 %s 2>&1 | FileCheck %s --check-prefix=ALONE
// RUN: not cs-opt --lower-sparse-comm="squares=own momentum=0.5" %s 2>&1 | FileCheck %s --check-prefix=BOTH
// RUN: not cs-opt --insert-dist-comm --lower-sparse-comm="rules=.*=0.5,embb=0.25" %s 2>&1 | FileCheck %s --check-prefix=UNUSED
// RUN: not cs-opt --insert-dist-comm --lower-sparse-comm="rules=.*=0.5,emb.*=0.25" %s 2>&1 | FileCheck %s --check-prefix=TAKEN
// RUN: not cs-opt --lower-sparse-comm=clip=-1 %s 2>&1 | FileCheck %s --check-prefix=CLIP
// RUN: cs-opt --insert-dist-comm --lower-sparse-comm="density=0.25 min-elements=1 feedback=false method=allgather" %s | FileCheck %s --check-prefix=LOST
// RUN: cs-opt --insert-dist-comm=mode=parameter-server %s | FileCheck %s --check-prefix=SERVERS

// SERVERS: cs.send "own" {{.*}} {cs.density = 2.500000e-01 : f64, cs.sparse_method = "allgather"}
// MOMENTUM: momentum must be at least 0 and below 1, got: 1.0
// FEEDBACK: momentum must go with feedback
// SQUARES: second-moment must be at least 0 and below 1, got: 1.0
// EPSILON: epsilon must be above 0 and a number of f32, got: 0
// MASK: mask=false must go with momentum
// ALONE: epsilon must go with second-moment
// BOTH: squares must go with momentum and second-moment, got: own
// UNUSED: rules must match a parameter each, got: embb=0.25
// TAKEN: rules must match a parameter each, got: emb.*=0.25, of whose parameters rules before it take all
// CLIP: clip must not be negative, and a number of f32, got: -1
// LOST-NOT: cs.per_rank
// LOST: cs.top_k "exact" %{{[a-z0-9]*}} : (tensor<16xf32>)
// DENSITY: lower-sparse-comm: density must be above 0 and at most 1, got: 0
// METHOD: lower-sparse-comm: method must be auto, dense, allgather, hitopk, gtopk or oktopk, got: best
// RULES: rules must be PATTERN=DENSITY[:METHOD] with a density above 0 and at most 1, got: w
// RULEMETHOD: rules must name a method, auto, dense, allgather, hitopk, gtopk or oktopk, got: w=0.1:best
// REGEX: rules must have a regular expression, got: (=0.1: parentheses not balanced
// SELECTION: select must be exact, histogram, sampled or mstopk, got: best
// ELEMENTS: min-elements must not be negative, got: -1

cs.cluster @lab nodes = 2 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>

// REMARK: gradient "embedding": allgather (asked for), 4 of 16 elements, 32 bytes sent by a node; predicted dense {{[0-9]+}} ns, allgather {{[0-9]+}} ns, hitopk {{[0-9]+}} ns, gtopk {{[0-9]+}} ns
// REMARK-NOT: "scale"
// REMARK: gradient "small": dense: it has fewer than 8 elements
// REMARK: gradient "own": allgather (asked for), 1 of 4 elements
// REMARK: gradient "wide": dense: elements of its type cannot be selected from

// Of 16 bits two values are a word.
// CHECK-LABEL: func.func @step
// CHECK: cs.all_gather "embedding" {{.*}}tensor<1x8xi32, #cs.coordinates<tensor<16xf32>>>
// CHECK: cs.all_reduce "scale"
// CHECK: cs.all_gather "half" {{.*}}tensor<1x12xi32, #cs.coordinates<tensor<16xf16>>>{{.*}} -> {{.*}}tensor<2x12xi32, #cs.coordinates<tensor<16xf16>>>
// CHECK: cs.all_reduce "small"
// CHECK-NOT: cs.density
// CHECK: cs.all_gather "own" {{.*}}tensor<1x2xi32, #cs.coordinates<tensor<4xf32>>>
// CHECK: cs.all_reduce "wide"
// CHECK: cs.all_reduce "last"
// OWN-LABEL: func.func @step
// OWN-NOT: cs.top_k "exact" {{.*}}tensor<16
// OWN: cs.top_k "exact" {{.*}}tensor<4xf32>, tensor<4xf32>) -> (tensor<1xf32>
// SELECT: cs.top_k "mstopk"
!t = tensor<16xf32>
func.func @step(%e: !t {cs.param = "embedding"}, %s: !t {cs.param = "scale"}, %h: tensor<16xf16> {cs.param = "half"},
    %m: tensor<4xf32> {cs.param = "small"}, %o: tensor<4xf32> {cs.param = "own"}, %d: tensor<16xf64> {cs.param = "wide"},
    %l: !t {cs.param = "last"}, %x: !t {cs.batch = "x"}, %y: tensor<16xf16> {cs.batch = "y"}, %z: tensor<4xf32> {cs.batch = "z"},
    %u: tensor<16xf64> {cs.batch = "u"})
    -> (!t {cs.updates = "embedding"}, !t {cs.updates = "scale"}, tensor<16xf16> {cs.updates = "half"}, tensor<4xf32> {cs.updates = "small"},
        tensor<4xf32> {cs.updates = "own"}, tensor<16xf64> {cs.updates = "wide"}, !t {cs.updates = "last"}) attributes {cs.step} {
  %0 = arith.mulf %e, %x : !t
  %1 = cs.gradient %0 of "embedding" : !t
  %2 = arith.mulf %s, %x : !t
  %3 = cs.gradient %2 of "scale" : !t
  %4 = arith.mulf %h, %y : tensor<16xf16>
  %5 = cs.gradient %4 of "half" : tensor<16xf16>
  %6 = arith.mulf %m, %z : tensor<4xf32>
  %7 = cs.gradient %6 of "small" : tensor<4xf32>
  %8 = arith.mulf %o, %z : tensor<4xf32>
  %9 = cs.gradient %8 of "own" {cs.density = 0.25 : f64, cs.sparse_method = "allgather"} : tensor<4xf32>
  %10 = arith.mulf %d, %u : tensor<16xf64>
  %11 = cs.gradient %10 of "wide" : tensor<16xf64>
  %12 = arith.mulf %l, %x : !t
  %13 = cs.gradient %12 of "last" : !t
  return %1, %3, %5, %7, %9, %11, %13 : !t, !t, tensor<16xf16>, tensor<4xf32>, tensor<4xf32>, tensor<16xf64>, !t
}
