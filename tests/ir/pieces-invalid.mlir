// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: cs-opt --split-input-file --verify-diagnostics %s

!a = !cs.placed<tensor<4x5xf32>, device 0>
func.func @f(%a: !a) {
  // expected-error @+1 {{message must have one dimension, got: '!cs.placed<tensor<4x5xf32>, device 0>'}}
  %m = cs.pack %a[0, 20] : !a -> !a
  return
}

// -----

!a = !cs.placed<tensor<4x5xf32>, device 0>
!m = !cs.placed<tensor<21xf32>, device 0>
func.func @f(%a: !a) {
  // expected-error @+1 {{piece 0 must be elements of 0 to 20, at least one, got: [0, 21]}}
  %m = cs.pack %a[0, 21] : !a -> !m
  return
}

// -----

!a = !cs.placed<tensor<4x5xf32>, device 0>
!m = !cs.placed<tensor<10xf32>, device 0>
func.func @f(%a: !a) {
  // expected-error @+1 {{piece 1 must be elements of 0 to 20, at least one, got: [3, 3]}}
  %m = cs.pack %a[0, 10], %a[3, 3] : !a, !a -> !m
  return
}

// -----

!a = !cs.placed<tensor<4x5xf32>, device 0>
!m = !cs.placed<tensor<10xf32>, device 0>
func.func @f(%a: !a) {
  // expected-error @+1 {{elements of the pieces must add up to 10, got: 9}}
  %m = cs.pack %a[11, 20] : !a -> !m
  return
}

// -----

!a = !cs.placed<tensor<4x5xf32>, device 0>
!b = !cs.placed<tensor<4xf32>, device 1>
!m = !cs.placed<tensor<24xf32>, device 0>
func.func @f(%a: !a, %b: !b) {
  // expected-error @+1 {{piece 1 must match '!cs.placed<tensor<24xf32>, device 0>' in element type and place, got: '!cs.placed<tensor<4xf32>, device 1>'}}
  %m = cs.pack %a[0, 20], %b[0, 4] : !a, !b -> !m
  return
}

// -----

!a = !cs.placed<tensor<4x5xf16>, device 0>
!m = !cs.placed<tensor<20xf32>, device 0>
func.func @f(%m: !m) {
  // expected-error @+1 {{piece 0 must match '!cs.placed<tensor<4x5xf16>, device 0>' in element type and place, got: '!cs.placed<tensor<20xf32>, device 0>'}}
  %a = cs.unpack %m[0, 20] : !m -> !a
  return
}

// -----

!h = !cs.placed<tensor<9223372036854775807xi8>, device 0>
!m = !cs.placed<tensor<8xi8>, device 0>
func.func @f(%h: !h) {
  // expected-error @+1 {{has more elements than can be counted}}
  %m = cs.pack %h[0, 9223372036854775807], %h[0, 9] : !h, !h -> !m
  return
}

// -----

!m = !cs.placed<tensor<20xf32>, device 0>
func.func @f(%m: !m) {
  // expected-error @+1 {{must have two bounds for each of 1 pieces, got: 1}}
  %a = "cs.unpack"(%m) <{bounds = array<i64: 0>}> : (!m) -> !m
  return
}

// -----

!m = !cs.placed<tensor<20xf32>, device 0>
func.func @f() {
  // expected-error @+1 {{needs at least one piece}}
  %a = "cs.pack"() <{bounds = array<i64>}> : () -> !m
  return
}

// -----

!w = !cs.placed<tensor<10xf32>, device 0>
func.func @f(%w: !w) {
  // expected-error @+1 {{gather_priority needs an all_reduce}}
  %f = cs.start "w" gather_priority 3 (%w) : (!w) -> !cs.future<!w> {
  ^bb0(%x: !w):
    %r = cs.broadcast "w" %x from 0 : !w
    cs.return %r : !w
  }
  return
}

// -----

cs.cluster @lab nodes = 1 devices = 1 device = <kind = cpu, gflops = 1, gb_per_s = 1>
    // expected-error @+1 {{overhead_ns of a link must not be negative, got: -1}}
    intra = <mbit_per_s = 1, latency_ns = 5> inter = <mbit_per_s = 1000, latency_ns = 5, overhead_ns = -1>

// -----

// expected-error @+1 {{slowdown_percent must be 0 to 100000, got: -1}}
cs.cluster @lab nodes = 1 devices = 1 device = <kind = cpu, gflops = 1, gb_per_s = 1>
    intra = <mbit_per_s = 1, latency_ns = 5> inter = <mbit_per_s = 1000, latency_ns = 5> slowdown_percent = -1

// -----

// expected-error @+1 {{'cs.schedule' belongs on the function with 'cs.step'}}
func.func @step() attributes {cs.schedule = #cs.schedule<policy = "fifo", period_ns = 1, bound_ns = 1, any_order_bound_ns = 0>} { return }

// -----

// expected-error @+1 {{'cs.schedule' must be a #cs.schedule, got: "fifo"}}
func.func @step() attributes {cs.step, cs.schedule = "fifo"} { return }

// -----

// expected-error @+1 {{'cs.schedule' belongs on a function of level 2, got argument 0 of type 'tensor<4xf32>'}}
func.func @step(%x: tensor<4xf32> {cs.param = "x"}) attributes {cs.step, cs.schedule = #cs.schedule<policy = "fifo", period_ns = 1, bound_ns = 1, any_order_bound_ns = 0>} { return }

// -----

// expected-error @+1 {{period_ns of a schedule must not be negative, got: -1}}
func.func @step() attributes {cs.step, cs.schedule = #cs.schedule<policy = "fifo", period_ns = -1, bound_ns = 1, any_order_bound_ns = 0>} { return }

// -----

// expected-error @+1 {{schedule needs a policy}}
func.func @step() attributes {cs.step, cs.schedule = #cs.schedule<policy = "", period_ns = 1, bound_ns = 1, any_order_bound_ns = 0>} { return }

// -----

// expected-error @+1 {{'cs.gradient_reduction' belongs on the function with 'cs.step'}}
func.func @step() attributes {cs.gradient_reduction = #cs<reduction sum>} { return }

// -----

// expected-error @+1 {{'cs.gradient_reduction' must be #cs<reduction sum>, got: #cs<reduction mean>}}
func.func @step() attributes {cs.step, cs.gradient_reduction = #cs<reduction mean>} { return }

// -----

// expected-error @+1 {{'cs.gradient_reduction' must be #cs<reduction sum>, got: "sum"}}
func.func @step() attributes {cs.step, cs.gradient_reduction = "sum"} { return }

// -----

// expected-error @+1 {{'cs.gradient_reduction' belongs on a function of level 1 or 2, got argument 0 of type 'tensor<4xf32>'}}
func.func @step(%x: tensor<4xf32> {cs.param = "x"}) attributes {cs.step, cs.gradient_reduction = #cs<reduction sum>} { return }

// -----

// expected-error @+1 {{'cs.devices' must be an i64 of 2 to 64, got: 1 : i64}}
func.func @step() attributes {cs.step, cs.devices = 1 : i64} { return }

// -----

// expected-error @+1 {{'cs.devices' must be an i64 of 2 to 64, got: 2 : i32}}
func.func @step() attributes {cs.step, cs.devices = 2 : i32} { return }

// -----

// expected-error @+1 {{'cs.devices' belongs on the function with 'cs.step'}}
func.func @eval() attributes {cs.devices = 2 : i64} { return }

// -----

// expected-error @+1 {{'cs.devices' belongs on a function of level 1 or 2, got argument 0 of type 'tensor<4xf32>'}}
func.func @step(%x: tensor<4xf32> {cs.param = "x"}) attributes {cs.step, cs.devices = 2 : i64} { return }
