// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: cs-opt --verify-roundtrip %s | FileCheck %s
// RUN: cs-opt --emit-bytecode %s | cs-opt | FileCheck %s
// RUN: cs-opt --mlir-print-op-generic %s | cs-opt | FileCheck %s

!w = !cs.placed<tensor<10xf32>, device 0>
// CHECK-LABEL: func.func @f
func.func @f(%w: !w) -> !w {
  // CHECK: cs.start "w" {{.*}} attributes {cs.nccl = #cs.nccl<lane = 0, number = 3>} {
  %f = cs.start "w" (%w) : (!w) -> !cs.future<!w> attributes {cs.nccl = #cs.nccl<lane = 0, number = 3>} {
  ^bb0(%x: !w):
    %r = cs.all_reduce "w" max %x : !w
    cs.return %r : !w
  }
  %0 = cs.await %f : !cs.future<!w>
  return %0 : !w
}
