// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: cs-opt --extract-problem --split-input-file --verify-diagnostics %s

!t = !cs.placed<tensor<4xf32>, device 0>
// expected-error @below {{needs a cs.cluster in its module}}
func.func @no_cluster(%a: !t {cs.param = "a"}) -> (!t {cs.updates = "a"}) attributes {cs.step} {
  %r = cs.all_reduce "a" mean %a : !t
  return %r : !t
}

// -----

!t = !cs.placed<tensor<4xf32>, device 0>
cs.cluster @lab nodes = 2 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
// expected-error @below {{communicates nothing: run --insert-dist-comm first}}
func.func @alone(%a: !t {cs.param = "a"}) -> (!t {cs.updates = "a"}) attributes {cs.step} {
  return %a : !t
}

// -----

!t = !cs.placed<tensor<4xf32>, device 0>
cs.cluster @lab nodes = 2 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
func.func @scheduled(%a: !t {cs.param = "a"}) -> (!t {cs.updates = "a"}) attributes {cs.step} {
  // expected-error @below {{must not be there yet: the module is scheduled}}
  %f = cs.start "a" (%a) : (!t) -> !cs.future<!t> {
  ^bb0(%y: !t):
    %r = cs.all_reduce "a" sum %y : !t
    cs.return %r : !t
  }
  %r = cs.await %f : !cs.future<!t>
  return %r : !t
}

// -----

!t = !cs.placed<tensor<4xf32>, device 0>
cs.cluster @lab nodes = 2 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
func.func @step(%a: !t {cs.param = "a"}) -> (!t {cs.updates = "a"}) attributes {cs.step} {
  %r = cs.all_reduce "a" mean %a : !t
  return %r : !t
}
// expected-error @below {{must not have the name @step.problem, which is that of the problem}}
func.func private @step.problem()
