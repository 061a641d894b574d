// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: cs-opt --schedule-comm --expand-collectives --overlap-rpc-memcpy=staging-bytes=32 %s | cs-translate --mlir-to-plan | cs-translate --plan-to-text | FileCheck %s
// RUN: cs-opt --schedule-comm --expand-collectives --overlap-rpc-memcpy=mode=in-line %s | cs-translate --mlir-to-plan | cs-translate --plan-to-text | FileCheck %s --check-prefix=INLINE

// Two buffers of 32 bytes, one after the other in the same place: the second
// waits within the step, the first for the second of the step before. Copies
// belong to the engines of their devices.

// Exchanges, cost only, parts of buffers, devices.
// CHECK: required_features: 418
// CHECK: slots {
// CHECK-NEXT: name: "a"
// CHECK: slots {
// CHECK-NEXT: name: "b"
// CHECK: device: 1
// CHECK: kind: BATCH
// CHECK: kind: BATCH
// CHECK: name: "x"
// CHECK-NEXT: device: 1
// CHECK: element: I64
// CHECK-NEXT: shape: [4]
// CHECK: name: "staging"
// CHECK: kind: PART
// CHECK: name: "a.to_host"
// CHECK-NEXT: parent: 5
// CHECK: kind: PART
// CHECK: name: "b.to_host"
// CHECK-NEXT: parent: 5
// CHECK: instructions {
// CHECK-NEXT: name: "f.a"
// CHECK: instructions {
// CHECK-NEXT: name: "a.to_host"
// CHECK-NEXT: dependences {
// CHECK-NEXT: }
// CHECK-NEXT: dependences {
// CHECK-NEXT: instruction: 8
// CHECK-NEXT: distance: 1
// CHECK-NEXT: }
// CHECK-NOT: deferred
// CHECK: direction: TO_HOST
// CHECK: name: "a"
// CHECK: buffer: 6
// CHECK-NOT: has_input
// CHECK: name: "f.b"
// CHECK: name: "a.to_device"
// CHECK-NEXT: dependences {
// CHECK-NEXT: instruction: 2
// CHECK: direction: TO_DEVICE
// CHECK: name: "b.to_host"
// CHECK-NEXT: dependences {
// CHECK-NEXT: instruction: 3
// CHECK-NEXT: }
// CHECK-NEXT: dependences {
// CHECK-NEXT: instruction: 4
// CHECK-NEXT: }
// CHECK: device: 1
// CHECK-NEXT: copy {
// CHECK: direction: TO_HOST
// CHECK-NOT: in_line

// In its turn on the stream of the device, and back when it is there.
// INLINE: name: "f.a"
// INLINE: name: "copy"
// INLINE-NOT: deferred
// INLINE: direction: TO_HOST
// INLINE-NEXT: in_line: true
// INLINE: name: "copy"
// INLINE: deferred: true
// INLINE: direction: TO_DEVICE
// INLINE-NEXT: in_line: true

cs.cluster @node nodes = 2 devices = 2 device = <kind = cuda, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>

!t = !cs.placed<tensor<8xf32>, device 0>
!u = !cs.placed<tensor<8xf32>, device 1>
func.func @step(%a: !t {cs.param = "a"}, %b: !u {cs.param = "b"}, %x: !t {cs.batch = "x"}, %y: !u {cs.batch = "x"})
    -> (!t {cs.updates = "a"}, !u {cs.updates = "b"}) attributes {cs.step} {
  %ga = cs.fragment "f.a" on 0 (%a, %x) cost <flops = 1, bytes = 1, ns = 100> : (!t, !t) -> !t
  %ra = cs.all_reduce "a" mean %ga : !t
  %gb = cs.fragment "f.b" on 1 (%b, %y) cost <flops = 1, bytes = 1, ns = 100> : (!u, !u) -> !u
  %rb = cs.all_reduce "b" mean %gb : !u
  %a1 = cs.fragment "update.a" on 0 (%a, %ra) deferred cost <flops = 1, bytes = 1, ns = 100> : (!t, !t) -> !t
  %b1 = cs.fragment "update.b" on 1 (%b, %rb) deferred cost <flops = 1, bytes = 1, ns = 100> : (!u, !u) -> !u
  return %a1, %b1 : !t, !u
}
