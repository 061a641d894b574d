// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Messages between trainers and parameter servers, and waiting in circles.

// RUN: cs-opt --verify-distributed --split-input-file --verify-diagnostics %s

// Nobody collects it.
cs.cluster @lab nodes = 2 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
!t = !cs.placed<tensor<4xf32>, device 0>
func.func @step(%a: !t {cs.param = "a"}, %b: !t {cs.param = "b"}) attributes {cs.step, cs.servers = #cs.servers<count = 2, sync_mode = sync, merge = 1>} {
  // expected-error@+1 {{'cs.send' op rank 0 of @step sends "x" to @server.0, which does not collect it}}
  cs.send "x" %a to affine_map<(r) -> (0)> of @server.0 : !t
  cs.send "b" %b to affine_map<(r) -> (0)> of @server.1 : !t
  %c = cs.recv "a.new" from affine_map<(r) -> (0)> of @server.0 : !t
  %d = cs.recv "b.new" from affine_map<(r) -> (0)> of @server.1 : !t
  return
}
// expected-note@+1 {{the server's function is here}}
func.func @server.0() attributes {cs.server = 0 : i64} {
  %g = cs.collect "a" by mean from @step : !t
  cs.publish "a.new" %g to @step : !t
  return
}
func.func @server.1() attributes {cs.server = 1 : i64} {
  %g = cs.collect "b" by mean from @step : !t
  cs.publish "b.new" %g to @step : !t
  return
}

// -----

// The other server collects it.
cs.cluster @lab nodes = 2 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
!t = !cs.placed<tensor<4xf32>, device 0>
func.func @step(%a: !t {cs.param = "a"}, %b: !t {cs.param = "b"}) attributes {cs.step, cs.servers = #cs.servers<count = 2, sync_mode = sync, merge = 1>} {
  // expected-error@+1 {{rank 0 of @step sends "a" to @server.1, which does not collect it}}
  cs.send "a" %a to affine_map<(r) -> (0)> of @server.1 : !t
  cs.send "b" %b to affine_map<(r) -> (0)> of @server.1 : !t
  %c = cs.recv "a.new" from affine_map<(r) -> (0)> of @server.0 : !t
  %d = cs.recv "b.new" from affine_map<(r) -> (0)> of @server.1 : !t
  return
}
func.func @server.0() attributes {cs.server = 0 : i64} {
  %g = cs.collect "a" by mean from @step : !t
  cs.publish "a.new" %g to @step : !t
  return
}
// expected-note@+1 {{the server's function is here}}
func.func @server.1() attributes {cs.server = 1 : i64} {
  %g = cs.collect "b" by mean from @step : !t
  cs.publish "b.new" %g to @step : !t
  return
}

// -----

// A trainer does not send it.
cs.cluster @lab nodes = 2 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
!t = !cs.placed<tensor<4xf32>, device 0>
// expected-note@+1 {{the trainer is here}}
func.func @step(%a: !t {cs.param = "a"}, %b: !t {cs.param = "b"}) attributes {cs.step, cs.servers = #cs.servers<count = 2, sync_mode = sync, merge = 1>} {
  cs.send "b" %b to affine_map<(r) -> (0)> of @server.1 : !t
  %c = cs.recv "a.new" from affine_map<(r) -> (0)> of @server.0 : !t
  %d = cs.recv "b.new" from affine_map<(r) -> (0)> of @server.1 : !t
  return
}
func.func @server.0() attributes {cs.server = 0 : i64} {
  // expected-error@+1 {{'cs.collect' op @server.0 collects "a" from rank 0 of @step, which does not send it}}
  %g = cs.collect "a" by mean from @step : !t
  cs.publish "a.new" %g to @step : !t
  return
}
func.func @server.1() attributes {cs.server = 1 : i64} {
  %g = cs.collect "b" by mean from @step : !t
  cs.publish "b.new" %g to @step : !t
  return
}

// -----

// One trainer of two does not send it.
cs.cluster @lab nodes = 2 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
!t = !cs.placed<tensor<4xf32>, device 0>
func.func @step(%a: !t {cs.param = "a"}, %b: !t {cs.param = "b"}) attributes {cs.step, cs.servers = #cs.servers<count = 2, sync_mode = sync, merge = 1>} {
  // expected-note@+1 {{the other end is here}}
  cs.send "a" %a to affine_map<(r) -> (0)> of @server.0 when affine_set<(r) : (r == 0)> : !t
  cs.send "b" %b to affine_map<(r) -> (0)> of @server.1 : !t
  %c = cs.recv "a.new" from affine_map<(r) -> (0)> of @server.0 : !t
  %d = cs.recv "b.new" from affine_map<(r) -> (0)> of @server.1 : !t
  return
}
func.func @server.0() attributes {cs.server = 0 : i64} {
  // expected-error@+1 {{@server.0 collects "a" from rank 1 of @step, which does not send it}}
  %g = cs.collect "a" by mean from @step : !t
  cs.publish "a.new" %g to @step : !t
  return
}
func.func @server.1() attributes {cs.server = 1 : i64} {
  %g = cs.collect "b" by mean from @step : !t
  cs.publish "b.new" %g to @step : !t
  return
}

// -----

// Two servers collect it.
cs.cluster @lab nodes = 2 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
!t = !cs.placed<tensor<4xf32>, device 0>
func.func @step(%a: !t {cs.param = "a"}, %b: !t {cs.param = "b"}) attributes {cs.step, cs.servers = #cs.servers<count = 2, sync_mode = sync, merge = 1>} {
  // expected-note@+1 {{the other end is here}}
  cs.send "a" %a to affine_map<(r) -> (0)> of @server.0 : !t
  cs.send "b" %b to affine_map<(r) -> (0)> of @server.1 : !t
  %c = cs.recv "a.new" from affine_map<(r) -> (0)> of @server.0 : !t
  %d = cs.recv "b.new" from affine_map<(r) -> (0)> of @server.1 : !t
  return
}
func.func @server.0() attributes {cs.server = 0 : i64} {
  %g = cs.collect "a" by mean from @step : !t
  cs.publish "a.new" %g to @step : !t
  return
}
func.func @server.1() attributes {cs.server = 1 : i64} {
  %g = cs.collect "b" by mean from @step : !t
  cs.publish "b.new" %g to @step : !t
  // expected-error@+1 {{@server.1 collects "a" from rank 0 of @step, which sends it to @server.0}}
  %h = cs.collect "a" by mean from @step : !t
  return
}

// -----

// Nobody publishes it.
cs.cluster @lab nodes = 2 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
!t = !cs.placed<tensor<4xf32>, device 0>
func.func @step(%a: !t {cs.param = "a"}, %b: !t {cs.param = "b"}) attributes {cs.step, cs.servers = #cs.servers<count = 2, sync_mode = sync, merge = 1>} {
  cs.send "a" %a to affine_map<(r) -> (0)> of @server.0 : !t
  cs.send "b" %b to affine_map<(r) -> (0)> of @server.1 : !t
  // expected-error@+1 {{'cs.recv' op rank 0 of @step receives "a.new" from @server.0, which does not publish it}}
  %c = cs.recv "a.new" from affine_map<(r) -> (0)> of @server.0 : !t
  %d = cs.recv "b.new" from affine_map<(r) -> (0)> of @server.1 : !t
  return
}
// expected-note@+1 {{the server's function is here}}
func.func @server.0() attributes {cs.server = 0 : i64} {
  %g = cs.collect "a" by mean from @step : !t
  return
}
func.func @server.1() attributes {cs.server = 1 : i64} {
  %g = cs.collect "b" by mean from @step : !t
  cs.publish "b.new" %g to @step : !t
  return
}

// -----

// Nobody receives it.
cs.cluster @lab nodes = 2 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
!t = !cs.placed<tensor<4xf32>, device 0>
// expected-note@+1 {{the trainer is here}}
func.func @step(%a: !t {cs.param = "a"}, %b: !t {cs.param = "b"}) attributes {cs.step, cs.servers = #cs.servers<count = 2, sync_mode = sync, merge = 1>} {
  cs.send "a" %a to affine_map<(r) -> (0)> of @server.0 : !t
  cs.send "b" %b to affine_map<(r) -> (0)> of @server.1 : !t
  %d = cs.recv "b.new" from affine_map<(r) -> (0)> of @server.1 : !t
  return
}
func.func @server.0() attributes {cs.server = 0 : i64} {
  %g = cs.collect "a" by mean from @step : !t
  // expected-error@+1 {{'cs.publish' op @server.0 publishes "a.new" to rank 0 of @step, which does not receive it}}
  cs.publish "a.new" %g to @step : !t
  return
}
func.func @server.1() attributes {cs.server = 1 : i64} {
  %g = cs.collect "b" by mean from @step : !t
  cs.publish "b.new" %g to @step : !t
  return
}

// -----

// Another type.
cs.cluster @lab nodes = 2 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
!t = !cs.placed<tensor<4xf32>, device 0>
func.func @step(%a: !t {cs.param = "a"}, %b: !t {cs.param = "b"}) attributes {cs.step, cs.servers = #cs.servers<count = 2, sync_mode = sync, merge = 1>} {
  // expected-error@+1 {{type of "a" must match 'tensor<2xf32>' of @server.0, got: 'tensor<4xf32>'}}
  cs.send "a" %a to affine_map<(r) -> (0)> of @server.0 : !t
  cs.send "b" %b to affine_map<(r) -> (0)> of @server.1 : !t
  %c = cs.recv "a.new" from affine_map<(r) -> (0)> of @server.0 : !t
  %d = cs.recv "b.new" from affine_map<(r) -> (0)> of @server.1 : !t
  return
}
func.func @server.0() attributes {cs.server = 0 : i64} {
  // expected-note@+1 {{the other end is here}}
  %g = cs.collect "a" by mean from @step : !cs.placed<tensor<2xf32>, device 0>
  cs.publish "a.new" %g to @step : !cs.placed<tensor<2xf32>, device 0>
  return
}
func.func @server.1() attributes {cs.server = 1 : i64} {
  %g = cs.collect "b" by mean from @step : !t
  cs.publish "b.new" %g to @step : !t
  return
}

// -----

cs.cluster @lab nodes = 2 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
!t = !cs.placed<tensor<4xf32>, device 0>
func.func @step(%a: !t {cs.param = "a"}, %b: !t {cs.param = "b"}) attributes {cs.step, cs.servers = #cs.servers<count = 2, sync_mode = sync, merge = 1>} {
  cs.send "a" %a to affine_map<(r) -> (0)> of @server.0 : !t
  cs.send "b" %b to affine_map<(r) -> (0)> of @server.1 : !t
  // expected-error@+1 {{type of "b.new" must match 'tensor<4xf32>' of @server.1, got: 'tensor<2xf32>'}}
  %d = cs.recv "b.new" from affine_map<(r) -> (0)> of @server.1 : !cs.placed<tensor<2xf32>, device 0>
  %c = cs.recv "a.new" from affine_map<(r) -> (0)> of @server.0 : !t
  return
}
func.func @server.0() attributes {cs.server = 0 : i64} {
  %g = cs.collect "a" by mean from @step : !t
  cs.publish "a.new" %g to @step : !t
  return
}
func.func @server.1() attributes {cs.server = 1 : i64} {
  %g = cs.collect "b" by mean from @step : !t
  // expected-note@+1 {{the other end is here}}
  cs.publish "b.new" %g to @step : !t
  return
}

// -----

// One key twice.
cs.cluster @lab nodes = 2 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
!t = !cs.placed<tensor<4xf32>, device 0>
func.func @step(%a: !t {cs.param = "a"}, %b: !t {cs.param = "b"}) attributes {cs.step, cs.servers = #cs.servers<count = 2, sync_mode = sync, merge = 1>} {
  cs.send "a" %a to affine_map<(r) -> (0)> of @server.0 : !t
  cs.send "b" %b to affine_map<(r) -> (0)> of @server.1 : !t
  %c = cs.recv "a.new" from affine_map<(r) -> (0)> of @server.0 : !t
  %d = cs.recv "b.new" from affine_map<(r) -> (0)> of @server.1 : !t
  return
}
func.func @server.0() attributes {cs.server = 0 : i64} {
  // expected-note@+1 {{the other use is here}}
  %g = cs.collect "a" by mean from @step : !t
  cs.publish "a.new" %g to @step : !t
  // expected-error@+1 {{uses the key "a", which must be unique in the function}}
  %h = cs.collect "a" by mean from @step : !t
  return
}
func.func @server.1() attributes {cs.server = 1 : i64} {
  %g = cs.collect "b" by mean from @step : !t
  cs.publish "b.new" %g to @step : !t
  return
}

// -----

cs.cluster @lab nodes = 2 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
!t = !cs.placed<tensor<4xf32>, device 0>
func.func @step(%a: !t {cs.param = "a"}, %b: !t {cs.param = "b"}) attributes {cs.step, cs.servers = #cs.servers<count = 2, sync_mode = sync, merge = 1>} {
  // expected-note@+1 {{the other use is here}}
  cs.send "a" %a to affine_map<(r) -> (0)> of @server.0 : !t
  // expected-error@+1 {{uses the key "a", which must be unique in the function}}
  cs.send "a" %b to affine_map<(r) -> (0)> of @server.1 : !t
  return
}
func.func @server.0() attributes {cs.server = 0 : i64} {
  %g = cs.collect "a" by mean from @step : !t
  cs.publish "a.new" %g to @step : !t
  return
}
func.func @server.1() attributes {cs.server = 1 : i64} {
  %g = cs.collect "b" by mean from @step : !t
  cs.publish "b.new" %g to @step : !t
  return
}

// -----

// Servers are numbered without gaps.
cs.cluster @lab nodes = 2 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
!t = !cs.placed<tensor<4xf32>, device 0>
// expected-error@+1 {{'func.func' op has 2 parameter servers, but no function has 'cs.server' = 1}}
func.func @step(%a: !t {cs.param = "a"}, %b: !t {cs.param = "b"}) attributes {cs.step, cs.servers = #cs.servers<count = 2, sync_mode = sync, merge = 1>} {
  cs.send "a" %a to affine_map<(r) -> (0)> of @server.0 : !t
  cs.send "b" %b to affine_map<(r) -> (0)> of @server.1 : !t
  %c = cs.recv "a.new" from affine_map<(r) -> (0)> of @server.0 : !t
  %d = cs.recv "b.new" from affine_map<(r) -> (0)> of @server.1 : !t
  return
}
func.func @server.0() attributes {cs.server = 0 : i64} {
  %g = cs.collect "a" by mean from @step : !t
  cs.publish "a.new" %g to @step : !t
  return
}

// -----

cs.cluster @lab nodes = 2 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
!t = !cs.placed<tensor<4xf32>, device 0>
func.func @step(%a: !t {cs.param = "a"}, %b: !t {cs.param = "b"}) attributes {cs.step, cs.servers = #cs.servers<count = 2, sync_mode = sync, merge = 1>} {
  cs.send "a" %a to affine_map<(r) -> (0)> of @server.0 : !t
  cs.send "b" %b to affine_map<(r) -> (0)> of @server.1 : !t
  %c = cs.recv "a.new" from affine_map<(r) -> (0)> of @server.0 : !t
  %d = cs.recv "b.new" from affine_map<(r) -> (0)> of @server.1 : !t
  return
}
func.func @server.0() attributes {cs.server = 0 : i64} {
  %g = cs.collect "a" by mean from @step : !t
  cs.publish "a.new" %g to @step : !t
  return
}
func.func @server.1() attributes {cs.server = 1 : i64} {
  %g = cs.collect "b" by mean from @step : !t
  cs.publish "b.new" %g to @step : !t
  return
}
// expected-error@+1 {{'cs.server' must be below the number of servers, 2, got: 2}}
func.func @server.2() attributes {cs.server = 2 : i64} {
  return
}

// -----

cs.cluster @lab nodes = 2 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
!t = !cs.placed<tensor<4xf32>, device 0>
func.func @step(%a: !t {cs.param = "a"}, %b: !t {cs.param = "b"}) attributes {cs.step, cs.servers = #cs.servers<count = 2, sync_mode = sync, merge = 1>} {
  cs.send "a" %a to affine_map<(r) -> (0)> of @server.0 : !t
  cs.send "b" %b to affine_map<(r) -> (0)> of @server.1 : !t
  %c = cs.recv "a.new" from affine_map<(r) -> (0)> of @server.0 : !t
  %d = cs.recv "b.new" from affine_map<(r) -> (0)> of @server.1 : !t
  return
}
// expected-note@+1 {{the first is here}}
func.func @server.0() attributes {cs.server = 0 : i64} {
  %g = cs.collect "a" by mean from @step : !t
  cs.publish "a.new" %g to @step : !t
  return
}
func.func @server.1() attributes {cs.server = 1 : i64} {
  %g = cs.collect "b" by mean from @step : !t
  cs.publish "b.new" %g to @step : !t
  return
}
// expected-error@+1 {{is the second function of server 0}}
func.func @other() attributes {cs.server = 0 : i64} {
  %g = cs.collect "c" by mean from @step : !t
  return
}

// -----

// Nobody is a trainer.
cs.cluster @lab nodes = 2 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
!t = !cs.placed<tensor<4xf32>, device 0>
func.func @step(%a: !t {cs.param = "a"}, %b: !t {cs.param = "b"}) attributes {cs.step} {
  return
}
// expected-error@+1 {{is a parameter server's, but no function has 'cs.servers'}}
func.func @server.0() attributes {cs.server = 0 : i64} {
  %g = cs.collect "a" by mean from @step : !t
  return
}

// -----

cs.cluster @lab nodes = 2 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
!t = !cs.placed<tensor<4xf32>, device 0>
// expected-note@+1 {{the first is here}}
func.func @step(%a: !t {cs.param = "a"}, %b: !t {cs.param = "b"}) attributes {cs.step, cs.servers = #cs.servers<count = 2, sync_mode = sync, merge = 1>} {
  cs.send "a" %a to affine_map<(r) -> (0)> of @server.0 : !t
  cs.send "b" %b to affine_map<(r) -> (0)> of @server.1 : !t
  %c = cs.recv "a.new" from affine_map<(r) -> (0)> of @server.0 : !t
  %d = cs.recv "b.new" from affine_map<(r) -> (0)> of @server.1 : !t
  return
}
// expected-error@+1 {{is the second program with parameter servers}}
func.func @again(%a: !t {cs.param = "a"}, %b: !t {cs.param = "b"}) attributes {cs.step, cs.servers = #cs.servers<count = 2, sync_mode = sync, merge = 1>} {
  cs.send "z" %a to affine_map<(r) -> (0)> of @server.0 : !t
  return
}
func.func @server.0() attributes {cs.server = 0 : i64} {
  %g = cs.collect "a" by mean from @step : !t
  cs.publish "a.new" %g to @step : !t
  return
}
func.func @server.1() attributes {cs.server = 1 : i64} {
  %g = cs.collect "b" by mean from @step : !t
  cs.publish "b.new" %g to @step : !t
  return
}

// -----

// Wrong for the mode.
cs.cluster @lab nodes = 2 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
!t = !cs.placed<tensor<4xf32>, device 0>
func.func @step(%a: !t {cs.param = "a"}, %b: !t {cs.param = "b"}) attributes {cs.step, cs.servers = #cs.servers<count = 2, sync_mode = sync, merge = 1>} {
  cs.send "a" %a to affine_map<(r) -> (0)> of @server.0 : !t
  cs.send "b" %b to affine_map<(r) -> (0)> of @server.1 : !t
  %c = cs.recv "a.new" from affine_map<(r) -> (0)> of @server.0 : !t
  %d = cs.recv "b.new" from affine_map<(r) -> (0)> of @server.1 : !t
  return
}
func.func @server.0() attributes {cs.server = 0 : i64} {
  // expected-error@+1 {{'cs.collect' op must combine what all trainers send in mode sync, got: each}}
  %g = cs.collect "a" each from @step : !t
  cs.publish "a.new" %g to @step : !t
  return
}
func.func @server.1() attributes {cs.server = 1 : i64} {
  %g = cs.collect "b" by mean from @step : !t
  cs.publish "b.new" %g to @step : !t
  return
}

// -----

cs.cluster @lab nodes = 2 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
!t = !cs.placed<tensor<4xf32>, device 0>
func.func @step(%a: !t {cs.param = "a"}, %b: !t {cs.param = "b"}) attributes {cs.step, cs.servers = #cs.servers<count = 2, sync_mode = async, merge = 1>} {
  cs.send "a" %a to affine_map<(r) -> (0)> of @server.0 : !t
  cs.send "b" %b to affine_map<(r) -> (0)> of @server.1 : !t
  %c = cs.recv "a.new" from affine_map<(r) -> (0)> of @server.0 : !t
  %d = cs.recv "b.new" from affine_map<(r) -> (0)> of @server.1 : !t
  return
}
func.func @server.0() attributes {cs.server = 0 : i64} {
  // expected-error@+1 {{'cs.collect' op must take each message by itself in mode async, got: mean}}
  %g = cs.collect "a" by mean from @step : !t
  cs.publish "a.new" %g to @step : !t
  return
}
func.func @server.1() attributes {cs.server = 1 : i64} {
  %g = cs.collect "b" by mean from @step : !t
  cs.publish "b.new" %g to @step : !t
  return
}

// -----

// Collected from somebody else.
cs.cluster @lab nodes = 2 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
!t = !cs.placed<tensor<4xf32>, device 0>
func.func @step(%a: !t {cs.param = "a"}, %b: !t {cs.param = "b"}) attributes {cs.step, cs.servers = #cs.servers<count = 2, sync_mode = sync, merge = 1>} {
  // expected-error@+1 {{rank 0 of @step sends "a" to @server.0, which collects it from @eval}}
  cs.send "a" %a to affine_map<(r) -> (0)> of @server.0 : !t
  cs.send "b" %b to affine_map<(r) -> (0)> of @server.1 : !t
  %c = cs.recv "a.new" from affine_map<(r) -> (0)> of @server.0 : !t
  %d = cs.recv "b.new" from affine_map<(r) -> (0)> of @server.1 : !t
  return
}
func.func @server.0() attributes {cs.server = 0 : i64} {
  // expected-note@+1 {{the other end is here}}
  %g = cs.collect "a" by mean from @eval : !t
  cs.publish "a.new" %g to @step : !t
  return
}
func.func @server.1() attributes {cs.server = 1 : i64} {
  %g = cs.collect "b" by mean from @step : !t
  cs.publish "b.new" %g to @step : !t
  return
}

// -----

cs.cluster @lab nodes = 2 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
!t = !cs.placed<tensor<4xf32>, device 0>
func.func @step(%a: !t {cs.param = "a"}, %b: !t {cs.param = "b"}) attributes {cs.step, cs.servers = #cs.servers<count = 2, sync_mode = sync, merge = 1>} {
  cs.send "a" %a to affine_map<(r) -> (0)> of @server.0 : !t
  cs.send "b" %b to affine_map<(r) -> (0)> of @server.1 : !t
  %c = cs.recv "a.new" from affine_map<(r) -> (0)> of @server.0 : !t
  %d = cs.recv "b.new" from affine_map<(r) -> (0)> of @server.1 : !t
  return
}
func.func @server.0() attributes {cs.server = 0 : i64} {
  %g = cs.collect "a" by mean from @step : !t
  cs.publish "a.new" %g to @step : !t
  return
}
func.func @server.1() attributes {cs.server = 1 : i64} {
  %g = cs.collect "b" by mean from @step : !t
  cs.publish "b.new" %g to @step : !t
  // expected-error@+1 {{'cs.collect' op must name the trainers, @step, got: @nobody}}
  %h = cs.collect "x" by mean from @nobody : !t
  return
}

// -----

// There is one process of a server.
cs.cluster @lab nodes = 2 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
!t = !cs.placed<tensor<4xf32>, device 0>
func.func @step(%a: !t {cs.param = "a"}, %b: !t {cs.param = "b"}) attributes {cs.step, cs.servers = #cs.servers<count = 2, sync_mode = sync, merge = 1>} {
  // expected-error@+1 {{peer of rank 0 must be a rank of @server.0, 0 to 0, got: 1}}
  cs.send "a" %a to affine_map<(r) -> (1)> of @server.0 : !t
  return
}
func.func @server.0() attributes {cs.server = 0 : i64} {
  %g = cs.collect "a" by mean from @step : !t
  cs.publish "a.new" %g to @step : !t
  return
}
func.func @server.1() attributes {cs.server = 1 : i64} {
  %g = cs.collect "b" by mean from @step : !t
  cs.publish "b.new" %g to @step : !t
  return
}

// -----

// Servers do not talk among themselves.
cs.cluster @lab nodes = 2 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
!t = !cs.placed<tensor<4xf32>, device 0>
func.func @step(%a: !t {cs.param = "a"}, %b: !t {cs.param = "b"}) attributes {cs.step, cs.servers = #cs.servers<count = 2, sync_mode = sync, merge = 1>} {
  cs.send "a" %a to affine_map<(r) -> (0)> of @server.0 : !t
  cs.send "b" %b to affine_map<(r) -> (0)> of @server.1 : !t
  %c = cs.recv "a.new" from affine_map<(r) -> (0)> of @server.0 : !t
  %d = cs.recv "b.new" from affine_map<(r) -> (0)> of @server.1 : !t
  return
}
func.func @server.0() attributes {cs.server = 0 : i64} {
  %g = cs.collect "a" by mean from @step : !t
  // expected-error@+1 {{must not be in the function of a server, which only collects and publishes}}
  cs.send "x" %g to affine_map<(r) -> (0)> of @server.1 : !t
  cs.publish "a.new" %g to @step : !t
  return
}
func.func @server.1() attributes {cs.server = 1 : i64} {
  %g = cs.collect "b" by mean from @step : !t
  cs.publish "b.new" %g to @step : !t
  return
}

// -----

// A value received before what it is made of is sent.
cs.cluster @lab nodes = 2 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
!t = !cs.placed<tensor<4xf32>, device 0>
func.func @step(%a: !t {cs.param = "a"}, %b: !t {cs.param = "b"}) attributes {cs.step, cs.servers = #cs.servers<count = 2, sync_mode = sync, merge = 1>} {
  // expected-error@+1 {{communications wait for each other in a circle: rank 0 of @step waits here for "a.new"}}
  %c = cs.recv "a.new" from affine_map<(r) -> (0)> of @server.0 : !t
  // expected-note@+1 {{which needs "a", sent here by rank 0 of @step}}
  cs.send "a" %a to affine_map<(r) -> (0)> of @server.0 : !t
  cs.send "b" %b to affine_map<(r) -> (0)> of @server.1 : !t
  %d = cs.recv "b.new" from affine_map<(r) -> (0)> of @server.1 : !t
  return
}
func.func @server.0() attributes {cs.server = 0 : i64} {
  %g = cs.collect "a" by mean from @step : !t
  cs.publish "a.new" %g to @step : !t
  return
}
func.func @server.1() attributes {cs.server = 1 : i64} {
  %g = cs.collect "b" by mean from @step : !t
  cs.publish "b.new" %g to @step : !t
  return
}

// -----

// The same in an asynchronous mode.
cs.cluster @lab nodes = 2 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
!t = !cs.placed<tensor<4xf32>, device 0>
func.func @step(%a: !t {cs.param = "a"}, %b: !t {cs.param = "b"}) attributes {cs.step, cs.servers = #cs.servers<count = 2, sync_mode = async, merge = 1>} {
  // expected-error@+1 {{communications wait for each other in a circle: rank 0 of @step waits here for "a.new"}}
  %c = cs.recv "a.new" from affine_map<(r) -> (0)> of @server.0 : !t
  cs.send "a" %a to affine_map<(r) -> (0)> of @server.0 : !t
  cs.send "b" %b to affine_map<(r) -> (0)> of @server.1 : !t
  %d = cs.recv "b.new" from affine_map<(r) -> (0)> of @server.1 : !t
  return
}
func.func @server.0() attributes {cs.server = 0 : i64} {
  %g = cs.collect "a" each from @step : !t
  cs.publish "a.new" %g to @step : !t
  return
}
func.func @server.1() attributes {cs.server = 1 : i64} {
  %g = cs.collect "b" each from @step : !t
  cs.publish "b.new" %g to @step : !t
  return
}

// -----

// Started in time, awaited too early.
cs.cluster @lab nodes = 2 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
!t = !cs.placed<tensor<4xf32>, device 0>
func.func @step(%a: !t {cs.param = "a"}, %b: !t {cs.param = "b"}) attributes {cs.step, cs.servers = #cs.servers<count = 2, sync_mode = sync, merge = 1>} {
  %f = cs.start "a.new" () : () -> !cs.future<!t> {
    %x = cs.recv "a.new" from affine_map<(r) -> (0)> of @server.0 : !t
    cs.return %x : !t
  }
  // expected-error@+1 {{communications wait for each other in a circle: rank 0 of @step waits here for "a.new"}}
  %c = cs.await %f : !cs.future<!t>
  // expected-note@+1 {{which needs "a", sent here by rank 0 of @step}}
  cs.send "a" %a to affine_map<(r) -> (0)> of @server.0 : !t
  cs.send "b" %b to affine_map<(r) -> (0)> of @server.1 : !t
  %d = cs.recv "b.new" from affine_map<(r) -> (0)> of @server.1 : !t
  return
}
func.func @server.0() attributes {cs.server = 0 : i64} {
  %g = cs.collect "a" by mean from @step : !t
  cs.publish "a.new" %g to @step : !t
  return
}
func.func @server.1() attributes {cs.server = 1 : i64} {
  %g = cs.collect "b" by mean from @step : !t
  cs.publish "b.new" %g to @step : !t
  return
}

// -----

// Started before the send, awaited after it: nothing wrong.
cs.cluster @lab nodes = 2 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
!t = !cs.placed<tensor<4xf32>, device 0>
func.func @step(%a: !t {cs.param = "a"}, %b: !t {cs.param = "b"}) attributes {cs.step, cs.servers = #cs.servers<count = 2, sync_mode = sync, merge = 1>} {
  %f = cs.start "a.new" () : () -> !cs.future<!t> {
    %x = cs.recv "a.new" from affine_map<(r) -> (0)> of @server.0 : !t
    cs.return %x : !t
  }
  cs.send "a" %a to affine_map<(r) -> (0)> of @server.0 : !t
  %c = cs.await %f : !cs.future<!t>
  cs.send "b" %b to affine_map<(r) -> (0)> of @server.1 : !t
  %d = cs.recv "b.new" from affine_map<(r) -> (0)> of @server.1 : !t
  return
}
func.func @server.0() attributes {cs.server = 0 : i64} {
  %g = cs.collect "a" by mean from @step : !t
  cs.publish "a.new" %g to @step : !t
  return
}
func.func @server.1() attributes {cs.server = 1 : i64} {
  %g = cs.collect "b" by mean from @step : !t
  cs.publish "b.new" %g to @step : !t
  return
}

// -----

// Never awaited.
cs.cluster @lab nodes = 2 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
!t = !cs.placed<tensor<4xf32>, device 0>
func.func @step(%a: !t {cs.param = "a"}, %b: !t {cs.param = "b"}) attributes {cs.step, cs.servers = #cs.servers<count = 2, sync_mode = sync, merge = 1>} {
  // expected-error@+1 {{'cs.start' op "a.new" is never awaited}}
  %f = cs.start "a.new" () : () -> !cs.future<!t> {
    %x = cs.recv "a.new" from affine_map<(r) -> (0)> of @server.0 : !t
    cs.return %x : !t
  }
  cs.send "a" %a to affine_map<(r) -> (0)> of @server.0 : !t
  cs.send "b" %b to affine_map<(r) -> (0)> of @server.1 : !t
  %d = cs.recv "b.new" from affine_map<(r) -> (0)> of @server.1 : !t
  return
}
func.func @server.0() attributes {cs.server = 0 : i64} {
  %g = cs.collect "a" by mean from @step : !t
  cs.publish "a.new" %g to @step : !t
  return
}
func.func @server.1() attributes {cs.server = 1 : i64} {
  %g = cs.collect "b" by mean from @step : !t
  cs.publish "b.new" %g to @step : !t
  return
}

// -----

// Each trainer waits for a value that the other has not sent its part of.
cs.cluster @lab nodes = 2 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
!t = !cs.placed<tensor<4xf32>, device 0>
func.func @step.rank0(%a: !t {cs.param = "a"}, %b: !t {cs.param = "b"}) attributes {cs.rank = 0 : i64, cs.step, cs.servers = #cs.servers<count = 2, sync_mode = sync, merge = 1>} {
  cs.send "a" %a to affine_map<(r) -> (0)> of @server.0 : !t
  // expected-error@+1 {{communications wait for each other in a circle: rank 0 of @step waits here for "a.new"}}
  %c = cs.recv "a.new" from affine_map<(r) -> (0)> of @server.0 : !t
  // expected-note@+1 {{which needs "b", sent here by rank 0 of @step}}
  cs.send "b" %b to affine_map<(r) -> (0)> of @server.1 : !t
  %d = cs.recv "b.new" from affine_map<(r) -> (0)> of @server.1 : !t
  return
}
func.func @step.rank1(%a: !t {cs.param = "a"}, %b: !t {cs.param = "b"}) attributes {cs.rank = 1 : i64, cs.step, cs.servers = #cs.servers<count = 2, sync_mode = sync, merge = 1>} {
  cs.send "b" %b to affine_map<(r) -> (0)> of @server.1 : !t
  // expected-note@+1 {{while rank 1 of @step waits here for "b.new"}}
  %d = cs.recv "b.new" from affine_map<(r) -> (0)> of @server.1 : !t
  // expected-note@+1 {{which needs "a", sent here by rank 1 of @step}}
  cs.send "a" %a to affine_map<(r) -> (0)> of @server.0 : !t
  %c = cs.recv "a.new" from affine_map<(r) -> (0)> of @server.0 : !t
  return
}
func.func @server.0() attributes {cs.server = 0 : i64} {
  %g = cs.collect "a" by mean from @step : !t
  cs.publish "a.new" %g to @step : !t
  return
}
func.func @server.1() attributes {cs.server = 1 : i64} {
  %g = cs.collect "b" by mean from @step : !t
  cs.publish "b.new" %g to @step : !t
  return
}

// -----

// A value that is made of two messages waits for both.
cs.cluster @lab nodes = 2 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
!t = !cs.placed<tensor<4xf32>, device 0>
func.func @step(%a: !t {cs.param = "a"}, %b: !t {cs.param = "b"}) attributes {cs.step, cs.servers = #cs.servers<count = 1, sync_mode = sync, merge = 1>} {
  cs.send "a" %a to affine_map<(r) -> (0)> of @server.0 : !t
  // expected-error@+1 {{communications wait for each other in a circle: rank 0 of @step waits here for "a.new"}}
  %c = cs.recv "a.new" from affine_map<(r) -> (0)> of @server.0 : !t
  // expected-note@+1 {{which needs "b", sent here by rank 0 of @step}}
  cs.send "b" %b to affine_map<(r) -> (0)> of @server.0 : !t
  %d = cs.recv "b.new" from affine_map<(r) -> (0)> of @server.0 : !t
  return
}
func.func @server.0() attributes {cs.server = 0 : i64} {
  %g = cs.collect "a" by mean from @step : !t
  %h = cs.collect "b" by mean from @step : !t
  %n = cs.fragment "both" on 0 (%g, %h) cost <flops = 1, bytes = 1, ns = 0> : (!t, !t) -> !t
  cs.publish "a.new" %n to @step : !t
  cs.publish "b.new" %h to @step : !t
  return
}

// -----

// With a collective in between.
cs.cluster @lab nodes = 2 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
!t = !cs.placed<tensor<4xf32>, device 0>
func.func @step.rank0(%a: !t {cs.param = "a"}, %b: !t {cs.param = "b"}) attributes {cs.rank = 0 : i64, cs.step, cs.servers = #cs.servers<count = 2, sync_mode = sync, merge = 1>} {
  cs.send "a" %a to affine_map<(r) -> (0)> of @server.0 : !t
  // expected-error@+1 {{communications wait for each other in a circle: rank 0 of @step waits here for "a.new"}}
  %c = cs.recv "a.new" from affine_map<(r) -> (0)> of @server.0 : !t
  %m = cs.all_reduce "m" sum %a : !t
  cs.send "b" %b to affine_map<(r) -> (0)> of @server.1 : !t
  %d = cs.recv "b.new" from affine_map<(r) -> (0)> of @server.1 : !t
  return
}
func.func @step.rank1(%a: !t {cs.param = "a"}, %b: !t {cs.param = "b"}) attributes {cs.rank = 1 : i64, cs.step, cs.servers = #cs.servers<count = 2, sync_mode = sync, merge = 1>} {
  // expected-note@+1 {{while rank 1 of @step waits here for "m"}}
  %m = cs.all_reduce "m" sum %a : !t
  // expected-note@+1 {{which needs "a", sent here by rank 1 of @step}}
  cs.send "a" %a to affine_map<(r) -> (0)> of @server.0 : !t
  %c = cs.recv "a.new" from affine_map<(r) -> (0)> of @server.0 : !t
  cs.send "b" %b to affine_map<(r) -> (0)> of @server.1 : !t
  %d = cs.recv "b.new" from affine_map<(r) -> (0)> of @server.1 : !t
  return
}
func.func @server.0() attributes {cs.server = 0 : i64} {
  %g = cs.collect "a" by mean from @step : !t
  cs.publish "a.new" %g to @step : !t
  return
}
func.func @server.1() attributes {cs.server = 1 : i64} {
  %g = cs.collect "b" by mean from @step : !t
  cs.publish "b.new" %g to @step : !t
  return
}

// -----

// Rows of a parameter.
cs.cluster @lab nodes = 2 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
!t = !cs.placed<tensor<4xf32>, device 0>
!h = !cs.placed<tensor<2xf32>, device 0>
func.func @step(%a: !t {cs.param = "a"}) attributes {cs.step, cs.servers = #cs.servers<count = 2, sync_mode = sync, merge = 1>} {
  return
}
// expected-note@+1 {{which is here}}
func.func @server.0(%a: !h {cs.param = "a", cs.rows = array<i64: 0, 2>}) attributes {cs.server = 0 : i64} {
  return
}
// expected-error@+1 {{holds row 1 of "a", which is server 0's}}
func.func @server.1(%a: !h {cs.param = "a", cs.rows = array<i64: 1, 3>}) attributes {cs.server = 1 : i64} {
  return
}

// -----

cs.cluster @lab nodes = 2 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
!t = !cs.placed<tensor<4xf32>, device 0>
!h = !cs.placed<tensor<2xf32>, device 0>
func.func @step(%a: !t {cs.param = "a"}) attributes {cs.step, cs.servers = #cs.servers<count = 2, sync_mode = sync, merge = 1>} {
  return
}
func.func @server.0(%a: !h {cs.param = "a", cs.rows = array<i64: 0, 2>}) attributes {cs.server = 0 : i64} {
  return
}
// expected-error@+1 {{holds "a" from row 3 on, but no server holds row 2}}
func.func @server.1(%a: !h {cs.param = "a", cs.rows = array<i64: 3, 5>}) attributes {cs.server = 1 : i64} {
  return
}

// -----

cs.cluster @lab nodes = 2 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
!t = !cs.placed<tensor<4xf32>, device 0>
!h = !cs.placed<tensor<2xf32>, device 0>
// expected-error@+1 {{has 4 rows of "a", but servers hold 2}}
func.func @step(%a: !t {cs.param = "a"}) attributes {cs.step, cs.servers = #cs.servers<count = 2, sync_mode = sync, merge = 1>} {
  return
}
func.func @server.0(%a: !h {cs.param = "a", cs.rows = array<i64: 0, 2>}) attributes {cs.server = 0 : i64} {
  return
}
func.func @server.1(%a: !h {cs.state = "b", cs.rows = array<i64: 0, 2>}) attributes {cs.server = 1 : i64} {
  return
}

// -----

cs.cluster @lab nodes = 2 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
!t = !cs.placed<tensor<4xf32>, device 0>
!h = !cs.placed<tensor<2xf32>, device 0>
func.func @step(%a: !t {cs.param = "a"}) attributes {cs.step, cs.servers = #cs.servers<count = 2, sync_mode = sync, merge = 1>} {
  return
}
func.func @server.0(%a: !h {cs.state = "m", cs.rows = array<i64: 0, 2>}) attributes {cs.server = 0 : i64} {
  return
}
// expected-error@+1 {{holds "m" from row 3 on, but no server holds row 2}}
func.func @server.1(%a: !h {cs.state = "m", cs.rows = array<i64: 3, 5>}) attributes {cs.server = 1 : i64} {
  return
}

// -----

// Lists are one row, of what is collected, and without a count.

cs.cluster @lab nodes = 2 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
!l = !cs.placed<tensor<1x4xi32, #cs.coordinates<tensor<5xf32>>>, device 0>
!t = !cs.placed<tensor<4xf32>, device 0>
func.func @step(%l: !l {cs.state = "l"}) attributes {cs.step, cs.servers = #cs.servers<count = 1, sync_mode = sync, merge = 1>} {
  // expected-error@+1 {{"g" must be one list, without a count, of 'tensor<4xf32>' of @server.0, got: 'tensor<1x4xi32, #cs.coordinates<tensor<5xf32>>>'}}
  cs.send "g" %l to affine_map<(d0) -> (0)> of @server.0 : !l
  %r = cs.recv "g.new" from affine_map<(d0) -> (0)> of @server.0 : !t
  return
}
func.func @server.0() attributes {cs.server = 0 : i64} {
  // expected-note@+1 {{the other end is here}}
  %g = cs.collect "g" by mean from @step : !t
  cs.publish "g.new" %g to @step : !t
  return
}

// -----

cs.cluster @lab nodes = 2 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
!l = !cs.placed<tensor<2x4xi32, #cs.coordinates<tensor<4xf32>>>, device 0>
!t = !cs.placed<tensor<4xf32>, device 0>
func.func @step(%l: !l {cs.state = "l"}) attributes {cs.step, cs.servers = #cs.servers<count = 1, sync_mode = sync, merge = 1>} {
  // expected-error@+1 {{"g" must be one list}}
  cs.send "g" %l to affine_map<(d0) -> (0)> of @server.0 : !l
  %r = cs.recv "g.new" from affine_map<(d0) -> (0)> of @server.0 : !t
  return
}
func.func @server.0() attributes {cs.server = 0 : i64} {
  // expected-note@+1 {{the other end is here}}
  %g = cs.collect "g" by mean from @step : !t
  cs.publish "g.new" %g to @step : !t
  return
}

// -----

// Messages that are applied one by one are whole.

cs.cluster @lab nodes = 2 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
!l = !cs.placed<tensor<1x4xi32, #cs.coordinates<tensor<4xf32>>>, device 0>
!t = !cs.placed<tensor<4xf32>, device 0>
func.func @step(%l: !l {cs.state = "l"}) attributes {cs.step, cs.servers = #cs.servers<count = 1, sync_mode = async, merge = 1>} {
  // expected-error@+1 {{type of "g" must match 'tensor<4xf32>' of @server.0, got: 'tensor<1x4xi32, #cs.coordinates<tensor<4xf32>>>'}}
  cs.send "g" %l to affine_map<(d0) -> (0)> of @server.0 : !l
  %r = cs.recv "g.new" from affine_map<(d0) -> (0)> of @server.0 : !t
  return
}
func.func @server.0() attributes {cs.server = 0 : i64} {
  // expected-note@+1 {{the other end is here}}
  %g = cs.collect "g" each from @step : !t
  cs.publish "g.new" %g to @step : !t
  return
}
