// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Messages of pieces of tensors: where they form a chain, all of it lies in one
// buffer and nothing is copied.
// RUN: cs-translate --mlir-to-plan %s | cs-translate --plan-to-text | FileCheck %s

cs.cluster @pair nodes = 2 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>

!a = !cs.placed<tensor<4x5xf32>, device 0>
!b = !cs.placed<tensor<f32>, device 0>
!m = !cs.placed<tensor<9xf32>, device 0>
!t = !cs.placed<tensor<12xf32>, device 0>

// The area has 21 elements: %a, then %b. The messages are its elements 0 to 8 and
// 9 to 20.
// CHECK:      name: "chain"
// CHECK-NEXT: is_step: true
// CHECK:      buffers {
// CHECK:      buffers {
// CHECK-NEXT:   type {
// CHECK-NEXT:     element: F32
// CHECK-NEXT:     shape: [21]
// CHECK:        name: "messages"
// %a
// CHECK:      kind: PART
// CHECK-NEXT: type {
// CHECK-NEXT:   element: F32
// CHECK-NEXT:   shape: [4, 5]
// CHECK-NEXT: }
// CHECK-NEXT: parent: [[AREA:[0-9]+]]
// The tail of %a and %b.
// CHECK:      kind: PART
// CHECK-NEXT: type {
// CHECK-NEXT:   element: F32
// CHECK-NEXT: }
// CHECK-NEXT: offset: 80
// CHECK-NEXT: parent: [[AREA]]
// CHECK-NOT:  copy {
// CHECK:      name: "head"
// CHECK:      communicate {
// CHECK:        phases {
// CHECK:          combine: SUM
// CHECK-NOT:      priority
// CHECK:        phases {
// CHECK:          priority: 7
// CHECK-NOT:  copy {
// CHECK:      outputs {
func.func @chain(%w: !a {cs.param = "w"}) -> (!a {cs.updates = "w"}, !b {cs.metric = "loss"}) attributes {cs.step} {
  %a, %b = cs.fragment "backward" on 0 (%w) cost <flops = 1, bytes = 1, ns = 1> : (!a) -> (!a, !b)
  %head = cs.pack %a[0, 9] : !a -> !m
  %f = cs.start "head" priority 3 (%head) : (!m) -> !cs.future<!m> {
  ^bb0(%x: !m):
    %s = cs.exchange %x chunks 2 rounds 1 sum
        send <parts affine_map<(r, s) -> (1 - r, 1)> to affine_map<(r, s) -> (1 - r)>>
        recv <parts affine_map<(r, s) -> (r, 1)> to affine_map<(r, s) -> (1 - r)>> : !m
    %g = cs.exchange %s chunks 2 rounds 1 replace priority 7
        send <parts affine_map<(r, s) -> (r, 1)> to affine_map<(r, s) -> (1 - r)>>
        recv <parts affine_map<(r, s) -> (1 - r, 1)> to affine_map<(r, s) -> (1 - r)>> : !m
    cs.return %g : !m
  }
  %tail = cs.pack %a[9, 20], %b[0, 1] : !a, !b -> !t
  %h = cs.start "tail" (%tail) : (!t) -> !cs.future<!t> {
  ^bb0(%x: !t):
    %s = cs.exchange %x chunks 1 rounds 1 sum
        send <parts affine_map<(r, s) -> (0, 1)> to affine_map<(r, s) -> (1 - r)>>
        recv <parts affine_map<(r, s) -> (0, 1)> to affine_map<(r, s) -> (1 - r)>> : !t
    cs.return %s : !t
  }
  %m1 = cs.await %f : !cs.future<!m>
  %t1 = cs.await %h : !cs.future<!t>
  %a1 = cs.unpack %m1[0, 9], %t1[0, 11] : !m, !t -> !a
  %b1 = cs.unpack %t1[11, 12] : !t -> !b
  %w1 = cs.fragment "update" on 0 (%w, %a1) deferred cost <flops = 1, bytes = 1, ns = 1> : (!a, !a) -> !a
  return %w1, %b1 : !a, !b
}

// A tensor that is used elsewhere too is copied into its message, before what else
// the stream has to do. What else is in the message is not, nor what comes back.
// CHECK:      name: "used"
// CHECK:      name: "backward"
// CHECK:      instructions {
// CHECK-NEXT:   name: "pack"
// CHECK:        deferred: true
// CHECK-NEXT:   priority: -1
// CHECK:        copy {
// CHECK:      instructions {
// CHECK-NEXT:   name: "both"
// CHECK-NOT:  copy {
// CHECK:      outputs {
func.func @used(%w: !a {cs.param = "w"}) -> (!a {cs.updates = "w"}, !b {cs.metric = "loss"}) {
  %a, %b = cs.fragment "backward" on 0 (%w) cost <flops = 1, bytes = 1, ns = 1> : (!a) -> (!a, !b)
  %m = cs.pack %a[12, 20], %b[0, 1] : !a, !b -> !m
  %f = cs.start "both" (%m) : (!m) -> !cs.future<!m> {
  ^bb0(%x: !m):
    %s = cs.exchange %x chunks 1 rounds 1 sum
        send <parts affine_map<(r, s) -> (0, 1)> to affine_map<(r, s) -> (1 - r)>>
        recv <parts affine_map<(r, s) -> (0, 1)> to affine_map<(r, s) -> (1 - r)>> : !m
    cs.return %s : !m
  }
  %m1 = cs.await %f : !cs.future<!m>
  %b1 = cs.unpack %m1[8, 9] : !m -> !b
  %w1 = cs.fragment "update" on 0 (%w, %a) deferred cost <flops = 1, bytes = 1, ns = 1> : (!a, !a) -> !a
  return %w1, %b1 : !a, !b
}

// Pieces of messages that do not lie side by side are copied when they are
// unpacked: here two tensors of the order %a, %b make one of the order %b, %a.
// CHECK:      name: "crossed"
// CHECK-NOT:  name: "pack"
// CHECK:      name: "unpack"
// CHECK:      copy {
// CHECK:      name: "unpack"
// CHECK:      copy {
func.func @crossed(%w: !t {cs.param = "u"}, %v: !m {cs.param = "v"}) -> (!t {cs.updates = "u"}) {
  %a, %b = cs.fragment "backward" on 0 (%w, %v) cost <flops = 1, bytes = 1, ns = 1> : (!t, !m) -> (!m, !m)
  %m = cs.pack %a[0, 9], %b[0, 9] : !m, !m -> !cs.placed<tensor<18xf32>, device 0>
  %t = cs.unpack %m[9, 18], %m[0, 3] : !cs.placed<tensor<18xf32>, device 0>, !cs.placed<tensor<18xf32>, device 0> -> !t
  return %t : !t
}
