// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: %cs-opt --insert-dist-comm %s --remarks-filter=insert-dist-comm -o /dev/null 2>&1 | FileCheck %s

// CHECK: [[#@LINE+10]]:{{[0-9]+}}: remark: [Passed] gradient | {{.*}}Function=step | Remark="gradient "w": all-reduce, mean of 64 bytes"
// CHECK: remark: [Passed] metric | {{.*}}"metric.loss": averaged over the workers at rank 0, reduce of 32 bytes
// CHECK: remark: [Passed] fragments | {{.*}}@step: 2 fragments, 1 deferred ones; cut after a gradient: 1, before a parameter: 0; ops moved into updates: 1, dead: 1
func.func @step(%w: tensor<4x4xf32> {cs.param = "w"}, %m: tensor<4x4xf32> {cs.state = "m"},
                %x: tensor<4x4xf32> {cs.batch = "x"}, %y: tensor<4xf64> {cs.batch = "y"})
    -> (tensor<4x4xf32> {cs.updates = "w"}, tensor<4x4xf32> {cs.updates = "m"}, tensor<4xf64> {cs.metric = "loss"})
    attributes {cs.step} {
  %mm = arith.mulf %m, %m : tensor<4x4xf32>
  %dead = arith.mulf %x, %x : tensor<4x4xf32>
  %g = arith.mulf %w, %x : tensor<4x4xf32>
  %g1 = cs.gradient %g of "w" : tensor<4x4xf32>
  %m1 = arith.addf %mm, %g1 : tensor<4x4xf32>
  %w1 = arith.subf %w, %m1 : tensor<4x4xf32>
  %l = math.exp %y : tensor<4xf64>
  return %w1, %m1, %l : tensor<4x4xf32>, tensor<4x4xf32>, tensor<4xf64>
}
