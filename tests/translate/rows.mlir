// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// A table with row-sparse gradients in a plan. tests/integration/test_row_sparse.py
// runs it.
// RUN: rm -rf %t && mkdir -p %t/a %t/b
// RUN: cp %S/../integration/Inputs/embedding.mlir %t/a && cp %S/../integration/Inputs/embedding.mlir %t/b
// RUN: cd %t/a && cs-opt --cs-parameter-server-pipeline="servers=2 min-block-elements=4096" --verify-distributed embedding.mlir -o 2.mlir
// RUN: cs-translate --mlir-to-plan --plan-summary %t/a/2.mlir -o %t/a/plan 2>&1 | FileCheck %s --check-prefix=SUMMARY
// RUN: cs-translate --plan-to-text %t/a/plan | FileCheck %s
// RUN: cs-translate --plan-to-text %t/a/plan | FileCheck %s --check-prefix=SLOTS
// The same bytes again, from another folder.
// RUN: cd %t/b && env PYTHONHASHSEED=5 MALLOC_PERTURB_=85 cs-opt --cs-parameter-server-pipeline="servers=2 min-block-elements=4096" %t/b/embedding.mlir -o 2.mlir
// RUN: cd %t/b && env TZ=Asia/Kolkata MALLOC_PERTURB_=85 cs-translate --mlir-to-plan %t/b/2.mlir -o plan
// RUN: cmp %t/a/plan %t/b/plan

// The trainers have no table.
// SUMMARY: role trainer: processes: 2, functions: 1, parameter bytes: 64, state bytes: 0
// SUMMARY: role server.0: {{.*}}, parameter bytes: 320{{[0-9]+}},
// SUMMARY: server.0 block table.block0: 32000 bytes of table, rows 0 to 499, single rows, 500 at a time
// SUMMARY: server.1 block table.block1: 32000 bytes of table, rows 500 to 999, single rows, 500 at a time

// Parameter servers (7), rows (9), AVX2 code (3).
// CHECK: required_features: 648
// CHECK-LABEL: name: "step"
// CHECK: name: "table"
// CHECK: pull_rows {
// CHECK-NEXT: key: "table"
// CHECK-NEXT: parts {
// CHECK-NEXT: }
// CHECK-NEXT: parts {
// CHECK-NEXT: server: 1
// CHECK-NEXT: row_begin: 500
// CHECK-NEXT: }
// CHECK-NEXT: rows: 1000
// CHECK-NEXT: ids: [[IDS:[0-9]+]]
// CHECK-NEXT: values:
// The push is behind the pull.
// CHECK: name: "table"
// CHECK-NEXT: dependences {
// CHECK-NEXT: instruction: 1
// CHECK: push_rows {
// CHECK: rows: 1000
// CHECK-NEXT: ids: [[IDS]]
// The update of a block: rows in, rows out, and what the schedule says.
// CHECK: name: "server.0/table.block0"
// CHECK: batch: "table.block0"
// CHECK: batch: "server.0/table[0:500]"
// CHECK: batch: "server.0/table.m[0:500]"
// CHECK: batch: "server.0/table.v[0:500]"
// CHECK: kind: SLOT_CURRENT
// CHECK: name: "server.0/schedule#0"
// CHECK: outputs {
// CHECK-NEXT: metric: "server.0/table[0:500]"
// CHECK: metric: "server.0/table.m[0:500]"
// CHECK: metric: "server.0/table.v[0:500]"
// CHECK-NOT: metric: "server.0
// CHECK: parameter_servers {
// CHECK: key: "table.block0"
// CHECK-NEXT: pull_key: "table.block0.new"
// CHECK: row_chunk: 500

// SLOTS: name: "server.0/table[0:500]"
// SLOTS: shape: [500, 16]
// SLOTS: part_of: "table"
// SLOTS: name: "server.0/table.m[0:500]"
// SLOTS-NEXT: kind: STATE
// SLOTS: name: "server.1/table[500:1000]"
// SLOTS: part_of: "table"
// SLOTS-NEXT: row_begin: 500
