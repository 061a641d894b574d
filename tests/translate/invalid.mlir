// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: cs-translate --mlir-to-plan --split-input-file --verify-diagnostics %s -o %t

// expected-error @+1 {{is not of level 2; run --cs-all-reduce-pipeline}}
func.func @step(%w: tensor<8xf32>) -> tensor<8xf32> {
  return %w : tensor<8xf32>
}

// -----

// expected-error @+1 {{module has no cs.cluster; run --cs-all-reduce-pipeline}}
module {
  func.func @f(%w: !cs.placed<tensor<8xf32>, device 0> {cs.param = "w"}) {
    return
  }
}

// -----

func.func @step(%w: !cs.placed<tensor<8xf32>, device 0> {cs.param = "w"})
    -> (!cs.placed<tensor<8xf32>, device 0> {cs.updates = "w"}) {
  // expected-error @+1 {{communication is not scheduled; run --schedule-comm}}
  %r = cs.all_reduce "w" mean %w : !cs.placed<tensor<8xf32>, device 0>
  return %r : !cs.placed<tensor<8xf32>, device 0>
}

// -----

func.func @step(%w: !cs.placed<tensor<8xf32>, device 0> {cs.param = "w"})
    -> (!cs.placed<tensor<8xf32>, device 0> {cs.updates = "w"}) {
  %f = cs.start "w" (%w) : (!cs.placed<tensor<8xf32>, device 0>) -> !cs.future<!cs.placed<tensor<8xf32>, device 0>> {
  ^bb0(%x: !cs.placed<tensor<8xf32>, device 0>):
    // expected-error @+1 {{communication is not expanded; run --expand-collectives}}
    %r = cs.all_reduce "w" mean %x : !cs.placed<tensor<8xf32>, device 0>
    cs.return %r : !cs.placed<tensor<8xf32>, device 0>
  }
  %r = cs.await %f : !cs.future<!cs.placed<tensor<8xf32>, device 0>>
  return %r : !cs.placed<tensor<8xf32>, device 0>
}

// -----

func.func @step(%w: !cs.placed<tensor<8xf32>, device 0> {cs.param = "w"})
    -> (!cs.placed<tensor<8xf32>, device 0> {cs.updates = "w"}) {
  // expected-error @+1 {{'cs.shard' op cannot be part of a plan}}
  %a = cs.shard %w : !cs.placed<tensor<8xf32>, device 0> -> !cs.placed<tensor<4xf32>, device 0>
  return %w : !cs.placed<tensor<8xf32>, device 0>
}

// -----

cs.cluster @one nodes = 1 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>

func.func @f(%w: !cs.placed<tensor<8xf32>, device 0> {cs.param = "w"})
    -> (!cs.placed<tensor<8xf32>, device 0> {cs.updates = "w"}) {
  return %w : !cs.placed<tensor<8xf32>, device 0>
}

// expected-error @+1 {{"w" must have the same type in all functions, got: 'tensor<9xf32>'}}
func.func @g(%w: !cs.placed<tensor<9xf32>, device 0> {cs.param = "w"})
    -> (!cs.placed<tensor<9xf32>, device 0> {cs.updates = "w"}) {
  return %w : !cs.placed<tensor<9xf32>, device 0>
}

// -----

cs.cluster @one nodes = 1 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>

// expected-error @+1 {{function has no body: a plan needs all of it}}
func.func private @outside(f32) -> f32

// -----

cs.cluster @one nodes = 1 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>

func.func @f(%w: !cs.placed<tensor<4x4xf32>, device 0> {cs.param = "w"})
    -> (!cs.placed<tensor<4x4xf32>, device 0> {cs.updates = "w"}) {
  %r = cs.fragment "f" on 0 (%w) : (!cs.placed<tensor<4x4xf32>, device 0>) -> !cs.placed<tensor<4x4xf32>, device 0> {
  ^bb0(%x: tensor<4x4xf32>):
    %n = arith.constant 3 : index
    // Sizes that are not known ahead of time have no place in scratch.
    %v = tensor.extract %x[%n, %n] : tensor<4x4xf32>
    %i = arith.fptosi %v : f32 to i32
    %d = arith.index_cast %i : i32 to index
    // expected-error @+1 {{cannot be given memory ahead of time}}
    %e = tensor.empty(%d) : tensor<?xf32>
    %g = tensor.insert %v into %e[%n] : tensor<?xf32>
    %s = tensor.extract %g[%d] : tensor<?xf32>
    %o = tensor.empty() : tensor<4x4xf32>
    %z = linalg.fill ins(%s : f32) outs(%o : tensor<4x4xf32>) -> tensor<4x4xf32>
    cs.return %z : tensor<4x4xf32>
  }
  return %r : !cs.placed<tensor<4x4xf32>, device 0>
}

// -----

cs.cluster @two nodes = 2 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
!t = !cs.placed<tensor<8xf32>, device 0>

func.func @step(%w: !t {cs.param = "w"}) -> (!t {cs.updates = "w"}) attributes {cs.step} {
  %f = cs.start "m" (%w) : (!t) -> !cs.future<!t> {
  ^bb0(%x: !t):
    // expected-error @+1 {{'cs.send' op "m" has no other end; run --verify-distributed}}
    cs.send "m" %x to affine_map<(r) -> (1 - r)> : !t
    cs.return %x : !t
  }
  %r = cs.await %f : !cs.future<!t>
  return %r : !t
}

// -----

cs.cluster @two nodes = 2 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
!t = !cs.placed<tensor<8xf32>, device 0>

func.func @step(%w: !t {cs.param = "w"}) -> (!t {cs.updates = "w"}) attributes {cs.step} {
  %f = cs.start "m" (%w) : (!t) -> !cs.future<!t> {
  ^bb0(%x: !t):
    // expected-error @+1 {{'cs.send' op cannot be part of a plan: the other end is in @other, which is no step of other nodes}}
    cs.send "m" %x to affine_map<(r) -> (r)> of @other : !t
    cs.return %x : !t
  }
  %r = cs.await %f : !cs.future<!t>
  return %r : !t
}
func.func @other(%w: !t {cs.param = "w"}) -> (!t {cs.updates = "w"}) {
  return %w : !t
}

// -----

cs.cluster @two nodes = 2 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
!t = !cs.placed<tensor<8xf32>, device 0>

func.func @a(%w: !t {cs.param = "w"}) -> (!t {cs.updates = "w"}) attributes {cs.step, cs.count = 1 : i64} {
  return %w : !t
}
// expected-error @+1 {{the steps must be run by 2 nodes together, got: 3}}
func.func @b(%w: !t {cs.param = "w"}) -> (!t {cs.updates = "w"}) attributes {cs.step, cs.count = 2 : i64} {
  return %w : !t
}

// -----

cs.cluster @two nodes = 2 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
!t = !cs.placed<tensor<8xf32>, device 0>

func.func @a(%w: !t {cs.param = "w"}) -> (!t {cs.updates = "w"}) attributes {cs.step, cs.count = 2 : i64} {
  return %w : !t
}
// expected-error @+1 {{is run by all nodes, but other steps are run by some of them}}
func.func @b(%w: !t {cs.param = "w"}) -> (!t {cs.updates = "w"}) attributes {cs.step} {
  return %w : !t
}

// -----

cs.cluster @two nodes = 2 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
!t = !cs.placed<tensor<8xf32>, device 0>

func.func @a(%w: !t {cs.param = "w"}) -> (!t {cs.updates = "w"}) attributes {cs.step} {
  return %w : !t
}
// expected-error @+1 {{is a second step that all nodes run}}
func.func @b(%w: !t {cs.param = "w"}) -> (!t {cs.updates = "w"}) attributes {cs.step} {
  return %w : !t
}

// -----

cs.cluster @two nodes = 2 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
!t = !cs.placed<tensor<8xf32>, device 0>

func.func @a(%w: !t {cs.param = "w"}) -> (!t {cs.updates = "w"}) attributes {cs.step} {
  return %w : !t
}
// expected-error @+1 {{is run by some of the nodes, but is no step}}
func.func @init() -> (!t {cs.updates = "w"}) attributes {cs.count = 1 : i64} {
  %w = cs.fragment "zero" on 0 () cost <flops = 0, bytes = 0, ns = 1> : () -> !t
  return %w : !t
}

// -----

cs.cluster @one nodes = 1 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
!t = !cs.placed<tensor<8xf32>, device 0>

func.func @step(%w: !t {cs.param = "w"}) -> (!t {cs.updates = "w"}) attributes {cs.step} {
  // expected-error @+1 {{'label' must be UTF-8, got: "caf\E9"}}
  %r = cs.fragment "caf\E9" on 0 (%w) cost <flops = 0, bytes = 0, ns = 1> : (!t) -> !t
  return %r : !t
}

// -----

cs.cluster @pair nodes = 2 devices = 2 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
// expected-error @below {{result 0: metric "m" must have one element, got: 'tensor<2xf32>'}}
func.func @step(%w: !cs.placed<tensor<2xf32>, device 0> {cs.param = "w"}) -> (!cs.placed<tensor<2xf32>, device 0> {cs.metric = "m"}) attributes {cs.step} {
  return %w : !cs.placed<tensor<2xf32>, device 0>
}

// -----

cs.cluster @pair nodes = 2 devices = 2 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
func.func @step(%w: !cs.placed<tensor<2xf32>, device 0> {cs.param = "w"}) -> (!cs.placed<tensor<2xf32>, device 2> {cs.updates = "w"}) attributes {cs.step} {
  // expected-error @below {{device must be below the cluster's 2, got: '!cs.placed<tensor<2xf32>, device 2>'}}
  %c = cs.copy %w : !cs.placed<tensor<2xf32>, device 0> -> !cs.placed<tensor<2xf32>, device 2>
  return %c : !cs.placed<tensor<2xf32>, device 2>
}

// -----

// A step for one device of two, with the number of samples of both.
cs.cluster @pair nodes = 2 devices = 2 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
// expected-error @below {{'cs.global_batch' must match the 4 samples that all nodes take together, got: 8}}
func.func @step(%w: !cs.placed<tensor<2xf32>, device 0> {cs.param = "w"}, %x: !cs.placed<tensor<2xf32>, device 0> {cs.batch = "x"})
    -> (!cs.placed<tensor<2xf32>, device 0> {cs.updates = "w"}) attributes {cs.step, cs.global_batch = 8 : i64} {
  return %w : !cs.placed<tensor<2xf32>, device 0>
}

// -----

module {
  cs.cluster @lab nodes = 1 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
      intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
  func.func @eval(%w: !cs.placed<tensor<8xf32>, device 0> {cs.param = "w"}) -> (!cs.placed<tensor<8xf32>, device 0> {cs.updates = "w"}) {
    return %w : !cs.placed<tensor<8xf32>, device 0>
  }
  module @inner {
    // expected-error @+1 {{must not be in a module inside of another one: a plan is of one module}}
    func.func @step(%w: !cs.placed<tensor<8xf32>, device 0> {cs.param = "w"}) -> (!cs.placed<tensor<8xf32>, device 0> {cs.updates = "w"})
        attributes {cs.step} {
      return %w : !cs.placed<tensor<8xf32>, device 0>
    }
  }
}

// -----

// What MLIR has left out.
cs.cluster @lab nodes = 1 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
func.func @step(%w: !cs.placed<tensor<8xf32>, device 0> {cs.param = "w"}) -> (!cs.placed<tensor<8xf32>, device 0> {cs.updates = "w"})
    attributes {cs.step} {
  %n = cs.fragment "f" on 0 (%w) : (!cs.placed<tensor<8xf32>, device 0>) -> !cs.placed<tensor<8xf32>, device 0> {
  ^bb0(%x: tensor<8xf32>):
    // expected-error @+1 {{has no values: the module has none by the name of dense_resource<__elided__> : tensor<8xf32>}}
    %c = arith.constant dense_resource<__elided__> : tensor<8xf32>
    %y = arith.addf %x, %c : tensor<8xf32>
    cs.return %y : tensor<8xf32>
  }
  return %n : !cs.placed<tensor<8xf32>, device 0>
}

// -----

cs.cluster @lab nodes = 1 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
func.func @step(%w: !cs.placed<tensor<8xf32>, device 0> {cs.param = "w"}) -> (!cs.placed<tensor<8xf32>, device 0> {cs.updates = "w"})
    attributes {cs.step} {
  %n = cs.fragment "f" on 0 (%w) : (!cs.placed<tensor<8xf32>, device 0>) -> !cs.placed<tensor<8xf32>, device 0> {
  ^bb0(%x: tensor<8xf32>):
    // expected-error @+1 {{rounds upward, but fragments to_nearest_even}}
    %h = arith.truncf %x upward : tensor<8xf32> to tensor<8xf16>
    %y = arith.extf %h : tensor<8xf16> to tensor<8xf32>
    cs.return %y : tensor<8xf32>
  }
  return %n : !cs.placed<tensor<8xf32>, device 0>
}

// -----

cs.cluster @lab nodes = 1 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
func.func @step(%w: !cs.placed<tensor<8xf32>, device 0> {cs.param = "w"}) -> (!cs.placed<tensor<8xf32>, device 0> {cs.updates = "w"})
    attributes {cs.step} {
  %n = cs.fragment "f" on 0 (%w) : (!cs.placed<tensor<8xf32>, device 0>) -> !cs.placed<tensor<8xf32>, device 0> {
  ^bb0(%x: tensor<8xf32>):
    // expected-error @+1 {{cannot be compiled in a fragment: what it does to memory cannot be checked}}
    %y = scf.forall (%i) in (8) shared_outs(%o = %x) -> (tensor<8xf32>) {
      %s = tensor.extract_slice %x[%i] [1] [1] : tensor<8xf32> to tensor<1xf32>
      scf.forall.in_parallel {
        tensor.parallel_insert_slice %s into %o[%i] [1] [1] : tensor<1xf32> into tensor<8xf32>
      }
    }
    cs.return %y : tensor<8xf32>
  }
  return %n : !cs.placed<tensor<8xf32>, device 0>
}

// -----

// One error of what LLVM's IR cannot have.
cs.cluster @lab nodes = 1 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
func.func @step(%w: !cs.placed<tensor<4xf32>, device 0> {cs.param = "w"}) -> (!cs.placed<tensor<4xf32>, device 0> {cs.updates = "w"})
    attributes {cs.step} {
  %n = cs.fragment "f" on 0 (%w) : (!cs.placed<tensor<4xf32>, device 0>) -> !cs.placed<tensor<4xf32>, device 0> {
  ^bb0(%x: tensor<4xf32>):
    // expected-error @+1 {{must have 16 bytes of values, got: 4 in dense_resource<blob> : tensor<4xf32>}}
    %c = arith.constant dense_resource<blob> : tensor<4xf32>
    %y = arith.addf %x, %c : tensor<4xf32>
    cs.return %y : tensor<4xf32>
  }
  return %n : !cs.placed<tensor<4xf32>, device 0>
}
{-# dialect_resources: { builtin: { blob: "0x040000000000803f" } } #-}

// -----

// A tensor.empty as a whole has no value that could be one.
cs.cluster @one nodes = 1 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>

func.func @f(%w: !cs.placed<tensor<4xf32>, device 0> {cs.param = "w"}) -> (!cs.placed<tensor<4xf32>, device 0> {cs.updates = "w"}) {
  // expected-error @+1 {{a result has no value: nothing has been written to its tensor.empty}}
  %r = cs.fragment "f" on 0 (%w) : (!cs.placed<tensor<4xf32>, device 0>) -> !cs.placed<tensor<4xf32>, device 0> {
  ^bb0(%a: tensor<4xf32>):
    %e = tensor.empty() : tensor<2x2xf32>
    %c = tensor.collapse_shape %e [[0, 1]] : tensor<2x2xf32> into tensor<4xf32>
    cs.return %c : tensor<4xf32>
  }
  return %r : !cs.placed<tensor<4xf32>, device 0>
}

// -----

// Values of a resource are as many as the type has.
cs.cluster @one nodes = 1 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>

func.func @f(%w: !cs.placed<tensor<4xf32>, device 0> {cs.param = "w"}) -> (!cs.placed<tensor<4xf32>, device 0> {cs.updates = "w"}) {
  %r = cs.fragment "f" on 0 (%w) : (!cs.placed<tensor<4xf32>, device 0>) -> !cs.placed<tensor<4xf32>, device 0> {
  ^bb0(%a: tensor<4xf32>):
    // expected-error @+1 {{must have 16 bytes of values, got: 20 in dense_resource<values> : tensor<4xf32>}}
    %k = arith.constant dense_resource<values> : tensor<4xf32>
    %s = arith.addf %a, %k : tensor<4xf32>
    cs.return %s : tensor<4xf32>
  }
  return %r : !cs.placed<tensor<4xf32>, device 0>
}
{-#
  dialect_resources: { builtin: { values: "0x040000000000803F0000803F0000803F0000803F0000803F" } }
#-}

// -----

// Bits are not bytes.
cs.cluster @one nodes = 1 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>

func.func @f(%w: !cs.placed<tensor<4xf32>, device 0> {cs.param = "w"}) -> (!cs.placed<tensor<4xf32>, device 0> {cs.updates = "w"}) {
  %r = cs.fragment "f" on 0 (%w) : (!cs.placed<tensor<4xf32>, device 0>) -> !cs.placed<tensor<4xf32>, device 0> {
  ^bb0(%a: tensor<4xf32>):
    // expected-error @+1 {{has values that cannot be in a resource, being of 'i1': they must be dense<...>}}
    %k = arith.constant dense_resource<values> : tensor<4xi1>
    %s = arith.select %k, %a, %a : tensor<4xi1>, tensor<4xf32>
    cs.return %s : tensor<4xf32>
  }
  return %r : !cs.placed<tensor<4xf32>, device 0>
}
{-#
  dialect_resources: { builtin: { values: "0x0100000001000100" } }
#-}
