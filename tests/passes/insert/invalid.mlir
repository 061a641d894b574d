// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: cs-opt --insert-dist-comm --allow-unregistered-dialect --split-input-file --verify-diagnostics %s

// expected-error @below {{argument 1 must have one of cs.param, cs.state, cs.batch}}
func.func @no_role(%w: tensor<4xf32> {cs.param = "w"}, %x: tensor<4xf32>) attributes {cs.step} {
  return
}

// -----

// expected-error @below {{result 0 must have one of cs.updates, cs.metric}}
func.func @no_result_role(%w: tensor<4xf32> {cs.param = "w"}) -> tensor<4xf32> {
  return %w : tensor<4xf32>
}

// -----

// Called by the step: it would stay, with what it marks.
// expected-error @below {{has ops of cs, and no argument or result with an attribute of cs: it must be private, being called by others}}
func.func @mark(%x: tensor<4xf32>) -> tensor<4xf32> {
  %g = cs.gradient %x of "w" : tensor<4xf32>
  return %g : tensor<4xf32>
}
func.func @step(%w: tensor<4xf32> {cs.param = "w"}, %x: tensor<4xf32> {cs.batch = "x"})
    -> (tensor<4xf32> {cs.updates = "w"}) attributes {cs.step} {
  %g = func.call @mark(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %g : tensor<4xf32>
}

// -----

// expected-error @below {{argument 0 must have a static shape, got: 'tensor<?xf32>'}}
func.func @dynamic(%w: tensor<?xf32> {cs.param = "w"}) {
  return
}

// -----

// expected-error @below {{argument 0 must have one of the element types f64, f32, f16, bf16, i64, i32, i8, i1, got: 'tensor<4xi16>'}}
func.func @element(%w: tensor<4xi16> {cs.param = "w"}) {
  return
}

// -----

// expected-error @below {{argument 0 must not have an encoding, got: 'tensor<4xf32, "sparse">'}}
func.func @encoding(%w: tensor<4xf32, "sparse"> {cs.param = "w"}) {
  return
}

// -----

func.func @dynamic_inside(%x: tensor<4xf32> {cs.batch = "x"}) {
  // expected-error @below {{result must have a static shape, got: 'tensor<?xf32>'}}
  %y = tensor.cast %x : tensor<4xf32> to tensor<?xf32>
  return
}

// -----

func.func @element_inside(%x: tensor<4xf32> {cs.batch = "x"}) {
  // expected-error @below {{result must have one of the element types}}
  %y = arith.fptosi %x : tensor<4xf32> to tensor<4xi16>
  return
}

// -----

// expected-error @below {{argument 1 must have a name of its own, got: "w", like argument 0}}
func.func @duplicate(%w: tensor<4xf32> {cs.param = "w"}, %v: tensor<4xf32> {cs.state = "w"}) {
  return
}

// -----

// expected-error @below {{result 1 must have a name of its own, got: "w", like result 0}}
func.func @duplicate_updates(%w: tensor<4xf32> {cs.param = "w"})
    -> (tensor<4xf32> {cs.updates = "w"}, tensor<4xf32> {cs.updates = "w"}) {
  return %w, %w : tensor<4xf32>, tensor<4xf32>
}

// -----

// expected-error @below {{result 0 updates no parameter or state: "v"}}
func.func @unknown_updates(%w: tensor<4xf32> {cs.param = "w"}) -> (tensor<4xf32> {cs.updates = "v"}) {
  return %w : tensor<4xf32>
}

// -----

// expected-error @below {{result 0 must match parameter "w", 'tensor<4xf32>', got: 'tensor<2xf32>'}}
func.func @updates_type(%w: tensor<4xf32> {cs.param = "w"}, %v: tensor<2xf32> {cs.param = "v"})
    -> (tensor<2xf32> {cs.updates = "w"}) {
  return %v : tensor<2xf32>
}

// -----

func.func @step(%w: tensor<4xf32> {cs.param = "w"}, %x: tensor<4xf32> {cs.batch = "x"})
    -> (tensor<4xf32> {cs.updates = "w"}) attributes {cs.step} {
  %g = cs.gradient %x of "w" : tensor<4xf32>
  return %g : tensor<4xf32>
}
// expected-error @below {{argument 0 must match parameter "w" of @step, 'tensor<4xf32>', got: parameter, 'tensor<8xf32>'}}
func.func @eval(%w: tensor<8xf32> {cs.param = "w"}) {
  return
}

// -----

// expected-error @below {{result 0: metric "hits" must be floating-point to be averaged, got: 'tensor<i32>'}}
func.func @metric(%n: tensor<i32> {cs.state = "n"}) -> (tensor<i32> {cs.metric = "hits"}) {
  return %n : tensor<i32>
}

// -----

// expected-error @below {{argument 0 must have a dimension of samples, being of the batch, got: 'tensor<f32>'}}
func.func @scalar_batch(%x: tensor<f32> {cs.batch = "x"}) {
  return
}

// -----

func.func @twice(%w: tensor<4xf32> {cs.param = "w"}, %x: tensor<4xf32> {cs.batch = "x"}) attributes {cs.step} {
  // expected-note @below {{the first time is here}}
  %g = cs.gradient %x of "w" : tensor<4xf32>
  // expected-error @below {{marks the gradient of "w" a second time}}
  %h = cs.gradient %x of "w" : tensor<4xf32>
  return
}

// -----

func.func @unknown(%w: tensor<4xf32> {cs.state = "w"}, %x: tensor<4xf32> {cs.batch = "x"}) attributes {cs.step} {
  // expected-error @below {{is of an unknown parameter: "w"}}
  %g = cs.gradient %x of "w" : tensor<4xf32>
  return
}

// -----

func.func @type(%w: tensor<4xf32> {cs.param = "w"}, %x: tensor<2xf32> {cs.batch = "x"}) attributes {cs.step} {
  // expected-error @below {{must match parameter "w", 'tensor<4xf32>', got: 'tensor<2xf32>'}}
  %g = cs.gradient %x of "w" : tensor<2xf32>
  return
}

// -----

// expected-error @below {{must mark at least one gradient with cs.gradient, being the cs.step}}
func.func @none(%w: tensor<4xf32> {cs.param = "w"}, %x: tensor<2xf32> {cs.batch = "x"}) attributes {cs.step} {
  return
}

// -----

func.func @not_the_step(%w: tensor<4xf32> {cs.param = "w"}, %x: tensor<4xf32> {cs.batch = "x"}) {
  // expected-error @below {{belongs in the function with cs.step, got one in @not_the_step}}
  %g = cs.gradient %x of "w" : tensor<4xf32>
  return
}

// -----

func.func @nested(%w: tensor<4xf32> {cs.param = "w"}, %x: tensor<4xf32> {cs.batch = "x"},
                  %p: tensor<1xi1> {cs.batch = "p"}) attributes {cs.step} {
  %c0 = arith.constant 0 : index
  %c = tensor.extract %p[%c0] : tensor<1xi1>
  %r = scf.if %c -> tensor<4xf32> {
    // expected-error @below {{must be at the top of the function}}
    %g = cs.gradient %x of "w" : tensor<4xf32>
    scf.yield %g : tensor<4xf32>
  } else {
    scf.yield %x : tensor<4xf32>
  }
  return
}

// -----

// expected-note @below {{the other one is @step}}
func.func @step(%w: tensor<4xf32> {cs.param = "w"}) attributes {cs.step} {
  return
}
// expected-error @below {{must be the only one with cs.step}}
func.func @step2(%w: tensor<4xf32> {cs.param = "w"}) attributes {cs.step} {
  return
}

// -----

// expected-error @below {{must be public, being the cs.step}}
func.func private @step(%w: tensor<4xf32> {cs.param = "w"}) attributes {cs.step} {
  return
}

// -----

// expected-error @below {{must have one block, got: 2}}
func.func @blocks(%w: tensor<4xf32> {cs.param = "w"}) {
  cf.br ^bb1
^bb1:
  return
}

// -----

// expected-error @below {{must be a level-0 function, got one over placed values: --insert-dist-comm has run already}}
func.func @level1(%w: !cs.placed<tensor<4xf32>, device 0> {cs.param = "w"}) {
  return
}

// -----

func.func @fragment() -> (tensor<4xf32> {cs.metric = "m"}) {
  // expected-error @below {{does not belong in a level-0 function}}
  %f = cs.fragment "f" on 0 () cost <flops = 1, bytes = 1, ns = 0> : () -> !cs.placed<tensor<4xf32>, device 0>
  %c = arith.constant dense<0.0> : tensor<4xf32>
  return %c : tensor<4xf32>
}

// -----

func.func private @extern(tensor<4xf32>) -> tensor<4xf32>
func.func @call(%x: tensor<4xf32> {cs.batch = "x"}) -> (tensor<4xf32> {cs.metric = "m"}) {
  // expected-error @below {{must be inlined first: call of @extern}}
  %y = func.call @extern(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

func.func private @forever(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = func.call @forever(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}
func.func @recursive(%x: tensor<4xf32> {cs.batch = "x"}) -> (tensor<4xf32> {cs.metric = "m"}) {
  // expected-error @below {{must be inlined first: call of @forever}}
  %y = func.call @forever(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

func.func @effects(%x: tensor<1xi1> {cs.batch = "x"}) {
  %c0 = arith.constant 0 : index
  %c = tensor.extract %x[%c0] : tensor<1xi1>
  // expected-error @below {{may have side effects, which a fragment cannot have}}
  cf.assert %c, "no"
  return
}

// -----

func.func @drift(%w: tensor<4xf32> {cs.param = "w"}, %b: tensor<4xf32> {cs.param = "b"}, %x: tensor<4xf32> {cs.batch = "x"})
    -> (tensor<4xf32> {cs.updates = "w"}) attributes {cs.step} {
  %g = cs.gradient %x of "b" : tensor<4xf32>
  // expected-error @below {{new value of parameter "w" depends on the batch other than through its cs.gradient: workers would drift apart}}
  %w1 = arith.subf %w, %x : tensor<4xf32>
  return %w1 : tensor<4xf32>
}

// -----

func.func @integer_state(%w: tensor<4xf32> {cs.param = "w"}, %n: tensor<4xi32> {cs.state = "seen"},
                         %x: tensor<4xf32> {cs.batch = "x"}, %y: tensor<4xi32> {cs.batch = "y"})
    -> (tensor<4xi32> {cs.updates = "seen"}) attributes {cs.step} {
  %g = cs.gradient %x of "w" : tensor<4xf32>
  // expected-error @below {{new value of state "seen" depends on the batch, and 'tensor<4xi32>' cannot be averaged over the workers: workers would drift apart}}
  %n1 = arith.addi %n, %y : tensor<4xi32>
  return %n1 : tensor<4xi32>
}

// -----

func.func @key(%w: tensor<4xf32> {cs.param = "metric.loss"}, %x: tensor<4xf32> {cs.batch = "x"})
    -> (tensor<4xf32> {cs.metric = "loss"}) attributes {cs.step} {
  // expected-error @below {{message key "metric.loss" is also needed for a metric or state: rename the parameter}}
  %g = cs.gradient %x of "metric.loss" : tensor<4xf32>
  return %x : tensor<4xf32>
}

// -----

// A number of a type that cannot be sent cannot go to another fragment either.
func.func @scalar(%a: tensor<4xf32> {cs.param = "a"}, %b: tensor<4xf32> {cs.param = "b"}, %x: tensor<4xf32> {cs.batch = "x"})
    attributes {cs.step} {
  %c0 = arith.constant 0 : index
  %e = tensor.extract %x[%c0] : tensor<4xf32>
  // expected-error @below {{result must be a tensor, number or index to go from one fragment to another, got: 'i16'}}
  %i = arith.fptosi %e : f32 to i16
  %y = arith.mulf %x, %x : tensor<4xf32>
  %g = cs.gradient %y of "a" : tensor<4xf32>
  // expected-note @below {{it is used here}}
  %f = arith.sitofp %i : i16 to f32
  %s = tensor.splat %f : tensor<4xf32>
  %z = arith.mulf %s, %x : tensor<4xf32>
  %h = cs.gradient %z of "b" : tensor<4xf32>
  return
}

// -----

func.func @no_return(%w: tensor<4xf32> {cs.param = "w"}) {
  // expected-error @below {{must be a func.return, being the last of its function}}
  "other.end"(%w) : (tensor<4xf32>) -> ()
}

// -----

func.func @unknown_op(%w: tensor<4xf32> {cs.param = "w"}) {
  // expected-error @below {{may have side effects, which a fragment cannot have}}
  %v = "other.op"(%w) : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

module @inside {
  // expected-error @below {{must not be in a module inside of another one}}
  func.func @step(%w: tensor<4xf32> {cs.param = "w"}) -> (tensor<4xf32> {cs.updates = "w"}) attributes {cs.step} {
    %g = cs.gradient %w of "w" : tensor<4xf32>
    return %g : tensor<4xf32>
  }
}
module @other {}
