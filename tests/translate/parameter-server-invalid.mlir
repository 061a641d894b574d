// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What a plan cannot hold of parameter servers.

// RUN: cs-translate --mlir-to-plan --split-input-file --verify-diagnostics %s -o %t

cs.cluster @lab nodes = 2 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
!t = !cs.placed<tensor<4xf32>, device 0>
func.func @server.0(%a: !t {cs.param = "a"}) -> (!t {cs.updates = "a"}) attributes {cs.server = 0 : i64} {
  // expected-error@+1 {{cannot be part of a server, which only collects and publishes}}
  %f = cs.start "a" (%a) : (!t) -> !cs.future<!t> {
  ^bb0(%x: !t):
    %r = cs.all_reduce "a" sum %x : !t
    cs.return %r : !t
  }
  %r = cs.await %f : !cs.future<!t>
  return %r : !t
}

// -----

// A global norm, say, needs gradients that arrive together.
cs.cluster @lab nodes = 2 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
!t = !cs.placed<tensor<4xf32>, device 0>
func.func @step(%a: !t {cs.param = "a"}, %b: !t {cs.param = "b"}) -> (!t {cs.updates = "a"}, !t {cs.updates = "b"})
    attributes {cs.step, cs.servers = #cs.servers<count = 1, sync_mode = async, merge = 1>} {
  return %a, %b : !t, !t
}
func.func @server.0(%a: !t {cs.param = "a"}, %b: !t {cs.param = "b"}) -> (!t {cs.updates = "a"}, !t {cs.updates = "b"}) attributes {cs.server = 0 : i64} {
  %g = cs.collect "a" each from @step : !t
  %h = cs.collect "b" each from @step : !t
  // expected-error@+1 {{'cs.fragment' op joins the updates of "a" and "b", whose messages are applied one by one as they arrive}}
  %n = cs.fragment "both" on 0 (%g, %h, %a) cost <flops = 1, bytes = 1, ns = 0> : (!t, !t, !t) -> !t
  cs.publish "a.new" %n to @step : !t
  return %n, %b : !t, !t
}

// -----

cs.cluster @lab nodes = 2 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
!t = !cs.placed<tensor<4xf32>, device 0>
func.func @step(%a: !t {cs.param = "a"}, %b: !t {cs.param = "b"}) -> (!t {cs.updates = "a"}, !t {cs.updates = "b"})
    attributes {cs.step, cs.servers = #cs.servers<count = 1, sync_mode = sync, merge = 1>} {
  return %a, %b : !t, !t
}
func.func @server.0(%a: !t {cs.param = "a"}, %b: !t {cs.param = "b"}) -> (!t {cs.updates = "a"}, !t {cs.updates = "b"}) attributes {cs.server = 0 : i64} {
  // expected-error@+1 {{'cs.collect' op has no cs.publish that depends on it}}
  %g = cs.collect "a" by mean from @step : !t
  %n = cs.fragment "u" on 0 (%g, %a) cost <flops = 1, bytes = 1, ns = 0> : (!t, !t) -> !t
  return %n, %b : !t, !t
}

// -----

cs.cluster @lab nodes = 2 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
!t = !cs.placed<tensor<4xf32>, device 0>
func.func @step(%a: !t {cs.param = "a"}, %b: !t {cs.param = "b"}) -> (!t {cs.updates = "a"}, !t {cs.updates = "b"})
    attributes {cs.step, cs.servers = #cs.servers<count = 1, sync_mode = sync, merge = 1>} {
  return %a, %b : !t, !t
}
func.func @server.0(%a: !t {cs.param = "a"}, %b: !t {cs.param = "b"}) -> (!t {cs.updates = "a"}, !t {cs.updates = "b"}) attributes {cs.server = 0 : i64} {
  %g = cs.collect "a" by mean from @step : !t
  %n = cs.fragment "u" on 0 (%g, %a) cost <flops = 1, bytes = 1, ns = 0> : (!t, !t) -> !t
  // expected-note@+1 {{another one is here}}
  cs.publish "a.new" %n to @step : !t
  // expected-error@+1 {{publishes a second value of block "a"}}
  cs.publish "c.new" %n to @step : !t
  return %n, %b : !t, !t
}

// -----

cs.cluster @lab nodes = 2 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
!t = !cs.placed<tensor<4xf32>, device 0>
func.func @step(%a: !t {cs.param = "a"}, %b: !t {cs.param = "b"}) -> (!t {cs.updates = "a"}, !t {cs.updates = "b"})
    attributes {cs.step, cs.servers = #cs.servers<count = 1, sync_mode = sync, merge = 1>} {
  return %a, %b : !t, !t
}
func.func @server.0(%a: !t {cs.param = "a"}, %b: !t {cs.param = "b"}) -> (!t {cs.updates = "a"}, !t {cs.updates = "b"}) attributes {cs.server = 0 : i64} {
  // expected-error@+1 {{depends on no message of the trainers}}
  cs.publish "a.new" %a to @step : !t
  return %a, %b : !t, !t
}

// -----

cs.cluster @lab nodes = 2 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
!t = !cs.placed<tensor<4xf32>, device 0>
func.func @step(%a: !t {cs.param = "a"}, %b: !t {cs.param = "b"}) -> (!t {cs.updates = "a"}, !t {cs.updates = "b"})
    attributes {cs.step, cs.servers = #cs.servers<count = 1, sync_mode = async, merge = 1>} {
  return %a, %b : !t, !t
}
func.func @server.0(%a: !t {cs.param = "a"}, %b: !t {cs.param = "b"}) -> (!t {cs.updates = "a"}, !t {cs.updates = "b"}) attributes {cs.server = 0 : i64} {
  %g = cs.collect "a" each from @step : !t
  %n = cs.fragment "u" on 0 (%g, %a) cost <flops = 1, bytes = 1, ns = 0> : (!t, !t) -> !t
  cs.publish "a.new" %n to @step : !t
  %h = cs.collect "b" each from @step : !t
  // expected-error@+1 {{'cs.fragment' op joins the updates of "a" and "b", whose messages are applied one by one as they arrive}}
  %m = cs.fragment "v" on 0 (%h, %a) cost <flops = 1, bytes = 1, ns = 0> : (!t, !t) -> !t
  cs.publish "b.new" %m to @step : !t
  return %n, %m : !t, !t
}

// -----

cs.cluster @lab nodes = 2 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
!t = !cs.placed<tensor<4xf32>, device 0>
func.func @step(%a: !t {cs.param = "a"}, %b: !t {cs.param = "b"}) -> (!t {cs.updates = "a"}, !t {cs.updates = "b"})
    attributes {cs.step, cs.servers = #cs.servers<count = 1, sync_mode = async, merge = 1>} {
  return %a, %b : !t, !t
}
func.func @server.0(%a: !t {cs.param = "a"}, %b: !t {cs.param = "b"}) -> (!t {cs.updates = "a"}, !t {cs.updates = "b"}) attributes {cs.server = 0 : i64} {
  %g = cs.collect "a" each from @step : !t
  %n = cs.fragment "u" on 0 (%g, %a) cost <flops = 1, bytes = 1, ns = 0> : (!t, !t) -> !t
  cs.publish "a.new" %n to @step : !t
  // expected-error@+1 {{of the schedule reads "server.0/a", which "a" updates whenever a message arrives}}
  %m = cs.fragment "v" on 0 (%a) cost <flops = 1, bytes = 1, ns = 0> : (!t) -> !t
  return %n, %m : !t, !t
}

// -----

cs.cluster @lab nodes = 2 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
!t = !cs.placed<tensor<4xf32>, device 0>
func.func @step(%a: !t {cs.param = "a"}, %b: !t {cs.param = "b"}) -> (!t {cs.updates = "a"}, !t {cs.updates = "b"})
    attributes {cs.step, cs.servers = #cs.servers<count = 1, sync_mode = sync, merge = 1>} {
  return %a, %b : !t, !t
}
func.func @server.0(%a: !t {cs.param = "a"}, %b: !t {cs.param = "b"}) -> (!t {cs.updates = "a"}, !t {cs.updates = "b"}) attributes {cs.server = 0 : i64} {
  // expected-error@+1 {{must be by mean or by sum to be part of a plan, got: max}}
  %g = cs.collect "a" by max from @step : !t
  %n = cs.fragment "u" on 0 (%g, %a) cost <flops = 1, bytes = 1, ns = 0> : (!t, !t) -> !t
  cs.publish "a.new" %n to @step : !t
  return %n, %b : !t, !t
}

// -----

cs.cluster @lab nodes = 2 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
!t = !cs.placed<tensor<4xf32>, device 0>
func.func @step(%a: !t {cs.param = "a"}, %b: !t {cs.param = "b"}) -> (!t {cs.updates = "a"}, !t {cs.updates = "b"})
    attributes {cs.step, cs.servers = #cs.servers<count = 1, sync_mode = sync, merge = 1>} {
  return %a, %b : !t, !t
}
func.func @server.0(%a: !t {cs.param = "a"}, %b: !t {cs.param = "b"}) -> (!t {cs.updates = "a"}, !t {cs.updates = "b"}) attributes {cs.server = 0 : i64} {
  // expected-error@+1 {{does not fit mode sync; run --verify-distributed}}
  %g = cs.collect "a" each from @step : !t
  %n = cs.fragment "u" on 0 (%g, %a) cost <flops = 1, bytes = 1, ns = 0> : (!t, !t) -> !t
  cs.publish "a.new" %n to @step : !t
  return %n, %b : !t, !t
}

// -----

cs.cluster @lab nodes = 2 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
!t = !cs.placed<tensor<4xf32>, device 0>
// expected-error@+1 {{has 2 parameter servers, but functions of 1}}
func.func @step(%a: !t {cs.param = "a"}, %b: !t {cs.param = "b"}) -> (!t {cs.updates = "a"}, !t {cs.updates = "b"})
    attributes {cs.step, cs.servers = #cs.servers<count = 2, sync_mode = sync, merge = 1>} {
  return %a, %b : !t, !t
}
func.func @server.0(%a: !t {cs.param = "a"}, %b: !t {cs.param = "b"}) -> (!t {cs.updates = "a"}, !t {cs.updates = "b"}) attributes {cs.server = 0 : i64} {
  return %a, %b : !t, !t
}

// -----

cs.cluster @lab nodes = 2 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
!t = !cs.placed<tensor<4xf32>, device 0>
func.func @step(%a: !t {cs.param = "a"}, %b: !t {cs.param = "b"}) -> (!t {cs.updates = "a"}, !t {cs.updates = "b"})
    attributes {cs.step, cs.servers = #cs.servers<count = 1, sync_mode = sync, merge = 1>} {
  return %a, %b : !t, !t
}
func.func @server.0(%a: !t {cs.param = "a"}, %b: !t {cs.param = "b"}) -> (!t {cs.updates = "a"}, !t {cs.updates = "b"}) attributes {cs.server = 0 : i64} {
  return %a, %b : !t, !t
}
// expected-error@+1 {{must be the only function of a server from 0 to 0, got: 1}}
func.func @server.1(%a: !t {cs.param = "a"}, %b: !t {cs.param = "b"}) -> (!t {cs.updates = "a"}, !t {cs.updates = "b"}) attributes {cs.server = 1 : i64} {
  return %a, %b : !t, !t
}

// -----

cs.cluster @lab nodes = 2 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
!t = !cs.placed<tensor<4xf32>, device 0>
func.func @step(%a: !t {cs.param = "a"}, %b: !t {cs.param = "b"}) -> (!t {cs.updates = "a"}, !t {cs.updates = "b"})
    attributes {cs.step, cs.servers = #cs.servers<count = 1, sync_mode = sync, merge = 1>} {
  return %a, %b : !t, !t
}
// expected-error@+1 {{"server.0/a[4:8]" is not part of "a" of the trainers}}
func.func @server.0(%a: !t {cs.param = "a", cs.rows = array<i64: 4, 8>}, %b: !t {cs.param = "b"}) -> (!t {cs.updates = "a", cs.rows = array<i64: 4, 8>}, !t {cs.updates = "b"}) attributes {cs.server = 0 : i64} {
  return %a, %b : !t, !t
}

// -----

cs.cluster @lab nodes = 2 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
!t = !cs.placed<tensor<4xf32>, device 0>
func.func @step(%a: !t {cs.param = "a"}, %b: !t {cs.param = "b"}) -> (!t {cs.updates = "a"}, !t {cs.updates = "b"})
    attributes {cs.step, cs.servers = #cs.servers<count = 1, sync_mode = sync, merge = 1>} {
  return %a, %b : !t, !t
}
func.func @server.0(%a: !t {cs.param = "a"}, %b: !t {cs.param = "b"}) -> (!t {cs.updates = "a"}, !t {cs.updates = "c"}) attributes {cs.server = 0 : i64} {
  // expected-error@+1 {{result 1 updates "server.0/c", which is no argument}}
  return %a, %b : !t, !t
}

// -----

cs.cluster @lab nodes = 2 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
!t = !cs.placed<tensor<4xf32>, device 0>
func.func @step(%a: !t {cs.param = "a"}, %b: !t {cs.param = "b"}) -> (!t {cs.updates = "a"}, !t {cs.updates = "b"})
    attributes {cs.step, cs.servers = #cs.servers<count = 1, sync_mode = sync, merge = 1>} {
  %f = cs.start "a" (%a) : (!t) -> !cs.future<!t> {
  ^bb0(%x: !t):
    // expected-error@+1 {{"a" is not collected by server 0; run --verify-distributed}}
    cs.send "a" %x to affine_map<(r) -> (0)> of @server.0 : !t
    cs.return %x : !t
  }
  %r = cs.await %f : !cs.future<!t>
  return %r, %b : !t, !t
}
func.func @server.0(%a: !t {cs.param = "a"}, %b: !t {cs.param = "b"}) -> (!t {cs.updates = "a"}, !t {cs.updates = "b"}) attributes {cs.server = 0 : i64} {
  return %a, %b : !t, !t
}

// -----

cs.cluster @lab nodes = 2 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
!t = !cs.placed<tensor<4xf32>, device 0>
func.func @step(%a: !t {cs.param = "a"}, %b: !t {cs.param = "b"}) -> (!t {cs.updates = "a"}, !t {cs.updates = "b"})
    attributes {cs.step, cs.servers = #cs.servers<count = 1, sync_mode = sync, merge = 1>} {
  %f = cs.start "a" (%a) : (!t) -> !cs.future<!t> {
  ^bb0(%x: !t):
    // expected-error@+1 {{cannot be part of a plan: not all ranks take part}}
    cs.send "a" %x to affine_map<(r) -> (0)> of @server.0 when affine_set<(r) : (r == 0)> : !t
    cs.return %x : !t
  }
  %r = cs.await %f : !cs.future<!t>
  return %r, %b : !t, !t
}
func.func @server.0(%a: !t {cs.param = "a"}, %b: !t {cs.param = "b"}) -> (!t {cs.updates = "a"}, !t {cs.updates = "b"}) attributes {cs.server = 0 : i64} {
  return %a, %b : !t, !t
}

// -----

// Updates that are joined hand out as many values as they take messages.
cs.cluster @lab nodes = 2 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
!t = !cs.placed<tensor<4xf32>, device 0>
func.func @step(%a: !t {cs.param = "a"}, %b: !t {cs.param = "b"}) -> (!t {cs.updates = "a"}, !t {cs.updates = "b"})
    attributes {cs.step, cs.servers = #cs.servers<count = 1, sync_mode = sync, merge = 1>} {
  return %a, %b : !t, !t
}
func.func @server.0(%a: !t {cs.param = "a"}, %b: !t {cs.param = "b"}) -> (!t {cs.updates = "a"}, !t {cs.updates = "b"}) attributes {cs.server = 0 : i64} {
  %g = cs.collect "a" by mean from @step : !t
  // expected-error@+1 {{'cs.collect' op has no cs.publish that depends on it}}
  %h = cs.collect "b" by mean from @step : !t
  %n = cs.fragment "both" on 0 (%g, %h, %a) cost <flops = 1, bytes = 1, ns = 0> : (!t, !t, !t) -> !t
  cs.publish "a.new" %n to @step : !t
  return %n, %b : !t, !t
}

// -----

// What is handed out together is what slots hold.
cs.cluster @lab nodes = 2 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
!t = !cs.placed<tensor<4xf32>, device 0>
!m = !cs.placed<tensor<6xf32>, device 0>
!u = !cs.placed<tensor<8xf32>, device 0>
func.func @step(%a: !t {cs.param = "a"}, %b: !t {cs.param = "b"}) -> (!t {cs.updates = "a"}, !t {cs.updates = "b"})
    attributes {cs.step, cs.servers = #cs.servers<count = 1, sync_mode = sync, merge = 1>} {
  return %a, %b : !t, !t
}
func.func @server.0(%a: !t {cs.param = "a"}, %b: !t {cs.param = "b"}) -> (!t {cs.updates = "a"}, !t {cs.updates = "b"}) attributes {cs.server = 0 : i64} {
  %g = cs.collect "a+1" by mean from @step : !u
  %ga = cs.unpack %g[0, 4] : !u -> !t
  %gb = cs.unpack %g[4, 8] : !u -> !t
  %n = cs.fragment "a" on 0 (%ga, %a) cost <flops = 1, bytes = 1, ns = 0> : (!t, !t) -> !t
  %o = cs.fragment "b" on 0 (%gb, %b) cost <flops = 1, bytes = 1, ns = 0> : (!t, !t) -> !t
  // expected-error@+1 {{'cs.pack' op of a server must be of whole tensors, for a cs.publish}}
  %p = cs.pack %n[0, 4], %o[2, 4] : !t, !t -> !m
  cs.publish "a+1.new" %p to @step : !m
  return %n, %o : !t, !t
}
