// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: cs-opt --verify-roundtrip %s | FileCheck %s
// RUN: cs-opt --emit-bytecode %s | cs-opt | FileCheck %s

// CHECK-LABEL: func.func @f
func.func @f(%w: !cs.placed<tensor<10xf32>, device 0>, %x: !cs.placed<tensor<10xf32>, device 0>) -> (!cs.placed<tensor<10xf32>, device 0>, !cs.placed<tensor<10xf32>, device 0>) {
  // CHECK: %[[A:.*]] = cs.fragment "forward.0" on 0 (%arg0, %arg1) cost <flops = 10, bytes = 120, ns = 0>
  // CHECK-NEXT: ^bb0
  // CHECK-NEXT: arith.addf
  // CHECK-NEXT: cs.return
  %0 = cs.fragment "forward.0" on 0 (%w, %x) cost <flops = 10, bytes = 120, ns = 0>
      : (!cs.placed<tensor<10xf32>, device 0>, !cs.placed<tensor<10xf32>, device 0>) -> !cs.placed<tensor<10xf32>, device 0> {
  ^bb0(%a: tensor<10xf32>, %b: tensor<10xf32>):
    %c = arith.addf %a, %b : tensor<10xf32>
    cs.return %c : tensor<10xf32>
  }
  // CHECK: cs.fragment "update" on 0 (%[[A]]) deferred cost <flops = 0, bytes = 0, ns = 500>
  // CHECK-SAME: -> !cs.placed<tensor<10xf32>, device 0>{{$}}
  %1 = cs.fragment "update" on 0 (%0) deferred cost <flops = 0, bytes = 0, ns = 500> : (!cs.placed<tensor<10xf32>, device 0>) -> !cs.placed<tensor<10xf32>, device 0>
  return %0, %1 : !cs.placed<tensor<10xf32>, device 0>, !cs.placed<tensor<10xf32>, device 0>
}
