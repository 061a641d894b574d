// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The roles of a plan, and where a concat has to copy. test_parameter_server.py
// looks at the rest, and runs it.
// RUN: cs-opt --schedule-comm=fuse-blocks=false --expand-collectives --verify-distributed %S/Inputs/parameter-server.mlir -o %t.mlir
// RUN: cs-translate --mlir-to-plan --plan-summary %t.mlir -o %t.plan 2>&1 | FileCheck %s --check-prefix=SUMMARY
// RUN: cs-translate --mlir-to-plan %t.mlir -o %t.again && cmp %t.plan %t.again
// RUN: cs-opt --schedule-comm=fuse-blocks=false --expand-collectives --verify-distributed %s -o %t.copies.mlir
// RUN: cs-translate --mlir-to-plan %t.copies.mlir -o %t.copies.plan
// RUN: cs-translate --plan-to-text %t.copies.plan | FileCheck %s

// SUMMARY: code bytes: {{[0-9]+}}
// SUMMARY-NEXT: checks of memory: {{[0-9.]+}} ms
// SUMMARY-NEXT: role trainer: processes: 2, functions: 2, parameter bytes: 72, state bytes: 80
// SUMMARY-NEXT: role server.0: processes: 1, functions: 2, parameter bytes: 36, state bytes: 44
// SUMMARY-NEXT: role server.1: processes: 1, functions: 3, parameter bytes: 36, state bytes: 52
// SUMMARY-NEXT: server.0 block w.block0: 36 bytes of w, rows 0 to 2
// SUMMARY-NEXT: server.1 block b: 12 bytes of b, rows 0 to 2
// SUMMARY-NEXT: server.1 block w.block1: 24 bytes of w, rows 3 to 4

cs.cluster @lab nodes = 2 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
!t = !cs.placed<tensor<4xf32>, device 0>
!h = !cs.placed<tensor<2xf32>, device 0>
#self = affine_map<(d0) -> (0)>

// The second half of "b" is half of what it was, from a fragment, and copied; the
// first half is received where it belongs, and also read there.
func.func @step(%a: !t {cs.param = "a"}, %b: !t {cs.param = "b"}) -> (!t {cs.updates = "a"}, !t {cs.updates = "b"})
    attributes {cs.step, cs.servers = #cs.servers<count = 1, sync_mode = async, merge = 1>} {
  %g = cs.fragment "compute" on 0 (%a, %b) cost <flops = 1, bytes = 1, ns = 0> : (!t, !t) -> !t
  %g0, %g1 = cs.split %g : !t -> !h, !h
  cs.send "g" %g1 to #self of @server.0 : !h
  %n = cs.recv "g.new" from #self of @server.0 : !h
  %m = cs.fragment "more" on 0 (%n, %g0) deferred cost <flops = 1, bytes = 1, ns = 0> : (!h, !h) -> !h
  %j = cs.concat %n, %m : !h, !h
  return %a, %j : !t, !t
}

func.func @server.0(%v: !h {cs.state = "v"}) -> (!h {cs.updates = "v"}) attributes {cs.server = 0 : i64} {
  %g = cs.collect "g" each from @step : !h
  %n = cs.fragment "update" on 0 (%g, %v) cost <flops = 1, bytes = 1, ns = 0> : (!h, !h) -> !h
  cs.publish "g.new" %n to @step : !h
  return %n : !h
}

// Cost only (5), parameter servers (7); no exchange.
// CHECK: required_features: 160
// CHECK: name: "step"
// The gradient, its halves, what is received, the fragment's result.
// CHECK: buffers {
// CHECK: buffers {
// CHECK: buffers {
// CHECK: buffers {
// CHECK-NEXT: kind: PART
// CHECK: name: "split"
// CHECK-NEXT: parent: 2
// CHECK: buffers {
// CHECK-NEXT: kind: PART
// CHECK: offset: 8
// CHECK: parent: 2
// The new "b", and its half that is received.
// CHECK: buffers {
// CHECK-NEXT: kind: SLOT_NEXT
// CHECK: buffers {
// CHECK-NEXT: kind: PART
// CHECK: name: "g.new"
// CHECK-NEXT: parent: 5
// The fragment's result, and where it is copied to.
// CHECK: buffers {
// CHECK-NOT: kind
// CHECK: buffers {
// CHECK-NEXT: kind: PART
// CHECK: offset: 8
// CHECK: parent: 5
// CHECK: name: "compute"
// CHECK: name: "g"
// CHECK: push {
// CHECK-NEXT: key: "g"
// CHECK-NEXT: buffer: 4
// CHECK: name: "g.new"
// CHECK: pull {
// CHECK-NEXT: key: "g.new"
// CHECK-NEXT: buffer: 6
// CHECK: name: "more"
// CHECK: copy {
// CHECK-NEXT: source: 7
// CHECK-NEXT: target: 8
// CHECK-NOT: copy {
// CHECK: name: "server.0/g"
// CHECK: kind: BATCH
// CHECK: batch: "g"
// CHECK: roles {
// CHECK-NEXT: name: "trainer"
// CHECK: roles {
// CHECK-NEXT: name: "server.0"
// CHECK-NEXT: count: 1
// CHECK-NEXT: functions: [1]
// CHECK: parameter_servers {
// CHECK-NEXT: mode: ASYNC
// CHECK-NEXT: merge: 1
// CHECK-NEXT: servers {
// CHECK-NEXT: role: 1
// CHECK-NEXT: blocks {
// CHECK-NEXT: key: "g"
// CHECK-NEXT: pull_key: "g.new"
// CHECK-NEXT: function: 1
