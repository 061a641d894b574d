// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: cs-opt --verify-roundtrip %s | FileCheck %s
// RUN: cs-opt --sccp --canonicalize %s | FileCheck %s
// RUN: cs-opt --cse --canonicalize %s | FileCheck %s --check-prefix=CSE

// It has no value until a worker runs it. Two are one, and one that nobody uses is none.

// CHECK-LABEL: func.func @program
// CSE-LABEL: func.func @program
func.func @program() -> (tensor<i32>, tensor<i32>) {
  // CHECK: %[[A:.*]] = cs.worker_index : tensor<i32>
  // CHECK: %[[B:.*]] = cs.worker_index : tensor<i32>
  // CHECK: return %[[A]], %[[B]]
  // CSE: %[[A:.*]] = cs.worker_index : tensor<i32>
  // CSE-NOT: cs.worker_index
  // CSE: return %[[A]], %[[A]]
  %0 = cs.worker_index : tensor<i32>
  %1 = cs.worker_index : tensor<i32>
  return %0, %1 : tensor<i32>, tensor<i32>
}

// CSE-LABEL: func.func @unused
// CSE-NEXT: return
func.func @unused() {
  %0 = cs.worker_index : tensor<i32>
  return
}

// At level 1 it is an argument.
// CHECK-LABEL: func.func @graph(
// CHECK-SAME: %{{.*}}: !cs.placed<tensor<i32>, device 1> {cs.worker_index})
func.func @graph(%i: !cs.placed<tensor<i32>, device 1> {cs.worker_index}) {
  return
}
