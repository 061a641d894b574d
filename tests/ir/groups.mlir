// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: cs-opt --verify-roundtrip %s | FileCheck %s
// RUN: cs-opt --emit-bytecode %s | cs-opt | FileCheck %s

// CHECK: cs.group @left ranks [0, 1, 2]
cs.group @left ranks [0, 1, 2]
// CHECK: cs.group @one ranks [7]
cs.group @one ranks [7]
// CHECK: cs.group @odd where #[[ODD:.*]]
cs.group @odd where affine_set<(r) : (r mod 2 - 1 == 0)>

!g = !cs.placed<tensor<10xf32>, device 0>
!whole = !cs.placed<tensor<6x3xf32>, device 0>
!part = !cs.placed<tensor<2x3xf32>, device 0>
// CHECK-LABEL: func.func @level1
func.func @level1(%g: !g, %t: !whole, %p: !part) {
  // CHECK: cs.all_reduce "g" mean %arg0 in @left : !cs.placed<tensor<10xf32>, device 0>
  %0 = cs.all_reduce "g" mean %g in @left : !g
  // CHECK: cs.reduce "r" max %arg0 to 1 in @left : !cs.placed<tensor<10xf32>, device 0>
  %1 = cs.reduce "r" max %g to 1 in @left : !g
  // CHECK: cs.broadcast "b" %arg0 from 3 in @odd : !cs.placed<tensor<10xf32>, device 0>
  %2 = cs.broadcast "b" %g from 3 in @odd : !g
  // CHECK: cs.reduce_scatter "rs" min %arg1 in @left : !cs.placed<tensor<6x3xf32>, device 0> -> !cs.placed<tensor<2x3xf32>, device 0>
  %3 = cs.reduce_scatter "rs" min %t in @left : !whole -> !part
  // CHECK: cs.all_gather "ag" %arg2 in @left : !cs.placed<tensor<2x3xf32>, device 0> -> !cs.placed<tensor<6x3xf32>, device 0>
  %4 = cs.all_gather "ag" %p in @left : !part -> !whole
  return
}

// CHECK-LABEL: func.func @level2
func.func @level2(%p: !part) -> !part {
  %f = cs.start "p" (%p) : (!part) -> !cs.future<!part> {
  ^bb0(%x: !part):
    // CHECK: cs.unshard %{{.*}} in @left :
    %u = cs.unshard %x in @left : !part -> !whole
    // CHECK: cs.exchange %{{.*}} in @left chunks 3 rounds 2 sum send
    %e = cs.exchange %u in @left chunks 3 rounds 2 sum
        send <parts affine_map<(r, s) -> ((r - s) mod 3, 1)> to affine_map<(r, s) -> ((r + 1) mod 3)>>
        recv <parts affine_map<(r, s) -> ((r - s - 1) mod 3, 1)> to affine_map<(r, s) -> ((r - 1) mod 3)>>
        : !whole
    // CHECK: cs.shard %{{.*}} in @left :
    %s = cs.shard %e in @left : !whole -> !part
    cs.return %s : !part
  }
  %r = cs.await %f : !cs.future<!part>
  return %r : !part
}
