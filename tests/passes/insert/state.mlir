// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: %cs-opt --insert-dist-comm=reduction=sum %s --remarks-filter=insert-dist-comm 2>&1 | FileCheck %s

// The running mean depends on the batch without a gradient in between: averaged
// whatever the gradients do. The step count does not, and needs nothing; neither
// does the momentum, which sees the batch through a gradient only.

// CHECK-DAG: remark: [Passed] state | {{.*}}"state.mean" differs between the workers: averaged over the workers, all-reduce of 16 bytes
// CHECK-LABEL: func.func @step(
// CHECK-DAG: cs.all_reduce "w" sum
// CHECK-DAG: %[[MEAN:.*]] = cs.all_reduce "state.mean" mean
// CHECK-NOT: cs.all_reduce
// CHECK: return %{{.*}}, %{{.*}}, %[[MEAN]], %{{.*}} :
func.func @step(%w: tensor<4xf32> {cs.param = "w"}, %m: tensor<4xf32> {cs.state = "m"},
                %mean: tensor<4xf32> {cs.state = "mean"}, %n: tensor<i32> {cs.state = "count"},
                %x: tensor<4xf32> {cs.batch = "x"})
    -> (tensor<4xf32> {cs.updates = "w"}, tensor<4xf32> {cs.updates = "m"},
        tensor<4xf32> {cs.updates = "mean"}, tensor<i32> {cs.updates = "count"})
    attributes {cs.step} {
  %g = arith.mulf %w, %x : tensor<4xf32>
  %mean1 = arith.addf %mean, %x : tensor<4xf32>
  %g1 = cs.gradient %g of "w" : tensor<4xf32>
  %m1 = arith.addf %m, %g1 : tensor<4xf32>
  %w1 = arith.subf %w, %m1 : tensor<4xf32>
  %one = arith.constant dense<1> : tensor<i32>
  %n1 = arith.addi %n, %one : tensor<i32>
  return %w1, %m1, %mean1, %n1 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<i32>
}
