// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: cs-opt %s --split-input-file --verify-diagnostics

func.func @method(%g: tensor<8xf32>) {
  // expected-error@+1 {{'cs.top_k' op method must be exact, histogram, sampled or mstopk, got: "best"}}
  %v, %i, %r = cs.top_k "best" %g : (tensor<8xf32>) -> (tensor<3xf32>, tensor<3xi32>, tensor<8xf32>)
  return
}

// -----

func.func @exact_samples(%g: tensor<8xf32>) {
  // expected-error@+1 {{'cs.top_k' op samples must go with method mstopk, got: "exact"}}
  %v, %i, %r = cs.top_k "exact" %g samples 7 : (tensor<8xf32>) -> (tensor<3xf32>, tensor<3xi32>, tensor<8xf32>)
  return
}

// -----

func.func @exact_seed(%g: tensor<8xf32>) {
  // expected-error@+1 {{'cs.top_k' op seed must go with method mstopk, got: "histogram"}}
  %v, %i, %r = cs.top_k "histogram" %g seed 7 : (tensor<8xf32>) -> (tensor<3xf32>, tensor<3xi32>, tensor<8xf32>)
  return
}

// -----

func.func @exact_step(%g: tensor<8xf32>, %t: tensor<1xi32>) {
  // expected-error@+1 {{'cs.top_k' op step must go with method mstopk, got: "sampled"}}
  %v, %i, %r = cs.top_k "sampled" %g step %t : (tensor<8xf32>, tensor<1xi32>) -> (tensor<3xf32>, tensor<3xi32>, tensor<8xf32>)
  return
}

// -----

func.func @exact_early_stop(%g: tensor<8xf32>) {
  // expected-error@+1 {{'cs.top_k' op early_stop must go with method mstopk, got: "exact"}}
  %v, %i, %r = cs.top_k "exact" %g early_stop : (tensor<8xf32>) -> (tensor<3xf32>, tensor<3xi32>, tensor<8xf32>)
  return
}

// -----

func.func @no_samples(%g: tensor<8xf32>) {
  // expected-error@+1 {{'cs.top_k' op samples must be 1 to 100, got: 0}}
  %v, %i, %r = cs.top_k "mstopk" %g samples 0 : (tensor<8xf32>) -> (tensor<3xf32>, tensor<3xi32>, tensor<8xf32>)
  return
}

// -----

func.func @too_many_samples(%g: tensor<8xf32>) {
  // expected-error@+1 {{'cs.top_k' op samples must be 1 to 100, got: 101}}
  %v, %i, %r = cs.top_k "mstopk" %g samples 101 : (tensor<8xf32>) -> (tensor<3xf32>, tensor<3xi32>, tensor<8xf32>)
  return
}

// -----

func.func @step_type(%g: tensor<8xf32>, %t: tensor<2xi32>) {
  // expected-error@+1 {{'cs.top_k' op step must match 'tensor<1xi32>', got: 'tensor<2xi32>'}}
  %v, %i, %r = cs.top_k "mstopk" %g step %t : (tensor<8xf32>, tensor<2xi32>) -> (tensor<3xf32>, tensor<3xi32>, tensor<8xf32>)
  return
}

// -----

func.func @too_many(%g: tensor<8xf32>) {
  // expected-error@+1 {{'cs.top_k' op must select 1 to 8 elements, got: 9}}
  %v, %i, %r = cs.top_k "exact" %g : (tensor<8xf32>) -> (tensor<9xf32>, tensor<9xi32>, tensor<8xf32>)
  return
}

// -----

func.func @none(%g: tensor<8xf32>) {
  // expected-error@+1 {{'cs.top_k' op must select 1 to 8 elements, got: 0}}
  %v, %i, %r = cs.top_k "exact" %g : (tensor<8xf32>) -> (tensor<0xf32>, tensor<0xi32>, tensor<8xf32>)
  return
}

// -----

func.func @threshold_size(%g: tensor<8xf32>, %r: tensor<8xf32>, %t: tensor<3xf32>) {
  // expected-error@+1 {{'cs.top_k' op threshold must match 'tensor<2xf32>', got: 'tensor<3xf32>'}}
  %v, %i, %n, %s = cs.top_k "exact" %g, %r threshold %t every 2 : (tensor<8xf32>, tensor<8xf32>, tensor<3xf32>) -> (tensor<3xf32>, tensor<3xi32>, tensor<8xf32>, tensor<2xf32>)
  return
}

// -----

func.func @next_size(%g: tensor<8xf32>, %r: tensor<8xf32>, %t: tensor<2xf32>) {
  // expected-error@+1 {{'cs.top_k' op next threshold must match 'tensor<2xf32>', got: 'tensor<1xf32>'}}
  %v, %i, %n, %s = cs.top_k "exact" %g, %r threshold %t every 2 : (tensor<8xf32>, tensor<8xf32>, tensor<2xf32>) -> (tensor<3xf32>, tensor<3xi32>, tensor<8xf32>, tensor<1xf32>)
  return
}

// -----

func.func @no_next(%g: tensor<8xf32>, %r: tensor<8xf32>, %t: tensor<2xf32>) {
  // expected-error@+1 {{'cs.top_k' op must have 4 results with a threshold, got: 3}}
  %v, %i, %n = cs.top_k "exact" %g, %r threshold %t every 2 : (tensor<8xf32>, tensor<8xf32>, tensor<2xf32>) -> (tensor<3xf32>, tensor<3xi32>, tensor<8xf32>)
  return
}

// -----

func.func @no_threshold(%g: tensor<8xf32>, %r: tensor<8xf32>, %t: tensor<2xf32>) {
  // expected-error@+1 {{'cs.top_k' op must have 3 results without a threshold, got: 4}}
  %v, %i, %n, %s = cs.top_k "exact" %g, %r : (tensor<8xf32>, tensor<8xf32>) -> (tensor<3xf32>, tensor<3xi32>, tensor<8xf32>, tensor<2xf32>)
  return
}

// -----

func.func @no_residual(%g: tensor<8xf32>, %r: tensor<8xf32>, %t: tensor<2xf32>) {
  // expected-error@+1 {{'cs.top_k' op needs a residual, to have a threshold}}
  %v, %i, %n, %s = cs.top_k "exact" %g threshold %t every 2 : (tensor<8xf32>, tensor<2xf32>) -> (tensor<3xf32>, tensor<3xi32>, tensor<8xf32>, tensor<2xf32>)
  return
}

// -----

func.func @never(%g: tensor<8xf32>, %r: tensor<8xf32>, %t: tensor<2xf32>) {
  // expected-error@+1 {{'cs.top_k' op must select exactly every 1 to 16777216 steps, got: 0}}
  %v, %i, %n, %s = cs.top_k "exact" %g, %r threshold %t every 0 : (tensor<8xf32>, tensor<8xf32>, tensor<2xf32>) -> (tensor<3xf32>, tensor<3xi32>, tensor<8xf32>, tensor<2xf32>)
  return
}

// -----

func.func @seldom(%g: tensor<8xf32>, %r: tensor<8xf32>, %t: tensor<2xf32>) {
  // expected-error@+1 {{'cs.top_k' op must select exactly every 1 to 16777216 steps, got: 16777217}}
  %v, %i, %n, %s = cs.top_k "exact" %g, %r threshold %t every 16777217 : (tensor<8xf32>, tensor<8xf32>, tensor<2xf32>) -> (tensor<3xf32>, tensor<3xi32>, tensor<8xf32>, tensor<2xf32>)
  return
}

// -----

func.func @every_alone(%g: tensor<8xf32>, %r: tensor<8xf32>, %t: tensor<2xf32>) {
  // expected-error@+1 {{'cs.top_k' op needs a threshold to select exactly every 2 steps}}
  %v, %i, %n = "cs.top_k"(%g, %r) <{method = "exact", every = 2 : i64, operandSegmentSizes = array<i32: 1, 1, 0, 0>}> : (tensor<8xf32>, tensor<8xf32>) -> (tensor<3xf32>, tensor<3xi32>, tensor<8xf32>)
  return
}

// -----

func.func @threshold_element(%g: tensor<8xf32>, %r: tensor<8xf32>, %t: tensor<2xf16>) {
  // expected-error@+1 {{'cs.top_k' op operand #2 must be ranked tensor of 32-bit float values, but got 'tensor<2xf16>'}}
  %v, %i, %n, %s = cs.top_k "exact" %g, %r threshold %t every 2 : (tensor<8xf32>, tensor<8xf32>, tensor<2xf16>) -> (tensor<3xf32>, tensor<3xi32>, tensor<8xf32>, tensor<2xf32>)
  return
}

// -----

func.func @counts(%g: tensor<8xf32>) {
  // expected-error@+1 {{'cs.top_k' op must have as many indices as values, 3, got: 2}}
  %v, %i, %r = cs.top_k "exact" %g : (tensor<8xf32>) -> (tensor<3xf32>, tensor<2xi32>, tensor<8xf32>)
  return
}

// -----

func.func @element(%g: tensor<8xf32>) {
  // expected-error@+1 {{'cs.top_k' op values must match the element type of 'tensor<8xf32>', got: 'tensor<3xf16>'}}
  %v, %i, %r = cs.top_k "exact" %g : (tensor<8xf32>) -> (tensor<3xf16>, tensor<3xi32>, tensor<8xf32>)
  return
}

// -----

func.func @rank(%g: tensor<8xf32>) {
  // expected-error@+1 {{'cs.top_k' op values must have one dimension, got: 'tensor<3x1xf32>'}}
  %v, %i, %r = cs.top_k "exact" %g : (tensor<8xf32>) -> (tensor<3x1xf32>, tensor<3xi32>, tensor<8xf32>)
  return
}

// -----

func.func @static(%g: tensor<?xf32>) {
  // expected-error@+1 {{'cs.top_k' op must have static shapes, got: 'tensor<?xf32>'}}
  %v, %i, %r = cs.top_k "exact" %g : (tensor<?xf32>) -> (tensor<3xf32>, tensor<3xi32>, tensor<?xf32>)
  return
}

// -----

func.func @large(%g: tensor<4294967296xf32>) {
  // expected-error@+1 {{'cs.top_k' op needs indices of i64 for 4294967296 elements}}
  %v, %i, %r = cs.top_k "exact" %g : (tensor<4294967296xf32>) -> (tensor<3xf32>, tensor<3xi32>, tensor<4294967296xf32>)
  return
}

// -----

func.func @double(%g: tensor<8xf64>) {
  // expected-error@+1 {{operand #0 must be ranked tensor of 32-bit float or 16-bit float or bfloat16 type values, but got 'tensor<8xf64>'}}
  %v, %i, %r = cs.top_k "exact" %g : (tensor<8xf64>) -> (tensor<3xf64>, tensor<3xi32>, tensor<8xf64>)
  return
}

// -----

func.func @residual(%g: tensor<8xf32>, %o: tensor<2x4xf32>) {
  // expected-error@+1 {{'cs.top_k' op residual must match 'tensor<8xf32>', got: 'tensor<2x4xf32>'}}
  %v, %i, %r = cs.top_k "exact" %g, %o : (tensor<8xf32>, tensor<2x4xf32>) -> (tensor<3xf32>, tensor<3xi32>, tensor<8xf32>)
  return
}

// -----

func.func @rest(%g: tensor<8xf32>) {
  // expected-error@+1 {{'cs.top_k' op rest must match 'tensor<8xf32>', got: 'tensor<2x4xf32>'}}
  %v, %i, %r = cs.top_k "exact" %g : (tensor<8xf32>) -> (tensor<3xf32>, tensor<3xi32>, tensor<2x4xf32>)
  return
}

// -----

func.func @into(%v: tensor<3xf32>, %i: tensor<3xi32>, %d: tensor<2x4xf32>) {
  // expected-error@+1 {{'cs.scatter_add' op operand to add to must match 'tensor<8xf32>', got: 'tensor<2x4xf32>'}}
  %r = cs.scatter_add %v, %i into %d : (tensor<3xf32>, tensor<3xi32>, tensor<2x4xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @except(%v: tensor<3xf32>, %i: tensor<3xi32>, %o: tensor<2xi32>) {
  // expected-error@+1 {{'cs.scatter_add' op needs an operand to add to, to leave some indices out}}
  %r = cs.scatter_add %v, %i except %o : (tensor<3xf32>, tensor<3xi32>, tensor<2xi32>) -> tensor<8xf32>
  return
}

// -----

func.func @except_type(%v: tensor<3xf32>, %i: tensor<3xi32>, %o: tensor<2xi64>, %d: tensor<8xf32>) {
  // expected-error@+1 {{'cs.scatter_add' op indices to leave out must match the element type of 'tensor<3xi32>', got: 'tensor<2xi64>'}}
  %r = cs.scatter_add %v, %i except %o into %d : (tensor<3xf32>, tensor<3xi32>, tensor<2xi64>, tensor<8xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @except_over(%v: tensor<3xf32>, %i: tensor<3xi32>, %o: tensor<2xi32>, %d: tensor<8xf32>) {
  // expected-error@+1 {{'cs.scatter_add' op cannot divide and leave indices out}}
  %r = cs.scatter_add %v, %i over 2 except %o into %d : (tensor<3xf32>, tensor<3xi32>, tensor<2xi32>, tensor<8xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @over(%v: tensor<3xf32>, %i: tensor<3xi32>) {
  // expected-error@+1 {{'cs.scatter_add' op must divide by 1 or more, got: 0}}
  %r = cs.scatter_add %v, %i over 0 : (tensor<3xf32>, tensor<3xi32>) -> tensor<8xf32>
  return
}

// -----

func.func @merge(%v: tensor<3xf32>, %i: tensor<3xi32>) {
  // expected-error@+1 {{'cs.merge_top_k' op indices must match the element type of 'tensor<3xi32>', got: 'tensor<2xi64>'}}
  %a, %b = cs.merge_top_k %v, %i : (tensor<3xf32>, tensor<3xi32>) -> (tensor<2xf32>, tensor<2xi64>)
  return
}

// -----

func.func @kernel(%v: tensor<3xf32>) {
  // expected-error@+1 {{'cs.kernel' op setting "name" must be an integer, got: "x"}}
  %a = cs.kernel "k" (%v) into (%v) {name = "x"} : (tensor<3xf32>), (tensor<3xf32>) -> tensor<3xf32>
  return
}

// -----

func.func @kernel_kind(%v: tensor<3xf32>) {
  // expected-error@+1 {{'cs.kernel' op needs a kind}}
  %a = cs.kernel "" (%v) into (%v) {} : (tensor<3xf32>), (tensor<3xf32>) -> tensor<3xf32>
  return
}

// -----

func.func @density(%g: tensor<8xf32>) {
  // expected-error@+1 {{'cs.gradient' op 'cs.density' must be an f64 above 0 and at most 1, got: 0.000000e+00 : f64}}
  %a = cs.gradient %g of "w" {cs.density = 0.0 : f64} : tensor<8xf32>
  return
}

// -----

func.func @density_type(%g: tensor<8xf32>) {
  // expected-error@+1 {{'cs.gradient' op 'cs.density' must be an f64 above 0 and at most 1, got: 1 : i64}}
  %a = cs.gradient %g of "w" {cs.density = 1 : i64} : tensor<8xf32>
  return
}

// -----

func.func @method_of_gradient(%g: tensor<8xf32>) {
  // expected-error@+1 {{'cs.gradient' op 'cs.sparse_method' must be auto, dense, allgather, hitopk, gtopk or oktopk, got: "ring"}}
  %a = cs.gradient %g of "w" {cs.sparse_method = "ring"} : tensor<8xf32>
  return
}

// -----

// expected-error@+1 {{'func.func' op 'cs.density' belongs on a cs.gradient, cs.all_reduce or cs.send}}
func.func @elsewhere() attributes {cs.density = 0.1 : f64} {
  return
}

// -----

// expected-error@+1 {{'func.func' op argument 0: 'cs.per_rank' belongs beside 'cs.state'}}
func.func @own(%a: tensor<8xf32> {cs.param = "w", cs.per_rank}) {
  return
}

// -----

// expected-error@+1 {{'func.func' op argument 0: 'cs.per_rank' must be a unit attribute, got: true}}
func.func @own_unit(%a: tensor<8xf32> {cs.state = "w", cs.per_rank = true}) {
  return
}

// -----

// expected-error@+1 {{'func.func' op 'cs.per_rank' belongs on an argument}}
func.func @own_function() attributes {cs.per_rank} {
  return
}

// -----

func.func @pair(%m: !cs.placed<tensor<2x6xi32>, device 0>) {
  // expected-error@+1 {{'cs.pair_exchange' op distance must be a power of two, got: 3}}
  %r = cs.pair_exchange "w" %m distance 3 : !cs.placed<tensor<2x6xi32>, device 0>
  return
}

// -----

func.func @halves(%m: !cs.placed<tensor<3x6xi32>, device 0>) {
  // expected-error@+1 {{'cs.pair_exchange' op must have two halves along dimension 0, got: 'tensor<3x6xi32>'}}
  %r = cs.pair_exchange "w" %m distance 2 : !cs.placed<tensor<3x6xi32>, device 0>
  return
}

// -----

func.func @key(%m: !cs.placed<tensor<2x6xi32>, device 0>) {
  // expected-error@+1 {{'cs.pair_exchange' op needs a key}}
  %r = cs.pair_exchange "" %m distance 2 : !cs.placed<tensor<2x6xi32>, device 0>
  return
}

// -----

func.func @all_to_all(%m: !cs.placed<tensor<3x6xi32>, device 0>) {
  // expected-error@+1 {{'cs.all_to_all' op must have two halves along dimension 0, got: 'tensor<3x6xi32>'}}
  %r = cs.all_to_all "w" %m : !cs.placed<tensor<3x6xi32>, device 0>
  return
}

// -----

func.func @all_to_all_scalar(%m: !cs.placed<tensor<i32>, device 0>) {
  // expected-error@+1 {{'cs.all_to_all' op must have two halves along dimension 0, got: 'tensor<i32>'}}
  %r = cs.all_to_all "w" %m : !cs.placed<tensor<i32>, device 0>
  return
}

// -----

func.func @all_to_all_key(%m: !cs.placed<tensor<2x6xi32>, device 0>) {
  // expected-error@+1 {{'cs.all_to_all' op needs a key}}
  %r = cs.all_to_all "" %m : !cs.placed<tensor<2x6xi32>, device 0>
  return
}

// -----

func.func @split_shifts(%v: tensor<4xf32>, %i: tensor<4xi32>, %s: tensor<3xi32>) {
  // expected-error@+1 {{'cs.split_regions' op must have 2 shifts for 3 regions, got: 3}}
  %a, %b, %n = cs.split_regions %v, %i by %s of 32 : (tensor<4xf32>, tensor<4xi32>, tensor<3xi32>) -> (tensor<6xf32>, tensor<6xi32>, tensor<3xi32>)
  return
}

// -----

func.func @split_entries(%v: tensor<4xf32>, %i: tensor<4xi32>, %s: tensor<2xi32>) {
  // expected-error@+1 {{'cs.split_regions' op must have as many entries in each of 3 regions, got: 7}}
  %a, %b, %n = cs.split_regions %v, %i by %s of 32 : (tensor<4xf32>, tensor<4xi32>, tensor<2xi32>) -> (tensor<7xf32>, tensor<7xi32>, tensor<3xi32>)
  return
}

// -----

func.func @split_one(%v: tensor<4xf32>, %i: tensor<4xi32>, %s: tensor<0xi32>) {
  // expected-error@+1 {{'cs.split_regions' op needs counts of 2 or more regions, got: 1}}
  %a, %b, %n = cs.split_regions %v, %i by %s of 32 : (tensor<4xf32>, tensor<4xi32>, tensor<0xi32>) -> (tensor<7xf32>, tensor<7xi32>, tensor<1xi32>)
  return
}

// -----

func.func @split_indices(%v: tensor<4xf32>, %i: tensor<4xi64>, %s: tensor<2xi32>) {
  // expected-error@+1 {{'cs.split_regions' op indices must match the element type of 'tensor<2xi32>', got: 'tensor<4xi64>'}}
  %a, %b, %n = cs.split_regions %v, %i by %s of 32 : (tensor<4xf32>, tensor<4xi64>, tensor<2xi32>) -> (tensor<6xf32>, tensor<6xi32>, tensor<3xi32>)
  return
}

// -----

func.func @balance_counts(%i: tensor<6xi32>, %n: tensor<3xi64>, %s: tensor<2xi32>) {
  // expected-error@+1 {{'cs.balance_regions' op counts must match the element type of 'tensor<2xi32>', got: 'tensor<3xi64>'}}
  %r = cs.balance_regions %i, %n by %s of 32 : tensor<6xi32>, tensor<3xi64>, tensor<2xi32>
  return
}

// -----

func.func @balance_elements(%i: tensor<6xi32>, %n: tensor<3xi32>, %s: tensor<2xi32>) {
  // expected-error@+1 {{'cs.balance_regions' op elements must be 1 or more, and fit the indices, got: 4294967296}}
  %r = cs.balance_regions %i, %n by %s of 4294967296 : tensor<6xi32>, tensor<3xi32>, tensor<2xi32>
  return
}

// -----

func.func @clear(%u: tensor<?xf32>, %i: tensor<3xi32>) {
  // expected-error@+1 {{'cs.scatter_clear' op must have static shapes, got: 'tensor<?xf32>'}}
  %r = cs.scatter_clear %u, %i : tensor<?xf32>, tensor<3xi32>
  return
}
