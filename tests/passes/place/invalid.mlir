// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: cs-opt --replicate-devices --assign-devices --split-input-file --verify-diagnostics %s

cs.cluster @node nodes = 2 devices = 2 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
!t = !cs.placed<tensor<4xf32>, device 0>
func.func @broadcast(%x: !t {cs.batch = "x"}) {
  // expected-error @below {{works on what differs between the devices of a node, and does not combine it}}
  %r = cs.broadcast "a" %x from 0 : !t
  return
}

// -----

cs.cluster @node nodes = 2 devices = 2 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
!t = !cs.placed<tensor<4xf32>, device 0>
// expected-error @below {{result 0, the new value of "s", depends on the batch or the worker's index without a communication: devices would drift apart}}
func.func @drift(%s: !t {cs.state = "s"}, %x: !t {cs.batch = "x"}) -> (!t {cs.updates = "s"}) {
  %f = cs.fragment "f" on 0 (%s, %x) cost <flops = 1, bytes = 1, ns = 0> : (!t, !t) -> !t
  return %f : !t
}

// -----

cs.cluster @node nodes = 2 devices = 2 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
!t = !cs.placed<tensor<4xi32>, device 0>
func.func @send(%x: !t {cs.batch = "x"}) {
  // expected-error @below {{takes a mean over the devices, which needs a floating-point element type, got: 'i32'}}
  cs.send "a" %x to affine_map<(r) -> (1 - r)> : !t
  return
}

// -----

cs.cluster @node nodes = 2 devices = 2 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
!t = !cs.placed<tensor<4xf32>, device 0>
!h = !cs.placed<tensor<2xf32>, device 0>
func.func @split(%x: !t {cs.batch = "x"}) -> (!h {cs.metric = "h"}) {
  // expected-error @below {{must be of blocks to send, to be combined over the devices}}
  %b:2 = cs.split %x : !t -> !h, !h
  return %b#0 : !h
}

// -----

cs.cluster @node nodes = 2 devices = 2 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
!t = !cs.placed<tensor<4xf32>, device 0>
func.func @scheduled(%x: !t {cs.batch = "x"}) {
  // expected-error @below {{must not be there yet: run --replicate-devices before --schedule-comm}}
  %f = cs.start "a" (%x) : (!t) -> !cs.future<!t> {
  ^bb0(%y: !t):
    %r = cs.all_reduce "a" sum %y : !t
    cs.return %r : !t
  }
  %r = cs.await %f : !cs.future<!t>
  return
}

// -----

cs.cluster @node nodes = 2 devices = 2 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
!t = !cs.placed<tensor<4xf32>, device 2>
// expected-error @below {{device must be below the cluster's 2, got: '!cs.placed<tensor<4xf32>, device 2>'}}
func.func @device(%x: !t {cs.batch = "x"}) attributes {cs.step} {
  return
}

// -----

cs.cluster @node nodes = 2 devices = 2 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
!t = !cs.placed<tensor<4xf32>, device 0>
!h = !cs.placed<tensor<4xf32>, device 0 host>
func.func @host(%x: !t {cs.batch = "x"}) {
  // expected-error @below {{must be between devices, got a copy to or from the host: run --replicate-devices before --overlap-rpc-memcpy}}
  %h = cs.copy %x : !t -> !h
  return
}

// -----

!t = !cs.placed<tensor<4xf32>, device 0>
// expected-error @below {{must have one block, and end in func.return}}
func.func @blocks(%x: !t) {
  cf.br ^bb1
^bb1:
  return
}

// -----

// expected-error @below {{has no cs.cluster, so the number of nodes is unknown}}
module {
  func.func @f(%x: !cs.placed<tensor<4xf32>, device 0>) {
    return
  }
}

// -----

cs.cluster @lab nodes = 2 devices = 2 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
cs.group @first ranks [0]
!t = !cs.placed<tensor<4xf32>, device 0>
func.func @group(%x: !t {cs.batch = "x"}) {
  // expected-error @below {{is in @first: groups are of nodes with one device}}
  %r = cs.all_reduce "x" sum %x in @first : !t
  return
}

// -----

!t = !cs.placed<tensor<4xf32>, device 0>
// expected-error @below {{is run by some of the nodes, as 'cs.count' says: --replicate-devices takes functions of all}}
func.func @some(%x: !t {cs.batch = "x"}) attributes {cs.step, cs.count = 2 : i64} {
  return
}
