// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: %cs-opt --insert-dist-comm="mode=parameter-server servers=1" --schedule-comm="cut-blocks=false fuse-blocks=false" %s | FileCheck %s
// RUN: sed 's/ns = 15100000/ns = 16500000/' %s | %cs-opt --insert-dist-comm="mode=parameter-server servers=1" --schedule-comm="cut-blocks=false fuse-blocks=false" | FileCheck %s --check-prefix=LATER

// Pushes of 20 ms, both trainers' to one server. "late" is sent when "middle" has been; "first", which the next step needs first, is there 0.1 ms later. Where
// the link is a little slower it is there sooner than "late" begins, and so has its turn before it: on a link as fast as it is said to
// be "late" goes first all the same, as it need not wait for what is not there.
// CHECK-LABEL: func.func @step
// CHECK-DAG: cs.start "middle" (
// CHECK-DAG: cs.start "first" priority 1 (
// CHECK-DAG: cs.start "late" priority 2 (
// LATER-LABEL: func.func @step
// LATER-DAG: cs.start "middle" (
// LATER-DAG: cs.start "late" priority 1 (
// LATER-DAG: cs.start "first" priority 2 (

cs.cluster @lab nodes = 2 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000, overhead_ns = 20000>

!t = tensor<312500xf32>
!x = tensor<4xf32>
func.func @step(%first: !t {cs.param = "first"}, %middle: !t {cs.param = "middle"}, %late: !t {cs.param = "late"}, %x: !x {cs.batch = "x"})
    -> (!t {cs.updates = "first"}, !t {cs.updates = "middle"}, !t {cs.updates = "late"}) attributes {cs.step} {
  %h = cs.profiled "forward.first" (%x, %first) cost <flops = 0, bytes = 0, ns = 30000000> : (!x, !t) -> !x
  %i = cs.profiled "forward.middle" (%h, %middle) cost <flops = 0, bytes = 0, ns = 30000000> : (!x, !t) -> !x
  %j = cs.profiled "forward.late" (%i, %late) cost <flops = 0, bytes = 0, ns = 30000000> : (!x, !t) -> !x
  %gm = cs.profiled "backward.middle" (%j, %middle) cost <flops = 0, bytes = 0, ns = 1000> : (!x, !t) -> !t
  %k, %gl = cs.profiled "backward.late" (%j, %late) cost <flops = 0, bytes = 0, ns = 5000000> : (!x, !t) -> (!x, !t)
  %gf = cs.profiled "backward.first" (%k) cost <flops = 0, bytes = 0, ns = 15100000> : (!x) -> !t
  %rm = cs.gradient %gm of "middle" : !t
  %rl = cs.gradient %gl of "late" : !t
  %rf = cs.gradient %gf of "first" : !t
  %mn = cs.profiled "update.middle" elementwise (%middle, %rm) cost <flops = 0, bytes = 0, ns = 1000> : (!t, !t) -> !t
  %ln = cs.profiled "update.late" elementwise (%late, %rl) cost <flops = 0, bytes = 0, ns = 1000> : (!t, !t) -> !t
  %fn = cs.profiled "update.first" elementwise (%first, %rf) cost <flops = 0, bytes = 0, ns = 1000> : (!t, !t) -> !t
  return %fn, %mn, %ln : !t, !t, !t
}
