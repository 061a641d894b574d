// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A sum counted what is the same on all devices for each of them twice, when --replicate-devices ran twice, and what the
// nodes had spread among them for each device of the node that had it.
// values: 1
// mode: nodes=2 devices=2 reduction=sum pipeline=insert-dist-comm{reduction=sum},replicate-devices,replicate-devices,schedule-comm,expand-collectives,verify-distributed
// mode: nodes=2 devices=2 reduction=mean pipeline=insert-dist-comm,spread-sums{force=true min-elements=1},replicate-devices,schedule-comm,expand-collectives,verify-distributed
// mode: nodes=3 devices=2 reduction=sum pipeline=insert-dist-comm{reduction=sum},spread-sums{force=true min-elements=1},replicate-devices,assign-devices,replicate-devices,schedule-comm,expand-collectives,verify-distributed
func.func @step(%p: tensor<4xf32> {cs.param = "p"}, %q: tensor<6xf32> {cs.param = "q"})
    -> (tensor<4xf32> {cs.updates = "p"}, tensor<6xf32> {cs.updates = "q"}) attributes {cs.step} {
  %zero = arith.constant dense<0.0> : tensor<f32>
  %s = arith.mulf %p, %p : tensor<4xf32>
  %t = arith.mulf %q, %q : tensor<6xf32>
  %g = cs.gradient %s of "p" : tensor<4xf32>
  %h = cs.gradient %t of "q" : tensor<6xf32>
  %m = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>], iterator_types = ["reduction"]}
      ins(%h : tensor<6xf32>) outs(%zero : tensor<f32>) {
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %a, %b : f32
    linalg.yield %c : f32
  } -> tensor<f32>
  %n = linalg.generic {indexing_maps = [affine_map<(i) -> ()>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%m : tensor<f32>) outs(%h : tensor<6xf32>) {
  ^bb0(%a: f32, %b: f32):
    %c = arith.mulf %a, %b : f32
    linalg.yield %c : f32
  } -> tensor<6xf32>
  %a = arith.subf %p, %g : tensor<4xf32>
  %b = arith.subf %q, %n : tensor<6xf32>
  return %a, %b : tensor<4xf32>, tensor<6xf32>
}
