// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: %cs-opt --insert-dist-comm="mode=parameter-server servers=2 min-block-elements=8" --split-input-file %s | FileCheck %s

// Momentum: its state is cut like its parameter, and trainers do not have it.

// CHECK-LABEL: func.func @step(
// CHECK-SAME: %{{[a-z0-9]+}}: !cs.placed<tensor<5x4xf32>, device 0> {cs.param = "w"},
// CHECK-SAME: %{{[a-z0-9]+}}: !cs.placed<tensor<5x4xf32>, device 0> {cs.batch = "x"})
// CHECK-SAME: -> (!cs.placed<tensor<5x4xf32>, device 0> {cs.updates = "w"})
// CHECK: cs.fragment "compute.0"
// CHECK-NOT: cs.fragment
// CHECK: %[[B:.*]]:2 = cs.split %{{.*}} -> !cs.placed<tensor<3x4xf32>, device 0>, !cs.placed<tensor<2x4xf32>, device 0>
// CHECK-LABEL: func.func @server.0(
// CHECK-SAME: %[[W:[a-z0-9]+]]: !cs.placed<tensor<3x4xf32>, device 0> {cs.param = "w", cs.rows = array<i64: 0, 3>},
// CHECK-SAME: %[[M:[a-z0-9]+]]: !cs.placed<tensor<3x4xf32>, device 0> {cs.rows = array<i64: 0, 3>, cs.state = "m"})
// CHECK-SAME: -> (!cs.placed<tensor<3x4xf32>, device 0> {cs.rows = array<i64: 0, 3>, cs.updates = "w"}, !cs.placed<tensor<3x4xf32>, device 0> {cs.rows = array<i64: 0, 3>, cs.updates = "m"})
// CHECK: %[[G:.*]] = cs.collect "w.block0" by mean from @step
// CHECK: %[[U:.*]]:2 = cs.fragment "update.w.block0" on 0 (%[[M]], %[[G]], %[[W]])
// CHECK: arith.constant dense<5.000000e-01> : tensor<3x4xf32>
// CHECK: arith.mulf %{{.*}} : tensor<3x4xf32>
// CHECK: %[[M1:.*]] = arith.addf %{{.*}} : tensor<3x4xf32>
// CHECK: %[[W1:.*]] = arith.subf %{{.*}} : tensor<3x4xf32>
// CHECK: cs.return %[[W1]], %[[M1]]
// CHECK: cs.publish "w.block0.new" %[[U]]#0 to @step
// CHECK-NEXT: return %[[U]]#0, %[[U]]#1
// CHECK-LABEL: func.func @server.1(
// CHECK-SAME: !cs.placed<tensor<2x4xf32>, device 0> {cs.param = "w", cs.rows = array<i64: 3, 5>}
// CHECK-SAME: !cs.placed<tensor<2x4xf32>, device 0> {cs.rows = array<i64: 3, 5>, cs.state = "m"})
func.func @step(%w: tensor<5x4xf32> {cs.param = "w"}, %m: tensor<5x4xf32> {cs.state = "m"},
                %x: tensor<5x4xf32> {cs.batch = "x"})
    -> (tensor<5x4xf32> {cs.updates = "w"}, tensor<5x4xf32> {cs.updates = "m"}) attributes {cs.step} {
  %g = arith.mulf %w, %x : tensor<5x4xf32>
  %g1 = cs.gradient %g of "w" : tensor<5x4xf32>
  %beta = arith.constant dense<0.5> : tensor<5x4xf32>
  %bm = arith.mulf %m, %beta : tensor<5x4xf32>
  %m1 = arith.addf %bm, %g1 : tensor<5x4xf32>
  %w1 = arith.subf %w, %m1 : tensor<5x4xf32>
  return %w1, %m1 : tensor<5x4xf32>, tensor<5x4xf32>
}

// -----

// Adam: the bias correction depends on the step count alone. It is made once per
// step on each server, whose copy of the count goes on by itself; trainers have no
// use for it.

#id = affine_map<(d0, d1) -> (d0, d1)>
#scalar = affine_map<(d0, d1) -> ()>
#none = affine_map<() -> ()>

// CHECK-LABEL: func.func @adam(
// CHECK-NOT: cs.state
// CHECK: cs.send "w.block0"
// CHECK-LABEL: func.func @server.0(
// CHECK-SAME: cs.param = "w", cs.rows = array<i64: 0, 2>},
// CHECK-SAME: cs.rows = array<i64: 0, 2>, cs.state = "mu"},
// CHECK-SAME: cs.rows = array<i64: 0, 2>, cs.state = "nu"},
// CHECK-SAME: %[[N:[a-z0-9]+]]: !cs.placed<tensor<i32>, device 0> {cs.state = "count"})
// CHECK-SAME: cs.updates = "nu"}, !cs.placed<tensor<i32>, device 0> {cs.updates = "count"})
// CHECK-NEXT: %[[S:.*]]:2 = cs.fragment "schedule" on 0 (%[[N]])
// CHECK: arith.addi
// CHECK: math.powf
// CHECK: arith.subf
// CHECK: %[[G:.*]] = cs.collect "w.block0"
// CHECK: %[[U:.*]]:3 = cs.fragment "update.w.block0" on 0 ({{.*}}%[[S]]#0
// CHECK-NOT: powf
// CHECK: linalg.generic {{.*}} ins(%{{.*}} : tensor<2x8xf32>, tensor<2x8xf32>, tensor<f32>) outs(%{{.*}} : tensor<2x8xf32>)
// CHECK: cs.publish "w.block0.new" %[[U]]#0
// CHECK: return %[[U]]#0, %[[U]]#1, %[[U]]#2, %[[S]]#1
func.func @adam(%w: tensor<4x8xf32> {cs.param = "w"}, %mu: tensor<4x8xf32> {cs.state = "mu"},
                %nu: tensor<4x8xf32> {cs.state = "nu"}, %n: tensor<i32> {cs.state = "count"},
                %x: tensor<4x8xf32> {cs.batch = "x"})
    -> (tensor<4x8xf32> {cs.updates = "w"}, tensor<4x8xf32> {cs.updates = "mu"},
        tensor<4x8xf32> {cs.updates = "nu"}, tensor<i32> {cs.updates = "count"}) attributes {cs.step} {
  %g = arith.mulf %w, %x : tensor<4x8xf32>
  %g1 = cs.gradient %g of "w" : tensor<4x8xf32>
  %e = tensor.empty() : tensor<4x8xf32>
  %mu1 = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%mu, %g1 : tensor<4x8xf32>, tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %c = arith.constant 0.9 : f32
    %d = arith.constant 0.1 : f32
    %p = arith.mulf %a, %c : f32
    %q = arith.mulf %b, %d : f32
    %r = arith.addf %p, %q : f32
    linalg.yield %r : f32
  } -> tensor<4x8xf32>
  %nu1 = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%nu, %g1 : tensor<4x8xf32>, tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %c = arith.constant 0.99 : f32
    %d = arith.constant 0.01 : f32
    %p = arith.mulf %a, %c : f32
    %b2 = arith.mulf %b, %b : f32
    %q = arith.mulf %b2, %d : f32
    %r = arith.addf %p, %q : f32
    linalg.yield %r : f32
  } -> tensor<4x8xf32>
  %one = arith.constant dense<1> : tensor<i32>
  %n1 = arith.addi %n, %one : tensor<i32>
  %es = tensor.empty() : tensor<f32>
  %correction = linalg.generic {indexing_maps = [#none, #none], iterator_types = []}
      ins(%n1 : tensor<i32>) outs(%es : tensor<f32>) {
  ^bb0(%a: i32, %o: f32):
    %c = arith.constant 0.9 : f32
    %d = arith.constant 1.0 : f32
    %f = arith.sitofp %a : i32 to f32
    %p = math.powf %c, %f : f32
    %q = arith.subf %d, %p : f32
    linalg.yield %q : f32
  } -> tensor<f32>
  %step = linalg.generic {indexing_maps = [#id, #id, #scalar, #id], iterator_types = ["parallel", "parallel"]}
      ins(%mu1, %nu1, %correction : tensor<4x8xf32>, tensor<4x8xf32>, tensor<f32>) outs(%e : tensor<4x8xf32>) {
  ^bb0(%a: f32, %b: f32, %k: f32, %o: f32):
    %s = math.sqrt %b : f32
    %c = arith.divf %a, %k : f32
    %r = arith.divf %c, %s : f32
    linalg.yield %r : f32
  } -> tensor<4x8xf32>
  %w1 = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%w, %step : tensor<4x8xf32>, tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %r = arith.subf %a, %b : f32
    linalg.yield %r : f32
  } -> tensor<4x8xf32>
  return %w1, %mu1, %nu1, %n1 : tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<i32>
}

// -----

// RMSProp with a decaying rate, written as scalars and broadcasts. The scalars are
// the schedule; the broadcast, and the mask, which is a parameter-sized constant of
// the run, go along with each block. The loss reads the count, so the trainers
// have a copy of it, too.

// CHECK-LABEL: func.func @rmsprop(
// CHECK-SAME: %{{[a-z0-9]+}}: !cs.placed<tensor<4x8xf32>, device 0> {cs.param = "w"},
// CHECK-SAME: %[[N:[a-z0-9]+]]: !cs.placed<tensor<f32>, device 0> {cs.state = "count"},
// CHECK-SAME: cs.batch = "x"})
// CHECK-SAME: -> (!cs.placed<tensor<4x8xf32>, device 0> {cs.updates = "w"}, !cs.placed<tensor<f32>, device 0> {cs.updates = "count"}, !cs.placed<tensor<f32>, device 0> {cs.metric = "age"})
// CHECK-LABEL: func.func @server.1(
// CHECK-SAME: cs.param = "w", cs.rows = array<i64: 2, 4>},
// CHECK-SAME: cs.rows = array<i64: 2, 4>, cs.state = "v"},
// CHECK-SAME: %[[MASK:[a-z0-9]+]]: !cs.placed<tensor<2x8xf32>, device 0> {cs.rows = array<i64: 2, 4>, cs.state = "mask"},
// CHECK-SAME: %[[N:[a-z0-9]+]]: !cs.placed<tensor<f32>, device 0> {cs.state = "count"})
// CHECK-NEXT: %[[S:.*]]:2 = cs.fragment "schedule" on 0 (%[[N]])
// CHECK: tensor.extract
// CHECK: math.exp
// CHECK: tensor.from_elements
// CHECK: cs.fragment "update.w.block1" on 0 ({{.*}}%[[MASK]]{{.*}}%[[S]]#0{{.*}})
// CHECK: math.sqrt %{{.*}} : tensor<2x8xf32>
// CHECK: tensor.extract
// CHECK: tensor.splat %{{.*}} : tensor<2x8xf32>
func.func @rmsprop(%w: tensor<4x8xf32> {cs.param = "w"}, %v: tensor<4x8xf32> {cs.state = "v"},
                   %mask: tensor<4x8xf32> {cs.state = "mask"}, %n: tensor<f32> {cs.state = "count"},
                   %x: tensor<4x8xf32> {cs.batch = "x"})
    -> (tensor<4x8xf32> {cs.updates = "w"}, tensor<4x8xf32> {cs.updates = "v"},
        tensor<f32> {cs.updates = "count"}, tensor<f32> {cs.metric = "age"}) attributes {cs.step} {
  %c1 = arith.constant 1.0 : f32
  %decay = arith.constant dense<0.9> : tensor<4x8xf32>
  %rest = arith.constant dense<0.1> : tensor<4x8xf32>
  %g = arith.mulf %w, %x : tensor<4x8xf32>
  %g1 = cs.gradient %g of "w" : tensor<4x8xf32>
  %age = math.log %n : tensor<f32>
  %gm = arith.mulf %g1, %mask : tensor<4x8xf32>
  %g2 = arith.mulf %gm, %gm : tensor<4x8xf32>
  %va = arith.mulf %v, %decay : tensor<4x8xf32>
  %vb = arith.mulf %g2, %rest : tensor<4x8xf32>
  %v1 = arith.addf %va, %vb : tensor<4x8xf32>
  %root = math.sqrt %v1 : tensor<4x8xf32>
  %d = arith.divf %gm, %root : tensor<4x8xf32>
  %k = tensor.extract %n[] : tensor<f32>
  %rate = math.exp %k : f32
  %rates = tensor.splat %rate : tensor<4x8xf32>
  %s = arith.mulf %d, %rates : tensor<4x8xf32>
  %w1 = arith.subf %w, %s : tensor<4x8xf32>
  %k1 = arith.addf %k, %c1 : f32
  %n1 = tensor.from_elements %k1 : tensor<f32>
  return %w1, %v1, %n1, %age : tensor<4x8xf32>, tensor<4x8xf32>, tensor<f32>, tensor<f32>
}

// -----

// Weight decay and element-wise clipping go with the parameter. So does a norm of
// each row: it needs nothing of other rows.

// CHECK-LABEL: func.func @clip(
// CHECK-LABEL: func.func @server.0(
// CHECK: cs.collect "w.block0"
// CHECK: cs.fragment "update.w.block0"
// CHECK: arith.constant dense<1.250000e-01> : tensor<2x8xf32>
// CHECK: arith.minimumf %{{.*}} : tensor<2x8xf32>
// CHECK: linalg.reduce ins(%{{.*}} : tensor<2x8xf32>) outs(%{{.*}} : tensor<2xf32>) dimensions = [1]
// CHECK: tensor.expand_shape %{{.*}} {{\[}}[0, 1]] output_shape [2, 1] : tensor<2xf32> into tensor<2x1xf32>
// CHECK: tensor.collapse_shape %{{.*}} {{\[}}[0, 1]] : tensor<2x1xf32> into tensor<2xf32>
// CHECK: linalg.broadcast ins(%{{.*}} : tensor<2xf32>) outs(%{{.*}} : tensor<2x8xf32>) dimensions = [1]
func.func @clip(%w: tensor<4x8xf32> {cs.param = "w"}, %x: tensor<4x8xf32> {cs.batch = "x"})
    -> (tensor<4x8xf32> {cs.updates = "w"}) attributes {cs.step} {
  %g = arith.mulf %w, %x : tensor<4x8xf32>
  %g1 = cs.gradient %g of "w" : tensor<4x8xf32>
  %l = arith.constant dense<0.125> : tensor<4x8xf32>
  %one = arith.constant dense<1.0> : tensor<4x8xf32>
  %c0 = arith.constant 0.0 : f32
  %r = arith.mulf %w, %l : tensor<4x8xf32>
  %d = arith.addf %g1, %r : tensor<4x8xf32>
  %c = arith.minimumf %d, %one : tensor<4x8xf32>
  %e = tensor.empty() : tensor<4xf32>
  %z = linalg.fill ins(%c0 : f32) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %s = linalg.reduce ins(%c : tensor<4x8xf32>) outs(%z : tensor<4xf32>) dimensions = [1]
      (%a: f32, %b: f32) { %q = arith.addf %a, %b : f32 linalg.yield %q : f32 }
  %s2 = tensor.expand_shape %s [[0, 1]] output_shape [4, 1] : tensor<4xf32> into tensor<4x1xf32>
  %s3 = math.exp %s2 : tensor<4x1xf32>
  %s4 = tensor.collapse_shape %s3 [[0, 1]] : tensor<4x1xf32> into tensor<4xf32>
  %f = tensor.empty() : tensor<4x8xf32>
  %n = linalg.broadcast ins(%s4 : tensor<4xf32>) outs(%f : tensor<4x8xf32>) dimensions = [1]
  %u = arith.divf %c, %n : tensor<4x8xf32>
  %w1 = arith.subf %w, %u : tensor<4x8xf32>
  return %w1 : tensor<4x8xf32>
}

// -----

// A table that is used twice has one gradient, the sum: one message per block.

// CHECK-LABEL: func.func @tied(
// CHECK: cs.fragment "compute.0"
// CHECK: arith.addf
// CHECK: cs.split
// CHECK-NEXT: cs.send "table.block0"
// CHECK-NEXT: cs.send "table.block1"
// CHECK-NOT: cs.send
// CHECK: cs.concat
func.func @tied(%w: tensor<4x8xf32> {cs.param = "table"}, %x: tensor<4x8xf32> {cs.batch = "x"})
    -> (tensor<4x8xf32> {cs.updates = "table"}) attributes {cs.step} {
  %a = arith.mulf %w, %x : tensor<4x8xf32>
  %b = arith.addf %w, %x : tensor<4x8xf32>
  %g = arith.addf %a, %b : tensor<4x8xf32>
  %g1 = cs.gradient %g of "table" : tensor<4x8xf32>
  %w1 = arith.subf %w, %g1 : tensor<4x8xf32>
  return %w1 : tensor<4x8xf32>
}

// -----

// Of a constant that is not the same everywhere each block takes its rows. A value
// that trainers need and the update, too, is made by both.

// CHECK-LABEL: func.func @constant(
// CHECK: math.exp
// CHECK: math.exp
// CHECK-LABEL: func.func @server.1(
// CHECK: cs.fragment "schedule"
// CHECK: math.exp
// CHECK: cs.fragment "update.w.block1"
// CHECK: %[[ALL:.*]] = arith.constant dense<[0.000000e+00, 1.000000e+00
// CHECK: tensor.extract_slice %[[ALL]][8] [8] [1] : tensor<16xf32> to tensor<8xf32>
func.func @constant(%w: tensor<16xf32> {cs.param = "w"}, %r: tensor<f32> {cs.state = "rate"},
                    %x: tensor<16xf32> {cs.batch = "x"})
    -> (tensor<16xf32> {cs.updates = "w"}) attributes {cs.step} {
  %rate = math.exp %r : tensor<f32>
  %e = tensor.empty() : tensor<16xf32>
  %rates = linalg.broadcast ins(%rate : tensor<f32>) outs(%e : tensor<16xf32>) dimensions = [0]
  %a = arith.mulf %w, %rates : tensor<16xf32>
  %b = arith.mulf %a, %x : tensor<16xf32>
  %g = math.exp %b : tensor<16xf32>
  %g1 = cs.gradient %g of "w" : tensor<16xf32>
  %c = arith.constant dense<[0., 1., 2., 3., 4., 5., 6., 7., 8., 9., 10., 11., 12., 13., 14., 15.]> : tensor<16xf32>
  %d = arith.mulf %g1, %c : tensor<16xf32>
  %f = arith.mulf %d, %rates : tensor<16xf32>
  %w1 = arith.subf %w, %f : tensor<16xf32>
  return %w1 : tensor<16xf32>
}
