// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What --schedule-comm takes a step for: who makes what is communicated, who waits
// for it in this step and the next, and what it costs.

// RUN: split-file %s %t
// RUN: %cs-opt --extract-problem %t/devices.mlir | FileCheck %t/devices.mlir
// RUN: %cs-opt --schedule-comm --expand-collectives --verify-distributed %t/devices.mlir -o /dev/null
// RUN: %cs-opt --extract-problem %t/beside.mlir | FileCheck %t/beside.mlir
// RUN: %cs-opt --extract-problem %t/sums.mlir | FileCheck %t/sums.mlir
// RUN: %cs-opt --extract-problem %t/chain.mlir | FileCheck %t/chain.mlir
// RUN: %cs-opt --schedule-comm --expand-collectives --verify-distributed %t/chain.mlir | FileCheck %t/chain.mlir --check-prefix=SCHEDULE
// RUN: %cs-opt --extract-problem %t/servers.mlir | FileCheck %t/servers.mlir
// RUN: %cs-opt --schedule-comm --expand-collectives --verify-distributed %t/servers.mlir | FileCheck %t/servers.mlir --check-prefix=SCHEDULE
// RUN: %cs-opt --extract-problem=algorithm=ring %t/costs.mlir | FileCheck %t/costs.mlir --check-prefixes=CHECK,RING
// RUN: %cs-opt --extract-problem %t/costs.mlir | FileCheck %t/costs.mlir --check-prefixes=CHECK,AUTO
// RUN: sed 's/nodes = 8/nodes = 6/' %t/costs.mlir > %t/six.mlir
// RUN: %cs-opt --extract-problem=algorithm=halving-doubling %t/six.mlir | FileCheck %t/costs.mlir --check-prefixes=CHECK,HALVES
// RUN: cs-opt --extract-problem=algorithm=halving-doubling %t/six.mlir | cs-opt --solve-problem | cs-opt --verify-solution -o /dev/null

//--- devices.mlir

// Two devices; the gradient is summed on device 0, where the network takes it; the new
// value is copied to device 1. Updates stand before the first reader, of the next step.
// CHECK-LABEL: cs.problem @step.problem
// CHECK: %[[UPDATE:.*]] = cs.problem.compute "update.w"{{.*}} ns 40
// CHECK: %[[F0:.*]] = cs.problem.compute "forward"{{.*}} ns 10 after (%[[UPDATE]])
// CHECK: %[[F1:.*]] = cs.problem.compute "forward.device1"{{.*}} ns 10 after (%[[UPDATE]])
// CHECK: %[[SUM:.*]] = cs.problem.compute "sum.w"{{.*}} ns 5 after (%[[F0]], %[[F1]])
// CHECK: cs.problem.communication "w" bytes 1600 from (%[[SUM]]) to (next %[[UPDATE]])
cs.cluster @lab nodes = 2 devices = 2 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
!t0 = !cs.placed<tensor<400xf32>, device 0>
!t1 = !cs.placed<tensor<400xf32>, device 1>
func.func @step(%w0: !t0 {cs.param = "w"}, %w1: !t1 {cs.param = "w"}, %x0: !t0 {cs.batch = "x"}, %x1: !t1 {cs.batch = "x"})
    -> (!t0 {cs.updates = "w"}, !t1 {cs.updates = "w"}) attributes {cs.step} {
  %g0 = cs.fragment "forward" on 0 (%w0, %x0) cost <flops = 0, bytes = 0, ns = 10> : (!t0, !t0) -> !t0
  %g1 = cs.fragment "forward.device1" on 1 (%w1, %x1) cost <flops = 0, bytes = 0, ns = 10> : (!t1, !t1) -> !t1
  %c1 = cs.copy %g1 : !t1 -> !t0
  %g = cs.fragment "sum.w" on 0 (%g0, %c1) deferred cost <flops = 0, bytes = 0, ns = 5> : (!t0, !t0) -> !t0
  %r = cs.all_reduce "w" mean %g : !t0
  %n = cs.fragment "update.w" on 0 (%w0, %r) deferred cost <flops = 0, bytes = 0, ns = 40> : (!t0, !t0) -> !t0
  %n1 = cs.copy %n : !t0 -> !t1
  return %n, %n1 : !t0, !t1
}

//--- beside.mlir

// Devices compute side by side: when "g1" is there, device 0 has begun with "next", and does the sum behind it; the one that "last" reads it does
// before. A sum of what device 0 makes alone stands where it does.
// CHECK-LABEL: cs.problem @step.problem
// CHECK: cs.problem.compute "first"
// CHECK-NEXT: cs.problem.compute "first.device1"
// CHECK-NEXT: cs.problem.compute "own"
// CHECK-NEXT: cs.problem.compute "next.device1"
// CHECK-NEXT: cs.problem.compute "next"
// CHECK-NEXT: cs.problem.compute "sum.w"
// CHECK-NEXT: cs.problem.communication "w"
// CHECK-NEXT: cs.problem.compute "sum.read"
// CHECK-NEXT: cs.problem.compute "last"
cs.cluster @lab nodes = 2 devices = 2 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
!t0 = !cs.placed<tensor<400xf32>, device 0>
!t1 = !cs.placed<tensor<400xf32>, device 1>
func.func @step(%w: !t0 {cs.param = "w"}, %x0: !t0 {cs.batch = "x"}, %x1: !t1 {cs.batch = "x"}) -> (!t0 {cs.updates = "w"}, !t0 {cs.metric = "m"}) attributes {cs.step} {
  %g0 = cs.fragment "first" on 0 (%w, %x0) cost <flops = 0, bytes = 0, ns = 10> : (!t0, !t0) -> !t0
  %g1 = cs.fragment "first.device1" on 1 (%x1) cost <flops = 0, bytes = 0, ns = 10> : (!t1) -> !t1
  %c1 = cs.copy %g1 : !t1 -> !t0
  %g = cs.fragment "sum.w" on 0 (%g0, %c1) deferred cost <flops = 0, bytes = 0, ns = 5> : (!t0, !t0) -> !t0
  %r = cs.all_reduce "w" mean %g : !t0
  %own = cs.fragment "own" on 0 (%g0) deferred cost <flops = 0, bytes = 0, ns = 5> : (!t0) -> !t0
  %n1 = cs.fragment "next.device1" on 1 (%g1) cost <flops = 0, bytes = 0, ns = 10> : (!t1) -> !t1
  %n0 = cs.fragment "next" on 0 (%own) cost <flops = 0, bytes = 0, ns = 10> : (!t0) -> !t0
  %c2 = cs.copy %n1 : !t1 -> !t0
  %s = cs.fragment "sum.read" on 0 (%n0, %c2) deferred cost <flops = 0, bytes = 0, ns = 5> : (!t0, !t0) -> !t0
  %m = cs.fragment "last" on 0 (%s) cost <flops = 0, bytes = 0, ns = 10> : (!t0) -> !t0
  %new = cs.fragment "update.w" on 0 (%w, %r) deferred cost <flops = 0, bytes = 0, ns = 40> : (!t0, !t0) -> !t0
  return %new, %m : !t0, !t0
}

//--- sums.mlir

// A sum that waits for another one, which another device has not come to: both are done behind the first fragment.
// CHECK-LABEL: cs.problem @step.problem
// CHECK: cs.problem.compute "first.device1"
// CHECK-NEXT: cs.problem.compute "next.device1"
// CHECK-NEXT: %[[FIRST:.*]] = cs.problem.compute "sum.first"
// CHECK-NEXT: cs.problem.compute "sum.w" {{.*}} after (%[[FIRST]])
// CHECK: cs.problem.compute "next"
cs.cluster @lab nodes = 2 devices = 2 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
!t0 = !cs.placed<tensor<400xf32>, device 0>
!t1 = !cs.placed<tensor<400xf32>, device 1>
func.func @step(%w: !t1 {cs.param = "w"}, %x0: !t0 {cs.batch = "x"}, %x1: !t1 {cs.batch = "x"}) -> (!t1 {cs.updates = "w"}, !t0 {cs.metric = "m"}, !t1 {cs.metric = "n"}) attributes {cs.step} {
  %g0 = cs.fragment "first" on 0 (%x0) cost <flops = 0, bytes = 0, ns = 10> : (!t0) -> !t0
  %g1 = cs.fragment "first.device1" on 1 (%w, %x1) cost <flops = 0, bytes = 0, ns = 10> : (!t1, !t1) -> !t1
  %c1 = cs.copy %g1 : !t1 -> !t0
  %s = cs.fragment "sum.first" on 0 (%g0, %c1) deferred cost <flops = 0, bytes = 0, ns = 5> : (!t0, !t0) -> !t0
  %c2 = cs.copy %s : !t0 -> !t1
  %g = cs.fragment "sum.w" on 1 (%c2) deferred cost <flops = 0, bytes = 0, ns = 5> : (!t1) -> !t1
  %r = cs.all_reduce "w" mean %g : !t1
  %n1 = cs.fragment "next.device1" on 1 (%g1) cost <flops = 0, bytes = 0, ns = 10> : (!t1) -> !t1
  %n0 = cs.fragment "next" on 0 (%g0) cost <flops = 0, bytes = 0, ns = 10> : (!t0) -> !t0
  %new = cs.fragment "update.w" on 1 (%w, %r) deferred cost <flops = 0, bytes = 0, ns = 40> : (!t1, !t1) -> !t1
  return %new, %n0, %n1 : !t1, !t0, !t1
}

//--- chain.mlir

// "s" is needed in this step; "first" goes on as "second" when it has come; "third" is
// made by an update, so that it belongs to the next step, as its consumer does.
// CHECK-LABEL: cs.problem @step.problem
// CHECK: %[[UA:.*]] = cs.problem.compute "update.a"
// CHECK: %[[UB:.*]] = cs.problem.compute "update.b"
// CHECK: %[[FA:.*]] = cs.problem.compute "forward" ns 10 after (%[[UA]], %[[UB]])
// CHECK: cs.problem.communication "s" {{.*}} from (%[[FA]]) to (%[[FB:[a-z0-9_]+]])
// CHECK: %[[FB]] = cs.problem.compute "tail" ns 20
// CHECK: cs.problem.communication "first" {{.*}} from (%[[FB]]) to (%[[RELAY:[a-z0-9_]+]])
// CHECK: %[[RELAY]] = cs.problem.compute "relay" ns 0 stream 1
// CHECK: cs.problem.communication "second" {{.*}} from (%[[RELAY]]) to (next %[[UA]])
// CHECK: cs.problem.communication "third" {{.*}} from (%[[UA]]) to (%[[UB]])
// SCHEDULE: cs.schedule = #cs.schedule<policy = "solver"
// SCHEDULE: cs.start "second"
cs.cluster @lab nodes = 2 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
!t = !cs.placed<tensor<400xf32>, device 0>
func.func @step(%a: !t {cs.param = "a"}, %b: !t {cs.param = "b"}, %x: !t {cs.batch = "x"})
    -> (!t {cs.updates = "a"}, !t {cs.updates = "b"}) attributes {cs.step} {
  %h = cs.fragment "forward" on 0 (%a, %b, %x) cost <flops = 0, bytes = 0, ns = 10> : (!t, !t, !t) -> !t
  %s = cs.all_reduce "s" mean %h : !t
  %g = cs.fragment "tail" on 0 (%s) cost <flops = 0, bytes = 0, ns = 20> : (!t) -> !t
  %r = cs.reduce "first" sum %g to 0 : !t
  %r2 = cs.broadcast "second" %r from 0 : !t
  %a1, %v = cs.fragment "update.a" on 0 (%a, %r2) deferred cost <flops = 0, bytes = 0, ns = 1> : (!t, !t) -> (!t, !t)
  %r3 = cs.all_reduce "third" mean %v : !t
  %b1 = cs.fragment "update.b" on 0 (%b, %r3) deferred cost <flops = 0, bytes = 0, ns = 1> : (!t, !t) -> !t
  return %a1, %b1 : !t, !t
}

//--- servers.mlir

// One server and two trainers: its link carries what both of them send. A push and the
// pull of the new value are one communication, with an overhead for each trainer's message: the request for
// the value goes with the push. The server's update is latency. Connections share the links. The
// joined values "p" and "q" come when both have been sent.
// CHECK-LABEL: cs.problem @step.problem
// CHECK: cs.problem.link "server.0.in" bytes_per_second 125000000 {cs.ahead_bytes = 262144 : i64, cs.by_connection, cs.credit_until_sent, cs.packet_bytes = 262144 : i64}
// CHECK: cs.problem.link "server.0.out" bytes_per_second 125000000 {cs.ahead_bytes = 262144 : i64, cs.by_connection, cs.credit_until_sent, cs.packet_bytes = 262144 : i64}
// CHECK-NEXT: %[[F:.*]] = cs.problem.compute "forward"
// CHECK: cs.problem.communication "w" bytes 1600 from (%[[F]]) to (next %[[F]]) through ({{.*}} bytes 3200 overhead_ns 40000 avoidable 40000 latency_ns 50000 update_ns 700, {{.*}} bytes 3200 overhead_ns 40000 avoidable 40000
// CHECK: cs.problem.communication "p" {{.*}} from (%[[F]]) to (%[[RELAY:[a-z0-9_]+]])
// CHECK: cs.problem.communication "q" {{.*}} from (%[[F]]) to (%[[RELAY]])
// CHECK: %[[RELAY]] = cs.problem.compute "relay" ns 0 stream 1
// CHECK-NOT: "relay"
// CHECK: cs.problem.communication "p.new" {{.*}} from (%[[RELAY]]) to (next %[[F]])
// CHECK: cs.problem.communication "q.new" {{.*}} from (%[[RELAY]]) to (next %[[F]])
// SCHEDULE: cs.schedule = #cs.schedule<policy = "solver"
// SCHEDULE: %[[P:.*]] = cs.start "p"
// SCHEDULE: %[[Q:.*]] = cs.start "q"
// SCHEDULE: cs.start "p.new" {{.*}}after (%[[P]], %[[Q]] :
cs.cluster @lab nodes = 2 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
!t = !cs.placed<tensor<400xf32>, device 0>
func.func @step(%w: !t {cs.param = "w"}, %p: !t {cs.param = "p"}, %q: !t {cs.param = "q"}, %x: !t {cs.batch = "x"})
    -> (!t {cs.updates = "w"}, !t {cs.updates = "p"}, !t {cs.updates = "q"})
    attributes {cs.step, cs.servers = #cs.servers<count = 1, sync_mode = sync, merge = 1>} {
  %gw, %gp, %gq = cs.fragment "forward" on 0 (%w, %p, %q, %x) cost <flops = 0, bytes = 0, ns = 10> : (!t, !t, !t, !t) -> (!t, !t, !t)
  cs.send "w" %gw to affine_map<(d0) -> (0)> of @server.0 : !t
  cs.send "p" %gp to affine_map<(d0) -> (0)> of @server.0 : !t
  cs.send "q" %gq to affine_map<(d0) -> (0)> of @server.0 : !t
  %nw = cs.recv "w.new" from affine_map<(d0) -> (0)> of @server.0 : !t
  %np = cs.recv "p.new" from affine_map<(d0) -> (0)> of @server.0 : !t
  %nq = cs.recv "q.new" from affine_map<(d0) -> (0)> of @server.0 : !t
  return %nw, %np, %nq : !t, !t, !t
}
func.func @server.0(%w: !t {cs.param = "w"}, %p: !t {cs.param = "p"}, %q: !t {cs.param = "q"})
    -> (!t {cs.updates = "w"}, !t {cs.updates = "p"}, !t {cs.updates = "q"}) attributes {cs.server = 0 : i64} {
  %cw = cs.collect "w" by mean from @step : !t
  %nw = cs.fragment "update.w" on 0 (%w, %cw) cost <flops = 0, bytes = 0, ns = 700> : (!t, !t) -> !t
  cs.publish "w.new" %nw to @step : !t
  %cp = cs.collect "p" by mean from @step : !t
  %cq = cs.collect "q" by mean from @step : !t
  %np, %nq = cs.fragment "update.pq" on 0 (%p, %q, %cp, %cq) cost <flops = 0, bytes = 0, ns = 900> : (!t, !t, !t, !t) -> (!t, !t)
  cs.publish "p.new" %np to @step : !t
  cs.publish "q.new" %nq to @step : !t
  return %nw, %np, %nq : !t, !t, !t
}

//--- costs.mlir

// Eight nodes: 7 rounds each way around the ring, or 3 of halving and doubling, of 7/8
// of the bytes; a tree of 3 rounds of all bytes. Links are busy for more than compute
// takes, so that all of it is a half slower.
// CHECK-LABEL: cs.problem @step.problem
// Up to b bytes by recursive doubling: 3 (51 us + 8.25 ns b) is less than 6 x 51 us + 14 ns b. On six nodes, by halving and doubling, in order.
// RING: cs.problem.link "inter" bytes_per_second 125000000 {cs.credit_until_sent, cs.rounds = 7 : i64}
// AUTO: cs.problem.link "inter" bytes_per_second 125000000 {cs.credit_until_sent, cs.once_bytes = 14232 : i64, cs.peers = 3 : i64}
// HALVES: cs.problem.link "inter" bytes_per_second 125000000 {cs.credit_until_sent}
// CHECK: cs.problem.compute "forward" ns 1500
// RING: cs.problem.communication "w" bytes 1600 {{.*}} through ({{.*}} bytes 1400 overhead_ns 7000 latency_ns 350000 avoidable 300000, {{.*}} bytes 1400 overhead_ns 7000 latency_ns 350000 avoidable 300000)
// AUTO: cs.problem.communication "w" bytes 1600 {{.*}} through ({{.*}} bytes 1400 overhead_ns 3000 avoidable 2000 latency_ns 150000 avoidable 100000, {{.*}} bytes 1400 overhead_ns 3000 avoidable 1000 latency_ns 150000 avoidable 100000)
// HALVES: cs.problem.communication "w" bytes 1600 {{.*}} through ({{.*}} bytes 2800 overhead_ns 3000 avoidable 1000 latency_ns 150000 avoidable 100000, {{.*}} bytes 2800 overhead_ns 3000 latency_ns 150000 avoidable 100000) {cs.avoidable_bytes = array<i64: 800, 800>}
// CHECK: cs.problem.communication "m" bytes 4 {{.*}} bytes 12 overhead_ns 3000 latency_ns 150000
cs.cluster @lab nodes = 8 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000>
    inter = <mbit_per_s = 1000, latency_ns = 50000, overhead_ns = 1000> slowdown_percent = 50
!t = !cs.placed<tensor<400xf32>, device 0>
!s = !cs.placed<tensor<f32>, device 0>
func.func @step(%w: !t {cs.param = "w"}, %x: !t {cs.batch = "x"})
    -> (!t {cs.updates = "w"}, !s {cs.metric = "m"}) attributes {cs.step} {
  %g, %m = cs.fragment "forward" on 0 (%w, %x) cost <flops = 0, bytes = 0, ns = 1000> : (!t, !t) -> (!t, !s)
  %r = cs.all_reduce "w" mean %g : !t
  %rm = cs.reduce "m" mean %m to 0 : !s
  return %r, %rm : !t, !s
}
