// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Level 1, by hand: a linear layer trained by momentum with a decaying rate, two
// trainers, two servers. "w" is in two blocks of unequal size, "b" in one.
// Rate of step n: 0.1 / (1 + 0.5 n). A server's schedule also hands the number of
// the step to the update of "b", which adds it to its state "b.steps".

cs.cluster @lab nodes = 2 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>

!w = !cs.placed<tensor<5x3xf32>, device 0>
!w0 = !cs.placed<tensor<3x3xf32>, device 0>
!w1 = !cs.placed<tensor<2x3xf32>, device 0>
!b = !cs.placed<tensor<3xf32>, device 0>
!x = !cs.placed<tensor<8x5xf32>, device 0>
!y = !cs.placed<tensor<8x3xf32>, device 0>
!s = !cs.placed<tensor<f32>, device 0>
!n = !cs.placed<tensor<i32>, device 0>
#self = affine_map<(d0) -> (0)>

func.func @init() -> (!w {cs.updates = "w"}, !b {cs.updates = "b"}, !w {cs.updates = "w.momentum"},
                      !b {cs.updates = "b.momentum"}, !n {cs.updates = "count"}, !n {cs.updates = "b.steps"}) {
  %w, %b, %m, %k, %n, %o = cs.fragment "init" on 0 () : () -> (!w, !b, !w, !b, !n, !n) {
    %cw = arith.constant dense<0.5> : tensor<5x3xf32>
    %cb = arith.constant dense<0.25> : tensor<3xf32>
    %zw = arith.constant dense<0.0> : tensor<5x3xf32>
    %zb = arith.constant dense<0.0> : tensor<3xf32>
    %zn = arith.constant dense<0> : tensor<i32>
    %zo = arith.constant dense<0> : tensor<i32>
    cs.return %cw, %cb, %zw, %zb, %zn, %zo : tensor<5x3xf32>, tensor<3xf32>, tensor<5x3xf32>, tensor<3xf32>, tensor<i32>, tensor<i32>
  }
  return %w, %b, %m, %k, %n, %o : !w, !b, !w, !b, !n, !n
}

func.func @step(%w: !w {cs.param = "w"}, %b: !b {cs.param = "b"}, %x: !x {cs.batch = "x"}, %t: !y {cs.batch = "t"})
    -> (!w {cs.updates = "w"}, !b {cs.updates = "b"}, !s {cs.metric = "loss"})
    attributes {cs.step, cs.servers = #cs.servers<count = 2, sync_mode = sync, merge = 1>} {
  // e = x w + b - t; loss = sum(e^2) / 2; the gradient of b.
  %e, %gb, %loss = cs.fragment "compute.0" on 0 (%w, %b, %x, %t) : (!w, !b, !x, !y) -> (!y, !b, !s) {
  ^bb0(%p: tensor<5x3xf32>, %q: tensor<3xf32>, %i: tensor<8x5xf32>, %u: tensor<8x3xf32>):
    %e0 = tensor.empty() : tensor<8x3xf32>
    %r0 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0, d1)>,
                                           affine_map<(d0, d1) -> (d0, d1)>],
                          iterator_types = ["parallel", "parallel"]}
        ins(%q, %u : tensor<3xf32>, tensor<8x3xf32>) outs(%e0 : tensor<8x3xf32>) {
    ^bb1(%c: f32, %d: f32, %z: f32):
      %v = arith.subf %c, %d : f32
      linalg.yield %v : f32
    } -> tensor<8x3xf32>
    %r = linalg.matmul ins(%i, %p : tensor<8x5xf32>, tensor<5x3xf32>) outs(%r0 : tensor<8x3xf32>) -> tensor<8x3xf32>
    %zero = arith.constant 0.0 : f32
    %half = arith.constant 0.5 : f32
    %b0 = tensor.empty() : tensor<3xf32>
    %b1 = linalg.fill ins(%zero : f32) outs(%b0 : tensor<3xf32>) -> tensor<3xf32>
    %g = linalg.reduce ins(%r : tensor<8x3xf32>) outs(%b1 : tensor<3xf32>) dimensions = [0]
      (%c: f32, %d: f32) {
        %v = arith.addf %c, %d : f32
        linalg.yield %v : f32
      }
    %s0 = tensor.empty() : tensor<f32>
    %s1 = linalg.fill ins(%zero : f32) outs(%s0 : tensor<f32>) -> tensor<f32>
    %l = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> ()>],
                         iterator_types = ["reduction", "reduction"]}
        ins(%r : tensor<8x3xf32>) outs(%s1 : tensor<f32>) {
    ^bb1(%c: f32, %z: f32):
      %v = arith.mulf %c, %c : f32
      %h = arith.mulf %v, %half : f32
      %a = arith.addf %h, %z : f32
      linalg.yield %a : f32
    } -> tensor<f32>
    cs.return %r, %g, %l : tensor<8x3xf32>, tensor<3xf32>, tensor<f32>
  }
  cs.send "b" %gb to #self of @server.1 : !b
  %gw = cs.fragment "compute.1" on 0 (%x, %e) : (!x, !y) -> !w {
  ^bb0(%i: tensor<8x5xf32>, %r: tensor<8x3xf32>):
    %zero = arith.constant 0.0 : f32
    %g0 = tensor.empty() : tensor<5x3xf32>
    %g1 = linalg.fill ins(%zero : f32) outs(%g0 : tensor<5x3xf32>) -> tensor<5x3xf32>
    %g = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d2, d0)>, affine_map<(d0, d1, d2) -> (d2, d1)>,
                                          affine_map<(d0, d1, d2) -> (d0, d1)>],
                         iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%i, %r : tensor<8x5xf32>, tensor<8x3xf32>) outs(%g1 : tensor<5x3xf32>) {
    ^bb1(%c: f32, %d: f32, %z: f32):
      %v = arith.mulf %c, %d : f32
      %a = arith.addf %v, %z : f32
      linalg.yield %a : f32
    } -> tensor<5x3xf32>
    cs.return %g : tensor<5x3xf32>
  }
  %g0, %g1 = cs.split %gw : !w -> !w0, !w1
  cs.send "w.block0" %g0 to #self of @server.0 : !w0
  cs.send "w.block1" %g1 to #self of @server.1 : !w1
  %bn = cs.recv "b.new" from #self of @server.1 : !b
  %w0n = cs.recv "w.block0.new" from #self of @server.0 : !w0
  %w1n = cs.recv "w.block1.new" from #self of @server.1 : !w1
  %wn = cs.concat %w0n, %w1n : !w0, !w1
  %m = cs.reduce "metric.loss" mean %loss to 0 : !s
  return %wn, %bn, %m : !w, !b, !s
}

func.func @server.0(%w: !w0 {cs.param = "w", cs.rows = array<i64: 0, 3>},
                    %v: !w0 {cs.state = "w.momentum", cs.rows = array<i64: 0, 3>}, %n: !n {cs.state = "count"})
    -> (!w0 {cs.updates = "w", cs.rows = array<i64: 0, 3>}, !w0 {cs.updates = "w.momentum", cs.rows = array<i64: 0, 3>},
        !n {cs.updates = "count"}) attributes {cs.server = 0 : i64} {
  %rate, %next = cs.fragment "schedule" on 0 (%n) : (!n) -> (!s, !n) {
  ^bb0(%c: tensor<i32>):
    %i = tensor.extract %c[] : tensor<i32>
    %one = arith.constant 1 : i32
    %j = arith.addi %i, %one : i32
    %f = arith.sitofp %i : i32 to f32
    %half = arith.constant 0.5 : f32
    %unit = arith.constant 1.0 : f32
    %base = arith.constant 0.1 : f32
    %k = arith.mulf %f, %half : f32
    %l = arith.addf %k, %unit : f32
    %m = arith.divf %base, %l : f32
    %r = tensor.from_elements %m : tensor<f32>
    %s = tensor.from_elements %j : tensor<i32>
    cs.return %r, %s : tensor<f32>, tensor<i32>
  }
  %g = cs.collect "w.block0" by mean from @step : !w0
  %wn, %vn = cs.fragment "update.w.block0" on 0 (%g, %w, %v, %rate) : (!w0, !w0, !w0, !s) -> (!w0, !w0) {
  ^bb0(%a: tensor<3x3xf32>, %p: tensor<3x3xf32>, %q: tensor<3x3xf32>, %r: tensor<f32>):
    %e0 = tensor.empty() : tensor<3x3xf32>
    %e1 = tensor.empty() : tensor<3x3xf32>
    %beta = arith.constant 0.9 : f32
    %o:2 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>,
                                            affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> ()>,
                                            affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>],
                           iterator_types = ["parallel", "parallel"]}
        ins(%a, %p, %q, %r : tensor<3x3xf32>, tensor<3x3xf32>, tensor<3x3xf32>, tensor<f32>)
        outs(%e0, %e1 : tensor<3x3xf32>, tensor<3x3xf32>) {
    ^bb1(%ga: f32, %pa: f32, %qa: f32, %ra: f32, %z0: f32, %z1: f32):
      %h = arith.mulf %qa, %beta : f32
      %v1 = arith.addf %h, %ga : f32
      %d = arith.mulf %ra, %v1 : f32
      %p1 = arith.subf %pa, %d : f32
      linalg.yield %p1, %v1 : f32, f32
    } -> (tensor<3x3xf32>, tensor<3x3xf32>)
    cs.return %o#0, %o#1 : tensor<3x3xf32>, tensor<3x3xf32>
  }
  cs.publish "w.block0.new" %wn to @step : !w0
  return %wn, %vn, %next : !w0, !w0, !n
}

func.func @server.1(%w: !w1 {cs.param = "w", cs.rows = array<i64: 3, 5>},
                    %v: !w1 {cs.state = "w.momentum", cs.rows = array<i64: 3, 5>},
                    %b: !b {cs.param = "b"}, %u: !b {cs.state = "b.momentum"},
                    %n: !n {cs.state = "count"}, %k: !n {cs.state = "b.steps"})
    -> (!w1 {cs.updates = "w", cs.rows = array<i64: 3, 5>}, !w1 {cs.updates = "w.momentum", cs.rows = array<i64: 3, 5>},
        !b {cs.updates = "b"}, !b {cs.updates = "b.momentum"}, !n {cs.updates = "count"}, !n {cs.updates = "b.steps"})
    attributes {cs.server = 1 : i64} {
  %rate, %next = cs.fragment "schedule" on 0 (%n) : (!n) -> (!s, !n) {
  ^bb0(%c: tensor<i32>):
    %i = tensor.extract %c[] : tensor<i32>
    %one = arith.constant 1 : i32
    %j = arith.addi %i, %one : i32
    %f = arith.sitofp %i : i32 to f32
    %half = arith.constant 0.5 : f32
    %unit = arith.constant 1.0 : f32
    %base = arith.constant 0.1 : f32
    %h = arith.mulf %f, %half : f32
    %l = arith.addf %h, %unit : f32
    %m = arith.divf %base, %l : f32
    %r = tensor.from_elements %m : tensor<f32>
    %s = tensor.from_elements %j : tensor<i32>
    cs.return %r, %s : tensor<f32>, tensor<i32>
  }
  %gb = cs.collect "b" by mean from @step : !b
  %bn, %un, %kn = cs.fragment "update.b" on 0 (%gb, %b, %u, %rate, %n, %k) : (!b, !b, !b, !s, !n, !n) -> (!b, !b, !n) {
  ^bb0(%a: tensor<3xf32>, %p: tensor<3xf32>, %q: tensor<3xf32>, %r: tensor<f32>, %i: tensor<i32>, %j: tensor<i32>):
    %e0 = tensor.empty() : tensor<3xf32>
    %e1 = tensor.empty() : tensor<3xf32>
    %beta = arith.constant 0.9 : f32
    %o:2 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>,
                                            affine_map<(d0) -> ()>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>],
                           iterator_types = ["parallel"]}
        ins(%a, %p, %q, %r : tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<f32>)
        outs(%e0, %e1 : tensor<3xf32>, tensor<3xf32>) {
    ^bb1(%ga: f32, %pa: f32, %qa: f32, %ra: f32, %z0: f32, %z1: f32):
      %h = arith.mulf %qa, %beta : f32
      %v1 = arith.addf %h, %ga : f32
      %d = arith.mulf %ra, %v1 : f32
      %p1 = arith.subf %pa, %d : f32
      linalg.yield %p1, %v1 : f32, f32
    } -> (tensor<3xf32>, tensor<3xf32>)
    %e2 = tensor.empty() : tensor<i32>
    %t = linalg.add ins(%i, %j : tensor<i32>, tensor<i32>) outs(%e2 : tensor<i32>) -> tensor<i32>
    cs.return %o#0, %o#1, %t : tensor<3xf32>, tensor<3xf32>, tensor<i32>
  }
  cs.publish "b.new" %bn to @step : !b
  %gw = cs.collect "w.block1" by mean from @step : !w1
  %wn, %vn = cs.fragment "update.w.block1" on 0 (%gw, %w, %v, %rate) : (!w1, !w1, !w1, !s) -> (!w1, !w1) {
  ^bb0(%a: tensor<2x3xf32>, %p: tensor<2x3xf32>, %q: tensor<2x3xf32>, %r: tensor<f32>):
    %e0 = tensor.empty() : tensor<2x3xf32>
    %e1 = tensor.empty() : tensor<2x3xf32>
    %beta = arith.constant 0.9 : f32
    %o:2 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>,
                                            affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> ()>,
                                            affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>],
                           iterator_types = ["parallel", "parallel"]}
        ins(%a, %p, %q, %r : tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<f32>)
        outs(%e0, %e1 : tensor<2x3xf32>, tensor<2x3xf32>) {
    ^bb1(%ga: f32, %pa: f32, %qa: f32, %ra: f32, %z0: f32, %z1: f32):
      %h = arith.mulf %qa, %beta : f32
      %v1 = arith.addf %h, %ga : f32
      %d = arith.mulf %ra, %v1 : f32
      %p1 = arith.subf %pa, %d : f32
      linalg.yield %p1, %v1 : f32, f32
    } -> (tensor<2x3xf32>, tensor<2x3xf32>)
    cs.return %o#0, %o#1 : tensor<2x3xf32>, tensor<2x3xf32>
  }
  cs.publish "w.block1.new" %wn to @step : !w1
  return %wn, %vn, %bn, %un, %next, %kn : !w1, !w1, !b, !b, !n, !n
}
