// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: cs-opt --split-input-file --verify-diagnostics %s

func.func @f(%w: !cs.placed<tensor<10xf32>, device 0>) {
  // expected-error @+1 {{without a body needs a cost}}
  %0 = cs.fragment "f" on 0 (%w) : (!cs.placed<tensor<10xf32>, device 0>) -> !cs.placed<tensor<10xf32>, device 0>
  return
}

// -----

func.func @f(%w: !cs.placed<tensor<10xf32>, device 0>) {
  // expected-error @+1 {{input 0 must live on device 1, got: '!cs.placed<tensor<10xf32>, device 0>'}}
  cs.fragment "f" on 1 (%w) cost <flops = 1, bytes = 1, ns = 1> : (!cs.placed<tensor<10xf32>, device 0>) -> ()
  return
}

// -----

func.func @f(%w: !cs.placed<tensor<10xf32>, device 0 host>) {
  // expected-error @+1 {{input 0 must live on device 0, got: '!cs.placed<tensor<10xf32>, device 0 host>'}}
  cs.fragment "f" on 0 (%w) cost <flops = 1, bytes = 1, ns = 1> : (!cs.placed<tensor<10xf32>, device 0 host>) -> ()
  return
}

// -----

func.func @f(%w: !cs.placed<tensor<10xf32>, device 0>) {
  // expected-error @+1 {{cost must not be negative}}
  cs.fragment "f" on 0 (%w) cost <flops = -1, bytes = 1, ns = 1> : (!cs.placed<tensor<10xf32>, device 0>) -> ()
  return
}

// -----

func.func @f(%w: !cs.placed<tensor<10xf32>, device 0>) {
  // expected-error @+1 {{type of body arguments 0 must match 'tensor<10xf32>', got: 'tensor<11xf32>'}}
  cs.fragment "f" on 0 (%w) : (!cs.placed<tensor<10xf32>, device 0>) -> () {
  ^bb0(%a: tensor<11xf32>):
    cs.return
  }
  return
}

// -----

func.func @f(%w: !cs.placed<tensor<10xf32>, device 0>) {
  // expected-error @+1 {{must have 1 returned values, got: 0}}
  %0 = cs.fragment "f" on 0 (%w) : (!cs.placed<tensor<10xf32>, device 0>) -> !cs.placed<tensor<10xf32>, device 0> {
  ^bb0(%a: tensor<10xf32>):
    cs.return
  }
  return
}

// -----

func.func @f(%w: !cs.placed<tensor<10xf32>, device 0>, %y: tensor<10xf32>) {
  cs.fragment "f" on 0 (%w) : (!cs.placed<tensor<10xf32>, device 0>) -> () {
  ^bb0(%a: tensor<10xf32>):
    // expected-error @+1 {{use of undeclared SSA value name}}
    %0 = arith.addf %a, %y : tensor<10xf32>
    cs.return
  }
  return
}

// -----

func.func @f(%w: !cs.placed<tensor<10xf32>, device 0>, %y: tensor<10xf32>) {
  // expected-note @+1 {{required by region isolation constraints}}
  "cs.fragment"(%w) <{label = "f", device = 0 : i64}> ({
  ^bb0(%a: tensor<10xf32>):
    // expected-error @+1 {{using value defined outside the region}}
    %0 = arith.addf %a, %y : tensor<10xf32>
    cs.return
  }) : (!cs.placed<tensor<10xf32>, device 0>) -> ()
  return
}

// -----

func.func @f(%w: !cs.placed<tensor<10xf32>, device 0>) {
  // expected-error @+1 {{'cs.by_rows' must be an array<i1> of 1, got: array<i1: true, true>}}
  %0 = cs.fragment "f" on 0 (%w) : (!cs.placed<tensor<10xf32>, device 0>) -> !cs.placed<tensor<10xf32>, device 0> attributes {cs.by_rows = array<i1: true, true>}
  return
}

// -----

func.func @f(%w: !cs.placed<tensor<10xf32>, device 0>) {
  // expected-error @+1 {{'cs.by_rows' needs results and inputs of as many rows}}
  %0 = cs.fragment "f" on 0 (%w) : (!cs.placed<tensor<10xf32>, device 0>) -> !cs.placed<tensor<5xf32>, device 0> attributes {cs.by_rows = array<i1: true>}
  return
}

// -----

func.func @f(%w: !cs.placed<tensor<10xf32>, device 0>) {
  // expected-error @+1 {{'cs.by_rows' belongs on a cs.fragment without a body}}
  cs.fragment "f" on 0 (%w) : (!cs.placed<tensor<10xf32>, device 0>) -> () attributes {cs.by_rows = array<i1: true>} {
  ^bb0(%a: tensor<10xf32>):
    cs.return
  }
  return
}
