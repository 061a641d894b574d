// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: %cs-opt %s | FileCheck %s
// RUN: cs-opt %s | cs-opt --mlir-print-op-generic | cs-opt | FileCheck %s

// Everything at its default, then everything said.
// CHECK-LABEL: cs.problem @one_op {
// CHECK-NEXT:    %a = cs.problem.compute "a" ns 3
// CHECK-NEXT:  }
cs.problem @one_op {
  %x = cs.problem.compute "a" ns 3
}

// CHECK-LABEL: cs.problem @"all of it" streams 2 memory_limit 4096 {
// CHECK-NEXT:    %up = cs.problem.link "up" bytes_per_second 125000000
// CHECK-NEXT:    %down = cs.problem.link "down" bytes_per_second 250000000
// CHECK-NEXT:    %f0 = cs.problem.compute "f0" ns 2000
// CHECK-NEXT:    %b0 = cs.problem.compute "b0" ns 3000 shared_ns 100 after (%f0) extra_bytes 512
// CHECK-NEXT:    %w0 = cs.problem.communication "w0" bytes 4096 from (%b0, %f0) to (%clip, next %f0) through (%up bytes 3072 overhead_ns 5 avoidable 4 latency_ns 20 update_ns 9, %down latency_ns 7 avoidable 7) kind 1 indivisible tail 2048 connection 2
// CHECK-NEXT:    %loss = cs.problem.communication "loss" bytes 4 from (%b0) through (%down)
// CHECK-NEXT:    %clip = cs.problem.compute "clip" ns 0 after (%f0, %b0) stream 1 extra_bytes 8 deferred
// CHECK-NEXT:    cs.solution "mine" period_ns 6000 bound_ns 5.9995e+03 any_order_bound_ns 5000 barrier {
// CHECK-NEXT:      cs.solution.order stream 0 (%f0, %b0)
// CHECK-NEXT:      cs.solution.order stream 1 (%clip)
// CHECK-NEXT:      cs.solution.credit %up bytes 0
// CHECK-NEXT:      cs.solution.message (%w0[0, 4096]) priorities [2, -3] exclusive 700
// CHECK-NEXT:      cs.solution.message (%loss[0, 1], %loss[1, 4]) priorities [2]
// CHECK-NEXT:    }
// CHECK-NEXT:    cs.solution "empty" {
// CHECK-NEXT:    }
// CHECK-NEXT:  }
cs.problem @"all of it" streams 2 memory_limit 4096 {
  %up = cs.problem.link "up" bytes_per_second 125000000
  %down = cs.problem.link "down" bytes_per_second 250000000
  %f0 = cs.problem.compute "f0" ns 2000
  %b0 = cs.problem.compute "b0" ns 3000 shared_ns 100 after (%f0) extra_bytes 512
  // %clip is used before it is defined.
  %w0 = cs.problem.communication "w0" bytes 4096 from (%b0, %f0) to (%clip, next %f0)
      through (%up bytes 3072 overhead_ns 5 avoidable 4 latency_ns 20 update_ns 9, %down latency_ns 7 avoidable 7) kind 1 indivisible tail 2048 connection 2
  %loss = cs.problem.communication "loss" bytes 4 from (%b0) through (%down bytes 4)
  %clip = cs.problem.compute "clip" ns 0 after (%f0, %b0) stream 1 extra_bytes 8 deferred
  cs.solution "mine" period_ns 6000 bound_ns 5999.5 any_order_bound_ns 5.0e3 barrier {
    cs.solution.order stream 0 (%f0, %b0)
    cs.solution.order stream 1 (%clip)
    cs.solution.credit %up bytes 0
    cs.solution.message (%w0[0, 4096]) priorities [2, -3] exclusive 700
    cs.solution.message (%loss[0, 1], %loss[1, 4]) priorities [2]
  }
  cs.solution "empty" {
  }
}

// Without a name; names of values are their own.
// CHECK-LABEL: cs.problem {
// CHECK-NEXT:    %a = cs.problem.compute "a" ns 0
// CHECK-NEXT:    %{{.*}} = cs.problem.compute "" ns 0
cs.problem {
  %up = cs.problem.compute "a" ns 0
  %f0 = cs.problem.compute "" ns 0
}
