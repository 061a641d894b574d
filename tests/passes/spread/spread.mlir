// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Two nodes share the norm of the parameter, which all can compute at once, and that of
// the gradient, which they can after the all-reduce; each travels in a message of its own.

// RUN: %cs-opt --spread-sums="min-elements=16 force=true" %s | FileCheck %s
// A second run changes nothing.
// RUN: cs-opt --spread-sums="min-elements=16 force=true" %s -o %t1
// RUN: cs-opt --spread-sums="min-elements=16 force=true" %t1 -o %t2
// RUN: cmp %t1 %t2
// The rest of the pipeline takes it; to know its own number a node needs no message.
// RUN: cs-opt --schedule-comm --expand-collectives --verify-distributed %t1 | FileCheck %s --check-prefix=LEVEL2
// RUN: cs-opt --schedule-comm --expand-collectives --remarks-filter=expand-collectives %t1 -o /dev/null 2>&1 | FileCheck %s --check-prefix=NUMBER
// By hand: 16 numbers are 64 bytes, at 1 GB/s; a message takes 50 us and 20 us, and its bytes. Of the compute
// only that of "norms" is known: 72 bytes.
// RUN: cs-opt --spread-sums=min-elements=16 --remarks-filter=spread-sums %s 2>&1 | FileCheck %s --check-prefix=WHY
// RUN: cs-opt --spread-sums=force=true %s | FileCheck %s --check-prefix=SMALL
// RUN: sed 's/nodes = 2/nodes = 1/' %s | cs-opt --spread-sums="min-elements=16 force=true" | FileCheck %s --check-prefix=SMALL

cs.cluster @lab nodes = 2 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 1>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>

// CHECK: cs.fragment "spread.nodes" on 0 ()
// CHECK: arith.constant dense<[0, 1]> : tensor<2xi32>
// CHECK: %[[NODE:.*]] = cs.reduce_scatter "spread.node" max %{{.*}} : !cs.placed<tensor<2xi32>, device 0> -> !cs.placed<tensor<1xi32>, device 0>
// CHECK: cs.fragment "backward"
// CHECK: %[[G:.*]] = cs.all_reduce "w" mean

// Of the parameter: it does not wait.
// CHECK: %[[EARLY:.*]] = cs.fragment "sums.norms" on 0 (%[[NODE]], %arg0) cost <flops = 16, bytes = 32, ns = 0>
// CHECK: %[[RANK:.*]] = tensor.extract %{{.*}}[%{{.*}}] : tensor<1xi32>
// CHECK: %[[OWN:.*]] = arith.cmpi eq, %[[RANK]], %{{.*}} : i32
// CHECK: scf.if %[[OWN]] -> (tensor<1xf32>)
// CHECK: linalg.generic
// CHECK: tensor.insert
// CHECK: cs.all_reduce "spread.sums.early" sum %[[EARLY]] : !cs.placed<tensor<1xf32>, device 0>
// CHECK: cs.fragment "norms" on 0 (%arg0, %{{.*}}) deferred cost <flops = 1, bytes = 8, ns = 0>
// CHECK-NOT: linalg.generic
// CHECK: tensor.extract_slice %{{.*}}[0] [1] [1] : tensor<1xf32> to tensor<f32>

// Of the gradient; the sum of the bias has too few elements, that of the batch differs.
// CHECK: %[[LATE:.*]] = cs.fragment "sums.update.w" on 0 (%[[NODE]], %[[G]]) deferred
// CHECK: cs.all_reduce "spread.update.w" sum %[[LATE]] : !cs.placed<tensor<1xf32>, device 0>
// CHECK: cs.fragment "update.w" on 0 (%arg0, %[[G]], %{{.*}}, %{{.*}}) deferred
// CHECK-NOT: sums.

// LEVEL2: cs.start "spread.node"
// LEVEL2-NOT: cs.exchange
// LEVEL2: cs.shard
// NUMBER: reduce_scatter "spread.node" of a constant needs no messages

// WHY: sums of "update.w" not spread: a node would save 32 ns of reading, and 4 bytes travel in {{[0-9]+}} ns
// WHY: 1 sum not spread: 64 bytes take 64 ns on every node; the busiest of 2 would read 64 in 64 ns, and 4 bytes in 1 message travel in 70033 ns; of the step, compute takes 72 ns, then 72, the link {{[0-9]+}} ns, then {{[0-9]+}}
// WHY-NOT: cs.all_reduce "spread
// SMALL-NOT: spread

!w = !cs.placed<tensor<16xf32>, device 0>
!s = !cs.placed<tensor<f32>, device 0>
#id = affine_map<(d0) -> (d0)>
#none = affine_map<(d0) -> ()>
func.func @step(%w: !w {cs.param = "w"}, %x: !w {cs.batch = "x"})
    -> (!w {cs.updates = "w"}, !s {cs.metric = "size"}) attributes {cs.step} {
  %g, %local = cs.fragment "backward" on 0 (%w, %x) : (!w, !w) -> (!w, !s) {
  ^bb0(%a: tensor<16xf32>, %b: tensor<16xf32>):
    %0 = arith.mulf %a, %b : tensor<16xf32>
    %zero = arith.constant dense<0.0> : tensor<f32>
    %1 = linalg.generic {indexing_maps = [#id, #none], iterator_types = ["reduction"]} ins(%b : tensor<16xf32>) outs(%zero : tensor<f32>) {
    ^bb0(%in: f32, %out: f32):
      %sum = arith.addf %out, %in : f32
      linalg.yield %sum : f32
    } -> tensor<f32>
    cs.return %0, %1 : tensor<16xf32>, tensor<f32>
  }
  %r = cs.all_reduce "w" mean %g : !w
  %size = cs.reduce "metric.size" mean %local to 0 : !s
  %norm = cs.fragment "norms" on 0 (%w) cost <flops = 33, bytes = 72, ns = 0> : (!w) -> !s {
  ^bb0(%a: tensor<16xf32>):
    %zero = arith.constant 0.0 : f32
    %empty = tensor.empty() : tensor<f32>
    %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<f32>) -> tensor<f32>
    %0 = linalg.generic {indexing_maps = [#id, #none], iterator_types = ["reduction"]} ins(%a : tensor<16xf32>) outs(%init : tensor<f32>) {
    ^bb0(%in: f32, %out: f32):
      %square = arith.mulf %in, %in : f32
      %sum = arith.addf %out, %square : f32
      linalg.yield %sum : f32
    } -> tensor<f32>
    %root = math.sqrt %0 : tensor<f32>
    cs.return %root : tensor<f32>
  }
  %n = cs.fragment "update.w" on 0 (%w, %r, %norm) deferred : (!w, !w, !s) -> !w {
  ^bb0(%a: tensor<16xf32>, %b: tensor<16xf32>, %c: tensor<f32>):
    %zero = arith.constant 0.0 : f32
    %empty = tensor.empty() : tensor<f32>
    %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<f32>) -> tensor<f32>
    %0 = linalg.generic {indexing_maps = [#id, #none], iterator_types = ["reduction"]} ins(%b : tensor<16xf32>) outs(%init : tensor<f32>) {
    ^bb0(%in: f32, %out: f32):
      %square = arith.mulf %in, %in : f32
      %sum = arith.addf %square, %out : f32
      linalg.yield %sum : f32
    } -> tensor<f32>
    %target = tensor.empty() : tensor<16xf32>
    %1 = linalg.generic {indexing_maps = [#id, #id, #none, #none, #id], iterator_types = ["parallel"]} ins(%a, %b, %c, %0 : tensor<16xf32>, tensor<16xf32>, tensor<f32>, tensor<f32>) outs(%target : tensor<16xf32>) {
    ^bb0(%p: f32, %q: f32, %s: f32, %t: f32, %out: f32):
      %ratio = arith.divf %s, %t : f32
      %part = arith.mulf %ratio, %q : f32
      %next = arith.subf %p, %part : f32
      linalg.yield %next : f32
    } -> tensor<16xf32>
    cs.return %1 : tensor<16xf32>
  }
  return %n, %size : !w, !s
}
