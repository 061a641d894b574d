// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: cs-opt --insert-dist-comm="mode=parameter-server servers=2 min-block-elements=8" --split-input-file --verify-diagnostics %s
// RUN: not cs-opt --insert-dist-comm="mode=parameter-server sync-mode=async" %S/Inputs/joined.mlir 2>&1 | FileCheck %s --check-prefix=JOINED
// JOINED: joined.mlir:[[#]]:{{[0-9]+}}: error: joins the updates of parameters "a", "b", whose gradients arrive one by one with sync-mode=async

func.func @step(%w: tensor<4xf32> {cs.param = "w"}, %x: tensor<4xf32> {cs.batch = "x"})
    -> (tensor<4xf32> {cs.updates = "w"}, tensor<4xf32> {cs.metric = "norm"}) attributes {cs.step} {
  %g = arith.mulf %w, %x : tensor<4xf32>
  %g1 = cs.gradient %g of "w" : tensor<4xf32>
  %w1 = arith.subf %w, %g1 : tensor<4xf32>
  // expected-error @+1 {{metric "norm" depends on an exchanged gradient, which with mode=parameter-server only servers have}}
  %n = math.exp %w1 : tensor<4xf32>
  return %w1, %n : tensor<4xf32>, tensor<4xf32>
}

// -----

func.func @step(%w: tensor<4xf32> {cs.param = "w"}, %m: tensor<4xf32> {cs.state = "m"}, %x: tensor<4xf32> {cs.batch = "x"})
    -> (tensor<4xf32> {cs.updates = "w"}, tensor<4xf32> {cs.updates = "m"}) attributes {cs.step} {
  %g = arith.mulf %w, %x : tensor<4xf32>
  %g1 = cs.gradient %g of "w" : tensor<4xf32>
  %w1 = arith.subf %w, %g1 : tensor<4xf32>
  // expected-error @+1 {{new value of state "m" depends on the batch and on an exchanged gradient, and with mode=parameter-server no process has both}}
  %m1 = arith.addf %g1, %x : tensor<4xf32>
  return %w1, %m1 : tensor<4xf32>, tensor<4xf32>
}

// -----

func.func @step(%a: tensor<4xf32> {cs.param = "a"}, %b: tensor<4xf32> {cs.param = "b"}, %x: tensor<4xf32> {cs.batch = "x"})
    -> (tensor<4xf32> {cs.updates = "a"}, tensor<4xf32> {cs.updates = "b"}) attributes {cs.step} {
  %g = arith.mulf %a, %x : tensor<4xf32>
  %g1 = cs.gradient %g of "a" : tensor<4xf32>
  %h = arith.mulf %b, %g1 : tensor<4xf32>
  // expected-error @+1 {{is made from an exchanged gradient, which with mode=parameter-server only servers have}}
  %h1 = cs.gradient %h of "b" : tensor<4xf32>
  return %g1, %h1 : tensor<4xf32>, tensor<4xf32>
}

// -----

// Momentum in the forward pass.

func.func @step(%w: tensor<4xf32> {cs.param = "w"}, %m: tensor<4xf32> {cs.state = "m"}, %x: tensor<4xf32> {cs.batch = "x"})
    -> (tensor<4xf32> {cs.updates = "w"}, tensor<4xf32> {cs.updates = "m"}) attributes {cs.step} {
  // expected-error @+1 {{reads state "m", which depends on gradients: with mode=parameter-server only servers have it}}
  %g = arith.mulf %m, %x : tensor<4xf32>
  %g1 = cs.gradient %g of "w" : tensor<4xf32>
  %m1 = arith.addf %m, %g1 : tensor<4xf32>
  %w1 = arith.subf %w, %m1 : tensor<4xf32>
  return %w1, %m1 : tensor<4xf32>, tensor<4xf32>
}

// -----

// An average over the batch that the update reads.

func.func @step(%w: tensor<4xf32> {cs.param = "w"}, %m: tensor<4xf32> {cs.state = "mean"}, %x: tensor<4xf32> {cs.batch = "x"})
    -> (tensor<4xf32> {cs.updates = "w"}, tensor<4xf32> {cs.updates = "mean"}) attributes {cs.step} {
  %g = arith.mulf %w, %x : tensor<4xf32>
  %g1 = cs.gradient %g of "w" : tensor<4xf32>
  // expected-error @+1 {{state "mean" is averaged over the workers and read by the update of a parameter, which with mode=parameter-server runs on servers}}
  %m1 = arith.addf %m, %x : tensor<4xf32>
  %u = arith.mulf %m, %g1 : tensor<4xf32>
  %w1 = arith.subf %w, %u : tensor<4xf32>
  return %w1, %m1 : tensor<4xf32>, tensor<4xf32>
}

// -----

func.func @step(%w: tensor<4xf32> {cs.param = "w"}, %v: tensor<4xf32> {cs.param = "target"}, %x: tensor<4xf32> {cs.batch = "x"})
    -> (tensor<4xf32> {cs.updates = "w"}, tensor<4xf32> {cs.updates = "target"}) attributes {cs.step} {
  %g = arith.mulf %w, %x : tensor<4xf32>
  %g1 = cs.gradient %g of "w" : tensor<4xf32>
  %w1 = arith.subf %w, %g1 : tensor<4xf32>
  // expected-error @+1 {{parameter "target" is updated from the gradients of others, and with mode=parameter-server needs one of its own}}
  %v1 = arith.addf %v, %w1 : tensor<4xf32>
  return %w1, %v1 : tensor<4xf32>, tensor<4xf32>
}

// -----

func.func @step(%w: tensor<4xf32> {cs.param = "w"}, %m: tensor<4xf32> {cs.state = "m"}, %x: tensor<4xf32> {cs.batch = "x"})
    -> (tensor<4xf32> {cs.updates = "m"}) attributes {cs.step} {
  %g = arith.mulf %w, %x : tensor<4xf32>
  // expected-error @+1 {{must update the parameter "w" with mode=parameter-server, got an update of others only}}
  %g1 = cs.gradient %g of "w" : tensor<4xf32>
  %m1 = arith.addf %m, %g1 : tensor<4xf32>
  return %m1 : tensor<4xf32>
}

// -----

// expected-error @+1 {{must update a parameter from its gradient with mode=parameter-server}}
func.func @step(%w: tensor<4xf32> {cs.param = "w"}, %x: tensor<4xf32> {cs.batch = "x"})
    -> (tensor<4xf32> {cs.metric = "m"}) attributes {cs.step} {
  %g = arith.mulf %w, %x : tensor<4xf32>
  %g1 = cs.gradient %g of "w" : tensor<4xf32>
  return %x : tensor<4xf32>
}

// -----

func.func @step(%w: tensor<4x8xf32> {cs.param = "w"}, %b: tensor<4xf32> {cs.param = "w.block1"}, %x: tensor<4x8xf32> {cs.batch = "x"}, %y: tensor<4xf32> {cs.batch = "y"})
    -> (tensor<4x8xf32> {cs.updates = "w"}, tensor<4xf32> {cs.updates = "w.block1"}) attributes {cs.step} {
  %g = arith.mulf %w, %x : tensor<4x8xf32>
  %g1 = cs.gradient %g of "w" : tensor<4x8xf32>
  %w1 = arith.subf %w, %g1 : tensor<4x8xf32>
  %h = arith.mulf %b, %y : tensor<4xf32>
  // expected-error @+1 {{message key "w.block1" is needed twice: rename the parameter}}
  %h1 = cs.gradient %h of "w.block1" : tensor<4xf32>
  %b1 = arith.subf %b, %h1 : tensor<4xf32>
  return %w1, %b1 : tensor<4x8xf32>, tensor<4xf32>
}

// -----

func.func @step(%w: tensor<4xf32> {cs.param = "w"}, %x: tensor<4xf32> {cs.batch = "x"})
    -> (tensor<4xf32> {cs.updates = "w"}) attributes {cs.step} {
  %g = arith.mulf %w, %x : tensor<4xf32>
  %g1 = cs.gradient %g of "w" : tensor<4xf32>
  %w1 = arith.subf %w, %g1 : tensor<4xf32>
  return %w1 : tensor<4xf32>
}
// expected-error @+1 {{has the name of a parameter server: rename it}}
func.func private @server.1()

// -----

func.func @step(%w: tensor<4xf32> {cs.param = "w"}, %m: tensor<4xf32> {cs.state = "m"}, %x: tensor<4xf32> {cs.batch = "x"})
    -> (tensor<4xf32> {cs.updates = "w"}, tensor<4xf32> {cs.updates = "m"}) attributes {cs.step} {
  %g = arith.mulf %w, %x : tensor<4xf32>
  %g1 = cs.gradient %g of "w" : tensor<4xf32>
  %m1 = arith.addf %m, %g1 : tensor<4xf32>
  %w1 = arith.subf %w, %m1 : tensor<4xf32>
  return %w1, %m1 : tensor<4xf32>, tensor<4xf32>
}
// expected-error @+1 {{reads state "m", which with mode=parameter-server only servers have}}
func.func @eval(%m: tensor<4xf32> {cs.state = "m"}, %x: tensor<4xf32> {cs.batch = "x"}) -> (tensor<4xf32> {cs.metric = "e"}) {
  %e = arith.mulf %m, %x : tensor<4xf32>
  return %e : tensor<4xf32>
}

// -----

// Beside the step nothing is exchanged.

func.func @step(%w: tensor<4xf32> {cs.param = "w"}, %s: tensor<f32> {cs.state = "s"}, %x: tensor<4xf32> {cs.batch = "x"})
    -> (tensor<4xf32> {cs.updates = "w"}) attributes {cs.step} {
  %g = arith.mulf %w, %x : tensor<4xf32>
  %g1 = cs.gradient %g of "w" : tensor<4xf32>
  %w1 = arith.subf %w, %g1 : tensor<4xf32>
  return %w1 : tensor<4xf32>
}
func.func @warm() -> (tensor<f32> {cs.updates = "s"}) {
  %i = cs.worker_index : tensor<i32>
  // expected-error @+1 {{new value of state "s" differs between the workers, and with mode=parameter-server @warm does not average it: workers would drift apart}}
  %f = arith.sitofp %i : tensor<i32> to tensor<f32>
  return %f : tensor<f32>
}

// -----

// A server has no index, whatever is made of it.

func.func @step(%w: tensor<4xf32> {cs.param = "w"}, %x: tensor<4xf32> {cs.batch = "x"})
    -> (tensor<4xf32> {cs.updates = "w"}) attributes {cs.step} {
  %i = cs.worker_index : tensor<i32>
  %f = arith.sitofp %i : tensor<i32> to tensor<f32>
  %v = tensor.extract %f[] : tensor<f32>
  %y = tensor.splat %v : tensor<4xf32>
  %g = arith.mulf %w, %x : tensor<4xf32>
  %g1 = cs.gradient %g of "w" : tensor<4xf32>
  // expected-error @+1 {{new value of parameter "w" depends on the worker's index other than through its cs.gradient: workers would drift apart}}
  %w1 = arith.subf %g1, %y : tensor<4xf32>
  return %w1 : tensor<4xf32>
}
