// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: cs-opt --verify-roundtrip %s | FileCheck %s
// RUN: cs-opt --canonicalize %s | FileCheck %s --check-prefix=CANON

!w = !cs.placed<tensor<10xf32>, device 0>
!a = !cs.placed<tensor<4xf32>, device 0>
!b = !cs.placed<tensor<6xf32>, device 0>
// CHECK-LABEL: func.func @joined_again
// CANON-LABEL: func.func @joined_again
// CANON-NEXT: return %arg0
func.func @joined_again(%w: !w) -> !w {
  // CHECK: cs.split %arg0 : !cs.placed<tensor<10xf32>, device 0> -> !cs.placed<tensor<4xf32>, device 0>, !cs.placed<tensor<6xf32>, device 0>
  %0, %1 = cs.split %w : !w -> !a, !b
  // CHECK: cs.concat %{{.*}}, %{{.*}} : !cs.placed<tensor<4xf32>, device 0>, !cs.placed<tensor<6xf32>, device 0>
  %2 = cs.concat %0, %1 : !a, !b
  return %2 : !w
}

// CANON-LABEL: func.func @swapped
// CANON: cs.split
// CANON: cs.concat
func.func @swapped(%w: !w) -> !w {
  %0, %1 = cs.split %w : !w -> !a, !b
  %2 = cs.concat %1, %0 : !b, !a
  return %2 : !w
}

// CANON-LABEL: func.func @cut_again
// CANON-NEXT: return %arg0, %arg1
func.func @cut_again(%a: !a, %b: !b) -> (!a, !b) {
  %0 = cs.concat %a, %b : !a, !b
  %1, %2 = cs.split %0 : !w -> !a, !b
  return %1, %2 : !a, !b
}

// CANON-LABEL: func.func @flat
// CANON-NEXT: cs.concat %arg0, %arg0, %arg1
func.func @flat(%a: !a, %b: !b) -> !cs.placed<tensor<14xf32>, device 0> {
  %0 = cs.concat %a, %b : !a, !b
  %1 = cs.concat %a, %0 : !a, !w
  return %1 : !cs.placed<tensor<14xf32>, device 0>
}

// CANON-LABEL: func.func @one_block
// CANON-NEXT: return %arg0
func.func @one_block(%w: !w) -> !w {
  %0 = cs.split %w : !w -> !w
  %1 = cs.concat %0 : !w
  return %1 : !w
}

// CANON-LABEL: func.func @copies
// CANON-NEXT: %[[H:.*]] = cs.copy %arg0
// CANON-NEXT: return %arg0, %[[H]]
func.func @copies(%w: !w) -> (!w, !cs.placed<tensor<10xf32>, device 0 host>) {
  // CHECK: cs.copy %arg0 : !cs.placed<tensor<10xf32>, device 0> -> !cs.placed<tensor<10xf32>, device 0>
  %0 = cs.copy %w : !w -> !w
  %1 = cs.copy %0 : !w -> !cs.placed<tensor<10xf32>, device 0 host>
  return %0, %1 : !w, !cs.placed<tensor<10xf32>, device 0 host>
}
