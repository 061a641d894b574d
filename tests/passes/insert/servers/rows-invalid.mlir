// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: cs-opt --insert-dist-comm="mode=parameter-server servers=2 min-block-elements=4" --split-input-file --verify-diagnostics %s
// RUN: not cs-opt --insert-dist-comm %S/Inputs/table.mlir 2>&1 | FileCheck %s --check-prefix=REDUCE
// REDUCE: table.mlir:[[#]]:{{[0-9]+}}: error: {{.*}}parameter "w" is row-sparse, which needs mode=parameter-server

// A step that reads the table in another way.
func.func @step(%w: tensor<8x2xf32> {cs.param = "w", cs.row_sparse}, %ids: tensor<4xi32> {cs.batch = "ids"})
    -> (tensor<8x2xf32> {cs.updates = "w"}, tensor<f32> {cs.metric = "loss"}) attributes {cs.step} {
  %zero = arith.constant dense<0.0> : tensor<f32>
  %e = cs.lookup %w, %ids : (tensor<8x2xf32>, tensor<4xi32>) -> tensor<4x2xf32>
  // expected-error @+1 {{'linalg.reduce' op reads the row-sparse parameter "w" otherwise than by cs.lookup and for its own update}}
  %loss = linalg.reduce ins(%w : tensor<8x2xf32>) outs(%zero : tensor<f32>) dimensions = [0, 1]
      (%a: f32, %b: f32) { %s = arith.addf %a, %b : f32 linalg.yield %s : f32 }
  %g = cs.segment_sum %ids, %e : (tensor<4xi32>, tensor<4x2xf32>) -> tensor<8x2xf32>
  %g1 = cs.gradient %g of "w" : tensor<8x2xf32>
  %n = arith.subf %w, %g1 : tensor<8x2xf32>
  return %n, %loss : tensor<8x2xf32>, tensor<f32>
}

// -----

// A state that becomes the table.
func.func @step(%w: tensor<8x2xf32> {cs.param = "w", cs.row_sparse}, %old: tensor<8x2xf32> {cs.state = "old"}, %ids: tensor<4xi32> {cs.batch = "ids"},
                %far: tensor<8x2xf32> {cs.param = "far"})
    -> (tensor<8x2xf32> {cs.updates = "w"}, tensor<8x2xf32> {cs.updates = "far"}, tensor<f32> {cs.metric = "m"}) attributes {cs.step} {
  %zero = arith.constant dense<0.0> : tensor<f32>
  %e = cs.lookup %w, %ids : (tensor<8x2xf32>, tensor<4xi32>) -> tensor<4x2xf32>
  %g = cs.segment_sum %ids, %e : (tensor<4xi32>, tensor<4x2xf32>) -> tensor<8x2xf32>
  %g1 = cs.gradient %g of "w" : tensor<8x2xf32>
  %n = arith.subf %w, %g1 : tensor<8x2xf32>
  // expected-error @+1 {{'arith.mulf' op reads the row-sparse parameter "w" otherwise than by cs.lookup and for its own update}}
  %h = arith.mulf %w, %far : tensor<8x2xf32>
  %h1 = cs.gradient %h of "far" : tensor<8x2xf32>
  %l = arith.subf %far, %h1 : tensor<8x2xf32>
  return %n, %l, %zero : tensor<8x2xf32>, tensor<8x2xf32>, tensor<f32>
}

// -----

// A gradient that is no sum of rows.
func.func @step(%w: tensor<8x2xf32> {cs.param = "w", cs.row_sparse}, %ids: tensor<4xi32> {cs.batch = "ids"})
    -> (tensor<8x2xf32> {cs.updates = "w"}) attributes {cs.step} {
  %e = cs.lookup %w, %ids : (tensor<8x2xf32>, tensor<4xi32>) -> tensor<4x2xf32>
  %g = cs.segment_sum %ids, %e : (tensor<4xi32>, tensor<4x2xf32>) -> tensor<8x2xf32>
  // expected-error @+1 {{'arith.mulf' op is part of the gradient of the row-sparse parameter "w", which must be a sum of cs.segment_sum}}
  %penalty = arith.mulf %w, %w : tensor<8x2xf32>
  %sum = arith.addf %g, %penalty : tensor<8x2xf32>
  %g1 = cs.gradient %sum of "w" : tensor<8x2xf32>
  %n = arith.subf %w, %g1 : tensor<8x2xf32>
  return %n : tensor<8x2xf32>
}

// -----

// An argument as gradient.
func.func @step(%w: tensor<8x2xf32> {cs.param = "w", cs.row_sparse}, %x: tensor<8x2xf32> {cs.batch = "x"})
    -> (tensor<8x2xf32> {cs.updates = "w"}) attributes {cs.step} {
  // expected-error @+1 {{of the row-sparse parameter "w" must be a sum of cs.segment_sum, got an argument}}
  %g1 = cs.gradient %x of "w" : tensor<8x2xf32>
  %n = arith.subf %w, %g1 : tensor<8x2xf32>
  return %n : tensor<8x2xf32>
}

// -----

// No gradient.
// expected-error @+1 {{'func.func' op has no cs.gradient of the row-sparse parameter "w"}}
func.func @step(%w: tensor<8x2xf32> {cs.param = "w", cs.row_sparse}, %v: tensor<2xf32> {cs.param = "v"}, %ids: tensor<4xi32> {cs.batch = "ids"},
                %x: tensor<2xf32> {cs.batch = "x"})
    -> (tensor<2xf32> {cs.updates = "v"}) attributes {cs.step} {
  %g1 = cs.gradient %x of "v" : tensor<2xf32>
  return %g1 : tensor<2xf32>
}

// -----

// No update.
// expected-error @+1 {{'func.func' op must update the row-sparse parameter "w" from its gradient}}
func.func @step(%w: tensor<8x2xf32> {cs.param = "w", cs.row_sparse}, %v: tensor<2xf32> {cs.param = "v"}, %ids: tensor<4xi32> {cs.batch = "ids"},
                %x: tensor<2xf32> {cs.batch = "x"})
    -> (tensor<2xf32> {cs.updates = "v"}) attributes {cs.step} {
  %e = cs.lookup %w, %ids : (tensor<8x2xf32>, tensor<4xi32>) -> tensor<4x2xf32>
  %g = cs.segment_sum %ids, %e : (tensor<4xi32>, tensor<4x2xf32>) -> tensor<8x2xf32>
  %w1 = cs.gradient %g of "w" : tensor<8x2xf32>
  %g1 = cs.gradient %x of "v" : tensor<2xf32>
  return %g1 : tensor<2xf32>
}

// -----

// A norm of the whole table.
func.func @step(%w: tensor<8x2xf32> {cs.param = "w", cs.row_sparse}, %ids: tensor<4xi32> {cs.batch = "ids"})
    -> (tensor<8x2xf32> {cs.updates = "w"}) attributes {cs.step} {
  %zero = arith.constant dense<0.0> : tensor<f32>
  %e = cs.lookup %w, %ids : (tensor<8x2xf32>, tensor<4xi32>) -> tensor<4x2xf32>
  %g = cs.segment_sum %ids, %e : (tensor<4xi32>, tensor<4x2xf32>) -> tensor<8x2xf32>
  %g1 = cs.gradient %g of "w" : tensor<8x2xf32>
  // expected-error @+1 {{update of the row-sparse parameter "w" must be row by row: linalg.reduce does not act row by row on its update}}
  %norm = linalg.reduce ins(%g1 : tensor<8x2xf32>) outs(%zero : tensor<f32>) dimensions = [0, 1]
      (%a: f32, %b: f32) { %s = arith.addf %a, %b : f32 linalg.yield %s : f32 }
  %empty = tensor.empty() : tensor<8x2xf32>
  %norms = linalg.broadcast ins(%norm : tensor<f32>) outs(%empty : tensor<8x2xf32>) dimensions = [0, 1]
  %s = arith.divf %g1, %norms : tensor<8x2xf32>
  %n = arith.subf %w, %s : tensor<8x2xf32>
  return %n : tensor<8x2xf32>
}

// -----

// State without the rows.
// expected-error @+1 {{update of the row-sparse parameter "w" must be row by row: state "s" of type tensor<2xf32> has other rows}}
func.func @step(%w: tensor<8x2xf32> {cs.param = "w", cs.row_sparse}, %s: tensor<2xf32> {cs.state = "s"}, %ids: tensor<4xi32> {cs.batch = "ids"})
    -> (tensor<8x2xf32> {cs.updates = "w"}, tensor<2xf32> {cs.updates = "s"}) attributes {cs.step} {
  %e = cs.lookup %w, %ids : (tensor<8x2xf32>, tensor<4xi32>) -> tensor<4x2xf32>
  %g = cs.segment_sum %ids, %e : (tensor<4xi32>, tensor<4x2xf32>) -> tensor<8x2xf32>
  %g1 = cs.gradient %g of "w" : tensor<8x2xf32>
  %s1 = linalg.reduce ins(%g1 : tensor<8x2xf32>) outs(%s : tensor<2xf32>) dimensions = [0]
      (%a: f32, %b: f32) { %r = arith.addf %a, %b : f32 linalg.yield %r : f32 }
  %n = arith.subf %w, %g1 : tensor<8x2xf32>
  return %n, %s1 : tensor<8x2xf32>, tensor<2xf32>
}

// -----

// Joined with another parameter.
func.func @step(%w: tensor<8x2xf32> {cs.param = "w", cs.row_sparse}, %v: tensor<8x2xf32> {cs.param = "v"}, %ids: tensor<4xi32> {cs.batch = "ids"},
                %x: tensor<8x2xf32> {cs.batch = "x"})
    -> (tensor<8x2xf32> {cs.updates = "w"}, tensor<8x2xf32> {cs.updates = "v"}) attributes {cs.step} {
  %e = cs.lookup %w, %ids : (tensor<8x2xf32>, tensor<4xi32>) -> tensor<4x2xf32>
  %g = cs.segment_sum %ids, %e : (tensor<4xi32>, tensor<4x2xf32>) -> tensor<8x2xf32>
  %g1 = cs.gradient %g of "w" : tensor<8x2xf32>
  %h1 = cs.gradient %x of "v" : tensor<8x2xf32>
  // expected-error @+1 {{'arith.addf' op joins the update of the row-sparse parameter "w", which must be row by row, with others}}
  %both = arith.addf %g1, %h1 : tensor<8x2xf32>
  %n = arith.subf %w, %both : tensor<8x2xf32>
  %l = arith.subf %v, %both : tensor<8x2xf32>
  return %n, %l : tensor<8x2xf32>, tensor<8x2xf32>
}

// -----

// A constant that is not the same for all rows.
func.func @step(%w: tensor<4x2xf32> {cs.param = "w", cs.row_sparse}, %ids: tensor<4xi32> {cs.batch = "ids"})
    -> (tensor<4x2xf32> {cs.updates = "w"}) attributes {cs.step} {
  // expected-error @+1 {{update of the row-sparse parameter "w" must be row by row: this value of it has all rows at once}}
  %mask = arith.constant dense<[[1.0, 1.0], [0.0, 1.0], [1.0, 0.0], [0.0, 0.0]]> : tensor<4x2xf32>
  %e = cs.lookup %w, %ids : (tensor<4x2xf32>, tensor<4xi32>) -> tensor<4x2xf32>
  %g = cs.segment_sum %ids, %e : (tensor<4xi32>, tensor<4x2xf32>) -> tensor<4x2xf32>
  %g1 = cs.gradient %g of "w" : tensor<4x2xf32>
  %s = arith.mulf %g1, %mask : tensor<4x2xf32>
  %n = arith.subf %w, %s : tensor<4x2xf32>
  return %n : tensor<4x2xf32>
}

// -----

// Ids made from rows.
func.func @step(%w: tensor<8xf32> {cs.param = "w", cs.row_sparse}, %ids: tensor<4xi32> {cs.batch = "ids"})
    -> (tensor<8xf32> {cs.updates = "w"}) attributes {cs.step} {
  %e = cs.lookup %w, %ids : (tensor<8xf32>, tensor<4xi32>) -> tensor<4xf32>
  %next = arith.fptosi %e : tensor<4xf32> to tensor<4xi32>
  // expected-error @+1 {{'cs.lookup' op of the row-sparse parameter "w" needs ids that depend neither on rows of a table nor on a gradient, got some made from cs.lookup}}
  %f = cs.lookup %w, %next : (tensor<8xf32>, tensor<4xi32>) -> tensor<4xf32>
  %g = cs.segment_sum %next, %f : (tensor<4xi32>, tensor<4xf32>) -> tensor<8xf32>
  %g1 = cs.gradient %g of "w" : tensor<8xf32>
  %n = arith.subf %w, %g1 : tensor<8xf32>
  return %n : tensor<8xf32>
}
