// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: cs-opt --verify-roundtrip %s | FileCheck %s
// RUN: cs-opt --emit-bytecode %s | cs-opt | FileCheck %s
// RUN: cs-opt --cse --canonicalize %s | FileCheck %s --check-prefix=KEPT

// Communication is never merged or dropped, even when nobody uses it.
// KEPT: cs.all_reduce "g"
// KEPT: cs.all_reduce "g2"

!g = !cs.placed<tensor<10xf32>, device 0>
// CHECK-LABEL: func.func @f
func.func @f(%g: !g, %t: !cs.placed<tensor<8x3xf32>, device 0>, %p: !cs.placed<tensor<2x3xf32>, device 0>) {
  // CHECK: %g = cs.all_reduce "g" mean %arg0 : !cs.placed<tensor<10xf32>, device 0>
  %0 = cs.all_reduce "g" mean %g : !g
  // CHECK: cs.all_reduce "g2" sum %arg0
  %1 = cs.all_reduce "g2" sum %g : !g
  // CHECK: cs.reduce "r" max %arg0 to 1 : !cs.placed<tensor<10xf32>, device 0>
  %2 = cs.reduce "r" max %g to 1 : !g
  // CHECK: cs.broadcast "b" %arg0 from 2 : !cs.placed<tensor<10xf32>, device 0>
  %3 = cs.broadcast "b" %g from 2 : !g
  // CHECK: cs.reduce_scatter "rs" min %arg1 : !cs.placed<tensor<8x3xf32>, device 0> -> !cs.placed<tensor<2x3xf32>, device 0>
  %4 = cs.reduce_scatter "rs" min %t : !cs.placed<tensor<8x3xf32>, device 0> -> !cs.placed<tensor<2x3xf32>, device 0>
  // CHECK: cs.all_gather "ag" %arg2 : !cs.placed<tensor<2x3xf32>, device 0> -> !cs.placed<tensor<8x3xf32>, device 0>
  %5 = cs.all_gather "ag" %p : !cs.placed<tensor<2x3xf32>, device 0> -> !cs.placed<tensor<8x3xf32>, device 0>
  // CHECK: cs.send "m" %arg0 to #{{.*}} of @server when #{{.*}} : !cs.placed<tensor<10xf32>, device 0>
  cs.send "m" %g to affine_map<(r) -> (r mod 2)> of @server when affine_set<(r) : (r - 1 >= 0)> : !g
  // CHECK: cs.recv "n" from #{{.*}} : !cs.placed<tensor<10xf32>, device 0>
  %6 = cs.recv "n" from affine_map<(r) -> (r mod 2)> : !g
  return
}
