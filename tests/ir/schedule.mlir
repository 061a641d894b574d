// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: cs-opt --verify-roundtrip %s | FileCheck %s
// RUN: cs-opt --emit-bytecode %s | cs-opt | FileCheck %s
// RUN: cs-opt --mlir-print-op-generic %s | cs-opt | FileCheck %s

!w = !cs.placed<tensor<10xf32>, device 0>
!h = !cs.placed<tensor<10xf32>, device 0 host>
!s = !cs.placed<tensor<5xf32>, device 0>
// CHECK-LABEL: func.func @f
func.func @f(%w: !w, %p: !s) -> (!w, !w) {
  // CHECK: %w = cs.start "w" priority 3 (%arg0) : (!cs.placed<tensor<10xf32>, device 0>) -> !cs.future<!cs.placed<tensor<10xf32>, device 0>> {
  // CHECK: cs.all_reduce "w" mean
  %f = cs.start "w" priority 3 (%w) : (!w) -> !cs.future<!w> {
  ^bb0(%x: !w):
    %r = cs.all_reduce "w" mean %x : !w
    cs.return %r : !w
  }
  // CHECK: cs.start "w2" (%arg1) after (%w : !cs.future<!cs.placed<tensor<10xf32>, device 0>>)
  // CHECK: cs.unshard
  // CHECK: cs.exchange %{{.*}} chunks 2 rounds 1 replace send <parts #{{.*}} to #{{.*}}> recv <parts #{{.*}} to #{{.*}} when nonnegative #{{.*}} zero #{{.*}}>
  %g = cs.start "w2" (%p) after (%f : !cs.future<!w>) : (!s) -> !cs.future<!w> {
  ^bb0(%x: !s):
    %u = cs.unshard %x : !s -> !w
    %e = cs.exchange %u chunks 2 rounds 1 replace
        send <parts affine_map<(r, s) -> (r, 1)> to affine_map<(r, s) -> (1 - r)>>
        recv <parts affine_map<(r, s) -> (1 - r, 1)> to affine_map<(r, s) -> (1 - r)> when nonnegative affine_map<(r, s) -> (r)> zero affine_map<(r, s) -> (s)>>
        : !w
    %h = cs.shard %e : !w -> !s
    %i = cs.unshard %h : !s -> !w
    cs.return %i : !w
  }
  // CHECK: cs.start "w.to_host" (%arg0) : (!cs.placed<tensor<10xf32>, device 0>) -> !cs.future<!cs.placed<tensor<10xf32>, device 0 host>> {
  // CHECK: cs.copy
  %c = cs.start "w.to_host" (%w) : (!w) -> !cs.future<!h> {
  ^bb0(%x: !w):
    %y = cs.copy %x : !w -> !h
    cs.return %y : !h
  }
  // CHECK: cs.await %w : !cs.future<!cs.placed<tensor<10xf32>, device 0>>
  %0 = cs.await %f : !cs.future<!w>
  %1 = cs.await %g : !cs.future<!w>
  return %0, %1 : !w, !w
}

// CHECK-LABEL: func.func @parts
func.func @parts(%w: !w) -> !w {
  // CHECK: cs.start "w" priority 1 parts [3, 7] (%arg0)
  %f = cs.start "w" priority 1 parts [3, 7] (%w) : (!w) -> !cs.future<!w> {
  ^bb0(%x: !w):
    %r = cs.all_reduce "w" mean %x : !w
    cs.return %r : !w
  }
  %0 = cs.await %f : !cs.future<!w>
  return %0 : !w
}
