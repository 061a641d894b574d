// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The gradient of "p" is the same on all workers, so that no device but the first
// made it: it was summed over the nodes, and not over the devices of a node.
// values: 1
// mode: nodes=1 devices=2 reduction=sum pipeline=cs-all-reduce-pipeline{reduction=sum}
// mode: nodes=2 devices=2 reduction=sum pipeline=cs-all-reduce-pipeline{reduction=sum}
// mode: nodes=2 devices=2 reduction=sum pipeline=cs-parameter-server-pipeline{reduction=sum servers=2 min-block-elements=1}
func.func @step(%p: tensor<4xf32> {cs.param = "p"}, %q: tensor<4xf32> {cs.param = "q"},
                %x: tensor<4xf32> {cs.batch = "x"})
    -> (tensor<4xf32> {cs.updates = "p"}, tensor<4xf32> {cs.updates = "q"}) attributes {cs.step} {
  %s = arith.mulf %p, %p : tensor<4xf32>
  %t = arith.mulf %q, %x : tensor<4xf32>
  %g = cs.gradient %s of "p" : tensor<4xf32>
  %h = cs.gradient %t of "q" : tensor<4xf32>
  %a = arith.subf %p, %g : tensor<4xf32>
  %b = arith.subf %q, %h : tensor<4xf32>
  return %a, %b : tensor<4xf32>, tensor<4xf32>
}
